// `shardsim run --compare overlap`: what overlapping is worth. Three runs of one file:
//
//   nothing overlapped     without overlap:, every collective is waited for
//   as configured
//   perfectly overlapped   a bound: the larger of the step with all communication free and of the
//                          longest time of one communicator on a rank when nothing overlaps
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/run.h"
#include "report/json.h"
#include "report/picture.h"

namespace shardsim {

struct ComparedRun {
  std::string name;
  Seconds step;
  std::optional<Seconds> exposed;  // of communication; of a bound unknown
  std::optional<double> mfu, overlapped;
  std::optional<Bytes> peak_memory;  // of the device that needs most
};

struct Comparison {
  std::string name;               // of the run
  std::vector<ComparedRun> runs;  // nothing, as configured, perfectly overlapped
  Seconds compute_bound, communicator_bound;
  std::vector<std::string> assumptions;  // of the configured run
  std::optional<Picture> picture;        // of the first two
};

Comparison compare_overlap(const RunSpec& spec, const Simulation& how, bool draw);

std::string comparison_text(const Comparison& comparison);
Json comparison_json(const Comparison& comparison);

}  // namespace shardsim
