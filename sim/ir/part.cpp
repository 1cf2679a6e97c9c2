#include "ir/part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ir/notation.h"

namespace shardsim {

DimPart part_of(int size, std::span<const int> axes, std::span<const int> at) {
  DimPart part{0, size};
  int room = size;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const int end = part.from + part.size;
    room = local_dim(room, axes[a]).size;
    const std::int64_t from = part.from + static_cast<std::int64_t>(at[a]) * room;
    part.from = static_cast<int>(std::min<std::int64_t>(from, end));
    part.size = std::min(room, end - part.from);
  }
  return part;
}

}  // namespace shardsim
