#include "sweep/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/counted.h"
#include "base/csv.h"
#include "base/problem.h"
#include "base/units.h"
#include "report/reports.h"
#include "sweep/board.h"
#include "sweep/constraints.h"
#include "sweep/rows.h"

namespace shardsim {
namespace {

// Of an axis: as stored, and as a table shows it.
struct AxisCell {
  std::string value, text;
};

// A point of the table: what is shown of its row.
struct Ranked {
  double score = 0;
  PointResult result;
  std::vector<AxisCell> axes;
};

constexpr std::size_t kMostReasons = 500, kReasonsShown = 4;

// Points that say the same, but for how much memory they need.
struct Reason {
  std::uint64_t points = 0;
  std::optional<double> need;  // the least of it, over what there is
  std::string text;            // of the one that needs least
};

struct Standing {
  std::array<std::uint64_t, static_cast<std::size_t>(PointStatus::count)> counts = {};
  std::vector<Ranked> best;  // first best
  // Why points have no result: of the first so many different reasons.
  std::map<std::pair<PointStatus, std::string>, Reason> reasons;
};

void add_reason(const PointResult& result, Standing& out) {
  if (result.reason.empty()) return;
  // "fits_memory: needs 92.3 GiB of 74.51 GiB" is one reason, whatever is needed.
  std::string why = result.reason;
  std::optional<double> need;
  const std::string needs = ": " + memory_need_text(result);
  if (why.ends_with(needs) && needs.size() > 2) {
    need = memory_need(result);
    why.resize(why.size() - needs.size());
  }
  const std::pair key{result.status, why};
  if (out.reasons.size() >= kMostReasons && !out.reasons.contains(key)) return;
  Reason& reason = out.reasons[key];
  if (++reason.points > 1 && (!need || reason.need <= need)) return;
  reason.need = need;
  reason.text = result.reason;
}

std::string fact(const Store& store, const std::string& key) {
  const auto at = store.facts().find(key);
  return at == store.facts().end() ? "" : at->second;
}

std::vector<std::string> axis_columns(const Store& store) {
  std::vector<std::string> names;
  for (const StoreColumn& column : store.columns())
    if (column.name.starts_with("axis_")) names.push_back(column.name);
  return names;
}

Standing standing_of(const Store& store) {
  const std::size_t top =
      static_cast<std::size_t>(std::max(1, parse_count(fact(store, "top"), 1, 1'000'000).value));
  const Objective objective = objective_of(store);
  const ResultReader reader(store.columns());
  Standing out;
  store.each({}, [&](const Row& row) {
    PointResult result = reader.read(row);
    ++out.counts[static_cast<std::size_t>(result.status)];
    add_reason(result, out);
    const auto score = score_of(objective, result, ResultFigure::step_time);
    if (result.status != PointStatus::ok || !score) return;
    if (out.best.size() >= top && *score >= out.best.back().score) return;
    Ranked one{*score, std::move(result), {}};
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string& name = store.columns()[i].name;
      if (name.starts_with("axis_"))
        one.axes.push_back({datum_text(row[i]), axis_text(name, row[i])});
    }
    const auto at = std::upper_bound(out.best.begin(), out.best.end(), one.score,
                                     [](double s, const Ranked& r) { return s < r.score; });
    out.best.insert(at, std::move(one));
    if (out.best.size() > top) out.best.pop_back();
  });
  return out;
}

std::string time_text(const std::optional<double>& time_s) {
  return time_s ? to_text(Seconds{*time_s}) : "-";
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string objective_text(Objective objective, const PointResult& result) {
  const auto figure =
      result[objective == Objective::cost_per_token ? ResultFigure::cost_per_token
                                                    : ResultFigure::tokens_per_s_per_chip];
  return figure ? fmt::format("{:.5g}", *figure) : "-";
}

// "9.018 GiB"; "92.3 GiB, too much" when the chip has less.
std::string memory_text(const PointResult& result) {
  const auto peak = result[ResultFigure::peak_memory];
  if (!peak) return "-";
  return to_text(Bytes{*peak}) +
         (result[ResultFigure::fits_memory].value_or(1) == 0 ? ", too much" : "");
}

// Whether the best points have one value of this axis: it is told once, outside their table.
bool is_same(const Standing& standing, std::size_t axis) {
  if (standing.best.size() < 2) return false;
  return std::all_of(standing.best.begin(), standing.best.end(), [&](const Ranked& one) {
    return one.axes[axis].value == standing.best.front().axes[axis].value;
  });
}

// "chips 1024, size 128".
std::string same_text(const Store& store, const Standing& standing) {
  const std::vector<std::string> names = axis_columns(store);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_same(standing, i))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis_label(names[i]),
                          standing.best.front().axes[i].text);
  }
  return text;
}

