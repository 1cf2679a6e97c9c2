#include "plan/reshard_search.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <unordered_map>

#include "base/file.h"
#include "plan/permute.h"

namespace shardsim {
namespace {

// Ties between sums of prices: weights far above rounding and far below any real difference, in
// parts of the time that the whole array takes on the slowest link.
constexpr double kByteWeight = 1e-8;
constexpr double kStepWeight = 1e-10;
constexpr double kRowWeight = 1e-12;
constexpr double kMostWeight = 1e-5;       // of a way: above all of these together
constexpr std::size_t kAlwaysPriced = 24;  // permutations, however many devices: all of four axes
constexpr double kOutOfPlace = 1e6;        // a dive's, above every price

std::vector<std::string> names(const Mesh& mesh, const AxisList& axes) {
  std::vector<std::string> result;
  for (const std::size_t a : axes) result.push_back(mesh.axes[a].name);
  return result;
}

// What a search asks of layouts again and again: block sizes, and what a device still lacks.
class Blocks {
 public:
  Blocks(const ReshardTask& task, const ReshardScope& scope)
      : mesh_(task.mesh()), element_{task.array.element_bytes} {
    for (const DimLayout& dim : task.from.dims) dims_.push_back(task.layer.dim_size(dim.dim));
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
      if ((scope.usable >> a & 1u) != 0) usable_.push_back(static_cast<int>(a));
    }
    ingress_ = task.pricing.ingress(usable_);
    target_ = placed(scope.target, dims_.size(), mesh_.axes.size());
  }

  int group(const AxisList& axes) const {
    int n = 1;
    for (const std::size_t a : axes) n *= mesh_.axes[a].size;
    return n;
  }
  Bytes local(const PlacedAxes& at) const {
    Bytes bytes = element_;
    for (std::size_t d = 0; d < dims_.size(); ++d) bytes = bytes * rows(d, at.dims[d]);
    return bytes;
  }
  // Blocks with padding are of different sizes in different orders of the axes: they cannot change
  // places.
  bool can_permute(const PlacedAxes& before, const PlacedAxes& after) const {
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      const AxisList& axes = before.dims[d];
      if (axes != after.dims[d] && dims_[d] % group(axes) != 0) return false;
    }
    return true;
  }
  Bytes whole() const { return local(PlacedAxes{}); }
  // Axes that some dim has and should not, or should have and has not, and sums to reduce.
  int out_of_place(const PlacedAxes& at) const {
    std::size_t n = 0;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      n += at.dims[d].size() + target_.dims[d].size() - 2 * common(at.dims[d], target_.dims[d]);
    }
    for (const int axis : at.unreduced) n += target_.unreduced.has(axis) ? 0u : 1u;
    return static_cast<int>(n);
  }
  // What some device must still take in over its links: the part of its block of the target that
  // it does not hold; all of it while partial sums are open.
  Seconds missing(const PlacedAxes& at) const {
    Bytes here = element_;
    Bytes wanted = element_;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      here = here * overlap(d, at.dims[d]);
      wanted = wanted * rows(d, target_.dims[d]);
    }
    for (const int axis : at.unreduced) {
      const bool kept = target_.unreduced.has(axis);
      if (!kept && mesh_.axes[static_cast<std::size_t>(axis)].size > 1) here = Bytes{};
    }
    return std::max(Bytes{}, wanted - here) / ingress_;
  }

 private:
  double rows(std::size_t d, const AxisList& axes) const {
    return local_dim(dims_[d], group(axes)).size;
  }
  static std::size_t common(const AxisList& a, const AxisList& b) {
    std::size_t n = 0;
    while (n < a.size() && n < b.size() && a.at[n] == b.at[n]) ++n;
    return n;
  }
  // Rows of a dim that the worst device holds and will hold.
  double overlap(std::size_t d, const AxisList& axes) const {
    const AxisList& target = target_.dims[d];
    const std::size_t same = common(axes, target);
    if (group(axes.last(axes.size() - same)) == 1) return rows(d, target);
    if (group(target.last(target.size() - same)) == 1) return rows(d, axes);
    return 0;
  }

  const Mesh& mesh_;
  Bytes element_;
  std::vector<int> dims_;
  std::vector<int> usable_;
  PlacedAxes target_;
  BytesPerSec ingress_;
};

