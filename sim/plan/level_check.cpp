#include "plan/level_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace shardsim {

bool is_grid(const TopologyRow& row) {
  return row.wiring == Wiring::ring;
}

bool axis_wraps(const TopologyRow& row, const LevelSpec& level, const AxisSpec& axis) {
  const auto& listed = level.wrap.value;
  if (!level.wrap.given) return row.wraps;
  return std::any_of(listed.begin(), listed.end(),
                     [&](const Chosen<std::string>& name) { return name.value == axis.name; });
}

std::vector<int> nic_parts(const std::vector<int>& sizes, int devices) {
  std::vector<int> parts;
  for (const int size : sizes) {
    const int here = devices % size == 0 ? size : devices;
    if (size % here != 0) break;
    parts.push_back(here);
    devices /= here;
  }
  if (devices != 1) return {};
  parts.resize(sizes.size(), 1);
  return parts;
}

namespace {

class Checker {
 public:
  Checker(const TopologySpec& spec, std::vector<Problem>& problems)
      : spec_(spec), problems_(problems) {}

  // Whether level number `l` is sound, its row `row`.
  void check(const LevelSpec& level, const TopologyRow& row, std::size_t l) {
    axes(level, row);
    only_grids(level, row);
    only_switches(level, row, l);
    if (row.rails && l == 0) {
      refuse(level.kind.pos, "expected rails above another level, found them innermost",
             "rails are one switch for each position of the level inside");
    }
  }

 private:
  void refuse(const SourcePos& pos, std::string message, std::string hint = {}) {
    problems_.push_back({pos, std::move(message), std::move(hint)});
  }

  void axes(const LevelSpec& level, const TopologyRow& row) {
    const auto count = static_cast<int>(level.axes.size());
    if (count < row.lowest_axes || count > row.highest_axes) {
      refuse(level.pos,
             fmt::format("expected {} for a {}, found {} axes",
                         row.highest_axes == 1 ? "one axis" : "1 to 8 axes", row.name, count),
             row.example.empty() ? "" : fmt::format("for example {}", row.example));
    }
    const bool one_device = spec_.levels.empty() && count == 1 && !level.wrap.given;
    for (const AxisSpec& axis : level.axes) {
      if (axis.size >= 2 || (axis.size == 1 && one_device)) continue;
      const bool listed = level.wrap.given && axis_wraps(row, level, axis);
      const bool whole = !spec_.levels.empty() && count == 1;
      refuse(axis.pos,
             fmt::format("expected 2 or more devices along axis {}{}, found {}", axis.name,
                         listed ? ", which wraps" : "", axis.size),
             fmt::format("leave the {} out{}", whole ? "level" : "axis",
                         listed && !whole ? ", in wrap as well" : ""));
    }
  }

  void only_grids(const LevelSpec& level, const TopologyRow& row) {
    if (!is_grid(row) && level.wrap.given) {
      refuse(level.wrap.pos,
             fmt::format("expected wrap on a grid only, found it on a {}", row.name));
    }
    if (!is_grid(row) && level.double_link.given) {
      refuse(level.double_link.pos,
             fmt::format("expected double_link on a grid only, found it on a {}", row.name));
    }
    if (is_grid(row)) pairs(level, row);
    std::vector<std::string> names;
    for (const AxisSpec& axis : level.axes) names.push_back(axis.name);
    for (const Chosen<std::string>& name : level.wrap.value) {
      if (std::find(names.begin(), names.end(), name.value) != names.end()) continue;
      refuse(name.pos,
             fmt::format("wrap: expected an axis of the {}, found \"{}\"", row.name, name.value),
             suggestion(name.value, names));
    }
  }

  // An axis of 2 is one cable; only both, a wrap and double_link, make a ring of it.
  void pairs(const LevelSpec& level, const TopologyRow& row) {
    std::vector<std::string> all, open;
    for (const AxisSpec& axis : level.axes) {
      if (axis.size != 2) continue;
      all.push_back(axis.name);
      if (!axis_wraps(row, level, axis)) open.push_back(axis.name);
    }
    const auto& twice = level.double_link;
    if (twice.given && all.empty()) {
      refuse(twice.pos, "expected double_link with an axis of 2, found none",
             "on longer axes every neighbour has a cable of its own");
    } else if (twice.value && open.size() == all.size() && !all.empty()) {
      refuse(
          twice.pos,
          fmt::format("expected double_link with an axis of 2 that wraps, found {}, which {} not",
                      fmt::join(all, " and "), all.size() == 1 ? "does" : "do"),
          fmt::format("wrap: [{}] makes a ring of two cables of it", all.front()));
    }
    for (const Chosen<std::string>& name : level.wrap.value) {
      const bool pair = std::find(all.begin(), all.end(), name.value) != all.end();
      if (!pair || twice.value) continue;
      refuse(name.pos,
             fmt::format("wrap: expected an axis of 3 or more, or double_link, found {} of 2",
                         name.value),
             "two devices have one cable anyway; double_link: true makes two of it");
    }
  }

  void only_switches(const LevelSpec& level, const TopologyRow& row, std::size_t l) {
    const bool star = row.wiring == Wiring::star;
    const auto needs_switch = [&](const auto& choice, const char* key) {
      if (choice.given && !star) {
        refuse(choice.pos, fmt::format("expected {} on a switch or rails only, found it on a {}",
                                       key, row.name));
      }
    };
    needs_switch(level.oversubscription, "oversubscription");
    needs_switch(level.nics_per_device, "nics_per_device");
    needs_switch(level.devices_per_nic, "devices_per_nic");
    needs_switch(level.in_network, "in_network");
    const auto& over = level.oversubscription;
    if (star && over.given && over.value < 1) {
      refuse(over.pos,
             fmt::format("expected an oversubscription of 1 or more, found {:g}", over.value),
             "2 means that half of what enters from below can leave");
    } else if (star && over.given && l == 0) {
      refuse(over.pos, "expected oversubscription above another level only, found it innermost");
    }
    const auto& shared = level.devices_per_nic;
    if (star && shared.given && l == 0 && shared.value > 1) {
      refuse(shared.pos, "expected devices_per_nic above another level only, found it innermost");
    }
  }

  const TopologySpec& spec_;
  std::vector<Problem>& problems_;
};

}  // namespace

void check_level(const TopologySpec& spec, std::size_t l, const TopologyRow& row,
                 std::vector<Problem>& problems) {
  Checker(spec, problems).check(spec.levels.empty() ? spec : spec.levels[l], row, l);
}

void check_nics(const LevelSpec& level, const std::vector<int>& inside,
                std::vector<Problem>& problems) {
  const auto& shared = level.devices_per_nic;
  if (!shared.given || shared.value <= 1 || !nic_parts(inside, shared.value).empty()) return;
  problems.push_back(
      {shared.pos,
       fmt::format("expected devices_per_nic to divide the devices inside, found {}", shared.value),
       ""});
}

void check_without_ports(const LevelSpec& level, std::vector<Problem>& problems) {
  const auto needs_ports = [&](const auto& choice, const char* key) {
    if (!choice.given) return;
    problems.push_back(
        {choice.pos,
         fmt::format("expected {} on a level with a bandwidth, found it on {}", key, level.name),
         "its switches join those of the level below, by the oversubscription"});
  };
  needs_ports(level.nics_per_device, "nics_per_device");
  needs_ports(level.devices_per_nic, "devices_per_nic");
  needs_ports(level.efficiency, "efficiency");
}

}  // namespace shardsim
