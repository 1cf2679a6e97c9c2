// What collectives and transfers take by themselves in the ideal engine, each lowered and replayed
// once however often it is asked for, by one run or by thousands of a sweep.
//
// A rank of a pipeline sends among its own devices at a time; the ranks' times differ only where
// the network does along their axes.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/op_graph.h"
#include "ir/timeline.h"
#include "plan/lower_collective.h"
#include "plan/numbered.h"

namespace shardsim {

class AloneTimes {
 public:
  using Replay = Timeline (*)(const OpGraph&);

  // `ideal`: the ideal engine (replay/replay.h, which no plan may include).
  explicit AloneTimes(Replay ideal) : ideal_(ideal) {}

  struct Network {
    Cluster cluster;
    Fold fold;
    std::vector<int> ranks;  // axes of the cluster that the ranks of the pipeline lie along
    Grain grain = Grain::flow;

    bool operator==(const Network&) const = default;
  };
  // The network that questions are about from here on.
  void use(const Network& network);

  // From when the last device of a group has come to the end of the collective, in the group of
  // the rank in which it takes least. 0 where nothing is sent.
  Seconds collective(const CollectiveCall& call, int rank);
  // From every device of a rank to the one at its place on another.
  Seconds transfer(int from, int to, Bytes bytes);

 private:
  // Number of the network; V, rank, the rank that a transfer goes to, kind, algorithm, axes, shift
  // and targets of the call: what differs most comes first.
  using Key = std::tuple<std::size_t, Bytes, int, int, Collective, std::string_view,
                         std::vector<int>, int, std::vector<int>>;

  const Network& network() const { return networks_.at(at_); }
  Seconds replay_collective(const CollectiveCall& call, int rank) const;
  Seconds replay_transfer(int from, int to, Bytes bytes) const;
  template <class Find>
  Seconds known(Key key, Find find);

  Replay ideal_;
  Numbered<Network> networks_{256};
  std::size_t at_ = 0;
  bool alike_ = false;  // going on by a rank is a symmetry
  std::map<Key, Seconds> known_;
};

}  // namespace shardsim
