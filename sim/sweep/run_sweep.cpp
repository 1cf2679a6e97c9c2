#include "sweep/run_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/must.h"
#include "base/problem.h"
#include "base/progress.h"
#include "base/version.h"
#include "replay/engine_process.h"
#include "sweep/board.h"
#include "sweep/result_bytes.h"
#include "sweep/rows.h"
#include "sweep/workers.h"

namespace shardsim {
namespace {

constexpr std::array<std::string_view, 5> kIdentity = {"fingerprint", "grain", "version", "shard",
                                                       "points"};

void run_as_is(const std::function<void()>& work) {
  work();
}

// One sweep under way.
class Execution {
 public:
  Execution(const SweepSpec& spec, const Candidates& candidates, const SweepOptions& options,
            const Simulate& simulate, const std::vector<std::uint64_t>& points, Store& store)
      : spec_(spec),
        candidates_(candidates),
        options_(options),
        evaluator_(spec, candidates, simulate),
        store_(store) {
    const auto count = static_cast<std::size_t>(options.shard.count);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool mine = i % count == static_cast<std::size_t>(options.shard.index);
      if (mine || needs_all()) entries_.push_back({.point = points[i], .mine = mine});
    }
  }

  void run() {
    load();
    const bool screens = spec_.search && spec_.search->screen;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (!entries_[i].known) open.push_back(i);
    carry_out(open, screens ? Depth::screen : Depth::replay, false);
    if (!screens) return;
    carry_out(replay_order(entries_, spec_.search->keep), Depth::replay, true);
    settle_all();
  }

 private:
  BoardEntry& entry_of(std::uint64_t point) {
    const auto at = std::lower_bound(
        entries_.begin(), entries_.end(), point,
        [](const BoardEntry& entry, std::uint64_t number) { return entry.point < number; });
    must(at != entries_.end() && at->point == point, "results are of points that were given");
    return *at;
  }

  // A share of all points is known when all are screened. Each shard does that, which is quick, and
  // replays and stores its own.
  bool needs_all() const { return spec_.search && spec_.search->screen && spec_.search->keep; }

  Objective objective() const {
    return spec_.search ? spec_.search->objective : Objective::step_time;
  }

  void note(const PointResult& result, BoardEntry& entry) const {
    entry.known = true;
    entry.status = result.status;
    entry.floor = score_of(objective(), result, ResultFigure::floor);
    entry.ideal = score_of(objective(), result, ResultFigure::bound);
    entry.score = score_of(objective(), result, ResultFigure::step_time);
  }

  // What an earlier process has done. Failed points are tried again, dropped ones judged anew.
  void load() {
    const ResultReader reader(store_.columns());
    store_.each({}, [&](const Row& row) {
      PointResult result = reader.read(row);
      if (result.status == PointStatus::failed && !result[ResultFigure::floor]) return;
      const bool again = result.status == PointStatus::proof ||
                         result.status == PointStatus::choice ||
                         result.status == PointStatus::failed;
      if (again) result.status = PointStatus::screened;
      note(result, entry_of(result.point));
    });
  }

  // Hands out entries in this order; `ends` stops at the first that cannot be among the best.
  void carry_out(const std::vector<std::size_t>& order, Depth depth, bool ends) {
    if (order.empty()) return;
    const auto jobs = std::min<std::size_t>(static_cast<std::size_t>(options_.jobs), order.size());
    Workers workers(
        static_cast<int>(jobs),
        [&](const PointTask& task) {
          return to_bytes(
              evaluator_.evaluate(task.point, static_cast<Depth>(task.kind), task.limit));
        },
        spec_.timeout, depth == Depth::replay ? with_engine_ready : run_as_is);
    Progress progress(depth == Depth::screen ? "points screened" : "points replayed", order.size(),
                      options_.quiet);
    Best best(spec_.search ? spec_.search->top : 1);
    for (const BoardEntry& entry : entries_)
      if (entry.status == PointStatus::ok && entry.score) best.add(*entry.score);
    std::size_t next = 0;
    std::uint64_t done = 0;
    std::set<std::uint64_t> under_way;
    const auto is_worse = [&](const BoardEntry& entry) {
      return ends && proven_worse(*entry.floor, best.last());
    };
    for (;;) {
      // What is given while there are too few of the best has no limit, and may take long.
      const bool unlimited = ends && best.last() == std::numeric_limits<double>::infinity();
      for (; workers.has_room(unlimited) && next < order.size(); ++next) {
        const BoardEntry& entry = entries_[order[next]];
        if (is_worse(entry)) break;
        if (ends && entry.ideal && proven_worse(*entry.ideal, best.last())) continue;
        workers.give({entry.point, static_cast<std::uint64_t>(depth), best.last()});
        under_way.insert(entry.point);
      }
      // Those under way that were given too early are not waited for.
      const auto in_vain = [&](std::uint64_t point) { return is_worse(entry_of(point)); };
      if (std::all_of(under_way.begin(), under_way.end(), in_vain)) return;
      const std::vector<PointDone> finished = workers.wait();
      for (const PointDone& one : finished) under_way.erase(one.task.point);
      keep(finished, best);
      progress.at(done += finished.size());
    }
  }

