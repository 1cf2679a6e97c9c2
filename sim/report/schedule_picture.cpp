#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/reports.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

constexpr int kMostRows = 24;  // ranks shown; of more, the first and last

// "F3", or "f3" on a later chunk or in the second direction.
std::string label(const Work& work, const Schedule& schedule) {
  const bool later = schedule.placement == Placement::dual
                         ? work.microbatch >= schedule.microbatches / 2
                         : work.stage >= schedule.ranks();
  const char kind = letter(work.kind);
  return fmt::format("{}{}", later ? static_cast<char>(std::tolower(kind)) : kind, work.microbatch);
}

std::string label(const Cell& cell, const Schedule& schedule) {
  std::string text = label(cell.work[0], schedule);
  if (cell.overlapped()) text += label(cell.work[1], schedule);
  return text;
}

struct Drawing {
  const ScheduleRun& run;
  Seconds column;  // time of one column
  int columns;     // of the whole
  CellIndex index;

  int column_of(Seconds time) const { return static_cast<int>(std::lround(time / column)); }

  // Columns [from, to) of a rank.
  std::string row(std::size_t rank, int from, int to) const {
    std::string line(static_cast<std::size_t>(to - from), '.');
    const std::vector<Cell>& cells = run.schedule.programs[rank].cells;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t op = index.first[rank] + i;
      const int begin = column_of(run.timeline.start[op]), end = column_of(run.timeline.end[op]);
      const std::string text = label(cells[i], run.schedule);
      for (int at = std::max(begin, from); at < std::min(end, to); ++at) {
        const auto letter = static_cast<std::size_t>(at - begin);
        line[static_cast<std::size_t>(at - from)] = letter < text.size() ? text[letter] : ' ';
      }
    }
    return line;
  }
};

// The time of one column: the shortest work fits its label with a blank beside it, or without one
// if that is what it takes to fit the width.
Seconds column_time(const ScheduleRun& run, int width) {
  Seconds shortest{};
  std::size_t longest = 1;
  for (const RankProgram& program : run.schedule.programs) {
    for (const Cell& cell : program.cells) {
      const Seconds takes = duration(cell, run.costs);
      if (cell.overlapped() || takes == Seconds{}) continue;
      if (shortest == Seconds{} || takes < shortest) shortest = takes;
      longest = std::max(longest, label(cell, run.schedule).size());
    }
  }
  const Seconds tight = shortest / static_cast<double>(longest);
  const Seconds loose = shortest / static_cast<double>(longest + 1);
  return run.metrics.makespan / loose <= width ? loose : tight;
}

std::vector<std::size_t> rows_shown(std::size_t ranks) {
  std::vector<std::size_t> rows;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const bool middle = rank >= kMostRows / 2 && rank + kMostRows / 2 < ranks;
    if (ranks <= kMostRows || !middle) rows.push_back(rank);
  }
  return rows;
}

std::string window(const Drawing& drawing, int from, int to) {
  std::string text = fmt::format("  from {} to {}\n", to_text(drawing.column * from),
                                 to_text(drawing.column * to));
  std::size_t next = 0;
  for (const std::size_t rank : rows_shown(drawing.run.schedule.programs.size())) {
    if (rank != next) text += "      …\n";
    text += fmt::format("  {:>3} {}\n", rank, drawing.row(rank, from, to));
    next = rank + 1;
  }
  return text;
}

}  // namespace

std::string schedule_picture(const ScheduleRun& run, int width) {
  const int room = width - 6;
  if (run.metrics.makespan == Seconds{}) return "";
  const Seconds column = column_time(run, room);
  const int columns = static_cast<int>(std::lround(run.metrics.makespan / column));
  const Drawing drawing{run, column, columns, index_cells(run.schedule)};
  if (columns <= room) return window(drawing, 0, columns);
  const int rest = std::max(room, columns - room);
  std::string text = window(drawing, 0, room) + window(drawing, rest, columns);
  if (rest > room) {
    text += fmt::format("  {} in between not shown; trace.json (--out) has all\n",
                        to_text(column * (rest - room)));
  }
  return text;
}

}  // namespace shardsim
