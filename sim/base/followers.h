// Dependencies turned around: who waits for each op, in compressed rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardsim {

// Who waits for op i is who[offset[i] .. offset[i + 1]).
struct Followers {
  std::vector<std::uint32_t> offset;  // [ops + 1]
  std::vector<std::uint32_t> who;     // ascending for each op; as often as it waits

  std::span<const std::uint32_t> of(std::uint32_t op) const {
    return {who.data() + offset[op], offset[op + std::size_t{1}] - offset[op]};
  }
};

// Op i waits for waits[wait_offset[i] .. wait_offset[i + 1]). Id: a number of an op.
template <class Id>
Followers followers_of(const std::vector<std::uint32_t>& wait_offset,
                       const std::vector<Id>& waits) {
  const std::size_t ops = wait_offset.size() - 1;
  Followers out;
  // Counted two places further, so that each offset is where its next follower goes while they are
  // filled in, and where its own begin afterwards.
  out.offset.assign(ops + 2, 0);
  out.who.resize(waits.size());
  for (const Id before : waits) ++out.offset[static_cast<std::size_t>(before) + 2];
  for (std::size_t op = 0; op < ops; ++op) out.offset[op + 2] += out.offset[op + 1];
  for (std::size_t op = 0; op < ops; ++op)
    for (std::size_t w = wait_offset[op]; w < wait_offset[op + 1]; ++w)
      out.who[out.offset[static_cast<std::size_t>(waits[w]) + 1]++] =
          static_cast<std::uint32_t>(op);
  out.offset.pop_back();
  return out;
}

}  // namespace shardsim
