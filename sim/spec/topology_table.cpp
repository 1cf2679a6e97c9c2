// The rows of a topology: of a run's cluster.topology and of a topology file.
#include "spec/table.h"

namespace shardsim {
namespace {

LevelSpec& whole(RunSpec& run) {
  return run.topology;
}
LevelSpec& latest_level(RunSpec& run) {
  return run.topology.levels.back();
}

// What the whole of a cluster and one of its levels have in common.
template <LevelSpec& (*of)(RunSpec&)>
std::vector<Field> network_fields(std::string_view file, const std::string& prefix) {
  using enum FieldType;
  using V = const Value&;
  const std::string_view no_kind = prefix.ends_with("[].") ? "" : "levels links";
  return {
      {file,
       prefix + "kind",
       name,
       true,
       "",
       "a name from shardsim list topologies",
       [](RunSpec& r, V v, Problems&) { of(r).kind = v.as<std::string>(); },
       {},
       no_kind},
      {file, prefix + "axes", map, false, "", "hardware axes, major first"},
      {file, prefix + "axes.*", count, false, "", "devices along the axis",
       [](RunSpec& r, V v, Problems&) {
         of(r).axes.push_back({v.key, v.as<int>().value, v.key_pos});
       }},
      {file, prefix + "size", count, false, "", "instead of axes, for kinds with one axis",
       [](RunSpec& r, V v, Problems&) {
         of(r).axes.push_back({"", v.as<int>().value, v.pos});
       }},
      {file, prefix + "wrap", names, false, "as the kind says",
       "of a grid: the axes whose ends are joined",
       [](RunSpec& r, V v, Problems&) { of(r).wrap = v.as<Words>(); }},
      {file, prefix + "double_link", flag, false, "false",
       "of a grid: a wrapped axis of size 2 has two cables, a ring",
       [](RunSpec& r, V v, Problems&) { of(r).double_link = v.as<bool>(); }},
      {file, prefix + "nics_per_device", count, false, "1", "of a switch: ports of one device",
       [](RunSpec& r, V v, Problems&) { of(r).nics_per_device = v.as<int>(); }},
      {file, prefix + "in_network", flag, false, "false",
       "the switch adds what passes (NVLS, SHARP): auto considers in-network all-reduce",
       [](RunSpec& r, V v, Problems&) { of(r).in_network = v.as<bool>(); }},
  };
}

std::vector<Field> link_fields(std::string_view file, const std::string& prefix) {
  using enum FieldType;
  using V = const Value&;
  return {
      {file, prefix + "link", map, false, "", "of every link, or of every device's port"},
      {file, prefix + "link.bandwidth", bandwidth, false, "the chip's link_bandwidth",
       "of one direction",
       [](RunSpec& r, V v, Problems&) { r.topology.bandwidth = v.as<BytesPerSec>(); }},
      {file, prefix + "link.latency", seconds, false, "0", "per hop; once on a switch",
       [](RunSpec& r, V v, Problems&) { r.topology.latency = v.as<Seconds>(); }},
      {file, prefix + "link.efficiency", factor, false, "the chip variant's, or 1",
       "on the bandwidth",
       [](RunSpec& r, V v, Problems&) { r.topology.efficiency = v.as<double>(); }},
  };
}

std::vector<Field> level_fields(std::string_view file, const std::string& prefix) {
  using enum FieldType;
  using V = const Value&;
  return {
      {file, prefix + "name", name, true, "",
       "of the level; a level with size has one axis of this name",
       [](RunSpec& r, V v, Problems&) { latest_level(r).name = v.as<std::string>().value; }},
      {file, prefix + "bandwidth", bandwidth, false, "innermost: the chip's link_bandwidth",
       "of one direction of a link or port; a switch above another may have oversubscription "
       "instead",
       [](RunSpec& r, V v, Problems&) { latest_level(r).bandwidth = v.as<BytesPerSec>(); }},
      {file, prefix + "latency", seconds, false, "0", "per hop; once on a switch",
       [](RunSpec& r, V v, Problems&) { latest_level(r).latency = v.as<Seconds>(); }},
      {file, prefix + "efficiency", factor, false, "1; innermost: the chip variant's",
       "on the bandwidth",
       [](RunSpec& r, V v, Problems&) { latest_level(r).efficiency = v.as<double>(); }},
      {file, prefix + "oversubscription", ratio, false, "1",
       "of a switch: what enters it from below over what it can carry",
       [](RunSpec& r, V v, Problems&) { latest_level(r).oversubscription = v.as<double>(); }},
      {file, prefix + "devices_per_nic", count, false, "1",
       "of a switch: devices that share one port",
       [](RunSpec& r, V v, Problems&) { latest_level(r).devices_per_nic = v.as<int>(); }},
  };
}

LinkSpec& latest_link(RunSpec& run) {
  return run.topology.links.back();
}
OverrideSpec& latest_override(RunSpec& run) {
  return run.topology.overrides.back();
}

// An explicit graph.
std::vector<Field> graph_fields(std::string_view file, const std::string& prefix) {
  using enum FieldType;
  using V = const Value&;
  const std::string item = prefix + "links.[]";
  return {
      {file, prefix + "devices", count, false, "",
       "of links: how many, numbered from 0; beside levels or kind: how many they must make",
       [](RunSpec& r, V v, Problems&) { r.topology.devices = v.as<int>(); }},
      {file, prefix + "switches", names, false, "none",
       "of links: names; s0..s3 stands for s0, s1, s2, s3",
       [](RunSpec& r, V v, Problems&) { r.topology.switches = v.as<Words>().value; }},
      {file, prefix + "links", maps, false, "",
       "instead of kind: a graph of devices and switches; messages take the paths with the fewest "
       "links, split evenly over them"},
      {file, item, map, false, "",
       "links; two ranges of equal length are joined one to one, otherwise every node of from with "
       "every one of to",
       [](RunSpec& r, V v, Problems&) {
         r.topology.links.emplace_back();
         r.topology.links.back().pos = v.pos;
       }},
      {file, item + ".from", nodes, true, "", "device or switch, range of them, or a list",
       [](RunSpec& r, V v, Problems&) { latest_link(r).from = v.as<Words>().value; }},
      {file, item + ".to", nodes, true, "", "the other end, in the same way",
       [](RunSpec& r, V v, Problems&) { latest_link(r).to = v.as<Words>().value; }},
      {file, item + ".bandwidth", bandwidth, false, "that of link", "of one direction",
       [](RunSpec& r, V v, Problems&) { latest_link(r).bandwidth = v.as<BytesPerSec>(); }},
      {file, item + ".latency", seconds, false, "that of link", "of one direction",
       [](RunSpec& r, V v, Problems&) { latest_link(r).latency = v.as<Seconds>(); }},
      {file, item + ".both_ways", flag, false, "true", "whether there is one back as well",
       [](RunSpec& r, V v, Problems&) { latest_link(r).both_ways = v.as<bool>(); }},
  };
}

// Links and chips that differ.
std::vector<Field> override_fields(std::string_view file, const std::string& prefix) {
  using enum FieldType;
  using V = const Value&;
  const std::string item = prefix + "overrides.[]";
  return {
      {file,
       prefix + "overrides",
       maps,
       false,
       "none",
       "links and chips that differ from the others",
       nullptr,
       {},
       {},
       true},
      {file, item, map, false, "", "one of them, or alike ones",
       [](RunSpec& r, V v, Problems&) {
         r.topology.overrides.emplace_back();
         r.topology.overrides.back().pos = v.pos;
       }},
      {file, item + ".link", name, false, "", "which link of every device at those positions: x+",
       [](RunSpec& r, V v, Problems&) { latest_override(r).link = v.as<std::string>(); }},
      {file, item + ".at", map, false, "everywhere", "positions of the devices along axes"},
      {file, item + ".at.*", position, false, "every one", "position along the axis",
       [](RunSpec& r, V v, Problems&) {
         latest_override(r).at.push_back({v.key, v.as<int>().value, v.pos, v.key_pos});
       }},
      {file, item + ".from", nodes, false, "",
       "instead of link and at: a device, its position on the axes as a list, or a switch",
       [](RunSpec& r, V v, Problems&) { latest_override(r).from = v.as<Words>(); }},
      {file, item + ".to", nodes, false, "", "the other end of the link",
       [](RunSpec& r, V v, Problems&) { latest_override(r).to = v.as<Words>(); }},
      {file, item + ".bandwidth", bandwidth, false, "unchanged", "of one direction",
       [](RunSpec& r, V v, Problems&) { latest_override(r).bandwidth = v.as<BytesPerSec>(); }},
      {file, item + ".latency", seconds, false, "unchanged", "of the link",
       [](RunSpec& r, V v, Problems&) { latest_override(r).latency = v.as<Seconds>(); }},
      {file, item + ".missing", flag, false, "false", "no message takes the link",
       [](RunSpec& r, V v, Problems&) { latest_override(r).missing = v.as<bool>(); }},
      {file, item + ".both_ways", flag, false, "true", "the link back is changed alike",
       [](RunSpec& r, V v, Problems&) { latest_override(r).both_ways = v.as<bool>(); }},
      {file, item + ".speed", factor, false, "1", "of the chips at those positions, in computing",
       [](RunSpec& r, V v, Problems&) { latest_override(r).speed = v.as<double>(); }},
  };
}

}  // namespace

std::vector<Field> topology_fields(std::string_view file, const std::string& prefix) {
  using enum FieldType;
  std::vector<Field> rows;
  const auto add = [&](std::vector<Field> more) {
    rows.insert(rows.end(), more.begin(), more.end());
  };
  const std::string item = prefix + "levels.[]";
  add(network_fields<whole>(file, prefix));
  add(link_fields(file, prefix));
  add({{file, prefix + "levels", maps, false, "", "networks inside each other, innermost first"},
       {file, item, map, false, "", "one level: as above, without link, and",
        [](RunSpec& r, const Value& v, Problems&) {
          r.topology.levels.emplace_back();
          r.topology.levels.back().pos = v.pos;
        }}});
  add(level_fields(file, item + "."));
  add(network_fields<latest_level>(file, item + "."));
  add(graph_fields(file, prefix));
  add(override_fields(file, prefix));
  return rows;
}

}  // namespace shardsim
