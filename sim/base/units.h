// Strong units. Every quantity is one double in its base unit; adding bytes to flops does not
// compile. `.v` is spelled only here, in cost.cpp, in the doors and in tests.
//
//   Seconds t = Bytes{64e6} / BytesPerSec{100e9};   // 640 us
//
// Text in: parse_bytes("64 MiB"), parse_bandwidth("180 GB/s both ways"), parse_seconds("1 us"), …
// Text out: to_text(Seconds{1.5e-6}) == "1.5 us".
// B is bytes, b is bits; k M G T P are powers of 1000, Ki Mi Gi Ti Pi powers of 1024.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace shardsim {

template <class Tag>
struct Quantity {
  double v = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    v += o.v;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    v -= o.v;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.v + b.v}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.v - b.v}; }
  friend constexpr Quantity operator*(Quantity a, double k) { return {a.v * k}; }
  friend constexpr Quantity operator*(double k, Quantity a) { return {a.v * k}; }
  friend constexpr Quantity operator/(Quantity a, double k) { return {a.v / k}; }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.v / b.v; }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;
using BytesPerSec = Quantity<struct BytesPerSecTag>;
using FlopsPerSec = Quantity<struct FlopsPerSecTag>;

constexpr Seconds operator/(Bytes b, BytesPerSec w) {
  return {b.v / w.v};
}
constexpr Seconds operator/(Flops f, FlopsPerSec w) {
  return {f.v / w.v};
}
constexpr Bytes operator*(BytesPerSec w, Seconds t) {
  return {w.v * t.v};
}
constexpr BytesPerSec operator/(Bytes b, Seconds t) {
  return {b.v / t.v};
}
constexpr FlopsPerSec operator/(Flops f, Seconds t) {
  return {f.v / t.v};
}

// Text for people: four significant digits and the unit that keeps the number in [1, 1000) (decimal
// for rates, flops and seconds, binary for bytes): "293.6 us", "64 MiB", "90 GB/s", "1.979
// PFLOP/s".
std::string to_text(Seconds);
std::string to_text(Bytes);
std::string to_text(Flops);
std::string to_text(BytesPerSec);
std::string to_text(FlopsPerSec);

// A value, or why the text is none. `error` reads after "expected …, found …" context is added by
// the caller: e.g. `expected a bandwidth such as 90 GB/s, found "90" (a bare number has no unit)`.
template <class T>
struct Parsed {
  T value = {};
  std::string error;  // empty: `value` is good

  explicit operator bool() const { return error.empty(); }
};

// Each accepts one space or none between number and unit. Zero needs no unit. Refused, each with
// its own words: a bare number, nan, inf, a negative, an amount beyond 1e24 or below 1e-24 base
// units, an unknown unit (nearest named), trailing text, leading zeros such as 010.
Parsed<Bytes> parse_bytes(std::string_view text);            // 64 MiB, 1 GB, 512 B, 8 Gb
Parsed<Seconds> parse_seconds(std::string_view text);        // 1 us, 2.5 ms, 3 ns, 1 s
Parsed<FlopsPerSec> parse_flop_rate(std::string_view text);  // 989 TFLOP/s
// 90 GB/s or 400 Gb/s is one direction, as is "90 GB/s each way"; "180 GB/s both ways" is halved to
// 90 GB/s each way.
Parsed<BytesPerSec> parse_bandwidth(std::string_view text);
// A count: the whole text is decimal digits without leading zeros, in [lowest, highest].
// "12abc", "010", "1e3", "1.0", "-1", and values out of range are refused, each with its reason.
Parsed<int> parse_count(std::string_view text, int lowest, int highest);
// The same for totals that do not fit an int, such as a model's parameters.
Parsed<std::int64_t> parse_large_count(std::string_view text, std::int64_t lowest,
                                       std::int64_t highest);
// A plain factor such as an efficiency: finite, in (lowest, highest]; no unit.
Parsed<double> parse_factor(std::string_view text, double lowest, double highest);

}  // namespace shardsim
