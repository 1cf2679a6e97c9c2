#include "report/reports.h"

#include <array>

#include "report/page.h"

namespace shardsim {

namespace {

std::string table_of(const ReportSource& from) {
  return run_table(from.run, from.metrics);
}
std::string summary_file(const ReportSource& from) {
  return to_json(run_summary(from.run, from.metrics));
}
std::string trace_file(const ReportSource& from) {
  return trace_json(from.run, from.metrics);
}

std::string timeline_file(const ReportSource& from) {
  PageData data{"timeline", from.run.name, from.command, {}};
  data.runs.push_back(
      page_run(from.run, from.metrics, run_summary(from.run, from.metrics), from.command));
  return timeline_page(data);
}

std::string index_file(const ReportSource& from) {
  return index_page(run_summary(from.run, from.metrics), from.files, from.command);
}

constexpr std::array<ReportRow, 5> kReports = {{
    {"table", "", "the result on the terminal", table_of},
    {"timeline", "timeline.html", "timeline and pipeline view, in a browser", timeline_file},
    {"summary", "summary.json", "every figure, keys with their unit", summary_file},
    {"trace", "trace.json", "timeline for Perfetto (ui.perfetto.dev) or chrome://tracing",
     trace_file, 500'000, std::size_t{32} << 20},
    {"index", "index.html", "what there is, in a browser", index_file},
}};

}  // namespace

std::span<const ReportRow> reports() {
  return kReports;
}

}  // namespace shardsim
