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
constexpr std::size_t kMostDiffering = 4;

// Names of the links that are not as their port says; with one class of devices, of their kinds.
std::set<std::string> differing_links(const Cluster& cluster, const Fold& fold) {
  std::set<std::string> names;
  for (const auto& [link, is] : cluster.changed) {
    if (is.missing) continue;
    const bool of_kind =
        fold.classes() == 1 && static_cast<std::size_t>(link) < cluster.port_links();
    names.insert(of_kind ? cluster.port(link).name : cluster.link_name(link));
  }
  return names;
}

}  // namespace

std::string link_lines(const Run& run, const Metrics& metrics) {
  if (metrics.links.empty()) return "";
  const std::set<std::string> differing = differing_links(run.plan.cluster, run.plan.fold);
  std::vector<const LinkLoad*> shown;
  std::size_t besides = 0;
  for (std::size_t i = 0; i < metrics.links.size(); ++i) {
    const bool differs = differing.count(metrics.links[i].name) > 0;
    if (i >= kMostLinks && !(differs && besides++ < kMostDiffering)) continue;
    shown.push_back(&metrics.links[i]);
  }
  std::size_t width = 26;
  for (const LinkLoad* link : shown) width = std::max(width, link->name.size());
  std::string text = fmt::format("\n{:<{}} {:>12} {:>14} {:>8}\n", "link (each of its kind)", width,
                                 "bandwidth", "carried", "busy");
  for (const LinkLoad* link : shown) {
    text += fmt::format("{:<{}} {:>12} {:>14} {:>8}{}\n", link->name, width,
                        to_text(link->bandwidth), to_text(link->bytes), percent(link->utilisation),
                        differing.count(link->name) > 0 ? "  overridden" : "");
  }
  if (metrics.links.size() > shown.size()) {
    text += fmt::format("… and {} more, none busier\n", metrics.links.size() - shown.size());
  }
  return text;
}

std::string engine_text(const Run& run) {
  const int classes = run.plan.fold.classes();
  return fmt::format("{} engine, {} grain, {} device class{}, {} operations", run.engine,
                     to_text(run.grain), classes, classes == 1 ? "" : "es", run.graph.size());
}

}  // namespace shardsim
