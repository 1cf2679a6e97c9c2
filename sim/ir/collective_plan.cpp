#include "ir/collective_plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/must.h"

namespace shardsim {

std::string_view to_text(Collective kind) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "all-gather", "reduce-scatter", "all-reduce", "all-to-all",         "broadcast",
      "reduce",     "gather",         "scatter",    "collective-permute", "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view meaning_of_v(Collective kind) {
  switch (kind) {
    case Collective::all_gather:
      return "the gathered array";
    case Collective::reduce_scatter:
    case Collective::all_reduce:
      return "the unreduced array of one device";
    case Collective::broadcast:
    case Collective::reduce:
      return "the array of one device";
    case Collective::gather:
    case Collective::scatter:
      return "the whole array at the root";
    case Collective::all_to_all:
    case Collective::collective_permute:
      return "the whole array over the group";
    case Collective::barrier:
      break;
  }
  return "nothing";
}

bool rooted(Collective kind) {
  return kind == Collective::broadcast || kind == Collective::reduce ||
         kind == Collective::gather || kind == Collective::scatter;
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

void CollectivePlan::reserve(std::size_t send_count, std::size_t wait_count) {
  sends.reserve(send_count);
  after_offset.reserve(send_count + 1);
  after.reserve(wait_count);
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
  double piece = 0;
  for (int p = 0; p < chunks.pieces; ++p) {
    piece += piece_share[static_cast<std::size_t>(chunks.piece + p)];
  }
  if (chunks.dest >= 0) return piece / (n * n);
  double origins = chunks.origins;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((chunks.spread >> i & 1u) != 0) origins *= sizes[i];
  }
  return piece * origins / n;
}

bool CollectivePlan::contains(const ChunkSet& chunks, int origin, int piece) const {
  if (piece < chunks.piece || piece >= chunks.piece + chunks.pieces) return false;
  int a = origin, b = chunks.origin;
  int ahead = 0, length = 1;  // along the axes of the run
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const bool free = (chunks.spread >> i & 1u) != 0;
    const bool runs = chunks.origins > 1 && (chunks.run == 0 || (chunks.run >> i & 1u) != 0);
    if (runs) {
      ahead += (a % sizes[i] - b % sizes[i]) * length;
      length *= sizes[i];
    } else if (!free && a % sizes[i] != b % sizes[i]) {
      return false;
    }
    a /= sizes[i];
    b /= sizes[i];
  }
  return (ahead % length + length) % length < chunks.origins;
}

ChunkSet CollectivePlan::whole(int piece) const {
  ChunkSet chunks;
  chunks.piece = piece;
  for (std::size_t i = 0; i < sizes.size(); ++i) chunks.spread |= 1u << i;
  return chunks;
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

Collective mirrored(Collective kind) {
  if (kind == Collective::broadcast) return Collective::reduce;
  if (kind == Collective::scatter) return Collective::gather;
  must(kind == Collective::all_gather, "a plan that copies whole chunks has a mirror image");
  return Collective::reduce_scatter;
}

}  // namespace

CollectivePlan mirror(CollectivePlan plan) {
  const std::size_t n = plan.sends.size();
  // CSR: the followers of a send are what its mirror image waits for, ascending.
  std::vector<std::uint32_t> offset(n + 1, 0), followers(plan.after.size());
  for (const std::uint32_t w : plan.after) ++offset[n - w];
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  std::vector<std::uint32_t> next(offset.begin(), offset.end() - 1);
  for (std::size_t i = n; i-- > 0;) {
    for (const std::uint32_t w : plan.waits_for(i)) {
      followers[next[n - 1 - w]++] = static_cast<std::uint32_t>(n - 1 - i);
    }
  }
  plan.after_offset = std::move(offset);
  plan.after = std::move(followers);
  plan.kind = mirrored(plan.kind);
  const bool sums = plan.kind != Collective::gather;
  const int last_phase = plan.phases() - 1;
  const int last_stage = plan.stages() - 1;
  std::reverse(plan.sends.begin(), plan.sends.end());
  for (Send& send : plan.sends) {
    const int from = plan.representative(send.to);
    const auto moved = [&, to = send.to](int rank) {
      if (plan.exclusive_or) return rank ^ to ^ from;
      return translated(plan.sizes, rank, to, from);
    };
    send.chunks.origin = moved(send.chunks.origin);
    // Under XOR an aligned run stays an aligned run.
    if (plan.exclusive_or) send.chunks.origin &= ~(send.chunks.origins - 1);
    send.to = moved(send.from);
    send.from = from;
    send.hop_along(send.axis, -send.direction);
    send.reduces = sums && !send.is_join();
    send.phase = last_phase - send.phase;
    send.stage = last_stage - send.stage;
  }
  return plan;
}

namespace {

// Joins the sends named in `waits` on a rank; one of them needs no join.
std::vector<std::uint32_t> joined(CollectivePlan& plan, int rank, int phase, int stage,
                                  const std::vector<std::uint32_t>& waits) {
  if (waits.size() < 2) return waits;
  const Send join{
      .from = rank, .to = rank, .chunks = {.origin = rank}, .phase = phase, .stage = stage};
  return {plan.add(join, waits)};
}

}  // namespace

CollectivePlan sequence(CollectivePlan scatter, const CollectivePlan& gather, bool barrier) {
  const int phases = scatter.phases();
  const int stages = scatter.stages();
  CollectivePlan result = std::move(scatter);
  result.kind = Collective::all_reduce;
  const auto first_part = static_cast<std::uint32_t>(result.sends.size());
  const std::size_t pieces = gather.piece_share.size();
  const auto slot = [&](int rank, int piece) {
    return static_cast<std::size_t>(gather.representative(rank)) * pieces +
           static_cast<std::size_t>(piece);
  };
  std::vector<std::vector<std::uint32_t>> arrivals(static_cast<std::size_t>(gather.ranks()) *
                                                   pieces);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < first_part; ++i) {
    const Send& send = result.sends[i];
    if (barrier) {
      all.push_back(i);
    } else if (!send.is_join() && result.contains(send.chunks, send.to, send.chunks.piece)) {
      arrivals[slot(send.to, send.chunks.piece)].push_back(i);
    }
  }
  const auto joins = std::count_if(arrivals.begin(), arrivals.end(),
                                   [](const auto& sends) { return sends.size() > 1; });
  result.reserve(first_part + gather.sends.size() + static_cast<std::size_t>(joins) + barrier,
                 result.after.size() + gather.after.size() + 2 * gather.sends.size());
  if (barrier) {
    all = joined(result, 0, phases - 1, stages - 1, all);
  } else {
    for (std::size_t s = 0; s < arrivals.size(); ++s) {  // many arrivals meet in one join
      arrivals[s] =
          joined(result, static_cast<int>(s / pieces), phases - 1, stages - 1, arrivals[s]);
    }
  }
  const auto offset = static_cast<std::uint32_t>(result.sends.size());
  std::vector<std::uint32_t> waits;
  for (std::size_t i = 0; i < gather.sends.size(); ++i) {
    Send send = gather.sends[i];
    waits.clear();
    for (const std::uint32_t w : gather.waits_for(i)) waits.push_back(w + offset);
    if (barrier) {
      if (waits.empty()) waits = all;
    } else if (gather.contains(send.chunks, send.from, send.chunks.piece)) {
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
