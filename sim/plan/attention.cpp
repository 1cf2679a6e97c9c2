#include "plan/attention.h"

#include <algorithm>

namespace shardsim {
namespace {

constexpr std::array kRows = {
    AttentionRow{.name = "flash",
                 .help = "scores never leave the chip; causal attention counts half of them"},
    AttentionRow{
        .name = "scores",
        .help = "products, softmax and dropout are kernels of their own, which write and "
                "read all scores; causal attention computes all of them",
        .skips_masked = false,
        .forward = {.products = 2, .pointwise = 4, .masks = 1},
        .backward = {
            {{.products = 2, .pointwise = 5, .masks = 1}, {.products = 1}, {.products = 1}}}}};

}  // namespace

std::span<const AttentionRow> attention_rows() {
  return kRows;
}

const AttentionRow* find_attention(std::string_view name) {
  const auto* at = std::find_if(kRows.begin(), kRows.end(),
                                [&](const AttentionRow& row) { return row.name == name; });
  return at == kRows.end() ? nullptr : &*at;
}

}  // namespace shardsim
