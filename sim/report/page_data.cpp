#include "report/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/columns.h"
#include "report/page_strips.h"
#include "report/page_ticks.h"
#include "report/slice_detail.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostSlices = 300'000;

// Texts that many rows name.
class Texts {
 public:
  std::uint64_t number(const std::string& text) {
    const auto [at, fresh] = numbers_.try_emplace(text, list_.size());
    if (fresh) list_.emplace_back(text);
    return at->second;
  }
  Array take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  Array list_;
};

// 0 for absent, which is any number below 0 or kNoSlice.
std::uint64_t or_none(int number) {
  return number < 0 ? 0 : static_cast<std::uint64_t>(number) + 1;
}
std::int64_t slice_or_none(std::uint32_t slice) {
  return slice == kNoSlice ? 0 : std::int64_t{slice} + 1;
}
std::uint64_t natural(int number) {
  return static_cast<std::uint64_t>(std::max(0, number));
}

Object table(std::size_t count) {
  return {{"count", static_cast<std::int64_t>(count)}};
}

// Rows as columns: for each row one number from `value`.
template <class Made, class Rows, class Value>
void add_column(Object& table, const char* name, const Rows& rows, Value value) {
  Made column;
  for (const auto& row : rows) column.add(value(row));
  table.emplace_back(name, column.text());
}
template <class Rows, class Value>
void plain(Object& table, const char* name, const Rows& rows, Value value) {
  add_column<Column>(table, name, rows, value);
}
template <class Rows, class Value>
void differences(Object& table, const char* name, const Rows& rows, Value value) {
  add_column<DifferenceColumn>(table, name, rows, value);
}

// begin and length of anything that has both ends.
template <class Rows>
void add_times(Object& table, const Rows& rows, const Ticks& ticks) {
  differences(table, "begin", rows, [&](const auto& row) { return ticks.at(row.begin); });
  plain(table, "length", rows, [&](const auto& row) { return ticks.length(row.begin, row.end); });
}

Array kind_list(const Slices& made) {
  Array kinds;
  for (const SliceKind& kind : made.kinds)
    kinds.push_back(Object{{"name", kind.name}, {"group", std::string(to_text(kind.group))}});
  return kinds;
}

Array rank_list(const Slices& made) {
  Array ranks;
  for (const SliceRank& rank : made.ranks)
    ranks.push_back(Object{{"label", rank.label}, {"devices", rank.devices}});
  return ranks;
}

Array track_list(const Slices& made) {
  Array tracks;
  for (const SliceTrack& track : made.tracks) {
    tracks.push_back(
        Object{{"rank", track.rank}, {"label", track.label}, {"stream", track.stream}});
  }
  return tracks;
}

Object origin_table(const Slices& made, Texts& texts) {
  Object origins = table(made.origins.size());
  plain(origins, "name", made.origins, [&](const auto& o) { return texts.number(o.name); });
  plain(origins, "kind", made.origins, [](const auto& o) { return std::uint64_t{o.kind}; });
  plain(origins, "layer", made.origins, [](const auto& o) { return or_none(o.layer); });
  plain(origins, "bytes", made.origins,
        [](const auto& o) { return static_cast<std::uint64_t>(std::llround(o.bytes / Bytes{1})); });
  plain(origins, "links", made.origins,
        [&](const auto& o) { return o.links.empty() ? 0 : texts.number(o.links) + 1; });
  return origins;
}

Object slice_table(const Slices& made, const Ticks& ticks) {
  Object slices = table(made.slices.size());
  plain(slices, "track", made.slices, [](const auto& s) { return std::uint64_t{s.track}; });
  add_times(slices, made.slices, ticks);
  differences(slices, "origin", made.slices, [](const auto& s) { return std::int64_t{s.origin}; });
  plain(slices, "microbatch", made.slices, [](const auto& s) { return or_none(s.microbatch); });
  plain(slices, "stage", made.slices, [](const auto& s) { return natural(s.stage); });
  plain(slices, "chunk", made.slices, [](const auto& s) { return natural(s.chunk); });
  differences(slices, "cause", made.slices, [](const auto& s) { return slice_or_none(s.cause); });
  plain(slices, "critical", made.slices, [](const auto& s) { return s.critical ? 1u : 0u; });
  return slices;
}

Object arrow_table(const Slices& made) {
  Object arrows = table(made.arrows.size());
  differences(arrows, "from", made.arrows, [](const auto& a) { return std::int64_t{a.from}; });
  differences(arrows, "to", made.arrows, [](const auto& a) { return std::int64_t{a.to}; });
  return arrows;
}

