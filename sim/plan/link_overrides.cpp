#include "plan/link_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "plan/graph_cluster.h"
#include "plan/routes.h"

namespace shardsim {

namespace {

using Nodes = std::pair<std::uint32_t, std::uint32_t>;

// The same cable in the other direction; nothing where there is none.
std::optional<LinkId> other_way(const Cluster& cluster, LinkId link) {
  if (static_cast<std::size_t>(link) >= cluster.port_links()) {
    const auto nodes = ends(cluster, link);
    for (std::size_t i = 0; i < cluster.cables.size(); ++i) {
      const NodeLink& cable = cluster.cables[i];
      if (Nodes{cable.to, cable.from} != *nodes) continue;
      return LinkId{static_cast<std::uint32_t>(cluster.port_links() + i)};
    }
    return std::nullopt;
  }
  const Port& port = cluster.port(link);
  const Axis& axis = cluster.axes[static_cast<std::size_t>(port.axis)];
  if (axis.wiring == Wiring::ring_oneway) return std::nullopt;
  if (axis.wiring != Wiring::star) {
    return cluster.link(DeviceId{ends(cluster, link)->second},
                        cluster.port_of(port.axis, -port.direction));
  }
  // The ports of a switch follow each other, up and down.
  const auto index = static_cast<int>(static_cast<std::size_t>(link) % cluster.ports.size());
  return cluster.link(cluster.owner(link), index + port.direction);
}

// "4, 12 and 3 more".
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t kShown = 12;
  if (names.size() <= kShown) return fmt::format("{}", fmt::join(names, ", "));
  const std::size_t more = names.size() - kShown;
  names.resize(kShown);
  return fmt::format("{} and {} more", fmt::join(names, ", "), more);
}

// REQUIRES of all but `apply`, `check_…`: what the override names is there.
class Overrides {
 public:
  Overrides(Cluster& cluster, std::vector<Problem>& problems)
      : cluster_(cluster), problems_(problems) {}

  void apply(const OverrideSpec& written) {
    const std::size_t before = problems_.size();
    check_form(written);
    check_names(written);
    const bool sound = problems_.size() == before;
    check_figures(written);
    if (!sound) return;
    if (written.speed.given) {
      slow_chips(written);
    } else {
      change_links(written);
    }
  }

  // Something must be left of every override when all are applied: a later one wins.
  void require_effect(const OverrideSpec& o) {
    const auto its = [&](const auto& entry) { return entry.second == &o; };
    if (std::any_of(last_.begin(), last_.end(), its)) return;
    if (std::any_of(last_speed_.begin(), last_speed_.end(), its)) return;
    refuse(o.pos, "expected an override with an effect, found one that later ones undo");
  }

 private:
  void refuse(const SourcePos& pos, std::string message, std::string hint = {}) {
    problems_.push_back({pos, std::move(message), std::move(hint)});
  }

  void check_form(const OverrideSpec& o) {
    const bool link = o.link.given || o.from.given || o.to.given;
    const bool figures = o.bandwidth.given || o.latency.given;
    const bool missing = o.missing.given && o.missing.value;
    if (o.speed.given && (link || figures || missing)) {
      refuse(o.pos, "expected an override of a chip or of a link, found both");
    } else if (!o.speed.given && !link) {
      refuse(o.pos, "expected link, from and to, or speed in an override, found none",
             "for example {link: x+, at: {x: 3}, bandwidth: 10 GB/s}");
    } else if (o.from.given != o.to.given) {
      refuse(o.pos,
             fmt::format("expected from and to, found {} alone", o.from.given ? "from" : "to"));
    } else if (o.link.given && o.from.given) {
      refuse(o.pos, "expected either link or from and to, found both");
    } else if (o.from.given && !o.at.empty()) {
      refuse(o.at.front().pos, "expected either at or from and to, found both");
    } else if (missing && figures) {
      refuse(o.missing.pos, "expected either missing or new figures of the link, found both");
    } else if (!o.speed.given && !missing && !figures) {
      refuse(o.pos, "expected bandwidth, latency or missing of the link, found none");
    }
  }

