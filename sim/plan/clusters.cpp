#include "plan/clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/must.h"
#include "plan/graph_cluster.h"
#include "plan/graph_paths.h"
#include "plan/level_check.h"
#include "plan/link_overrides.h"
#include "plan/network_text.h"
#include "plan/routes.h"
#include "plan/slices.h"
#include "spec/topology.h"

namespace shardsim {

namespace {

constexpr std::array<TopologyRow, 9> kTopologies = {{
    {"ring", "a ring with links in both directions", "ring:8", 1, 1, Wiring::ring, true},
    {"ring-oneway", "a ring with links in one direction", "ring-oneway:8", 1, 1,
     Wiring::ring_oneway, true},
    {"line", "neighbours joined, the ends not", "line:8", 1, 1, Wiring::ring, false},
    {"torus", "rings along every axis; an axis of 2 is one cable", "torus:4x4x4", 1, 8,
     Wiring::ring, true},
    {"mesh", "lines along every axis: a torus without its wraps", "mesh:4x4", 1, 8, Wiring::ring,
     false},
    {kSlice, "a slice of a TPU pod: a torus or mesh, as the chip's ICI wraps it", "tpu-slice:4x4x8",
     1, 8, Wiring::ring, false},
    {"switch", "one full-bisection switch (also: nvlink); bandwidth is egress per device",
     "switch:8", 1, 8, Wiring::star, true},
    {"full-mesh", "a cable between any two devices; bandwidth is of one cable", "full-mesh:8", 1, 1,
     Wiring::full_mesh, true},
    {"rails", "one switch for each position inside (rail-optimised); a level above another", "", 1,
     8, Wiring::star, true, true},
}};

Wiring wiring_of(const TopologyRow& row, const LevelSpec& level, const AxisSpec& axis) {
  if (!is_grid(row)) return row.wiring;
  const bool closed = axis_wraps(row, level, axis);
  if (axis.size == 2) return closed && level.double_link.value ? Wiring::ring : Wiring::pair;
  return closed ? Wiring::ring : Wiring::line;
}

// One level of the specification, its row found and its figures settled.
struct Part {
  const LevelSpec* spec = nullptr;
  const TopologyRow* row = nullptr;
  BytesPerSec w1;
  Seconds latency;
  BytesPerSec stated = {};  // w1 without the efficiency, of one port
  double efficiency = 1;
  bool climbs = false;  // a switch without ports of its own, above those of the level below
};

const TopologyRow* row_of(const LevelSpec& level, std::vector<Problem>& problems) {
  const TopologyRow* row = find_topology(level.kind.value);
  if (row != nullptr) return row;
  std::vector<std::string> names;
  for (const TopologyRow& r : kTopologies) names.emplace_back(r.name);
  problems.push_back({level.kind.pos,
                      fmt::format("expected a topology kind, found \"{}\"", level.kind.value),
                      suggestion(level.kind.value, names)});
  return nullptr;
}

// Levels innermost first; empty when there was a problem.
std::vector<Part> parts_of(const TopologySpec& spec, const LinkFigures& link,
                           std::vector<Problem>& problems) {
  std::vector<const LevelSpec*> levels;
  for (const LevelSpec& level : spec.levels) levels.push_back(&level);
  if (levels.empty()) levels.push_back(&spec);
  const std::size_t before = problems.size();
  std::vector<Part> parts;
  double devices = 1;
  std::vector<int> inside;  // sizes of the axes of the levels before, innermost first
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const LevelSpec& level = *levels[l];
    if (l > 0) {
      for (const AxisSpec& axis : std::views::reverse(levels[l - 1]->axes))
        inside.push_back(axis.size);
    }
    Part part{&level, row_of(level, problems), level.bandwidth.value, level.latency.value};
    if (part.row == nullptr) continue;
    check_level(spec, l, *part.row, problems);
    for (const AxisSpec& axis : level.axes) devices *= axis.size;
    double efficiency = level.efficiency.given ? level.efficiency.value : 1.0;
    if (l == 0) {
      part.w1 = link.bandwidth;
      part.latency = link.latency;
      efficiency = link.efficiency;
    } else if (!level.bandwidth.given) {
      const bool above = part.row->wiring == Wiring::star && !part.row->rails && !parts.empty() &&
                         parts.back().row->wiring == Wiring::star;
      part.climbs = above && level.oversubscription.given;
      if (part.climbs) {
        check_without_ports(level, problems);
      } else {
        problems.push_back(
            {level.pos, fmt::format("expected a bandwidth for level {}, found none", level.name),
             above ? "or an oversubscription: then it joins the switches of the level below"
                   : "bandwidth: 50 GB/s"});
      }
    }
    if (l > 0 && !part.climbs && part.row->wiring == Wiring::star)
      check_nics(level, inside, problems);
    part.stated = part.w1;
    part.efficiency = efficiency;
    part.w1 = part.w1 * efficiency * std::max(1, level.nics_per_device.value);
    parts.push_back(part);
  }
  if (devices > kMostDevices) {
    problems.push_back(
        {spec.pos, fmt::format("expected at most {} devices, found {:.0f}", kMostDevices, devices),
         ""});
  }
  if (problems.size() != before) parts.clear();
  return parts;
}

// Adds the axes, ports and levels of the parts to a cluster.
class Builder {
 public:
  explicit Builder(const std::vector<Part>& parts) : parts_(parts) {
    for (std::size_t l = parts.size(); l-- > 0;) add_axes(l);
    for (std::size_t l = 0; l < parts.size(); ++l) add_level(l);
  }
  Cluster take() { return std::move(made_); }

