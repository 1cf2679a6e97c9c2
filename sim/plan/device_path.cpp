#include "plan/device_path.h"

#include <algorithm>
#include <cstdlib>

#include "plan/algorithm_parts.h"

namespace shardsim {

namespace {

// A point is (place in the order of the axes before, place on the new axis).
using Point = std::pair<int, int>;

// Row by row, forwards and back.
std::vector<Point> back_and_forth(int inner, int outer) {
  std::vector<Point> points;
  for (int row = 0; row < outer; ++row) {
    for (int i = 0; i < inner; ++i) points.emplace_back(row % 2 == 0 ? i : inner - 1 - i, row);
  }
  return points;
}

// Row 0 from column 0 on, the other rows back and forth without column 0, and home through it.
// REQUIRES: outer is even, both are at least 2.
std::vector<Point> comb(int inner, int outer) {
  std::vector<Point> points = {{0, 0}};
  for (int row = 0; row < outer; ++row) {
    for (int i = 1; i < inner; ++i) points.emplace_back(row % 2 == 0 ? i : inner - i, row);
  }
  for (int row = outer - 1; row > 0; --row) points.emplace_back(0, row);
  return points;
}

// Every row goes round from where the one before ended: `plus` rows forwards (the next begins one
// behind), the others backwards (one ahead). Closed when the shifts cancel: outer - 2 * plus = 0
// modulo inner. REQUIRES: both odd, inner <= outer, both wrapped.
std::vector<Point> round_and_round(int inner, int outer) {
  int plus = 0;
  while ((outer - 2 * plus) % inner != 0) ++plus;
  std::vector<Point> points;
  int start = 0;
  for (int row = 0; row < outer; ++row) {
    const int direction = row < plus ? 1 : -1;
    for (int i = 0; i < inner; ++i) {
      points.emplace_back(((start + direction * i) % inner + inner) % inner, row);
    }
    start = (start - direction + inner) % inner;
  }
  return points;
}

std::vector<Point> exchanged(std::vector<Point> points) {
  for (Point& p : points) std::swap(p.first, p.second);
  return points;
}

struct Order {
  std::vector<std::vector<int>> at;  // coordinates
  bool closed = false;
};

// How the axes so far and one more are crossed.
enum class Crossing { alone, comb, comb_exchanged, round, open };

Crossing crossing(int devices, bool closed, int size, bool wrapped) {
  if (devices == 1) return Crossing::alone;
  if (size % 2 == 0) return Crossing::comb;
  if (devices % 2 == 0) return Crossing::comb_exchanged;
  return closed && wrapped ? Crossing::round : Crossing::open;
}

bool is_closed(Crossing how, bool wrapped) {
  return how == Crossing::alone ? wrapped : how != Crossing::open;
}

// The order of the axes so far and one more axis.
Order crossed(const Order& inner, int size, bool wrapped) {
  const int m = static_cast<int>(inner.at.size());
  const Crossing how = crossing(m, inner.closed, size, wrapped);
  std::vector<Point> points;
  switch (how) {
    case Crossing::alone:
      points = back_and_forth(1, size);
      break;
    case Crossing::comb:
      points = comb(m, size);
      break;
    case Crossing::comb_exchanged:
      points = exchanged(comb(size, m));
      break;
    case Crossing::round:
      points = m <= size ? round_and_round(m, size) : exchanged(round_and_round(size, m));
      break;
    case Crossing::open:
      points = back_and_forth(m, size);
      break;
  }
  Order result;
  result.closed = is_closed(how, wrapped);
  for (const auto& [place, on_axis] : points) {
    result.at.push_back(inner.at[static_cast<std::size_t>(place)]);
    result.at.back().push_back(on_axis);
  }
  return result;
}

Hop hop_between(const std::vector<int>& from, const std::vector<int>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int step = to[i] - from[i];
    if (step == 0) continue;
    const int direction = step > 0 ? 1 : -1;
    return {static_cast<int>(i), std::abs(step) == 1 ? direction : -direction};  // or the wrap
  }
  return {};
}

}  // namespace

Hop reversed(const Hop& hop) {
  return {hop.axis, -hop.direction};
}

DevicePath reversed(const DevicePath& path) {
  DevicePath back{{path.ranks.rbegin(), path.ranks.rend()}, {}, path.closed};
  // In a cycle, the hop home stays the last one.
  const auto home = path.hops.end() - (path.closed ? 1 : 0);
  for (auto hop = home; hop != path.hops.begin();) back.hops.push_back(reversed(*--hop));
  if (path.closed) back.hops.push_back(reversed(path.hops.back()));
  return back;
}

namespace {

// Whether its ends are neighbours; through a switch any two are.
bool closes(const GroupAxis& axis) {
  return wrapped(axis) || axis.wiring == Wiring::star;
}

}  // namespace

bool has_cycle(const GroupNet& net) {
  if (star(net)) return true;
  int devices = 1;
  bool closed = false;
  for (const GroupAxis& axis : net.axes) {
    closed = is_closed(crossing(devices, closed, axis.size, closes(axis)), closes(axis));
    devices *= axis.size;
  }
  return closed;
}

DevicePath device_path(const GroupNet& net) {
  const std::vector<int> sizes = net.sizes();
  DevicePath path;
  if (star(net)) {
    for (int rank = 0; rank < net.ranks(); ++rank) path.ranks.push_back(rank);
    path.hops.resize(path.ranks.size());
    path.closed = true;
    return path;
  }
  Order order;
  order.at.resize(1);  // of no axis: one place
  for (const GroupAxis& axis : net.axes) order = crossed(order, axis.size, closes(axis));
  path.closed = order.closed;
  const std::size_t n = order.at.size();
  for (std::size_t i = 0; i < n; ++i) {
    path.ranks.push_back(rank_at(sizes, order.at[i]));
    if (i + 1 < n || path.closed) {
      path.hops.push_back(hop_between(order.at[i], order.at[(i + 1) % n]));
    }
  }
  // Two devices with two links: home by the other one.
  if (path.closed && net.axes.size() == 1) path.hops.back() = {0, 1};
  return path;
}

}  // namespace shardsim
