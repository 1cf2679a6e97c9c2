#include "plan/graph_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace shardsim {

namespace {

constexpr int kMostNodes = 4096;  // nothing of a graph is folded

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "leaf" and 12 of "leaf12"; no number: -1.
std::pair<std::string, int> name_and_number(const std::string& text) {
  std::size_t digits = text.size();
  while (digits > 0 && is_number(text.substr(digits - 1, 1))) --digits;
  const std::string number = text.substr(digits);
  if (number.empty() || number.size() > 6) return {text, -1};
  return {text.substr(0, digits), std::stoi(number)};
}

// Why what stands round the dots is no range, with what to write instead; nothing: it is one.
struct NoRange {
  std::string expected, hint;
};
std::optional<NoRange> why_no_range(std::string_view written) {
  const std::size_t dots = written.find("..");
  const auto [name, first] = name_and_number(std::string(written.substr(0, dots)));
  const auto [again, last] = name_and_number(std::string(written.substr(dots + 2)));
  if (first < 0 || last < 0 || (name != again && !again.empty()))
    return NoRange{"a range such as 0..7 or leaf0..leaf3", ""};
  if (last < first) {
    return NoRange{"a range that goes up",
                   fmt::format("did you mean {}{}..{}{}?", name, last, again, first)};
  }
  if (last - first >= kMostNodes)
    return NoRange{fmt::format("a range of at most {}", kMostNodes), ""};
  return std::nullopt;
}

// The names that 0..3 or leaf0..leaf3 stands for; one that is no range for itself.
std::vector<Chosen<std::string>> names_in(const Chosen<std::string>& written,
                                          std::vector<Problem>& problems) {
  const std::size_t dots = written.value.find("..");
  if (dots == std::string::npos) return {written};
  if (const auto why = why_no_range(written.value)) {
    problems.push_back({written.pos,
                        fmt::format("expected {}, found \"{}\"", why->expected, written.value),
                        why->hint});
    return {};
  }
  const auto [name, first] = name_and_number(written.value.substr(0, dots));
  const int last = name_and_number(written.value.substr(dots + 2)).second;
  std::vector<Chosen<std::string>> names;
  for (int i = first; i <= last; ++i)
    names.push_back({name + std::to_string(i), written.pos, true});
  return names;
}

class GraphMaker {
 public:
  GraphMaker(const TopologySpec& spec, const LinkFigures& link, std::vector<Problem>& problems)
      : spec_(spec), link_(link), problems_(problems) {}

  Cluster make() {
    if (!add_nodes()) return {};
    for (const LinkSpec& written : spec_.links) add_links(written);
    if (!all_drawn_) made_.cables.clear();
    made_.kind = "links";
    made_.text = spec_.text;
    if (made_.text.empty()) {
      made_.text = fmt::format("graph of {} devices and {} switches", made_.devices(),
                               made_.switches.size());
    }
    return std::move(made_);
  }

 private:
  void refuse(const SourcePos& pos, std::string message, std::string hint = {}) {
    problems_.push_back({pos, std::move(message), std::move(hint)});
  }

  // Whether all nodes are known, so that what names them can be looked at.
  bool add_nodes() {
    int devices = spec_.devices.value;
    const SourcePos& pos = spec_.devices.given ? spec_.devices.pos : spec_.pos;
    if (devices < 2 || devices > kMostNodes) {
      refuse(pos,
             spec_.devices.given
                 ? fmt::format("expected 2 to {} devices in a graph, found {}", kMostNodes, devices)
                 : "expected devices beside links, found none",
             "for example devices: 8");
      if (!spec_.devices.given || devices > kMostNodes) return false;
      devices = 2;
    }
    made_.axes.push_back({"device", devices, Wiring::graph, 0, 1, 0});
    made_.levels.emplace_back();
    made_.levels.back().kind = "links";
    bool known = true;
    for (const Chosen<std::string>& written : spec_.switches) {
      const std::vector<Chosen<std::string>> names = names_in(written, problems_);
      known = known && !names.empty();
      for (const Chosen<std::string>& name : names) add_switch(name);
    }
    if (spec_.links.empty()) {
      refuse(spec_.links_pos.source ? spec_.links_pos : pos,
             fmt::format("expected links between the {} devices, found none", devices),
             "for example links: [{from: 0..7, to: s0}]");
    }
    return known;
  }

  void add_switch(const Chosen<std::string>& name) {
    if (is_number(name.value)) {
      refuse(name.pos, fmt::format("expected a name of a switch, found \"{}\"", name.value),
             "numbers are devices");
      made_.switches.push_back(name.value);  // links to it are not refused as well
    } else if (std::find(made_.switches.begin(), made_.switches.end(), name.value) !=
               made_.switches.end()) {
      refuse(name.pos, fmt::format("switch {} is there twice", name.value));
    } else {
      made_.switches.push_back(name.value);
    }
  }

