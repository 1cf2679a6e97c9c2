#include "plan/plan_memo.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

namespace shardsim {
namespace {

constexpr std::size_t kMostPlans = 512;  // of some 50 KB each
constexpr std::size_t kMostAsked = 100'000;
constexpr std::size_t kMostBooks = 32;
constexpr int kMostRunsOfBook = 200;  // of which each may ask for what is new, some 10 KB

// Structures as bytes. They are taken apart by name, so that none gets a member that is left out
// here without the compiler saying so.
class Bytewise {
 public:
  Bytewise() { bytes_.reserve(4096); }
  std::string take() { return std::move(bytes_); }

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void add(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void add(std::string_view text) {
    count(text.size());
    bytes_ += text;
  }
  void add(const std::string& text) { add(std::string_view(text)); }
  template <class T>
  void add(const std::vector<T>& list) {
    count(list.size());
    for (const auto& one : list) add(one);
  }
  template <class Tag>
  void add(Quantity<Tag> quantity) {
    add(quantity / Quantity<Tag>{1});
  }

  void add(const DimLayout& one) {
    const auto& [dim, axes] = one;
    all(dim, axes);
  }
  void add(const Sharding& one) {
    const auto& [dims, unreduced, reduction] = one;
    all(dims, unreduced, reduction);
  }
  void add(const NamedDim& one) {
    const auto& [name, size] = one;
    all(name, size);
  }
  void add(const LayerTensor& one) {
    const auto& [name, dims, role, element_bytes] = one;
    all(name, dims, role, element_bytes);
  }
  void add(const LayerStatement& one) {
    const auto& [kind, out, in, function, over_dim, causal, text, pos, number] = one;
    static_cast<void>(pos);  // where it is written
    all(kind, out, in, function, over_dim, causal, text, number);
  }
  void add(const Layer& one) {
    const auto& [dims, tensors, statements] = one;
    all(dims, tensors, statements);
  }
  void add(const TensorLayout& one) {
    const auto& [held, wished, stated, gradient, optimizer] = one;
    all(held, wished, stated, gradient, optimizer);
  }
  void add(const WhenRule& one) {
    const auto& [parameters, activations, gradients] = one;
    all(parameters, activations, gradients);
  }
  void add(const AxisTiming& one) {
    const auto& [axis, when] = one;
    all(axis, when);
  }
  void add(const Layouts& one) {
    const auto& [tensors, timings, zigzag] = one;
    all(tensors, timings, zigzag);
  }
  void add(const MeshAxis& one) {
    const auto& [name, size, axes] = one;
    all(name, size, axes);
  }
  void add(const AxisParts& one) {
    const auto& [axis, parts] = one;
    all(axis, parts);
  }
  void add(const Mesh& one) {
    const auto& [axes, apart] = one;
    all(axes, apart);
  }
  void add(const Precision& one) {
    const auto& [weights, gradients, activations, optimizer] = one;
    all(weights, gradients, activations, optimizer);
  }
  void add(const ChipRates& one) {
    const auto& [peak, memory, launch, multiprocessors] = one;
    all(peak, memory, launch, multiprocessors);
  }

 private:
  // Most are small: one byte.
  void count(std::size_t size) {
    constexpr std::size_t kMany = 255;
    bytes_ += static_cast<char>(std::min(size, kMany));
    if (size >= kMany) add(size);
  }

  template <class... T>
  void all(const T&... members) {
    (add(members), ...);
  }

  std::string bytes_;
};

}  // namespace

const LayerPlan* PlanMemo::find(const std::string& question) const {
  const auto at = plans_.find(question);
  return at == plans_.end() ? nullptr : &at->second;
}

void PlanMemo::keep(const std::string& question, const LayerPlan& plan) {
  if (plans_.size() >= kMostPlans) plans_.clear();
  plans_.insert_or_assign(question, plan);
}

void PlanMemo::keep_again(const std::string& question, const LayerPlan& plan) {
  if (!asked_once_.insert(std::hash<std::string>{}(question)).second) return keep(question, plan);
  if (asked_once_.size() >= kMostAsked) asked_once_.clear();
}

PriceBook& PlanMemo::prices(std::size_t number, const Cluster& cluster, const Mesh& mesh,
                            const ChipRates& rates) {
  Bytewise bytes;
  bytes.add(number);
  bytes.add(mesh);
  bytes.add(rates);
  const std::string question = bytes.take();
  auto known = prices_.find(question);
  if (known != prices_.end() && known->second.runs >= kMostRunsOfBook) {
    prices_.erase(known);
    known = prices_.end();
  }
  if (known == prices_.end()) {
    if (prices_.size() >= kMostBooks) prices_.clear();
    known = prices_.emplace(question, Prices{PriceBook(cluster, mesh, rates)}).first;
  }
  ++known->second.runs;
  return known->second.book;
}

// Where statements stand is part of it: problems of a plan are told there.
std::string PlanMemo::question_of_layer(const ModelSpec& model, const std::vector<NamedDim>& dims) {
  Bytewise bytes;
  for (const Chosen<std::string>& line : model.statements) {
    bytes.add(line.value);
    bytes.add(line.pos.line);
    bytes.add(line.pos.column);
    if (line.pos.source) bytes.add(line.pos.source->name);
  }
  bytes.add(dims);
  return bytes.take();
}

std::string question_of(const ShardInput& input, std::size_t cluster) {
  const auto& [layer, layouts, mesh, precision, prices, recompute, refuse_ties, refuse_clash,
               use_idle_axes, attention] = input;
  static_cast<void>(recompute);  // of the backward pass alone
  Bytewise bytes;
  bytes.add(layer);
  bytes.add(layouts);
  bytes.add(mesh);
  bytes.add(precision);
  bytes.add(prices.rates());
  bytes.add(cluster);
  for (const bool one : {refuse_ties, refuse_clash, use_idle_axes}) bytes.add(one);
  bytes.add(attention->name);
  return bytes.take();
}

}  // namespace shardsim
