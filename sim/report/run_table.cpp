#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "report/device_use.h"
#include "report/memory_report.h"
#include "report/reports.h"
#include "report/table_parts.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostRanks = 16;

std::string share_of(Seconds part, Seconds whole) {
  return whole == Seconds{0} ? "" : fmt::format(" ({})", percent(part / whole));
}

std::string part(std::string_view name, Seconds time, Seconds step) {
  if (time < step * 1e-9) return fmt::format("{} 0 s", name);  // rounding
  return fmt::format("{} {}{}", name, to_text(time), share_of(time, step));
}

std::string step_text(const Metrics& m) {
  std::string text =
      fmt::format("{} = {} + {}", to_text(m.step), part("compute", m.compute, m.step),
                  part("exposed comm", m.exposed, m.step));
  if (m.ranks.size() > 1) text += " + " + part("bubble", m.bubble, m.step);
  return text + " + " + part("rest", m.rest, m.step);
}

// A utilisation, and what it is by other conventions where they give another figure.
std::string utilisation_line(std::string_view label, double share, const std::string& of_what,
                             double all_scores, std::optional<double> without_head) {
  std::string text = percent(share) + of_what;
  const auto other = [&](std::string_view convention, double figure) {
    if (figure != share) text += fmt::format("; {} {}", percent(figure), convention);
  };
  other("with all scores of causal attention", all_scores);
  if (without_head) other("without the head", *without_head);
  return line(label, text);
}

std::string speed_lines(const Run& run, const Metrics& m) {
  if (!m.mfu) return "";
  const Workload& work = *run.workload;
  std::string text = utilisation_line(
      "MFU", *m.mfu, fmt::format(" of {} {} per device", to_text(work.peak), work.peak_name),
      *m.mfu_all_scores, m.mfu_without_head);
  text += utilisation_line("HFU", *m.hfu, " with what is recomputed or done by several devices",
                           *m.hfu_all_scores, {});
  if (!m.tokens_per_s) return text;
  return text + line("speed",
                     fmt::format("{} tokens/s{}", rate_text(*m.tokens_per_s),
                                 work.layers == work.model_layers ? "" : " through these layers"));
}

std::string training_line(const Run& run, const Metrics& m) {
  if (!m.training) return "";
  const double hours = *m.training / Seconds{3600};
  return line("training", fmt::format("{:.4g} tokens in {:.4g} days, {:.4g} chip-hours",
                                      *run.workload->training_tokens, hours / 24,
                                      hours * run.plan.cluster.devices()));
}

std::string bubble_line(const Metrics& m) {
  if (m.ranks.size() < 2) return "";
  return line("bubble",
              fmt::format("{} of the step on all ranks, {} of the longest span of a rank; waiting "
                          "for transfers counts as idle here",
                          percent(m.makespan_bubble), percent(m.span_bubble)));
}

std::string rank_rows(const Metrics& m) {
  if (m.ranks.size() < 2) return "";
  constexpr const char* kRow = "{:<6} {:>12} {:>12} {:>13} {:>12} {:>12} {:>12}\n";
  std::string text =
      "\n" + fmt::format(kRow, "rank", "compute", "exposed", "busy", "idle", "begins", "ends");
  for (std::size_t rank = 0; rank < std::min(m.ranks.size(), kMostRanks); ++rank) {
    const RankTimes& r = m.ranks[rank];
    text += fmt::format(kRow, rank, to_text(r.compute), to_text(r.exposed), to_text(r.busy),
                        to_text(m.step - r.busy), to_text(r.first), to_text(r.last));
  }
  if (m.ranks.size() > kMostRanks)
    text += fmt::format("… and {} more, all in summary.json\n", m.ranks.size() - kMostRanks);
  return text;
}

// One row of where the time goes; what does not apply is empty.
struct CostRow {
  std::string kind, on_device, exposed, overlapped;
};

