// PriceBook: what a collective or a statement would cost on the run's own cluster, before anything
// is chosen. Collectives: the closed form of the cheapest algorithm that suits the hardware axes of
// the group (plan/algorithms.h), as if alone. Statements: the roofline of plan/cost.h.
//
//   PriceBook pricing(cluster, mesh, rates);
//   pricing.collective(Collective::all_gather, {"X"}, Bytes{64e6});     // seconds
//
// Answers are kept: a search asks for the same few again and again; and so are the ways that
// searches have found (plan/reshard.h), for arrays of one shape move alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/sharded_layer.h"
#include "plan/cost.h"
#include "plan/exchange.h"
#include "plan/reshard_moves.h"

namespace shardsim {

class PriceBook {
 public:
  PriceBook(Cluster cluster, Mesh mesh, ChipRates rates, std::optional<BytesPerSec> assumed = {});

  const Mesh& mesh() const { return mesh_; }
  const ChipRates& rates() const { return rates_; }
  // The bandwidth of every link where none is known: prices then rank plans by the bytes through
  // the busiest link, and are no times to show.
  std::optional<BytesPerSec> assumed() const { return assumed_; }

  // 0 for a group of one device. Not for permutations of layouts. `axes` are indices into
  // mesh().axes, at most 64; `bytes` is V (plan/algorithms.h).
  Seconds collective(Collective kind, std::span<const std::uint8_t> axes, Bytes bytes);
  // Blocks of so many bytes change places.
  Seconds permute(const std::vector<Exchange>& all, Bytes block);
  Seconds collective(const ShardedCollective& c);

  // What one device can take in at once from its links along some mesh axes (none: all of them):
  // bounds every reshard from below.
  BytesPerSec ingress(std::span<const int> axes);
  BytesPerSec slowest_link();

  // A way found by these prices; nullptr: not kept. `question`: all that the search depended on
  // beside them. Holds until the next call of keep_way().
  const ReshardPath* way(const std::string& question) const;
  void keep_way(const std::string& question, const ReshardPath& path);

 private:
  BytesPerSec ingress_of(std::span<const int> axes) const;
  BytesPerSec slowest() const;
  struct PermutePrice {
    Seconds of_byte, latency;  // of_byte: of a block of one byte
  };
  PermutePrice permute_price(const std::vector<Exchange>& part) const;

  Cluster cluster_;
  Mesh mesh_;
  ChipRates rates_;
  std::optional<BytesPerSec> assumed_;
  std::map<std::tuple<Collective, std::uint64_t, Bytes>, Seconds> known_;
  std::unordered_map<std::string, PermutePrice> permutes_;
  std::map<std::uint64_t, BytesPerSec> ingress_;  // by mask of mesh axes
  std::optional<BytesPerSec> slowest_;
  std::unordered_map<std::string, ReshardPath> ways_;
};

}  // namespace shardsim
