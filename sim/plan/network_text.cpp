#include "plan/network_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "plan/graph_cut.h"
#include "plan/routes.h"
#include "plan/slices.h"

namespace shardsim {

namespace {

std::string sizes_text(const Cluster& cluster, int level) {
  std::vector<std::string> sizes;  // of the hardware axes
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    const int a = static_cast<int>(i);
    const bool first = cluster.parts_of(a).first == a;
    if (cluster.axes[i].level == level && first)
      sizes.push_back(std::to_string(cluster.span_of(a)));
  }
  return fmt::format("{}", fmt::join(sizes, "x"));
}

bool is_star(const Cluster& cluster, int level) {
  return std::any_of(cluster.axes.begin(), cluster.axes.end(), [&](const Axis& axis) {
    return axis.level == level && axis.wiring == Wiring::star;
  });
}

std::string shared_text(const Cluster& cluster, const Port& port) {
  const int devices = cluster.sharers(port);
  return devices == 1 ? " egress per device" : fmt::format(" for each {} devices", devices);
}

// What a message to another element of the level passes there besides ports that are of a level
// inside: NICs and uplinks.
std::string ports_text(const Cluster& cluster, int l) {
  const Level& level = cluster.levels[static_cast<std::size_t>(l)];
  if (!is_star(cluster, l)) {
    for (const Port& port : cluster.ports) {
      if (cluster.axes[static_cast<std::size_t>(port.axis)].level == l) {
        return fmt::format("W1 = {} per directed link", to_text(port.bandwidth));
      }
    }
  }
  std::vector<std::string> texts;
  for (const int p : level.up) {
    const Port& port = cluster.ports[static_cast<std::size_t>(p)];
    if (cluster.axes[static_cast<std::size_t>(port.axis)].level != l) continue;
    const bool own = texts.empty() && level.bandwidth > BytesPerSec{};
    texts.push_back(fmt::format("{} = {}{}", own ? "W1" : "uplinks", to_text(port.bandwidth),
                                shared_text(cluster, port)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// ", x wraps, y does not" of a grid with several axes whose kind alone does not say it, and of
// every slice: there the chip decides, and an axis of 2 is one cable.
std::string wrap_text(const Cluster& cluster, int l) {
  const bool slice = cluster.levels[static_cast<std::size_t>(l)].kind == kSlice;
  std::vector<std::string> wraps, open;
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    const Axis& axis = cluster.axes[i];
    const int a = static_cast<int>(i);
    if (axis.level != l || cluster.parts_of(a).first != a) continue;
    if (axis.wiring == Wiring::ring) wraps.push_back(axis.name);
    if (axis.wiring == Wiring::line || (slice && axis.wiring == Wiring::pair))
      open.push_back(axis.name);
  }
  const bool named = cluster.text != shape_text(cluster);
  const bool plain = wraps.size() + open.size() < 2 || (!named && (wraps.empty() || open.empty()));
  if (plain && !slice) return "";
  if (open.empty()) return wraps.size() == 1 ? ", its axis wraps" : ", all axes wrap";
  if (wraps.empty()) return ", no axis wraps";
  return fmt::format(", {} {}, {} {}", fmt::join(wraps, " and "),
                     wraps.size() == 1 ? "wraps" : "wrap", fmt::join(open, " and "),
                     open.size() == 1 ? "does not" : "do not");
}

std::string level_text(const Cluster& cluster, int l) {
  const Level& level = cluster.levels[static_cast<std::size_t>(l)];
  std::string text = ports_text(cluster, l) + wrap_text(cluster, l);
  if (level.efficiency != 1) {
    text += fmt::format(" ({:.3g} of the nominal {})", level.efficiency, to_text(level.bandwidth));
  }
  return text + (level.latency == Seconds{}
                     ? ", latency 0"
                     : fmt::format(", latency {} a {}", to_text(level.latency),
                                   is_star(cluster, l) ? "route" : "hop"));
}

}  // namespace

std::string shape_text(const Cluster& cluster) {
  std::vector<std::string> levels;
  for (std::size_t l = 0; l < cluster.levels.size(); ++l) {
    const Level& level = cluster.levels[l];
    levels.push_back(fmt::format("{}{}{}:{}", level.name, level.name.empty() ? "" : " ", level.kind,
                                 sizes_text(cluster, static_cast<int>(l))));
  }
  return fmt::format("{}", fmt::join(levels, " inside "));
}

namespace {

// "32 directed links of 50 GB/s to 100 GB/s, latency 1 us to 2 us".
std::string graph_text(const Cluster& cluster) {
  NodeLink least = cluster.cables.front(), most = least;
  for (const NodeLink& link : cluster.cables) {
    least.bandwidth = std::min(least.bandwidth, link.bandwidth);
    most.bandwidth = std::max(most.bandwidth, link.bandwidth);
    least.latency = std::min(least.latency, link.latency);
    most.latency = std::max(most.latency, link.latency);
  }
  const auto range = [](const auto& from, const auto& to) {
    return from == to ? to_text(from) : fmt::format("{} to {}", to_text(from), to_text(to));
  };
  return fmt::format("{} directed links of {}, latency {}, paths of the fewest links",
                     cluster.cables.size(), range(least.bandwidth, most.bandwidth),
                     range(least.latency, most.latency));
}

// What overrides say, in numbers.
std::string differing_text(const Cluster& cluster) {
  std::size_t missing = 0;
  for (const auto& [link, is] : cluster.changed) missing += is.missing ? 1u : 0u;
  std::string text;
  const auto add = [&](std::size_t count, const char* one, const char* several) {
    if (count > 0) text += fmt::format("; {} {}", count, count == 1 ? one : several);
  };
  add(cluster.changed.size() - missing, "directed link differs", "directed links differ");
  add(missing, "directed link is missing", "directed links are missing");
  add(cluster.speed.size(), "chip computes at another speed", "chips compute at another speed");
  return text;
}

}  // namespace

std::string network_text(const Cluster& cluster) {
  if (!cluster.cables.empty()) {
    return fmt::format("{}, {}{}", cluster.text, graph_text(cluster), differing_text(cluster));
  }
  if (cluster.levels.size() == 1) {
    return fmt::format("{}, {}{}", cluster.text, level_text(cluster, 0), differing_text(cluster));
  }
  std::vector<std::string> levels;
  for (std::size_t l = 0; l < cluster.levels.size(); ++l) {
    const auto number = static_cast<int>(l);
    levels.push_back(fmt::format("{} ({} of {}), {}", cluster.levels[l].name,
                                 cluster.levels[l].kind, sizes_text(cluster, number),
                                 level_text(cluster, number)));
  }
  const bool named = cluster.text != shape_text(cluster);
  return fmt::format("{}{}{}{}", named ? cluster.text : "", named ? ": " : "",
                     fmt::join(levels, "; "), differing_text(cluster));
}

std::vector<std::string> axis_names(const Mesh& mesh, std::span<const int> axes) {
  std::vector<std::string> names;
  for (const int a : axes) {
    for (const MeshAxis& axis : mesh.axes) {
      if (!axis.axes.empty() && axis.axes.front() == a) names.push_back(axis.name);
    }
  }
  return names;
}

namespace {

// "x", "4 neighbours along x of 16", "every 4th device along x of 16", "… (level ib)".
std::string lie_text(const Cluster& cluster, int a) {
  const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
  const auto [first, last] = cluster.parts_of(a);
  std::string text = axis.name;
  if (last - first > 1) {
    const int row = axis.size * axis.stride;
    text = axis.stride == 1 ? fmt::format("{} neighbours", axis.size)
                            : fmt::format("devices {} apart", axis.stride);
    if (axis.stride > 1 && row < cluster.span_of(a)) text += fmt::format(", in rows of {},", row);
    text += fmt::format(" along an axis of {}", cluster.span_of(a));
  }
  const Level& level = cluster.levels[static_cast<std::size_t>(axis.level)];
  return level.name.empty() || level.name == text ? text
                                                  : fmt::format("{} of level {}", text, level.name);
}

}  // namespace

std::string groups_text(const Cluster& cluster, const Mesh& mesh, std::span<const int> axes) {
  int ranks = 1;
  for (const int a : axes) ranks *= cluster.axes[static_cast<std::size_t>(a)].size;
  std::vector<std::string> lies;
  for (const MeshAxis& axis : mesh.axes) {
    std::vector<std::string> parts;
    for (const int a : axis.axes) {
      if (std::find(axes.begin(), axes.end(), a) != axes.end())
        parts.push_back(lie_text(cluster, a));
    }
    const bool said = parts.size() == 1 && parts.front() == axis.name;
    if (!parts.empty() && !said) {
      lies.push_back(fmt::format("{} = {} is {}", axis.name, axis.size, fmt::join(parts, " and ")));
    }
  }
  const int groups = cluster.devices() / ranks;
  return fmt::format("{} group{} of {} device{}{}{}{}", groups, groups == 1 ? "" : "s", ranks,
                     ranks == 1 ? "" : "s", groups == 1 ? "" : ", all at once",
                     lies.empty() ? "" : ": ", fmt::join(lies, ", "));
}

namespace {

double along(const Cluster& cluster, int axis) {  // lines of devices along an axis
  return cluster.devices() / static_cast<double>(cluster.axes[static_cast<std::size_t>(axis)].size);
}

// What a changed link lacks of its port's bandwidth, with the places along an axis that it joins;
// -1 is a switch.
struct Lack {
  int port = 0;
  int from = -1, to = -1;
  BytesPerSec rate = {};
};

std::vector<Lack> lacks_along(const Cluster& cluster, int a) {
  const bool star = cluster.axes[static_cast<std::size_t>(a)].wiring == Wiring::star;
  const auto place = [&](DeviceId device) {
    return cluster.coordinates(device)[static_cast<std::size_t>(a)];
  };
  std::vector<Lack> lacks;
  for (const auto& [link, is] : cluster.changed) {
    const Port& port = cluster.port(link);
    Lack lack{static_cast<int>(static_cast<std::size_t>(link) % cluster.ports.size())};
    lack.rate = port.bandwidth - (is.missing ? BytesPerSec{} : is.bandwidth);
    if (star) {
      (port.direction > 0 ? lack.from : lack.to) = place(cluster.owner(link));
    } else if (const auto joined = ends(cluster, link); joined && port.axis == a) {
      lack.from = place(DeviceId{joined->first});
      lack.to = place(DeviceId{joined->second});
    } else {
      continue;
    }
    lacks.push_back(lack);
  }
  return lacks;
}

// The most that a cut through an axis lacks, of the places where it may be: `half` places from any
// on where they are joined in a circle, the first ones of a line; out of them (+1) or into them.
BytesPerSec most_lacking(const std::vector<Lack>& lacks, const Axis& axis, int half,
                         int direction) {
  BytesPerSec most;
  if (lacks.empty()) return most;
  const int starts = axis.wiring == Wiring::line ? 1 : axis.size;
  for (int start = 0; start < starts; ++start) {
    const auto inside = [&](int place) {
      return place >= 0 && (place - start + axis.size) % axis.size < half;
    };
    BytesPerSec lost;
    for (const Lack& lack : lacks) {
      const auto [first, then] =
          direction > 0 ? std::pair(lack.from, lack.to) : std::pair(lack.to, lack.from);
      if (inside(first) && !inside(then)) lost += lack.rate;
    }
    most = std::max(most, lost);
  }
  return most;
}

// One way, through links of a grid: those of one line that cross the cut, for all lines.
BytesPerSec grid_cut(const Cluster& cluster, int a) {
  const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
  const BytesPerSec w1 = cluster.ports[static_cast<std::size_t>(cluster.port_of(a, 1))].bandwidth;
  double links = 1;
  if (axis.wiring == Wiring::ring) links = 2;
  if (axis.wiring == Wiring::full_mesh) links = (axis.size / 2) * ((axis.size + 1) / 2);
  const std::vector<Lack> lacks = lacks_along(cluster, a);
  BytesPerSec lost;
  for (const int half : {axis.size / 2, (axis.size + 1) / 2}) {
    for (const int direction : {1, -1})
      lost = std::max(lost, most_lacking(lacks, axis, half, direction));
  }
  return w1 * links * along(cluster, a) - lost;
}

// One way, through switches: the narrowest of the ports that the smaller half has on its way up, or
// down.
BytesPerSec star_cut(const Cluster& cluster, int a) {
  const Axis& axis = cluster.axes[static_cast<std::size_t>(a)];
  const Level& level = cluster.levels[static_cast<std::size_t>(axis.level)];
  const double half = (axis.size / 2) * along(cluster, a);
  const std::vector<Lack> all = lacks_along(cluster, a);
  std::optional<BytesPerSec> least;
  for (const std::vector<int>* ports : {&level.up, &level.down}) {
    for (const int p : *ports) {
      const Port& port = cluster.ports[static_cast<std::size_t>(p)];
      std::vector<Lack> lacks;
      std::copy_if(all.begin(), all.end(), std::back_inserter(lacks),
                   [&](const Lack& lack) { return lack.port == p; });
      const BytesPerSec carries = port.bandwidth * (half / cluster.sharers(port)) -
                                  most_lacking(lacks, axis, axis.size / 2, port.direction);
      least = least ? std::min(*least, carries) : carries;
    }
  }
  return least.value_or(BytesPerSec{});
}

void count_links(const Cluster& cluster, NetworkFacts& facts) {
  for (const Port& port : cluster.ports) {
    const Axis& axis = cluster.axes[static_cast<std::size_t>(port.axis)];
    const double owners = cluster.devices() / static_cast<double>(cluster.sharers(port));
    const bool open = axis.wiring == Wiring::line;  // nothing past the end
    facts.links += open ? owners - along(cluster, port.axis) : owners;
    const bool uplink = port.block.size() > 0 && cluster.levels.size() > 1 &&
                        cluster.levels[static_cast<std::size_t>(axis.level)].up.front() !=
                            static_cast<int>(&port - cluster.ports.data());
    const bool inwards = axis.wiring == Wiring::star && port.direction < 0;
    if (!uplink && !inwards) facts.ports += 1.0 / cluster.sharers(port);
  }
}

}  // namespace

NetworkFacts network_facts(const Cluster& cluster) {
  NetworkFacts facts;
  if (!cluster.cables.empty()) {
    facts.bisection = graph_bisection(cluster).value_or(BytesPerSec{});
    facts.links = static_cast<double>(cluster.cables.size());
    for (const NodeLink& link : cluster.cables) {
      if (static_cast<int>(link.from) < cluster.devices()) facts.ports += 1.0 / cluster.devices();
    }
    facts.wrap = "-";
    return facts;
  }
  count_links(cluster, facts);
  const auto outermost = static_cast<int>(cluster.levels.size()) - 1;
  std::vector<std::string> wrapped;
  for (std::size_t i = 0; i < cluster.axes.size(); ++i) {
    const Axis& axis = cluster.axes[i];
    const bool ring = axis.wiring == Wiring::ring || axis.wiring == Wiring::ring_oneway;
    if (ring) wrapped.push_back(axis.name);
    if (axis.level != outermost) continue;
    const int a = static_cast<int>(i);
    const BytesPerSec cut =
        axis.wiring == Wiring::star ? star_cut(cluster, a) : grid_cut(cluster, a);
    if (!facts.cut.empty() && !(cut < facts.bisection)) continue;
    facts.bisection = cut;
    facts.cut = axis.name;
  }
  facts.wrap = wrapped.empty() ? "-" : fmt::format("{}", fmt::join(wrapped, " "));
  return facts;
}

}  // namespace shardsim
