#include "report/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/columns.h"
#include "report/link_rates.h"
#include "report/slice_detail.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostSlices = 1'000'000;
constexpr std::size_t kMostPoints = 2'000;  // of a step function
constexpr std::size_t kMostLinks = 24;

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

// The clock of a page: 2^32 ticks in a step.
class Ticks {
 public:
  explicit Ticks(Seconds step) : tick_(step > Seconds{} ? step / kTicks : Seconds{1}) {}

  std::int64_t at(Seconds time) const { return std::llround(time / tick_); }
  std::uint64_t length(Seconds begin, Seconds end) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, at(end) - at(begin)));
  }
  double tick_s() const { return tick_ / Seconds{1}; }

 private:
  static constexpr double kTicks = 4294967296.0;
  Seconds tick_;
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
        Object{{"rank", track.rank},
               {"label", track.label},
               {"stream", track.lane == 0 ? track.stream
                                          : fmt::format("{} {}", track.stream, track.lane + 1)}});
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

// At most about kMostPoints of a step function: of each stretch of time the highest point and the
// last one. `height` says how high a point is.
template <class Point, class Height>
std::vector<Point> few_points(std::vector<Point> points, Seconds step, Height height) {
  if (points.size() <= kMostPoints) return points;
  const Seconds stretch = step * (2.0 / kMostPoints);
  std::vector<Point> kept;
  for (std::size_t i = 0; i < points.size();) {
    const double number = std::floor(points[i].at / stretch);
    std::size_t highest = i, last = i;
    for (; i < points.size() && std::floor(points[i].at / stretch) == number; ++i) {
      last = i;
      if (height(points[i]) > height(points[highest])) highest = i;
    }
    kept.push_back(points[highest]);
    if (last != highest) kept.push_back(points[last]);
  }
  return kept;
}

Array memory_list(const Run& run, const Metrics& metrics, const Slices& made, const Ticks& ticks) {
  Array ranks;
  for (std::size_t rank = 0; rank < metrics.memory.size(); ++rank) {
    const std::vector<MemoryPoint> points =
        few_points(memory_timeline(run.graph, run.timeline, metrics.memory[rank].device), made.end,
                   [](const MemoryPoint& point) { return total(point.split); });
    if (points.empty()) continue;
    Array kinds, bytes;
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
      kinds.emplace_back(std::string(to_text(static_cast<MemoryKind>(kind))));
      Column column;
      for (const MemoryPoint& point : points) {
        column.add(static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, std::llround(point.split[kind] / Bytes{1}))));
      }
      bytes.emplace_back(column.text());
    }
    DifferenceColumn at;
    for (const MemoryPoint& point : points) at.add(ticks.at(point.at));
    const Bytes limit = run.workload ? run.workload->memory : Bytes{};
    ranks.push_back(
        Object{{"rank", static_cast<int>(rank)},
               {"label", made.ranks[rank].label},
               {"limit_bytes", limit > Bytes{} ? Json(limit / Bytes{1}) : Json(nullptr)},
               {"kinds", std::move(kinds)},
               {"at", at.text()},
               {"bytes", std::move(bytes)}});
  }
  return ranks;
}

// The links that carried anything, busiest first.
std::vector<std::uint32_t> busy_links(const Run& run) {
  std::vector<Seconds> busy(run.graph.links.size());
  for (const Op& op : run.graph.ops) {
    if (op.kind != OpKind::transfer) continue;
    for (const std::uint32_t link : run.graph.route(op.route))
      busy[link] += op.bytes / run.graph.links[link].bandwidth;
  }
  std::vector<std::uint32_t> links(busy.size());
  std::iota(links.begin(), links.end(), 0u);
  std::erase_if(links, [&](std::uint32_t link) { return busy[link] == Seconds{}; });
  std::stable_sort(links.begin(), links.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return busy[a] > busy[b]; });
  return links;
}

void add_links(const Run& run, const Slices& made, const Ticks& ticks, Object& page) {
  std::vector<std::uint32_t> links = busy_links(run);
  const std::size_t all = links.size();
  links.resize(std::min(all, kMostLinks));
  std::vector<std::vector<RatePoint>> rates = link_rates(run, links);
  Array list;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const NetLink& link = run.graph.links[links[i]];
    DifferenceColumn at;
    Column rate;
    for (const RatePoint& point :
         few_points(std::move(rates[i]), made.end, [](const RatePoint& p) { return p.rate; })) {
      at.add(ticks.at(point.at));
      rate.add(static_cast<std::uint64_t>(std::llround(1000 * (point.rate / link.bandwidth))));
    }
    list.push_back(Object{{"name", link.name},
                          {"bandwidth_bytes_per_s", link.bandwidth / BytesPerSec{1}},
                          {"at", at.text()},
                          {"rate", rate.text()}});
  }
  page.emplace_back("links", std::move(list));
  page.emplace_back("links_left_out", static_cast<std::int64_t>(all - links.size()));
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

// summary.json with its first collectives.
Json cut_summary(Json summary) {
  for (auto& [key, value] : std::get<Object>(summary.data)) {
    if (key != "collectives") continue;
    Array& all = std::get<Array>(value.data);
    if (all.size() > kMostCollectivesShown) all.resize(kMostCollectivesShown);
  }
  return summary;
}

}  // namespace

Object page_run(const Run& run, const Metrics& metrics, Json summary, const std::string& command) {
  const Detail detail = with_detail(slices_of(run), kMostSlices);
  Object page = page_part(run.name, "run", command, cut_summary(std::move(summary)), detail);
  const Ticks ticks(detail.shown.end);
  page.emplace_back("memory", memory_list(run, metrics, detail.shown, ticks));
  add_links(run, detail.shown, ticks, page);
  return page;
}

Object page_run(const ScheduleRun& run, Json summary, const std::string& command) {
  const Detail detail = with_detail(slices_of(run), kMostSlices);
  Object page = page_part(run.kind, "schedule", command, std::move(summary), detail);
  page.emplace_back("memory", Array{});
  page.emplace_back("links", Array{});
  page.emplace_back("links_left_out", 0);
  return page;
}

std::string page_json(const PageData& data) {
  std::string text;
  append_json(text, Object{{"schema", kPageSchema},
                           {"page", data.page},
                           {"title", data.title},
                           {"command", data.command},
                           {"runs", data.runs}});
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

}  // namespace shardsim
