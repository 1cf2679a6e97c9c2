#include "ir/peak_activations.h"

#include <algorithm>

namespace shardsim {

PeakActivations peak_activations(const std::vector<Cell>& order) {
  PeakActivations live, peak;
  const auto add = [](PeakActivations& to, int input, int weight, int weighted) {
    to.until_input += input;
    to.until_weight += weight;
    to.weighted += weighted;
  };
  for (const Cell& cell : order) {
    for (const Work& work : cell.works()) {
      switch (work.kind) {
        case WorkKind::forward:
          add(live, 1, 1, 2);
          break;
        case WorkKind::backward:
          add(live, -1, -1, -2);
          break;
        case WorkKind::backward_input:
          add(live, -1, 0, -1);
          break;
        case WorkKind::backward_weight:
          add(live, 0, -1, -1);
          break;
      }
      peak.until_input = std::max(peak.until_input, live.until_input);
      peak.until_weight = std::max(peak.until_weight, live.until_weight);
      peak.weighted = std::max(peak.weighted, live.weighted);
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
