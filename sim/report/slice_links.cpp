#include "report/slice_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace shardsim {

namespace {

constexpr std::size_t kMostNames = 6;

// "x+" of "x+ of device 3".
std::string port(const std::string& name) {
  return name.substr(0, name.find(" of device "));
}

std::string bandwidth_text(BytesPerSec least, BytesPerSec most) {
  return least < most ? fmt::format("{} to {}", to_text(least), to_text(most)) : to_text(most);
}

}  // namespace

std::string links_text(const OpGraph& graph, OpId first, OpId last) {
  const std::uint32_t origin = graph.ops[static_cast<std::size_t>(first)].origin;
  std::set<std::uint32_t> links;
  RouteId seen = kNoRoute;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i) {
    const Op& op = graph.ops[i];
    if (op.kind != OpKind::transfer || op.origin != origin || op.route == seen) continue;
    seen = op.route;
    const std::span<const std::uint32_t> route = graph.route(op.route);
    links.insert(route.begin(), route.end());
  }
  if (links.empty()) return "";
  std::vector<std::string> names;
  BytesPerSec least = graph.links[*links.begin()].bandwidth, most = least;
  for (const std::uint32_t link : links) {
    const NetLink& is = graph.links[link];
    least = std::min(least, is.bandwidth);
    most = std::max(most, is.bandwidth);
    std::string name = port(is.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string more;
  if (names.size() > kMostNames) {
    more = fmt::format(" and {} more", names.size() - kMostNames);
    names.resize(kMostNames);
  }
  return fmt::format("{}{}, {}", fmt::join(names, " "), more, bandwidth_text(least, most));
}

}  // namespace shardsim
