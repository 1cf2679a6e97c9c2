#include "plan/composite.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/must.h"
#include "plan/algorithm_parts.h"
#include "plan/doubling_algorithms.h"

namespace shardsim {

namespace {

std::vector<int> others(const GroupNet& net, const std::vector<int>& axes) {
  std::vector<int> result;
  for (int a = 0; a < static_cast<int>(net.axes.size()); ++a) {
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) result.push_back(a);
  }
  return result;
}

std::vector<int> picked(const std::vector<int>& values, const std::vector<int>& axes) {
  std::vector<int> result;
  for (const int a : axes) result.push_back(values[static_cast<std::size_t>(a)]);
  return result;
}

}  // namespace

namespace {

// What a device has of a port beside the groups at the other places of these axes.
void share_with_groups(const GroupNet& net, const std::vector<int>& beside, int nic_level,
                       Climb& climb) {
  for (const int a : beside) {
    const int sharers = climb.block[static_cast<std::size_t>(a)];
    climb.one = climb.one / sharers;
    if (net.axes[static_cast<std::size_t>(a)].level >= nic_level) climb.node = climb.node / sharers;
  }
}

}  // namespace

GroupNet along(const GroupNet& net, const std::vector<int>& axes, bool alone) {
  const std::vector<int> beside = alone ? std::vector<int>{} : others(net, axes);
  GroupNet part = net;
  part.axes.clear();
  for (const int a : axes) {
    part.axes.push_back(net.axes[static_cast<std::size_t>(a)]);
    GroupAxis& axis = part.axes.back();
    for (Climb& climb : axis.climbs) {
      share_with_groups(net, beside, axis.nic_level, climb);
      climb.block = picked(climb.block, axes);
    }
  }
  return part;
}

namespace {

GroupNet net_of(const Part& part, const GroupNet& net) {
  return along(net, part.axes, part.at_root);
}

}  // namespace

Part part_of(Collective kind, const CollectiveAsk& ask, const GroupNet& net, std::vector<int> axes,
             bool whole) {
  const std::vector<int> sizes = along(net, axes).sizes();
  double ranks = 1;
  for (const int size : sizes) ranks *= size;
  Part part;
  part.ask.kind = kind;
  part.ask.bytes = whole ? ask.bytes : ask.bytes * (ranks / net.ranks());
  if (rooted(kind)) {
    part.ask.root = rank_at(sizes, picked(rank_coordinates(net.sizes(), ask.root), axes));
  }
  part.axes = std::move(axes);
  part.whole = whole;
  return part;
}

Part cheapest(Part part, const GroupNet& net) {
  part.row = choose_algorithm(part.ask, net_of(part, net)).best;
  must(part.row != nullptr, "some algorithm suits every part");
  return part;
}

namespace {

// A part's plan on the ranks of the whole group.
class Lift {
 public:
  Lift(const GroupNet& net, const CollectiveAsk& ask, const std::vector<int>& fold,
       const Part& part)
      : sizes_(net.sizes()),
        part_(part),
        plan_(part.row->plan(part.ask, net_of(part, net), picked(fold, part.axes))) {
    const std::vector<int> beside = others(net, part.axes);
    for (const int a : beside) beside_ |= 1u << a;
    for (const int a : part.axes) inside_ |= 1u << a;
    place_root(beside, ask.root);
    if (!part.at_root) place_all(beside, fold);
  }

  const CollectivePlan& plan() const { return plan_; }
  std::size_t groups() const { return places_.size(); }

  // `first_piece[p]`: where piece p begins among the pieces of all parts.
  Send send(const Send& of_part, std::size_t group, const std::vector<int>& first_piece) const {
    Send send = of_part;
    send.from = rank(of_part.from, group);
    send.to = rank(of_part.to, group);
    const ChunkSet& chunks = of_part.chunks;
    send.chunks.origin = rank(chunks.origin, group);
    send.chunks.spread = part_.whole ? beside_ : 0;
    for (std::size_t i = 0; i < part_.axes.size(); ++i) {
      if ((chunks.spread >> i & 1u) != 0) send.chunks.spread |= 1u << part_.axes[i];
    }
    send.chunks.run = chunks.origins > 1 ? inside_ : 0;
    send.chunks.piece = first_piece[static_cast<std::size_t>(chunks.piece)];
    send.chunks.pieces =
        first_piece[static_cast<std::size_t>(chunks.piece + chunks.pieces)] - send.chunks.piece;
    if (of_part.axis >= 0) {
      send.hop_along(part_.axes[static_cast<std::size_t>(of_part.axis)], of_part.direction);
    }
    if (!part_.whole) send.share *= static_cast<double>(plan_.ranks()) / ranks();
    return send;
  }

