#include "plan/exchange.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/must.h"

namespace shardsim {

std::vector<Exchange> exchanges(const PlacedAxes& before, const PlacedAxes& after) {
  std::vector<Exchange> result;
  for (std::size_t d = 0; d < before.dim_count; ++d) {
    const AxisList &a = before.dims[d], &b = after.dims[d];
    std::size_t first = 0, a_end = a.size(), b_end = b.size();
    while (a_end > 0 && b_end > 0 && a.at[a_end - 1] == b.at[b_end - 1]) --a_end, --b_end;
    while (first < a_end && first < b_end && a.at[first] == b.at[first]) ++first;
    Exchange e;
    for (std::size_t i = first; i < a_end; ++i) e.before.push_back(a.at[i]);
    for (std::size_t i = first; i < b_end; ++i) e.after.push_back(b.at[i]);
    if (!e.before.empty() || !e.after.empty()) result.push_back(e);
  }
  return result;
}

std::vector<Exchange> exchanges(const Mesh& mesh, const Sharding& before, const Sharding& after) {
  const std::optional<PackedLayout> from = pack(mesh, before), to = pack(mesh, after);
  must(from && to, "permutations are of layouts that a search packed");
  const std::size_t axes = mesh.axes.size();
  return exchanges(placed(*from, before.dims.size(), axes), placed(*to, after.dims.size(), axes));
}

std::vector<std::vector<Exchange>> independent(const Mesh& mesh, const std::vector<Exchange>& all) {
  struct Part {
    std::vector<Exchange> exchanges;
    int first = 0, last = 0;  // hardware axes
  };
  std::vector<Part> parts;
  for (const Exchange& e : all) {
    Part joined{{e}, std::numeric_limits<int>::max(), -1};
    for (const AxisList* axes : {&e.before, &e.after}) {
      for (const std::size_t axis : *axes) {
        for (const int hardware : mesh.axes[axis].axes) {
          joined.first = std::min(joined.first, hardware);
          joined.last = std::max(joined.last, hardware);
        }
      }
    }
    for (std::size_t p = parts.size(); p-- > 0;) {
      const Part& part = parts[p];
      if (part.last < joined.first || joined.last < part.first) continue;
      joined.exchanges.insert(joined.exchanges.begin(), part.exchanges.begin(),
                              part.exchanges.end());
      joined.first = std::min(joined.first, part.first);
      joined.last = std::max(joined.last, part.last);
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(p));
      p = parts.size();  // a wider part may meet more
    }
    parts.push_back(std::move(joined));
  }
  std::vector<std::vector<Exchange>> result;
  for (Part& part : parts) result.push_back(std::move(part.exchanges));
  return result;
}

AxisList moved_axes(const std::vector<Exchange>& all) {
  std::uint32_t mask = 0;
  for (const Exchange& e : all) {
    for (const AxisList* list : {&e.before, &e.after})
      for (const int axis : *list) mask |= 1u << axis;
  }
  AxisList axes;
  for (int axis = 0; mask >> axis != 0; ++axis) {
    if ((mask >> axis & 1u) != 0) axes.push_back(axis);
  }
  return axes;
}

std::string key_of(const std::vector<Exchange>& all) {
  std::string key;
  for (const Exchange& e : all) {
    for (const AxisList* axes : {&e.before, &e.after}) {
      for (const int axis : *axes) key += static_cast<char>('0' + axis);
      key += ' ';
    }
  }
  return key;
}

}  // namespace shardsim
