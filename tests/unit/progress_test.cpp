#include "base/progress.h"

#include <doctest/doctest.h>

#include <string>

using namespace shardsim;

TEST_CASE("progress says how much, how fast and how long still") {
  struct Row {
    std::uint64_t done, total;
    double elapsed_s;
    std::string text;
  };
  const Row rows[] = {
      {0, 100, 3, "0 points of 100"},
      {50, 100, 10, "50 points of 100, 5/s, 10 s left"},
      {100, 100, 10, "100 points of 100, 10/s"},
      {7, 0, 2, "7 points, 3.5/s"},
      {1000, 400'000, 1, "1,000 points of 400,000, 1,000/s, 7 min left"},
      {250'000, 100'000'000, 2, "250,000 points of 100,000,000, 125,000/s, 13 min left"},
      {1, 10'000, 4, "1 point of 10,000, 0.25/s, 11.1 h left"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.done);
    CHECK(progress_text("points", row.done, row.total, row.elapsed_s) == row.text);
  }
  CHECK(progress_text("points replayed", 1, 9, 0) == "1 point replayed of 9");
  CHECK(progress_text("points replayed", 0, 9, 0) == "0 points replayed of 9");
}
