#include "ir/order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace shardsim {

namespace {

// waits[i] are the ids that op i waits for.
OpGraph joins(const std::vector<std::vector<std::uint32_t>>& waits) {
  OpGraph graph;
  for (const auto& deps : waits) {
    graph.ops.push_back({});
    for (const std::uint32_t dep : deps) graph.deps.push_back(OpId{dep});
    graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
  }
  return graph;
}

bool respects(const std::vector<OpId>& order, const OpGraph& graph) {
  std::vector<std::size_t> place(graph.size(), graph.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[static_cast<std::size_t>(order[i])] = i;
  for (std::uint32_t op = 0; op < graph.size(); ++op) {
    if (place[op] == graph.size()) return false;  // missing
    for (const OpId dep : graph.waits_for(OpId{op}))
      if (place[static_cast<std::size_t>(dep)] >= place[op]) return false;
  }
  return order.size() == graph.size();
}

bool is_cycle(const std::vector<OpId>& path, const OpGraph& graph) {
  if (path.size() < 2 || path.front() != path.back()) return false;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const auto waits = graph.waits_for(path[i]);
    if (std::find(waits.begin(), waits.end(), path[i + 1]) == waits.end()) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("order: random graphs with shuffled ids") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t count) {
      return static_cast<std::uint32_t>(random() % count);
    };
    const std::uint32_t ops = 1 + below(30);
    std::vector<std::uint32_t> name(ops);
    for (std::uint32_t i = 0; i < ops; ++i) name[i] = i;
    std::shuffle(name.begin(), name.end(), random);
    std::vector<std::vector<std::uint32_t>> waits(ops);
    for (std::uint32_t op = 1; op < ops; ++op)
      for (std::uint32_t n = below(4); n > 0; --n) waits[name[op]].push_back(name[below(op)]);
    CHECK(respects(topological_order(joins(waits)), joins(waits)));
    CHECK(find_cycle(joins(waits)).empty());

    if (ops < 2) continue;  // an edge from first to last, and a chain back
    for (std::uint32_t op = 1; op < ops; ++op) waits[name[op]].push_back(name[op - 1]);
    waits[name[0]].push_back(name[ops - 1]);
    CHECK(topological_order(joins(waits)).empty());
    CHECK(is_cycle(find_cycle(joins(waits)), joins(waits)));
  }
}

TEST_CASE("order: small cycles") {
  CHECK(find_cycle(joins({{0}})) == std::vector{OpId{0}, OpId{0}});
  CHECK(find_cycle(joins({{1}, {0}})) == std::vector{OpId{0}, OpId{1}, OpId{0}});
  CHECK(find_cycle(joins({{}, {3}, {1}, {2}})) == std::vector{OpId{1}, OpId{3}, OpId{2}, OpId{1}});
  CHECK(topological_order(joins({})).empty());
}

TEST_CASE("order: a chain of two million ops, last id first") {
  constexpr std::uint32_t kOps = 2'000'000;
  OpGraph graph;
  graph.ops.resize(kOps);
  for (std::uint32_t op = 0; op + 1 < kOps; ++op) {
    graph.deps.push_back(OpId{op + 1});
    graph.dep_offset.push_back(op + 1);
  }
  graph.dep_offset.push_back(kOps - 1);
  const std::vector<OpId> order = topological_order(graph);
  REQUIRE(order.size() == kOps);
  CHECK(order.front() == OpId{kOps - 1});
  CHECK(order.back() == OpId{0});
  CHECK(respects(order, graph));
}

}  // namespace shardsim
