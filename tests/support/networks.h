// Small clusters for tests, by short name.
#pragma once

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "plan/clusters.h"
#include "plan/collective_run.h"
#include "replay/replay.h"
#include "spec/load.h"

namespace shardsim::testing {

// "switch:4 | rails:3 | switch:2 /2": levels innermost first, each half as fast as the one inside
// it and twice as far; /2 is an oversubscription instead of ports of its own.
inline TopologySpec levels_of(const std::string& text, Seconds latency, BytesPerSec bandwidth) {
  TopologySpec spec;
  spec.text = text;
  std::vector<Problem> problems;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bar = std::min(text.find(" | ", at), text.size());
    const std::string word = text.substr(at, bar - at);
    const std::size_t over = word.find(" /");
    LevelSpec level = parse_topology(word.substr(0, over), argument_pos("test", word), problems);
    level.name = "l" + std::to_string(spec.levels.size());
    for (std::size_t i = 0; i < level.axes.size(); ++i)
      level.axes[i].name = level.name + level.axes[i].name;
    if (over != std::string::npos) {
      level.oversubscription = {std::stod(word.substr(over + 2)), {}, true};
    } else {
      level.bandwidth = {bandwidth, {}, true};
    }
    level.latency = {latency, {}, true};
    bandwidth = bandwidth / 2;
    latency = latency * 2;
    spec.levels.push_back(level);
    at = bar + 3;
  }
  if (!problems.empty()) throw ConfigError(problems);
  return spec;
}

inline Cluster cluster(const std::string& text, Seconds latency = {},
                       BytesPerSec bandwidth = BytesPerSec{100e9}) {
  std::vector<Problem> problems;
  if (text.find('|') != std::string::npos) {
    Cluster made =
        make_cluster(levels_of(text, latency, bandwidth), {bandwidth, 1.0, latency}, problems);
    if (!problems.empty()) throw ConfigError(problems);
    return made;
  }
  const TopologySpec spec = parse_topology(text, argument_pos("test", text), problems);
  Cluster made = make_cluster(spec, {bandwidth, 1.0, latency}, problems);
  if (!problems.empty()) throw ConfigError(problems);
  return made;
}

// Explicit graphs and overrides, as a topology file has them.
inline Chosen<std::string> word(const std::string& text) {
  return {text, argument_pos("test", text), true};
}

inline LinkSpec join(const std::string& from, const std::vector<std::string>& to,
                     double gigabytes = 100, Seconds latency = {}) {
  LinkSpec link;
  link.from = {word(from)};
  for (const std::string& name : to) link.to.push_back(word(name));
  link.bandwidth = {BytesPerSec{gigabytes * 1e9}, argument_pos("bandwidth", "0"), true};
  link.latency = {latency, {}, true};
  link.pos = argument_pos("link", from);
  return link;
}

inline TopologySpec graph(int devices, const std::vector<std::string>& switches,
                          std::vector<LinkSpec> links) {
  TopologySpec spec;
  spec.devices = {devices, argument_pos("devices", std::to_string(devices)), true};
  for (const std::string& name : switches) spec.switches.push_back(word(name));
  spec.links = std::move(links);
  spec.links_pos = argument_pos("links", "links");
  spec.text = "graph";
  return spec;
}

inline Cluster cluster_of(const TopologySpec& spec, BytesPerSec bandwidth = BytesPerSec{100e9},
                          Seconds latency = {}) {
  std::vector<Problem> problems;
  Cluster made = make_cluster(spec, {bandwidth, 1.0, latency}, problems);
  if (!problems.empty()) throw ConfigError(problems);
  return made;
}

// {link: x+, at: {…}}, to be completed.
inline OverrideSpec override_at(const std::string& link, std::vector<PlaceSpec> at) {
  OverrideSpec o;
  if (!link.empty()) o.link = word(link);
  o.at = std::move(at);
  o.pos = argument_pos("override", "override");
  return o;
}

inline OverrideSpec slower(const std::string& link, std::vector<PlaceSpec> at, double gigabytes) {
  OverrideSpec o = override_at(link, std::move(at));
  o.bandwidth = {BytesPerSec{gigabytes * 1e9}, argument_pos("bandwidth", "0"), true};
  return o;
}

inline OverrideSpec missing(const std::string& link, std::vector<PlaceSpec> at) {
  OverrideSpec o = override_at(link, std::move(at));
  o.missing = {true, argument_pos("missing", "true"), true};
  return o;
}

