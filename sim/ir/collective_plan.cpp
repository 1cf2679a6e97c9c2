#include "ir/collective_plan.h"

#include <algorithm>
#include <array>

#include "base/must.h"

namespace shardsim {

std::string_view to_text(Collective kind) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "all-gather", "reduce-scatter", "all-reduce", "all-to-all", "collective-permute"};
  return kNames[static_cast<std::size_t>(kind)];
}

int CollectivePlan::ranks() const {
  int n = 1;
  for (const int s : sizes) n *= s;
  return n;
}

std::span<const std::uint32_t> CollectivePlan::waits_for(std::size_t send) const {
  return std::span(after).subspan(after_offset[send], after_offset[send + 1] - after_offset[send]);
}

std::uint32_t CollectivePlan::add(const Send& send, std::span<const std::uint32_t> waits) {
  const auto index = static_cast<std::uint32_t>(sends.size());
  for (const std::uint32_t w : waits) must(w < index, "a send waits for an earlier one");
  sends.push_back(send);
  after.insert(after.end(), waits.begin(), waits.end());
  after_offset.push_back(static_cast<std::uint32_t>(after.size()));
  return index;
}

int CollectivePlan::phases() const {
  int n = 0;
  for (const Send& send : sends) n = std::max(n, send.phase + 1);
  return n;
}

int CollectivePlan::stages() const {
  int n = 0;
  for (const Send& send : sends) n = std::max(n, send.stage + 1);
  return n;
}

double CollectivePlan::share_of(const ChunkSet& chunks) const {
  const double n = ranks();
  const double piece = piece_share[static_cast<std::size_t>(chunks.piece)];
  if (chunks.dest >= 0) return piece / (n * n);
  double origins = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((chunks.spread >> i & 1u) != 0) origins *= sizes[i];
  }
  return piece * origins / n;
}

bool CollectivePlan::contains(const ChunkSet& chunks, int origin, int piece) const {
  if (piece != chunks.piece) return false;
  int a = origin, b = chunks.origin;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const bool free = (chunks.spread >> i & 1u) != 0;
    if (!free && a % sizes[i] != b % sizes[i]) return false;
    a /= sizes[i];
    b /= sizes[i];
  }
  return true;
}

int CollectivePlan::representative(int rank) const {
  int result = 0;
  int stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    result += rank % sizes[i] % fold[i] * stride;
    stride *= sizes[i];
    rank /= sizes[i];
  }
  return result;
}

std::vector<int> CollectivePlan::representatives() const {
  std::vector<int> result;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (representative(rank) == rank) result.push_back(rank);
  }
  return result;
}

std::vector<int> rank_coordinates(std::span<const int> sizes, int rank) {
  std::vector<int> at(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    at[i] = rank % sizes[i];
    rank /= sizes[i];
  }
  return at;
}

int rank_at(std::span<const int> sizes, std::span<const int> coordinates) {
  int rank = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    rank = rank * sizes[i] + (coordinates[i] % sizes[i] + sizes[i]) % sizes[i];
  }
  return rank;
}

int shifted(std::span<const int> sizes, int rank, int axis, int by) {
  int stride = 1;
  for (std::size_t i = sizes.size(); i-- > static_cast<std::size_t>(axis) + 1;) stride *= sizes[i];
  const int size = sizes[static_cast<std::size_t>(axis)];
  const int at = rank / stride % size;
  const int to = ((at + by) % size + size) % size;
  return rank + (to - at) * stride;
}

namespace {

// rank + (to - from) on every axis.
int translated(std::span<const int> sizes, int rank, int from, int to) {
  int result = 0;
  int stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const int n = sizes[i];
    result += ((rank % n + to % n - from % n + n) % n) * stride;
    stride *= n;
    rank /= n;
    from /= n;
    to /= n;
  }
  return result;
}

CollectivePlan empty_like(const CollectivePlan& plan, Collective kind) {
  CollectivePlan result;
  result.kind = kind;
  result.algorithm = plan.algorithm;
  result.sizes = plan.sizes;
  result.fold = plan.fold;
  result.piece_share = plan.piece_share;
  result.pipelined = plan.pipelined;
  return result;
}

}  // namespace

CollectivePlan mirror(const CollectivePlan& gather) {
  CollectivePlan result = empty_like(gather, Collective::reduce_scatter);
  const std::size_t n = gather.sends.size();
  std::vector<std::vector<std::uint32_t>> followers(n);  // by index in `gather`
  for (std::size_t i = 0; i < n; ++i) {
    for (const std::uint32_t w : gather.waits_for(i)) {
      followers[w].push_back(static_cast<std::uint32_t>(i));
    }
  }
  const int last_phase = gather.phases() - 1;
  const int last_stage = gather.stages() - 1;
  for (std::size_t i = n; i-- > 0;) {
    Send send = gather.sends[i];
    const int from = gather.representative(send.to);
    send.chunks.origin = translated(gather.sizes, send.chunks.origin, send.to, from);
    send.to = translated(gather.sizes, send.from, send.to, from);
    send.from = from;
    send.direction = -send.direction;
    send.reduces = !send.is_join();
    send.phase = last_phase - send.phase;
    send.stage = last_stage - send.stage;
    std::vector<std::uint32_t>& waits = followers[i];
    for (std::uint32_t& w : waits) w = static_cast<std::uint32_t>(n) - 1 - w;
    std::sort(waits.begin(), waits.end());
    result.add(send, waits);
  }
  return result;
}

CollectivePlan sequence(const CollectivePlan& scatter, const CollectivePlan& gather) {
  CollectivePlan result = empty_like(gather, Collective::all_reduce);
  const int phases = scatter.phases();
  const int stages = scatter.stages();
  const std::size_t pieces = gather.piece_share.size();
  const auto slot = [&](int rank, int piece) {
    return static_cast<std::size_t>(gather.representative(rank)) * pieces +
           static_cast<std::size_t>(piece);
  };
  std::vector<std::vector<std::uint32_t>> arrivals(static_cast<std::size_t>(gather.ranks()) *
                                                   pieces);
  for (std::size_t i = 0; i < scatter.sends.size(); ++i) {
    const Send& send = scatter.sends[i];
    const std::uint32_t index = result.add(send, scatter.waits_for(i));
    if (!send.is_join() && scatter.contains(send.chunks, send.to, send.chunks.piece)) {
      arrivals[slot(send.to, send.chunks.piece)].push_back(index);
    }
  }
  for (std::size_t s = 0; s < arrivals.size(); ++s) {  // many arrivals meet in one join
    if (arrivals[s].size() < 2) continue;
    const auto rank = static_cast<int>(s / pieces);
    Send join{.from = rank,
              .to = rank,
              .chunks = {.origin = rank},
              .phase = phases - 1,
              .stage = stages - 1};
    arrivals[s] = {result.add(join, arrivals[s])};
  }
  const auto offset = static_cast<std::uint32_t>(result.sends.size());
  for (std::size_t i = 0; i < gather.sends.size(); ++i) {
    Send send = gather.sends[i];
    std::vector<std::uint32_t> waits;
    for (const std::uint32_t w : gather.waits_for(i)) waits.push_back(w + offset);
    if (gather.contains(send.chunks, send.from, send.chunks.piece)) {
      const auto& own = arrivals[slot(send.from, send.chunks.piece)];
      waits.insert(waits.end(), own.begin(), own.end());
    }
    send.phase += phases;
    send.stage += stages;
    result.add(send, waits);
  }
  return result;
}

}  // namespace shardsim
