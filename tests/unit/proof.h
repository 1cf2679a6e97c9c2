// The proof that a sharded layer computes what the layer computes: both are executed on the same
// numbers, and every tensor, every gradient and every updated weight is compared, element by
// element.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/proof_part.h"
#include "execution.h"
#include "planned_moves.h"
#include "sharding.h"

namespace shardsim::testing {

using Arrays = std::map<std::string, Block>;  // whole arrays by name

// Of the largest element of the whole array, or of kScale when that is larger: a gradient that is
// what cancellation leaves (a norm over one element) has no digits of its own.
inline constexpr double kTolerance = 1e-9;
inline constexpr double kScale = 0.01;  // inputs are up to 1

// Whole arrays of random numbers for everything that comes from outside; weights are the same in
// all micro-batches.
inline Arrays outside(const Layer& layer, const std::string& output, std::uint32_t microbatch = 0) {
  std::mt19937 of_weights(7), of_data(microbatch);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Arrays result;
  const auto make = [&](const std::string& name, const std::vector<std::string>& dims,
                        std::mt19937& random) {
    const Mesh one;
    Block block = Devices(one, layer).empty(0, whole(dims));
    for (double& x : block.data) x = uniform(random);
    result[name] = std::move(block);
  };
  for (const LayerTensor& tensor : layer.tensors) {
    if (tensor.role == TensorRole::parameter) make(tensor.name, tensor.dims, of_weights);
    if (tensor.role == TensorRole::input) make(tensor.name, tensor.dims, of_data);
    if (tensor.name == output) make("d" + output, tensor.dims, of_data);
  }
  return result;
}

inline Sharding dual(Sharding layout) {
  layout.unreduced.clear();
  return layout;
}

// One step; `given` for each of its micro-batches.
inline Execution execute(const Sharded& s, const Mesh& mesh, const std::vector<Arrays>& given,
                         const std::string& output, Mover mover = {}) {
  Execution execution(s, mesh, std::move(mover));
  for (std::size_t m = 0; m < given.size(); ++m) {
    for (std::size_t t = 0; t < s.layer.tensors.size(); ++t) {
      const LayerTensor& tensor = s.layer.tensors[t];
      const std::string& name = tensor.name;
      const bool held = tensor.role == TensorRole::parameter && m > 0;
      if (given[m].count(name) != 0 && !held) {
        execution.give(name, s.result.held[t], given[m].at(name));
      }
      if (name != output) continue;
      execution.give("d" + name, dual(s.result.held[t]), given[m].at("d" + name));
    }
    execution.run(m + 1 == given.size());
  }
  return execution;
}

// The largest difference of any block of the value from the whole array, relative to the largest
// element of that or kScale; infinite when there is a NaN.
inline double difference(const Copy& value, const Block& all) {
  double worst = 0;
  double largest = 0;
  for (const double x : all.data) largest = std::max(largest, std::abs(x));
  for (const Block& block : value.blocks) {
    for_each(block, [&](const std::vector<int>& i) {
      const double off = std::abs(block.data[block.offset(i)] - all.data[all.offset(i)]);
      worst = std::max(worst, std::isnan(off) ? std::numeric_limits<double>::infinity() : off);
    });
  }
  return worst / std::max(largest, kScale);
}

// What one device computes in a step: every tensor and every gradient, whole; of activations those
// of the last micro-batch.
struct Reference {
  std::string output;
  std::vector<Arrays> given;  // [micro-batches]
  Arrays values;
};
inline Reference reference(const Case& c, const std::string& output, int microbatches = 1) {
  static const Mesh kOne;
  Case plain = c;
  plain.mesh = kOne;
  plain.presets.clear();
  plain.tensors.clear();
  const Sharded s = shard_case(plain);
  Reference result{output, {}, {}};
  for (int m = 0; m < microbatches; ++m) {
    result.given.push_back(outside(s.layer, output, static_cast<std::uint32_t>(m)));
  }
  Execution run = execute(s, kOne, result.given, output);
  for (const LayerTensor& tensor : s.layer.tensors) {
    for (const std::string& name : {tensor.name, "d" + tensor.name}) {
      result.values[name] = run.read(name, whole(tensor.dims)).blocks.front();
    }
  }
  return result;
}

// What is wrong with the sharded layer, or "".
inline std::string prove(const Sharded& cut, const Mesh& mesh, const Reference& expected,
                         Mover mover = {}) {
  try {
    Execution run = execute(cut, mesh, expected.given, expected.output, std::move(mover));
    for (std::size_t t = 0; t < cut.layer.tensors.size(); ++t) {
      const std::string& name = cut.layer.tensors[t].name;
      if (!expected.values.contains(name)) continue;  // the sums of a norm: whole rows have none
      const Sharding gradient = run.gradient_layout("d" + name);
      for (const auto& [what, layout] :
           {std::pair{name, cut.result.held[t]}, std::pair{"d" + name, gradient}}) {
        const Block whole = run.as_stored(expected.values.at(what), cut.layer.tensors[t].dims);
        const double off = difference(run.value(what, layout), whole);
        if (off <= kTolerance) continue;
        return what + " held as " + to_text(layout) + " differs by " +
               std::to_string(off / kTolerance) + " tolerances";
      }
    }
  } catch (const Unexecutable& e) {
    return e.what();
  }
  return "";
}

// Every row in turn for the collectives of one kind, beginning with row `first`.
inline PlannedMoves::Pick in_turn(std::size_t first) {
  return [first](const std::vector<const AlgorithmRow*>& rows, const ShardedCollective&) {
    return rows[first % rows.size()];
  };
}

}  // namespace shardsim::testing
