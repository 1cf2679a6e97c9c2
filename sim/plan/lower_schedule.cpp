#include "plan/lower_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/must.h"
#include "ir/order.h"

namespace shardsim {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

// Ops with their dependencies, which may be named before they exist.
struct Ops {
  std::vector<Op> ops = {};
  std::vector<Origin> origins = {};
  std::vector<std::vector<std::uint32_t>> waits = {};

  std::uint32_t add(OpKind kind, std::uint32_t rank, Seconds seconds, Origin origin) {
    ops.push_back({.kind = kind,
                   .device = rank,
                   .origin = static_cast<std::uint32_t>(origins.size()),
                   .seconds = seconds});
    origins.push_back(std::move(origin));
    waits.emplace_back();
    return static_cast<std::uint32_t>(ops.size() - 1);
  }

  OpGraph graph(int ranks) {
    OpGraph graph;
    graph.ops = std::move(ops);
    graph.origins = std::move(origins);
    graph.device_classes = static_cast<std::uint32_t>(ranks);
    for (const auto& of_op : waits) {
      for (const std::uint32_t op : of_op) graph.deps.push_back(OpId{op});
      graph.dep_offset.push_back(static_cast<std::uint32_t>(graph.deps.size()));
    }
    return graph;
  }
};

Pass pass_of(const Work& work) {
  return work.kind == WorkKind::forward ? Pass::forward : Pass::backward;
}

class Lowering {
 public:
  Lowering(const Schedule& schedule, const CellCosts& costs)
      : schedule_(schedule), costs_(costs), index_(index_cells(schedule)) {}

  OpGraph run(P2pMode mode) {
    add_cells();
    if (mode == P2pMode::blocking) {
      order_cells_and_groups();
    } else {
      order_cells();
      add_transfers(mode == P2pMode::serial);
    }
    return ops_.graph(schedule_.ranks());
  }

 private:
  void add_cells() {
    for (std::uint32_t id = 0; id < index_.cells(); ++id) {
      const Cell& cell = cell_at(schedule_, index_, id);
      const Work& work = cell.work[0];
      ops_.add(OpKind::compute, index_.rank[id], duration(cell, costs_),
               {.name = to_text(cell),
                .stream = "compute",
                .layer = work.stage,
                .microbatch = work.microbatch,
                .pass = pass_of(work),
                .stage = work.stage,
                .work = work.kind});
    }
  }

  void order_cells() {
    for (std::uint32_t id = 1; id < index_.cells(); ++id)
      if (index_.rank[id] == index_.rank[id - 1]) ops_.waits[id].push_back(id - 1);
  }

  // Calls visit(work, cell that makes it, cell that waits for it) for all work that another cell
  // waits for, in the order in which every rank makes it.
  template <class Visit>
  void for_each_output(Visit visit) {
    const int stages = schedule_.stages();
    for (std::uint32_t id = 0; id < index_.cells(); ++id) {
      for (const Work& work : cell_at(schedule_, index_, id).works()) {
        const auto slot =
            static_cast<std::size_t>(work.microbatch) * static_cast<std::size_t>(stages) +
            static_cast<std::size_t>(work.stage);
        if (work.kind == WorkKind::forward && work.stage + 1 < stages)
          visit(work, id, index_.forward[slot + 1]);
        if ((work.kind == WorkKind::backward || work.kind == WorkKind::backward_input) &&
            work.stage > 0)
          visit(work, id, index_.backward[slot - 1]);
      }
    }
  }

  std::uint32_t add_transfer(std::string what, std::uint32_t from, std::uint32_t to,
                             const Work& work, std::optional<WorkKind> kind) {
    return ops_.add(OpKind::delay, from, costs_.p2p,
                    {.name = fmt::format("{} to rank {}", what, to),
                     .stream = fmt::format("p2p to rank {}", to),
                     .layer = work.stage,
                     .microbatch = work.microbatch,
                     .pass = pass_of(work),
                     .stage = work.stage,
                     .to_rank = static_cast<int>(to),
                     .work = kind});
  }

