// What one rank of a pipeline sends to another: the same block from every device to the device at
// its place on the other rank.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "plan/collective_template.h"
#include "plan/graph_builder.h"

namespace shardsim {

class StageTransfers {
 public:
  // `axes`: of the cluster, that the ranks lie along, major first.
  StageTransfers(GraphBuilder& builder, std::vector<int> axes);

  // The classes of devices of a rank; the k-th of one sends to the k-th of another.
  std::span<const std::uint32_t> classes(int rank) const {
    return classes_[static_cast<std::size_t>(rank)];
  }

  // One transfer for every class of the sender, after the two ops of that class; into `ends`
  // [classes of the sender] goes the op that ends it; returned is the first of each. `bytes`: of
  // one device.
  std::vector<OpId> send(int from, int to, Bytes bytes, std::uint32_t origin,
                         const std::vector<OpId>& after, const std::vector<OpId>& and_after,
                         std::vector<OpId>& ends);

 private:
  const CollectiveTemplate& way(int from, int to);

  GraphBuilder& builder_;
  std::vector<int> axes_;
  std::vector<std::vector<std::uint32_t>> classes_;  // [ranks]
  std::vector<std::uint32_t> rank_of_;               // [device classes]
  std::map<std::pair<int, int>, CollectiveTemplate> ways_;
};

}  // namespace shardsim
