// CollectivePlan: who sends what to whom after what, without bytes and without a network.
//
// Ranks are points on the group's axes, row-major, first axis major. The data of a collective is
// cut into *chunks* named {origin, dest, piece}: all-gather, reduce-scatter and all-reduce cut the
// array into one shard per rank (dest = -1) and every shard into `pieces`; all-to-all has one chunk
// per ordered pair. piece_share[p] is the share of piece p in its shard; the shares sum to 1.
// A rooted collective cuts its array in the same way: a broadcast in pieces sends piece p of every
// shard together, a scatter the shards of a run of ranks.
//
//   all-gather on ring-oneway:3, step s:  rank r sends shard (r - s + 1) mod 3 to r + 1,
//   after the send of step s-1 that brought it; one piece of share 1; 3 * 2 sends
//
// A plan may be folded: it then holds only the sends that leave representative ranks (rank
// coordinates modulo `fold`), and `after` names the send's orbit. fold = sizes holds every send.
// The orbits are those of translations, or with `exclusive_or` of rank -> rank XOR constant.
// Bytes of a send = V * share; share is of the whole V (reference collectives.md §2).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

enum class Collective : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  broadcast,
  reduce,
  gather,
  scatter,
  collective_permute,
  barrier
};
std::string_view to_text(Collective);  // "all-gather"
// What V is, as a noun phrase: "the gathered array" (reference collectives.md section 2).
std::string_view meaning_of_v(Collective);
bool rooted(Collective);  // broadcast, reduce, gather, scatter

struct ChunkSet {
  int origin = 0;            // rank whose shard it is; for all-to-all the source
  int dest = -1;             // all-to-all: the destination rank; otherwise -1
  std::uint32_t spread = 0;  // bit i set: all origins along group axis i, not only this one's
  int piece = 0;
  int origins = 1;  // ranks origin, origin + 1, … along the axes of `run`, taken as one (modulo
                    // their number of ranks); none of these is in a spread
  std::uint32_t run = 0;  // bit i set: group axis i; 0: all axes
  int pieces = 1;         // piece, piece + 1, …
};

// A large plan has millions: the order of members and their types keep one to a cache line.
struct Send {
  int from = 0;
  int to = 0;  // from == to: a local join without bytes, unless the switch adds
  ChunkSet chunks = {};
  int phase = 0;     // sends of one phase start together and share links fairly
  double share = 0;  // of V; a barrier's messages have none
  int stage = 0;     // stages run one after the other; within one, every port has its own sends
  int since = -1;    // a join, see posted; -1: the start of the collective
  std::int16_t axis = -1;     // group axis of a one-hop send, or -1: routed by the network
  std::int8_t direction = 0;  // +1 or -1 on that axis
  bool reduces = false;  // it is added to a partial sum, the receiver's; otherwise stored as a copy
  bool keeps = false;    // of a send that reduces: the sender goes on with its partial sum, too (an
                         // exchange); what it sends is what has arrived in the sends it waits for
  bool posted = false;   // latency runs from the end of join `since`, not after `waits`
  // REQUIRES: from == to, reduces. Up to the switch and back down: the switch adds what all sends
  // of the phase that carry these chunks bring, and returns the sum, which each sender stores.
  bool switch_adds = false;

  void hop_along(int group_axis, int way) {
    axis = static_cast<std::int16_t>(group_axis);
    direction = static_cast<std::int8_t>(way);
  }
  bool is_join() const { return from == to && !switch_adds; }  // "all of `after` are done"
};
static_assert(sizeof(Send) == 64);

struct CollectivePlan {
  Collective kind = Collective::all_gather;
  std::string algorithm;
  std::vector<int> sizes;  // of the group's axes
  std::vector<int> fold;   // per group axis, divides sizes
  bool exclusive_or = false;
  int root = 0;  // of a rooted collective
  std::vector<double> piece_share;
  bool pipelined = false;  // pieces overlap: no stage ends before the next begins, so the fluid
                           // grain keeps the sends
  bool unordered = false;  // its sends say what the links carry, but not how long that takes
  std::vector<Send> sends;
  std::vector<std::uint32_t> after_offset = {
      0};  // CSR: sends[i] waits for after[after_offset[i]..)
  std::vector<std::uint32_t> after;

  int ranks() const;
  std::span<const std::uint32_t> waits_for(std::size_t send) const;
  // Appends a send and returns its index. REQUIRES: `waits` name earlier sends (so that sends are
  // in an order in which they can be played).
  std::uint32_t add(const Send& send, std::span<const std::uint32_t> waits);
  void reserve(std::size_t send_count, std::size_t wait_count);
  int phases() const;                        // 1 + the largest phase, 0 without sends
  int stages() const;                        // 1 + the largest stage, 0 without sends
  int representative(int rank) const;        // coordinates modulo fold
  std::vector<int> representatives() const;  // ranks, ascending

  // Bytes of a chunk set as a share of V: pieces times origins (all-to-all: one pair).
  double share_of(const ChunkSet& chunks) const;
  bool contains(const ChunkSet& chunks, int origin, int piece) const;
  ChunkSet whole(int piece) const;  // that piece of every shard
};

// Rank arithmetic on the group's axes (row-major).
std::vector<int> rank_coordinates(std::span<const int> sizes, int rank);
int rank_at(std::span<const int> sizes, std::span<const int> coordinates);  // taken modulo sizes
int shifted(std::span<const int> sizes, int rank, int axis, int by);

// The same plan backwards in time: every send reversed; copies become sums. An all-gather becomes
// the reduce-scatter that takes exactly as long, a broadcast the reduce, a scatter the gather.
CollectivePlan mirror(CollectivePlan plan);
// Reduce-scatter, then all-gather; a rank sends its own shard on once all contributions are in. Or
// reduce, then broadcast, piece by piece. With `barrier`, nothing of the second part begins before
// the first has ended everywhere.
CollectivePlan sequence(CollectivePlan scatter, const CollectivePlan& gather, bool barrier = false);

}  // namespace shardsim
