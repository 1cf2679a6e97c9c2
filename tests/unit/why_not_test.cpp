// Why an algorithm does not suit: the reason names what it is for, and that is true.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "../support/networks.h"
#include "plan/algorithms.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;
using shardsim::testing::small_networks;

namespace {

CollectiveAsk ask_of(Collective kind) {
  CollectiveAsk ask;
  ask.kind = kind;
  if (kind != Collective::barrier) ask.bytes = Bytes{1e6};
  return ask;
}

// "all-gather, all-reduce and barrier": the kinds named in "it is for …, not …"; none of another
// reason.
std::set<std::string> named_in(const std::string& reason) {
  const std::string begin = "it is for ";
  const std::size_t end = reason.find(", not ");
  std::set<std::string> names;
  if (!reason.starts_with(begin) || end == std::string::npos) return names;
  const std::string list = reason.substr(begin.size(), end - begin.size());
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t stop = std::min({list.find(", ", at), list.find(" and ", at), list.size()});
    names.insert(list.substr(at, stop - at));
    at = stop + (list.compare(stop, 2, ", ") == 0 ? 2 : 5);
  }
  return names;
}

}  // namespace

TEST_CASE("why not: what a row is said to be for is what it does somewhere") {
  std::map<std::string_view, std::set<std::string>> does;
  for (const std::string& name : small_networks()) {
    const Cluster c = cluster(name);
    const GroupNet net = group_net(c, all_axes(c));
    for (const AlgorithmRow& row : algorithms())
      for (const Collective kind : collective_kinds())
        if (row.why_not(ask_of(kind), net).empty())
          does[row.name].insert(std::string(to_text(kind)));
  }
  does["permutation"] = {"collective-permute"};  // with targets
  int reasons = 0;
  const Cluster c = cluster("ring:4");
  for (const AlgorithmRow& row : algorithms()) {
    for (const Collective kind : collective_kinds()) {
      CAPTURE(row.name);
      CAPTURE(to_text(kind));
      const std::string why = row.why_not(ask_of(kind), group_net(c, all_axes(c)));
      const std::set<std::string> named = named_in(why);
      if (named.empty()) {
        // All else is about the network, or says that there is nothing to gain.
        CHECK((why.empty() || does[row.name].contains(std::string(to_text(kind))) ||
               why.starts_with("it gains nothing")));
        continue;
      }
      CAPTURE(why);
      CHECK(named == does[row.name]);
      CHECK(why.ends_with(", not " + std::string(to_text(kind))));
      ++reasons;
    }
  }
  CHECK(reasons > 100);
}

TEST_CASE("why not: the network, in words that are true of it") {
  struct Row {
    const char *network, *algorithm;
    Collective kind;
    const char* reason;
  };
  using enum Collective;
  for (const Row& row : std::vector<Row>{
           {"line:2", "line", all_gather,
            "between two devices is one cable: ring-oneway passes it"},
           {"ring:2", "ring", all_gather, "an axis of size 2 has one link each way, not two"},
           {"line:8", "ring-whole", barrier, "the ends of a line are not joined"},
           {"switch:4 | rails:3", "recursive-doubling", all_gather,
            "without one switch for all, exchanges over long distances would share links"},
           {"switch:4 | rails:3", "binomial-tree", broadcast,
            "without one switch for all, the far sends of a tree would share links"},
           {"switch:4 | rails:3", "in-network", all_reduce,
            "only a switch that all ranks are at sees what they send, and can add it"},
           {"switch:4 | rails:3", "all-axes", all_reduce, "the group spans several levels"},
           {"switch:8", "hierarchical", all_reduce, "the group is inside one level"},
           {"mesh:3x3", "snake", all_reduce,
            "a mesh of odd axes has no ring through all devices: one axis must be even"},
           {"ring-oneway:4", "chain", all_reduce,
            "the result has no way back: the ring has links in one direction only"},
           {"ring-oneway:4", "chain", broadcast, ""},
           {"torus:4x4", "ring", all_gather, "it needs one axis, the group spans 2"}}) {
    CAPTURE(row.network);
    CAPTURE(row.algorithm);
    const Cluster c = cluster(row.network);
    CHECK(find_algorithm(row.algorithm)->why_not(ask_of(row.kind), group_net(c, all_axes(c))) ==
          row.reason);
  }
}
