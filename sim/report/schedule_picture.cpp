#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/picture_text.h"
#include "report/schedule_run.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostRanks = 24;  // shown; of more, the first and last
constexpr double kMostColumns = 1e6;    // of the whole, where times are very unlike

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
      longest = std::max(longest, 1 + std::to_string(cell.work[0].microbatch).size());
    }
  }
  if (shortest == Seconds{}) return run.metrics.makespan / width;
  const Seconds tight = shortest / static_cast<double>(longest);
  const Seconds loose = shortest / static_cast<double>(longest + 1);
  return run.metrics.makespan / loose <= width ? loose : tight;
}

// Columns [from, to) of all rows.
std::string window(const Picture& picture, Seconds column, int from, int to, const TextLook& look) {
  std::string text = fmt::format("  from {} to {}\n", to_text(column * from), to_text(column * to));
  const PictureBlock& block = picture.blocks.front();
  std::size_t rank = 0;
  for (std::size_t i = 0; i < block.rows.size(); ++i, ++rank) {
    if (block.left_out > 0 && i == block.gap_after) {
      text += "      …\n";
      rank += block.left_out;
    }
    text += fmt::format("  {:>3} {}\n", rank,
                        row_text(picture, block.rows[i], {column, from, to - from, true}, look));
  }
  return text;
}

}  // namespace

std::string schedule_picture(const ScheduleRun& run, const TextLook& look) {
  const int room = look.width - 6;
  if (run.metrics.makespan == Seconds{}) return "";
  const Seconds column = std::max(column_time(run, room), run.metrics.makespan / kMostColumns);
  const int columns = static_cast<int>(std::lround(run.metrics.makespan / column));
  const Picture picture = picture_of(run, kMostRanks);
  if (columns <= room) return window(picture, column, 0, columns, look);
  const int rest = std::max(room, columns - room);
  std::string text =
      window(picture, column, 0, room, look) + window(picture, column, rest, columns, look);
  if (rest > room) {
    text += fmt::format("  {} in between not shown; trace.json (--out) has all\n",
                        to_text(column * (rest - room)));
  }
  return text;
}

}  // namespace shardsim
