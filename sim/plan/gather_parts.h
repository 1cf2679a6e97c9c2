// What the writers of gather plans share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shardsim {

inline constexpr std::uint32_t kNone = 0xffffffffu;  // no send

// Up to two sends to wait for, kNone and repetition left out.
struct Waits {
  Waits(std::uint32_t a, std::uint32_t b) {
    if (a != kNone) sends[count++] = a;
    if (b != kNone && b != a) sends[count++] = b;
  }
  std::span<const std::uint32_t> span() const { return {sends.data(), count}; }

  std::array<std::uint32_t, 2> sends = {};
  std::size_t count = 0;
};

}  // namespace shardsim
