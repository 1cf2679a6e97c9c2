// What a sweep came to, from its database: counts, the best points, and why the winner wins.
#pragma once

#include <cstdint>
#include <string>

#include "report/json.h"
#include "sweep/result_columns.h"
#include "sweep/store.h"
#include "sweep/sweep_spec.h"

namespace shardsim {

struct SweepSummary {
  std::string name, objective;
  std::string counts;                          // "12 ok, 3 invalid"
  std::string reasons;                         // why, the commonest, a line each
  std::vector<std::vector<std::string>> best;  // a head, then the best points
  std::string same;                            // axes in which these do not differ, or nothing
  std::string why;                             // a line, or nothing
};
SweepSummary summary_of(const Store& store);

// How many points the sweep has, in all shards.
std::uint64_t points_of(const Store& store);
// Points of the sweep that have no row yet, or wait for their replay.
std::uint64_t open_points(const Store& store);
std::uint64_t points_with(PointStatus status, const Store& store);

// By which the points are compared.
Objective objective_of(const Store& store);

// `widest`: columns that a line of the table may take; parts of the step are left out for that. 0:
// any number.
std::string sweep_text(const Store& store, int widest = 0);
Json sweep_json(const Store& store);

// Columns of all that is exported: without run_yaml and version.
std::vector<std::string> exported_columns(const Store& store);

// All rows, without what each was run from: run_yaml and version. `write` takes pieces of the text.
void export_csv(const Store& store, const std::function<void(const std::string&)>& write);
void export_json(const Store& store, const std::function<void(const std::string&)>& write);

// run_yaml of one point. Throws ConfigError when there is no such point.
std::string run_of_point(const Store& store, const std::string& point);

}  // namespace shardsim
