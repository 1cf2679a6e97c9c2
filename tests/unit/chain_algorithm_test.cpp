// Chains whose hops are unlike: the closed form adds them up.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "../support/networks.h"
#include "plan/collective_run.h"
#include "replay/replay.h"

using namespace shardsim;
using shardsim::testing::all_axes;
using shardsim::testing::cluster;
using shardsim::testing::simulated;

TEST_CASE("chain over levels: the way of the first piece, then the longest hop for each further") {
  const AlgorithmRow& row = *find_algorithm("chain");
  using enum Collective;
  for (const char* name : {"switch:4 | rails:3", "switch:8 | switch:2", "torus:3x2 | switch:3",
                           "switch:4 | rails:2 | switch:2 /2", "switch:4 | switch:4 /2",
                           "switch:2 | rails:2 | switch:3 /2", "switch:3 | switch:2 /3"}) {
    for (const Collective kind : {broadcast, reduce, all_reduce, barrier}) {
      for (const double bytes : {64.0, 67108864.0}) {
        for (const int root : {0, 5}) {
          CollectiveAsk ask{kind, kind == barrier ? Bytes{} : Bytes{bytes}};
          if (rooted(kind)) ask.root = root;
          CAPTURE(name);
          CAPTURE(to_text(kind));
          CAPTURE(bytes);
          CAPTURE(root);
          const Cluster made = cluster(name, Seconds{1e-6});
          const ClosedForm form = row.closed_form(ask, group_net(made, all_axes(made)));
          CHECK(!form.exact);
          // Hops that share an uplink pause now and then: the closed form is at most a quarter
          // high.
          const bool shared = std::string(name).find('/') != std::string::npos;
          const double ratio = form.time / simulated(made, ask, row);
          CHECK(ratio > 0.999);
          CHECK(ratio < (shared ? 1.25 : 1.001));
        }
      }
    }
  }
}