Rows table_of(const Store& store, const Standing& standing) {
  const Objective objective = objective_of(store);
  const std::vector<std::string> names = axis_columns(store);
  Rows rows = {{"point"}};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!is_same(standing, i)) rows.front().push_back(axis_label(names[i]));
  if (objective != Objective::step_time) rows.front().emplace_back(to_text(objective));
  for (const char* name : {"step", "compute", "exposed", "bubble", "mfu", "memory"})
    rows.front().emplace_back(name);
  for (const Ranked& one : standing.best) {
    const PointResult& r = one.result;
    std::vector<std::string> row = {fmt::format("{}", r.point)};
    for (std::size_t i = 0; i < one.axes.size(); ++i)
      if (!is_same(standing, i)) row.push_back(one.axes[i].text);
    if (objective != Objective::step_time) row.push_back(objective_text(objective, r));
    row.push_back(time_text(r[ResultFigure::step_time]));
    row.push_back(time_text(r[ResultFigure::compute]));
    row.push_back(time_text(r[ResultFigure::exposed]));
    row.push_back(time_text(r[ResultFigure::bubble]));
    row.push_back(share_text(r[ResultFigure::mfu]));
    row.push_back(memory_text(r));
    rows.push_back(std::move(row));
  }
  return rows;
}

// Parts of a step on the rank that ends last; they add up to it.
constexpr std::array kParts = {std::pair{ResultFigure::compute, "computing"},
                               std::pair{ResultFigure::exposed, "exposed communication"},
                               std::pair{ResultFigure::bubble, "waiting for other ranks"},
                               std::pair{ResultFigure::rest, "idle"}};

constexpr double kRounding = 1e-9;  // of a step: no difference

// "tp 8 instead of 4, recompute none instead of full"
std::string differences_text(const Store& store, const Ranked& winner, const Ranked& second) {
  const std::vector<std::string> names = axis_columns(store);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (winner.axes[i].value == second.axes[i].value) continue;
    text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", axis_label(names[i]),
                        winner.axes[i].text, second.axes[i].text);
  }
  return text;
}

// What an objective compares, of a step or a part of it.
std::string score_text(Objective objective, double score) {
  if (objective == Objective::cost_per_token)
    return fmt::format("{:.4g} per million tokens", score * 1e6);
  return to_text(Seconds{score}) +
         (objective == Objective::tokens_per_s_per_chip ? " of a chip per token" : "");
}

// "Point 7 takes 1.2 s less than point 3: computing -0.1 s, exposed communication -1.1 s; it has
// tp 8 instead of 4."
std::string why_text(const Store& store, const Standing& standing) {
  if (standing.best.size() < 2) return "";
  const Objective objective = objective_of(store);
  const PointResult& winner = standing.best[0].result;
  const PointResult& second = standing.best[1].result;
  const auto change = [&](ResultFigure figure) {
    return score_of(objective, winner, figure).value_or(0) -
           score_of(objective, second, figure).value_or(0);
  };
  const double all = change(ResultFigure::step_time);
  const double none = kRounding * score_of(objective, winner, ResultFigure::step_time).value_or(0);
  const char* verb = objective == Objective::cost_per_token ? "costs" : "takes";
  std::string text =
      std::fabs(all) <= none
          ? fmt::format("point {} {} as much as point {}", winner.point, verb, second.point)
          : fmt::format("point {} {} {} {} than point {}", winner.point, verb,
                        score_text(objective, std::fabs(all)), all < 0 ? "less" : "more",
                        second.point);
  std::string parts;
  for (const auto& [figure, name] : kParts) {
    const double by = change(figure);
    if (std::fabs(by) <= none) continue;
    const std::string amount = objective == Objective::cost_per_token
                                   ? fmt::format("{:.4g}", std::fabs(by) * 1e6)
                                   : to_text(Seconds{std::fabs(by)});
    parts += fmt::format("{}{} {}{}", parts.empty() ? "" : ", ", name, by < 0 ? "-" : "+", amount);
  }
  if (!parts.empty()) text += ": " + parts;
  const std::string differences = differences_text(store, standing.best[0], standing.best[1]);
  if (!differences.empty()) text += "; it has " + differences;
  return "why: " + text + "\n";
}

