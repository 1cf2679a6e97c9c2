#include "plan/recompute.h"

#include <doctest/doctest.h>

#include "spec/table.h"

namespace shardsim {
namespace {

TEST_CASE("the run file takes the rows of the table of recomputation") {
  std::vector<std::string> rows;
  for (const RecomputeRow& row : recomputations()) {
    rows.emplace_back(row.name);
    CHECK(find_recompute(row.name) == &row);
    CHECK_FALSE(row.help.empty());
  }
  CHECK(find_recompute("some") == nullptr);
  bool found = false;
  for (const Field& field : fields()) {
    if (field.file != "run" || field.path != "recompute") continue;
    found = true;
    CHECK(field.choices == rows);
    CHECK(field.default_text == rows.front());
  }
  CHECK(found);
}

}  // namespace
}  // namespace shardsim
