#include "plan/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/must.h"
#include "base/same_name.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool uses(const Sharding& sharding, std::string_view axis) {
  return sharding.dim_of_axis(axis) != nullptr || has(sharding.unreduced, axis);
}

// Dims, each counted once.
class DistinctDims {
 public:
  DistinctDims() { seen_.reserve(8); }

  // Whether it had not come before.
  bool add(std::string_view dim) {
    for (const std::string_view known : seen_)
      if (same_name(known, dim)) return false;
    seen_.push_back(dim);
    return true;
  }

 private:
  std::vector<std::string_view> seen_;
};

// Product over all distinct dims by their sizes; where an operand and the output differ the operand
// is what is multiplied.
template <class SizeOf>
Flops product_flops(const ShardedStatement& step, SizeOf size_of, bool& contracts) {
  DistinctDims dims;
  double product = 1;
  contracts = false;
  for (const Sharding& operand : step.operands) {
    for (const DimLayout& dim : operand.dims) {
      if (!dims.add(dim.dim)) continue;
      product *= size_of(dim);
      contracts = contracts || step.out.find(dim.dim) == nullptr;
    }
  }
  for (const DimLayout& dim : step.out.dims) {
    if (dims.add(dim.dim)) product *= size_of(dim);
  }
  return Flops{contracts ? 2 * product : product};
}

Flops einsum_flops(const Layer& layer, const Mesh& mesh, const ShardedStatement& step,
                   bool& contracts) {
  return product_flops(
      step, [&](const DimLayout& dim) { return local_size(layer, mesh, dim); }, contracts);
}

// The result's tiles: rows are dims of the left operand alone, columns of the right one alone; a
// dim of both is a batch of products. Whichever way the tile lies, the fewest.
void count_tiles(const Layer& layer, const Mesh& mesh, ShardedStatement& step) {
  if (step.operands.size() != 2) return;
  constexpr double kLong = 256;
  constexpr double kShort = 128;
  double batch = 1, rows = 1, columns = 1;
  for (const DimLayout& dim : step.out.dims) {
    const bool left = step.operands[0].find(dim.dim) != nullptr;
    const bool right = step.operands[1].find(dim.dim) != nullptr;
    (left && right ? batch : left ? rows : columns) *= local_size(layer, mesh, dim);
  }
  const auto tiles = [&](double tall, double wide) {
    return batch * std::ceil(rows / tall) * std::ceil(columns / wide);
  };
  step.tiles = std::min(tiles(kLong, kShort), tiles(kShort, kLong));
  step.whole_tiles = batch * rows * columns / (kLong * kShort);
}

// How much longer a product takes than its FLOPs at the peak.
double fill(const ShardedStatement& step, int multiprocessors) {
  if (multiprocessors == 0 || step.whole_tiles == 0) return 1;
  return std::ceil(step.tiles / multiprocessors) * multiprocessors / step.whole_tiles;
}

// batch * T * S * N of local blocks; q is [batch..., T, N, H], k has S in place of T.
double score_elements(const Layer& layer, const Mesh& mesh, const Sharding& q, const Sharding& k) {
  must(q.dims.size() >= 3 && k.dims.size() == q.dims.size(), "attention operands have their dims");
  double elements = local_size(layer, mesh, k.dims[k.dims.size() - 3]);
  for (std::size_t d = 0; d + 1 < q.dims.size(); ++d)
    elements *= local_size(layer, mesh, q.dims[d]);
  return elements;
}

// 4 * H of each score.
Flops attention_flops(const Layer& layer, const Mesh& mesh, const Sharding& q, const Sharding& k) {
  return Flops{4 * score_elements(layer, mesh, q, k) * local_size(layer, mesh, q.dims.back())};
}

// What the scores themselves move; they are of the type of the activations, as Q is.
void add_scores(const Layer& layer, const Mesh& mesh, const StepWork& work,
                ShardedStatement& step) {
  const std::size_t q = step.operands.size() - 3;
  const double scores = score_elements(layer, mesh, step.operands[q], step.operands[q + 1]);
  const double bytes = work.element_bytes[q];
  step.memory_bytes += Bytes{scores * work.scores.products * bytes};
  step.beside_bytes += Bytes{scores * (work.scores.pointwise * bytes + work.scores.masks)};
}

