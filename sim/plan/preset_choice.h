// The presets of one run with the mesh axes they use: aliases resolved, rows made of parts taken
// apart, flags given the axes of the rows they belong to.
//
//   {hsdp: [P, X], tp: Y, sp: true}   dp over P, fsdp over X, tp over Y, sp over Y
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/cluster.h"
#include "plan/preset_table.h"
#include "spec/run_spec.h"

namespace shardsim {

struct ActivePreset {
  const PresetRow* row = nullptr;
  const PresetSpec* spec = nullptr;
  std::vector<std::string> axes;  // of the mesh
};

// In the order written. Refused: unknown names, axes that are not in the mesh or used twice, flags
// where axes belong and the reverse, flags without the row they need.
std::vector<ActivePreset> activate(std::span<const PresetSpec> chosen, const Mesh& mesh,
                                   std::vector<Problem>& problems);

}  // namespace shardsim
