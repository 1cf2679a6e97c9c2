#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "report/reports.h"

namespace shardsim {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kMostLinks = 8;
constexpr std::size_t kMostDiffering = 4;

// At most `width` characters; what is cut off is shown by a dot.
std::string cut(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 1) + ".";
  return text;
}

std::string percent(double ratio) {
  return fmt::format("{:.1f} %", 100 * ratio);
}

// Relative difference as people read it: exact cases say so.
std::string against(Seconds value, Seconds reference) {
  if (reference == Seconds{0}) return value == Seconds{0} ? "equal" : "-";
  const double error = value / reference - 1;
  if (std::abs(error) < 5e-10) return "simulated is equal to 1e-9";
  if (std::abs(error) < 5e-6) return fmt::format("simulated {:+.1e}", error);
  if (error > 10) return fmt::format("simulated is {:.3g} times that", error + 1);
  return fmt::format("simulated {:+.2f} %", 100 * error);
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("  {:<12} {}\n", label, wrapped(text, static_cast<int>(kWidth), 15));
}

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

// The busiest links, and of those that differ from the others the busiest, too.
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

}  // namespace

std::string collective_table(const Run& run, const Metrics& metrics) {
  std::string text;
  for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
    const CollectiveInstance& c = run.plan.collectives[i];
    if (i > 0) text += "\n";
    text += fmt::format("{} of V = {} over {}: {} devices in a group, {} ({} devices)\n",
                        to_text(c.kind), to_text(c.bytes), fmt::join(c.axes, ", "), c.devices,
                        run.plan.cluster.text, run.plan.cluster.devices());
    const Seconds time = metrics.collective_time[i];
    const bool alone = run.plan.collectives.size() == 1;
    text += line("simulated", fmt::format("{:<14} {}", fine_text(time), engine_text(run)));
    text += line(
        "closed form",
        fmt::format("{:<14} {}; {}{}", fine_text(c.analytic), against(time, c.analytic), c.formula,
                    !alone                      ? " (for this one alone)"
                    : c.exact                   ? ""
                    : run.grain == Grain::fluid ? " (an estimate; the fluid grain may rest on it)"
                                                : " (an estimate)"));
    if (c.textbook != Seconds{0}) {
      text += line("textbook", fmt::format("{:<14} {}; {}", fine_text(c.textbook),
                                           against(time, c.textbook), c.textbook_formula));
    }
    text += line("algorithm", c.reason);
    text += line("bandwidth", c.convention);
  }
  if (run.plan.collectives.size() > 1) {
    text += fmt::format("\nall of them started together; the last ended after {}\n",
                        fine_text(metrics.step));
  }
  return text + link_lines(run, metrics) + assumption_lines(run.plan.assumptions);
}

namespace {

std::string collective_rows(const Run& run, const Metrics& metrics) {
  if (run.plan.collectives.empty()) return "\nno collectives\n";
  constexpr const char* kRow = "{:<8} {:<18} {:>4} {:<7} {:<5} {:<7} {:<12} {:>9} {:>10} {:>11}\n";
  std::string text = "\n" + fmt::format(kRow, "pass", "collective", "n", "tensor", "over", "case",
                                        "algorithm", "V of one", "time of n", "closed form");
  for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
    const CollectiveInstance& c = run.plan.collectives[i];
    const auto count = static_cast<double>(c.times.size());
    text += fmt::format(kRow, to_text(c.pass), to_text(c.kind), c.times.size(), cut(c.tensor, 7),
                        cut(fmt::format("{}", fmt::join(c.axes, ",")), 5), cut(c.case_text, 7),
                        cut(c.algorithm, 12), to_text(c.bytes), to_text(metrics.collective_time[i]),
                        to_text(c.analytic * count));
  }
  return text;
}

// Whether it moves a parameter, "Wq", or its gradient, "dWq" (a name with W that a statement makes
// is an activation's).
bool of_weights(const ShardedLayer& layer, std::string_view tensor) {
  if (tensor.starts_with("dW")) tensor.remove_prefix(1);
  return tensor.starts_with('W') &&
         std::none_of(layer.steps.begin(), layer.steps.end(),
                      [&](const ShardedStatement& step) { return step.out_name == tensor; });
}