  std::vector<std::uint32_t> nodes(const std::vector<Chosen<std::string>>& written) {
    std::vector<std::uint32_t> result;
    for (const Chosen<std::string>& one : written) {
      for (const Chosen<std::string>& name : names_in(one, problems_)) {
        const int node = find_node(made_, name, problems_);
        if (node < 0) break;  // said once for a range
        result.push_back(static_cast<std::uint32_t>(node));
      }
    }
    return result;
  }

  // Of the links; where it is refused, one that they can be drawn with.
  BytesPerSec bandwidth_of(const LinkSpec& written) {
    const auto& own = written.bandwidth;
    const BytesPerSec w1 = own.given ? own.value : link_.bandwidth * link_.efficiency;
    if (w1 > BytesPerSec{0}) return w1;
    refuse(own.given ? own.pos : written.pos,
           own.given ? "expected a bandwidth above 0, found 0"
                     : "expected a bandwidth of the link, found none",
           "for example bandwidth: 50 GB/s");
    return BytesPerSec{1};
  }

  void add_links(const LinkSpec& written) {
    const BytesPerSec w1 = bandwidth_of(written);
    const Seconds latency = written.latency.given ? written.latency.value : link_.latency;
    const std::size_t before = problems_.size();
    const std::vector<std::uint32_t> from = nodes(written.from), to = nodes(written.to);
    if (problems_.size() != before || from.empty() || to.empty()) {
      all_drawn_ = false;
      return;
    }
    const bool paired =
        from.size() == to.size() && written.from.size() == 1 && written.to.size() == 1;
    const bool back = !written.both_ways.given || written.both_ways.value;
    bool sound = true;  // what is wrong is said once for all of them
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (std::size_t j = 0; j < to.size(); ++j) {
        if (paired && i != j) continue;
        sound = add_link(written, {from[i], to[j], w1, latency}, sound);
        if (back && from[i] != to[j])
          sound = add_link(written, {to[j], from[i], w1, latency}, sound);
      }
    }
  }

  // Returns `sound`, or that this one is not.
  bool add_link(const LinkSpec& written, const NodeLink& link, bool sound) {
    const auto [first, fresh] = seen_.try_emplace({link.from, link.to}, &written);
    if (link.from != link.to && fresh) {
      made_.cables.push_back(link);
      return sound;
    }
    if (!sound) return false;
    const std::string from = made_.node_name(link.from), to = made_.node_name(link.to);
    if (link.from == link.to) {
      refuse(written.pos,
             fmt::format("expected a link between two nodes, found one from {} to itself", from));
    } else {
      refuse(written.pos,
             first->second->pos.line > 0 && first->second->pos.line != written.pos.line
                 ? fmt::format("the link from {} to {} is there twice, first in line {}", from, to,
                               first->second->pos.line)
                 : fmt::format("the link from {} to {} is there twice", from, to),
             "a link with more bandwidth stands for several");
    }
    return false;
  }

  const TopologySpec& spec_;
  const LinkFigures& link_;
  std::vector<Problem>& problems_;
  Cluster made_;
  bool all_drawn_ = true;  // every link names its nodes, and they are there
  std::map<std::pair<std::uint32_t, std::uint32_t>, const LinkSpec*> seen_;
};

}  // namespace

int find_node(const Cluster& cluster, const Chosen<std::string>& name,
              std::vector<Problem>& problems) {
  const int devices = cluster.devices();
  if (is_number(name.value) && name.value.size() < 8 && std::stoi(name.value) < devices) {
    return std::stoi(name.value);
  }
  const auto at = std::find(cluster.switches.begin(), cluster.switches.end(), name.value);
  if (at != cluster.switches.end()) {
    return devices + static_cast<int>(at - cluster.switches.begin());
  }
  problems.push_back({name.pos,
                      fmt::format("expected a device 0 to {}{}, found \"{}\"", devices - 1,
                                  cluster.switches.empty() ? "" : " or a switch", name.value),
                      suggestion(name.value, cluster.switches)});
  return -1;
}

Cluster make_graph(const TopologySpec& spec, const LinkFigures& link,
                   std::vector<Problem>& problems) {
  return GraphMaker(spec, link, problems).make();
}

bool require_links(const TopologySpec& spec, const Cluster& cluster,
                   std::vector<Problem>& problems) {
  std::vector<bool> joined(static_cast<std::size_t>(cluster.devices()) + cluster.switches.size());
  for (const NodeLink& link : cluster.cables) joined[link.from] = joined[link.to] = true;
  std::vector<std::string> alone;
  for (std::uint32_t node = 0; node < joined.size(); ++node) {
    if (!joined[node]) alone.push_back(cluster.node_name(node));
  }
  if (alone.empty()) return true;
  const std::string which = alone.size() > 4
                                ? fmt::format("{} and {} more", alone[0], alone.size() - 1)
                                : fmt::format("{}", fmt::join(alone, ", "));
  problems.push_back(
      {spec.links_pos.source ? spec.links_pos : spec.pos,
       fmt::format("expected links at every device and switch, found none at {}", which), ""});
  return false;
}

}  // namespace shardsim