Object bubble_table(const Slices& made, const Ticks& ticks, Texts& texts) {
  Object bubbles = table(made.bubbles.size());
  plain(bubbles, "rank", made.bubbles, [](const auto& b) { return natural(b.rank); });
  add_times(bubbles, made.bubbles, ticks);
  plain(bubbles, "text", made.bubbles, [&](const auto& b) { return texts.number(b.text); });
  differences(bubbles, "cause", made.bubbles, [](const auto& b) { return slice_or_none(b.cause); });
  return bubbles;
}

Object cell_table(const Slices& made, const Ticks& ticks, Texts& texts) {
  const auto& rows = made.cells;
  const PipelineWork none{.letter = 0, .microbatch = -1, .stage = 0, .chunk = 0};
  const auto second = [&](const PipelineCell& c) { return c.second.value_or(none); };
  const auto code = [&](const PipelineWork& w) { return texts.number(std::string(1, w.letter)); };
  Object cells = table(rows.size());
  plain(cells, "rank", rows, [](const auto& c) { return natural(c.rank); });
  add_times(cells, rows, ticks);
  plain(cells, "code", rows, [&](const auto& c) { return code(c.work); });
  plain(cells, "microbatch", rows, [](const auto& c) { return natural(c.work.microbatch); });
  plain(cells, "stage", rows, [](const auto& c) { return natural(c.work.stage); });
  plain(cells, "chunk", rows, [](const auto& c) { return natural(c.work.chunk); });
  plain(cells, "second_code", rows,
        [&](const auto& c) { return c.second ? code(*c.second) + 1 : 0; });
  plain(cells, "second_microbatch", rows,
        [&](const auto& c) { return natural(second(c).microbatch); });
  plain(cells, "second_stage", rows, [&](const auto& c) { return natural(second(c).stage); });
  plain(cells, "second_chunk", rows, [&](const auto& c) { return natural(second(c).chunk); });
  return cells;
}

// What runs and schedules have in common.
Object page_part(const std::string& name, const char* kind, const std::string& command,
                 Json summary, const Detail& detail) {
  const Slices& made = detail.shown;
  const Ticks ticks(made.end);
  Texts texts;
  Object origins = origin_table(made, texts), bubbles = bubble_table(made, ticks, texts),
         cells = cell_table(made, ticks, texts);
  return Object{{"name", name},
                {"kind", kind},
                {"command", command},
                {"summary", std::move(summary)},
                {"step_s", made.end / Seconds{1}},
                {"tick_s", ticks.tick_s()},
                {"slices_left_out", static_cast<std::int64_t>(detail.slices_left_out)},
                {"texts", texts.take()},
                {"kinds", kind_list(made)},
                {"ranks", rank_list(made)},
                {"tracks", track_list(made)},
                {"origins", std::move(origins)},
                {"slices", slice_table(made, ticks)},
                {"arrows", arrow_table(made)},
                {"bubbles", std::move(bubbles)},
                {"cells", std::move(cells)}};
}

// A summary without what the page has otherwise: with its first collectives, and without the order
// of every rank, which its cells are.
Json cut_summary(Json summary) {
  for (auto& [key, value] : std::get<Object>(summary.data)) {
    if (key == "collectives") {
      Array& all = std::get<Array>(value.data);
      if (all.size() > kMostCollectivesShown) all.resize(kMostCollectivesShown);
    } else if (key == "ranks") {
      for (Json& rank : std::get<Array>(value.data))
        std::erase_if(std::get<Object>(rank.data),
                      [](const auto& one) { return one.first == "order"; });
    }
  }
  return summary;
}

}  // namespace

Object page_run(const Run& run, const Metrics& metrics, Json summary, const std::string& command) {
  const Detail detail = with_detail(slices_of(run), kMostSlices);
  Object page = page_part(run.name, "run", command, cut_summary(std::move(summary)), detail);
  const Ticks ticks(detail.shown.end);
  add_memory(run, metrics, detail.shown, ticks, page);
  add_links(run, detail.shown, ticks, page);
  return page;
}

Object page_run(const ScheduleRun& run, Json summary, const std::string& command) {
  const Detail detail = with_detail(slices_of(run), kMostSlices);
  Object page = page_part(run.kind, "schedule", command, cut_summary(std::move(summary)), detail);
  page.emplace_back("memory", Array{});
  page.emplace_back("links", Array{});
  page.emplace_back("links_left_out", 0);
  return page;
}

std::string data_block(const Json& json) {
  std::string text;
  append_json(text, json);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string page_json(const PageData& data) {
  return data_block(Object{{"schema", kPageSchema},
                           {"page", data.page},
                           {"title", data.title},
                           {"command", data.command},
                           {"runs", data.runs}});
}

}  // namespace shardsim
