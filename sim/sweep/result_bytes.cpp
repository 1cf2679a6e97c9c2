#include "sweep/result_bytes.h"

#include "base/bytes.h"

namespace shardsim {

std::string to_bytes(const PointResult& result) {
  std::string out;
  put(result.point, out);
  put(result.status, out);
  put_list(result.reason, out);
  for (const std::optional<double>& figure : result.figures) {
    put(figure.has_value(), out);
    put(figure.value_or(0), out);
  }
  put_list(result.run_yaml, out);
  return out;
}

PointResult from_bytes(std::string_view bytes) {
  PointResult result;
  result.point = take<std::uint64_t>(bytes);
  result.status = take<PointStatus>(bytes);
  result.reason = take_list<std::string>(bytes);
  for (std::optional<double>& figure : result.figures) {
    const bool known = take<bool>(bytes);
    const auto value = take<double>(bytes);
    if (known) figure = value;
  }
  result.run_yaml = take_list<std::string>(bytes);
  return result;
}

}  // namespace shardsim
