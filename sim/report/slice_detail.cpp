#include "report/slice_detail.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardsim {

namespace {

constexpr int kFinest = 30;  // grain: step / 2^30

std::uint32_t place(const Slice& slice) {
  return slice.track;
}
std::uint32_t place(const Bubble& bubble) {
  return static_cast<std::uint32_t>(bubble.rank);
}
std::uint32_t place(const PipelineCell& cell) {
  return static_cast<std::uint32_t>(cell.rank);
}

// Whether an item begins in the same grain as the one that its run began with.
template <class Item>
bool same(const Item& first, const Item& item, Seconds grain) {
  if (place(first) != place(item)) return false;
  return first.begin == item.begin || static_cast<std::uint64_t>(first.begin / grain) ==
                                          static_cast<std::uint64_t>(item.begin / grain);
}

template <class Item>
std::size_t count_of(const std::vector<Item>& items, Seconds grain) {
  std::size_t count = items.empty() ? 0 : 1, first = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (same(items[first], items[i], grain)) continue;
    ++count;
    first = i;
  }
  return count;
}

// The finest of step/2^k that leaves at most `most`; half of the step where none does.
template <class Item>
Seconds finest_grain(const std::vector<Item>& items, std::size_t most, Seconds step) {
  const auto grain = [&](int k) { return step * (1.0 / static_cast<double>(1u << k)); };
  int good = 1, bad = kFinest + 1;
  while (bad - good > 1) {
    const int k = (good + bad) / 2;
    (count_of(items, grain(k)) > most ? bad : good) = k;
  }
  return grain(good);
}

// Merged in place; number[i] is where item i went.
template <class Item>
std::vector<std::uint32_t> merge(std::vector<Item>& items, std::size_t most, Seconds step) {
  std::vector<std::uint32_t> number(items.size());
  if (items.size() <= most) {
    for (std::uint32_t i = 0; i < number.size(); ++i) number[i] = i;
    return number;
  }
  const Seconds grain = finest_grain(items, most, step);
  std::vector<Item> kept;
  std::vector<Seconds> longest;
  std::size_t first = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item& item = items[i];
    const Seconds takes = item.end - item.begin;
    if (i == 0 || !same(items[first], item, grain)) {
      first = i;
      kept.push_back(item);
      longest.push_back(takes);
    } else {
      const Seconds begin = kept.back().begin, end = std::max(kept.back().end, item.end);
      if (takes > longest.back()) {
        kept.back() = item;
        longest.back() = takes;
      }
      kept.back().begin = begin;
      kept.back().end = end;
    }
    number[i] = static_cast<std::uint32_t>(kept.size() - 1);
  }
  items = std::move(kept);
  return number;
}

// Indices to slices follow the slices.
void renumber(Slices& made, const std::vector<std::uint32_t>& number) {
  for (std::uint32_t i = 0; i < made.slices.size(); ++i) {
    std::uint32_t& cause = made.slices[i].cause;
    if (cause != kNoSlice) cause = number[cause];
    if (cause == i) cause = kNoSlice;
  }
  for (SliceArrow& arrow : made.arrows) arrow = {number[arrow.from], number[arrow.to]};
  const auto key = [](const SliceArrow& a) { return std::pair(a.to, a.from); };
  std::sort(made.arrows.begin(), made.arrows.end(),
            [&](const SliceArrow& a, const SliceArrow& b) { return key(a) < key(b); });
  const auto same_arrow = [&](const SliceArrow& a, const SliceArrow& b) {
    return key(a) == key(b);
  };
  made.arrows.erase(std::unique(made.arrows.begin(), made.arrows.end(), same_arrow),
                    made.arrows.end());
  std::erase_if(made.arrows, [](const SliceArrow& a) { return a.from == a.to; });
  for (Bubble& bubble : made.bubbles)
    if (bubble.cause != kNoSlice) bubble.cause = number[bubble.cause];
}

// Origins that no slice has any more go.
void drop_origins(Slices& made) {
  constexpr std::uint32_t kUnused = 0xffffffffu;
  std::vector<std::uint32_t> number(made.origins.size(), kUnused);
  for (const Slice& slice : made.slices) number[slice.origin] = 0;
  std::vector<SliceOrigin> kept;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (number[i] == kUnused) continue;
    number[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(std::move(made.origins[i]));
  }
  made.origins = std::move(kept);
  for (Slice& slice : made.slices) slice.origin = number[slice.origin];
}

}  // namespace

Detail with_detail(Slices all, std::size_t most) {
  Detail detail;
  const std::size_t slices = all.slices.size();
  if (slices > most) {
    std::vector<bool> critical(slices);
    for (std::size_t i = 0; i < slices; ++i) critical[i] = all.slices[i].critical;
    const std::vector<std::uint32_t> number = merge(all.slices, most, all.end);
    for (std::size_t i = 0; i < slices; ++i)
      if (critical[i]) all.slices[number[i]].critical = true;
    renumber(all, number);
    drop_origins(all);
  }
  merge(all.bubbles, most / 2, all.end);
  merge(all.cells, most / 2, all.end);
  detail.slices_left_out = slices - all.slices.size();
  detail.shown = std::move(all);
  return detail;
}

}  // namespace shardsim
