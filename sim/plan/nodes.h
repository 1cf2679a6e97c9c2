// The nodes of a group over levels: what hangs on one switch, or grid, of its innermost level.
#pragma once

#include <vector>

#include "plan/algorithms.h"

namespace shardsim {

struct Nodes {
  explicit Nodes(const GroupNet& net);

  // The rank at a position of a node: both are row-major over their own axes.
  int rank(int node, int position) const;

  int level = 0;   // the innermost one of the group
  int inside = 1;  // ranks of a node
  int count = 1;

 private:
  std::vector<int> sizes_;
  std::vector<bool> is_inside_;  // [axes]
};

}  // namespace shardsim
