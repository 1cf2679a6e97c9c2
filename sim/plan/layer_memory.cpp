#include "plan/layer_memory.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/must.h"
#include "plan/cost.h"
#include "plan/lifetimes.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

// Arrays by number. A step speaks of tensors and their gradients; what attention and dropout keep
// beside a tensor has numbers of its own.
class ArrayNumbers {
 public:
  explicit ArrayNumbers(const Layer& layer) : layer_(layer), next_(layer.tensors.size(), -1) {
    first_.fill(-1);
    for (std::size_t t = layer.tensors.size(); t-- > 0;)
      next_[t] = std::exchange(first_[slot(layer.tensors[t].name)], static_cast<int>(t));
  }

  int tensor(std::string_view name) const {  // -1: none
    if (name.empty()) return -1;
    int t = first_[slot(name)];
    while (t >= 0 && layer_.tensors[static_cast<std::size_t>(t)].name != name)
      t = next_[static_cast<std::size_t>(t)];
    return t;
  }
  int of(std::string_view name) const {
    const int t = tensor(name);
    if (t >= 0) return of_tensor(static_cast<std::size_t>(t));
    const int of = name.starts_with('d') ? tensor(name.substr(1)) : -1;
    must(of >= 0, "steps speak of tensors and their gradients");
    return of_gradient(static_cast<std::size_t>(of));
  }

  static int of_tensor(std::size_t t) { return static_cast<int>(2 * t); }
  static int of_gradient(std::size_t t) { return static_cast<int>(2 * t + 1); }
  static bool is_gradient(int name) { return name % 2 == 1; }
  static std::size_t tensor_of(int name) { return static_cast<std::size_t>(name / 2); }

  enum class Beside : std::uint8_t { rows, scores, mask };
  int beside(Beside what, std::size_t t) const {
    return static_cast<int>(2 * layer_.tensors.size() + 3 * t) + static_cast<int>(what);
  }

 private:
  static constexpr std::size_t kSlots = 64;
  static std::size_t slot(std::string_view name) {
    const auto letter = [](char c) {
      return static_cast<std::size_t>(static_cast<unsigned char>(c));
    };
    if (name.empty()) return 0;
    return (name.size() + 31 * letter(name.front()) + 7 * letter(name.back())) % kSlots;
  }

  const Layer& layer_;
  std::array<int, kSlots> first_ = {};  // tensors whose names share a slot are chained
  std::vector<int> next_;               // [tensor]
};

// Per tensor: made by a statement, read by none.
std::vector<bool> outputs_of(const Layer& layer) {
  std::vector<bool> outputs(layer.tensors.size());
  for (const LayerStatement& st : layer.statements)
    outputs[static_cast<std::size_t>(st.out)] = true;
  for (const LayerStatement& st : layer.statements)
    for (const int t : st.in) outputs[static_cast<std::size_t>(t)] = false;
  return outputs;
}

// The input that the layer before makes: the first that is like an output; that of the head; -1:
// none.
int handed_on(const LayerPlan& plan, const std::vector<bool>& outputs) {
  const Layer& layer = plan.layer;
  for (std::size_t in = 0; in < layer.tensors.size(); ++in) {
    if (layer.tensors[in].role != TensorRole::input || plan.kind == "embedding") continue;
    if (plan.kind == "head") return static_cast<int>(in);
    for (std::size_t out = 0; out < layer.tensors.size(); ++out) {
      if (outputs[out] && layer.tensors[in].dims == layer.tensors[out].dims &&
          plan.sharded.held[in] == plan.sharded.held[out])
        return static_cast<int>(in);
    }
  }
  return -1;
}

// One walk along the tasks of both passes, in the order in which they run.
class Walk {
 public:
  Walk(const LayerTasks& tasks, const MemoryAsk& ask, bool split)
      : ask_(ask),
        plan_(*tasks.plan),
        layer_(plan_.layer),
        numbers_(layer_),
        outputs_(outputs_of(layer_)),
        handed_on_(handed_on(plan_, outputs_)) {
    for (const Sharding& layout : plan_.sharded.held) held_.push_back(cuts(layout));
    for (const Task& task : tasks.forward) order_.push_back(&task);
    const auto backward = static_cast<int>(order_.size());
    for (const bool of_weights : {false, true}) {
      for (std::size_t i = 0; i < tasks.backward.size(); ++i) {
        if (split ? tasks.of_weights[i] == of_weights : !of_weights)
          order_.push_back(&tasks.backward[i]);
      }
    }
    enter();
    for (int at = 0; at < static_cast<int>(order_.size()); ++at) {
      if (at == backward) turn(at);
      walk(at);
    }
    if (backward == static_cast<int>(order_.size())) turn(backward);
    leave(backward);
  }