// A* over packed layouts. A permutation enters the queue with a bound and is priced when it comes
// up: its closed form looks at every link. At a limit, the cheapest way that came into sight.
class Search {
 public:
  Search(const ReshardTask& task, const ReshardScope& scope, PackedLayout from,
         const SearchLimits& limits, Seconds most)
      : task_(task), scope_(scope), from_(from), limits_(limits), blocks_(task, scope) {
    whole_ = blocks_.whole();
    unit_ = whole_ / task.pricing.slowest_link();
    limits_.below = std::min(limits_.below, most / unit_ * (1 + 1e-9) + kMostWeight);
    const auto devices = static_cast<std::size_t>(scope.mesh.size_of(scope.mesh.names()));
    most_priced_ = std::clamp(limits.sends / devices, kAlwaysPriced, limits.permutations);
  }

  SearchResult run() {
    queue_.push({0, 0, next_++, -1, false, {from_, 0, {}, -1, -1}});
    while (!queue_.empty()) {
      throw_if_interrupted();
      const Item item = queue_.top();
      queue_.pop();
      if (settled_.contains(item.step.after)) continue;
      if (item.unpriced) {
        if (is_reached(item.step.after, item.cost)) continue;
        if (++priced_ > most_priced_) return best_in_sight();
        price_permute(item);
        continue;
      }
      settled_.emplace(item.step.after, static_cast<int>(nodes_.size()));
      nodes_.push_back({item.cost, item.parent, item.step});
      if (item.step.after == scope_.target) {
        return {path(item.parent, item.step), item.cost, limits_.dive};
      }
      if (at_limit()) return best_in_sight();
      expand(static_cast<int>(nodes_.size()) - 1);
      looked_at_ += steps_.size();
    }
    return {};
  }

 private:
  struct Node {
    double cost = 0;
    int parent = -1;
    ReshardStep step;
  };
  struct Item {
    double bound = 0;  // of the whole way
    double cost = 0;   // so far
    std::size_t order = 0;
    int parent = -1;
    bool unpriced = false;
    ReshardStep step;
    bool operator<(const Item& o) const {  // of a queue that serves the largest
      return bound != o.bound ? bound > o.bound : order > o.order;
    }
  };

  SearchResult best_in_sight() const {
    if (!in_sight_) return {std::nullopt, 0, true};
    return {path(in_sight_->parent, in_sight_->step), in_sight_->cost, true};
  }

  bool at_limit() const { return nodes_.size() > limits_.layouts || looked_at_ > limits_.steps; }

  PlacedAxes places(PackedLayout layout) const {
    return placed(layout, task_.from.dims.size(), scope_.mesh.axes.size());
  }

  double cost_of(const ReshardStep& step, Seconds price, Bytes bytes) const {
    return price / unit_ + kByteWeight * (bytes / whole_) + kStepWeight + kRowWeight * step.row;
  }

  bool is_reached(PackedLayout layout, double cost) const {  // for no more than that
    const auto known = best_.find(layout);
    return known != best_.end() && known->second <= cost;
  }

  void push(double cost, const PlacedAxes& at, int parent, bool unpriced, const ReshardStep& step) {
    if (!unpriced) {
      const auto [known, fresh] = best_.try_emplace(step.after, cost);
      if (!fresh && known->second <= cost) return;
      known->second = cost;
    }
    const double bound = cost + blocks_.missing(at) / unit_ * (1 - 1e-9);
    if (bound >= limits_.below) return;
    const double place = limits_.dive ? blocks_.out_of_place(at) * kOutOfPlace : 0;
    const Item item{bound + place, cost, next_++, parent, unpriced, step};
    queue_.push(item);
    const bool there = !unpriced && step.after == scope_.target;
    if (there && (!in_sight_ || cost < in_sight_->cost)) in_sight_ = item;
  }

  void expand(int parent) {
    const Node node = nodes_[static_cast<std::size_t>(parent)];
    const PlacedAxes at = places(node.step.after);
    const Bytes before = blocks_.local(at);
    steps_.clear();
    for (const ReshardPrimitive& row : reshard_primitives()) {
      row.steps(scope_, node.step.after, at, steps_);
    }
    for (const ReshardStep& step : steps_) {
      if (settled_.contains(step.after) || is_reached(step.after, node.cost)) continue;
      const std::optional<Collective> kind =
          reshard_primitives()[static_cast<std::size_t>(step.row)].kind;
      const PlacedAxes then = places(step.after);
      const int devices = blocks_.group(step.axes);
      if (kind == Collective::collective_permute) {
        if (!blocks_.can_permute(at, then)) continue;
        // Every mover takes in a block.
        const Seconds least = before / task_.pricing.ingress({}) * (1 - 1e-9);
        push(node.cost + least / unit_ + kStepWeight, then, parent, true, step);
      } else if (!kind || devices == 1) {
        push(node.cost + kRowWeight, then, parent, false, step);
      } else {
        PlacedAxes sent = at;  // an all-to-all's: cut on both dims
        if (step.to_dim >= 0) {
          const auto to = static_cast<std::size_t>(step.to_dim);
          sent.dims[to] = then.dims[to];
        }
        const Bytes bytes = reshard_bytes(*kind, blocks_.local(sent), blocks_.local(then), devices);
        const Seconds price = task_.pricing.collective(*kind, step.axes, bytes);
        push(node.cost + cost_of(step, price, bytes), then, parent, false, step);
      }
    }
  }

