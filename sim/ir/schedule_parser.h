// Reading the lists of a schedule: one text per rank, in the grammar of ir/schedule.h.
#pragma once

#include <string_view>
#include <vector>

#include "base/problem.h"
#include "ir/schedule.h"

namespace shardsim {

struct RankText {
  SourcePos pos;  // of the first character
  std::string_view text;
};

struct ParsedSchedule {
  Schedule schedule;
  std::vector<std::vector<SourcePos>> positions;  // [ranks][cells]
};

// The schedule whose ranks are these texts: m and the stages are what occurs in it, the placement
// is `wanted`, or when that is null the one that puts every work where it stands (linear before
// dual, V before wrap). Appends what is no cell, numbers with gaps and every fault of check(); the
// result is then of no use.
ParsedSchedule parse_schedule(const std::vector<RankText>& ranks, const Placement* wanted,
                              std::vector<Problem>& problems);

}  // namespace shardsim
