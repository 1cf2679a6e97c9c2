#include "ir/order.h"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/topological_sort.hpp>
#include <cstdint>
#include <iterator>
#include <utility>

namespace shardsim {

namespace {

// Vertex = op, edge = "waits for".
using WaitGraph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;

WaitGraph wait_graph(const OpGraph& graph) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  edges.reserve(graph.deps.size());
  for (std::uint32_t op = 0; op < graph.size(); ++op)
    for (const OpId dep : graph.waits_for(OpId{op}))
      edges.emplace_back(op, static_cast<std::uint32_t>(dep));
  return {boost::edges_are_sorted, edges.begin(), edges.end(),
          static_cast<std::uint32_t>(graph.size())};
}

// Most graphs are built front to back: then the ids are an order already, and no cycle is possible.
bool ids_are_an_order(const OpGraph& graph) {
  for (std::uint32_t op = 0; op < graph.size(); ++op)
    for (const OpId dep : graph.waits_for(OpId{op}))
      if (dep >= OpId{op}) return false;
  return true;
}

// Thrown to leave the search at the first edge that closes a cycle.
struct ClosingEdge {
  std::uint32_t from = 0, to = 0;
};

class CycleSeeker : public boost::default_dfs_visitor {
 public:
  explicit CycleSeeker(std::vector<std::uint32_t>& parent) : parent_(&parent) {}

  template <class Edge>
  void tree_edge(Edge edge, const WaitGraph& g) {
    (*parent_)[target(edge, g)] = source(edge, g);
  }
  template <class Edge>
  void back_edge(Edge edge, const WaitGraph& g) {
    throw ClosingEdge{source(edge, g), target(edge, g)};
  }

 private:
  std::vector<std::uint32_t>* parent_;
};

}  // namespace

std::vector<OpId> topological_order(const OpGraph& graph) {
  std::vector<OpId> order(graph.size());
  if (ids_are_an_order(graph)) {
    for (std::uint32_t op = 0; op < order.size(); ++op) order[op] = OpId{op};
    return order;
  }
  WaitGraph waits = wait_graph(graph);
  std::vector<std::uint32_t> found;
  found.reserve(graph.size());
  try {
    // Boost emits a vertex after all its targets: here, after all that the op waits for.
    boost::topological_sort(waits, std::back_inserter(found));
  } catch (const boost::not_a_dag&) {
    return {};
  }
  std::transform(found.begin(), found.end(), order.begin(), [](auto op) { return OpId{op}; });
  return order;
}

std::vector<OpId> find_cycle(const OpGraph& graph) {
  if (ids_are_an_order(graph)) return {};
  std::vector<std::uint32_t> parent(graph.size(), 0);
  try {
    boost::depth_first_search(wait_graph(graph), boost::visitor(CycleSeeker(parent)));
  } catch (const ClosingEdge& closing) {
    std::vector<OpId> cycle = {OpId{closing.to}};
    for (std::uint32_t op = closing.from; op != closing.to; op = parent[op])
      cycle.push_back(OpId{op});
    cycle.push_back(OpId{closing.to});
    std::reverse(cycle.begin(), cycle.end());  // from "is waited for by" to "waits for"
    return cycle;
  }
  return {};
}

}  // namespace shardsim