  TaskChanges changes() const {
    TaskChanges changes(order_.size());
    const auto number = [&](int at) {
      return static_cast<std::size_t>(order_[static_cast<std::size_t>(at)]->number);
    };
    for (const Lifetime& l : arrays_.buffers()) {
      if (l.from >= 0) changes[number(l.from)].push_back({false, l.kind, l.bytes});
      if (l.to >= 0) changes[number(l.to)].push_back({true, l.kind, Bytes{} - l.bytes});
    }
    return changes;
  }

  Bytes input() const {
    if (handed_on_ < 0) return {};
    const auto in = static_cast<std::size_t>(handed_on_);
    return bytes_of(ArrayNumbers::of_tensor(in), held_[in]);
  }

  // Gradients of weights as they wait for the last micro-batch.
  Bytes gradients() const {
    Bytes sum;
    for (std::size_t t = 0; t < layer_.tensors.size(); ++t) {
      if (layer_.tensors[t].role != TensorRole::parameter) continue;
      const int name = ArrayNumbers::of_gradient(t);
      const auto waits = waiting_.find(name);
      const int made = arrays_.latest(name);
      if (waits != waiting_.end()) {
        sum += bytes_of(name, waits->second);
      } else if (made >= 0) {
        sum += arrays_.at(made).bytes;
      }
    }
    return sum;
  }

 private:
  using Beside = ArrayNumbers::Beside;

  Cuts cuts(const Sharding& layout) const { return cuts_of(ask_.mesh, layout); }

  Bytes bytes_of(int name, const Cuts& layout) const {
    const LayerTensor& tensor = layer_.tensors[ArrayNumbers::tensor_of(name)];
    if (plan_.kind == "embedding" && tensor.role == TensorRole::input) return {};  // numbers
    double elements = 1;
    std::size_t at = 0;
    for (const std::string& dim : tensor.dims) {
      int shards = 1;
      for (; layout.dims[at] != '\0'; ++at)
        shards *= ask_.mesh.axes[static_cast<std::size_t>(layout.dims[at] - 1)].size;
      ++at;
      const int size = layer_.dim_size(dim);
      elements *= shards == 1 ? size : local_dim(size, shards).size;
    }
    return Bytes{elements * (ArrayNumbers::is_gradient(name)
                                 ? gradient_element_bytes(tensor, ask_.precision)
                                 : element_bytes(tensor, ask_.precision))};
  }

  MemoryKind kind_of(int name) const {
    const LayerTensor& tensor = layer_.tensors[ArrayNumbers::tensor_of(name)];
    if (tensor.role == TensorRole::parameter) return MemoryKind::gathered;
    if (plan_.kind != "head") return MemoryKind::activations;
    const bool words = std::find(tensor.dims.begin(), tensor.dims.end(), "V") != tensor.dims.end();
    return words ? MemoryKind::logits : MemoryKind::activations;
  }

  LivingArray array(int name, Cuts layout, int at) const {
    LivingArray made;
    made.name = name;
    made.kind = kind_of(name);
    made.bytes = bytes_of(name, layout);
    made.made = at;
    made.layout = std::move(layout);
    return made;
  }

  // Inputs are there before the layer begins; the one that is handed on is not its own. Weights are
  // there throughout, and counted apart.
  void enter() {
    for (std::size_t t = 0; t < layer_.tensors.size(); ++t) {
      const TensorRole role = layer_.tensors[t].role;
      if (role == TensorRole::activation) continue;
      LivingArray in = array(ArrayNumbers::of_tensor(t), held_[t], 0);
      in.was_there = static_cast<int>(t) == handed_on_;
      if (role == TensorRole::parameter) in.bytes = {};
      arrays_.make(std::move(in));
    }
  }