 private:
  double ranks() const {
    double n = 1;
    for (const int size : sizes_) n *= size;
    return n;
  }

  int rank(int of_part, std::size_t group) const {
    std::vector<int> at = places_[group];
    const std::vector<int> own = rank_coordinates(plan_.sizes, of_part);
    for (std::size_t i = 0; i < own.size(); ++i)
      at[static_cast<std::size_t>(part_.axes[i])] = own[i];
    return rank_at(sizes_, at);
  }

  void place_root(const std::vector<int>& beside, int root) {
    places_ = {std::vector<int>(sizes_.size(), 0)};
    const std::vector<int> at = rank_coordinates(sizes_, root);
    for (const int a : beside)
      places_[0][static_cast<std::size_t>(a)] = at[static_cast<std::size_t>(a)];
  }

  void place_all(const std::vector<int>& beside, const std::vector<int>& fold) {
    places_ = {std::vector<int>(sizes_.size(), 0)};
    for (const int a : beside) {
      const auto axis = static_cast<std::size_t>(a);
      std::vector<std::vector<int>> more;
      for (const std::vector<int>& place : places_) {
        for (int k = 0; k < fold[axis]; ++k) {
          more.push_back(place);
          more.back()[axis] = k;
        }
      }
      places_ = std::move(more);
    }
  }

  std::vector<int> sizes_;
  const Part& part_;
  CollectivePlan plan_;
  std::uint32_t inside_ = 0, beside_ = 0;  // axes, as bits
  std::vector<std::vector<int>> places_;   // [groups] coordinates, 0 along the part's axes
};

// Where pieces of any part begin and end in a shard, ascending from 0 to 1.
std::vector<double> cuts_of(const std::vector<Lift>& parts) {
  std::vector<double> cuts = {0, 1};
  for (const Lift& part : parts) {
    double at = 0;
    for (const double share : part.plan().piece_share) cuts.push_back(at += share);
  }
  std::sort(cuts.begin(), cuts.end());
  const auto alike = [](double a, double b) { return b - a < 1e-9; };
  cuts.erase(std::unique(cuts.begin(), cuts.end(), alike), cuts.end());
  cuts.back() = 1;
  return cuts;
}

// Those of the part whose pieces are the finest, or else what lies between two cuts.
std::vector<double> piece_shares(const std::vector<Lift>& parts, const std::vector<double>& cuts) {
  for (const Lift& part : parts) {
    const std::vector<double>& own = part.plan().piece_share;
    if (own.size() + 1 == cuts.size()) return own;
  }
  std::vector<double> shares;
  for (std::size_t i = 1; i < cuts.size(); ++i) shares.push_back(cuts[i] - cuts[i - 1]);
  return shares;
}

// Of a part's pieces, and one behind the last.
std::vector<int> first_pieces(const CollectivePlan& part, const std::vector<double>& cuts) {
  std::vector<int> first = {0};
  double at = 0;
  for (const double share : part.piece_share) {
    at += share;
    const auto next = std::lower_bound(cuts.begin(), cuts.end(), at - 1e-9);
    first.push_back(static_cast<int>(next - cuts.begin()));
  }
  return first;
}

// Adds a join of everything sent so far; -1: nothing has been.
int end_of(CollectivePlan& plan) {
  if (plan.sends.empty()) return -1;
  std::vector<bool> awaited(plan.sends.size(), false);
  for (const std::uint32_t w : plan.after) awaited[w] = true;
  std::vector<std::uint32_t> last;
  for (std::uint32_t i = 0; i < plan.sends.size(); ++i) {
    if (!awaited[i]) last.push_back(i);
  }
  return static_cast<int>(
      plan.add(Send{.phase = plan.phases() - 1, .stage = plan.stages() - 1}, last));
}

void append(const Lift& part, const std::vector<int>& first_piece, CollectivePlan& plan) {
  const int phase = plan.phases(), stage = plan.stages();
  const int start = end_of(plan);
  const auto first = static_cast<std::uint32_t>(plan.sends.size());
  const auto groups = static_cast<std::uint32_t>(part.groups());
  std::vector<std::uint32_t> waits;
  for (std::size_t i = 0; i < part.plan().sends.size(); ++i) {
    for (std::uint32_t group = 0; group < groups; ++group) {
      Send send = part.send(part.plan().sends[i], group, first_piece);
      send.phase += phase;
      send.stage += stage;
      send.since =
          send.since < 0
              ? start
              : static_cast<int>(first + groups * static_cast<std::uint32_t>(send.since) + group);
      waits.clear();
      for (const std::uint32_t w : part.plan().waits_for(i)) {
        waits.push_back(first + w * groups + group);
      }
      if (waits.empty() && start >= 0) waits.push_back(static_cast<std::uint32_t>(start));
      plan.add(send, waits);
    }
  }
}

}  // namespace

