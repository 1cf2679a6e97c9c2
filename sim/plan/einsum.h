// einsum: the case of every mesh axis in C = A * B, and what each operand must look like so that
// the devices can multiply their blocks. Source: JAX Scaling Book ch. 3, "Computation with sharded
// arrays".
//
//   case 1  the axis cuts no contracted dim, and at most one free dim (or a batch dim of both)
//   case 2  it cuts a contracted dim in one operand only     gather that one, or cut the other one
//   case 3  it cuts the same contracted dim in both          multiply; the output is {U_axis}
//   case 4  it cuts free dims of both                        gather one, or move both to a
//                                                            contracted dim by all-to-all; as they
//                                                            are, only the diagonal blocks of C
//
// An axis that cuts a dim which one operand has alone, and the output lacks, is none of the four:
// its sums are made locally, and the output is {U_axis}.
//
// Dims: batch = in A, B and C; contracted = in A and B; free = in one operand and C; summed = in
// one operand only (a local sum, {U} where it is cut).
//
// For every axis the dims that it may cut during the multiplication are tried, or none; all
// combinations are priced on the run's cluster, the reshard of the operands to it and of the output
// to its wish included (plan/reshard.h), and so is the compute. Where the output's layout is given
// and no preset has a say, an axis that cuts any of the three arrays may cut every dim of either
// operand: what is held otherwise moves there, is gathered or sliced. The least price is taken
// among what is allowed, ties by fewer FLOPs, then bytes, then order.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/layer.h"
#include "ir/notation.h"
#include "ir/sharded_layer.h"
#include "plan/price.h"
#include "plan/reshard.h"

namespace shardsim {

struct EinsumOperand {
  ArrayInfo array;
  Sharding layout;  // as it is before anything moves
  std::vector<std::string>
      gather_axes;                    // pinned: on these axes it is this operand that is gathered
  std::string pin_text;               // why, for reports: "the preset gathers weights before use"
  std::vector<Sharding> copies = {};  // gathered earlier and still at hand
  ReshardFreedom freedom = ReshardFreedom::used_axes;
};

struct Einsum {
  std::array<EinsumOperand, 2> in;
  ArrayInfo out;
  std::vector<std::string> out_dims;
  const Sharding* wish = nullptr;  // the layout the output should end in, if any
  ReshardFreedom freedom = ReshardFreedom::used_axes;  // of the choice, and of the output
};

// Operand `operand` is not multiplied as it is held on `axis`.
struct Gathering {
  int operand = 0;
  std::string axis;
  int number = 1;  // the case
  std::string reason;
};

struct EinsumPlan {
  std::array<Sharding, 2> operands;  // as multiplied
  Sharding out;                      // what the multiplication yields
  std::vector<AxisCase> cases;       // of the layouts before anything moves; one per mesh axis
  std::vector<Gathering> gatherings;
  std::vector<PricedPlan> plans;    // the one taken first
  std::vector<std::string> ties;    // plans[].text of those that neither price nor FLOPs tell
                                    // from the one taken
  std::vector<std::string> errors;  // what cannot be computed
};

EinsumPlan plan_einsum(const Layer& layer, PriceBook& pricing, const Einsum& einsum);

// The cases alone, and the output of operands that fit together already.
std::vector<AxisCase> axis_cases(const Mesh& mesh, const Einsum& einsum);
Sharding einsum_output(const Mesh& mesh, const Sharding& a, const Sharding& b,
                       const std::vector<std::string>& out_dims);

}  // namespace shardsim
