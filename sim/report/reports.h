// What is shown of a run: rows of one table, each a function from Run and Metrics to text. They are
// written in the order of the table; the last, index.html, links to the others.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/json.h"
#include "report/run.h"

namespace shardsim {

// A file that a run wrote, by its name in the output directory.
struct WrittenFile {
  std::string name;
  std::string_view help;
};

// What reports are made of.
struct ReportSource {
  const Run& run;
  const Metrics& metrics;
  const std::string& command;             // that makes it again, for a shell
  const std::vector<WrittenFile>& files;  // written before this one
};

struct ReportRow {
  std::string_view name;
  std::string_view file;  // name in the output directory; empty: for the terminal
  std::string_view help;
  std::string (*write)(const ReportSource&);
  // Above so many operations it is written only when asked for; 0: always.
  std::size_t most_operations = 0;
  // Above so many bytes it is packed, and .gz is added to its name; 0: never.
  std::size_t most_bytes = 0;
};
std::span<const ReportRow> reports();

// For the terminal, lines of at most 100 columns.
std::string run_table(const Run& run, const Metrics& metrics);
std::string collective_table(const Run& run, const Metrics& metrics);

// summary.json of `run` and the result of `collective`; keys carry their unit. What cannot be known
// yet is null, with a note in assumptions.
Json run_summary(const Run& run, const Metrics& metrics);
Json collective_summary(const Run& run, const Metrics& metrics);

// Chrome trace events (opens in Perfetto): process = device class, thread = stream, one slice per
// compute op and per collective; a pair for each transfer between ranks, with an arrow from what
// made it to what waited for it; the pipeline's schedule under PyTorch's names; a counter per link
// in GB/s, a transfer's bytes spread evenly over the time it flows.
std::string trace_json(const Run& run, const Metrics& metrics);

// Times in a table: microseconds to four decimals ("293.6013 us"), nanoseconds below a tenth of
// one, seconds from one second on.
std::string fine_text(Seconds seconds);

// The schema that every JSON result names.
inline constexpr const char* kSchema = "shardsim-1";

// The last part of a table: a blank line, then what was assumed.
std::string assumption_lines(std::span<const std::string> assumptions);

// Lines of at most `width` columns, broken at blanks; later lines begin with `indent` blanks.
std::string wrapped(std::string_view text, int width, int indent);

// Rows with a head, the last column wrapped, at most 100 columns where the others leave room.
using Rows = std::vector<std::vector<std::string>>;
std::string rows_text(const Rows& rows);

}  // namespace shardsim
