// A random order of the numbers below n, without a list of them: a Feistel network whose values
// beyond n are walked past (Black and Rogaway 2002, "Ciphers with arbitrary finite domains").
#pragma once

#include <array>
#include <cstdint>

namespace shardsim {

class Draw {
 public:
  Draw(std::uint64_t count, std::uint64_t seed);

  // The i-th number of the order. REQUIRES: i < count.
  std::uint64_t at(std::uint64_t i) const;

 private:
  std::uint64_t count_;
  int half_bits_ = 1;
  std::array<std::uint64_t, 4> keys_{};
};

}  // namespace shardsim
