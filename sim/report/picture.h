// Pictures: what is shown over time without moving, on paper (picture_svg.h) or on the terminal
// (picture_text.h). Blocks of rows on ONE time axis, boxes on the rows:
//
//   pipeline   a row per rank, a box per work of its schedule with the number of its micro-batch
//   timeline   a row per rank and stream, a box per compute, collective or transfer
//
// Everything that a drawing may have to leave out is said in its notes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "report/run.h"
#include "report/schedule_run.h"

namespace shardsim {

inline constexpr std::size_t kMostPictureRows =
    64;  // of a block; of more ranks the first and the last

struct PictureInk {
  std::string name;    // "forward"
  std::string colour;  // "#136fec"
  char letter = 0;     // lower case of the works of later chunks
  bool later = false;  // a lighter one, of later chunks
};

struct PictureBox {
  Seconds begin, end;
  std::uint32_t ink = 0;    // of Picture::inks
  std::uint32_t label = 0;  // of Picture::labels
};

// Two works that run together: the box that begins with it and the next.
struct PictureFrame {
  Seconds begin, end;
};

struct PictureRow {
  std::string group;              // "rank 0"; empty: that of the row before
  std::string name;               // "compute"; may be empty
  std::vector<PictureBox> boxes;  // by time, without overlaps
  std::vector<PictureFrame> frames;
};

struct PictureBlock {
  std::string title, caption;  // "1f1b", "makespan 81 ms, bubble 25.93 %"
  std::string unit = "ranks";  // of what rows are left out
  std::vector<PictureRow> rows;
  bool numbered = false;      // boxes are works, and their labels numbers
  std::size_t gap_after = 0;  // the row before which others are left out; 0: none are
  std::size_t left_out = 0;   // how many ranks
};

struct Picture {
  std::string title, caption;
  Seconds end;
  std::vector<PictureInk> inks;
  // What may be written into a box, as much as fits: "3"; "Q = In * Wq" or else "Q".
  struct Label {
    std::string text, brief;
  };
  std::vector<Label> labels = {{}};  // the first is empty
  std::vector<PictureBlock> blocks;
  std::vector<std::string> notes;
};

// The pipeline's schedule, if there is one, and the streams of the devices that stand for the
// ranks.
Picture picture_of(const Run& run, const Metrics& metrics);
// The same of several on one time axis: of each its pipeline, or its streams where it has none.
struct NamedRun {
  std::string name;  // "as configured"
  const Run& run;
  const Metrics& metrics;
};
Picture picture_of(std::string title, std::span<const NamedRun> runs);

// One block for each schedule.
Picture picture_of(const ScheduleRun& run, std::size_t most_ranks);
Picture picture_of(const ScheduleComparison& comparison);

}  // namespace shardsim
