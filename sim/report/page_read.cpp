#include "report/page_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "report/columns.h"
#include "report/page_data.h"

namespace shardsim {

namespace {

constexpr std::size_t kLargestPage = std::size_t{256} << 20;
constexpr double kMostRows = 20e6;
constexpr std::string_view kOpens = "<script type=\"application/json\" id=\"data\">";
constexpr std::string_view kCloses = "</script>";

// What the numbers of a column are indices of; `from_one`: 0 is none.
struct ColumnRow {
  std::string_view table, column;
  bool differences = false;
  std::string_view of = "";  // another table or list of the run; empty: any number
  bool from_one = false;
};
constexpr std::array kColumns = {
    ColumnRow{"origins", "name", false, "texts"},
    ColumnRow{"origins", "kind", false, "kinds"},
    ColumnRow{"origins", "layer"},
    ColumnRow{"origins", "bytes"},
    ColumnRow{"origins", "links", false, "texts", true},
    ColumnRow{"slices", "track", false, "tracks"},
    ColumnRow{"slices", "begin", true},
    ColumnRow{"slices", "length"},
    ColumnRow{"slices", "origin", true, "origins"},
    ColumnRow{"slices", "microbatch"},
    ColumnRow{"slices", "stage"},
    ColumnRow{"slices", "chunk"},
    ColumnRow{"slices", "cause", true, "slices", true},
    ColumnRow{"slices", "critical"},
    ColumnRow{"arrows", "from", true, "slices"},
    ColumnRow{"arrows", "to", true, "slices"},
    ColumnRow{"bubbles", "rank", false, "ranks"},
    ColumnRow{"bubbles", "begin", true},
    ColumnRow{"bubbles", "length"},
    ColumnRow{"bubbles", "text", false, "texts"},
    ColumnRow{"bubbles", "cause", true, "slices", true},
    ColumnRow{"cells", "rank", false, "ranks"},
    ColumnRow{"cells", "begin", true},
    ColumnRow{"cells", "length"},
    ColumnRow{"cells", "code", false, "texts"},
    ColumnRow{"cells", "microbatch"},
    ColumnRow{"cells", "stage"},
    ColumnRow{"cells", "chunk"},
    ColumnRow{"cells", "second_code", false, "texts", true},
    ColumnRow{"cells", "second_microbatch"},
    ColumnRow{"cells", "second_stage"},
    ColumnRow{"cells", "second_chunk"},
};

// A fault of what was read; its place is the file as a whole.
struct Fault {
  std::string message;
};

[[noreturn]] void expect(const std::string& where, std::string_view expected) {
  throw Fault{fmt::format("expected {} in {}, found none", expected, where)};
}

const Array& list_of(const Json& value, std::string_view key, const std::string& where) {
  const Json* const found = find(value, key);
  const Array* list = found == nullptr ? nullptr : std::get_if<Array>(&found->data);
  if (list == nullptr) expect(where, fmt::format("a list \"{}\"", key));
  return *list;
}

double whole_of(const Json& value, std::string_view key, double most, const std::string& where) {
  const std::optional<double> number = number_at(value, key);
  const bool good = number && *number >= 0 && *number <= most && std::floor(*number) == *number;
  if (!good) expect(where, fmt::format("a number \"{}\" from 0 to {:.0f}", key, most));
  return *number;
}

void require_text(const Json& value, std::string_view key, const std::string& where) {
  const Json* const found = find(value, key);
  if (found == nullptr || !std::holds_alternative<std::string>(found->data))
    expect(where, fmt::format("a text \"{}\"", key));
}

void require_time(const Json& value, std::string_view key, const std::string& where) {
  const std::optional<double> number = number_at(value, key);
  if (!number || !(*number >= 0) || *number > 1e12)
    expect(where, fmt::format("a time \"{}\"", key));
}

const Json& object_of(const Json& value, std::string_view key, const std::string& where) {
  const Json* const found = find(value, key);
  if (found == nullptr || !std::holds_alternative<Object>(found->data))
    expect(where, fmt::format("an object \"{}\"", key));
  return *found;
}

// Of a table its rows, of a list its items.
double count_of(const Json& run, std::string_view name, const std::string& where) {
  const Json* const found = find(run, name);
  if (found != nullptr) {
    if (const Array* list = std::get_if<Array>(&found->data))
      return static_cast<double>(list->size());
  }
  return whole_of(object_of(run, name, where), "count", kMostRows,
                  fmt::format("{}.{}", where, name));
}

struct Numbers {
  std::size_t count = 0;
  double least = 0, most = 0;
};

template <class Number>
std::optional<Numbers> range_of(const std::optional<std::vector<Number>>& numbers) {
  if (!numbers) return std::nullopt;
  Numbers range{numbers->size(), 0, 0};
  if (numbers->empty()) return range;
  const auto [least, most] = std::minmax_element(numbers->begin(), numbers->end());
  range.least = static_cast<double>(*least);
  range.most = static_cast<double>(*most);
  return range;
}

// The numbers of a column; `least` is the smallest that is one.
Numbers numbers_of(const Json& value, std::string_view key, bool differences,
                   const std::string& where) {
  require_text(value, key, where);
  const std::string text = text_at(value, key);
  const std::optional<Numbers> range =
      differences ? range_of(read_differences(text)) : range_of(read_column(text));
  if (!range || range->least < 0 || range->most > 9e15)
    expect(where, fmt::format("a column \"{}\" of numbers from 0", key));
  return *range;
}

void check_column(const Json& run, const ColumnRow& row, const std::string& where) {
  const std::string table = fmt::format("{}.{}", where, row.table);
  const Json& columns = object_of(run, row.table, where);
  const double rows = whole_of(columns, "count", kMostRows, table);
  const Numbers numbers = numbers_of(columns, row.column, row.differences, table);
  if (static_cast<double>(numbers.count) != rows) {
    throw Fault{fmt::format("expected {:.0f} rows of {}.{}, found {}", rows, table, row.column,
                            numbers.count)};
  }
  if (row.of.empty() || numbers.count == 0) return;
  const double end = count_of(run, row.of, where) + (row.from_one ? 1 : 0);
  if (numbers.most >= end) {
    throw Fault{fmt::format("expected {}.{} below {:.0f}, found {:.0f}", table, row.column, end,
                            numbers.most)};
  }
}

// A step function: "at" and the columns of its values have one length.
void check_strip(const Json& strip, std::span<const Json> values, const std::string& where) {
  const std::size_t points = numbers_of(strip, "at", true, where).count;
  for (const Json& value : values) {
    if (numbers_of(Object{{"value", value}}, "value", false, where).count != points)
      expect(where, fmt::format("{} values", points));
  }
}

void check_strips(const Json& run, const std::string& where) {
  const double ranks = count_of(run, "ranks", where);
  for (const Json& strip : list_of(run, "memory", where)) {
    const std::string here = where + ".memory";
    if (whole_of(strip, "rank", kMostRows, here) >= ranks) expect(here, "a rank that there is");
    require_text(strip, "label", here);
    const Array& kinds = list_of(strip, "kinds", here);
    const Array& bytes = list_of(strip, "bytes", here);
    if (kinds.size() != bytes.size()) expect(here, "a column for every kind");
    check_strip(strip, bytes, here);
  }
  for (const Json& strip : list_of(run, "links", where)) {
    const std::string here = where + ".links";
    require_text(strip, "name", here);
    require_time(strip, "bandwidth_bytes_per_s", here);
    require_text(strip, "rate", here);
    check_strip(strip, std::array{*find(strip, "rate")}, here);
  }
}

void check_lists(const Json& run, const std::string& where) {
  for (const Json& text : list_of(run, "texts", where))
    if (!std::holds_alternative<std::string>(text.data)) expect(where + ".texts", "texts alone");
  for (const Json& kind : list_of(run, "kinds", where)) {
    require_text(kind, "name", where + ".kinds");
    require_text(kind, "group", where + ".kinds");
  }
  const Array& ranks = list_of(run, "ranks", where);
  for (const Json& rank : ranks) {
    require_text(rank, "label", where + ".ranks");
    whole_of(rank, "devices", 1e9, where + ".ranks");
  }
  for (const Json& track : list_of(run, "tracks", where)) {
    const std::string here = where + ".tracks";
    require_text(track, "label", here);
    require_text(track, "stream", here);
    if (whole_of(track, "rank", kMostRows, here) >= static_cast<double>(ranks.size()))
      expect(here, "a rank that there is");
  }
}

void check_run(const Json& run, const std::string& where) {
  for (const char* key : {"name", "kind", "command"}) require_text(run, key, where);
  object_of(run, "summary", where);
  require_time(run, "step_s", where);
  require_time(run, "tick_s", where);
  whole_of(run, "slices_left_out", 1e15, where);
  check_lists(run, where);
  for (const ColumnRow& row : kColumns) check_column(run, row, where);
  check_strips(run, where);
}

// Line and column of a byte of the text.
SourcePos position(const std::shared_ptr<const Source>& source, std::size_t at) {
  const std::string_view before = std::string_view(source->text).substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column = last == std::string_view::npos ? at : at - last - 1;
  return {source, static_cast<int>(line) + 1, static_cast<int>(column) + 1, 1};
}

class Reading {
 public:
  Reading(std::string file, std::vector<Problem>& problems)
      : source_(std::make_shared<Source>(Source{std::move(file), {}})), problems_(problems) {}

