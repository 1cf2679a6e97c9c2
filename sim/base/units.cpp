#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "base/text.h"

namespace shardsim {
namespace {

struct Scale {
  std::string_view prefix;
  double factor = 1;
};

constexpr double kKi = 1024;
// SI brochure (9th ed.) table 7 and IEC 80000-13. No prefix comes first: it is the base unit.
constexpr std::array<Scale, 11> kAmounts{{{"", 1},
                                          {"k", 1e3},
                                          {"M", 1e6},
                                          {"G", 1e9},
                                          {"T", 1e12},
                                          {"P", 1e15},
                                          {"Ki", kKi},
                                          {"Mi", kKi* kKi},
                                          {"Gi", kKi* kKi* kKi},
                                          {"Ti", kKi* kKi* kKi* kKi},
                                          {"Pi", kKi* kKi* kKi* kKi* kKi}}};
constexpr std::array<Scale, 5> kTimes{
    {{"", 1}, {"m", 1e-3}, {"u", 1e-6}, {"n", 1e-9}, {"p", 1e-12}}};

// One kind of quantity as people write it.
struct Kind {
  std::string_view what;  // "a bandwidth such as 90 GB/s"
  std::span<const Scale> prefixes;
  std::array<Scale, 2> units;  // unit names and their size in base units; the second may be empty
};

constexpr Kind kBytesKind{"a size such as 64 MiB", kAmounts, {{{"B", 1}, {"b", 0.125}}}};
constexpr Kind kBandwidthKind{
    "a bandwidth such as 90 GB/s", kAmounts, {{{"B/s", 1}, {"b/s", 0.125}}}};
constexpr Kind kSecondsKind{"a time such as 1 us", kTimes, {{{"s", 1}, {"", 0}}}};
constexpr Kind kFlopRateKind{
    "a rate such as 989 TFLOP/s", kAmounts, {{{"FLOP/s", 1}, {"OP/s", 1}}}};

// Amounts outside are typing errors, and products of those inside stay far from infinity.
constexpr double kLargest = 1e24;
constexpr double kSmallest = 1e-24;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string refusal(std::string_view what, std::string_view text, std::string_view why) {
  if (text.empty()) return fmt::format("expected {}, found nothing", what);
  return fmt::format("expected {}, found {} ({})", what, in_quotes(text), why);
}

// A number at the start of a text.
struct Number {
  double value = 0;
  std::string_view rest;  // what follows it, blanks removed
  std::string why_not;    // empty: value is good
};

std::string why_no_number(std::string_view text) {
  if (text.front() == '-') return "it is negative";
  if (text.front() == '+') return "write it without the +";
  for (const std::string_view word : {"nan", ".nan", "NaN", ".NaN", "inf", ".inf", "Inf", ".Inf"}) {
    if (text.starts_with(word)) return "it is not a finite number";
  }
  return "it does not start with a number";
}

Number read_number(std::string_view text) {
  Number number;
  if (!is_digit(text.front())) {
    number.why_not = why_no_number(text);
    return number;
  }
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) {
    number.why_not = "a leading zero";
    return number;
  }
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (status != std::errc{}) number.why_not = "the number is out of range";
  number.rest = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  return number;
}

// The size of a unit such as "GB/s", or 0 when there is no such unit.
double unit_size(const Kind& kind, std::string_view text) {
  for (const Scale& unit : kind.units) {
    if (unit.prefix.empty() || !text.ends_with(unit.prefix)) continue;
    const auto prefix = text.substr(0, text.size() - unit.prefix.size());
    for (const Scale& scale : kind.prefixes) {
      if (scale.prefix == prefix) return scale.factor * unit.factor;
    }
  }
  return 0;
}

std::string why_unknown_unit(const Kind& kind, std::string_view unit) {
  auto bases = kind.units;
  // gbps means bits: nearest() ignores case and takes the first of equals.
  const bool bits = unit.find('b') != std::string_view::npos;
  if (bits) std::swap(bases[0], bases[1]);
  std::vector<std::string> known;
  for (const Scale& base : bases) {
    if (base.prefix.empty()) continue;
    for (const Scale& scale : kind.prefixes) {
      known.push_back(std::string(scale.prefix) + std::string(base.prefix));
    }
  }
  const std::string close = nearest(unit, known);
  if (close.empty()) return fmt::format("no unit {}", in_quotes(unit));
  const bool ambiguous = close.find_first_of("bB") != std::string::npos;
  return fmt::format("no unit {}; did you mean \"{}\"?{}", in_quotes(unit), close,
                     ambiguous ? " B is bytes, b is bits" : "");
}

template <class T>
Parsed<T> parse_quantity(std::string_view whole, const Kind& kind) {
  const auto text = trimmed(whole);
  const auto refuse = [&](std::string_view why) {
    return Parsed<T>{{}, refusal(kind.what, text, why)};
  };
  if (text.empty()) return refuse("");
  const Number number = read_number(text);
  if (!number.why_not.empty()) return refuse(number.why_not);
  if (number.rest.empty()) {
    if (number.value == 0) return {};
    return refuse("a bare number has no unit");
  }
  const double size = unit_size(kind, number.rest);
  if (size == 0) return refuse(why_unknown_unit(kind, number.rest));
  const double amount = number.value * size;
  if (amount > kLargest) return refuse("it is too large");
  if (amount != 0 && amount < kSmallest) return refuse("it is too small");
  return {{amount}, {}};
}

std::string rounded(double value) {
  if (std::fabs(value) < 1e4) return fmt::format("{:.4g}", value);
  if (std::fabs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

// `value` in the largest unit that is at most the value after rounding. `units` ascend.
std::string in_units(double value, std::span<const Scale> units) {
  const Scale* best = &units.front();
  for (const Scale& unit : units) {
    // Half of the last of four digits: 999.96 us reads 1 ms, not 1000 us.
    if (std::fabs(value) >= unit.factor * (1 - 0.5e-4)) best = &unit;
  }
  if (value == 0) best = &units[0];
  return fmt::format("{} {}", rounded(value / best->factor), best->prefix);
}

constexpr std::array<Scale, 5> kTimeText{
    {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<Scale, 6> kByteText{{{"B", 1},
                                          {"KiB", kKi},
                                          {"MiB", kKi* kKi},
                                          {"GiB", kKi* kKi* kKi},
                                          {"TiB", kKi* kKi* kKi* kKi},
                                          {"PiB", kKi* kKi* kKi* kKi* kKi}}};
constexpr std::array<Scale, 7> kDecimalText{
    {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}}};

std::string decimal(double value, std::string_view unit) {
  return in_units(value, kDecimalText) + std::string(unit);
}

std::string count_range(std::int64_t lowest, std::int64_t highest) {
  if (highest >= std::numeric_limits<int>::max()) {
    return fmt::format("a whole number of at least {}", lowest);
  }
  return fmt::format("a whole number from {} to {}", lowest, highest);
}

// Why a text that is not only digits is no count.
std::string why_no_count(std::string_view text) {
  if (!is_digit(text.front())) return why_no_number(text);
  const auto end = text.find_first_not_of("0123456789");
  const auto rest = text.substr(end);
  const bool fraction = rest.size() > 1 && rest[0] == '.' && is_digit(rest[1]);
  if (fraction) return "a count has no decimal point";
  const bool exponent = rest.size() > 1 && (rest[0] == 'e' || rest[0] == 'E') &&
                        (is_digit(rest[1]) || rest[1] == '+' || rest[1] == '-');
  if (exponent) return "write the digits out, without an exponent";
  return fmt::format("{} follows the number", in_quotes(rest));
}

}  // namespace

std::string to_text(Seconds t) {
  return t.v == 0 ? "0 s" : in_units(t.v, kTimeText);
}
std::string to_text(Bytes b) {
  return in_units(b.v, kByteText);
}
std::string to_text(Flops f) {
  return decimal(f.v, "FLOP");
}
std::string to_text(BytesPerSec w) {
  return decimal(w.v, "B/s");
}
std::string to_text(FlopsPerSec w) {
  return decimal(w.v, "FLOP/s");
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  return parse_quantity<Bytes>(text, kBytesKind);
}

Parsed<Seconds> parse_seconds(std::string_view text) {
  return parse_quantity<Seconds>(text, kSecondsKind);
}

Parsed<FlopsPerSec> parse_flop_rate(std::string_view text) {
  return parse_quantity<FlopsPerSec>(text, kFlopRateKind);
}

Parsed<BytesPerSec> parse_bandwidth(std::string_view text) {
  auto rate = trimmed(text);
  double share = 1;
  for (const auto& [words, part] : {std::pair<std::string_view, double>{" both ways", 0.5},
                                    std::pair<std::string_view, double>{" each way", 1}}) {
    if (!rate.ends_with(words)) continue;
    rate.remove_suffix(words.size());
    share = part;
    break;
  }
  auto parsed = parse_quantity<BytesPerSec>(rate, kBandwidthKind);
  parsed.value = parsed.value * share;
  return parsed;
}

Parsed<std::int64_t> parse_large_count(std::string_view whole, std::int64_t lowest,
                                       std::int64_t highest) {
  const auto text = trimmed(whole);
  const auto refuse = [&](std::string_view why) {
    return Parsed<std::int64_t>{{}, refusal(count_range(lowest, highest), text, why)};
  };
  if (text.empty()) return refuse("");
  if (text.find_first_not_of("0123456789") != std::string_view::npos) {
    return refuse(why_no_count(text));
  }
  if (text.size() > 1 && text[0] == '0') return refuse("a leading zero");
  std::int64_t value = 0;
  const auto status = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  if (status != std::errc{} || value > highest) {
    return refuse(fmt::format("it is larger than {}", highest));
  }
  if (value < lowest) return refuse(fmt::format("it is smaller than {}", lowest));
  return {value, {}};
}

Parsed<int> parse_count(std::string_view text, int lowest, int highest) {
  const auto parsed = parse_large_count(text, lowest, highest);
  return {static_cast<int>(parsed.value), parsed.error};
}

Parsed<double> parse_factor(std::string_view whole, double lowest, double highest) {
  const auto text = trimmed(whole);
  const std::string what = fmt::format("a factor above {} and at most {}", lowest, highest);
  const auto refuse = [&](std::string_view why) {
    return Parsed<double>{{}, refusal(what, text, why)};
  };
  if (text.empty()) return refuse("");
  const Number number = read_number(text);
  if (!number.why_not.empty()) return refuse(number.why_not);
  if (!number.rest.empty()) {
    return refuse(fmt::format("{} follows the number", in_quotes(number.rest)));
  }
  if (number.value <= lowest) return refuse(fmt::format("it is not above {}", lowest));
  if (number.value > highest) return refuse(fmt::format("it is above {}", highest));
  return {number.value, {}};
}

}  // namespace shardsim
