#include <algorithm>
#include <numeric>
#include <span>

#include "ir/order.h"
#include "report/critical_path.h"
#include "report/slice_parts.h"

namespace shardsim {

namespace {

// So many slices at most are said to be waited for by one: those that ended last.
constexpr std::size_t kMostSources = 8;

// Ops, each after what it waits for.
std::vector<OpId> in_order(const OpGraph& graph) {
  for (std::uint32_t op = 0; op < graph.size(); ++op)
    for (const OpId dep : graph.waits_for(OpId{op}))
      if (static_cast<std::uint32_t>(dep) >= op) return topological_order(graph);
  std::vector<OpId> order(graph.size());
  for (std::uint32_t op = 0; op < graph.size(); ++op) order[op] = OpId{op};
  return order;
}

// Which slices stand behind the ops that are none: joins and pauses.
class Behind {
 public:
  Behind(const OpGraph& graph, const Timeline& timeline, const std::vector<std::uint32_t>& owner,
         const std::vector<Slice>& slices)
      : graph_(graph), timeline_(timeline), owner_(owner), slices_(slices) {
    last_.assign(graph.size(), kNoSlice);
    first_.assign(graph.size() + 1, {});
    for (const OpId op : in_order(graph)) {
      const auto i = static_cast<std::size_t>(op);
      if (owner_[i] == kNoSlice) look_through(op);
    }
  }

  // The slice that the op waited for last; kNoSlice: for none.
  std::uint32_t cause(OpId op) const {
    const std::optional<OpId> dep = last_awaited(graph_, timeline_, op);
    if (!dep) return kNoSlice;
    const auto d = static_cast<std::size_t>(*dep);
    return owner_[d] != kNoSlice ? owner_[d] : last_[d];
  }

  // All slices that it waited for, each once, those that ended last at most.
  std::vector<std::uint32_t> sources(OpId op) const {
    std::vector<std::uint32_t> found;
    for (const OpId dep : graph_.waits_for(op)) {
      const auto d = static_cast<std::size_t>(dep);
      if (owner_[d] != kNoSlice) {
        found.push_back(owner_[d]);
      } else {
        const std::span<const std::uint32_t> behind = of_none(d);
        found.insert(found.end(), behind.begin(), behind.end());
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.size() <= kMostSources) return found;
    std::stable_sort(found.begin(), found.end(), [&](std::uint32_t a, std::uint32_t b) {
      return slices_[a].end > slices_[b].end;
    });
    found.resize(kMostSources);
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  struct Part {
    std::uint32_t first = 0, count = 0;
  };

  std::span<const std::uint32_t> of_none(std::size_t op) const {
    return std::span(arena_).subspan(first_[op].first, first_[op].count);
  }

  // What moves inside a collective is behind nothing that is asked for: its end is the slice's.
  void look_through(OpId op) {
    const auto i = static_cast<std::size_t>(op);
    const Op& is = graph_.ops[i];
    if (is.kind == OpKind::transfer || graph_.waits_for(op).empty()) return;
    if (is.kind == OpKind::delay && graph_.origins[is.origin].to_rank < 0) return;
    last_[i] = cause(op);
    const std::vector<std::uint32_t> found = sources(op);
    first_[i] = {static_cast<std::uint32_t>(arena_.size()),
                 static_cast<std::uint32_t>(found.size())};
    arena_.insert(arena_.end(), found.begin(), found.end());
  }

  const OpGraph& graph_;
  const Timeline& timeline_;
  const std::vector<std::uint32_t>& owner_;
  const std::vector<Slice>& slices_;
  std::vector<std::uint32_t> last_;  // [ops]
  std::vector<Part> first_;          // [ops] of arena_
  std::vector<std::uint32_t> arena_;
};

}  // namespace

void add_causes(const OpGraph& graph, const Timeline& timeline,
                const std::vector<std::uint32_t>& owner, Slices& made) {
  const Behind behind(graph, timeline, owner, made.slices);
  for (std::uint32_t i = 0; i < made.slices.size(); ++i) {
    Slice& slice = made.slices[i];
    slice.cause = behind.cause(slice.first);
    for (const std::uint32_t from : behind.sources(slice.first)) {
      const bool just_before = from + 1 == i && made.slices[from].track == slice.track;
      if (!just_before) made.arrows.push_back({from, i});
    }
  }
  for (const OpId op : critical_ops(graph, timeline)) {
    const std::uint32_t slice = owner[static_cast<std::size_t>(op)];
    if (slice != kNoSlice) made.slices[slice].critical = true;
  }
}

}  // namespace shardsim