  // A stream of transfers runs in the order in which its rank makes them: one rank makes one after
  // the other, so that is also the order in which they are ready.
  void add_transfers(bool one_at_a_time) {
    std::vector<std::uint32_t> last(
        static_cast<std::size_t>(schedule_.ranks()) * static_cast<std::size_t>(schedule_.ranks()),
        kNone);
    for_each_output([&](const Work& work, std::uint32_t from, std::uint32_t to) {
      const std::uint32_t sender = index_.rank[from], receiver = index_.rank[to];
      if (sender == receiver) {
        ops_.waits[to].push_back(from);
        return;
      }
      const std::uint32_t transfer = add_transfer(to_text(work), sender, receiver, work, work.kind);
      ops_.waits[transfer].push_back(from);
      ops_.waits[to].push_back(transfer);
      if (!one_at_a_time) return;
      std::uint32_t& before = last[sender * static_cast<std::size_t>(schedule_.ranks()) + receiver];
      if (before != kNone) ops_.waits[transfer].push_back(before);
      before = transfer;
    });
  }

  // One end of a transfer: what its rank did before, and the join that ends its group.
  struct End {
    std::uint32_t after = kNone, join = kNone;
  };

  // A cell also waits for its inputs, which its rank has received by then.
  void order_cells_and_groups() {
    for_each_output(
        [&](const Work&, std::uint32_t from, std::uint32_t to) { ops_.waits[to].push_back(from); });
    std::map<std::tuple<std::uint32_t, std::uint32_t, char>, std::array<std::vector<End>, 2>> ends;
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(schedule_.ranks()); ++rank) {
      const RankProgram& program = schedule_.programs[rank];
      auto group = program.groups.begin();
      std::uint32_t tail = kNone;
      for (std::uint32_t i = 0; i <= program.cells.size(); ++i) {
        for (; group != program.groups.end() && group->before == i; ++group) {
          const std::uint32_t join = ops_.add(OpKind::join, rank, {}, {.name = "transfers end"});
          if (tail != kNone) ops_.waits[join].push_back(tail);
          for (const P2p& p2p : group->transfers) {
            const auto peer = static_cast<std::uint32_t>(p2p.peer);
            const std::tuple pair(p2p.send ? rank : peer, p2p.send ? peer : rank, p2p.channel);
            ends[pair][p2p.send ? 0 : 1].push_back({tail, join});
          }
          tail = join;
        }
        if (i == program.cells.size()) break;
        const std::uint32_t cell = index_.first[rank] + i;
        if (tail != kNone) ops_.waits[cell].push_back(tail);
        tail = cell;
      }
    }
    for (const auto& [pair, both] : ends) {
      const auto& [from, to, channel] = pair;
      must(both[0].size() == both[1].size(), "every send has its receive");
      for (std::size_t k = 0; k < both[0].size(); ++k) {
        const std::uint32_t transfer = add_transfer(std::string(1, channel), from, to, {}, {});
        for (const End& end : {both[0][k], both[1][k]}) {
          if (end.after != kNone) ops_.waits[transfer].push_back(end.after);
          ops_.waits[end.join].push_back(transfer);
        }
      }
    }
  }

  const Schedule& schedule_;
  const CellCosts& costs_;
  CellIndex index_;
  Ops ops_ = {};
};

}  // namespace

OpGraph lower_schedule(const Schedule& schedule, const CellCosts& costs, P2pMode mode) {
  return Lowering(schedule, costs).run(mode);
}

std::optional<Deadlock> deadlock(const OpGraph& lowered) {
  std::vector<OpId> cycle = find_cycle(lowered);
  if (cycle.empty()) return std::nullopt;
  const auto op_at = [&](OpId op) { return lowered.ops[static_cast<std::size_t>(op)]; };
  const auto is_cell = [&](OpId op) { return op_at(op).kind == OpKind::compute; };
  Deadlock found;
  if (const auto cell = std::find_if(cycle.begin(), cycle.end(), is_cell); cell != cycle.end()) {
    found.cell = static_cast<std::size_t>(*cell);
    cycle.pop_back();  // the first once more
    std::rotate(cycle.begin(), cycle.begin() + (cell - cycle.begin()), cycle.end());
    cycle.push_back(cycle.front());
    // Between cells stand transfers, which say nothing new.
    std::erase_if(cycle, [&](OpId op) { return !is_cell(op); });
  }
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::uint32_t rank = op_at(cycle[i]).device;
    // Of cells that wait in a row on one rank, the first and the last.
    const bool inside = i > 0 && i + 1 < cycle.size() && op_at(cycle[i - 1]).device == rank &&
                        op_at(cycle[i + 1]).device == rank;
    if (inside) continue;
    found.path += fmt::format("{}{} on rank {}", found.path.empty() ? "" : " waits for ",
                              lowered.origins[op_at(cycle[i]).origin].name, rank);
  }
  return found;
}

}  // namespace shardsim