// "8 of activations 4697.6205 us, 2 of weights 0.2867 us": how many, and their times added up.
std::string collectives_text(const Run& run, const Metrics& metrics) {
  std::array<int, 2> count = {};
  std::array<Seconds, 2> time = {};
  for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
    const std::size_t kind = of_weights(run.plan.layer, run.plan.collectives[i].tensor) ? 1 : 0;
    count[kind] += static_cast<int>(run.plan.collectives[i].times.size());
    time[kind] += metrics.collective_time[i];
  }
  std::vector<std::string> texts;
  for (const std::size_t kind : {0u, 1u}) {
    if (count[kind] == 0) continue;
    texts.push_back(fmt::format("{} of {} {}", count[kind], kind == 0 ? "activations" : "weights",
                                fine_text(time[kind])));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string split_text(const MemorySplit& split) {
  std::vector<std::string> parts;
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (split[kind] == Bytes{}) continue;
    parts.push_back(
        fmt::format("{} {}", to_text(static_cast<MemoryKind>(kind)), to_text(split[kind])));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The peak of the highest rank, when it is reached and of what it is.
std::string memory_line(const Run& run, const Metrics& metrics) {
  if (!metrics.memory_left) return "";
  const MemoryPeak& peak = highest(metrics.memory);
  const Origin& origin = run.graph.origins[run.graph.ops[static_cast<std::size_t>(peak.op)].origin];
  const Bytes left = *metrics.memory_left;
  const bool fits = left >= Bytes{};
  const std::string rank =
      metrics.memory.size() == 1 ? "" : fmt::format(" on rank {}", &peak - metrics.memory.data());
  return line(
      "memory",
      fmt::format("peak {}{} of {} ({} {}), at {} in \"{}\" of layer {}, micro-batch {}: {}",
                  to_text(total(peak.split)), rank, to_text(run.workload->memory),
                  to_text(fits ? left : Bytes{} - left), fits ? "left" : "too much",
                  to_text(peak.at), origin.name, origin.layer, origin.microbatch,
                  split_text(peak.split)));
}

// With a pipeline, every rank's peak.
std::string memory_rows(const Metrics& metrics) {
  if (metrics.memory.size() < 2) return "";
  const auto row = [](const auto& label, const auto& cells) {
    std::string text = fmt::format("{:<6}", label);
    for (const auto& cell : cells) text += fmt::format(" {:>12}", cell);
    return text + "\n";
  };
  std::vector<std::string> head = {"peak memory"};
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
    head.emplace_back(to_text(static_cast<MemoryKind>(kind)));
  std::string text = "\n" + row("rank", head);
  for (std::size_t rank = 0; rank < metrics.memory.size(); ++rank) {
    const MemorySplit& split = metrics.memory[rank].split;
    std::vector<std::string> cells = {to_text(total(split))};
    for (const Bytes bytes : split) cells.push_back(to_text(bytes));
    text += row(rank, cells);
  }
  return text;
}

std::string share_of(Seconds part, Seconds whole) {
  return whole == Seconds{0} ? "" : fmt::format(" ({})", percent(part / whole));
}

}  // namespace

std::string run_table(const Run& run, const Metrics& metrics) {
  const Seconds step = metrics.step;
  const bool rounding = metrics.rest < step * 1e-9;
  std::string text = cut(printable(run.name), kWidth) + "\n";
  for (const auto& [label, what] : run.plan.facts) text += line(label, what);
  text += line("replay", engine_text(run));
  text += line("step time",
               fmt::format("{} = compute {}{} + exposed comm {}{} + rest {}", to_text(step),
                           to_text(metrics.compute), share_of(metrics.compute, step),
                           to_text(metrics.exposed), share_of(metrics.exposed, step),
                           to_text(rounding ? Seconds{0} : metrics.rest)));
  if (metrics.mfu) {
    const std::string speed =
        metrics.tokens_per_s
            ? fmt::format("; {:.4g} tokens/s through these layers", *metrics.tokens_per_s)
            : "";
    text += line("MFU", fmt::format("{} of {} {} per device{}", percent(*metrics.mfu),
                                    to_text(run.workload->peak), run.workload->peak_name, speed));
  }
  text += memory_line(run, metrics);
  text += line("collectives", collectives_text(run, metrics));
  return text + memory_rows(metrics) + collective_rows(run, metrics) + link_lines(run, metrics) +
         assumption_lines(run.plan.assumptions);
}

}  // namespace shardsim