std::vector<CostRow> cost_rows(const Metrics& m) {
  std::vector<CostRow> rows;
  for (const KindTime& one : m.computes) rows.push_back({one.kind, to_text(one.time), "", ""});
  for (const CommunicatorTime& c : m.communicators) {
    rows.push_back({c.name == kPipeline ? c.name : collectives_over(c.name), to_text(c.time),
                    to_text(c.exposed), percent(c.overlapped())});
  }
  // What is on the path, or can be free, and is no kind of this device.
  for (const auto* list : {&m.critical_path, &m.what_if}) {
    for (const KindTime& one : *list) {
      const bool there = std::any_of(rows.begin(), rows.end(),
                                     [&](const CostRow& row) { return row.kind == one.kind; });
      if (!there) rows.push_back({one.kind, "", "", ""});
    }
  }
  return rows;
}

std::string found(const std::vector<KindTime>& list, const std::string& kind,
                  std::string (*text)(Seconds, Seconds), Seconds step) {
  for (const KindTime& one : list)
    if (one.kind == kind) return text(one.time, step);
  return "";
}

std::string path_text(Seconds time, Seconds step) {
  return to_text(time) + share_of(time, step);
}
std::string free_text(Seconds time, Seconds step) {
  return fmt::format("{} ({:+.1f} %)", to_text(time), 100 * (time / step - 1));
}

std::string cost_table(const Metrics& m) {
  const std::vector<CostRow> rows = cost_rows(m);
  if (rows.empty()) return "";
  constexpr const char* kRow = "{:<25} {:>10} {:>10} {:>8} {:>20}{}";
  constexpr const char* kFree = " {:>21}";
  const auto last = [&](std::string_view text) {
    return m.what_if.empty() ? "" : fmt::format(kFree, text);
  };
  std::string text = "\n" +
                     fmt::format(kRow, "where the time goes", "on device", "exposed", "hidden",
                                 "on the critical path", last("step if it is free")) +
                     "\n";
  for (const CostRow& row : rows) {
    text +=
        without_end(fmt::format(kRow, cut(row.kind, 25), row.on_device, row.exposed, row.overlapped,
                                found(m.critical_path, row.kind, path_text, m.step),
                                last(found(m.what_if, row.kind, free_text, m.step)))) +
        "\n";
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

std::string collective_rows(const Run& run, const Metrics& metrics) {
  if (run.plan.collectives.empty()) return "\nno collectives\n";
  constexpr const char* kRow = "{:<8} {:<18} {:>4} {:<7} {:<5} {:<7} {:<12} {:>9} {:>10} {:>11}\n";
  std::string text = "\n" + fmt::format(kRow, "pass", "collective", "n", "tensor", "over", "case",
                                        "algorithm", "V of one", "time of n", "closed form");
  for (std::size_t i = 0; i < run.plan.collectives.size(); ++i) {
    const CollectiveInstance& c = run.plan.collectives[i];
    const auto count = static_cast<double>(c.times.size());
    text += fmt::format(kRow, to_text(c.pass), to_text(c.kind), c.times.size(), cut(c.tensor, 7),
                        cut(communicator_of(c), 5), cut(c.case_text, 7), cut(c.algorithm, 12),
                        to_text(c.bytes), to_text(metrics.collective_time[i]),
                        to_text(c.analytic * count));
  }
  return text;
}

}  // namespace

std::string run_table(const Run& run, const Metrics& metrics) {
  std::string text = cut(printable(run.name), kTableWidth) + "\n";
  for (const auto& [label, what] : run.plan.facts) text += line(label, what);
  text += line("replay", engine_text(run));
  text += line("step time", step_text(metrics));
  text += speed_lines(run, metrics) + training_line(run, metrics) + bubble_line(metrics);
  if (const std::string memory = memory_text(run, metrics); !memory.empty())
    text += line("memory", memory);
  text += line("collectives", collectives_text(run, metrics));
  return text + cost_table(metrics) + rank_rows(metrics) + memory_rows(metrics) +
         collective_rows(run, metrics) + link_lines(run, metrics) +
         assumption_lines(run.plan.assumptions);
}

}  // namespace shardsim
