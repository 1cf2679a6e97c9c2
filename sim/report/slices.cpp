#include "report/slices.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "report/device_use.h"
#include "report/slice_links.h"
#include "report/slice_parts.h"

namespace shardsim {

namespace {

constexpr const char* kTransfer = "pipeline transfer";

// What a graph is of, as far as slices are concerned.
struct Shown {
  const OpGraph& graph;
  const Timeline& timeline;
  std::vector<std::vector<std::uint32_t>> ranks;  // device classes
  std::span<const CollectiveInstance> collectives;
  int devices = 1;
  int classes = 1;
  bool of_schedule = false;           // origins say the stage as their layer; a class is a rank
  std::vector<bool> overlapped = {};  // [ops] two works at once; empty: none
};

char letter_of(const Origin& origin) {
  if (origin.purpose == Purpose::optimizer) return 'O';
  return origin.work ? letter(*origin.work) : '\0';
}

const char* compute_kind(const Origin& origin) {
  if (origin.purpose == Purpose::again) return kRecompute;
  if (origin.purpose == Purpose::optimizer) return kOptimizer;
  if (origin.work == WorkKind::backward_input) return "backward input";
  if (origin.work == WorkKind::backward_weight) return "backward weight";
  return origin.pass == Pass::forward ? "forward" : "backward";
}

// Which of its rank's stages one is; in schedules of two directions the second direction's is 1.
int chunk_of(int stage, int rank, int ranks) {
  if (stage == rank) return 0;
  return stage < ranks ? 1 : stage / ranks;
}

class Collecting {
 public:
  explicit Collecting(const Shown& source)
      : source_(source), rank_of_(rank_of_class(source.graph, source.ranks)) {
    owner_.assign(source.graph.size(), kNoSlice);
    origin_of_.assign(source.graph.origins.size(), kNoSlice);
    made_.end = source.timeline.makespan();
  }

  Slices take() {
    add_ranks();
    add_computes();
    add_collectives();
    add_transfers();
    order_tracks(made_, owner_);
    add_causes(source_.graph, source_.timeline, owner_, made_);
    add_bubbles(made_);
    return std::move(made_);
  }

 private:
  Seconds start(OpId op) const { return source_.timeline.start[static_cast<std::size_t>(op)]; }
  Seconds end(OpId op) const { return source_.timeline.end[static_cast<std::size_t>(op)]; }
  const Op& op_at(OpId op) const { return source_.graph.ops[static_cast<std::size_t>(op)]; }

  void add_ranks() {
    const std::vector<std::uint32_t> last =
        last_devices(source_.graph, source_.timeline, source_.ranks);
    const auto ranks = static_cast<int>(source_.ranks.size());
    for (int rank = 0; rank < ranks; ++rank) {
      made_.ranks.push_back({ranks == 1 ? "the whole machine" : fmt::format("rank {}", rank),
                             source_.devices / ranks, last[static_cast<std::size_t>(rank)]});
    }
  }

  std::uint32_t kind(std::string_view name, SliceGroup group) {
    for (std::uint32_t i = 0; i < made_.kinds.size(); ++i)
      if (made_.kinds[i].name == name) return i;
    made_.kinds.push_back({std::string(name), group});
    return static_cast<std::uint32_t>(made_.kinds.size() - 1);
  }

  // Slices that do the same at other times, alike but for micro-batch and time, share one.
  std::uint32_t shared(SliceOrigin origin) {
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}", origin.name, origin.kind, origin.layer,
                    origin.collective, int{origin.letter}, origin.bytes / Bytes{1});
    const auto [at, fresh] =
        known_.try_emplace(key, static_cast<std::uint32_t>(made_.origins.size()));
    if (fresh) made_.origins.push_back(std::move(origin));
    return at->second;
  }

  // `describe` makes the shared origin of what came from this one, unless that is known.
  template <class Describe>
  std::uint32_t origin(std::uint32_t number, Describe describe) {
    std::uint32_t& known = origin_of_[number];
    if (known == kNoSlice) {
      const Origin& from = source_.graph.origins[number];
      SliceOrigin to = describe(from);
      to.name = from.name;
      to.pass = from.pass;
      to.letter = letter_of(from);
      known = shared(std::move(to));
    }
    return known;
  }

  // Lane 0 for now.
  std::uint32_t track(std::uint32_t device, const std::string& stream) {
    const auto [at, fresh] = tracks_.try_emplace({device, stream}, 0u);
    if (fresh) {
      at->second = static_cast<std::uint32_t>(made_.tracks.size());
      made_.tracks.push_back(
          {static_cast<int>(rank_of_[device]), device, label(device), stream, 0});
    }
    return at->second;
  }

  std::string label(std::uint32_t device) const {
    if (source_.of_schedule) return fmt::format("rank {}", rank_of_[device]);
    if (source_.classes == 1) return fmt::format("every device (one class of {})", source_.devices);
    if (source_.ranks.size() < 2) return fmt::format("device class {}", device);
    return fmt::format("rank {}, device class {}", rank_of_[device], device);
  }

