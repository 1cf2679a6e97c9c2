// The proof of the proof: a sharded layer with one mistake in its collectives is seen to be wrong.
#include <algorithm>
#include <functional>
#include <iterator>

#include "../support/mutate_plan.h"
#include "proof.h"

namespace shardsim {
namespace {

using testing::ArrayPlay;
using testing::Block;
using testing::Case;
using testing::Devices;
using testing::double_send;
using testing::drop_send;
using testing::in_turn;
using testing::kLlama;
using testing::kProofPart;
using testing::messages;
using testing::model;
using testing::Network;
using testing::network;
using testing::PlannedMoves;
using testing::preset;
using testing::prove;
using testing::reference;
using testing::Reference;
using testing::shard_case;
using testing::Sharded;

struct Row {
  std::string name;
  Network network;
  std::vector<PresetSpec> presets;
  std::vector<std::string> tensors;
  int microbatches = 1;
};

std::vector<Row> rows() {
  const Network flat = network("torus:3x2", {{"X", {"x"}}, {"Y", {"y"}}});
  const Network square = network("torus:2x2", {{"X", {"x"}}, {"Y", {"y"}}});
  const Network star = network("switch:6", {{"X", {"2"}}, {"Y", {"3"}}});
  return {{"dp and fsdp", flat, {preset("dp", {"X"}), preset("fsdp", {"Y"})}, {}, 2},
          {"fsdp and tp and sp",
           flat,
           {preset("fsdp", {"X"}), preset("tp", {"Y"}), preset("sp", {})},
           {}},
          {"zero1 and tp", flat, {preset("zero1", {"X"}), preset("tp", {"Y"})}, {}, 2},
          {"hsdp", flat, {preset("hsdp", {"X", "Y"})}, {}},
          {"hsdp, each micro-batch", flat, {preset("hsdp", {"X", "Y"}), preset("sync", {})}, {}, 2},
          {"fsdp, once", flat, {preset("fsdp", {"X"}), preset("no_sync", {})}, {}, 2},
          {"fsdp over both axes", flat, {preset("fsdp", {"Y", "X"})}, {}},
          {"tp over both axes", square, {preset("tp", {"X", "Y"}), preset("sp", {})}, {}},
          // In order, the first rows give nothing to the gradients of later keys.
          {"cp in zigzag and dp",
           flat,
           {preset("cp", {"Y"}), preset("zigzag", {}), preset("dp", {"X"})},
           {},
           2},
          {"cp in zigzag and tp and sp",
           square,
           {preset("cp", {"X"}), preset("zigzag", {}), preset("tp", {"Y"}), preset("sp", {})},
           {}},
          {"dp on a switch", star, {preset("dp", {"X", "Y"})}, {}},
          {"norms over a cut dim",
           flat,
           {},
           {"In[B,T,D_X]", "Y1[B,T,D_X]", "X[B_Y,T,D_X]", "Y2[B_Y,T,D_X]", "Wnorm2[D_X]"}},
          {"all-to-all", flat, {}, {"G[B_Y,T,F]", "U[B,T,F_Y]", "H[B,T_Y,F]", "X[B_X,T,D]"}},
          {"permute", flat, {}, {"Wgate[D,F_{XY}]", "Win[D,F_{YX}]", "Wout[F_{XY},D]"}}};
}

// Everything divides: a mistake in padding alone would be none.
Case case_of(const Row& row) {
  return {model(kLlama, {{"D", 12}, {"F", 12}, {"N", 8}, {"K", 4}, {"H", 2}}),
          testing::batch(12, 4),
          row.network.mesh,
          row.presets,
          row.tensors,
          {}};
}

// A layer that is right, and what proves it.
struct Right {
  Row row;
  Sharded cut;
  Reference expected;

