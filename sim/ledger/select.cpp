#include "ledger/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include "base/must.h"
#include "base/text.h"

namespace shardsim {

namespace {

struct OfRow {
  std::string_view name;
  TakeOf of;
};
constexpr std::array kOf = {OfRow{"sum", TakeOf::sum}, OfRow{"count", TakeOf::count},
                            OfRow{"min", TakeOf::min}, OfRow{"max", TakeOf::max}};

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// The parse ends at the first problem.
struct Stop {};

class Parser {
 public:
  Parser(const PlacedText& text, std::vector<Problem>& problems)
      : placed_(text), problems_(problems), end_(text.text.size()) {}

  Take parse() {
    Take take{placed_, TakeOf::one, {}};
    if (trimmed(text()).empty()) stop(0, 1, "expected a path into the result, found nothing");
    if (text() == "status") {
      take.of = TakeOf::status;
      return take;
    }
    function(take);
    bool first = true;
    while (at_ < end_) {
      if (text()[at_] == '[') {
        take.steps.push_back(items());
      } else {
        if (!first && text()[at_++] != '.') stop(at_ - 1, 1, "expected . or [ here");
        take.steps.push_back(key());
      }
      first = false;
    }
    if (take.steps.empty()) stop(at_, 1, "expected a path into the result, found nothing");
    return take;
  }

 private:
  std::string_view text() const { return placed_.text; }

  [[noreturn]] void stop(std::size_t at, std::size_t length, std::string message,
                         std::string hint = {}) {
    problems_.push_back({placed_.at(at, length), std::move(message), std::move(hint)});
    throw Stop{};
  }

  void function(Take& take) {
    const std::size_t open = text().find('(');
    if (open == std::string_view::npos || !text().ends_with(')')) return;
    const std::string_view name = text().substr(0, open);
    // Keys may have parentheses, as "link (one way)"; a function is one word.
    if (name.find_first_of(" .[") != std::string_view::npos) return;
    std::vector<std::string> names;
    for (const OfRow& row : kOf) {
      if (row.name == name) take.of = row.of;
      names.emplace_back(row.name);
    }
    if (take.of == TakeOf::one) {
      stop(0, open,
           fmt::format("expected {} before (, found {}", joined_or(names), in_quotes(name)),
           suggestion(name, names));
    }
    at_ = open + 1;
    --end_;
  }

  TakeStep key() {
    TakeStep step;
    step.offset = at_;
    at_ = std::min({text().find('.', at_), text().find('[', at_), end_});
    step.key = text().substr(step.offset, at_ - step.offset);
    step.length = std::max<std::size_t>(1, step.key.size());
    if (step.key.empty()) stop(step.offset, 1, "expected a key, found none");
    return step;
  }

  TakeStep items() {
    TakeStep step;
    step.offset = at_;
    const std::size_t close = text().find(']', at_);
    if (close >= end_) stop(at_, 1, "expected a ] after this [, found none");
    const std::string_view inside = trimmed(text().substr(at_ + 1, close - at_ - 1));
    step.length = close + 1 - at_;
    at_ = close + 1;
    if (inside == "*") {
      step.kind = TakeStep::Kind::all;
      return step;
    }
    if (inside.find_first_not_of("0123456789") == std::string_view::npos) {
      step.kind = TakeStep::Kind::index;
      const auto read = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
      if (inside.empty() || read.ec != std::errc{}) {
        stop(step.offset, step.length, "expected an index, key=value or *, found none");
      }
      return step;
    }
    step.kind = TakeStep::Kind::filter;
    for (std::size_t from = 0; from <= inside.size();) {
      const std::size_t comma = std::min(inside.find(',', from), inside.size());
      const std::string_view one = trimmed(inside.substr(from, comma - from));
      const std::size_t equals = one.find('=');
      const bool unlike = equals != std::string_view::npos && equals > 0 && one[equals - 1] == '!';
      const std::string_view name = trimmed(one.substr(0, unlike ? equals - 1 : equals));
      if (equals == std::string_view::npos || name.empty()) {
        stop(step.offset, step.length,
             fmt::format("expected an index, key=value or *, found {}", in_quotes(one)));
      }
      step.filters.push_back(
          {std::string(name), std::string(trimmed(one.substr(equals + 1))), !unlike});
      from = comma + 1;
    }
    return step;
  }

  const PlacedText& placed_;
  std::vector<Problem>& problems_;
  std::size_t end_;
  std::size_t at_ = 0;
};

// A value as a filter compares it.
std::string text_of(const Json& value) {
  struct Texts {
    std::string operator()(std::nullptr_t) const { return "null"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double d) const { return exact_text(d); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const Array& items) const {
      std::vector<std::string> texts;
      for (const Json& item : items) texts.push_back(text_of(item));
      return fmt::format("{}", fmt::join(texts, "+"));
    }
    std::string operator()(const Object&) const { return "{}"; }
  };
  return std::visit(Texts{}, value.data);
}

bool same(const Json& value, const std::string& text) {
  const std::string is = text_of(value);
  if (is == text) return true;
  const bool number = std::holds_alternative<double>(value.data) ||
                      std::holds_alternative<std::int64_t>(value.data);
  if (!number) return false;
  const auto a = number_in(is);
  const auto b = number_in(text);
  return a && b && nearly_equal(*a, *b);
}

// Follows the steps of one take; everything that goes wrong is said at the step.
class Selection {
 public:
  Selection(const Take& take, std::vector<Problem>& problems) : take_(take), problems_(problems) {}

