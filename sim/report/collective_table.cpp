#include <fmt/format.h>

#include <cmath>
#include <string>

#include "report/reports.h"
#include "report/table_parts.h"

namespace shardsim {

namespace {

// Relative difference as people read it: exact cases say so.
std::string against(Seconds value, Seconds reference, bool exact = true) {
  if (reference == Seconds{0}) return value == Seconds{0} ? "equal" : "-";
  const double error = value / reference - 1;
  if (std::abs(error) < 5e-10)
    return fmt::format("simulated is equal to 1e-9{}", exact ? "" : " here");
  if (std::abs(error) < 5e-6) return fmt::format("simulated {:+.1e}", error);
  if (error > 10) return fmt::format("simulated is {:.3g} times that", error + 1);
  return fmt::format("simulated {:+.2f} %", 100 * error);
}

// What the closed form is not.
std::string reservation(const Run& run, const CollectiveInstance& c) {
  if (run.plan.collectives.size() > 1) return " (for this one alone)";
  if (c.exact) return "";
  if (run.grain == Grain::fluid) return " (an estimate; the fluid grain may rest on it)";
  return c.laid_over_links ? "" : " (in general an estimate)";
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
    text += line("simulated", fmt::format("{:<14} {}", fine_text(time), engine_text(run)));
    text += line(c.laid_over_links ? "estimate" : "closed form",
                 fmt::format("{:<14} {}; {}{}", fine_text(c.analytic),
                             against(time, c.analytic, c.exact), c.formula, reservation(run, c)));
    if (!c.terms.empty()) text += line("where", c.terms);
    text += line("textbook", c.textbook == Seconds{0}
                                 ? c.textbook_formula
                                 : fmt::format("{:<14} {}; {}", fine_text(c.textbook),
                                               against(time, c.textbook), c.textbook_formula));
    text += line("algorithm", c.reason);
    text += line("bandwidth", c.convention);
  }
  if (run.plan.collectives.size() > 1) {
    text += fmt::format("\nall of them started together; the last ended after {}\n",
                        fine_text(metrics.step));
  }
  return text + link_lines(run, metrics) + assumption_lines(run.plan.assumptions);
}

}  // namespace shardsim
