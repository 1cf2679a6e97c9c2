// The rows of a sweep file. They say which keys there are and what they hold; sweep/read_sweep.cpp
// takes the values from the tree.
#include "spec/table.h"

namespace shardsim {
namespace {

void store_nothing(RunSpec&, const Value&, Problems&) {}

std::vector<Field> point_fields() {
  using enum FieldType;
  return {
      {"sweep", "name", text, false, "the file's name", "title of the sweep"},
      {"sweep", "base", run, true, "",
       "what is the same everywhere: a name from configs/runs, a path to a .yaml, or a run written "
       "out"},
      {"sweep", "axes", map, false, "",
       "fields of the run (list fields) and the values they take; every combination is a point"},
      {"sweep", "axes.*", values, false, "",
       "[8, 16], 1..8, 2..64 step x2, 25 GB/s..900 GB/s step x2, or {field, values} under a name "
       "of "
       "one's own"},
      {"sweep", "zip", maps, false, "", "axes that go together: their values are taken in step"},
      {"sweep", "zip.[]", map, false, "", "axes with the same number of values", store_nothing},
      {"sweep", "zip.[].*", values, false, "", "as in axes"},
      {"sweep", "variables", map, false, "", "axes that are no field: formulas read them"},
      {"sweep", "variables.*", values, false, "", "as in axes"},
      {"sweep", "derive", map, false, "", "fields, or names for later formulas, by formula"},
      {"sweep", "derive.*", text, false, "",
       "over axes, variables and fields of base: 512 / (tp*pp)"},
      {"sweep", "where", conditions, false, "",
       "what must hold of a point, as tp * pp * dp == chips and tp <= 8; or a list"},
      {"sweep", "sample", map, false, "all points", "points drawn at random instead of all"},
      {"sweep", "sample.points", count, true, "", "how many"},
      {"sweep", "sample.seed", position, true, "",
       "of the draw: the same seed draws the same points"},
      {"sweep",
       "grain",
       choice,
       false,
       "flow",
       "of every point, as run --grain",
       nullptr,
       {"flow", "fluid"}},
      {"sweep", "timeout", seconds, false, "none", "of one point, which has failed after it"},
      {"sweep", "notes", text, false, "", "anything, for people"},
  };
}

std::vector<Field> search_fields() {
  using enum FieldType;
  return {
      {"sweep", "search", map, false, "every point is replayed",
       "what is looked for: points are screened with the ideal engine first"},
      {"sweep",
       "search.objective",
       choice,
       false,
       "step_time",
       "what is best",
       nullptr,
       {"step_time", "tokens_per_s_per_chip", "cost_per_token"}},
      {"sweep", "search.constraints", conditions, false, "",
       "what must hold of a result, as fits_memory and chips <= 512; or a list"},
      {"sweep", "search.prices", map, false, "",
       "of an hour of one chip, in any currency, by chip"},
      {"sweep", "search.prices.*", number, false, "", "of the chip of this name"},
      {"sweep", "search.top", count, false, "10", "how many of the best are sought"},
      {"sweep", "search.keep", text, false, "all that may be among the best",
       "share of the screened points that is replayed at most, those with the best bounds: 5 %"},
      {"sweep", "search.screen", flag, false, "true", "false: every point is replayed"},
  };
}

}  // namespace

std::vector<Field> sweep_fields() {
  std::vector<Field> rows = point_fields();
  for (Field& row : search_fields()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shardsim