  std::optional<std::vector<const Json*>> follow(const Json& document) {
    std::vector<const Json*> at = {&document};
    for (const TakeStep& step : take_.steps) {
      std::vector<const Json*> next;
      for (const Json* value : at) {
        if (!enter(step, *value, next)) return std::nullopt;
      }
      at = std::move(next);
    }
    return at;
  }

  std::nullopt_t refuse(const TakeStep& step, std::string message, std::string hint = {}) {
    problems_.push_back(
        {take_.text.at(step.offset, step.length), std::move(message), std::move(hint)});
    return std::nullopt;
  }

 private:
  const Json* keyed(const TakeStep& step, const Json& value, const std::string& key) {
    const Object* object = std::get_if<Object>(&value.data);
    if (object == nullptr) {
      refuse(step, fmt::format("expected a map with {} in the result, found none", in_quotes(key)));
      return nullptr;
    }
    if (const Json* found = find(value, key)) return found;
    std::vector<std::string> keys;
    for (const auto& [name, ignored] : *object) keys.push_back(name);
    std::string hint = suggestion(key, keys);
    if (hint.empty()) hint = fmt::format("its keys are {}", fmt::join(keys, ", "));
    refuse(step, fmt::format("expected a key of the result, found {}", in_quotes(key)), hint);
    return nullptr;
  }

  bool enter(const TakeStep& step, const Json& value, std::vector<const Json*>& next) {
    if (step.kind == TakeStep::Kind::key) {
      next.push_back(keyed(step, value, step.key));
      return next.back() != nullptr;
    }
    const Array* list = std::get_if<Array>(&value.data);
    if (list == nullptr) {
      refuse(step, "expected a list in the result before [, found none");
      return false;
    }
    if (step.kind == TakeStep::Kind::index) {
      if (step.index >= list->size()) {
        refuse(step, fmt::format("expected an index below {}, found {}", list->size(), step.index));
        return false;
      }
      next.push_back(&(*list)[step.index]);
      return true;
    }
    for (const Json& item : *list) {
      bool passes = true;
      for (const TakeFilter& filter : step.filters) {
        const Json* is = keyed(step, item, filter.key);
        if (is == nullptr) return false;
        passes = passes && same(*is, filter.value) == filter.equal;
      }
      if (passes) next.push_back(&item);
    }
    return true;
  }

  const Take& take_;
  std::vector<Problem>& problems_;
};

std::optional<double> number_of(const Json& value) {
  if (const bool* b = std::get_if<bool>(&value.data)) return *b ? 1.0 : 0.0;
  if (const auto* i = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*i);
  if (const double* d = std::get_if<double>(&value.data)) return *d;
  if (const auto* s = std::get_if<std::string>(&value.data)) return number_in(*s);
  return std::nullopt;
}

}  // namespace

std::optional<Take> parse_take(PlacedText text, std::vector<Problem>& problems) {
  try {
    return Parser(text, problems).parse();
  } catch (const Stop&) {
    return std::nullopt;
  }
}

std::optional<double> take_from(const Json& document, const Take& take,
                                std::vector<Problem>& problems) {
  must(take.of != TakeOf::status, "a status is no part of the result");
  Selection selection(take, problems);
  const auto found = selection.follow(document);
  if (!found) return std::nullopt;
  const TakeStep& last = take.steps.back();
  if (take.of == TakeOf::count) return static_cast<double>(found->size());
  std::vector<double> numbers;
  for (const Json* value : *found) {
    const std::optional<double> number = number_of(*value);
    if (!number) {
      return selection.refuse(last, fmt::format("expected a number in the result, found {}",
                                                in_quotes(text_of(*value))));
    }
    numbers.push_back(*number);
  }
  if (take.of == TakeOf::sum) return std::accumulate(numbers.begin(), numbers.end(), 0.0);
  if (numbers.empty()) return selection.refuse(last, "expected a value in the result, found none");
  if (take.of == TakeOf::min) return *std::min_element(numbers.begin(), numbers.end());
  if (take.of == TakeOf::max) return *std::max_element(numbers.begin(), numbers.end());
  if (numbers.size() > 1) {
    return selection.refuse(
        last, fmt::format("expected one value in the result, found {}", numbers.size()),
        "a filter such as [kind=all-gather], or sum(…), count(…), min(…), max(…)");
  }
  return numbers.front();
}

}  // namespace shardsim
