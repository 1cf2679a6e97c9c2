#include "ir/peak_activations.h"

#include <algorithm>

namespace shardsim {

void add(PeakActivations& live, WorkKind kind) {
  const auto change = [&](int until_input, int until_weight, int weighted) {
    live.until_input += until_input;
    live.until_weight += until_weight;
    live.weighted += weighted;
  };
  switch (kind) {
    case WorkKind::forward:
      return change(1, 1, 2);
    case WorkKind::backward:
      return change(-1, -1, -2);
    case WorkKind::backward_input:
      return change(-1, 0, -1);
    case WorkKind::backward_weight:
      return change(0, -1, -1);
  }
}

PeakActivations most(const PeakActivations& a, const PeakActivations& b) {
  return {std::max(a.until_input, b.until_input), std::max(a.until_weight, b.until_weight),
          std::max(a.weighted, b.weighted)};
}

PeakActivations peak_activations(const std::vector<Cell>& order) {
  PeakActivations live, peak;
  for (const Cell& cell : order) {
    for (const Work& work : cell.works()) {
      add(live, work.kind);
      peak = most(peak, live);
    }
  }
  return peak;
}

std::vector<PeakActivations> peak_activations(const Schedule& schedule) {
  std::vector<PeakActivations> peaks;
  for (const RankProgram& program : schedule.programs)
    peaks.push_back(peak_activations(program.cells));
  return peaks;
}

}  // namespace shardsim
