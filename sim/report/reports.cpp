#include "report/reports.h"

#include <array>

namespace shardsim {

namespace {

std::string summary_file(const Run& run, const Metrics& metrics) {
  return to_json(run_summary(run, metrics));
}

constexpr std::array<ReportRow, 3> kReports = {{
    {"table", "", "the result on the terminal", run_table},
    {"summary", "summary.json", "every figure, keys with their unit", summary_file},
    {"trace", "trace.json", "timeline for Perfetto (ui.perfetto.dev) or chrome://tracing",
     trace_json, 500'000},
}};

}  // namespace

std::span<const ReportRow> reports() {
  return kReports;
}

}  // namespace shardsim
