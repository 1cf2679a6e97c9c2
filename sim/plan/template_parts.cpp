#include "plan/template_parts.h"

#include <algorithm>

namespace shardsim {

PlacedPlan::PlacedPlan(const GraphBuilder& builder, const CollectivePlan& plan, const GroupNet& net,
                       Walks walks)
    : builder_(builder),
      cluster_(builder.cluster()),
      plan_(plan),
      fold_(builder.fold()),
      router_(builder.cluster(), walks) {
  for (std::size_t i = 0; i < net.axes.size(); ++i) {
    const std::vector<int>& parts = net.axes[i].axes;
    neighbour_axis_.push_back(parts.back());
    int minor = 1;
    for (const int part : parts) {
      axes_.push_back(part);
      sizes_.push_back(cluster_.axes[static_cast<std::size_t>(part)].size);
      if (part != parts.front()) minor *= sizes_.back();
    }
    fold_.step[static_cast<std::size_t>(parts.front())] = plan_.fold[i] / minor;
  }
  for (const int part : axes_) {
    std::uint32_t stride = 1;
    for (auto i = static_cast<std::size_t>(part) + 1; i < cluster_.axes.size(); ++i)
      stride *= static_cast<std::uint32_t>(cluster_.axes[i].size);
    strides_.push_back(stride);
  }
}

std::vector<DeviceId> PlacedPlan::bases() const {
  std::vector<DeviceId> result;
  for (const DeviceId device : builder_.fold().representatives(cluster_)) {
    const std::vector<int> at = cluster_.coordinates(device);
    const bool rank0 = std::all_of(axes_.begin(), axes_.end(),
                                   [&](int a) { return at[static_cast<std::size_t>(a)] == 0; });
    if (rank0) result.push_back(device);
  }
  return result;
}

// A base lies at 0 along the axes of the group, and devices are numbered row by row.
DeviceId PlacedPlan::device_of(DeviceId base, int rank) const {
  auto id = static_cast<std::uint32_t>(base);
  for (std::size_t i = axes_.size(); i-- > 0;) {
    id += static_cast<std::uint32_t>(rank % sizes_[i]) * strides_[i];
    rank /= sizes_[i];
  }
  return DeviceId{id};
}

std::vector<std::uint32_t> PlacedPlan::members(DeviceId base) const {
  std::vector<std::uint32_t> members;
  for (const int rank : plan_.representatives()) {
    members.push_back(builder_.fold().class_of(cluster_, device_of(base, rank)));
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::span<const Route> PlacedPlan::routes_of(const Send& send, DeviceId base) {
  if (send.axis >= 0 && !send.switch_adds) return to_neighbour(send, base);
  const DeviceId from = device_of(base, send.from);
  routes_ = send.switch_adds ? std::vector{through_switch(cluster_, from, axes_[0])}
                             : router_.routes(from, device_of(base, send.to));
  return routes_;
}

std::span<const Route> PlacedPlan::to_neighbour(const Send& send, DeviceId base) {
  if (hops_base_ != base) {
    hops_base_ = base;
    hops_.assign(static_cast<std::size_t>(plan_.ranks()) * axes() * 2, {});
  }
  const auto rank = static_cast<std::size_t>(send.from);
  const auto axis = static_cast<std::size_t>(send.axis);
  std::vector<Route>& known = hops_[(rank * axes() + axis) * 2 + (send.direction > 0 ? 1 : 0)];
  if (known.empty()) {
    known = router_.neighbour(device_of(base, send.from), device_of(base, send.to),
                              neighbour_axis_[axis], send.direction);
  }
  return known;
}

void TemplateOps::open_group(std::vector<std::uint32_t> members) {
  const auto first = static_cast<std::uint32_t>(made_.ops.size());
  made_.groups.push_back({first, first, std::move(members)});
  delays_.clear();
}

void TemplateOps::close_group() {
  made_.groups.back().last = static_cast<std::uint32_t>(made_.ops.size());
}

std::uint32_t TemplateOps::push(const Op& op, std::span<const std::uint32_t> waits) {
  made_.ops.push_back({number(op), op.phase});
  made_.waits.insert(made_.waits.end(), waits.begin(), waits.end());
  made_.wait_offset.push_back(static_cast<std::uint32_t>(made_.waits.size()));
  return static_cast<std::uint32_t>(made_.ops.size() - 1);
}

Op pause(Seconds time, std::uint32_t device) {
  Op op;
  op.kind = OpKind::delay;
  op.device = device;
  op.seconds = time;
  return op;
}

std::uint32_t TemplateOps::delay(Seconds latency, std::uint32_t device,
                                 std::optional<std::uint32_t> since) {
  const auto [at, fresh] = delays_.try_emplace({since.value_or(kStart), latency}, 0u);
  if (!fresh) return at->second;
  std::vector<std::uint32_t> waits;
  if (since) waits.push_back(*since);
  return at->second = push(pause(latency, device), waits);
}

std::span<const std::uint32_t> TemplateOps::waits_for(std::uint32_t index) const {
  return std::span(made_.waits)
      .subspan(made_.wait_offset[index], made_.wait_offset[index + 1] - made_.wait_offset[index]);
}

void TemplateOps::replace(std::uint32_t index, const Op& op) {
  made_.ops[index].like = number(op);
}

void TemplateOps::reserve(std::size_t ops, std::size_t waits) {
  made_.ops.reserve(made_.ops.size() + ops);
  made_.wait_offset.reserve(made_.wait_offset.size() + ops);
  made_.waits.reserve(made_.waits.size() + waits);
}

CollectiveTemplate TemplateOps::take(std::uint32_t phases) {
  made_.phases = phases;
  made_.awaited.assign(made_.ops.size(), false);
  for (const std::uint32_t w : made_.waits) made_.awaited[w] = true;
  return std::move(made_);
}

namespace {

bool same_but_phase(const Op& a, const Op& b) {
  return a.kind == b.kind && a.device == b.device && a.origin == b.origin && a.route == b.route &&
         a.seconds == b.seconds && a.bytes == b.bytes && a.flows == b.flows;
}

}  // namespace

// Of an op, the phase left out; it is compared with the last that had its route.
std::uint32_t TemplateOps::number(Op op) {
  op.phase = 0;
  // Ops without a route (kNoRoute + 1 = 0) come first.
  const auto route = static_cast<std::size_t>(static_cast<std::uint32_t>(op.route) + 1u);
  if (route >= last_like_.size()) last_like_.resize(route + 1, kNothing);
  std::uint32_t& last = last_like_[route];
  if (last == kNothing || !same_but_phase(made_.like[last], op)) {
    last = static_cast<std::uint32_t>(made_.like.size());
    made_.like.push_back(op);
  }
  return last;
}

Op CollectiveTemplate::op(std::size_t index) const {
  Op op = like[ops[index].like];
  op.phase = ops[index].phase;
  return op;
}

}  // namespace shardsim
