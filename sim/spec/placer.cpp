#include "spec/placer.h"

#include <string_view>
#include <utility>

namespace shardsim {

Placer::Placer(std::shared_ptr<const Source> source) : source_(std::move(source)) {
  if (source_ == nullptr) return;
  const std::string_view text = source_->text;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    starts_.push_back(at);
    const std::size_t end = text.find('\n', at);
    at = end == std::string_view::npos ? end : end + 1;
  }
}

PlacedText Placer::placed(const Node& node) const {
  const SourcePos inside = node.quoted ? node.pos.at(1, node.pos.length) : node.pos;
  const auto line = static_cast<std::size_t>(inside.line);
  const bool known = node.anchor_line == 0 && line >= 1 && line <= starts_.size();
  const std::size_t at =
      known ? starts_[line - 1] + static_cast<std::size_t>(inside.column) - 1 : 0;
  const bool as_is = known && at <= source_->text.size() &&
                     source_->text.compare(at, node.text.size(), node.text) == 0;
  return {node.text, as_is ? inside : node.pos, as_is};
}

}  // namespace shardsim