 private:
  void add_axes(std::size_t l) {
    const Part& part = parts_[l];
    for (const AxisSpec& axis : part.spec->axes) {
      const auto index = static_cast<int>(made_.axes.size());
      made_.axes.push_back({axis.name, axis.size, wiring_of(*part.row, *part.spec, axis), index, 1,
                            static_cast<int>(l)});
    }
  }

  void add_level(std::size_t l) {
    const Part& part = parts_[l];
    Level level;
    level.name = part.spec->name;
    level.kind = part.row->name;
    level.latency = part.latency;
    level.bandwidth = part.climbs ? BytesPerSec{} : part.stated;
    level.efficiency = part.efficiency;
    level.rails = part.row->rails;
    level.reduces = part.spec->in_network.value;
    made_.levels.push_back(level);
    if (part.row->wiring == Wiring::star) {
      add_star(part, static_cast<int>(l));
    } else {
      add_links(part, static_cast<int>(l));
    }
  }

  void add_links(const Part& part, int l) {
    for (std::size_t i = 0; i < made_.axes.size(); ++i) {
      const Axis& axis = made_.axes[i];
      if (axis.level != l) continue;
      const auto add = [&](const std::string& suffix, int direction) {
        made_.ports.push_back(
            {axis.name + suffix, static_cast<int>(i), part.w1, part.latency, direction});
      };
      if (axis.wiring == Wiring::full_mesh) {
        for (int d = 1; d < axis.size; ++d) add(fmt::format("+{}", d), d);
        continue;
      }
      add("+", 1);
      if (axis.wiring == Wiring::ring || axis.wiring == Wiring::line) add("-", -1);
    }
  }

  int first_axis(int l) const {
    int i = 0;
    while (made_.axes[static_cast<std::size_t>(i)].level != l) ++i;
    return i;
  }

  // Ports up and down, shared by blocks of devices.
  void add_ports(int l, const std::string& what, BytesPerSec w1, Seconds latency,
                 std::vector<int> block) {
    Level& level = made_.levels[static_cast<std::size_t>(l)];
    const bool own = std::all_of(block.begin(), block.end(), [](int b) { return b == 1; });
    if (own) block.clear();
    const int axis = first_axis(l);
    const std::string prefix = parts_.size() == 1 ? what : level.name + " " + what;
    level.up.push_back(static_cast<int>(made_.ports.size()));
    made_.ports.push_back({prefix + "up", axis, w1, latency, 1, block});
    level.down.push_back(static_cast<int>(made_.ports.size()));
    made_.ports.push_back({prefix + "down", axis, w1, Seconds{0}, -1, std::move(block)});
  }

  // Devices inside one element of the level, as a block; on rails only one position of it.
  std::vector<int> inside(int l, int lowest) const {
    std::vector<int> block;
    for (const Axis& axis : made_.axes) {
      block.push_back(axis.level < l && axis.level >= lowest ? axis.size : 1);
    }
    return block;
  }

  static double product(const std::vector<int>& block) {
    double n = 1;
    for (const int b : block) n *= b;
    return n;
  }

  std::vector<int> nic_block(const Part& part, int l) const {
    std::vector<int> sizes;  // inside, innermost axis first
    for (std::size_t i = made_.axes.size(); i-- > 0 && made_.axes[i].level < l;)
      sizes.push_back(made_.axes[i].size);
    const std::vector<int> parts = nic_parts(sizes, std::max(1, part.spec->devices_per_nic.value));
    must(parts.size() == sizes.size(), "NICs that do not divide the devices are refused");
    std::vector<int> block(made_.axes.size(), 1);
    std::copy(parts.begin(), parts.end(), block.rbegin());
    return block;
  }

  void add_star(const Part& part, int l) {
    Level& level = made_.levels[static_cast<std::size_t>(l)];
    const auto& over = part.spec->oversubscription;
    if (!part.climbs) {
      const std::vector<int> block = nic_block(part, l);
      add_ports(l, "", part.w1, part.latency, block);
      nic_level_ = l;
      rate_ = part.w1 / product(block);
      if (over.given && over.value > 1) add_uplink(l, over.value);
      return;
    }
    const Level& below = made_.levels[static_cast<std::size_t>(l) - 1];
    level.up = below.up;
    level.down = below.down;
    level.rails = below.rails;
    add_uplink(l, over.value);
  }

