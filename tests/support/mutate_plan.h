// Small mistakes in collective plans, for tests of the tests; and plans without folding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/collective_plan.h"

namespace shardsim::testing {

inline CollectivePlan without_sends(const CollectivePlan& plan) {
  CollectivePlan result = plan;
  result.sends.clear();
  result.after.clear();
  result.after_offset = {0};
  return result;
}

// Send `dropped` is left out; what waited for it waits for what it waited for.
inline CollectivePlan drop_send(const CollectivePlan& plan, std::size_t dropped) {
  CollectivePlan result = without_sends(plan);
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    if (i == dropped) continue;
    std::vector<std::uint32_t> waits;
    for (const std::uint32_t w : plan.waits_for(i)) {
      if (w != dropped) {
        waits.push_back(w < dropped ? w : w - 1);
        continue;
      }
      const auto more = plan.waits_for(dropped);
      waits.insert(waits.end(), more.begin(), more.end());
    }
    Send send = plan.sends[i];
    const auto at = static_cast<int>(dropped);
    if (send.since == at) send.since = plan.sends[dropped].since;
    if (send.since > at) --send.since;
    result.add(send, waits);
  }
  return result;
}

// Send `twice` is made a second time at once; what waited for it waits for both.
inline CollectivePlan double_send(const CollectivePlan& plan, std::size_t twice) {
  CollectivePlan result = without_sends(plan);
  const auto moved = [&](std::uint32_t w) { return w <= twice ? w : w + 1; };
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    std::vector<std::uint32_t> waits;
    for (const std::uint32_t w : plan.waits_for(i)) {
      waits.push_back(moved(w));
      if (w == twice) waits.push_back(w + 1);
    }
    Send send = plan.sends[i];
    if (send.since > static_cast<int>(twice)) ++send.since;
    result.add(send, waits);
    if (i == twice) result.add(send, waits);
  }
  return result;
}

// All sends of a folded plan: the orbits of its sends under the translations of the fold, or under
// XOR. A send waits for the whole orbit of what it waits for.
inline CollectivePlan unfolded(const CollectivePlan& plan) {
  CollectivePlan result = without_sends(plan);
  result.fold = plan.sizes;
  std::vector<int> shifts;  // ranks reached from rank 0
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    if (plan.representative(rank) == 0) shifts.push_back(rank);
  }
  const auto count = static_cast<std::uint32_t>(shifts.size());
  for (std::size_t i = 0; i < plan.sends.size(); ++i) {
    std::vector<std::uint32_t> waits;
    for (const std::uint32_t w : plan.waits_for(i)) {
      for (std::uint32_t s = 0; s < count; ++s) waits.push_back(w * count + s);
    }
    for (std::uint32_t s = 0; s < count; ++s) {
      const int shift = shifts[s];
      const auto moved = [&](int rank) {
        if (plan.exclusive_or) return rank ^ shift;
        std::vector<int> at = rank_coordinates(plan.sizes, rank);
        const std::vector<int> by = rank_coordinates(plan.sizes, shift);
        for (std::size_t a = 0; a < at.size(); ++a) at[a] += by[a];
        return rank_at(plan.sizes, at);
      };
      Send send = plan.sends[i];
      if (send.since >= 0) send.since = send.since * static_cast<int>(count) + static_cast<int>(s);
      send.from = moved(send.from);
      send.to = moved(send.to);
      send.chunks.origin = moved(send.chunks.origin);
      if (plan.exclusive_or) send.chunks.origin -= send.chunks.origin % send.chunks.origins;
      if (send.chunks.dest >= 0) send.chunks.dest = moved(send.chunks.dest);
      result.add(send, waits);
    }
  }
  return result;
}

}  // namespace shardsim::testing