  Array read() {
    try {
      auto source = std::make_shared<Source>(*source_);
      source->text = read_file(source_->name, kLargestPage);
      source_ = source;
    } catch (const std::runtime_error& error) {
      const std::string why = error.what();
      const std::string before = source_->name + ": ";
      return refuse(why.starts_with(before) ? why.substr(before.size()) : why);
    }
    const std::string_view text = source_->text;
    const std::size_t opens = text.find(kOpens);
    if (opens == std::string_view::npos)
      return refuse("expected a page that shardsim wrote, found no data in it");
    const std::size_t from = opens + kOpens.size();
    const std::size_t to = text.find(kCloses, from);
    if (to == std::string_view::npos)
      return refuse(
          "expected the end of the page's data, found the end of the file: it is cut off");
    ParsedJson parsed = parse_json(text.substr(from, to - from));
    if (!parsed.error.empty()) {
      problems_.push_back(
          {position(source_, std::min(from + parsed.at, to)), printable(parsed.error), ""});
      return {};
    }
    return runs_of(parsed.value);
  }

 private:
  Array refuse(std::string message, std::string hint = "") {
    problems_.push_back({{source_, 0, 0, 1}, std::move(message), std::move(hint)});
    return {};
  }

  Array runs_of(Json& data) {
    const std::string schema = text_at(data, "schema");
    if (schema != kPageSchema) {
      return refuse(fmt::format("expected data of the version {}, found {}", kPageSchema,
                                schema.empty() ? "none" : in_quotes(printable(schema))),
                    "another version of shardsim made it: run it again");
    }
    try {
      const Array& runs = list_of(data, "runs", "the page");
      for (std::size_t i = 0; i < runs.size(); ++i) check_run(runs[i], fmt::format("runs[{}]", i));
      if (runs.empty()) expect("the page", "a run or schedule");
      return runs;
    } catch (const Fault& fault) {
      return refuse(fault.message);
    }
  }

  std::shared_ptr<const Source> source_;
  std::vector<Problem>& problems_;
};

}  // namespace

Array read_page(const std::string& path, std::vector<Problem>& problems) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    problems.push_back(
        {argument_pos("compare", path), "expected a directory or page, found none", ""});
    return {};
  }
  if (!fs::is_directory(path, ignored)) return Reading(path, problems).read();
  const std::string page = (fs::path(path) / "timeline.html").string();
  if (!fs::exists(page, ignored)) {
    problems.push_back({argument_pos("compare", path),
                        "expected the output directory of a run, found no timeline.html in it",
                        fmt::format("shardsim run FILE --out {} writes one", printable(path))});
    return {};
  }
  return Reading(page, problems).read();
}

}  // namespace shardsim
