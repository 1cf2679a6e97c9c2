#include "report/table_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "report/reports.h"

namespace shardsim {

std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 1) + ".";
  return text;
}

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string percent(double ratio) {
  return fmt::format("{:.1f} %", 100 * ratio);
}

// As the scripts of the pages write it.
std::string rate_text(double rate) {
  std::string text = fmt::format("{:.4g}", rate);
  if (std::abs(rate) < 1000) return text;
  text = fmt::format("{:.0f}", std::strtod(text.c_str(), nullptr));
  const std::ptrdiff_t first = rate < 0 ? 1 : 0;
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("  {:<12} {}\n", label, wrapped(text, static_cast<int>(kTableWidth), 15));
}

namespace {

constexpr std::size_t kMostLinks = 8;
constexpr std::size_t kMostDiffering = 8;

// A row of the table: what was measured, or a link that nothing passes.
struct LinkRow {
  LinkLoad link;
  std::string_view note = {};
};

// The links that are not as their port says, one of each orbit: the busiest first, then those that
// nothing passes, then those that are missing.
std::vector<LinkRow> differing_links(const Run& run, const Metrics& metrics) {
  const Cluster& cluster = run.plan.cluster;
  const Fold& fold = run.plan.fold;
  std::set<std::string> differing;
  std::vector<LinkRow> idle, missing;
  for (const auto& [link, is] : cluster.changed) {
    const bool of_port = static_cast<std::size_t>(link) < cluster.port_links();
    const DeviceId owner = of_port ? cluster.owner(link) : DeviceId{};
    if (of_port && fold.representative(cluster, owner) != owner) continue;
    const NetLink& orbit = run.graph.links[fold.orbit_of(cluster, link)];
    if (is.missing) missing.push_back({{orbit.name, {}, {}, 0}});
    const bool carries = std::any_of(metrics.links.begin(), metrics.links.end(),
                                     [&](const LinkLoad& load) { return load.name == orbit.name; });
    if (carries) differing.insert(orbit.name);
    if (!carries && !is.missing) {
      idle.push_back({{orbit.name, orbit.bandwidth, {}, 0}, "overridden, nothing passes"});
    }
  }
  std::vector<LinkRow> rows;
  for (const LinkLoad& link : metrics.links)
    if (differing.count(link.name) > 0) rows.push_back({link, "overridden"});
  rows.insert(rows.end(), idle.begin(), idle.end());
  rows.insert(rows.end(), missing.begin(), missing.end());
  return rows;
}

std::string link_line(const LinkRow& row, std::size_t width) {
  const LinkLoad& link = row.link;
  if (link.bandwidth == BytesPerSec{}) return link.name + "\n";
  return fmt::format("{:<{}} {:>12} {:>14} {:>8}{}{}\n", link.name, width, to_text(link.bandwidth),
                     to_text(link.bytes), percent(link.utilisation), row.note.empty() ? "" : "  ",
                     row.note);
}

}  // namespace

std::string link_lines(const Run& run, const Metrics& metrics) {
  if (metrics.links.empty()) return "";
  const std::vector<LinkRow> differing = differing_links(run, metrics);
  std::vector<LinkRow> shown = differing;
  if (shown.size() > kMostDiffering) shown.resize(kMostDiffering);
  std::set<std::string> taken;
  for (const LinkRow& row : shown) taken.insert(row.link.name);
  for (std::size_t i = 0, others = 0; i < metrics.links.size() && others < kMostLinks; ++i) {
    if (!taken.insert(metrics.links[i].name).second) continue;
    shown.push_back({metrics.links[i]});
    ++others;
  }
  std::size_t width = 26;
  for (const LinkRow& row : shown) width = std::max(width, row.link.name.size());
  std::string text = fmt::format("\n{:<{}} {:>12} {:>14} {:>8}\n", "link (each of its kind)", width,
                                 "bandwidth", "carried", "busy");
  for (const LinkRow& row : shown) text += link_line(row, width);
  const auto hidden = [&](const auto& links, auto&& name) {
    return std::count_if(links.begin(), links.end(),
                         [&](const auto& link) { return taken.count(name(link)) == 0; });
  };
  const auto differ = hidden(differing, [](const LinkRow& row) { return row.link.name; });
  if (differ > 0) text += fmt::format("… and {} more that are overridden or missing\n", differ);
  const auto busy = hidden(metrics.links, [](const LinkLoad& link) { return link.name; });
  if (busy > 0) text += fmt::format("… and {} more, none busier\n", busy);
  return text;
}

std::string engine_text(const Run& run) {
  const int classes = run.plan.fold.classes();
  return fmt::format("{} engine, {} grain, {} device class{}, {} operations", run.engine,
                     to_text(run.grain), classes, classes == 1 ? "" : "es", run.graph.size());
}

}  // namespace shardsim
