#include "sweep/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "report/page.h"
#include "report/page_content.h"
#include "report/page_data.h"
#include "sweep/board.h"
#include "sweep/rows.h"
#include "sweep/summary.h"

namespace shardsim {
namespace {

constexpr const char* kSweepPageSchema = "shardsim-sweep-page-1";

struct Place {
  double score = std::numeric_limits<double>::infinity();
  std::int64_t point = 0;
};

// Of all points of the database those that the page shows.
struct Shown {
  std::size_t of = 0;
  std::set<std::int64_t> points;
};

Shown shown_points(const Store& store) {
  const ResultReader reader(store.columns());
  const Objective objective = objective_of(store);
  std::vector<Place> places;
  store.each({}, [&](const Row& row) {
    const PointResult result = reader.read(row);
    Place place{.point = static_cast<std::int64_t>(result.point)};
    const auto score = score_of(objective, result, ResultFigure::step_time);
    if (result.status == PointStatus::ok && score) place.score = *score;
    places.push_back(place);
  });
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.score < b.score; });
  Shown shown{places.size(), {}};
  for (std::size_t i = 0; i < std::min(places.size(), kMostPagePoints); ++i)
    shown.points.insert(places[i].point);
  return shown;
}

// Texts as numbers of their lines: the runs of a sweep differ in few.
class LineTable {
 public:
  Array numbers(std::string_view text) {
    Array result;
    while (!text.empty()) {
      const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
      result.emplace_back(number(std::string(text.substr(0, length))));
      text.remove_prefix(length);
    }
    return result;
  }
  Array lines() && { return std::move(lines_); }

 private:
  std::int64_t number(const std::string& line) {
    const auto [at, is_new] = known_.emplace(line, static_cast<std::int64_t>(lines_.size()));
    if (is_new) lines_.emplace_back(line);
    return at->second;
  }

  std::map<std::string, std::int64_t> known_;
  Array lines_;
};

std::string static_content(const SweepSummary& summary, std::size_t points) {
  std::string html = heading(summary.name) + "<p>" + html_text(summary.counts) + "</p>\n";
  if (points > kMostPagePoints) {
    html += fmt::format(
        "<p class=\"note\">Of {} points this page has {}: the best, then those with the lowest "
        "numbers.</p>\n",
        points, kMostPagePoints);
  }
  html += table_content("Best by " + summary.objective, summary.best);
  if (!summary.same.empty()) html += "<p>All of them: " + html_text(summary.same) + "</p>\n";
  if (!summary.why.empty())
    html += "<p>" + html_text(summary.why.substr(0, summary.why.size() - 1)) + "</p>\n";
  return html;
}

}  // namespace

std::string sweep_page(const Store& store) {
  const SweepSummary summary = summary_of(store);
  const Shown shown = shown_points(store);
  std::vector<std::string> columns = exported_columns(store);
  Array names(columns.begin(), columns.end());
  columns.emplace_back("run_yaml");
  Array rows, runs;
  LineTable lines;
  store.each(columns, [&](const Row& row) {
    if (!shown.points.contains(std::get<std::int64_t>(row.front()))) return;
    Array cells;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) cells.push_back(datum_json(row[i]));
    rows.emplace_back(std::move(cells));
    runs.emplace_back(lines.numbers(datum_text(row.back())));
  });
  const Json data = Object{{"schema", kSweepPageSchema},     {"db", store.path()},
                           {"objective", summary.objective}, {"columns", std::move(names)},
                           {"rows", std::move(rows)},        {"lines", std::move(lines).lines()},
                           {"runs", std::move(runs)}};
  return page_html("sweep", summary.name, static_content(summary, shown.of), data_block(data));
}

}  // namespace shardsim