  // What comes up from one element, through its NICs or its own uplinks, divided by the
  // oversubscription.
  void add_uplink(int l, double over) {
    const bool rails = made_.levels[static_cast<std::size_t>(l)].rails;
    const std::vector<int> block = inside(l, rails ? nic_level_ : 0);
    const BytesPerSec w1 = rate_ * product(block) / over;
    add_ports(l, l == nic_level_ ? "uplink " : "", w1, Seconds{0}, block);
    rate_ = rate_ / over;
  }

  const std::vector<Part>& parts_;
  Cluster made_;
  int nic_level_ = 0;
  BytesPerSec rate_;  // what comes up from one device, when all send
};

}  // namespace

std::span<const TopologyRow> topologies() {
  return kTopologies;
}

const TopologyRow* find_topology(std::string_view kind) {
  if (kind == "nvlink") kind = "switch";
  for (const TopologyRow& row : kTopologies) {
    if (row.name == kind) return &row;
  }
  return nullptr;
}

namespace {

Cluster make_regular(const TopologySpec& spec, const LinkFigures& link,
                     std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const TopologySpec settled = settle_slices(spec, link.ici, problems);
  if (problems.size() != before) return {};
  const std::vector<Part> parts = parts_of(settled, link, problems);
  if (parts.empty()) return {};
  Cluster cluster = Builder(parts).take();
  cluster.kind = parts.size() == 1 ? std::string(parts.front().row->name) : "levels";
  cluster.text = spec.text.empty() ? shape_text(cluster) : spec.text;
  return cluster;
}

// Leaves out of wrap what has no ends to join, and double_link where it makes no axis a ring.
void mend_wraps(LevelSpec& level) {
  const TopologyRow* row = find_topology(level.kind.value);
  const bool twice = level.double_link.value && row != nullptr &&
                     std::any_of(level.axes.begin(), level.axes.end(), [&](const AxisSpec& axis) {
                       return axis.size == 2 && axis_wraps(*row, level, axis);
                     });
  if (!twice) level.double_link = {};
  std::erase_if(level.wrap.value, [&](const Chosen<std::string>& name) {
    return std::none_of(level.axes.begin(), level.axes.end(), [&](const AxisSpec& axis) {
      return axis.name == name.value && (axis.size > 2 || twice);
    });
  });
}

// As the topology is when what was refused of it is left out or made the nearest that is sound.
TopologySpec nearest_sound(TopologySpec spec) {
  const auto mend = [](LevelSpec& level) {
    for (AxisSpec& axis : level.axes) axis.size = std::max(axis.size, 2);
    if (level.oversubscription.given)
      level.oversubscription.value = std::max(level.oversubscription.value, 1.0);
    mend_wraps(level);
  };
  mend(spec);
  for (LevelSpec& level : spec.levels) mend(level);
  return spec;
}

void require_connected(const TopologySpec& spec, const Cluster& cluster,
                       std::vector<Problem>& problems) {
  SourcePos pos = spec.links_pos.source ? spec.links_pos : spec.pos;
  bool complete = cluster.cables.empty();
  for (const OverrideSpec& o : spec.overrides) {
    if (!o.missing.given || !o.missing.value) continue;
    complete = false;
    pos = o.missing.pos;
  }
  if (complete) return;
  if (const auto pair = unreachable_pair(cluster)) {
    problems.push_back(
        {pos,
         fmt::format("expected every device to reach every other, found no way from {} to {}",
                     cluster.node_place(static_cast<std::uint32_t>(pair->first)),
                     cluster.node_place(static_cast<std::uint32_t>(pair->second))),
         ""});
  }
}

}  // namespace

Cluster make_cluster(const TopologySpec& spec, const LinkFigures& link,
                     std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const bool graph = spec.devices.given || !spec.links.empty() || !spec.switches.empty();
  Cluster cluster = graph ? make_graph(spec, link, problems) : make_regular(spec, link, problems);
  bool joined = !graph || (!cluster.cables.empty() && require_links(spec, cluster, problems));
  // What is wrong with the overrides is said whatever else is.
  if (cluster.axes.empty() && !graph) {
    std::vector<Problem> again;
    cluster = make_regular(nearest_sound(spec), link, again);
    joined = false;  // or not: another network than was written
  }
  if (!cluster.axes.empty()) apply_overrides(spec.overrides, cluster, problems);
  if (joined) require_connected(spec, cluster, problems);
  return problems.size() == before ? cluster : Cluster{};
}

}  // namespace shardsim
