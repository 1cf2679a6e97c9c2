#include "plan/stage_transfer.h"

#include <algorithm>

#include "base/must.h"

namespace shardsim {

StageTransfers::StageTransfers(GraphBuilder& builder, std::vector<int> axes)
    : builder_(builder), axes_(std::move(axes)) {
  const Cluster& cluster = builder.cluster();
  int ranks = 1;
  for (const int axis : axes_) ranks *= cluster.axes[static_cast<std::size_t>(axis)].size;
  classes_.resize(static_cast<std::size_t>(ranks));
  std::uint32_t number = 0;
  for (const DeviceId device : builder.fold().representatives(cluster)) {
    const std::vector<int> at = cluster.coordinates(device);
    int rank = 0;
    for (const int axis : axes_) {
      rank = rank * cluster.axes[static_cast<std::size_t>(axis)].size +
             at[static_cast<std::size_t>(axis)];
    }
    rank_of_.push_back(static_cast<std::uint32_t>(rank));
    classes_[static_cast<std::size_t>(rank)].push_back(number++);
  }
}

const CollectiveTemplate& StageTransfers::way(int from, int to) {
  const auto at = ways_.find({from, to});
  if (at != ways_.end()) return at->second;
  const GroupNet net = group_net(builder_.cluster(), axes_);
  CollectivePlan plan;
  plan.kind = Collective::collective_permute;
  plan.algorithm = "pipeline";
  plan.sizes = net.sizes();
  plan.fold = plan.sizes;
  plan.piece_share = {1.0};
  Send send{.from = from, .to = to, .chunks = {.origin = from}};
  send.share = 1.0;
  plan.add(send, {});
  return ways_.emplace(std::pair{from, to}, flow_template(builder_, plan, net)).first->second;
}

std::vector<OpId> StageTransfers::send(int from, int to, Bytes bytes, std::uint32_t origin,
                                       const std::vector<OpId>& after,
                                       const std::vector<OpId>& and_after,
                                       std::vector<OpId>& ends) {
  const CollectiveTemplate& made = way(from, to);
  const std::uint32_t first_phase = builder_.phases(made.phases);
  const std::span<const std::uint32_t> senders = classes(from);
  ends.assign(senders.size(), OpId{});
  std::vector<OpId> firsts(senders.size());
  std::vector<OpId> waits;
  for (const CollectiveTemplate::Group& group : made.groups) {
    std::size_t k = 0;
    while (k < senders.size() && std::find(group.members.begin(), group.members.end(),
                                           senders[k]) == group.members.end()) {
      ++k;
    }
    must(k < senders.size(), "every group of ranks has a sender");
    std::vector<OpId> sent;
    for (std::uint32_t i = group.first; i < group.last; ++i) {
      Op op = made.op(i);
      op.origin = origin;
      op.device = senders[k];
      op.phase += first_phase;
      op.bytes = bytes * (op.bytes / kTemplateBytes);
      waits.assign({after[k]});
      if (and_after[k] != after[k]) waits.push_back(and_after[k]);
      sent.push_back(builder_.add(op, waits));
    }
    firsts[k] = sent.front();
    ends[k] = sent.size() == 1 ? sent.front() : builder_.join(sent, senders[k], origin);
  }
  return firsts;
}

}  // namespace shardsim
