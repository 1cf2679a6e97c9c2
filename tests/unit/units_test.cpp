#include "base/units.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace shardsim;

namespace {

constexpr double kExact = 1e-15;  // relative: one rounding of a product

bool close(double got, double want) {
  return got == want || std::abs(got - want) <= kExact * std::abs(want);
}

struct GoodRow {
  std::string text;
  double want = 0;
};
struct BadRow {
  std::string text;
  std::string error;
};

template <class Parse>
void check_good(const std::vector<GoodRow>& rows, Parse parse) {
  for (const GoodRow& row : rows) {
    CAPTURE(row.text);
    const auto parsed = parse(row.text);
    CHECK(parsed.error == "");
    CHECK(close(parsed.value.v, row.want));
  }
}

template <class Parse>
void check_bad(const std::vector<BadRow>& rows, Parse parse) {
  for (const BadRow& row : rows) {
    CAPTURE(row.text);
    CHECK(parse(row.text).error == row.error);
  }
}

}  // namespace

TEST_CASE("units: texts that are read") {
  check_good({{"64 MiB", 67108864},
              {"1GB", 1e9},
              {"512 B", 512},
              {"8 Gb", 1e9},
              {"0", 0},
              {"1.5KiB", 1536},
              {"2e3 kB", 2e6},
              {"  1 TiB\n", 1099511627776.0}},
             parse_bytes);
  check_good({{"90 GB/s", 90e9},
              {"400Gb/s", 50e9},
              {"180 GB/s both ways", 90e9},
              {"90 GB/s each way", 90e9},
              {"1.6 Tb/s both ways", 100e9},
              {"0", 0}},
             parse_bandwidth);
  check_good({{"1 us", 1e-6}, {"2.5ms", 2.5e-3}, {"3 ns", 3e-9}, {"1 s", 1}, {"0", 0}},
             parse_seconds);
  check_good({{"989 TFLOP/s", 989e12}, {"1.979 PFLOP/s", 1.979e15}, {"624 TOP/s", 624e12}},
             parse_flop_rate);
}

TEST_CASE("units: texts that are refused, each with its reason") {
  check_bad(
      {{"", "expected a bandwidth such as 90 GB/s, found nothing"},
       {"90", "expected a bandwidth such as 90 GB/s, found \"90\" (a bare number has no unit)"},
       {"010 GB/s", "expected a bandwidth such as 90 GB/s, found \"010 GB/s\" (a leading zero)"},
       {"-1 GB/s", "expected a bandwidth such as 90 GB/s, found \"-1 GB/s\" (it is negative)"},
       {"nan", "expected a bandwidth such as 90 GB/s, found \"nan\" (it is not a finite number)"},
       {".inf", "expected a bandwidth such as 90 GB/s, found \".inf\" (it is not a finite number)"},
       {"GB/s",
        "expected a bandwidth such as 90 GB/s, found \"GB/s\" (it does not start with a number)"},
       {"1e400 GB/s",
        "expected a bandwidth such as 90 GB/s, found \"1e400 GB/s\" (the number is out of range)"},
       {"1e30 GB/s", "expected a bandwidth such as 90 GB/s, found \"1e30 GB/s\" (it is too large)"},
       {"1e-30 B/s", "expected a bandwidth such as 90 GB/s, found \"1e-30 B/s\" (it is too small)"},
       {"1 GB/s x",
        "expected a bandwidth such as 90 GB/s, found \"1 GB/s x\" (no unit \"GB/s x\"; did you "
        "mean "
        "\"GB/s\"? B is bytes, b is bits)"},
       {"400 Gbps",
        "expected a bandwidth such as 90 GB/s, found \"400 Gbps\" (no unit \"Gbps\"; did you mean "
        "\"Gb/s\"? B is bytes, b is bits)"},
       {"1 us", "expected a bandwidth such as 90 GB/s, found \"1 us\" (no unit \"us\")"}},
      parse_bandwidth);
  check_bad({{"1 GBit", "expected a size such as 64 MiB, found \"1 GBit\" (no unit \"GBit\")"},
             {"1 g", "expected a size such as 64 MiB, found \"1 g\" (no unit \"g\")"},
             {"1 gib",
              "expected a size such as 64 MiB, found \"1 gib\" (no unit \"gib\"; did you mean "
              "\"Gib\"? B is bytes, b is bits)"}},
            parse_bytes);
  check_bad({{"5", "expected a time such as 1 us, found \"5\" (a bare number has no unit)"}},
            parse_seconds);
}

