// Policies of overlap that have nothing to act on: weights that nobody gathers, gradients that
// nobody reduces, updates that nobody passes round or makes, products without a collective beside
// them or with other groups than tiles, shares of collectives that nobody runs.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "plan/prepare.h"
#include "spec/run_spec.h"

namespace shardsim {

// Appends a problem for every policy whose collectives are in no layer, unless a preset states
// them: its axis may have one device, as in a sweep.
void check_overlap_needs(const RunSpec& spec, const Prepared& run, std::vector<Problem>& problems);

// The communicators of overlap.sm_share beside which nothing is ever computed, so that their share
// changes nothing.
std::vector<std::string> shares_without_effect(const Prepared& run);

}  // namespace shardsim
