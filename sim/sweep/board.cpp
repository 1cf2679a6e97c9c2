#include "sweep/board.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardsim {

std::optional<double> score_of(Objective objective, const PointResult& result, ResultFigure time) {
  const auto step = result[time], chips = result[ResultFigure::chips],
             tokens = result[ResultFigure::tokens];
  if (!step) return std::nullopt;
  if (objective == Objective::step_time) return step;
  if (!chips || !tokens) return std::nullopt;
  const double chip_s = *step * *chips / *tokens;
  if (objective == Objective::tokens_per_s_per_chip) return chip_s;
  const auto price = result[ResultFigure::price_per_chip_hour];
  if (!price) return std::nullopt;
  return chip_s * *price / 3600;
}

void Best::add(double score) {
  scores_.push(score);
  if (scores_.size() > top_) scores_.pop();
}

double Best::last() const {
  return scores_.size() < top_ ? std::numeric_limits<double>::infinity() : scores_.top();
}

std::vector<std::size_t> replay_order(const std::vector<BoardEntry>& entries,
                                      std::optional<double> keep) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (entries[i].floor) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return *entries[a].floor != *entries[b].floor ? *entries[a].floor < *entries[b].floor
                                                  : entries[a].point < entries[b].point;
  });
  if (keep)
    order.resize(static_cast<std::size_t>(std::ceil(*keep * static_cast<double>(order.size()))));
  std::erase_if(order, [&](std::size_t i) {
    return !entries[i].mine || entries[i].status != PointStatus::screened;
  });
  return order;
}

Settled settle(const SearchSpec& search, std::vector<BoardEntry>& entries) {
  Best best(search.top);
  for (const BoardEntry& entry : entries)
    if (entry.status == PointStatus::ok && entry.score) best.add(*entry.score);
  Settled settled;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    BoardEntry& entry = entries[i];
    if (!entry.floor) continue;
    if (proven_worse(*entry.floor, best.last())) {
      entry.status = PointStatus::proof;
      settled.by_floor.push_back(i);
    } else if (entry.ideal && proven_worse(*entry.ideal, best.last())) {
      entry.status = PointStatus::proof;
      settled.by_ideal.push_back(i);
    } else if (entry.status == PointStatus::screened) {
      entry.status = PointStatus::choice;
      settled.by_choice.push_back(i);
    }
  }
  return settled;
}

}  // namespace shardsim
