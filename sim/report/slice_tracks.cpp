#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "report/slice_parts.h"

namespace shardsim {

namespace {

constexpr std::uint32_t kNoTrack = 0xffffffffu;

std::vector<std::uint32_t> numbers_to(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

// Indices of the slices by (track, begin, end).
std::vector<std::uint32_t> by_time(const std::vector<Slice>& slices) {
  std::vector<std::uint32_t> order = numbers_to(slices.size());
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Slice &x = slices[a], &y = slices[b];
    return std::tie(x.track, x.begin, x.end) < std::tie(y.track, y.begin, y.end);
  });
  return order;
}

// A slice that begins before the one before it on its lane has ended takes the next lane; by a
// rounding earlier is no earlier. Returned is the track that every track is a lane of.
std::vector<std::uint32_t> take_lanes(Slices& made) {
  const Seconds noise = made.end * 1e-12;
  std::vector<std::uint32_t> lane_of = numbers_to(made.tracks.size());
  std::vector<Seconds> free;         // [lanes]
  std::vector<std::uint32_t> lanes;  // their tracks
  std::uint32_t now = kNoTrack;
  for (const std::uint32_t i : by_time(made.slices)) {
    Slice& slice = made.slices[i];
    if (slice.track != now) {
      now = slice.track;
      free.assign(1, Seconds{});
      lanes.assign(1, now);
    }
    std::size_t lane = 0;
    while (lane < free.size() && slice.begin < free[lane] - noise) ++lane;
    if (lane == free.size()) {
      free.emplace_back();
      lanes.push_back(static_cast<std::uint32_t>(made.tracks.size()));
      lane_of.push_back(now);
      SliceTrack more = made.tracks[now];
      more.lane = static_cast<int>(lane);
      made.tracks.push_back(std::move(more));
    }
    free[lane] = slice.end;
    slice.track = lanes[lane];
  }
  return lane_of;
}

void order_slices(Slices& made, std::vector<std::uint32_t>& owner) {
  std::vector<Slice> slices;
  slices.reserve(made.slices.size());
  for (const std::uint32_t i : by_time(made.slices)) {
    owner[static_cast<std::size_t>(made.slices[i].last)] =
        static_cast<std::uint32_t>(slices.size());
    slices.push_back(made.slices[i]);
  }
  made.slices = std::move(slices);
}

}  // namespace

void order_tracks(Slices& made, std::vector<std::uint32_t>& owner) {
  const std::vector<std::uint32_t> lane_of = take_lanes(made);
  const auto place = [&](std::uint32_t i) {
    const SliceTrack& track = made.tracks[i];
    const bool shown = made.ranks[static_cast<std::size_t>(track.rank)].shown == track.device;
    return std::tuple(track.rank, !shown, track.device, track.stream != "compute", lane_of[i],
                      track.lane);
  };
  std::vector<std::uint32_t> order = numbers_to(made.tracks.size());
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return place(a) < place(b); });
  std::vector<std::uint32_t> number(order.size());
  std::vector<SliceTrack> tracks;
  for (const std::uint32_t i : order) {
    number[i] = static_cast<std::uint32_t>(tracks.size());
    tracks.push_back(std::move(made.tracks[i]));
  }
  made.tracks = std::move(tracks);
  for (Slice& slice : made.slices) slice.track = number[slice.track];
  order_slices(made, owner);
}

}  // namespace shardsim
