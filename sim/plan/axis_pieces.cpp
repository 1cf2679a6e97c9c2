#include "plan/axis_pieces.h"

#include <algorithm>

#include "plan/algorithm_parts.h"

namespace shardsim {

bool two_way(const GroupNet& net) {
  return std::any_of(net.axes.begin(), net.axes.end(),
                     [](const GroupAxis& a) { return a.wiring == Wiring::ring; });
}

bool both_directions(const GroupNet& net) {
  return two_way(net) && std::none_of(net.axes.begin(), net.axes.end(), one_way);
}

bool alike(const GroupNet& net) {
  return std::all_of(net.axes.begin(), net.axes.end(), [&](const GroupAxis& a) {
    return a.size == net.axes[0].size && a.ports == net.axes[0].ports && a.w1 == net.axes[0].w1;
  });
}

bool open(const GroupNet& net) {
  return std::any_of(net.axes.begin(), net.axes.end(),
                     [](const GroupAxis& a) { return a.wiring == Wiring::line; });
}

std::vector<double> rates(const GroupNet& net) {
  std::vector<double> result;
  for (const GroupAxis& axis : net.axes) result.push_back(axis.ports * (axis.w1 / net.axes[0].w1));
  return result;
}

PhasedPieces in_rotation(std::size_t axes, const std::vector<double>& shares) {
  PhasedPieces pieces;
  for (const std::vector<int>& order : rotated_orders(axes))
    pieces.push_back({order, {}, shares[pieces.size()]});
  return pieces;
}

std::vector<PhasedPieces> ways_in_phases(const GroupNet& net) {
  const std::size_t k = net.axes.size();
  if (!alike(net)) return phased_gathers(net.sizes(), rates(net));
  return {in_rotation(k, std::vector<double>(k, 1.0 / static_cast<double>(k)))};
}

std::vector<double> gathered(const GroupNet& net, const std::vector<int>& order) {
  std::vector<double> result = {1};
  for (const int a : order)
    result.push_back(result.back() * net.axes[static_cast<std::size_t>(a)].size);
  return result;
}

BusyPhases busy_phases(const GroupNet& net, Bytes bytes, const PhasedPieces& pieces) {
  BusyPhases busy;
  for (const PhasedPiece& piece : pieces) {
    const std::vector<double> before = gathered(net, piece.order);
    for (std::size_t s = 0; s < piece.order.size(); ++s) {
      const auto a = static_cast<std::size_t>(piece.order[s]);
      const std::size_t phase =
          piece.phases.empty() ? s : static_cast<std::size_t>(piece.phases[s]);
      if (phase >= busy.size()) busy.resize(phase + 1, std::vector<Busy>(net.axes.size()));
      const GroupAxis& axis = net.axes[a];
      const Bytes bundle = piece.share * (bytes / net.ranks()) * before[s];
      busy[phase][a].latency += (axis.size - 1) * axis.latency;
      busy[phase][a].bandwidth += (axis.size - 1) * bundle / (axis.w1 * axis.ports);
    }
  }
  return busy;
}

Seconds time_in_phases(const BusyPhases& busy, double share) {
  Seconds sum;
  for (const std::vector<Busy>& axes : busy) {
    Seconds longest;
    for (const Busy& axis : axes)
      longest = std::max(longest, axis.latency + share * axis.bandwidth);
    sum += longest;
  }
  return sum;
}

std::vector<Pipeline> pipelines(const PhasedPieces& pieces, int direction, bool both) {
  std::vector<Pipeline> result;
  for (const PhasedPiece& piece : pieces) {
    for (const int way : {direction, -direction}) {
      if (way != direction && !both) continue;
      result.push_back({static_cast<int>(result.size()), piece.order, way, -1, piece.phases});
    }
  }
  return result;
}

std::vector<double> shares_of(const PhasedPieces& pieces, bool both) {
  std::vector<double> result;
  for (const PhasedPiece& piece : pieces) {
    if (both) result.push_back(piece.share / 2);
    result.push_back(both ? piece.share / 2 : piece.share);
  }
  return result;
}

}  // namespace shardsim
