#include "plan/recompute.h"

#include <algorithm>
#include <array>

namespace shardsim {
namespace {

using enum StatementKind;

constexpr std::array<StatementKind, 1> kCore = {attention};
constexpr std::array<StatementKind, 11> kAll = {
    einsum, elementwise, gated, add, norm, attention, reshape, reduce, cast, sums, normalize};

constexpr std::array kRows = {
    RecomputeRow{"none", "nothing is recomputed"},
    RecomputeRow{"selective",
                 "attention is computed again in the backward pass, nothing moves again", kCore,
                 false},
    RecomputeRow{"full",
                 "the backward pass of a layer begins with its forward pass again, collectives "
                 "included",
                 kAll, true}};

}  // namespace

std::span<const RecomputeRow> recomputations() {
  return kRows;
}

const RecomputeRow* find_recompute(std::string_view name) {
  const auto* at = std::find_if(kRows.begin(), kRows.end(),
                                [&](const RecomputeRow& row) { return row.name == name; });
  return at == kRows.end() ? nullptr : &*at;
}

bool recomputes(const RecomputeRow& row, StatementKind kind) {
  return std::find(row.kinds.begin(), row.kinds.end(), kind) != row.kinds.end();
}

}  // namespace shardsim