CollectivePlan plan_of(const Composite& composite, const CollectiveAsk& ask, const GroupNet& net,
                       const std::vector<int>& fold) {
  std::vector<Lift> parts;
  for (const Part& part : composite.parts) parts.emplace_back(net, ask, fold, part);
  const std::vector<double> cuts = cuts_of(parts);
  CollectivePlan plan =
      empty_plan(frame(composite.name, net, fold, piece_shares(parts, cuts)), ask.kind);
  plan.root = ask.root;
  for (const Lift& part : parts) {
    plan.pipelined = plan.pipelined || part.plan().pipelined;
    append(part, first_pieces(part.plan(), cuts), plan);
  }
  return plan;
}

namespace {

// "reduce-scatter of 64 MiB over 8 by ring [...]".
std::string text_of(const Part& part, const GroupNet& net, const std::string& formula) {
  return fmt::format("{} of {} over {} by {} [{}]", to_text(part.ask.kind), to_text(part.ask.bytes),
                     net.ranks(), part.row->name, formula);
}

}  // namespace

ClosedForm form_of(const Composite& composite, const GroupNet& net) {
  ClosedForm sum;
  for (const Part& part : composite.parts) {
    const GroupNet part_net = net_of(part, net);
    const ClosedForm form = part.row->closed_form(part.ask, part_net);
    sum.time += form.time;
    sum.exact = sum.exact && form.exact;
    if (!sum.formula.empty()) sum.formula += " + ";
    sum.formula += text_of(part, part_net, form.formula);
  }
  return sum;
}

double sends_of(const Composite& composite, const GroupNet& net) {
  double sends = 0;
  for (const Part& part : composite.parts) {
    const GroupNet part_net = net_of(part, net);
    const double active = part.at_root ? static_cast<double>(part_net.ranks()) / net.ranks() : 1.0;
    sends += active * part.row->sends_per_rank(part.ask, part_net);
  }
  return sends;
}

std::vector<int> fold_of(const Composite& composite, const CollectiveAsk& ask,
                         const GroupNet& net) {
  if (rooted(ask.kind)) return no_translation(ask, net);
  std::vector<int> fold = every_translation(ask, net);
  for (const Part& part : composite.parts) {
    const GroupNet part_net = net_of(part, net);
    std::vector<int> own = part.row->fold(part.ask, part_net);
    // Its orbits are not those of translations, which the other parts have; of two ranks they are.
    if (part.row->fold == fold_doubling && part_net.ranks() > 2) own = part_net.sizes();
    for (std::size_t i = 0; i < own.size(); ++i) {
      int& step = fold[static_cast<std::size_t>(part.axes[i])];
      step = std::lcm(step, own[i]);
    }
  }
  return fold;
}

}  // namespace shardsim
