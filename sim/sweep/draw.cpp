#include "sweep/draw.h"

#include <bit>

namespace shardsim {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Draw::Draw(std::uint64_t count, std::uint64_t seed) : count_(count) {
  const int bits = count < 2 ? 1 : static_cast<int>(std::bit_width(count - 1));
  half_bits_ = (bits + 1) / 2;
  for (std::uint64_t& key : keys_) key = seed = mixed(seed);
}

std::uint64_t Draw::at(std::uint64_t i) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  do {
    std::uint64_t left = i >> half_bits_, right = i & mask;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t next = left ^ (mixed(right ^ key) & mask);
      left = right;
      right = next;
    }
    i = (left << half_bits_) | right;
  } while (i >= count_);
  return i;
}

}  // namespace shardsim