std::string counts_text(const Standing& standing) {
  std::string text;
  for (std::size_t i = 0; i < standing.counts.size(); ++i) {
    if (standing.counts[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(standing.counts[i]),
                        to_text(static_cast<PointStatus>(i)));
  }
  return text;
}

// The commonest, a line each.
std::string reasons_text(const Standing& standing) {
  std::vector<std::pair<std::uint64_t, std::string>> lines;
  for (const auto& [why, reason] : standing.reasons) {
    const bool several = reason.need && reason.points > 1;
    lines.emplace_back(reason.points,
                       fmt::format("{:<11} {}{}", to_text(why.first), printable(reason.text),
                                   several ? " (who needs least)" : ""));
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kReasonsShown); ++i)
    text += fmt::format("  {:>9} {}\n", grouped(lines[i].first), lines[i].second);
  if (lines.size() > kReasonsShown) text += "            … (column reason of the export has all)\n";
  return text;
}

constexpr std::size_t kPiece = 1 << 16;  // bytes written at once

}  // namespace

Objective objective_of(const Store& store) {
  for (const Objective one : {Objective::tokens_per_s_per_chip, Objective::cost_per_token})
    if (fact(store, "objective") == to_text(one)) return one;
  return Objective::step_time;
}

std::vector<std::string> exported_columns(const Store& store) {
  std::vector<std::string> names;
  for (const StoreColumn& column : store.columns())
    if (column.name != "run_yaml" && column.name != "version") names.push_back(column.name);
  return names;
}

std::uint64_t points_of(const Store& store) {
  return static_cast<std::uint64_t>(
      parse_large_count(fact(store, "points"), 0, std::int64_t{1} << 53).value);
}

std::uint64_t open_points(const Store& store) {
  const Standing standing = standing_of(store);
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < standing.counts.size(); ++i)
    if (static_cast<PointStatus>(i) != PointStatus::screened) done += standing.counts[i];
  const std::uint64_t all = points_of(store);
  return all - std::min(done, all);
}

std::uint64_t points_with(PointStatus status, const Store& store) {
  std::uint64_t count = 0;
  const std::vector<std::string> columns = {"point", "status"};
  store.each(columns, [&](const Row& row) {
    if (datum_text(row[1]) == to_text(status)) ++count;
  });
  return count;
}

SweepSummary summary_of(const Store& store) {
  const Standing standing = standing_of(store);
  return {fact(store, "name"),      fact(store, "objective"),  counts_text(standing),
          reasons_text(standing),   table_of(store, standing), same_text(store, standing),
          why_text(store, standing)};
}

namespace {

std::size_t width_of(const Rows& rows) {
  std::size_t whole = 0;
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    std::size_t width = 0;
    for (const auto& row : rows) width = std::max(width, row[column].size());
    whole += width + (column == 0 ? 0 : 2);
  }
  return whole;
}

// Leaves out parts of the step as far as the table is too wide; returns their names.
std::string narrowed(Rows& rows, std::size_t widest) {
  std::string left_out;
  for (const char* name : {"compute", "bubble", "exposed", "mfu"}) {
    if (width_of(rows) <= widest) break;
    // From the end: an axis may have that name.
    const auto& head = rows.front();
    const auto at = std::find(head.rbegin(), head.rend(), name);
    const auto column = head.rend() - at - 1;
    for (auto& row : rows) row.erase(row.begin() + column);
    left_out += (left_out.empty() ? "" : ", ") + std::string(name);
  }
  return left_out;
}

}  // namespace

std::string sweep_text(const Store& store, int widest) {
  SweepSummary summary = summary_of(store);
  std::string text =
      fmt::format("{}: {}\n{}", printable(summary.name), summary.counts, summary.reasons);
  if (summary.best.size() < 2)
    return text + "no point was replayed to its end and met all constraints\n";
  const std::string left_out =
      widest > 0 ? narrowed(summary.best, static_cast<std::size_t>(widest)) : "";
  text += fmt::format("\nbest by {}{}\n{}", summary.objective,
                      summary.same.empty() ? "" : "; all of them: " + printable(summary.same),
                      rows_text(summary.best));
  if (!left_out.empty()) text += fmt::format("(a wider terminal shows {}, too)\n", left_out);
  text += "\n" + summary.why;
  return text + fmt::format(
                    "next: shardsim sweep export {} --point {} > run.yaml; shardsim run run.yaml\n"
                    "      shardsim sweep report {} --html sweep.html   all points as a page\n",
                    store.path(), summary.best[1].front(), store.path());
}