  void keep(const std::vector<PointDone>& finished, Best& best) {
    std::vector<Row> rows;
    for (const PointDone& one : finished) {
      BoardEntry& entry = entry_of(one.task.point);
      PointResult result = one.answer ? from_bytes(*one.answer) : failed(one);
      // A point that was lost in its replay keeps what its screening found.
      if (!one.answer && entry.floor) {
        store_.update({"point", "status", "reason"},
                      {{static_cast<std::int64_t>(result.point),
                        std::string(to_text(result.status)), result.reason}});
        entry.status = PointStatus::failed;
        continue;
      }
      note(result, entry);
      if (!entry.mine) continue;
      if (result.status == PointStatus::ok && entry.score) best.add(*entry.score);
      rows.push_back(row_of(spec_, candidates_.at(result.point), result));
    }
    store_.put(rows);
  }

  PointResult failed(const PointDone& one) const {
    PointResult result;
    result.point = one.task.point;
    result.reason = one.failure;
    result.run_yaml = run_yaml(run_of(spec_, candidates_.at(result.point)));
    return result;
  }

  void settle_all() {
    const Settled settled = settle(*spec_.search, entries_);
    write(settled.by_floor, &FigureRow::lowered);
    write(settled.by_ideal, &FigureRow::replayed);
    write(settled.by_choice, &FigureRow::replayed);
  }

  // What these have become; figures for which that holds are forgotten.
  void write(const std::vector<std::size_t>& changed, bool FigureRow::*forget) {
    std::vector<std::string> columns = {"point", "status", "reason"};
    for (const FigureRow& row : figure_rows())
      if (row.*forget) columns.emplace_back(row.name);
    std::vector<Row> rows;
    for (const std::size_t i : changed) {
      if (!entries_[i].mine) continue;
      Row row(columns.size());
      row[0] = static_cast<std::int64_t>(entries_[i].point);
      row[1] = std::string(to_text(entries_[i].status));
      rows.push_back(std::move(row));
    }
    store_.update(columns, rows);
  }

  const SweepSpec& spec_;
  const Candidates& candidates_;
  const SweepOptions& options_;
  Evaluator evaluator_;
  Store& store_;
  std::vector<BoardEntry> entries_;  // by point
};

}  // namespace

std::map<std::string, std::string> facts_of(const SweepSpec& spec, const PointList& list,
                                            const Shard& shard) {
  std::map<std::string, std::string> facts = {
      {"name", spec.name},
      {"fingerprint", spec.fingerprint},
      {"version", kVersion},
      {"grain", std::string(to_text(spec.grain))},
      {"points", fmt::format("{}", list.points.size())},
      {"shard", fmt::format("{}/{}", shard.index, shard.count)},
      {"objective",
       std::string(to_text(spec.search ? spec.search->objective : Objective::step_time))},
      {"top", fmt::format("{}", spec.search ? spec.search->top : 10)},
      {"finished", "0"}};
  return facts;
}

void require_same(const Store& store, const std::map<std::string, std::string>& facts) {
  for (const std::string_view key : kIdentity) {
    const auto there = store.facts().find(std::string(key));
    const std::string found = there == store.facts().end() ? "none" : there->second;
    const std::string& wanted = facts.at(std::string(key));
    if (found == wanted) continue;
    throw ConfigError(
        {{argument_pos("--db", store.path()),
          key == "fingerprint"
              ? fmt::format("expected a database of this sweep, found one of another: \"{}\"",
                            printable(store.facts().at("name")))
              : fmt::format("expected {} {}, found {}", key, wanted, printable(found)),
          "choose another --db"}});
  }
}

Store run_sweep(const SweepSpec& spec, const Candidates& candidates, const PointList& list,
                const SweepOptions& options, const Simulate& simulate) {
  const auto facts = facts_of(spec, list, options.shard);
  Store store = options.resume ? Store::open(options.db, true)
                               : Store::create(options.db, columns_of(spec), facts);
  if (options.resume) require_same(store, facts);
  try {
    Execution(spec, candidates, options, simulate, list.points, store).run();
  } catch (const Interrupted&) {
    throw Interrupted(
        fmt::format("interrupted; what is done is in {}: go on with --resume", options.db));
  }
  store.set_fact("finished", "1");
  return store;
}

}  // namespace shardsim
