// Slices: ONE model of what is shown over time, whoever draws it (pages, pictures, traces, the
// terminal). A slice is an interval on a track, what it is and what it waited for:
//
//   track   rank 0, device class 3, stream "compute" | "T" | "pipeline" …
//   slice   a compute, a collective (one of its groups), a transfer between ranks
//   cause   the slice that it waited for last, found through joins and pauses; its begin may be
//           later than the cause's end by pauses only
//   arrow   a slice that another one waits for, other than the one before it on its track
//   bubble  a time in which a rank computes nothing, and what it waits for meanwhile
//   cell    a work of the pipeline's schedule on its rank: F3 and B2, overlapped or not
//
// Slices are sorted by (track, begin, end), and those of one track do not overlap: transfers
// between ranks that are under way at once take lanes, tracks of their own. Tracks are sorted by
// rank, then device class (the one that stands for the rank first), compute first. All indices are
// into the vectors of the same Slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/op_graph.h"
#include "report/run.h"
#include "report/schedule_run.h"

namespace shardsim {

inline constexpr std::uint32_t kNoSlice = 0xffffffffu;

enum class SliceGroup : std::uint8_t { compute, communication, transfer };
std::string_view to_text(SliceGroup group);

// "forward", "backward", "backward input", "backward weight", "forward+backward", "recomputation",
// "optimizer"; "all-gather" …; "pipeline transfer".
struct SliceKind {
  std::string name;
  SliceGroup group = SliceGroup::compute;
};

// A rank of the pipeline; without one, the whole machine is one.
struct SliceRank {
  std::string label;
  int devices = 1;
  std::uint32_t shown = 0;  // device class whose compute stands for the rank: it ends last
};

struct SliceTrack {
  int rank = 0;
  std::uint32_t device = 0;  // class
  std::string label;         // "rank 0, device class 3"
  std::string stream;        // "compute", "X", "pipeline"
  int lane = 0;              // of transfers that overlap
};

// What slices have in common that do the same at other times.
struct SliceOrigin {
  std::string name;  // "Q = In * Wq", "all-gather Wq over X", "F3.1"
  std::uint32_t kind = 0;
  int layer = -1;       // -1: of none
  int collective = -1;  // of Plan::collectives
  Pass pass = Pass::forward;
  char letter = 0;    // F B I W of the pipeline's schedule, O: optimizer; 0: of none
  Bytes bytes = {};   // that a collective or a transfer moves
  std::string links;  // that it takes: "x+ x-, 100 GB/s"
};

struct Slice {
  std::uint32_t track = 0, origin = 0;
  Seconds begin, end;
  int microbatch = -1;  // -1: of none
  int stage = 0;
  int chunk = 0;  // of its rank; in schedules of two directions the second direction's is 1
  std::uint32_t cause = kNoSlice;
  bool critical = false;  // on the path that makes the step as long as it is
  // What it is in the graph: a compute or transfer; of a collective the joins around it.
  OpId first = {}, last = {};
};

struct SliceArrow {
  std::uint32_t from = 0, to = 0;
};

struct Bubble {
  int rank = 0;
  Seconds begin, end;
  std::string text;  // "waits for B3 of stage 5", "waits for all-gather Wq over X", "no work left"
  std::uint32_t cause = kNoSlice;
};

// What a rank of a pipeline does at a time.
struct PipelineWork {
  char letter = 'F';  // F B I W, O: optimizer
  int microbatch = -1;
  int stage = 0;
  int chunk = 0;
};
struct PipelineCell {
  int rank = 0;
  Seconds begin, end;
  PipelineWork work;
  std::optional<PipelineWork> second = {};  // overlapped with it
};

struct Slices {
  Seconds end;  // of the step
  std::vector<SliceKind> kinds;
  std::vector<SliceRank> ranks;
  std::vector<SliceTrack> tracks;
  std::vector<SliceOrigin> origins;
  std::vector<Slice> slices;
  std::vector<SliceArrow> arrows;   // by `to`, then `from`
  std::vector<Bubble> bubbles;      // by rank, then time; abutting
  std::vector<PipelineCell> cells;  // by rank, then time; empty without a pipeline
};

Slices slices_of(const Run& run);
Slices slices_of(const ScheduleRun& run);
// Its cells alone, which take less time.
std::vector<PipelineCell> cells_of(const ScheduleRun& run);

// "F3" for a forward of micro-batch 3, "O" for the optimizer.
std::string to_text(const PipelineWork& work);

}  // namespace shardsim
