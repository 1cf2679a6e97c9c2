#include "plan/doubling.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/file.h"

namespace shardsim {

Cores::Cores(int ranks) {
  while (2 * count <= ranks) {
    count *= 2;
    ++steps;
  }
  excess = ranks - count;
}

namespace {

using Sends = std::vector<std::uint32_t>;

// Writes exchanges into a plan, phase by phase. `latest[rank]`: the sends from and to a
// representative rank in its last phase.
class Exchanges {
 public:
  Exchanges(const PlanFrame& frame, Collective kind)
      : plan_(empty_plan(frame, kind)), cores_(plan_.ranks()), latest_(ranks()), now_(ranks()) {
    plan_.exclusive_or = cores_.excess == 0;
  }

  const CollectivePlan& plan() const { return plan_; }
  const Cores& cores() const { return cores_; }

  // The pairs of neighbours that hold the excess ranks: from the even to the odd one, or back.
  // `chunks` is asked for with the sender.
  void fold(bool in, const std::function<ChunkSet(int from)>& chunks, bool reduces) {
    if (cores_.excess == 0) return;
    for (int c = 0; c < cores_.excess; ++c) {
      const int from = 2 * c + (in ? 0 : 1);
      Send send{.from = from, .to = 2 * c + (in ? 1 : 0), .chunks = chunks(from)};
      send.reduces = reduces;
      add(send, latest_[static_cast<std::size_t>(send.from)]);
    }
    end_phase();
    ++stage_;
  }

  // Every pair of cores at a distance swaps. `chunks` is asked for with the sending and the
  // receiving core.
  void swap(int distance, const std::function<ChunkSet(int from, int to)>& chunks, bool reduces,
            bool keeps) {
    throw_if_interrupted();
    for (int core = 0; core < cores_.count; ++core) {
      const int rank = cores_.rank(core);
      if (plan_.representative(rank) != rank) continue;
      const int partner = core ^ distance;
      Send send{.from = rank, .to = cores_.rank(partner), .chunks = chunks(core, partner)};
      send.reduces = reduces;
      send.keeps = keeps;
      Sends waits = of(rank);
      const Sends& its = of(send.to);
      waits.insert(waits.end(), its.begin(), its.end());
      add(send, std::move(waits));
    }
    end_phase();
  }

  void next_stage() { ++stage_; }

 private:
  std::size_t ranks() const { return static_cast<std::size_t>(plan_.ranks()); }
  const Sends& of(int rank) const {
    return latest_[static_cast<std::size_t>(plan_.representative(rank))];
  }

  void add(Send send, Sends waits) {
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    send.share = plan_.share_of(send.chunks);
    send.phase = phase_;
    send.stage = stage_;
    const std::uint32_t index = plan_.add(send, waits);
    for (const int end : {send.from, send.to}) {
      Sends& sends = now_[static_cast<std::size_t>(plan_.representative(end))];
      if (sends.empty() || sends.back() != index) sends.push_back(index);
    }
  }

  void end_phase() {
    for (std::size_t rank = 0; rank < latest_.size(); ++rank) {
      if (!now_[rank].empty()) latest_[rank] = std::exchange(now_[rank], {});
    }
    ++phase_;
  }

  CollectivePlan plan_;
  Cores cores_;
  std::vector<Sends> latest_, now_;  // [ranks]
  int phase_ = 0;
  int stage_ = 0;
};

}  // namespace

CollectivePlan doubling_gather(const PlanFrame& frame) {
  Exchanges made(frame, Collective::all_gather);
  const Cores& cores = made.cores();
  const int ranks = made.plan().ranks();
  made.fold(
      true, [](int from) { return ChunkSet{.origin = from}; }, false);
  for (int distance = 1; distance < cores.count; distance *= 2) {
    made.swap(
        distance,
        [&](int core, int) {
          const int first = core / distance * distance;
          return ChunkSet{.origin = cores.first(first),
                          .origins = cores.first(first + distance) - cores.first(first)};
        },
        false, false);
  }
  made.next_stage();
  made.fold(
      false, [&](int from) { return ChunkSet{.origin = from, .origins = ranks - 1}; }, false);
  return made.plan();
}

CollectivePlan doubling_all_reduce(const PlanFrame& frame) {
  Exchanges made(frame, Collective::all_reduce);
  const ChunkSet all = made.plan().whole(0);
  made.fold(
      true, [&](int) { return all; }, true);
  for (int distance = 1; distance < made.cores().count; distance *= 2) {
    made.swap(
        distance, [&](int, int) { return all; }, true, true);
  }
  made.next_stage();
  made.fold(
      false, [&](int) { return all; }, false);
  return made.plan();
}

CollectivePlan halving_all_reduce(const PlanFrame& frame) {
  if (Cores(empty_plan(frame, Collective::all_reduce).ranks()).excess == 0) {
    const CollectivePlan gather = doubling_gather(frame);
    return sequence(mirror(gather), gather);
  }
  PlanFrame cut = frame;
  const Cores cores(empty_plan(frame, Collective::all_reduce).ranks());
  cut.piece_share.assign(static_cast<std::size_t>(cores.count), 1.0 / cores.count);
  Exchanges made(cut, Collective::all_reduce);
  ChunkSet all = made.plan().whole(0);
  all.pieces = cores.count;
  const auto block = [&](int core, int distance) {
    ChunkSet chunks = made.plan().whole(core / distance * distance);
    chunks.pieces = distance;
    return chunks;
  };
  made.fold(
      true, [&](int) { return all; }, true);
  for (int distance = cores.count / 2; distance > 0; distance /= 2) {
    made.swap(
        distance, [&](int, int to) { return block(to, distance); }, true, false);
  }
  made.next_stage();
  for (int distance = 1; distance < cores.count; distance *= 2) {
    made.swap(
        distance, [&](int from, int) { return block(from, distance); }, false, false);
  }
  made.next_stage();
  made.fold(
      false, [&](int) { return all; }, false);
  return made.plan();
}

CollectivePlan dissemination(const PlanFrame& frame) {
  CollectivePlan plan = empty_plan(frame, Collective::barrier);
  std::vector<Sends> latest(static_cast<std::size_t>(plan.ranks()));  // from and to a rank
  const std::vector<int> senders = plan.representatives();
  int phase = 0;
  for (std::size_t axis = 0; axis < plan.sizes.size(); ++axis) {
    for (int distance = 1; distance < plan.sizes[axis]; distance *= 2) {
      throw_if_interrupted();
      std::vector<Sends> now(latest.size());
      for (const int rank : senders) {
        Send send{.from = rank, .chunks = {.origin = rank}, .phase = phase};
        send.to = shifted(plan.sizes, rank, static_cast<int>(axis), distance);
        const std::uint32_t index = plan.add(send, latest[static_cast<std::size_t>(rank)]);
        for (const int end : {rank, plan.representative(send.to)}) {
          Sends& sends = now[static_cast<std::size_t>(end)];
          if (sends.empty() || sends.back() != index) sends.push_back(index);
        }
      }
      latest = std::move(now);
      ++phase;
    }
  }
  return plan;
}

}  // namespace shardsim
