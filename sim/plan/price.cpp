#include "plan/price.h"

#include <algorithm>
#include <set>

#include "base/must.h"
#include "plan/algorithms.h"
#include "plan/lower_collective.h"
#include "plan/permute.h"

namespace shardsim {
namespace {

Seconds cheapest(const CollectiveAsk& ask, const GroupNet& net) {
  if (net.ranks() == 1 || ask.bytes == Bytes{}) return {};
  const Choice choice = choose_algorithm(ask, net);
  must(choice.best != nullptr, "some algorithm suits every collective");
  return choice.best->closed_form(ask, net).time;
}

}  // namespace

PriceBook::PriceBook(Cluster cluster, Mesh mesh, ChipRates rates)
    : cluster_(std::move(cluster)), mesh_(std::move(mesh)), rates_(rates) {}

Seconds PriceBook::collective(Collective kind, std::span<const std::uint8_t> axes, Bytes bytes) {
  std::uint64_t mask = 0;
  for (const int a : axes) mask |= std::uint64_t{1} << a;
  const auto [at, fresh] = known_.try_emplace({kind, mask, bytes});
  if (!fresh) return at->second;
  std::vector<int> hardware;
  for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
    if ((mask >> a & 1u) == 0) continue;
    hardware.insert(hardware.end(), mesh_.axes[a].axes.begin(), mesh_.axes[a].axes.end());
  }
  CollectiveAsk ask;
  ask.kind = kind;
  ask.bytes = bytes;
  return at->second = cheapest(ask, group_net(cluster_, hardware));
}

Seconds PriceBook::permute(const Sharding& before, const Sharding& after, Bytes bytes) {
  ShardedCollective c;
  c.kind = Collective::collective_permute;
  c.axes = permuted_axes(mesh_, before, after);
  c.before = before;
  c.after = after;
  c.bytes = bytes;
  const CollectiveCall call = call_of(c, mesh_);
  const auto [at, fresh] = permutes_.try_emplace({call.axes, call.ask.targets, bytes});
  if (fresh) at->second = cheapest(call.ask, group_net(cluster_, call.axes));
  return at->second;
}

Seconds PriceBook::collective(const ShardedCollective& c) {
  if (c.kind == Collective::collective_permute) return permute(c.before, c.after, c.bytes);
  std::vector<std::uint8_t> axes;
  for (const std::string& name : c.axes) {
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
      if (mesh_.axes[a].name == name) axes.push_back(static_cast<std::uint8_t>(a));
    }
  }
  return collective(c.kind, axes, c.bytes);
}

BytesPerSec PriceBook::ingress(std::span<const int> axes) const {
  if (cluster_.axes.empty()) return BytesPerSec{1};  // one device: nothing moves
  std::set<int> hardware, ports;  // hardware axes of grids, ports of switches
  for (std::size_t i = 0; i < cluster_.axes.size(); ++i) {
    const auto spanned = [&](int a) {
      const std::vector<int>& spans = mesh_.axes[static_cast<std::size_t>(a)].axes;
      return std::find(spans.begin(), spans.end(), static_cast<int>(i)) != spans.end();
    };
    if (!axes.empty() && std::none_of(axes.begin(), axes.end(), spanned)) continue;
    const Axis& axis = cluster_.axes[i];
    if (axis.wiring == Wiring::star) {
      ports.insert(cluster_.port_of(static_cast<int>(i), 1));
    } else {
      hardware.insert(axis.hardware);
    }
  }
  BytesPerSec sum;
  for (std::size_t p = 0; p < cluster_.ports.size(); ++p) {
    const Port& port = cluster_.ports[p];
    const Axis& axis = cluster_.axes[static_cast<std::size_t>(port.axis)];
    const bool counts = axis.wiring == Wiring::star ? ports.count(static_cast<int>(p)) > 0
                                                    : hardware.count(axis.hardware) > 0;
    if (counts) sum += port.bandwidth / cluster_.sharers(port);
  }
  return sum;
}

BytesPerSec PriceBook::slowest_link() const {
  if (cluster_.ports.empty()) return BytesPerSec{1};
  BytesPerSec slowest = cluster_.ports[0].bandwidth;
  for (const Port& port : cluster_.ports) {
    slowest = std::min(slowest, port.bandwidth / cluster_.sharers(port));
  }
  return slowest;
}

}  // namespace shardsim
