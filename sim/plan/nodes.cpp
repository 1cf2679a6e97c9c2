#include "plan/nodes.h"

#include <algorithm>

namespace shardsim {

Nodes::Nodes(const GroupNet& net) : level(net.axes[0].level), sizes_(net.sizes()) {
  for (const GroupAxis& axis : net.axes) level = std::min(level, axis.level);
  for (const GroupAxis& axis : net.axes) {
    is_inside_.push_back(axis.level == level);
    (axis.level == level ? inside : count) *= axis.size;
  }
}

int Nodes::rank(int node, int position) const {
  std::vector<int> at(sizes_.size());
  for (std::size_t i = sizes_.size(); i-- > 0;) {
    int& rest = is_inside_[i] ? position : node;
    at[i] = rest % sizes_[i];
    rest /= sizes_[i];
  }
  return rank_at(sizes_, at);
}

}  // namespace shardsim
