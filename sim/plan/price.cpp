#include "plan/price.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/must.h"
#include "plan/algorithms.h"
#include "plan/lower_collective.h"

namespace shardsim {
namespace {

Seconds cheapest(const CollectiveAsk& ask, const GroupNet& net) {
  if (net.ranks() == 1 || ask.bytes == Bytes{}) return {};
  const Choice choice = choose_algorithm(ask, net);
  must(choice.best != nullptr, "some algorithm suits every collective");
  return choice.best_time;
}

}  // namespace

PriceBook::PriceBook(Cluster cluster, Mesh mesh, ChipRates rates,
                     std::optional<BytesPerSec> assumed)
    : cluster_(std::move(cluster)), mesh_(std::move(mesh)), rates_(rates), assumed_(assumed) {}

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

// On a star every message takes the same way. Elsewhere independent exchanges load different links,
// and the longest way is the sum of theirs.
Seconds PriceBook::permute(const std::vector<Exchange>& all, Bytes block) {
  if (all.empty() || cluster_.axes.empty()) return {};
  const bool star = cluster_.axes[0].wiring == Wiring::star;
  PermutePrice sum;
  const std::vector<std::vector<Exchange>> parts =
      star ? std::vector<std::vector<Exchange>>{all} : independent(mesh_, all);
  for (const std::vector<Exchange>& part : parts) {
    const auto [at, fresh] = permutes_.try_emplace(key_of(part));
    if (fresh) at->second = permute_price(part);
    sum.of_byte = std::max(sum.of_byte, at->second.of_byte);
    sum.latency += at->second.latency;
  }
  return block / Bytes{1} * sum.of_byte + sum.latency;
}

// The closed form is linear in the bytes.
PriceBook::PermutePrice PriceBook::permute_price(const std::vector<Exchange>& part) const {
  ShardedCollective c;
  c.kind = Collective::collective_permute;
  const auto names = [&](const AxisList& axes) {
    std::vector<std::string> result;
    for (const std::size_t a : axes) result.push_back(mesh_.axes[a].name);
    return result;
  };
  for (const Exchange& e : part) {
    c.before.dims.push_back({"", names(e.before)});
    c.after.dims.push_back({"", names(e.after)});
  }
  c.axes = names(moved_axes(part));
  CollectiveCall call = call_of(c, mesh_);
  const GroupNet net = group_net(cluster_, call.axes);
  const auto price = [&](double block) {
    call.ask.bytes = Bytes{block * net.ranks()};
    return cheapest(call.ask, net);
  };
  constexpr double kBlock = 1e6;
  const Seconds one = price(kBlock);
  const bool waits = std::any_of(net.axes.begin(), net.axes.end(),
                                 [](const GroupAxis& axis) { return axis.latency > Seconds{}; });
  if (!waits) return {one / kBlock, {}};
  const Seconds three = price(3 * kBlock);
  const Seconds of_byte = (three - one) / (2 * kBlock);
  return {of_byte, std::max(Seconds{}, one - kBlock * of_byte)};
}

const ReshardPath* PriceBook::way(const std::string& question) const {
  const auto known = ways_.find(question);
  return known == ways_.end() ? nullptr : &known->second;
}

void PriceBook::keep_way(const std::string& question, const ReshardPath& path) {
  ways_.insert_or_assign(question, path);
}

Seconds PriceBook::collective(const ShardedCollective& c) {
  if (c.kind == Collective::collective_permute) {
    return permute(exchanges(mesh_, c.before, c.after), c.bytes / mesh_.size_of(c.axes));
  }
  std::vector<std::uint8_t> axes;
  for (const std::string& name : c.axes) {
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
      if (mesh_.axes[a].name == name) axes.push_back(static_cast<std::uint8_t>(a));
    }
  }
  return collective(c.kind, axes, c.bytes);
}

namespace {

// The most that enters any device of a graph.
BytesPerSec into_device(const Cluster& cluster) {
  std::vector<BytesPerSec> into(static_cast<std::size_t>(cluster.devices()) +
                                cluster.switches.size());
  for (const NodeLink& link : cluster.cables) into[link.to] += link.bandwidth;
  return *std::max_element(into.begin(), into.begin() + cluster.devices());
}

}  // namespace

BytesPerSec PriceBook::ingress(std::span<const int> axes) {
  std::uint64_t mask = 0;
  for (const int a : axes) mask |= std::uint64_t{1} << a;
  const auto [at, fresh] = ingress_.try_emplace(mask);
  if (fresh) at->second = ingress_of(axes);
  return at->second;
}

BytesPerSec PriceBook::ingress_of(std::span<const int> axes) const {
  if (cluster_.axes.empty()) return BytesPerSec{1};  // one device: nothing moves
  std::set<int> hardware, ports;                     // hardware axes of grids, ports of switches
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
  if (!cluster_.cables.empty()) return into_device(cluster_);
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

BytesPerSec PriceBook::slowest_link() {
  if (!slowest_) slowest_ = slowest();
  return *slowest_;
}

BytesPerSec PriceBook::slowest() const {
  if (cluster_.link_count() == 0) return BytesPerSec{1};
  BytesPerSec slowest{std::numeric_limits<double>::infinity()};
  for (const Port& port : cluster_.ports) {
    slowest = std::min(slowest, port.bandwidth / cluster_.sharers(port));
  }
  for (const NodeLink& link : cluster_.cables) slowest = std::min(slowest, link.bandwidth);
  for (const auto& [link, is] : cluster_.changed) slowest = std::min(slowest, is.bandwidth);
  return slowest;
}

}  // namespace shardsim
