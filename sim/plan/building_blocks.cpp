#include "plan/building_blocks.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shardsim {

namespace {

constexpr int kWays = 4;  // F down, F up, I down, I up
constexpr int kMostHopWait = 2, kMostTurnWait = 5;

// The slots of one rank modulo the period.
struct Slots {
  std::vector<bool> taken;

  std::size_t slot(int at) const { return static_cast<std::size_t>(at) % taken.size(); }
  bool free(int start, int length) const {
    for (int k = 0; k < length; ++k)
      if (taken[slot(start + k)]) return false;
    return true;
  }
  void take(int start, int length) {
    for (int k = 0; k < length; ++k) taken[slot(start + k)] = true;
  }
};

int floor_div(int a, int b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// Puts each W into the first free slot after its I, the earlier I first.
void place_weights(int* starts, Slots& slots) {
  const int first = starts[3] < starts[2] ? 1 : 0;
  for (const int chunk : {first, 1 - first}) {
    int at = starts[2 + chunk] + 1;
    while (!slots.free(at, 1)) ++at;
    slots.take(at, 1);
    starts[4 + chunk] = at;
  }
}

// Chunk activations that a rank holds at most in the steady state.
PeakActivations most_live(const int* starts, int fused, int period) {
  PeakActivations peak;
  for (int now = 0; now < period; ++now) {
    PeakActivations live;
    for (int chunk = 0; chunk < 2; ++chunk) {
      const int input = starts[2 + chunk] + std::max(1, fused);
      const int weight = fused > 0 ? input : starts[4 + chunk] + 1;
      const int made = floor_div(now - starts[chunk], period);
      live.until_input += made - floor_div(now - input, period);
      live.until_weight += made - floor_div(now - weight, period);
    }
    live.weighted = live.until_input + live.until_weight;
    peak = most(peak, live);
  }
  return peak;
}

// Waits of `turns` slots at the three turns and of `hops` on the hops of each way.
std::vector<int> even_waits(int ranks, int turns, int hops) {
  std::vector<int> waits(static_cast<std::size_t>(kWays * ranks));
  for (int way = 0; way < kWays; ++way) {
    const auto first = waits.begin() + way * ranks;
    std::fill(first + 1, first + ranks, hops % (kMostHopWait + 1));
    hops /= kMostHopWait + 1;
    if (way == 0) continue;
    *first = turns % (kMostTurnWait + 1);
    turns /= kMostTurnWait + 1;
  }
  return waits;
}

}  // namespace

std::optional<BuildingBlock> building_block(int ranks, int fused, int period,
                                            const ActivationRoom& room, std::vector<int> waits) {
  constexpr std::array<std::size_t, kWays> kWorks = {0, 1, 3, 2};  // F0 F1 I1 I0
  const auto n = static_cast<std::size_t>(ranks);
  BuildingBlock block{.fused = fused,
                      .waits = std::move(waits),
                      .starts = std::vector<int>(n * 6),
                      .period = period,
                      .length = 0};
  std::vector<Slots> slots(n, {std::vector<bool>(static_cast<std::size_t>(period))});
  int now = 0;
  for (std::size_t at = 0; at < kWays * n; ++at) {
    const std::size_t way = at / n, hop = at % n;
    const std::size_t rank = way % 2 == 0 ? hop : n - 1 - hop;
    const int takes = way < 2 ? 1 : std::max(1, fused);
    now += block.waits[at];
    int tries = 0;
    for (; !slots[rank].free(now, takes); ++now)
      if (++tries == block.period) return std::nullopt;
    slots[rank].take(now, takes);
    block.starts[rank * 6 + kWorks[way]] = now;
    now += takes;
  }
  block.length = now;
  for (std::size_t rank = 0; rank < n; ++rank) {
    int* starts = &block.starts[rank * 6];
    if (fused == 0) place_weights(starts, slots[rank]);
    if (!room.holds(most_live(starts, fused, block.period))) return std::nullopt;
  }
  return block;
}

std::vector<BuildingBlock> building_blocks(int ranks, int fused, const ActivationRoom& room) {
  constexpr int kHops = kMostHopWait + 1, kTurns = kMostTurnWait + 1;
  std::vector<BuildingBlock> blocks;
  const int full = fused > 0 ? 2 + 2 * fused : 6;
  for (int period = full; blocks.empty(); period += 1 + period / 8) {
    // Longer ones are searched once a block without waits fits.
    if (period > full && !building_block(ranks, fused, period, room, even_waits(ranks, 0, 0)))
      continue;
    for (int hops = 0; hops < kHops * kHops * kHops * kHops; ++hops) {
      for (int turns = 0; turns < kTurns * kTurns * kTurns; ++turns) {
        auto block = building_block(ranks, fused, period, room, even_waits(ranks, turns, hops));
        if (block) blocks.push_back(std::move(*block));
      }
    }
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
    return a.length != b.length ? a.length < b.length : a.starts < b.starts;
  });
  const auto same = [](const auto& a, const auto& b) { return a.starts == b.starts; };
  blocks.erase(std::unique(blocks.begin(), blocks.end(), same), blocks.end());
  return blocks;
}

}  // namespace shardsim