  std::string prove_with(const Sharded& layer, PlannedMoves::Spoil spoil = nullptr) const {
    PlannedMoves moves(row.network, in_turn(0), nullptr, std::move(spoil));
    return prove(layer, row.network.mesh, expected, std::ref(moves));
  }
};

void each_layer(const std::function<void(const Right&)>& visit) {
  for (const Row& row : rows()) {
    CAPTURE(row.name);
    const Right right{row, shard_case(case_of(row)),
                      reference(case_of(row), "Out", row.microbatches)};
    REQUIRE(messages(right.cut.problems) == std::vector<std::string>{});
    REQUIRE(right.prove_with(right.cut) == "");
    visit(right);
  }
}

// Calls visit(list, index) for every collective of a copy of the layer, which visit may change.
void each_collective(
    const Sharded& layer,
    const std::function<void(Sharded&, std::vector<ShardedCollective>&, std::size_t)>& visit) {
  int turn = 0;
  for (std::size_t s = 0; s < layer.result.steps.size(); ++s) {
    for (const auto list : {&ShardedStatement::before, &ShardedStatement::after}) {
      const std::size_t count = (layer.result.steps[s].*list).size();
      for (std::size_t i = 0; i < count; ++i) {
        if (turn++ % kProofPart != 0) continue;
        Sharded copy = layer;
        const ShardedCollective& c = (layer.result.steps[s].*list)[i];
        CAPTURE(layer.result.steps[s].text);
        CAPTURE(c.tensor);
        CAPTURE(to_text(c.kind));
        visit(copy, copy.result.steps[s].*list, i);
      }
    }
  }
}

TEST_CASE("proof of the proof: a layer without one of its collectives is wrong") {
  int seen = 0;
  each_layer([&](const Right& right) {
    each_collective(right.cut, [&](Sharded& layer, auto& list, std::size_t i) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(right.prove_with(layer) != "");
      ++seen;
    });
  });
  CHECK((kProofPart > 1 || seen > 100));
}

// Spoils the plan of the one collective that is marked by its reason.
using Change = std::function<CollectivePlan(const CollectivePlan&, std::size_t elements)>;
PlannedMoves::Spoil only_marked(const Change& change) {
  return [change](CollectivePlan& plan, const ShardedCollective& c, std::size_t elements) {
    if (c.reason == "marked") plan = change(plan, elements);
  };
}

// A random send that carries numbers: not a join, nor an empty piece of a small shard.
std::size_t random_send(const CollectivePlan& plan, std::size_t elements, std::mt19937& random,
                        bool that_reduces) {
  const ArrayPlay play(plan);
  for (;;) {
    const std::size_t which = random() % plan.sends.size();
    if (that_reduces && !plan.sends[which].reduces) continue;
    if (play.carried(which, elements) > 0) return which;
  }
}

TEST_CASE("proof of the proof: a collective that moves nothing, or lacks a send, is wrong") {
  std::mt19937 random(3);
  each_layer([&](const Right& right) {
    each_collective(right.cut, [&](Sharded& layer, auto& list, std::size_t i) {
      list[i].reason = "marked";
      const auto nothing = [](const CollectivePlan& plan, std::size_t) {
        return testing::without_sends(plan);
      };
      CHECK(right.prove_with(layer, only_marked(nothing)) != "");
      const auto lacking = [&](const CollectivePlan& plan, std::size_t elements) {
        return drop_send(plan, random_send(plan, elements, random, false));
      };
      // An array that is gathered whole and cut again may do without one send, not without any.
      bool missed = false;
      for (int tries = 0; tries < 8 && !missed; ++tries) {
        missed = right.prove_with(layer, only_marked(lacking)) != "";
      }
      CHECK(missed);
    });
  });
}

TEST_CASE("proof of the proof: a contribution that is added twice is wrong") {
  std::mt19937 random(5);
  int seen = 0;
  each_layer([&](const Right& right) {
    each_collective(right.cut, [&](Sharded& layer, auto& list, std::size_t i) {
      const bool adds =
          list[i].kind == Collective::reduce_scatter || list[i].kind == Collective::all_reduce;
      if (!adds) return;
      list[i].reason = "marked";
      const auto doubled = [&](const CollectivePlan& plan, std::size_t elements) {
        return double_send(plan, random_send(plan, elements, random, true));
      };
      CHECK(right.prove_with(layer, only_marked(doubled)) != "");
      ++seen;
    });
  });
  CHECK((kProofPart > 1 || seen > 20));
}

// Ranks counted minor axis first put whole blocks in wrong places. The sum of all devices has no
// places, so an all-reduce is the same over XY and YX; a permutation has its order from its
// layouts.
TEST_CASE("proof of the proof: a collective over its axes in the other order is wrong") {
  int seen = 0;
  each_layer([&](const Right& right) {
    each_collective(right.cut, [&](Sharded& layer, auto& list, std::size_t i) {
      if (list[i].axes.size() < 2) return;
      std::swap(list[i].axes[0], list[i].axes[1]);
      const bool has_places =
          list[i].kind != Collective::all_reduce && list[i].kind != Collective::collective_permute;
      CHECK((right.prove_with(layer) != "") == has_places);
      ++seen;
    });
  });
  CHECK((kProofPart > 1 || seen > 20));
}

// The other way round a permutation of 3 x 2 blocks makes another order.
TEST_CASE("proof of the proof: a permutation the other way is wrong") {
  int seen = 0;
  each_layer([&](const Right& right) {
    each_collective(right.cut, [&](Sharded& layer, auto& list, std::size_t i) {
      if (list[i].kind != Collective::collective_permute) return;
      list[i].reason = "marked";
      const auto back = [&](CollectivePlan plan, std::size_t) {
        for (Send& send : plan.sends) {
          std::swap(send.from, send.to);
          send.chunks.origin = send.from;
        }
        return plan;
      };
      CHECK(right.prove_with(layer, only_marked(back)) != "");
      ++seen;
    });
  });
  CHECK((kProofPart > 1 || seen > 1));
}

// I_XY and I_YX take the same room and hold different rows.
TEST_CASE("proof of the proof: a weight that lies as YX where XY is read is wrong") {
  const std::vector<Row> all = rows();
  const Row row = *std::find_if(all.begin(), all.end(),
                                [](const Row& r) { return r.name == "fsdp over both axes"; });
  const Sharded cut = shard_case(case_of(row));
  const Reference expected = reference(case_of(row), "Out");
  int seen = 0;
  for (const LayerTensor& tensor : cut.layer.tensors) {
    if (tensor.role != TensorRole::parameter) continue;
    CAPTURE(tensor.name);
    PlannedMoves moves(row.network, in_turn(0));
    const auto mover = [&](const Devices& devices, const ShardedCollective& c,
                           std::vector<Block> blocks) {
      if (c.tensor == tensor.name) {
        Sharding other = c.before;
        for (DimLayout& dim : other.dims) std::reverse(dim.axes.begin(), dim.axes.end());
        for (int d = 0; d < devices.count(); ++d) {
          blocks[static_cast<std::size_t>(d)] =
              devices.slice(d, expected.given[0].at(tensor.name), other);
        }
      }
      return moves(devices, c, blocks);
    };
    CHECK(prove(cut, row.network.mesh, expected, mover) != "");
    ++seen;
  }
  CHECK(seen == 9);  // the weights of the block
}

// The last piece of every shard is left out; that is no mistake where it is empty.
TEST_CASE("proof of the proof: wrong pieces and wrong bytes of a collective are seen") {
  int seen = 0;
  each_layer([&](const Right& right) {
    each_collective(right.cut, [&](Sharded& layer, auto& list, std::size_t i) {
      list[i].reason = "marked";
      const Bytes bytes = list[i].bytes;
      list[i].bytes = bytes * 1.01;
      CHECK(right.prove_with(layer) != "");
      list[i].bytes = bytes;
      if (list[i].kind == Collective::all_to_all) return;  // its chunks are pairs, not pieces
      std::size_t lost = 0;
      const auto thin = [&](CollectivePlan plan, std::size_t elements) {
        const ArrayPlay play(plan);
        for (std::size_t s = 0; s < plan.sends.size(); ++s) {
          const bool last = plan.sends[s].chunks.piece + 1 == std::ssize(plan.piece_share);
          if (last) lost += play.carried(s, elements);
        }
        plan.piece_share.back() = 0;
        return plan;
      };
      const std::string wrong = right.prove_with(layer, only_marked(thin));
      CHECK((wrong != "") == (lost > 0));
      if (lost > 0) ++seen;
    });
  });
  CHECK((kProofPart > 1 || seen > 100));
}

}  // namespace
}  // namespace shardsim
