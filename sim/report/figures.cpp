#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/units.h"
#include "report/table_parts.h"

namespace shardsim {

namespace {

std::string time_text(double s) {
  return to_text(Seconds{s});
}
std::string bytes_text(double bytes) {
  return to_text(Bytes{bytes});
}
std::string count_text(double count) {
  return fmt::format("{:.10g}", count);
}
// Of a share: one decimal, or the first digit of what that would show as none.
std::string points_text(double points) {
  return std::abs(points) < 0.05 ? fmt::format("{:+.1g} points", points)
                                 : fmt::format("{:+.1f} points", points);
}

constexpr std::array<Figure, 16> kFigures = {{
    {"step", "step_time_s", "makespan_s", time_text},
    {"longest span of a rank", "max_span_s", "max_span_s", time_text},
    {"compute", "compute_s", "", time_text},
    {"communication", "comm_s", "", time_text},
    {"exposed communication", "exposed_comm_s", "", time_text},
    {"bubble", "bubble_s", "", time_text},
    {"rest", "rest_s", "", time_text},
    {"bubble of all ranks", "bubble_fraction", "makespan_bubble", percent, true},
    {"bubble of the longest span", "span_bubble_fraction", "span_bubble", percent, true},
    {"MFU", "mfu", "", percent, true},
    {"HFU", "hfu", "", percent, true},
    {"tokens/s", "tokens_per_s", "", rate_text},
    {"peak memory", "peak_memory_bytes", "", bytes_text},
    {"devices", "devices", "stages", count_text},
    {"transfers between ranks", "p2p_transfers", "p2p_transfers", count_text},
    {"copies of the model", "parameter_copies", "parameter_copies", count_text},
}};

}  // namespace

std::span<const Figure> figures() {
  return kFigures;
}

std::optional<double> value_of(const Figure& figure, const Json& summary) {
  const std::optional<double> value = number_at(summary, figure.key);
  return value || figure.schedule.empty() ? value : number_at(summary, figure.schedule);
}

std::string difference_text(const Figure& figure, std::optional<double> value,
                            std::optional<double> first) {
  if (!value || !first) return "";
  const double difference = *value - *first;
  if (std::abs(difference) <= 1e-9 * std::max(std::abs(*value), std::abs(*first))) return "=";
  if (figure.is_share) return points_text(100 * difference);
  if (*first == 0) return "";
  return fmt::format("{:+.1f} %", 100 * difference / *first);
}

}  // namespace shardsim
