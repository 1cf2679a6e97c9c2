// The chunks of a collective plan, numbered: shard x piece, or of an all-to-all source x
// destination.
#pragma once

#include <cstddef>

#include "ir/collective_plan.h"

namespace shardsim {

class Chunks {
 public:
  explicit Chunks(const CollectivePlan& plan)
      : plan_(plan),
        ranks_(static_cast<std::size_t>(plan.ranks())),
        pairs_(plan.kind == Collective::all_to_all),
        per_origin_(pairs_ ? ranks_ : plan.piece_share.size()) {}

  std::size_t count() const { return ranks_ * per_origin_; }
  std::size_t origin(std::size_t chunk) const { return chunk / per_origin_; }
  std::size_t piece(std::size_t chunk) const { return pairs_ ? 0 : chunk % per_origin_; }
  // REQUIRES: an all-to-all.
  std::size_t dest(std::size_t chunk) const { return chunk % per_origin_; }

  bool covers(const ChunkSet& set, std::size_t chunk) const {
    const auto from = static_cast<int>(origin(chunk));
    if (pairs_) return set.origin == from && set.dest == static_cast<int>(dest(chunk));
    return plan_.contains(set, from, static_cast<int>(piece(chunk)));
  }
  // Calls visit(chunk) for every chunk of the set, ascending.
  template <class Visit>
  void each(const ChunkSet& set, const Visit& visit) const {
    if (pairs_) {
      visit(static_cast<std::size_t>(set.origin) * ranks_ + static_cast<std::size_t>(set.dest));
      return;
    }
    for (std::size_t from = 0; from < ranks_; ++from) {
      if (!plan_.contains(set, static_cast<int>(from), set.piece)) continue;
      for (int p = 0; p < set.pieces; ++p) {
        visit(from * per_origin_ + static_cast<std::size_t>(set.piece + p));
      }
    }
  }
  // Of V.
  double share(std::size_t chunk) const {
    const auto n = static_cast<double>(ranks_);
    return pairs_ ? 1 / (n * n) : plan_.piece_share[piece(chunk)] / n;
  }
  // Whether the collective promises the chunk to the rank.
  bool promised(std::size_t chunk, std::size_t rank) const {
    switch (plan_.kind) {
      case Collective::all_gather:
      case Collective::all_reduce:
      case Collective::broadcast:
        return true;
      case Collective::reduce_scatter:
      case Collective::scatter:
        return origin(chunk) == rank;
      case Collective::reduce:
      case Collective::gather:
        return static_cast<int>(rank) == plan_.root;
      case Collective::all_to_all:
        return dest(chunk) == rank;
      case Collective::collective_permute:
      case Collective::barrier:
        break;  // depends on more than the plan
    }
    return false;
  }

 private:
  const CollectivePlan& plan_;
  std::size_t ranks_;
  bool pairs_;
  std::size_t per_origin_;
};

}  // namespace shardsim