Sharding uncut_of(const Sharding& array) {
  std::vector<std::string> dims;
  for (const DimLayout& dim : array.dims) dims.push_back(dim.dim);
  return whole(dims);
}

}  // namespace

void add_work(const Layer& layer, const Mesh& mesh, const StepWork& work, ShardedStatement& step) {
  if (step.kind == StatementKind::reshape) return;  // the elements lie in memory as before
  const double out_elements = local_elements(layer, mesh, step.out);
  if (step.kind == StatementKind::einsum) {
    step.flops = einsum_flops(layer, mesh, step, step.matmul);
    if (step.matmul) count_tiles(layer, mesh, step);
  } else if (step.kind == StatementKind::attention) {
    step.matmul = true;
    // Forward (Q, K, V); backward (dO, Q, K, V).
    const std::size_t q = step.operands.size() - 3;
    step.flops =
        attention_flops(layer, mesh, step.operands[q], step.operands[q + 1]) * work.attention_share;
    step.imbalance = work.imbalance;
  } else {
    for (const Sharding& read : step.operands)
      step.flops += Flops{local_elements(layer, mesh, read)};
  }
  step.memory_bytes = Bytes{out_elements * work.element_bytes.back()};
  for (std::size_t i = 0; i < step.operands.size(); ++i) {
    step.memory_bytes += local_bytes(layer, mesh, step.operands[i], work.element_bytes[i]);
  }
  if (step.kind == StatementKind::attention) add_scores(layer, mesh, work, step);
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.size == 1) continue;
    const bool used = uses(step.out, axis.name) ||
                      std::any_of(step.operands.begin(), step.operands.end(),
                                  [&](const Sharding& s) { return uses(s, axis.name); });
    if (!used) step.idle_axes.push_back(axis.name);
  }
}

Flops whole_flops(const Layer& layer, const Mesh& mesh, const ShardedStatement& step) {
  if (!step.matmul) return {};
  if (step.kind != StatementKind::attention) {
    bool contracts = false;
    return product_flops(
        step, [&](const DimLayout& dim) { return layer.dim_size(dim.dim); }, contracts);
  }
  const std::size_t q = step.operands.size() - 3;
  const Flops forward = attention_flops(layer, mesh, step.operands[q], step.operands[q + 1]);
  const double share = step.flops / forward;  // a pass of its own, or an adjoint's part
  return attention_flops(layer, Mesh{}, uncut_of(step.operands[q]),
                         uncut_of(step.operands[q + 1])) *
         share;
}

namespace {

// Of an einsum; 0 where it sums over nothing.
Flops contraction_flops(const Layer& layer, const LayerStatement& s) {
  const auto dims = [&](int t) -> const std::vector<std::string>& {
    return layer.tensors[static_cast<std::size_t>(t)].dims;
  };
  DistinctDims all;
  double product = 1;
  bool contracts = false;
  for (const int t : s.in) {
    for (const std::string& dim : dims(t)) {
      if (!all.add(dim)) continue;
      product *= layer.dim_size(dim);
      contracts = contracts || std::none_of(dims(s.out).begin(), dims(s.out).end(),
                                            [&](const std::string& out) { return out == dim; });
    }
  }
  return contracts ? Flops{2 * product} : Flops{};
}

// Of one statement, all scores counted.
Flops statement_flops(const Layer& layer, const LayerStatement& s) {
  const auto dims = [&](int t) -> const std::vector<std::string>& {
    return layer.tensors[static_cast<std::size_t>(t)].dims;
  };
  if (s.kind == StatementKind::attention)
    return attention_flops(layer, Mesh{}, whole(dims(s.in[0])), whole(dims(s.in[1])));
  return s.kind == StatementKind::einsum ? contraction_flops(layer, s) : Flops{};
}

}  // namespace

