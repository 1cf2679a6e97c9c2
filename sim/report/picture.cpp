#include "report/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "report/palette.h"
#include "report/slices.h"

namespace shardsim {

namespace {

// Ranks that are shown: all, or the first and the last of them.
struct ShownRanks {
  int all = 0, first = 0, last = 0;  // how many of each

  bool has(int rank) const { return rank < first || rank >= all - last; }
  int left_out() const { return all - first - last; }
};
ShownRanks shown_ranks(int all, std::size_t most) {
  const int room = std::max(2, static_cast<int>(most));
  if (all <= room) return {all, all, 0};
  return {all, room - room / 2, room / 2};
}

// Rows of ranks, the ones left out being counted.
class Block {
 public:
  Block(std::string title, std::string caption, ShownRanks shown) : shown_(shown) {
    block_.title = std::move(title);
    block_.caption = std::move(caption);
    block_.left_out = static_cast<std::size_t>(shown.left_out());
  }
  // Nothing for a rank that is not shown.
  PictureRow* add_row(int rank, std::string group, std::string name) {
    if (!shown_.has(rank)) return nullptr;
    if (shown_.left_out() > 0 && rank >= shown_.first && block_.gap_after == 0)
      block_.gap_after = block_.rows.size();
    block_.rows.push_back({std::move(group), std::move(name), {}, {}});
    return &block_.rows.back();
  }
  PictureBlock take() { return std::move(block_); }

 private:
  ShownRanks shown_;
  PictureBlock block_;
};

class Painting {
 public:
  explicit Painting(Picture& picture) : picture_(picture) {}

  std::uint32_t ink(const Ink& ink, bool later) {
    const auto [at, fresh] = inks_.try_emplace(std::pair(ink.name, later),
                                               static_cast<std::uint32_t>(picture_.inks.size()));
    if (fresh) {
      picture_.inks.push_back(
          {std::string(ink.name), later ? lighter(ink.colour) : std::string(ink.colour),
           later ? static_cast<char>(std::tolower(ink.letter)) : ink.letter, later});
    }
    return at->second;
  }

  std::uint32_t label(std::string text, std::string brief) {
    const auto [at, fresh] =
        labels_.try_emplace(text, static_cast<std::uint32_t>(picture_.labels.size()));
    if (fresh) picture_.labels.push_back({std::move(text), std::move(brief)});
    return at->second;
  }

  PictureBox box(const PipelineWork& work, Seconds begin, Seconds end) {
    const std::string number = work.microbatch < 0 ? "" : std::to_string(work.microbatch);
    return {begin, end, ink(ink_of_work(work.letter), work.chunk > 0),
            number.empty() ? 0 : label(number, "")};
  }

 private:
  Picture& picture_;
  std::map<std::pair<std::string_view, bool>, std::uint32_t> inks_;
  std::map<std::string, std::uint32_t> labels_;
};

// Of two works that run together each takes half of the cell.
void add_cell(const PipelineCell& cell, Painting& paint, PictureRow& row) {
  if (!cell.second) {
    row.boxes.push_back(paint.box(cell.work, cell.begin, cell.end));
    return;
  }
  const Seconds middle = (cell.begin + cell.end) / 2;
  row.boxes.push_back(paint.box(cell.work, cell.begin, middle));
  row.boxes.push_back(paint.box(*cell.second, middle, cell.end));
  row.frames.push_back({cell.begin, cell.end});
}

// REQUIRES: cells are by rank.
PictureBlock pipeline_block(const std::vector<PipelineCell>& cells, int ranks, std::string title,
                            std::string caption, std::size_t most_rows, Painting& paint) {
  Block block(std::move(title), std::move(caption), shown_ranks(ranks, most_rows));
  std::size_t next = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    PictureRow* const row = block.add_row(rank, fmt::format("rank {}", rank), "");
    for (; next < cells.size() && cells[next].rank == rank; ++next)
      if (row != nullptr) add_cell(cells[next], paint, *row);
  }
  PictureBlock made = block.take();
  made.numbered = true;
  return made;
}

// "Q" of "Q[B,T] = In * Wq", "Wq" of "all-gather Wq over X".
std::string brief_name(const SliceOrigin& origin, const SliceKind& kind) {
  const std::size_t equals = origin.name.find(" = ");
  if (equals != std::string::npos)
    return origin.name.substr(0, std::min(equals, origin.name.find('[')));
  if (!origin.name.starts_with(kind.name + " ")) return origin.name;
  const std::string rest = origin.name.substr(kind.name.size() + 1);
  return rest.substr(0, rest.find(' '));
}

bool stands_for_rank(const Slices& made, const SliceTrack& track) {
  return track.device == made.ranks[static_cast<std::size_t>(track.rank)].shown;
}

std::string row_name(const SliceTrack& track) {
  return track.lane == 0 ? track.stream : fmt::format("{} {}", track.stream, track.lane + 1);
}

std::size_t most_rows_of_a_rank(const Slices& made) {
  std::vector<std::size_t> rows(made.ranks.size());
  for (const SliceTrack& track : made.tracks)
    rows[static_cast<std::size_t>(track.rank)] += stands_for_rank(made, track) ? 1 : 0;
  return rows.empty() ? 1 : std::max<std::size_t>(1, *std::max_element(rows.begin(), rows.end()));
}

PictureBlock stream_block(const Slices& made, std::string title, std::string caption,
                          Painting& paint) {
  const int ranks = static_cast<int>(made.ranks.size());
  Block block(std::move(title), std::move(caption),
              shown_ranks(ranks, kMostPictureRows / most_rows_of_a_rank(made)));
  std::size_t next = 0;
  int group = -1;
  for (std::uint32_t number = 0; number < made.tracks.size(); ++number) {
    const SliceTrack& track = made.tracks[number];
    const std::string& rank = made.ranks[static_cast<std::size_t>(track.rank)].label;
    PictureRow* row = nullptr;
    if (stands_for_rank(made, track))
      row =
          block.add_row(track.rank, track.rank == group || ranks == 1 ? "" : rank, row_name(track));
    if (row != nullptr) group = track.rank;
    for (; next < made.slices.size() && made.slices[next].track == number; ++next) {
      const Slice& slice = made.slices[next];
      if (row == nullptr || slice.end <= slice.begin) continue;
      const SliceOrigin& origin = made.origins[slice.origin];
      const SliceKind& kind = made.kinds[origin.kind];
      row->boxes.push_back({slice.begin, slice.end, paint.ink(ink_of(kind), false),
                            paint.label(origin.name, brief_name(origin, kind))});
    }
  }
  return block.take();
}

PictureBlock rank_block(const Slices& made, std::string title, std::string caption,
                        Painting& paint) {
  return pipeline_block(made.cells, static_cast<int>(made.ranks.size()), std::move(title),
                        std::move(caption), kMostPictureRows, paint);
}

std::string percent(double share) {
  return std::isnan(share) ? "n/a" : fmt::format("{:.2f} %", 100 * std::max(share, 0.0));
}

void note_left_out(Picture& picture) {
  for (const PictureBlock& block : picture.blocks) {
    if (block.left_out == 0) continue;
    picture.notes.push_back(fmt::format("{}: the first and last {} are shown, {} between them not.",
                                        block.title, block.unit, block.left_out));
  }
}

// Compute and communication of what stands for the slowest rank.
std::string step_caption(const Run& run, const Metrics& metrics, bool pipeline) {
  std::string text = fmt::format("step {}", to_text(metrics.step));
  if (pipeline) text += fmt::format(", bubble {}", percent(metrics.makespan_bubble));
  text += fmt::format(", compute {}, exposed communication {}", to_text(metrics.compute),
                      to_text(metrics.exposed));
  if (metrics.comm > Seconds{}) text += fmt::format(" ({} hidden)", percent(metrics.overlapped()));
  const int devices = run.plan.cluster.devices();
  return text + fmt::format("; {} device{}", devices, devices == 1 ? "" : "s");
}

}  // namespace

