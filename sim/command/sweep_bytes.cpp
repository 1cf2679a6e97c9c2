#include "command/sweep_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardsim {

namespace {

constexpr double kMostSizes = 256;
constexpr double kLargestFactor = 1e9;

struct Part {
  std::string text;
  SourcePos pos;
};

std::vector<Part> parts_of(const std::string& text, const SourcePos& pos) {
  std::vector<Part> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t colon = std::min(text.find(':', from), text.size());
    const auto length = static_cast<int>(colon - from);
    parts.push_back(
        {text.substr(from, colon - from), pos.at(static_cast<int>(from), std::max(1, length))});
    from = colon + 1;
  }
  return parts;
}

Bytes size_of(const Part& part, std::vector<Problem>& problems) {
  const Parsed<Bytes> size = parse_bytes(part.text);
  if (!size) {
    problems.push_back({part.pos, size.error, ""});
  } else if (size.value == Bytes{}) {
    problems.push_back({part.pos, "expected a size above 0, found 0", ""});
  }
  return size.value;
}

double factor_of(const Part& part, std::vector<Problem>& problems) {
  const Parsed<double> factor = parse_factor(part.text, 1, kLargestFactor);
  if (!factor) problems.push_back({part.pos, factor.error, "the factor from a size to the next"});
  return factor.value;
}

}  // namespace

std::vector<Bytes> sweep_sizes(const std::string& text, std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const SourcePos pos = argument_pos("--sweep-bytes", text);
  const std::vector<Part> parts = parts_of(text, pos);
  if (parts.size() < 2 || parts.size() > 3) {
    problems.push_back({pos,
                        fmt::format("expected START:END or START:END:FACTOR, found \"{}\"", text),
                        "for example 1KiB:1GiB"});
    return {};
  }
  const Bytes start = size_of(parts[0], problems);
  const Bytes end = size_of(parts[1], problems);
  const double factor = parts.size() == 3 ? factor_of(parts[2], problems) : 2.0;
  if (problems.size() != before) return {};
  if (end < start) {
    problems.push_back({parts[1].pos,
                        fmt::format("expected an end of at least the start, {}, found {}",
                                    to_text(start), to_text(end)),
                        "START:END, for example 1KiB:1GiB"});
    return {};
  }
  // 1e-9: an end that is a power of the factor belongs to the sizes, however it is rounded.
  const double count = std::floor(std::log(end / start) / std::log(factor) + 1e-9) + 1;
  if (count > kMostSizes) {
    problems.push_back(
        {pos, fmt::format("expected at most {:.0f} sizes, found {:.0f}", kMostSizes, count),
         "a larger factor"});
    return {};
  }
  std::vector<Bytes> sizes;
  for (int i = 0; i < static_cast<int>(count); ++i) sizes.push_back(start * std::pow(factor, i));
  return sizes;
}

}  // namespace shardsim
