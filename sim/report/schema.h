// configs/schema.json: the JSON Schema of run files, from the table that drives the loader.
#pragma once

#include <span>

#include "report/json.h"
#include "spec/load.h"

namespace shardsim {

// The schema of the rows of one file ("run"). Closed maps refuse other keys; "*" opens one.
Json json_schema(std::span<const FieldRow> rows, std::string_view file);

}  // namespace shardsim
