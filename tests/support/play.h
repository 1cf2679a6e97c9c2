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
//
// A send that keeps (an exchange of partial sums) adds what its ancestors have brought.

// ancestors[i]: the sends that end before send i begins, as a bitmap.
inline std::vector<std::vector<bool>> ancestors_of(const CollectivePlan& plan) {
  std::vector<std::vector<bool>> ancestors(plan.sends.size());
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    ancestors[i].assign(i + 1, false);
    for (const std::uint32_t w : plan.waits_for(i)) {
      for (std::size_t k = 0; k < ancestors[w].size(); ++k) {
        if (ancestors[w][k]) ancestors[i][k] = true;
      }
      ancestors[i][w] = true;
    }
  }
  return ancestors;
}

// A barrier: in the end everybody has heard of everybody's arrival.
inline std::string play_barrier(const CollectivePlan& plan) {
  const auto n = static_cast<std::size_t>(plan.ranks());
  const auto ancestors = ancestors_of(plan);
  std::vector<std::vector<bool>> told(plan.sends.size());  // [sends] whom the send tells of
  const auto heard_before = [&](std::size_t rank, const std::vector<bool>* before) {
    std::vector<bool> heard(n, false);
    heard[rank] = true;
    for (std::size_t i = 0; i < plan.sends.size(); ++i) {
      if (static_cast<std::size_t>(plan.sends[i].to) != rank || told[i].empty()) continue;
      if (before != nullptr && (i >= before->size() || !(*before)[i])) continue;
      for (std::size_t k = 0; k < n; ++k) heard[k] = heard[k] || told[i][k];
    }
    return heard;
  };
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    if (plan.sends[i].from == plan.sends[i].to) continue;
    if (plan.sends[i].share != 0) return "send " + std::to_string(i) + " carries something";
    told[i] = heard_before(static_cast<std::size_t>(plan.sends[i].from), &ancestors[i]);
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    const std::vector<bool> heard = heard_before(rank, nullptr);
    for (std::size_t k = 0; k < n; ++k) {
      if (!heard[k])
        return "rank " + std::to_string(rank) + " does not hear of " + std::to_string(k);
    }
  }
  return "";
}

inline std::string play(const CollectivePlan& plan) {
  if (plan.kind == Collective::barrier) return play_barrier(plan);
  const auto n = static_cast<std::size_t>(plan.ranks());
  const Chunks grid(plan);
  const std::size_t chunks = grid.count();
  // counts[rank][chunk][contributor]
  std::vector<std::vector<std::vector<int>>> counts(
      n, std::vector<std::vector<int>>(chunks, std::vector<int>(n, 0)));
  const bool reduction = plan.kind == Collective::reduce_scatter ||
                         plan.kind == Collective::all_reduce || plan.kind == Collective::reduce;
  const bool from_root = plan.kind == Collective::broadcast || plan.kind == Collective::scatter;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < chunks; ++c) {
      const bool has = from_root ? static_cast<int>(r) == plan.root : grid.origin(c) == r;
      if (reduction) counts[r][c][r] = 1;
      if (!reduction && has) counts[r][c][grid.origin(c)] = 1;
    }
  }
  const auto initial = counts;
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
      const auto& from = counts[static_cast<std::size_t>(other.from)][chunk];
      for (std::size_t k = 0; k < n; ++k) at->second[k] += from[k];
    }
    return at->second;
  };
  const auto ancestors = ancestors_of(plan);
  std::vector<std::vector<std::vector<int>>> brought(plan.sends.size());  // [sends][chunks]
  std::vector<std::vector<std::vector<std::size_t>>> arrivals(
      n, std::vector<std::vector<std::size_t>>(chunks));
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
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
      const auto& came = arrivals[static_cast<std::size_t>(send.from)][c];
      if (send.keeps) {
        std::vector<int> then = initial[static_cast<std::size_t>(send.from)][c];
        for (const std::size_t a : came) {
          for (std::size_t k = 0; ancestors[i][a] && k < n; ++k) then[k] += brought[a][c][k];
        }
        for (std::size_t k = 0; k < n; ++k) theirs[k] += then[k];
        brought[i].resize(chunks);
        brought[i][c] = then;
        arrivals[static_cast<std::size_t>(send.to)][c].push_back(i);
        continue;
      }
      if (mine == nothing) return who + ": the sender does not hold chunk " + std::to_string(c);
      for (const std::size_t a : came) {
        if (!ancestors[i][a]) return who + ": does not wait for send " + std::to_string(a);
      }
      if (send.switch_adds) {
        theirs = switch_sum(send, c);
      } else if (send.reduces) {
        brought[i].resize(chunks);
        brought[i][c] = mine;
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
