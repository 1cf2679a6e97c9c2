#include "spec/run_spec.h"

#include <array>

namespace shardsim {
namespace {

struct Dtype {
  std::string_view name;
  double bytes = 0;
};
constexpr std::array<Dtype, 5> kDtypes{
    {{"bf16", 2}, {"fp16", 2}, {"fp32", 4}, {"fp8", 1}, {"int8", 1}}};

}  // namespace

double dtype_bytes(std::string_view name) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name) return dtype.bytes;
  }
  return 0;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Dtype& dtype : kDtypes) names.emplace_back(dtype.name);
  return names;
}

}  // namespace shardsim
