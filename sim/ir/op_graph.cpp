#include "ir/op_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/order.h"

namespace shardsim {

namespace {

// Lines of complaint, up to a limit.
struct Complaints {
  std::size_t limit = 20;
  std::vector<std::string> lines;

  bool full() const { return lines.size() >= limit; }
  void add(std::string line) {
    if (!full()) lines.push_back(std::move(line));
  }
};

std::uint32_t index(OpId op) {
  return static_cast<std::uint32_t>(op);
}

// False for NaN and infinity, too.
template <class Q>
bool is_amount(Q quantity) {
  return quantity >= Q{0} && quantity / Q{1} <= std::numeric_limits<double>::max();
}

// CSR offsets start at 0, never fall and end at `entries`.
bool is_csr(std::span<const std::uint32_t> offsets, std::size_t rows, std::size_t entries) {
  return !offsets.empty() && offsets.size() == rows + 1 && offsets.front() == 0 &&
         offsets.back() == entries && std::is_sorted(offsets.begin(), offsets.end());
}

void check_links(const OpGraph& graph, Complaints& out) {
  for (std::size_t link = 0; link < graph.links.size() && !out.full(); ++link) {
    const NetLink& net = graph.links[link];
    if (is_amount(net.bandwidth) && net.bandwidth > BytesPerSec{0}) continue;
    out.add(fmt::format("link {} \"{}\": its bandwidth must be above 0 and finite, found {}", link,
                        net.name, net.bandwidth / BytesPerSec{1}));
  }
}

void check_routes(const OpGraph& graph, Complaints& out) {
  for (std::size_t id = 0; id + 1 < graph.route_offset.size() && !out.full(); ++id) {
    const auto route = graph.route(RouteId{static_cast<std::uint32_t>(id)});
    if (route.empty()) out.add(fmt::format("route {} has no links", id));
    if (!std::is_sorted(route.begin(), route.end()))
      out.add(fmt::format("route {} is not sorted", id));
    for (const std::uint32_t link : route) {
      if (link < graph.links.size()) continue;
      out.add(fmt::format("route {} uses link {} of {}", id, link, graph.links.size()));
      break;
    }
  }
}

void check_transfer(const OpGraph& graph, OpId id, const Op& op, Complaints& out) {
  const std::size_t routes = graph.route_offset.size() - 1;
  if (op.route == kNoRoute) {
    out.add(describe(graph, id) + ": a transfer without a route");
  } else if (static_cast<std::uint32_t>(op.route) >= routes) {
    out.add(fmt::format("{}: route {} of {}", describe(graph, id),
                        static_cast<std::uint32_t>(op.route), routes));
  }
  if (!is_amount(op.bytes))
    out.add(fmt::format("{}: {} bytes", describe(graph, id), op.bytes / Bytes{1}));
  if (!(op.flows > 0) || !std::isfinite(op.flows))
    out.add(fmt::format("{}: counts as {} flows", describe(graph, id), op.flows));
  if (op.phase >= graph.phases)
    out.add(fmt::format("{}: phase {} of {}", describe(graph, id), op.phase, graph.phases));
}

void check_op(const OpGraph& graph, OpId id, Complaints& out) {
  const Op& op = graph.ops[index(id)];
  if (op.kind == OpKind::transfer) check_transfer(graph, id, op, out);
  if (op.kind != OpKind::join && !is_amount(op.seconds))
    out.add(fmt::format("{}: {} seconds", describe(graph, id), op.seconds / Seconds{1}));
  if (op.device >= graph.device_classes)
    out.add(fmt::format("{}: device class {} of {}", describe(graph, id), op.device,
                        graph.device_classes));
  if (!graph.origins.empty() && op.origin >= graph.origins.size())
    out.add(
        fmt::format("{}: origin {} of {}", describe(graph, id), op.origin, graph.origins.size()));
}

// Returns whether every dependency names an op of the graph.
bool check_dependencies(const OpGraph& graph, OpId id, Complaints& out) {
  bool sound = true;
  for (const OpId dep : graph.waits_for(id)) {
    if (index(dep) >= graph.size()) {
      sound = false;
      out.add(
          fmt::format("{}: waits for op {} of {}", describe(graph, id), index(dep), graph.size()));
    } else if (dep == id) {
      out.add(describe(graph, id) + ": waits for itself");
    }
  }
  return sound;
}

std::string cycle_text(const OpGraph& graph, std::span<const OpId> cycle) {
  constexpr std::size_t kShown = 8;  // of a long cycle, the first ops and the closing one
  std::string text = "a cycle: ";
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (i == kShown && cycle.size() > kShown + 1) {
      text += fmt::format(" -> ({} more)", cycle.size() - kShown - 1);
      i = cycle.size() - 1;
    }
    text += (i == 0 ? "" : " -> ") + describe(graph, cycle[i]);
  }
  return text;
}

std::string what_it_does(const Op& op) {
  switch (op.kind) {
    case OpKind::compute:
      return "compute " + to_text(op.seconds);
    case OpKind::transfer:
      return "transfer " + to_text(op.bytes);
    case OpKind::delay:
      return "delay " + to_text(op.seconds);
    case OpKind::join:
      break;
  }
  return "join";
}

}  // namespace

