#include <algorithm>
#include <map>
#include <tuple>

#include "report/slice_parts.h"

namespace shardsim {

namespace {

// Cells of one rank by time; what lies over the one before it becomes the second half of it.
void add_pairs(std::vector<PipelineCell> works, Seconds noise, std::vector<PipelineCell>& cells) {
  std::stable_sort(works.begin(), works.end(),
                   [](const PipelineCell& a, const PipelineCell& b) { return a.begin < b.begin; });
  const std::size_t first = cells.size();
  for (const PipelineCell& work : works) {
    PipelineCell* const last = cells.size() > first ? &cells.back() : nullptr;
    if (last != nullptr && !last->second && work.begin < last->end - noise) {
      last->second = work.work;
      last->end = std::max(last->end, work.end);
      // A forward stands before the backward that it is overlapped with.
      if (last->second->letter == 'F') std::swap(last->work, *last->second);
    } else {
      cells.push_back(work);
    }
  }
}

}  // namespace

void add_cells(Slices& made) {
  if (made.ranks.size() < 2) return;
  using Key = std::tuple<char, int, int>;  // letter, micro-batch, stage
  const Seconds noise = made.end * 1e-12;
  std::size_t next = 0;
  for (int rank = 0; rank < static_cast<int>(made.ranks.size()); ++rank) {
    std::vector<PipelineCell> works;
    std::map<Key, std::size_t> known;
    for (; next < made.slices.size(); ++next) {
      const Slice& slice = made.slices[next];
      const SliceTrack& track = made.tracks[slice.track];
      if (track.rank != rank) break;
      const SliceOrigin& origin = made.origins[slice.origin];
      const bool shown = track.device == made.ranks[static_cast<std::size_t>(rank)].shown;
      if (!shown || origin.letter == 0 || made.kinds[origin.kind].group != SliceGroup::compute)
        continue;
      const auto [at, fresh] =
          known.try_emplace({origin.letter, slice.microbatch, slice.stage}, works.size());
      if (fresh) {
        works.push_back({rank,
                         slice.begin,
                         slice.end,
                         {origin.letter, slice.microbatch, slice.stage, slice.chunk}});
      }
      works[at->second].end = slice.end;
    }
    add_pairs(std::move(works), noise, made.cells);
  }
}

std::string to_text(const PipelineWork& work) {
  std::string text(1, work.letter);
  if (work.microbatch >= 0) text += std::to_string(work.microbatch);
  return text;
}

}  // namespace shardsim