inline Cluster overridden(const std::string& text, std::vector<OverrideSpec> overrides,
                          Seconds latency = {}) {
  std::vector<Problem> problems;
  TopologySpec spec = parse_topology(text, argument_pos("test", text), problems);
  spec.overrides = std::move(overrides);
  return cluster_of(spec, BytesPerSec{100e9}, latency);
}

inline std::vector<int> all_axes(const Cluster& c) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < c.axes.size(); ++i) axes.push_back(static_cast<int>(i));
  return axes;
}

// One collective of all groups along these axes at once, replayed in full.
inline Seconds simulated(const Cluster& made, const CollectiveAsk& ask, const AlgorithmRow& row,
                         const std::vector<int>& axes) {
  CollectiveRequest request;
  request.cluster = made;
  request.full = true;
  request.calls = {{ask, &row, axes}};
  return replay_simgrid(lower_collectives(request).graph).makespan();
}

// Of all devices.
inline Seconds simulated(const Cluster& made, const CollectiveAsk& ask, const AlgorithmRow& row) {
  return simulated(made, ask, row, all_axes(made));
}

// Nodes with a switch, rails or one large switch outside, leaves and spines, slices of a torus.
inline std::vector<std::string> level_networks() {
  return {"switch:4 | switch:3",
          "switch:2 | rails:4",
          "switch:4 | rails:2 | switch:2 /2",
          "switch:2 | switch:3 | switch:2 /3",
          "ring:4 | switch:2",
          "torus:3x2 | switch:2",
          "line:3 | switch:2",
          "full-mesh:3 | rails:2"};
}

// Two or three levels of 4 to 36 devices: a switch, ring, torus or full mesh inside, switches or
// rails above with NICs of one device or several and uplinks, or a spine on those of the level
// below.
inline TopologySpec random_levels(std::mt19937& random, Seconds latency) {
  const auto one_of = [&](const auto& values) { return values[random() % std::size(values)]; };
  const auto count = [](int value) { return Chosen<int>{value, {}, true}; };
  const std::string inside[] = {"switch:2", "switch:4", "switch:4",    "switch:6",
                                "ring:4",   "line:3",   "full-mesh:4", "torus:3x2"};
  const std::string above[] = {"switch:2", "switch:3", "rails:2", "rails:3"};
  const std::string last[] = {"switch:2", "switch:2 /2", "switch:2 /1.5", "switch:3 /1"};
  const double overs[] = {1, 1.5, 2, 3};
  const std::string first = one_of(inside);
  std::string text = first + " | " + one_of(above);
  if (random() % 2 == 0) text += " | " + one_of(last);
  TopologySpec spec = levels_of(text, latency, BytesPerSec{300e9});
  const int devices = first == "torus:3x2" ? 6 : first.back() - '0';
  const BytesPerSec rates[] = {BytesPerSec{25e9}, BytesPerSec{50e9}, BytesPerSec{200e9}};
  for (std::size_t l = 1; l < spec.levels.size(); ++l) {
    LevelSpec& level = spec.levels[l];
    if (!level.bandwidth.given) continue;
    level.bandwidth.value = one_of(rates);
    if (random() % 2 == 0 && devices % 2 == 0) level.devices_per_nic = count(2);
    if (random() % 4 == 0) level.devices_per_nic = count(devices);
    if (random() % 4 == 0) level.nics_per_device = count(2);
    if (random() % 3 == 0) level.oversubscription = {one_of(overs), {}, true};
  }
  return spec;
}

// Lines, rings, tori and switches with 2 to 16 ranks, sizes even, odd, equal and not.
inline std::vector<std::string> small_networks() {
  std::vector<std::string> names;
  for (int n = 2; n <= 16; ++n) {
    for (const char* kind : {"ring:", "ring-oneway:", "switch:"})
      names.push_back(kind + std::to_string(n));
  }
  for (const char* torus :
       {"torus:2x2", "torus:3x2", "torus:4x2", "torus:3x3", "torus:4x3", "torus:4x4", "torus:5x3",
        "torus:8x2", "torus:2x2x2", "torus:3x2x2", "torus:4x2x2"}) {
    names.emplace_back(torus);
  }
  for (const char* open :
       {"line:3", "line:4", "line:5", "line:8", "mesh:2x2", "mesh:3x3", "mesh:4x4", "mesh:4x2",
        "mesh:3x2", "mesh:5x3", "full-mesh:2", "full-mesh:3", "full-mesh:6"}) {
    names.emplace_back(open);
  }
  for (const std::string& levels : level_networks()) names.push_back(levels);
  return names;
}

}  // namespace shardsim::testing