  // From the forward to the backward pass: outputs leave, and come back as gradients.
  void turn(int at) {
    for (std::size_t t = 0; t < layer_.tensors.size(); ++t) {
      if (!outputs_[t]) continue;
      arrays_[arrays_.latest(ArrayNumbers::of_tensor(t))].leaves_at = at - 1;
      LivingArray back = array(ArrayNumbers::of_gradient(t), held_[t], at);
      back.was_there = true;
      arrays_.make(std::move(back));
    }
  }

  void leave(int backward) {
    if (handed_on_ < 0) return;
    const auto in = static_cast<std::size_t>(handed_on_);
    const int name = ArrayNumbers::of_gradient(in);
    const int made = arrays_.latest(name);
    must(made >= 0, "what is handed on has a gradient");
    // In the layout that the layer before expects.
    const int given = settle(name, held_[in], std::max(arrays_[made].made, backward));
    arrays_[given].leaves_at = static_cast<int>(order_.size()) - 1;
  }

  // The latest array of a name as `layout`: a copy of its own where that is less.
  int settle(int name, const Cuts& layout, int at) {
    const int made = arrays_.latest(name);
    if (arrays_[made].bytes == bytes_of(name, layout)) return made;
    LivingArray copy = array(name, layout, at);
    copy.comes_from = made;
    arrays_.read(made, at);
    return arrays_.make(std::move(copy));
  }

  int read(int name, const Sharding& layout, int at) {
    const int array = arrays_.find(name, cuts(layout));
    must(array >= 0, "what is read has been made");
    arrays_.read(array, at);
    return array;
  }

  void walk(int at) {
    const Task& task = *order_[static_cast<std::size_t>(at)];
    if (task.collective != nullptr) {
      move(*task.collective, at);
    } else {
      compute(*task.step, at);
    }
    const bool last = at + 1 == static_cast<int>(order_.size()) ||
                      order_[static_cast<std::size_t>(at) + 1]->step != task.step;
    const int t = last ? numbers_.tensor(task.step->out_name) : -1;
    if (t < 0) return;
    const int out = ArrayNumbers::of_tensor(static_cast<std::size_t>(t));
    const Cuts& held = held_[static_cast<std::size_t>(t)];
    const Cuts& made = arrays_.at(arrays_.latest(out)).layout;
    if (made.sums == held.sums && cut_from(made.dims, held.dims)) settle(out, held, at);
  }

  void move(const ShardedCollective& c, int at) {
    if (c.once_per_step) {  // works on what is held
      const int name = numbers_.of(c.tensor);
      if (ArrayNumbers::is_gradient(name)) waiting_.try_emplace(name, cuts(c.before));
      return;
    }
    const int name = numbers_.of(c.tensor);
    LivingArray made = array(name, cuts(c.after), at);
    made.comes_from = read(name, c.before, at);
    if (c.kind == Collective::all_reduce) made.sharing = Sharing::in_place;
    arrays_.make(std::move(made));
  }

  void compute(const ShardedStatement& step, int at) {
    std::vector<int> operands;
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      operands.push_back(read(numbers_.of(step.operand_names[i]), step.operands[i], at));
    const int out = numbers_.of(step.out_name);
    const bool gradient = ArrayNumbers::is_gradient(out);
    if (gradient) keep_for_backward(step, at);
    LivingArray made = array(out, cuts(step.out), at);
    const bool passes_on =
        step.kind == StatementKind::reshape || (gradient && step.kind == StatementKind::add);
    const int before = gradient ? arrays_.find(out, made.layout) : -1;
    if (before >= 0 && arrays_[before].bytes == made.bytes) {
      arrays_.read(before, at);
      made.comes_from = before;
      made.sharing = Sharing::in_place;
    } else if (passes_on) {
      made.comes_from = operands.front();
      made.sharing = Sharing::same;
    }
    arrays_.make(std::move(made));
    if (!gradient) keep_of_forward(step, out, at);
  }

  bool keeps_scores() const { return ask_.attention.forward.products > 0; }

  // Elements of the scores of attention on one device: those of Q, with a position of K in place of
  // a place in the head.
  double scores(const ShardedStatement& step, std::size_t q) const {
    const std::vector<DimLayout>& k = step.operands[q + 1].dims;
    return rows(step, q) * local_size(layer_, ask_.mesh, k[k.size() - 3]);
  }
  double rows(const ShardedStatement& step, std::size_t q) const {
    const Sharding& layout = step.operands[q];
    return local_elements(layer_, ask_.mesh, layout) /
           local_size(layer_, ask_.mesh, layout.dims.back());
  }

