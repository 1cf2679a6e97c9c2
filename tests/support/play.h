// Plays a collective plan on sets: who holds which contributions of which chunk, send by send. A
// dumb, obviously right reading of CollectivePlan that every algorithm is checked against.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chunks.h"
#include "ir/collective_plan.h"

namespace shardsim::testing {

// What is wrong with an unfolded plan, or "": a send of something that the sender does not hold or
// may not hold yet (its arrival is no ancestor of the send), a contribution that arrives twice, a
// rank that ends without what the collective promises.
inline std::string play(const CollectivePlan& plan) {
  const auto n = static_cast<std::size_t>(plan.ranks());
  const Chunks grid(plan);
  const std::size_t chunks = grid.count();
  // counts[rank][chunk][contributor]
  std::vector<std::vector<std::vector<int>>> counts(
      n, std::vector<std::vector<int>>(chunks, std::vector<int>(n, 0)));
  const bool reduction =
      plan.kind == Collective::reduce_scatter || plan.kind == Collective::all_reduce;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < chunks; ++c) {
      if (reduction || grid.origin(c) == r) counts[r][c][r] = 1;
    }
  }
  const auto complete = [&](std::size_t chunk) {
    std::vector<int> want(n, reduction ? 1 : 0);
    if (!reduction) want[grid.origin(chunk)] = 1;
    return want;
  };
  const std::vector<int> nothing(n, 0);
  // What the switch makes of a chunk in a phase: the sum of what the sends to it bring, all at
  // once.
  std::map<std::pair<int, std::size_t>, std::vector<int>> sums;
  const auto switch_sum = [&](const Send& send, std::size_t chunk) -> const std::vector<int>& {
    const auto [at, first] = sums.try_emplace({send.phase, chunk}, n, 0);
    for (const Send& other : plan.sends) {
      if (!first || !other.switch_adds || other.phase != send.phase) continue;
      if (!grid.covers(other.chunks, chunk)) continue;
      const auto& brought = counts[static_cast<std::size_t>(other.from)][chunk];
      for (std::size_t k = 0; k < n; ++k) at->second[k] += brought[k];
    }
    return at->second;
  };
  // ancestors[i] as a bitmap of sends
  std::vector<std::vector<bool>> ancestors(plan.sends.size());
  std::vector<std::vector<std::vector<std::size_t>>> arrivals(
      n, std::vector<std::vector<std::size_t>>(chunks));
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    ancestors[i].assign(i + 1, false);
    for (const std::uint32_t w : plan.waits_for(i)) {
      for (std::size_t k = 0; k < ancestors[w].size(); ++k) {
        if (ancestors[w][k]) ancestors[i][k] = true;
      }
      ancestors[i][w] = true;
    }
    const Send& send = plan.sends[i];
    const std::string who = "send " + std::to_string(i) + " from " + std::to_string(send.from) +
                            " to " + std::to_string(send.to);
    if (send.is_join()) continue;
    double share = 0;
    for (std::size_t c = 0; c < chunks; ++c) {
      if (!grid.covers(send.chunks, c)) continue;
      share += grid.share(c);
      auto& mine = counts[static_cast<std::size_t>(send.from)][c];
      auto& theirs = counts[static_cast<std::size_t>(send.to)][c];
      if (mine == nothing) return who + ": the sender does not hold chunk " + std::to_string(c);
      for (const std::size_t a : arrivals[static_cast<std::size_t>(send.from)][c]) {
        if (!ancestors[i][a]) return who + ": does not wait for send " + std::to_string(a);
      }
      if (send.switch_adds) {
        theirs = switch_sum(send, c);
      } else if (send.reduces) {
        for (std::size_t k = 0; k < n; ++k) theirs[k] += mine[k];
        mine = nothing;
      } else {
        if (mine != complete(c)) return who + ": copies an incomplete chunk " + std::to_string(c);
        if (theirs == complete(c)) return who + ": chunk " + std::to_string(c) + " arrives twice";
        theirs = mine;
      }
      arrivals[static_cast<std::size_t>(send.to)][c].push_back(i);
    }
    if (share == 0) return who + ": carries nothing";
    if (share / send.share > 1 + 1e-12 || share / send.share < 1 - 1e-12)
      return who + ": its share is wrong";
  }
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < chunks; ++c) {
      if (grid.promised(c, r) && counts[r][c] != complete(c)) {
        return "rank " + std::to_string(r) + " ends without chunk " + std::to_string(c) +
               " whole and once";
      }
    }
  }
  return "";
}

}  // namespace shardsim::testing
