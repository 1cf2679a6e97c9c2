// Schedule: what every rank of a pipeline runs, in which order. A schedule is data: generators make
// one, users write one, and both are lowered and replayed alike.
//
// The model is cut into stages 0 … S-1 (0 reads the input). Each of m micro-batches needs, on every
// stage, a forward F and a backward B; B may come as two cells, I (gradient of the input, which the
// stage before waits for) and W (gradient of the weights, which nobody waits for).
//
//   F3.1        forward of micro-batch 3 on stage 1        I3.1, W3.1  the two halves of B3.1
//   F5.1&B3.1   a forward and a backward overlapped in one cell
//   [>1f,<1b]   a group of transfers: send to rank 1 on channel f, receive from rank 1 on channel b
//
// One rank is one line of such cells. Groups matter to blocking point-to-point transfers only.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace shardsim {

enum class WorkKind : std::uint8_t { forward, backward, backward_input, backward_weight };
char letter(WorkKind kind);  // F B I W

struct Work {
  WorkKind kind = WorkKind::forward;
  int microbatch = 0;
  int stage = 0;

  bool operator==(const Work&) const = default;
};

// What a rank does at a time: one work, or a forward and a backward overlapped.
struct Cell {
  std::array<Work, 2> work = {};
  std::uint8_t count = 1;

  std::span<const Work> works() const { return {work.data(), count}; }
  bool overlapped() const { return count == 2; }
  bool operator==(const Cell&) const = default;
};
Cell cell(WorkKind kind, int microbatch, int stage);
Cell overlapped_cell(Work forward, Work backward);

struct P2p {
  bool send = false;
  int peer = 0;      // rank
  char channel = 0;  // sends meet receives of the same pair and channel, first come first served

  bool operator==(const P2p&) const = default;
};

// What cells take. Of one cell, that is of one chunk where a rank holds several.
struct CellCosts {
  Seconds forward, backward_input, backward_weight;
  Seconds backward;    // B
  Seconds overlapped;  // F&B
  Seconds p2p;         // of one transfer between two ranks
};
Seconds duration(const Cell& cell, const CellCosts& costs);

// Transfers that are posted together, before the cell with this index (or after the last): the rank
// goes on when all of them have ended.
struct P2pGroup {
  std::uint32_t before = 0;
  std::vector<P2p> transfers;

  bool operator==(const P2pGroup&) const = default;
};

struct RankProgram {
  std::vector<Cell> cells;
  std::vector<P2pGroup> groups;  // ascending `before`
};

// Where the stages are, with p ranks:
//   linear  stage s on rank s                         wrap  on rank s mod p
//   V       on rank s, and on 2p-1-s from s = p on: down and up again
//   dual    every rank holds two stages: the first half of the micro-batches enters at rank 0
//           (stage s on rank s), the second at rank p-1 (stage s on rank p-1-s)
enum class Placement : std::uint8_t { linear, wrap, v, dual };
std::string_view to_text(Placement placement);
std::span<const Placement> placements();

struct Schedule {
  std::string name = {};
  int microbatches = 1;
  int chunks = 1;  // stages per rank; `dual` counts one, held twice
  Placement placement = Placement::linear;
  std::vector<RankProgram> programs = {};  // [ranks]

  int ranks() const { return static_cast<int>(programs.size()); }
  int stages() const { return ranks() * chunks; }
  int rank_of(int microbatch, int stage) const;
  bool has_groups() const;
};

// Copies of the model's parameters over all ranks: 2 for `dual`, else 1.
int parameter_copies(Placement placement);

// Where every work is: ids of cells, counted rank by rank; kNoCell where there is none. A B stands
// for I and W.
inline constexpr std::uint32_t kNoCell = 0xffffffffu;
struct CellIndex {
  std::vector<std::uint32_t> first;  // [ranks + 1] id of the first cell of each rank
  std::vector<std::uint32_t> forward, backward, weight;  // [microbatch * stages + stage]
  std::vector<std::uint32_t> rank;                       // [cells]

  std::uint32_t cells() const { return first.back(); }
};
// REQUIRES: micro-batches and stages are in range.
CellIndex index_cells(const Schedule& schedule);
const Cell& cell_at(const Schedule& schedule, const CellIndex& index, std::uint32_t id);

// The cell that a work waits for on another stage, or for a backward of the last stage and a W on
// its own; kNoCell for a forward of stage 0.
std::uint32_t input_of(const Work& work, const CellIndex& index, int stages);

std::string to_text(const Work& work);                 // "F3.1"
std::string to_text(const Cell& cell);                 // "F5.1&B3.1"
std::string order_text(const RankProgram& program);    // cells with a blank between
std::string program_text(const RankProgram& program);  // the same with groups

// A fault of a schedule. `cell` is an index into the rank's cells, or -1 for the rank as a whole.
struct ScheduleFault {
  int rank = 0;
  int cell = -1;
  std::string message;
  std::string hint;
};

// Everything wrong but deadlocks (plan/lower_schedule.h): a work that is missing, doubled or on
// another rank than the placement says, a backward before its forward, W before I, half a backward,
// sends without receives. Empty: fit to be lowered. At most `limit` faults.
std::vector<ScheduleFault> check(const Schedule& schedule, std::size_t limit = 20);

}  // namespace shardsim