TEST_CASE("units: counts") {
  CHECK(parse_count("1", 1, 8).value == 1);
  CHECK(parse_count("8", 1, 8).value == 8);
  CHECK(parse_count("0", 0, 8).error == "");
  CHECK(parse_count("2147483647", 1, std::numeric_limits<int>::max()).value == 2147483647);
  CHECK(parse_large_count("70553706496", 1, 1'000'000'000'000).value == 70553706496);
  check_bad({{"", "expected a whole number from 1 to 8, found nothing"},
             {"12abc",
              "expected a whole number from 1 to 8, found \"12abc\" (\"abc\" follows the "
              "number)"},
             {"010", "expected a whole number from 1 to 8, found \"010\" (a leading zero)"},
             {"1e3",
              "expected a whole number from 1 to 8, found \"1e3\" (write the digits out, "
              "without an exponent)"},
             {"1.0",
              "expected a whole number from 1 to 8, found \"1.0\" (a count has no decimal "
              "point)"},
             {"-1", "expected a whole number from 1 to 8, found \"-1\" (it is negative)"},
             {"+1", "expected a whole number from 1 to 8, found \"+1\" (write it without the +)"},
             {"0", "expected a whole number from 1 to 8, found \"0\" (it is smaller than 1)"},
             {"9", "expected a whole number from 1 to 8, found \"9\" (it is larger than 8)"},
             {"99999999999999999999",
              "expected a whole number from 1 to 8, found "
              "\"99999999999999999999\" (it is larger than 8)"},
             {"x",
              "expected a whole number from 1 to 8, found \"x\" (it does not start with a "
              "number)"}},
            [](const std::string& text) { return parse_count(text, 1, 8); });
}

TEST_CASE("units: factors") {
  CHECK(parse_factor("0.9", 0, 1).value == 0.9);
  CHECK(parse_factor("1", 0, 1).value == 1);
  check_bad({{"0", "expected a factor above 0 and at most 1, found \"0\" (it is not above 0)"},
             {"1.01", "expected a factor above 0 and at most 1, found \"1.01\" (it is above 1)"},
             {"90%",
              "expected a factor above 0 and at most 1, found \"90%\" (\"%\" follows the "
              "number)"},
             {"nan",
              "expected a factor above 0 and at most 1, found \"nan\" (it is not a finite "
              "number)"}},
            [](const std::string& text) { return parse_factor(text, 0, 1); });
}

TEST_CASE("units: text for people") {
  struct Row {
    std::string got, want;
  };
  const std::vector<Row> rows{
      {to_text(Seconds{293.6e-6}), "293.6 us"},
      {to_text(Seconds{0}), "0 s"},
      {to_text(Seconds{1.5e-6}), "1.5 us"},
      {to_text(Seconds{999.96e-6}), "1 ms"},
      {to_text(Seconds{999.94e-6}), "999.9 us"},
      {to_text(Seconds{12345}), "12345 s"},
      {to_text(Seconds{-2e-3}), "-2 ms"},
      {to_text(Bytes{67108864}), "64 MiB"},
      {to_text(Bytes{0}), "0 B"},
      {to_text(Bytes{1023}), "1023 B"},
      {to_text(Bytes{1536}), "1.5 KiB"},
      {to_text(BytesPerSec{90e9}), "90 GB/s"},
      {to_text(BytesPerSec{0}), "0 B/s"},
      {to_text(FlopsPerSec{1.979e15}), "1.979 PFLOP/s"},
      {to_text(Flops{5.5e12}), "5.5 TFLOP"},
      {to_text(Seconds{0.5e-12}), "0.5 ps"},
  };
  for (const Row& row : rows) CHECK(row.got == row.want);
}

TEST_CASE("units: what is printed is read back") {
  for (const double amount : {1.0, 999.0, 4096.0, 6.4e7, 3.2e12}) {
    CAPTURE(amount);
    const auto back = parse_bytes(to_text(Bytes{amount}));
    CHECK(back.error == "");
    CHECK(std::abs(back.value.v - amount) <= 0.5e-3 * amount);  // four digits
  }
}
