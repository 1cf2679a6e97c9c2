// The pages without what they show: reports/template/, bundled when the program is built
// (reports/bundle.py). A page is its parts in order, after each what goes into its slot.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace shardsim {

// title: escaped text; content: HTML, shown without JavaScript; data: JSON without `<`.
enum class PageSlot : std::uint8_t { title, content, data, end };

struct PagePart {
  std::string_view text;
  PageSlot slot = PageSlot::end;
};

struct PageSkeleton {
  std::string_view page;  // "timeline", "compare", "index"
  std::span<const PagePart> parts;
};
std::span<const PageSkeleton> page_skeletons();

}  // namespace shardsim
