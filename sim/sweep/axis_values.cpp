#include "sweep/axis_values.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/expression.h"
#include "base/text.h"
#include "spec/yaml_text.h"

namespace shardsim {
namespace {

// "25 GB/s": the number and what follows it.
struct Amount {
  double number = 0;
  std::string unit;
};

std::optional<Amount> amount_of(std::string_view text) {
  text = trimmed(text);
  Amount amount;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (read.ec != std::errc{} || !std::isfinite(amount.number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  amount.unit = std::string(trimmed(text));
  return amount;
}

bool looks_like_range(const Node& node) {
  return node.kind == NodeKind::scalar && !node.quoted && !node.text.empty() &&
         (node.text.front() >= '0' && node.text.front() <= '9') &&
         node.text.find("..") != std::string::npos;
}

struct Range {
  double first = 0, last = 0, step = 1;
  bool multiplies = false;
  std::string unit;

  double at(std::size_t i) const {
    const auto k = static_cast<double>(i);
    return multiplies ? first * std::pow(step, k) : first + step * k;
  }
};

// Reads one range; every problem ends it.
class RangeReader {
 public:
  RangeReader(const Node& node, const std::string& name, std::vector<Problem>& problems)
      : node_(node), name_(name), problems_(problems) {}

  std::vector<Node> read() {
    const std::optional<Range> range = parse();
    if (!range) return {};
    std::vector<Node> nodes;
    const double beyond = range->last * (1 + 1e-12);
    for (std::size_t i = 0; range->at(i) <= beyond; ++i) {
      if (i == kMostValues) {
        refuse(0, node_.text.size(), fmt::format("expected at most {} values", kMostValues));
        return {};
      }
      nodes.push_back(node_);
      nodes.back().text = exact_text(rounded(range->at(i)));
      if (!range->unit.empty()) nodes.back().text += " " + range->unit;
    }
    return nodes;
  }

 private:
  // What adding up leaves in the last digits goes.
  static double rounded(double number) { return std::stod(fmt::format("{:.12g}", number)); }

  std::nullopt_t refuse(std::size_t at, std::size_t length, const std::string& message) {
    problems_.push_back({node_.pos.at(static_cast<int>(at), static_cast<int>(length)),
                         fmt::format("{}: {}", name_, message),
                         "ranges read 1..8, 1..8 step 2 or 2..64 step x2"});
    return std::nullopt;
  }

  std::optional<Range> parse() {
    const std::string_view text = node_.text;
    constexpr std::string_view kStep = " step ";
    const std::size_t dots = text.find("..");
    const std::size_t step_at = text.find(kStep, dots);
    const std::size_t end = std::min(step_at, text.size());
    const auto first = amount_of(text.substr(0, dots));
    if (!first) return refuse(0, dots, "expected a number before .., found none");
    const auto last = amount_of(text.substr(dots + 2, end - dots - 2));
    if (!last) return refuse(dots, 2, "expected a number after .., found none");
    if (!first->unit.empty() && first->unit != last->unit) {
      return refuse(0, end,
                    fmt::format("expected one unit on both sides of .., found {} and {}",
                                in_quotes(first->unit), in_quotes(last->unit)));
    }
    Range range{first->number, last->number, 1, false, last->unit};
    if (step_at != std::string_view::npos && !parse_step(step_at + kStep.size(), range)) {
      return std::nullopt;
    }
    if (range.first > range.last) {
      return refuse(0, end,
                    fmt::format("expected a range with values, found an empty one: {} is above {}",
                                exact_text(range.first), exact_text(range.last)));
    }
    return range;
  }

  bool parse_step(std::size_t at, Range& range) {
    std::string_view text = std::string_view(node_.text).substr(at);
    range.multiplies = text.starts_with('x');
    if (range.multiplies) text.remove_prefix(1);
    const auto step = amount_of(text);
    const double least = range.multiplies ? 1 : 0;
    const bool other_unit =
        step && !step->unit.empty() && (range.multiplies || step->unit != range.unit);
    if (!step || other_unit || step->number <= least || (range.multiplies && range.first == 0)) {
      refuse(at, node_.text.size() - at,
             fmt::format("expected a step above 0, or x and a factor above 1, that leaves the "
                         "first value, found {}",
                         in_quotes(std::string_view(node_.text).substr(at))));
      return false;
    }
    range.step = step->number;
    return true;
  }

  const Node& node_;
  const std::string& name_;
  std::vector<Problem>& problems_;
};

}  // namespace

std::vector<Node> axis_nodes(const Node& node, const std::string& name, bool may_repeat,
                             std::vector<Problem>& problems) {
  if (looks_like_range(node)) return RangeReader(node, name, problems).read();
  if (node.kind != NodeKind::list) return {node};
  if (node.entries.empty()) {
    problems.push_back(
        {node.pos, fmt::format("{}: expected at least one value, found an empty list", name), ""});
  }
  std::vector<Node> nodes;
  std::set<std::string> seen;
  for (const NodeEntry& entry : node.entries) {
    std::vector<Node> some = looks_like_range(entry.node)
                                 ? RangeReader(entry.node, name, problems).read()
                                 : std::vector<Node>{entry.node};
    for (Node& one : some) {
      const std::string text = flow_text(one);
      if (seen.insert(text).second || may_repeat) {
        nodes.push_back(std::move(one));
      } else {
        problems.push_back(
            {one.pos, fmt::format("{}: expected different values, found a second {}", name, text),
             ""});
      }
    }
  }
  return nodes;
}

}  // namespace shardsim