  void check_figures(const OverrideSpec& o) {
    if (o.bandwidth.given && o.bandwidth.value <= BytesPerSec{0}) {
      refuse(o.bandwidth.pos, "expected a bandwidth above 0, found 0",
             "missing: true takes a link out");
    }
    if (o.speed.given && !(o.speed.value > 0)) {
      refuse(o.speed.pos, fmt::format("expected a speed above 0, found {:g}", o.speed.value));
    }
  }

  void check_names(const OverrideSpec& o) {
    if (o.link.given) port(o.link);
    if (o.from.given) node(o.from);
    if (o.to.given) node(o.to);
    for (const PlaceSpec& place : o.at) check_place(place);
  }

  void check_place(const PlaceSpec& place) {
    std::vector<std::string> names;
    for (const Axis& axis : cluster_.axes) {
      names.push_back(axis.name);
      if (axis.name != place.axis) continue;
      if (place.position < 0 || place.position >= axis.size) {
        refuse(place.pos, fmt::format("expected {} from 0 to {}, found {}", axis.name,
                                      axis.size - 1, place.position));
      }
      return;
    }
    refuse(place.axis_pos,
           fmt::format("expected an axis of {}, found \"{}\"", cluster_.text, place.axis),
           suggestion(place.axis, names));
  }

  // Devices at the positions; of axes left out, at all.
  std::vector<DeviceId> devices_at(const std::vector<PlaceSpec>& at) const {
    std::vector<DeviceId> result;
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(cluster_.devices()); ++d) {
      const std::vector<int> here = cluster_.coordinates(DeviceId{d});
      const bool meant = std::all_of(at.begin(), at.end(), [&](const PlaceSpec& place) {
        for (std::size_t i = 0; i < here.size(); ++i) {
          if (cluster_.axes[i].name == place.axis) return here[i] == place.position;
        }
        return false;
      });
      if (meant) result.push_back(DeviceId{d});
    }
    return result;
  }

  void slow_chips(const OverrideSpec& o) {
    bool changes = false;
    for (const DeviceId device : devices_at(o.at)) {
      changes = changes || cluster_.speed_of(device) != o.speed.value;
      cluster_.speed[device] = o.speed.value;
      last_speed_[device] = &o;
      if (o.speed.value == 1) cluster_.speed.erase(device);
    }
    if (!changes)
      refuse(o.speed.pos, fmt::format("expected a change, found the speed {:g} that the chips have",
                                      o.speed.value));
  }

  bool leads_somewhere(LinkId link) const {
    if (static_cast<std::size_t>(link) >= cluster_.port_links()) return true;
    const Axis& axis = cluster_.axes[static_cast<std::size_t>(cluster_.port(link).axis)];
    return axis.wiring == Wiring::star || ends(cluster_, link).has_value();
  }

  // Its index by its name, -1 with a problem.
  int port(const Chosen<std::string>& written) {
    std::vector<std::string> names;
    for (const Port& port : cluster_.ports) names.push_back(port.name);
    const auto named = std::find(names.begin(), names.end(), written.value);
    if (named != names.end()) return static_cast<int>(named - names.begin());
    refuse(written.pos,
           fmt::format("expected a link of {}, found \"{}\"", cluster_.text, written.value),
           names.empty() ? "links of a graph are told by from and to"
                         : suggestion(written.value, names));
    return -1;
  }

  std::set<LinkId> links_of_port(const OverrideSpec& o) {
    const int named = port(o.link);
    std::set<LinkId> links;
    for (const DeviceId device : devices_at(o.at)) {
      const LinkId link = cluster_.link(device, named);
      if (leads_somewhere(link)) links.insert(link);
    }
    if (links.empty()) {
      refuse(o.link.pos,
             fmt::format("expected a link, found that {} leads nowhere there", o.link.value),
             "the ends of a line are not joined");
    }
    return links;
  }

  // A node by its name; -1 with a problem.
  int one_node(const Chosen<std::string>& name) {
    if (name.value.find("..") == std::string::npos) return find_node(cluster_, name, problems_);
    refuse(name.pos, fmt::format("expected one node, found the range \"{}\"", name.value),
           cluster_.ports.empty()
               ? "an override with from and to is of one link"
               : fmt::format("several links are one override as {{link: {}, at: {{{}: 0}}, …}}",
                             cluster_.ports.front().name, cluster_.axes.front().name));
    return -1;
  }

