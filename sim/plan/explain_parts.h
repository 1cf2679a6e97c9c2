// What the forms of explain share.
#pragma once

#include <string>
#include <vector>

#include "ir/explanation.h"
#include "plan/collective_run.h"
#include "plan/explain.h"
#include "plan/price.h"

namespace shardsim {

std::vector<int> shape_of(const Layer& layer, const Mesh& mesh, const Sharding& sharding);

// Prices are left out when `priced` is false; `choice` is the algorithm of the run.
struct Pricing {
  const Layer& layer;
  const Mesh& mesh;
  const Cluster& cluster;
  bool priced = true;
};
PricedCollective price(const Pricing& on, const ShardedCollective& collective,
                       const AlgorithmChoice& choice);
// Appends each dim that its cuts do not divide, once; the bytes that move count the padding.
void note_padding(const Pricing& on, const Sharding& sharding, std::vector<std::string>& said);

// With the algorithm that has the smallest closed form.
PricedCollective price(const Pricing& on, const ShardedCollective& collective);

// Prices for choosing between plans. Without a bandwidth all links count alike; without a chip
// compute is left out.
PriceBook price_book(const ExplainSetting& setting);

// "mesh", "network" and "sizes" of a setting, and its notes.
void describe_setting(const ExplainSetting& setting, Explanation& explanation);

}  // namespace shardsim