Flops model_flops(const Layer& layer) {
  Flops sum;
  for (const LayerStatement& s : layer.statements) {
    sum += statement_flops(layer, s) * (s.causal ? 0.5 : 1.0);
  }
  return sum;
}

Flops skipped_scores(const Layer& layer) {
  Flops sum;
  for (const LayerStatement& s : layer.statements) {
    if (s.causal) sum += statement_flops(layer, s) * 0.5;
  }
  return sum;
}

double element_bytes(const LayerTensor& tensor, const Precision& precision) {
  if (tensor.element_bytes > 0) return tensor.element_bytes;
  return tensor.role == TensorRole::parameter ? precision.weights : precision.activations;
}

double gradient_element_bytes(const LayerTensor& tensor, const Precision& precision) {
  return tensor.role == TensorRole::parameter ? precision.gradients
                                              : element_bytes(tensor, precision);
}

Precision element_bytes(const PrecisionSpec& spec) {
  const auto bytes = [](const Chosen<std::string>& dtype, std::string_view otherwise) {
    return dtype_bytes(dtype.value.empty() ? otherwise : std::string_view(dtype.value));
  };
  return {bytes(spec.weights, "bf16"), bytes(spec.gradients, "bf16"),
          bytes(spec.activations, "bf16"), bytes(spec.optimizer, "fp32")};
}

ChipRates chip_rates(const ChipSpec& chip, const Chosen<std::string>& variant,
                     const Chosen<std::string>& dtype, std::vector<Problem>& problems) {
  double compute = 1;
  double memory = 1;
  int multiprocessors = 0;
  if (variant.given && variant.value != "nominal") {
    const auto row = std::find_if(chip.variants.begin(), chip.variants.end(),
                                  [&](const ChipVariant& v) { return v.name == variant.value; });
    if (row != chip.variants.end()) {
      compute = row->compute;
      memory = row->memory;
      multiprocessors = row->multiprocessors;
    } else {
      std::vector<std::string> names;
      for (const ChipVariant& v : chip.variants) names.push_back(v.name);
      problems.push_back({variant.pos,
                          fmt::format("chip {} has no variant \"{}\"", chip.name, variant.value),
                          suggestion(variant.value, names)});
    }
  }
  const std::string name = dtype.value.empty() ? "bf16" : dtype.value;
  const auto peak = std::find_if(chip.peak.begin(), chip.peak.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  if (peak == chip.peak.end()) {
    std::vector<std::string> names;
    for (const auto& entry : chip.peak) names.push_back(entry.first);
    problems.push_back(
        {dtype.pos,
         fmt::format("chip {} has no peak for {}; it has {}", chip.name, name, joined_or(names)),
         ""});
    return {};
  }
  return {peak->second * compute, chip.memory_bandwidth * memory, chip.launch_overhead,
          multiprocessors};
}

std::string rates_text(const ChipRates& rates, std::string_view dtype) {
  const std::string waves =
      rates.multiprocessors == 0
          ? ""
          : fmt::format(", products in waves of {} tiles of 256 x 128", rates.multiprocessors);
  return fmt::format("{} in {}{}, memory {}, launch overhead {} a statement", to_text(rates.peak),
                     dtype, waves, to_text(rates.memory), to_text(rates.launch));
}

namespace {

Seconds math_time(const ShardedStatement& step, const ChipRates& rates) {
  return step.matmul ? step.flops * step.imbalance / rates.peak * fill(step, rates.multiprocessors)
                     : Seconds{};
}

}  // namespace

Seconds cost(const ShardedStatement& step, const ChipRates& rates) {
  if (step.flops == Flops{} && step.memory_bytes == Bytes{}) return {};
  return std::max(step.memory_bytes / rates.memory, math_time(step, rates)) +
         step.beside_bytes / rates.memory + rates.launch;
}

bool memory_bound(const ShardedStatement& step, const ChipRates& rates) {
  return step.memory_bytes / rates.memory > math_time(step, rates);
}

}  // namespace shardsim
