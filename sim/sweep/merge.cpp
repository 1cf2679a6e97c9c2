#include "sweep/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "base/check_failed.h"
#include "base/problem.h"
#include "base/units.h"
#include "sweep/board.h"
#include "sweep/rows.h"

namespace shardsim {
namespace {

// What goes before what when two databases have a point.
int rank_of(PointStatus status) {
  switch (status) {
    case PointStatus::failed:
      return 0;
    case PointStatus::screened:
    case PointStatus::proof:
    case PointStatus::choice:
      return 1;
    default:
      return 2;
  }
}

void require_same_sweep(const std::string& path, const Store& store,
                        const std::map<std::string, std::string>& facts) {
  for (const char* key : {"fingerprint", "version", "points", "grain"}) {
    const auto at = store.facts().find(key);
    if (at != store.facts().end() && at->second == facts.at(key)) continue;
    throw ConfigError(
        {{argument_pos("merge", path),
          fmt::format("expected a database of the sweep \"{}\", found {}: its {} differs",
                      printable(facts.at("name")), path, key),
          ""}});
  }
}

class Merge {
 public:
  explicit Merge(const Store& like) : reader_(like.columns()) {}

  void add(const Store& store, const std::string& path) {
    store.each({}, [&](const Row& row) {
      const auto point = std::get<std::int64_t>(row.front());
      const PointResult mine = reader_.read(row);
      auto [at, is_new] = rows_.emplace(point, Entry{row, mine.status, path});
      if (is_new || at->second.row == row) return;
      const int old_rank = rank_of(at->second.status), new_rank = rank_of(mine.status);
      if (new_rank > old_rank) {
        at->second = {row, mine.status, path};
      } else if (new_rank == old_rank && new_rank == 2) {
        ++conflicts_;
        if (conflicts_ <= kShown)
          text_ += fmt::format("\n  point {}: {} ({}) in {}, {} ({}) in {}", point,
                               to_text(at->second.status), step_text(at->second.row),
                               at->second.path, to_text(mine.status), step_text(row), path);
      }
    });
  }

  void require_no_conflicts() const {
    if (conflicts_ == 0) return;
    throw CheckFailed(fmt::format("nothing is merged: {} point{} with different results{}{}",
                                  conflicts_, conflicts_ == 1 ? "" : "s", text_,
                                  conflicts_ > kShown ? "\n  …" : ""));
  }

  // As one sweep would have done.
  void settle_as_one(const SearchSpec& search) {
    std::vector<BoardEntry> entries;
    for (const auto& [point, entry] : rows_) {
      const PointResult result = reader_.read(entry.row);
      BoardEntry one{.point = result.point, .known = true, .status = result.status};
      one.floor = score_of(search.objective, result, ResultFigure::floor);
      one.ideal = score_of(search.objective, result, ResultFigure::bound);
      one.score = score_of(search.objective, result, ResultFigure::step_time);
      entries.push_back(one);
    }
    const Settled settled = settle(search, entries);
    const auto rewrite = [&](const std::vector<std::size_t>& changed, bool FigureRow::*forget) {
      for (const std::size_t i : changed) become(entries[i], forget);
    };
    rewrite(settled.by_floor, &FigureRow::lowered);
    rewrite(settled.by_ideal, &FigureRow::replayed);
    rewrite(settled.by_choice, &FigureRow::replayed);
  }

  std::size_t size() const { return rows_.size(); }
  // No point of a shard that was interrupted waits for its replay.
  bool is_settled() const {
    return std::none_of(rows_.begin(), rows_.end(),
                        [](const auto& row) { return row.second.status == PointStatus::screened; });
  }
  std::vector<Row> rows() const {
    std::vector<Row> rows;
    for (const auto& [point, entry] : rows_) rows.push_back(entry.row);
    return rows;
  }

 private:
  // Forgets the figures for which that holds.
  void become(const BoardEntry& entry, bool FigureRow::*forget) {
    Row& row = rows_.at(static_cast<std::int64_t>(entry.point)).row;
    PointResult result = reader_.read(row);
    result.status = entry.status;
    result.reason.clear();
    const auto figures = figure_rows();
    for (std::size_t f = 0; f < figures.size(); ++f)
      if (figures[f].*forget) result.figures[f] = std::nullopt;
    reader_.write(result, row);
  }

  static constexpr int kShown = 20;
  struct Entry {
    Row row;
    PointStatus status;
    std::string path;
  };
  std::string step_text(const Row& row) const {
    const auto step = reader_.read(row)[ResultFigure::step_time];
    return step ? fmt::format("{} s", *step) : "no step";
  }

  ResultReader reader_;
  std::map<std::int64_t, Entry> rows_;
  int conflicts_ = 0;
  std::string text_;
};

SearchSpec search_of(const std::map<std::string, std::string>& facts) {
  SearchSpec search;
  for (const Objective one : {Objective::tokens_per_s_per_chip, Objective::cost_per_token})
    if (facts.at("objective") == to_text(one)) search.objective = one;
  search.top = parse_count(facts.at("top"), 1, 1'000'000'000).value;
  return search;
}

}  // namespace

Store merge_shards(const std::string& into, std::span<const std::string> shards) {
  std::vector<Store> stores;
  for (const std::string& path : shards) stores.push_back(Store::open(path, false));
  auto facts = stores.front().facts();
  const bool there = std::filesystem::exists(into);
  for (std::size_t i = 0; i < stores.size(); ++i) require_same_sweep(shards[i], stores[i], facts);
  Merge merge(stores.front());
  if (there) {
    const Store old = Store::open(into, false);
    require_same_sweep(into, old, facts);
    merge.add(old, into);
  }
  for (std::size_t i = 0; i < stores.size(); ++i) merge.add(stores[i], shards[i]);
  merge.require_no_conflicts();
  const bool whole = fmt::format("{}", merge.size()) == facts.at("points") && merge.is_settled();
  if (whole) merge.settle_as_one(search_of(facts));
  facts["shard"] = "0/1";
  facts["finished"] = whole ? "1" : "0";
  Store out =
      there ? Store::open(into, true) : Store::create(into, stores.front().columns(), facts);
  out.put(merge.rows());
  out.set_fact("finished", facts["finished"]);
  return out;
}

}  // namespace shardsim