std::string_view to_text(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}
std::string_view assumption(Grain grain) {
  return grain == Grain::flow
             ? "flow grain: every message is a flow; links are shared max-min fairly"
             : "fluid grain: a collective is one transfer per port; exact where its closed form is "
               "and nothing else touches the port, or where latency is 0 and all ranks do alike";
}

std::string_view to_text(MemoryKind kind) {
  constexpr std::string_view kNames[] = {"weights",  "gradients",   "optimizer",
                                         "gathered", "activations", "logits"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_text(Grain grain) {
  return grain == Grain::flow ? "flow" : "fluid";
}

std::span<const OpId> OpGraph::waits_for(OpId op) const {
  const std::uint32_t begin = dep_offset[index(op)];
  return {deps.data() + begin, dep_offset[index(op) + std::size_t{1}] - begin};
}

std::span<const std::uint32_t> OpGraph::route(RouteId route) const {
  const auto id = static_cast<std::size_t>(route);
  return {route_links.data() + route_offset[id], route_offset[id + 1] - route_offset[id]};
}

std::vector<std::string> check(const OpGraph& graph, std::size_t limit) {
  Complaints out{.limit = limit, .lines = {}};
  if (!is_csr(graph.dep_offset, graph.size(), graph.deps.size()))
    out.add(fmt::format("dep_offset does not cut {} dependencies into {} ops", graph.deps.size(),
                        graph.size()));
  if (!is_csr(graph.route_offset, graph.route_offset.size() - 1, graph.route_links.size()))
    out.add(
        fmt::format("route_offset does not cut {} links into routes", graph.route_links.size()));
  if (!out.lines.empty()) return out.lines;  // nothing below can be read safely
  check_links(graph, out);
  check_routes(graph, out);
  bool sound = true;
  for (std::uint32_t i = 0; i < graph.size() && !out.full(); ++i) {
    check_op(graph, OpId{i}, out);
    sound = check_dependencies(graph, OpId{i}, out) && sound;
  }
  if (!sound || out.full()) return out.lines;
  const std::vector<OpId> cycle = find_cycle(graph);
  if (cycle.size() > 2) out.add(cycle_text(graph, cycle));  // an op on its own is told above
  return out.lines;
}

std::string describe(const OpGraph& graph, OpId op) {
  if (index(op) >= graph.size()) return fmt::format("op {} (no such op)", index(op));
  const Op& what = graph.ops[index(op)];
  std::string text = fmt::format("op {}: {}", index(op), what_it_does(what));
  if (what.origin < graph.origins.size()) {
    const Origin& from = graph.origins[what.origin];
    text += fmt::format(", {}, {}, layer {}", from.name, to_text(from.pass), from.layer);
  }
  return text;
}

}  // namespace shardsim
