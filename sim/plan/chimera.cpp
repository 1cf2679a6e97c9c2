// Chimera (arXiv 2107.06925, figure 3): 1F1B pipelines of opposite direction in the gaps of each
// other. A unit is p/2 micro-batches of each direction. With F and B one slot each, F of a unit's
// i-th micro-batch is in slot s + 2i of stage s, B in slot 2p-1-s + 2i.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/rank_builder.h"
#include "plan/v_schedules.h"

namespace shardsim {

namespace {

// The first slots of the units, as chimera_pipeline_rank.py of Shigangli/Chimera starts them: one
// whenever a micro-batch of an earlier unit is through, but not after a unit's last one.
std::vector<int> unit_starts(int ranks, int units) {
  std::vector<int> starts = {0};
  std::set<std::pair<int, std::size_t>> through;  // slot, unit
  for (std::size_t unit = 0; starts.size() < static_cast<std::size_t>(units); ++unit) {
    for (int i = 0; i + 1 < ranks / 2; ++i) through.emplace(starts[unit] + 2 * ranks + 2 * i, unit);
    starts.push_back(through.begin()->first);
    through.erase(through.begin());
  }
  return starts;
}

// A micro-batch of each direction: the slot in which it enters, and its unit.
struct Entry {
  int slot = 0, unit = 0;

  auto operator<=>(const Entry&) const = default;
};

std::vector<Entry> entries(int ranks, int microbatches) {
  std::vector<Entry> all;
  const std::vector<int> starts = unit_starts(ranks, microbatches / ranks);
  for (std::size_t unit = 0; unit < starts.size(); ++unit)
    for (int i = 0; i < ranks / 2; ++i)
      all.push_back({starts[unit] + 2 * i, static_cast<int>(unit)});
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

Schedule chimera(const ScheduleAsk& ask) {
  const int p = ask.ranks, half = ask.microbatches / 2;
  Schedule schedule{.microbatches = ask.microbatches, .placement = Placement::dual};
  const std::vector<Entry> enter = entries(p, ask.microbatches);
  for (int rank = 0; rank < p; ++rank) {
    std::vector<std::tuple<int, int, int, Cell>> slots;  // slot, unit, direction
    for (int i = 0; i < half; ++i) {
      const Entry& at = enter[static_cast<std::size_t>(i)];
      for (const int direction : {0, 1}) {
        const int stage = direction == 0 ? rank : p - 1 - rank;
        const int microbatch = direction * half + i;
        slots.emplace_back(at.slot + stage, at.unit, direction,
                           cell(WorkKind::forward, microbatch, stage));
        slots.emplace_back(at.slot + 2 * p - 1 - stage, at.unit, direction,
                           cell(WorkKind::backward, microbatch, stage));
      }
    }
    std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    });
    RankProgram& program = schedule.programs.emplace_back();
    for (const auto& slot : slots) program.cells.push_back(std::get<3>(slot));
  }
  return schedule;
}

}  // namespace shardsim
