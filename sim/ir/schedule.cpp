#include "ir/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/must.h"

namespace shardsim {

namespace {

constexpr std::array kPlacements = {Placement::linear, Placement::wrap, Placement::v,
                                    Placement::dual};

void put(const Work& work, std::uint32_t id, std::size_t slot, CellIndex& index) {
  if (work.kind == WorkKind::forward) index.forward[slot] = id;
  if (work.kind == WorkKind::backward || work.kind == WorkKind::backward_input)
    index.backward[slot] = id;
  if (work.kind == WorkKind::backward || work.kind == WorkKind::backward_weight)
    index.weight[slot] = id;
}

std::string to_text(const P2pGroup& group) {
  std::string text = "[";
  for (const P2p& p2p : group.transfers) {
    fmt::format_to(std::back_inserter(text), "{}{}{}{}", text.size() > 1 ? "," : "",
                   p2p.send ? '>' : '<', p2p.peer, p2p.channel);
  }
  return text + "]";
}

}  // namespace

char letter(WorkKind kind) {
  constexpr std::string_view kLetters = "FBIW";
  return kLetters[static_cast<std::size_t>(kind)];
}

Cell cell(WorkKind kind, int microbatch, int stage) {
  Cell made;
  made.work[0] = {kind, microbatch, stage};
  return made;
}

Cell overlapped_cell(Work forward, Work backward) {
  return {{forward, backward}, 2};
}

Seconds duration(const Cell& one, const CellCosts& costs) {
  if (one.overlapped()) return costs.overlapped;
  switch (one.work[0].kind) {
    case WorkKind::forward:
      return costs.forward;
    case WorkKind::backward:
      return costs.backward;
    case WorkKind::backward_input:
      return costs.backward_input;
    case WorkKind::backward_weight:
      break;
  }
  return costs.backward_weight;
}

std::string_view to_text(Placement placement) {
  switch (placement) {
    case Placement::linear:
      return "linear";
    case Placement::wrap:
      return "wrap";
    case Placement::v:
      return "V";
    case Placement::dual:
      break;
  }
  return "dual";
}

std::span<const Placement> placements() {
  return kPlacements;
}

int Schedule::rank_of(int microbatch, int stage) const {
  const int p = ranks();
  switch (placement) {
    case Placement::linear:
      return stage;
    case Placement::wrap:
      return stage % p;
    case Placement::v:
      return stage < p ? stage : 2 * p - 1 - stage;
    case Placement::dual:
      break;
  }
  return microbatch < microbatches / 2 ? stage : p - 1 - stage;
}

bool Schedule::has_groups() const {
  return std::any_of(programs.begin(), programs.end(),
                     [](const RankProgram& program) { return !program.groups.empty(); });
}

int parameter_copies(Placement placement) {
  return placement == Placement::dual ? 2 : 1;
}

CellIndex index_cells(const Schedule& schedule) {
  const auto slots =
      static_cast<std::size_t>(schedule.microbatches) * static_cast<std::size_t>(schedule.stages());
  CellIndex index{.first = {0},
                  .forward = std::vector<std::uint32_t>(slots, kNoCell),
                  .backward = std::vector<std::uint32_t>(slots, kNoCell),
                  .weight = std::vector<std::uint32_t>(slots, kNoCell),
                  .rank = {}};
  std::uint32_t id = 0;
  for (std::size_t rank = 0; rank < schedule.programs.size(); ++rank) {
    for (const Cell& one : schedule.programs[rank].cells) {
      for (const Work& work : one.works()) {
        put(work, id,
            static_cast<std::size_t>(work.microbatch) *
                    static_cast<std::size_t>(schedule.stages()) +
                static_cast<std::size_t>(work.stage),
            index);
      }
      ++id;
    }
    index.first.push_back(id);
    index.rank.resize(id, static_cast<std::uint32_t>(rank));
  }
  return index;
}

const Cell& cell_at(const Schedule& schedule, const CellIndex& index, std::uint32_t id) {
  const std::uint32_t rank = index.rank[id];
  return schedule.programs[rank].cells[id - index.first[rank]];
}

std::uint32_t input_of(const Work& work, const CellIndex& index, int stages) {
  const auto slot = static_cast<std::size_t>(work.microbatch) * static_cast<std::size_t>(stages) +
                    static_cast<std::size_t>(work.stage);
  switch (work.kind) {
    case WorkKind::forward:
      return work.stage == 0 ? kNoCell : index.forward[slot - 1];
    case WorkKind::backward:
    case WorkKind::backward_input:
      return work.stage + 1 == stages ? index.forward[slot] : index.backward[slot + 1];
    case WorkKind::backward_weight:
      break;
  }
  return index.backward[slot];
}

std::string to_text(const Work& work) {
  return fmt::format("{}{}.{}", letter(work.kind), work.microbatch, work.stage);
}

std::string to_text(const Cell& one) {
  std::string text = to_text(one.work[0]);
  if (one.overlapped()) text += "&" + to_text(one.work[1]);
  return text;
}

std::string order_text(const RankProgram& program) {
  std::string text;
  for (const Cell& one : program.cells) text += (text.empty() ? "" : " ") + to_text(one);
  return text;
}

std::string program_text(const RankProgram& program) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  auto group = program.groups.begin();
  for (std::size_t i = 0; i <= program.cells.size(); ++i) {
    for (; group != program.groups.end() && group->before == i; ++group) add(to_text(*group));
    if (i < program.cells.size()) add(to_text(program.cells[i]));
  }
  must(group == program.groups.end(), "groups in the order of the cells");
  return text;
}

}  // namespace shardsim
