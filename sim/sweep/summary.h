// What a sweep came to, from its database: counts, the best points, and why the winner wins.
#pragma once

#include <string>

#include "report/json.h"
#include "sweep/store.h"

namespace shardsim {

std::string sweep_text(const Store& store);
Json sweep_json(const Store& store);

// All rows, without what each was run from: run_yaml and version. `write` takes pieces of the text.
void export_csv(const Store& store, const std::function<void(const std::string&)>& write);
void export_json(const Store& store, const std::function<void(const std::string&)>& write);

// run_yaml of one point. Throws ConfigError when there is no such point.
std::string run_of_point(const Store& store, const std::string& point);

}  // namespace shardsim