  void add(std::uint32_t device, const Origin& from, std::uint32_t shared_origin, Seconds begin,
           OpId first, OpId last) {
    Slice slice;
    slice.track = track(device, from.stream);
    slice.origin = shared_origin;
    slice.begin = begin;
    slice.end = end(last);
    slice.microbatch = from.purpose == Purpose::optimizer ? -1 : from.microbatch;
    slice.stage = from.stage;
    slice.chunk = chunk_of(from.stage, static_cast<int>(rank_of_[device]),
                           static_cast<int>(source_.ranks.size()));
    slice.first = first;
    slice.last = last;
    owner_[static_cast<std::size_t>(last)] = static_cast<std::uint32_t>(made_.slices.size());
    made_.slices.push_back(slice);
  }

  void add_computes() {
    for (std::uint32_t i = 0; i < source_.graph.size(); ++i) {
      const Op& op = source_.graph.ops[i];
      if (op.kind != OpKind::compute) continue;
      const bool both = !source_.overlapped.empty() && source_.overlapped[i];
      const std::uint32_t shared_origin = origin(op.origin, [&](const Origin& from) {
        SliceOrigin to;
        to.kind = kind(both ? "forward+backward" : compute_kind(from), SliceGroup::compute);
        to.layer = source_.of_schedule ? -1 : from.layer;
        return to;
      });
      add(op.device, source_.graph.origins[op.origin], shared_origin, start(OpId{i}), OpId{i},
          OpId{i});
    }
  }

  void add_collectives() {
    for (const CollectiveInstance& c : source_.collectives) {
      std::string links;  // of the first occurrence
      for (const Occurrence& once : c.times) {
        for (std::size_t g = 0; g < once.begin.size(); ++g) {
          const OpId first = once.begin[g], last = once.end[g];
          const Op& op = op_at(first);
          if (links.empty()) links = links_text(source_.graph, first, last);
          const std::uint32_t shared_origin = origin(op.origin, [&](const Origin& from) {
            SliceOrigin to;
            to.kind = kind(to_text(c.kind), SliceGroup::communication);
            to.layer = from.layer;
            to.collective = from.collective;
            to.bytes = c.bytes;
            to.links = links;
            return to;
          });
          add(op.device, source_.graph.origins[op.origin], shared_origin, end(first), first, last);
        }
      }
    }
  }

  bool is_transfer(std::uint32_t i) const {
    const Op& op = source_.graph.ops[i];
    if (source_.graph.origins[op.origin].to_rank < 0) return false;
    return op.kind == OpKind::transfer ||
           (op.kind == OpKind::delay && end(OpId{i}) > start(OpId{i}));
  }

  void add_transfers() {
    for (std::uint32_t i = 0; i < source_.graph.size(); ++i) {
      if (!is_transfer(i)) continue;
      const Op& op = source_.graph.ops[i];
      const std::uint32_t shared_origin = origin(op.origin, [&](const Origin&) {
        SliceOrigin to;
        to.kind = kind(kTransfer, SliceGroup::transfer);
        to.bytes = op.bytes;
        to.links = links_text(source_.graph, OpId{i}, OpId{i});
        return to;
      });
      add(op.device, source_.graph.origins[op.origin], shared_origin, start(OpId{i}), OpId{i},
          OpId{i});
    }
  }

  const Shown& source_;
  std::vector<std::size_t> rank_of_;      // [device classes]
  std::vector<std::uint32_t> owner_;      // [ops]
  std::vector<std::uint32_t> origin_of_;  // [origins of the graph]
  std::unordered_map<std::string, std::uint32_t> known_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> tracks_;
  Slices made_;
};

PipelineWork work_of(const Work& work, int rank, int ranks) {
  return {letter(work.kind), work.microbatch, work.stage, chunk_of(work.stage, rank, ranks)};
}

}  // namespace

std::string_view to_text(SliceGroup group) {
  constexpr std::string_view kNames[] = {"compute", "communication", "transfer"};
  return kNames[static_cast<std::size_t>(group)];
}

Slices slices_of(const Run& run) {
  const Shown source{.graph = run.graph,
                     .timeline = run.timeline,
                     .ranks = ranks_or_one(run.graph, run.plan.ranks),
                     .collectives = run.plan.collectives,
                     .devices = run.plan.cluster.devices(),
                     .classes = run.plan.fold.classes()};
  Slices made = Collecting(source).take();
  add_cells(made);
  return made;
}

Slices slices_of(const ScheduleRun& run) {
  const int ranks = run.schedule.ranks();
  Shown source{.graph = run.graph,
               .timeline = run.timeline,
               .ranks = {},
               .collectives = {},
               .devices = ranks,
               .classes = ranks,
               .of_schedule = true};
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(ranks); ++rank)
    source.ranks.push_back({rank});
  std::vector<PipelineCell> cells = cells_of(run);
  source.overlapped.resize(run.graph.size());
  for (std::size_t op = 0; op < cells.size(); ++op)
    source.overlapped[op] = cells[op].second.has_value();
  Slices made = Collecting(source).take();
  made.cells = std::move(cells);
  return made;
}

std::vector<PipelineCell> cells_of(const ScheduleRun& run) {
  const int ranks = run.schedule.ranks();
  std::vector<PipelineCell> cells;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const Cell& cell : run.schedule.programs[static_cast<std::size_t>(rank)].cells) {
      const std::size_t op = cells.size();
      PipelineCell& made = cells.emplace_back();
      made.rank = rank;
      made.begin = run.timeline.start[op];
      made.end = run.timeline.end[op];
      made.work = work_of(cell.work[0], rank, ranks);
      if (cell.overlapped()) made.second = work_of(cell.work[1], rank, ranks);
    }
  }
  return cells;
}

}  // namespace shardsim
