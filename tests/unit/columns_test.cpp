// Numbers as text and back.
#include "report/columns.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace shardsim;

TEST_CASE("columns: bytes as pages decode them") {
  struct Row {
    std::vector<std::uint64_t> numbers;
    const char* text;
  };
  // 300 is 0xac 0x02; 128 is 0x80 0x01.
  const Row rows[] = {{{}, ""},
                      {{0}, "AA=="},
                      {{1, 2, 3}, "AQID"},
                      {{127, 128}, "f4AB"},
                      {{300}, "rAI="},
                      {{4294967296}, "gICAgBA="}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    Column column;
    for (const std::uint64_t number : row.numbers) column.add(number);
    CHECK(column.text() == row.text);
    const auto read = read_column(row.text);
    REQUIRE(read.has_value());
    CHECK(*read == row.numbers);
  }
}

TEST_CASE("columns of differences: any order and sign comes back") {
  const std::vector<std::int64_t> numbers = {0,         -1,           1,  5, 5, -1000000,
                                             1LL << 52, -(1LL << 52), -1, 0, 7};
  DifferenceColumn column;
  for (const std::int64_t number : numbers) column.add(number);
  const auto read = read_differences(column.text());
  REQUIRE(read.has_value());
  CHECK(*read == numbers);
  DifferenceColumn first;
  for (const std::int64_t number : {0, -1, 0, -2}) first.add(number);
  CHECK(first.text() == "AAECAw==");  // differences 0 -1 1 -2: 0, 1, 2, 3
}

TEST_CASE("columns: text that is none") {
  const char* const texts[] = {"A",
                               "AQI",
                               "A*==",
                               "AQ=A",
                               "====",
                               "gA==",              // does not end
                               "////////////////",  // more than 63 bits
                               "<script>",
                               "AA==AA=="};
  for (const char* text : texts) {
    CAPTURE(text);
    CHECK(!read_column(text).has_value());
  }
  // Two differences of 2^62 each.
  CHECK(!read_differences("gICAgICAgICAAYCAgICAgICAgAE=").has_value());
}
