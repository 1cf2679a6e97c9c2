#include <fmt/format.h>

#include <algorithm>

#include "report/slice_parts.h"

namespace shardsim {

namespace {

constexpr double kNoise = 1e-12;  // of the step: rounding, no bubble

class BubbleFinder {
 public:
  explicit BubbleFinder(Slices& made) : made_(made) {}

  void run() {
    std::size_t next = 0;
    for (int rank = 0; rank < static_cast<int>(made_.ranks.size()); ++rank) {
      std::vector<std::uint32_t> computes;
      std::uint32_t last = kNoSlice;  // of its collectives, the one that ends last
      for (; next < made_.slices.size() && track(next).rank == rank; ++next) {
        const auto i = static_cast<std::uint32_t>(next);
        const bool collective = group(i) == SliceGroup::communication;
        if (collective && (last == kNoSlice || made_.slices[i].end > made_.slices[last].end))
          last = i;
        if (computes_at(i) && track(i).device == made_.ranks[static_cast<std::size_t>(rank)].shown)
          computes.push_back(i);
      }
      find_on(rank, computes, last);
    }
  }

 private:
  const SliceTrack& track(std::size_t slice) const {
    return made_.tracks[made_.slices[slice].track];
  }
  const SliceOrigin& origin(std::uint32_t slice) const {
    return made_.origins[made_.slices[slice].origin];
  }
  SliceGroup group(std::uint32_t slice) const { return made_.kinds[origin(slice).kind].group; }
  bool computes_at(std::uint32_t slice) const { return group(slice) == SliceGroup::compute; }

  void find_on(int rank, const std::vector<std::uint32_t>& computes, std::uint32_t last) {
    Seconds free;
    const bool pipeline = made_.ranks.size() > 1;
    for (const std::uint32_t i : computes) {
      const Slice& slice = made_.slices[i];
      const bool first = i == computes.front();
      explain(rank, free, slice.begin, slice.cause, first && pipeline ? "warm-up: " : "");
      free = slice.end;
    }
    if (last != kNoSlice && made_.slices[last].end > free) {
      explain(rank, free, made_.slices[last].end, last, "");
      free = made_.slices[last].end;
    }
    add(rank, free, made_.end, "no work left", kNoSlice);
  }

  // From `to` back to `from`: what moves is waited for while it moves, and before that what it
  // waited for itself, up to something that computes elsewhere.
  void explain(int rank, Seconds from, Seconds to, std::uint32_t cause, const char* before) {
    const std::size_t first = made_.bubbles.size();
    while (to > from) {
      const bool moves = cause != kNoSlice && !computes_at(cause);
      const Seconds begin = moves ? std::max(from, made_.slices[cause].begin) : from;
      add(rank, begin, to, before + reason(rank, cause), cause);
      to = std::min(to, begin);
      if (moves) cause = made_.slices[cause].cause;
    }
    std::reverse(made_.bubbles.begin() + static_cast<std::ptrdiff_t>(first), made_.bubbles.end());
  }

  std::string reason(int rank, std::uint32_t cause) const {
    if (cause == kNoSlice) return "waits";
    const SliceOrigin& is = origin(cause);
    const Slice& slice = made_.slices[cause];
    const SliceTrack& where = track(cause);
    const std::string work =
        is.letter == 0 || is.letter == 'O'
            ? is.name
            : fmt::format("{}{} of stage {}", is.letter, slice.microbatch, slice.stage);
    switch (group(cause)) {
      case SliceGroup::communication:
        return "waits for " + is.name;
      case SliceGroup::transfer:
        return fmt::format("waits for {}, on its way", work);
      case SliceGroup::compute:
        break;
    }
    if (where.rank != rank) return "waits for " + work;
    if (where.device == made_.ranks[static_cast<std::size_t>(rank)].shown) return "pauses";
    return fmt::format("waits for {} of device class {}", is.name, where.device);
  }

  void add(int rank, Seconds begin, Seconds end, std::string text, std::uint32_t cause) {
    if (!(end - begin > made_.end * kNoise)) return;
    made_.bubbles.push_back({rank, begin, end, std::move(text), cause});
  }

  Slices& made_;
};

}  // namespace

void add_bubbles(Slices& made) {
  BubbleFinder(made).run();
}

}  // namespace shardsim