  // The same, or by its coordinates.
  int node(const Chosen<std::vector<Chosen<std::string>>>& written) {
    const auto& words = written.value;
    if (words.size() == 1) return one_node(words[0]);
    std::vector<int> at;
    for (std::size_t i = 0; i < std::min(words.size(), cluster_.axes.size()); ++i) {
      const std::string& text = words[i].value;
      const auto digit = [](char c) { return c >= '0' && c <= '9'; };
      const bool number =
          !text.empty() && text.size() < 8 && std::all_of(text.begin(), text.end(), digit);
      const Axis& axis = cluster_.axes[i];
      if (!number || std::stoi(text) >= axis.size) {
        refuse(words[i].pos, fmt::format("expected {} from 0 to {}, found \"{}\"", axis.name,
                                         axis.size - 1, text));
        return -1;
      }
      at.push_back(std::stoi(text));
    }
    if (words.size() != cluster_.axes.size()) {
      refuse(
          written.pos,
          fmt::format("expected a device, or its position on the {} axes of {}, found {} numbers",
                      cluster_.axes.size(), cluster_.text, words.size()));
      return -1;
    }
    return static_cast<int>(cluster_.device(at));
  }

  std::set<LinkId> links_between(const OverrideSpec& o) {
    const int from = node(o.from), to = node(o.to);
    std::set<LinkId> links;
    if (cluster_.link_count() == 0) return links;  // of a graph some of which is refused
    std::vector<std::string> joined;               // to `from`
    for (std::uint32_t id = 0; id < cluster_.link_count(); ++id) {
      const auto nodes = ends(cluster_, LinkId{id});
      if (!nodes || static_cast<int>(nodes->first) != from) continue;
      joined.push_back(cluster_.node_place(nodes->second));
      if (static_cast<int>(nodes->second) == to) links.insert(LinkId{id});
    }
    if (links.empty()) {
      const auto place = [&](int n) { return cluster_.node_place(static_cast<std::uint32_t>(n)); };
      refuse(o.from.pos,
             fmt::format("expected a link, found none from {} to {}", place(from), place(to)),
             joined.empty() ? "" : fmt::format("{} is joined to {}", place(from), some_of(joined)));
    }
    return links;
  }

  void change_links(const OverrideSpec& o) {
    std::set<LinkId> links = o.link.given ? links_of_port(o) : links_between(o);
    if (!o.both_ways.given || o.both_ways.value) {
      for (const LinkId link : std::set<LinkId>(links)) {
        if (const auto back = other_way(cluster_, link)) links.insert(*back);
      }
    }
    bool changes = links.empty();  // a problem, told already
    for (const LinkId link : links) {
      LinkChange is = cluster_.figures(link);
      const LinkChange was = is;
      if (o.bandwidth.given) is.bandwidth = o.bandwidth.value;
      if (o.latency.given) is.latency = o.latency.value;
      if (o.missing.given) is.missing = o.missing.value;
      if (is == was) continue;
      changes = true;
      cluster_.changed[link] = is;
      last_[link] = &o;
    }
    if (!changes) refuse(o.pos, "expected a change, found the figures that the link has");
    const bool cut = std::any_of(links.begin(), links.end(), [&](LinkId link) {
      return cluster_.missing(link) && !ends(cluster_, link);
    });
    if (cut) {
      refuse(o.missing.pos,
             "expected missing for a link between two nodes, found it for a port of a switch",
             "its device would be cut off; of several cables that make one port, give the "
             "bandwidth that is left");
    }
  }

  Cluster& cluster_;
  std::vector<Problem>& problems_;
  std::map<LinkId, const OverrideSpec*> last_;  // to change a link
  std::map<DeviceId, const OverrideSpec*> last_speed_;
};

}  // namespace

void apply_overrides(const std::vector<OverrideSpec>& overrides, Cluster& cluster,
                     std::vector<Problem>& problems) {
  Overrides all(cluster, problems);
  const std::size_t before = problems.size();
  for (const OverrideSpec& written : overrides) all.apply(written);
  if (problems.size() != before) return;
  for (const OverrideSpec& written : overrides) all.require_effect(written);
}

}  // namespace shardsim
