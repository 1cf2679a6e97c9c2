// Mesh axes taken apart. Eight key/value heads over tp: Y = 16 are one head each on 8 groups of two
// devices, so Y becomes Y1 = 8 and Y2 = 2: the heads are cut over Y1 and copied along Y2,
// everything else is cut over both, as before.
//
//   Wk[D, K, H] -> [D, K_Y1, H]      Wq[D, N, H] -> [D, N_{Y1,Y2}, H]
//
// The hardware below must come apart, too: between the hardware axes that Y spans, or within one
// of them. Part of a one-way ring is neither ring nor line.
#pragma once

#include <span>

#include "ir/cluster.h"
#include "ir/layer.h"
#include "spec/run_spec.h"

namespace shardsim {

// Takes apart what the presets' dims need and the hardware allows; make_layouts (presets.h) reports
// what is still missing. Names of the parts: the axis and a digit, or more until they are new.
void take_apart(std::span<const PresetSpec> chosen, const Layer& layer, Mesh& mesh,
                Cluster& cluster);

}  // namespace shardsim
