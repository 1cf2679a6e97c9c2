#include "base/csv.h"

#include <doctest/doctest.h>

using namespace shardsim;

TEST_CASE("csv: fields are in quotes where RFC 4180 wants them") {
  struct Row {
    const char *text, *field;
  };
  const Row rows[] = {
      {"", ""},
      {"plain text", "plain text"},
      {" blanks stay ", " blanks stay "},
      {"=1+2", "=1+2"},
      {"-x", "-x"},
      {"@SUM(A1)", "@SUM(A1)"},
      {"<script>alert(1)</script>", "<script>alert(1)</script>"},
      {"a,b", "\"a,b\""},
      {"\"q\"", "\"\"\"q\"\"\""},
      {"two\nlines", "\"two\nlines\""},
      {"cr\r", "\"cr\r\""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(csv_field(row.text) == row.field);
  }
}
