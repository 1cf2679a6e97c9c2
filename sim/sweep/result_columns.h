// What a point comes to: its figures, and their columns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

enum class ResultFigure : std::uint8_t {
  floor,
  bound,
  step_time,
  compute,
  comm,
  exposed,
  bubble,
  rest,
  mfu,
  hfu,
  tokens_per_s,
  tokens_per_s_per_chip,
  cost_per_token,
  peak_memory,
  memory_floor,
  memory_limit,
  fits_memory,
  chips,
  tokens,
  price_per_chip_hour,
  operations,
  count  // how many there are
};
inline constexpr std::size_t kFigures = static_cast<std::size_t>(ResultFigure::count);

struct FigureRow {
  std::string_view name;  // of the column, and in constraints
  std::string_view help;
  bool replayed = true;  // false: known before the replay
  bool lowered = true;   // false: known before there are operations
};
std::span<const FigureRow> figure_rows();  // [ResultFigure]
std::vector<std::string> result_names();

enum class PointStatus : std::uint8_t {
  ok,          // replayed
  infeasible,  // a constraint does not hold
  invalid,     // the program refuses the run
  failed,      // the engine died, or the point took too long
  proof,       // dropped: a bound of it is above what the best take
  choice,      // dropped: not among the share that is kept
  screened,    // its floor is known; not replayed yet
  count        // how many there are
};
std::string_view to_text(PointStatus status);
std::optional<PointStatus> point_status(std::string_view text);

struct PointResult {
  std::uint64_t point = 0;
  PointStatus status = PointStatus::failed;
  std::string reason;  // of a status that is not ok
  std::array<std::optional<double>, kFigures> figures = {};
  std::string run_yaml;

  std::optional<double>& operator[](ResultFigure f) { return figures[static_cast<std::size_t>(f)]; }
  const std::optional<double>& operator[](ResultFigure f) const {
    return figures[static_cast<std::size_t>(f)];
  }
};

}  // namespace shardsim
