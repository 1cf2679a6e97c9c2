// GraphBuilder: appends ops to an OpGraph, interning routes. Only lowering uses it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/cluster.h"
#include "ir/op_graph.h"

namespace shardsim {

class GraphBuilder {
 public:
  // Names one NetLink for every link orbit of the cluster under the fold: index class * ports +
  // port; those of a graph, which is not folded, follow. A link that k translations map onto itself
  // carries every orbit of messages k times; its bandwidth is a k-th instead.
  GraphBuilder(const Cluster& cluster, const Fold& fold);

  std::uint32_t link_index(LinkId link) const;  // of the link's orbit
  const NetLink& link(std::uint32_t index) const { return graph_.links[index]; }
  // `links` are indices into OpGraph::links in any order, repeated per load.
  RouteId route(std::vector<std::uint32_t> links);
  std::span<const std::uint32_t> links_of(RouteId route) const { return graph_.route(route); }
  std::uint32_t origin(Origin origin);
  void reserve(std::size_t ops, std::size_t waits);  // for so many more
  OpId add(const Op& op, std::span<const OpId> waits);
  // One op that ends when all of `waits` have; repeated ids count once.
  OpId join(std::vector<OpId> waits, std::uint32_t device, std::uint32_t origin);
  void hold(const Hold& hold) { graph_.holds.push_back(hold); }
  void memory(const MemoryDelta& delta) { graph_.memory.push_back(delta); }
  std::uint32_t phases(std::uint32_t count);  // reserves `count` phase ids, returns the first

  const Cluster& cluster() const { return cluster_; }
  const Fold& fold() const { return fold_; }
  OpGraph take() { return std::move(graph_); }

 private:
  // `carries`: how often the link takes each orbit of messages.
  void add_link(LinkId link, std::string name, int carries, std::uint32_t owner);

  struct RouteHash {
    std::size_t operator()(const std::vector<std::uint32_t>& links) const;
  };

  Cluster cluster_;
  Fold fold_;
  OpGraph graph_;
  std::unordered_map<std::vector<std::uint32_t>, RouteId, RouteHash> routes_;
};

}  // namespace shardsim
