// The proof of the collective plans alone: every row of the algorithm table, on every small network
// and in every order of its axes, moves numbers as the collective promises; and mistakes are seen.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "../support/mutate_plan.h"
#include "../support/networks.h"
#include "../support/play_arrays.h"
#include "../support/proof_part.h"
#include "plan/algorithms.h"
#include "plan/play.h"

namespace shardsim {
namespace {

using testing::ArrayPlay;
using testing::cluster;
using testing::double_send;
using testing::drop_send;
using testing::Memories;
using testing::small_networks;
using testing::unfolded;

bool reduces(const CollectivePlan& plan) {
  return plan.kind == Collective::reduce_scatter || plan.kind == Collective::all_reduce ||
         plan.kind == Collective::reduce;
}

bool from_root(const CollectivePlan& plan) {
  return plan.kind == Collective::broadcast || plan.kind == Collective::scatter;
}

// Elements of V: shards of this size, or of no whole number of elements; two a pair.
std::size_t elements_of(const CollectivePlan& plan, std::size_t shard) {
  const auto n = static_cast<std::size_t>(plan.ranks());
  if (plan.kind == Collective::all_to_all) return n * n * 2;
  return plan.kind == Collective::all_reduce ? shard * n + 3 : shard * n;
}

// An element of V at a rank before; integers, so that sums are exact in any order.
double value(std::size_t rank, std::size_t element) {
  return static_cast<double>((rank + 1) * 1000 + element);
}

// What the collective promises as element e of V at a rank, NaN: nothing.
double promised(const CollectivePlan& plan, std::size_t rank, std::size_t e, std::size_t elements,
                int shift) {
  const auto n = static_cast<std::size_t>(plan.ranks());
  const std::size_t origin = e * n / elements;
  double sum = 0;
  for (std::size_t r = 0; r < n; ++r) sum += value(r, e);
  const auto root = static_cast<std::size_t>(plan.root);
  switch (plan.kind) {
    case Collective::all_gather:
      return value(origin, e);
    case Collective::all_reduce:
      return sum;
    case Collective::reduce_scatter:
      return origin == rank ? sum : std::nan("");
    case Collective::all_to_all:
      return e * n * n / elements % n == rank ? value(origin, e) : std::nan("");
    case Collective::broadcast:
      return value(root, e);
    case Collective::reduce:
      return rank == root ? sum : std::nan("");
    case Collective::gather:
      return rank == root ? value(origin, e) : std::nan("");
    case Collective::scatter:
      return origin == rank ? value(root, e) : std::nan("");
    case Collective::collective_permute:
    case Collective::barrier:
      break;
  }
  const int last = static_cast<int>(plan.sizes.size()) - 1;
  const int source = shifted(plan.sizes, static_cast<int>(rank), last, -shift);
  return static_cast<int>(origin) == source ? value(origin, e) : std::nan("");
}

// Plays the plan and compares; what is wrong, or "". Deal 0 is the order of the plan, the others
// are random ones.
std::string execute(const CollectivePlan& plan, std::uint32_t deal, int shift = 0,
                    std::size_t shard = 7) {
  const auto n = static_cast<std::size_t>(plan.ranks());
  const std::size_t elements = elements_of(plan, shard);
  Memories memories(n, std::vector<double>(elements, std::nan("")));
  for (std::size_t rank = 0; rank < n; ++rank) {
    for (std::size_t e = 0; e < elements; ++e) {
      const bool has = from_root(plan) ? static_cast<int>(rank) == plan.root
                                       : reduces(plan) || e * n / elements == rank;
      if (has) memories[rank][e] = value(rank, e);
    }
  }
  const ArrayPlay player(plan);
  std::mt19937 random(deal);
  const std::string wrong =
      deal == 0 ? player.in_order(memories) : player.shuffled(memories, random);
  if (!wrong.empty()) return wrong;
  for (std::size_t rank = 0; rank < n; ++rank) {
    for (std::size_t e = 0; e < elements; ++e) {
      const double want = promised(plan, rank, e, elements, shift);
      if (std::isnan(want) || memories[rank][e] == want) continue;
      return "rank " + std::to_string(rank) + " ends with " + std::to_string(memories[rank][e]) +
             " as element " + std::to_string(e) + ", not " + std::to_string(want);
    }
  }
  return "";
}

enum class Orders { given, all };

// Calls visit(plan, shift) for every row that suits, on the axes of the network as given or in
// every order.
void each_plan(const std::string& topology, bool folded, Orders orders,
               const std::function<void(const CollectivePlan&, int)>& visit) {
  const Cluster c = cluster(topology);
  std::vector<int> axes = testing::all_axes(c);
  do {
    const GroupNet net = group_net(c, axes);
    const Fold orbits = Fold::orbits(c);
    const auto fold_of = [&](const AlgorithmRow& row, const CollectiveAsk& ask) {
      std::vector<int> fold = row.fold(ask, net);
      for (std::size_t i = 0; i < fold.size(); ++i) {
        const auto axis = static_cast<std::size_t>(net.axes[i].axes.front());
        fold[i] = std::lcm(fold[i], orbits.step[axis]);
      }
      return fold;
    };
    for (const Collective kind : collective_kinds()) {
      for (const int shift : {1, 2}) {
        CollectiveAsk ask{kind, Bytes{1e6}, shift};
        if (shift > 1 && kind != Collective::collective_permute) continue;
        if (kind == Collective::barrier) continue;  // moves no numbers
        if (rooted(kind)) ask.root = net.ranks() / 2;
        for (const AlgorithmRow& row : algorithms()) {
          if (!row.why_not(ask, net).empty()) continue;
          ask.pieces = row.pieces == nullptr ? 0 : 2;
          const CollectivePlan plan = row.plan(ask, net, folded ? fold_of(row, ask) : net.sizes());
          CAPTURE(axes);
          CAPTURE(kind);
          CAPTURE(shift);
          CAPTURE(row.name);
          visit(plan, shift);
        }
      }
    }
  } while (orders == Orders::all && std::next_permutation(axes.begin(), axes.end()));
}

TEST_CASE("proof: every plan moves the numbers that its collective promises, in any order") {
  int plans = 0;
  for (const std::string& topology : small_networks()) {
    CAPTURE(topology);
    each_plan(topology, false, Orders::all, [&](const CollectivePlan& plan, int shift) {
      ++plans;
      for (const std::uint32_t deal : {0u, 1u, 2u}) CHECK(execute(plan, deal, shift) == "");
    });
  }
  CHECK(plans > 500);
}

TEST_CASE("proof: a folded plan stands for the sends of its orbits") {
  for (const std::string& topology : small_networks()) {
    CAPTURE(topology);
    each_plan(topology, true, Orders::all, [&](const CollectivePlan& plan, int shift) {
      const CollectivePlan all = unfolded(plan);
      CHECK(execute(all, 0, shift) == "");
      CHECK(execute(all, 1, shift) == "");
      const bool small = plan.ranks() <= 8;  // sets are slow
      if (small && plan.kind != Collective::collective_permute) CHECK(play(all) == "");
    });
  }
}

const std::vector<std::string> kMutated = {"ring:2",        "ring:3",    "ring:5",
                                           "ring-oneway:4", "switch:4",  "torus:2x2",
                                           "torus:3x2",     "torus:3x3", "torus:2x2x2"};

// Calls visit(plan, index, shift) for every send of every plan on the networks above; joins carry
// nothing and are left out, and the root of a broadcast needs nothing that comes to it.
void each_send(const std::function<void(const CollectivePlan&, std::size_t, int)>& visit) {
  for (const std::string& topology : kMutated) {
    CAPTURE(topology);
    each_plan(topology, false, Orders::given, [&](const CollectivePlan& plan, int shift) {
      for (std::size_t i = 0; i < plan.sends.size(); i += testing::kProofPart) {
        CAPTURE(i);
        const bool needless = plan.kind == Collective::broadcast && plan.sends[i].to == plan.root;
        if (!plan.sends[i].is_join() && !needless) visit(plan, i, shift);
      }
    });
  }
}

TEST_CASE("proof of the proof: a plan without one of its sends is wrong") {
  int sends = 0;
  each_send([&](const CollectivePlan& plan, std::size_t i, int shift) {
    ++sends;
    CHECK(execute(drop_send(plan, i), 0, shift) != "");
  });
  CHECK(sends > 1000 / testing::kProofPart);
}

// Adding twice is wrong. Storing the same numbers twice is harmless to the numbers by construction,
// and is seen on sets: it costs bytes.
TEST_CASE("proof of the proof: a send made twice is wrong") {
  each_send([&](const CollectivePlan& plan, std::size_t i, int shift) {
    const CollectivePlan twice = double_send(plan, i);
    CHECK((execute(twice, 0, shift) != "") == plan.sends[i].reduces);
    const bool seen_on_sets = plan.kind == Collective::all_gather ||
                              plan.kind == Collective::all_to_all ||
                              plan.kind == Collective::all_reduce || plan.sends[i].reduces;
    if (seen_on_sets) CHECK(play(twice) != "");
  });
}

TEST_CASE("proof of the proof: a send of another rank's chunk, or to another rank, is wrong") {
  each_send([&](const CollectivePlan& plan, std::size_t i, int shift) {
    const int n = plan.ranks();
    if (n == 2) return;  // there is no third rank
    CollectivePlan other = plan;
    if (plan.share_of(plan.sends[i].chunks) == 1) return;  // it carries all there is
    int& origin = other.sends[i].chunks.origin;
    bool changed = false;
    for (std::size_t a = 0; a < plan.sizes.size(); ++a) {  // an axis that the send tells apart
      if ((plan.sends[i].chunks.spread >> a & 1u) != 0) continue;
      origin = shifted(plan.sizes, origin, static_cast<int>(a), 1);
      changed = true;
      break;
    }
    ChunkSet& chunks = other.sends[i].chunks;
    const int pieces = static_cast<int>(plan.piece_share.size());
    if (!changed && chunks.pieces < pieces) {  // all shards, but not all pieces
      chunks.piece = (chunks.piece + 1) % (pieces - chunks.pieces + 1);
      changed = true;
    }
    if (changed) CHECK(execute(other, 0, shift) != "");
    if (plan.sends[i].reduces) return;  // a partial sum may reach its owner by any way
    CollectivePlan astray = plan;
    int& to = astray.sends[i].to;
    to = (to + 1) % n;
    if (to == astray.sends[i].from) to = (to + 1) % n;
    CHECK(execute(astray, 0, shift) != "");
  });
}

TEST_CASE("proof of the proof: wrong shares of pieces and of sends are seen") {
  for (const std::string& topology : kMutated) {
    CAPTURE(topology);
    each_plan(topology, false, Orders::given, [&](const CollectivePlan& plan, int shift) {
      if (plan.kind == Collective::all_to_all) return;  // its chunks are pairs, not pieces
      if (plan.sends.empty()) return;
      for (std::size_t p = 0; p < plan.piece_share.size(); ++p) {
        CollectivePlan less = plan;
        less.piece_share[p] *= 0.6;  // the pieces no longer fill the shard
        CHECK(execute(less, 0, shift, 60) != "");
      }
    });
  }
  each_send([](const CollectivePlan& plan, std::size_t i, int shift) {
    CollectivePlan dear = plan;
    dear.sends[i].share *= 4;  // more than one element a chunk
    CHECK(execute(dear, 0, shift, 60) != "");
  });
}

TEST_CASE("proof of the proof: a switch that adds needs all ranks, at once, in one phase") {
  const Cluster c = cluster("switch:4");
  const GroupNet net = group_net(c, testing::all_axes(c));
  const CollectiveAsk ask{Collective::all_reduce, Bytes{1e6}, 1};
  const CollectivePlan plan = find_algorithm("in-network")->plan(ask, net, net.sizes());
  REQUIRE(plan.sends.size() == 4);
  REQUIRE(execute(plan, 1) == "");
  CollectivePlan apart = plan;
  apart.sends[2].phase = 1;
  for (const std::uint32_t deal : {0u, 1u}) CHECK(execute(apart, deal) != "");
  CHECK(play(apart) != "");
  CollectivePlan waits = testing::without_sends(plan);
  for (std::uint32_t i = 0; i < 4; ++i) {
    waits.add(plan.sends[i], i == 3 ? std::vector<std::uint32_t>{0} : std::vector<std::uint32_t>{});
  }
  CHECK(execute(waits, 1) == "the switch waits for a send that waits for its sum");
}

// Nothing but `after` keeps a rank from sending on what it has not got yet.
TEST_CASE("proof of the proof: sends that wait for nothing are wrong in some order") {
  int seen = 0;
  for (const char* topology : {"ring:5", "torus:3x3", "torus:4x2"}) {
    CAPTURE(topology);
    each_plan(topology, false, Orders::given, [&](const CollectivePlan& plan, int shift) {
      if (plan.kind == Collective::all_to_all || plan.kind == Collective::collective_permute)
        return;
      if (plan.kind == Collective::gather || plan.kind == Collective::scatter) return;  // straight
      CollectivePlan hasty = plan;
      hasty.after.clear();
      std::fill(hasty.after_offset.begin(), hasty.after_offset.end(), 0u);
      bool wrong = false;
      for (std::uint32_t deal = 1; deal < 6; ++deal)
        wrong = wrong || execute(hasty, deal, shift) != "";
      CHECK(wrong);
      ++seen;
    });
  }
  CHECK(seen > 10);
}

}  // namespace
}  // namespace shardsim
