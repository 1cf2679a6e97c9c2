// The ways to multiply two arrays: where every mesh axis may cut, and what each combination costs.
//
// An axis has options: the dims that it cuts in either operand, a contracted dim if it cuts two
// different ones (both operands then move there), or none; with a free hand (`anywhere`) every dim
// of either. A combination fixes the layouts of both operands, hence that of the output.
//
// Where an axis cuts a free dim of both there is one more, never taken, to be listed: multiply what
// is there. Of C[I, K] device x of X then has the block (x, x), 1/|X| of C for 1/|X|^2 of the
// FLOPs. That is right when I and K are one dim; written so, C[I_X] = A[I_X, J] * B[J, I_X], it is
// a batch dim and nothing is missing.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/einsum.h"
#include "plan/einsum_cases.h"

namespace shardsim {

inline constexpr double kSamePrice = 1e-9;          // prices this close are a tie
inline constexpr std::string_view kDiagonal = "*";  // no name of a dim

// An axis that cuts an operand, and the dims it may cut while multiplying; "" is none.
struct AxisChoice {
  std::string axis;
  AxisView view;
  std::vector<std::string> options;
  std::vector<bool> allowed;  // [options] by the presets
  std::string forbids;        // why the others are not
};

// One way to multiply: where every axis cuts, what it costs.
struct EinsumCandidate {
  std::vector<std::size_t> picks;  // [axes] into AxisChoice::options
  std::array<Sharding, 2> operands;
  Sharding out;
  std::array<ReshardPlan, 2> in;
  ReshardPlan after;
  Seconds communication, compute;
  Flops flops;
  Bytes bytes;
  std::vector<std::string> diagonal;  // axes over which only the diagonal blocks are computed
  std::string refused;                // why it cannot be taken at all
  std::string idle;                   // why it is not, though it could: axes left idle

  Seconds price() const { return communication + compute; }
};

// A reshard that some candidates share.
struct SharedReshard {
  Seconds least;                    // its price is no less
  std::optional<ReshardPlan> plan;  // once it is found
  Seconds searched{-1};             // it is not found: its price is above
};

// A candidate without its reshards, and bounds on their prices from below: of the operands, then
// of the output.
struct Sketch {
  EinsumCandidate candidate;
  Sharding target;                              // of the output
  std::array<SharedReshard*, 3> reshards = {};  // nullptr: nothing to do
  std::array<Seconds, 3> least;

  Seconds bound() const { return candidate.compute + least[0] + least[1] + least[2]; }
};

struct EinsumPlanner {
  const Layer& layer;
  PriceBook& pricing;
  const Einsum& einsum;
  std::array<Sharding, 2> given;  // layouts of the operands, {U} only where it is legal
  std::vector<AxisChoice> axes;
  EinsumPlan plan;
  std::map<std::pair<std::size_t, std::string>, SharedReshard>
      known;                          // by operand (2: C) and layouts
  std::optional<Seconds> limit = {};  // candidates that must cost more are not tried

  const Mesh& mesh() const { return pricing.mesh(); }
  const EinsumOperand& in(std::size_t operand) const { return einsum.in[operand]; }
  const std::string& name(std::size_t operand) const { return einsum.in[operand].array.name; }
};

// Whether a preset says that this operand is the one to gather over the axis.
bool pinned(const EinsumPlanner& p, std::size_t operand, const std::string& axis);
AxisChoice choice_of(const EinsumPlanner& p, const std::string& axis);

// Whether some axis may cut any dim: no preset has a say.
bool free_hand(const EinsumPlanner& p);

Sketch sketch(EinsumPlanner& p, const std::vector<std::size_t>& picks,
              const std::array<Sharding, 2>& operands);
// Above the limit, whatever its reshards cost.
bool too_dear(const EinsumPlanner& p, const Sketch& s);
// Bounds give way to prices one by one; nullopt once they exceed the limit.
std::optional<EinsumCandidate> evaluate(EinsumPlanner& p, Sketch s);

// One combination, with the axes of a dim in the orders that are tried where they differ, appended.
void try_picks(EinsumPlanner& p, const std::vector<std::size_t>& picks,
               std::vector<EinsumCandidate>& tried);
bool allowed(const EinsumPlanner& p, const std::vector<std::size_t>& picks);
// All combinations that the presets allow, or those among which the cheapest is
// (einsum_search.cpp); never empty.
std::vector<EinsumCandidate> candidates(EinsumPlanner& p);
// Index of the cheapest: less price; then, within a tie, fewer FLOPs, fewer bytes, earlier.
std::size_t best_of(const std::vector<EinsumCandidate>& tried);
bool same_price(const EinsumCandidate& a, const EinsumCandidate& b);

}  // namespace shardsim