  void extra(int name, Bytes bytes, int at) {
    LivingArray made;
    made.name = name;
    made.bytes = bytes;
    made.made = at;
    arrays_.make(std::move(made));
  }

  // What a forward statement leaves for its adjoint beside its output, the array `name`.
  void keep_of_forward(const ShardedStatement& step, int name, int at) {
    const std::size_t out = ArrayNumbers::tensor_of(name);
    const double element = ask_.precision.activations;
    if (step.kind == StatementKind::attention) {
      if (!keeps_scores())
        return extra(numbers_.beside(Beside::rows, out), Bytes{4 * rows(step, 0)}, at);
      const double all = scores(step, 0);
      extra(kUnasked, Bytes{all * element}, at);  // scores before the softmax
      extra(numbers_.beside(Beside::scores, out), Bytes{all * (2 * element + 1)}, at);
    }
    if (step.kind != StatementKind::add || !ask_.dropout) return;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      const std::size_t operand = ArrayNumbers::tensor_of(numbers_.of(step.operand_names[i]));
      if (!is_dropped(operand)) continue;
      extra(numbers_.beside(Beside::mask, operand),
            Bytes{local_elements(layer_, ask_.mesh, step.operands[i])}, at);
    }
  }

  // A product with weights that is added to something: dropped before (Vaswani et al. 2017, section
  // 5.4).
  bool is_dropped(std::size_t tensor) const {
    for (const LayerStatement& st : layer_.statements) {
      if (st.out != static_cast<int>(tensor)) continue;
      return st.kind == StatementKind::einsum &&
             std::any_of(st.in.begin(), st.in.end(), [&](int t) {
               return layer_.tensors[static_cast<std::size_t>(t)].role == TensorRole::parameter;
             });
    }
    return false;
  }

  void keep_for_backward(const ShardedStatement& step, int at) {
    const auto also = [&](int name) {
      const int array = arrays_.latest(name);
      if (array >= 0) arrays_.read(array, at);
    };
    const auto& st = layer_.statements[static_cast<std::size_t>(step.statement)];
    const auto out = static_cast<std::size_t>(st.out);
    if (step.kind == StatementKind::attention) {
      also(numbers_.beside(Beside::rows, out));
      also(numbers_.beside(Beside::scores, out));
      if (!keeps_scores()) also(ArrayNumbers::of_tensor(out));
      if (keeps_scores())  // their gradients
        extra(kUnasked, Bytes{scores(step, 1) * ask_.precision.activations}, at);
    }
    if (step.kind == StatementKind::add)
      also(numbers_.beside(Beside::mask, ArrayNumbers::tensor_of(numbers_.of(step.out_name))));
  }

  static constexpr int kUnasked = -1;

  const MemoryAsk& ask_;
  const LayerPlan& plan_;
  const Layer& layer_;
  ArrayNumbers numbers_;
  std::vector<bool> outputs_;  // [tensor]
  int handed_on_;
  std::vector<Cuts> held_;  // [tensor]
  std::vector<const Task*> order_;
  Lifetimes arrays_;
  std::map<int, Cuts> waiting_;  // gradients, as they wait for the last micro-batch
};

}  // namespace

LayerMemory layer_memory(const LayerTasks& tasks, const MemoryAsk& ask, SplitMemory split) {
  const Walk whole(tasks, ask, false);
  LayerMemory memory;
  memory.whole = whole.changes();
  if (split == SplitMemory::compute) memory.split = Walk(tasks, ask, true).changes();
  memory.input = whole.input();
  memory.gradients = whole.gradients();
  const LayerPlan& plan = *tasks.plan;
  for (std::size_t t = 0; t < plan.layer.tensors.size(); ++t) {
    if (plan.layer.tensors[t].role != TensorRole::parameter) continue;
    const TensorLayout& layout = plan.layouts.tensors[t];
    memory.weights += local_bytes(plan.layer, ask.mesh, layout.held, ask.precision.weights);
    memory.optimizer += local_bytes(plan.layer, ask.mesh, layout.optimizer, ask.optimizer.state);
  }
  return memory;
}

}  // namespace shardsim