  void price_permute(const Item& item) {
    const Node& parent = nodes_[static_cast<std::size_t>(item.parent)];
    const PlacedAxes before = places(parent.step.after);
    const PlacedAxes after = places(item.step.after);
    const std::vector<Exchange> moved = exchanges(before, after);
    const Bytes block = blocks_.local(before);
    const Seconds price = task_.pricing.permute(moved, block);
    const Bytes bytes = block * blocks_.group(moved_axes(moved));
    push(parent.cost + cost_of(item.step, price, bytes), after, item.parent, false, item.step);
  }

  // To the node `parent`, then this step.
  ReshardPath path(int parent, ReshardStep step) const {
    ReshardPath steps;
    while (parent >= 0) {
      const Node& node = nodes_[static_cast<std::size_t>(parent)];
      steps.emplace_back(node.step.after, step);
      step = node.step;
      parent = node.parent;
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const ReshardTask& task_;
  const ReshardScope& scope_;
  PackedLayout from_;
  SearchLimits limits_;
  Blocks blocks_;
  Bytes whole_;
  Seconds unit_;
  std::vector<ReshardStep> steps_;
  std::vector<Node> nodes_;
  std::unordered_map<PackedLayout, int> settled_;
  std::unordered_map<PackedLayout, double> best_;
  std::priority_queue<Item> queue_;
  std::optional<Item> in_sight_;  // the cheapest that ends at the target
  std::size_t next_ = 0;
  std::size_t priced_ = 0;  // permutations
  std::size_t most_priced_ = 0;
  std::size_t looked_at_ = 0;  // steps
};

}  // namespace

Bytes reshard_bytes(Collective kind, Bytes sent, Bytes after, int group) {
  switch (kind) {
    case Collective::reduce_scatter:
      return after * group;
    case Collective::all_reduce:
      return sent;
    case Collective::all_to_all:
      return sent * group * group;
    default:
      break;
  }
  return sent * group;
}

ShardedCollective collective_of(const ReshardTask& task, const ReshardStep& step,
                                PackedLayout before) {
  ShardedCollective c;
  c.kind = *reshard_primitives()[static_cast<std::size_t>(step.row)].kind;
  c.tensor = task.array.name;
  c.before = unpack(task.mesh(), before, task.from);
  c.after = unpack(task.mesh(), step.after, task.from);
  c.axes = step.axes.empty() ? permuted_axes(task.mesh(), c.before, c.after)
                             : names(task.mesh(), step.axes);
  if (step.dim >= 0) c.dim = task.from.dims[static_cast<std::size_t>(step.dim)].dim;
  if (step.to_dim >= 0) c.to_dim = task.from.dims[static_cast<std::size_t>(step.to_dim)].dim;
  Sharding sent = c.before;  // an all-to-all's block for each pair of devices: cut on both dims
  for (std::size_t d = 0; d < sent.dims.size(); ++d) {
    if (static_cast<int>(d) == step.to_dim) sent.dims[d] = c.after.dims[d];
  }
  c.bytes =
      reshard_bytes(c.kind, task.local(sent), task.local(c.after), task.mesh().size_of(c.axes));
  return c;
}

Seconds least_price(const ReshardTask& task, const ReshardScope& scope, PackedLayout from) {
  const PlacedAxes at = placed(from, scope.dims, scope.mesh.axes.size());
  return Blocks(task, scope).missing(at) * (1 - 1e-9);
}

SearchResult find_path(const ReshardTask& task, const ReshardScope& scope, PackedLayout from,
                       const SearchLimits& limits) {
  const Seconds any{std::numeric_limits<double>::infinity()};
  SearchResult found = Search(task, scope, from, limits, limits.dive ? any : task.most).run();
  // What is in sight at a limit does not depend on what the answer may cost.
  if (found.given_up && task.most < any) found = Search(task, scope, from, limits, any).run();
  return found;
}

}  // namespace shardsim