Picture picture_of(const Run& run, const Metrics& metrics) {
  const Slices made = slices_of(run);
  Picture picture;
  Painting paint(picture);
  picture.title = run.name;
  picture.end = made.end;
  picture.caption = step_caption(run, metrics, !made.cells.empty());
  if (!made.cells.empty())
    picture.blocks.push_back(rank_block(made, "Pipeline", "a row for each rank", paint));
  picture.blocks.push_back(stream_block(made, "Timeline",
                                        made.ranks.size() > 1
                                            ? "the device of each rank that ends last"
                                            : "the device that ends last",
                                        paint));
  note_left_out(picture);
  return picture;
}

Picture picture_of(std::string title, std::span<const NamedRun> runs) {
  Picture picture;
  Painting paint(picture);
  picture.title = std::move(title);
  for (const NamedRun& one : runs) {
    const Slices made = slices_of(one.run);
    picture.end = std::max(picture.end, made.end);
    const auto block = made.cells.empty() ? stream_block : rank_block;
    picture.blocks.push_back(
        block(made, one.name, step_caption(one.run, one.metrics, !made.cells.empty()), paint));
  }
  note_left_out(picture);
  return picture;
}

namespace {

void add_schedule(const ScheduleRun& run, std::size_t most_ranks, Painting& paint,
                  Picture& picture) {
  std::string caption = fmt::format("makespan {}, bubble {}", to_text(run.metrics.makespan),
                                    percent(run.metrics.makespan_bubble));
  if (run.schedule.chunks > 1) caption += fmt::format(", {} chunks a rank", run.schedule.chunks);
  if (run.metrics.parameter_copies > 1)
    caption += fmt::format(", {} copies of the parameters", run.metrics.parameter_copies);
  picture.end = std::max(picture.end, run.metrics.makespan);
  picture.blocks.push_back(pipeline_block(cells_of(run), run.schedule.ranks(), run.kind,
                                          std::move(caption), most_ranks, paint));
}

}  // namespace

Picture picture_of(const ScheduleRun& run, std::size_t most_ranks) {
  Picture picture;
  Painting paint(picture);
  picture.title = run.kind;
  add_schedule(run, most_ranks, paint, picture);
  note_left_out(picture);
  return picture;
}

Picture picture_of(const ScheduleComparison& comparison) {
  Picture picture;
  Painting paint(picture);
  const Schedule& first = comparison.runs.front().schedule;
  picture.title = fmt::format("{} ranks, {} micro-batches", first.ranks(), first.microbatches);
  for (const ScheduleRun& run : comparison.runs)
    add_schedule(run, kMostPictureRows, paint, picture);
  note_left_out(picture);
  return picture;
}

}  // namespace shardsim
