#include "sweep/result_columns.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::array<FigureRow, kFigures> kRows = {{
    {"floor_s", "what the step takes at the least, by its plan; null: not screened", false, false},
    {"bound_s", "the step of the ideal engine, a closer bound; null: the floor was enough", false},
    {"step_time_s", "the step, replayed"},
    {"compute_s", "computing, on a device of the rank that ends last"},
    {"comm_s", "collectives and transfers there, those at once counted once"},
    {"exposed_comm_s", "the part of it beside which nothing is computed"},
    {"bubble_s", "the rank waits for another"},
    {"rest_s", "nothing runs on the device"},
    {"mfu", "model FLOPs over the peak of all chips"},
    {"hfu", "executed FLOPs over it"},
    {"tokens_per_s", "of all chips"},
    {"tokens_per_s_per_chip", "of one"},
    {"cost_per_token", "in the currency of search.prices"},
    {"peak_memory_bytes", "of the device that needs most"},
    {"memory_floor_bytes",
     "what it needs at the least, by its plan: weights, gradients, optimizer state and "
     "what its schedule has in flight",
     false, false},
    {"memory_limit_bytes", "what it has: of its chip, or memory_limit", false, false},
    {"fits_memory", "1 or 0"},
    {"chips", "devices of the cluster", false, false},
    {"tokens", "in the step", false, false},
    {"price_per_chip_hour", "of search.prices", false, false},
    {"operations", "of the graph that is replayed", false},
}};

constexpr std::array<std::string_view, static_cast<std::size_t>(PointStatus::count)> kStatus = {
    "ok", "infeasible", "invalid", "failed", "dropped by proof", "dropped by choice", "screened"};

}  // namespace

std::span<const FigureRow> figure_rows() {
  return kRows;
}

std::vector<std::string> result_names() {
  std::vector<std::string> names;
  for (const FigureRow& row : kRows) names.emplace_back(row.name);
  return names;
}

std::string_view to_text(PointStatus status) {
  return kStatus[static_cast<std::size_t>(status)];
}

std::optional<PointStatus> point_status(std::string_view text) {
  const auto at = std::find(kStatus.begin(), kStatus.end(), text);
  if (at == kStatus.end()) return std::nullopt;
  return static_cast<PointStatus>(at - kStatus.begin());
}

}  // namespace shardsim