Json sweep_json(const Store& store) {
  const Standing standing = standing_of(store);
  Object counts;
  for (std::size_t i = 0; i < standing.counts.size(); ++i)
    counts.emplace_back(std::string(to_text(static_cast<PointStatus>(i))),
                        static_cast<std::int64_t>(standing.counts[i]));
  const std::vector<std::string> axes = axis_columns(store);
  Array best;
  for (const Ranked& one : standing.best) {
    Object point = {{"point", static_cast<std::int64_t>(one.result.point)}};
    for (std::size_t i = 0; i < axes.size(); ++i) point.emplace_back(axes[i], one.axes[i].value);
    const auto rows = figure_rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& figure = one.result.figures[i];
      point.emplace_back(std::string(rows[i].name), figure ? Json(*figure) : Json());
    }
    best.push_back(std::move(point));
  }
  return Object{{"schema", kSchema},
                {"name", fact(store, "name")},
                {"db", store.path()},
                {"objective", fact(store, "objective")},
                {"points", std::move(counts)},
                {"best", std::move(best)},
                {"why", why_text(store, standing)}};
}

void export_csv(const Store& store, const std::function<void(const std::string&)>& write) {
  const std::vector<std::string> names = exported_columns(store);
  std::string text = fmt::format("{}\n", fmt::join(names, ","));
  store.each(names, [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_field(datum_text(row[i]));
    }
    text += '\n';
    if (text.size() < kPiece) return;
    write(text);
    text.clear();
  });
  write(text);
}

void export_json(const Store& store, const std::function<void(const std::string&)>& write) {
  const std::vector<std::string> names = exported_columns(store);
  std::string text = "[";
  bool first = true;
  store.each(names, [&](const Row& row) {
    Object object;
    for (std::size_t i = 0; i < row.size(); ++i) object.emplace_back(names[i], datum_json(row[i]));
    text += first ? "\n" : ",\n";
    first = false;
    append_json(text, Json(std::move(object)));
    if (text.size() < kPiece) return;
    write(text);
    text.clear();
  });
  write(text + "\n]\n");
}

namespace {

// A comment that heads the run of a point without a result; nothing with one.
std::string why_no_result(const std::string& point, PointStatus status, const std::string& reason) {
  const auto comment = [&](std::string_view is, std::string_view next) {
    return fmt::format("# point {} {}{}: {}\n", point, is,
                       reason.empty() ? "" : fmt::format(" ({})", printable(reason)), next);
  };
  const std::string_view replayed_anyway = "shardsim run replays it all the same";
  switch (status) {
    case PointStatus::infeasible:
      return comment("is infeasible", replayed_anyway);
    case PointStatus::invalid:
      return comment("is invalid", "shardsim check says what is wrong with it");
    case PointStatus::failed:
      return comment("failed", "shardsim run tries it again");
    case PointStatus::proof:
      return comment("was not replayed, a bound of it is above what the best take",
                     replayed_anyway);
    case PointStatus::choice:
      return comment("was not replayed, it is not among the share of keep", replayed_anyway);
    case PointStatus::screened:
      return comment("was screened and not replayed yet", "shardsim run replays it");
    default:
      return "";
  }
}

// Why a number has no row, as far as the database knows.
std::string why_no_row(const Store& store) {
  const std::string shard = fact(store, "shard");
  if (!shard.ends_with("/1"))
    return fmt::format("this is shard {}: other points are in the databases of the others", shard);
  if (fact(store, "finished") != "1") return "not all points are done: sweep FILE --resume";
  return "what where, derive or sample leaves out is no point: sweep FILE --plan counts it, "
         "sweep export DB --csv lists the points";
}

}  // namespace

std::string run_of_point(const Store& store, const std::string& point) {
  const Parsed<std::int64_t> number = parse_large_count(point, 0, std::int64_t{1} << 53);
  const SourcePos pos = argument_pos("--point", point);
  if (!number) throw ConfigError({{pos, number.error, ""}});
  std::optional<std::string> run;
  const std::vector<std::string> columns = {"point", "status", "reason", "run_yaml"};
  store.each(columns, [&](const Row& row) {
    if (std::get<std::int64_t>(row[0]) != number.value) return;
    const auto status = point_status(datum_text(row[1]));
    run = why_no_result(point, status.value_or(PointStatus::ok), datum_text(row[2])) +
          datum_text(row[3]);
  });
  if (run) return *run;
  throw ConfigError({{pos, fmt::format("expected a point of {}, found {}", store.path(), point),
                      why_no_row(store)}});
}

}  // namespace shardsim
