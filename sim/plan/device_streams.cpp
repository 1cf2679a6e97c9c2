#include "plan/device_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/concat.h"
#include "base/must.h"
#include "plan/collective_run.h"

namespace shardsim {

DeviceStreams::DeviceStreams(GraphBuilder& builder, Plan& plan, const Mesh& mesh,
                             const Overlap& overlap, Grain grain)
    : builder_(builder),
      plan_(plan),
      mesh_(mesh),
      overlap_(overlap),
      collectives_(builder, grain, CollectiveLowering::Sharing::by_collectives) {
  const std::uint32_t begin = builder_.origin({.name = "start", .stream = "start"});
  for (const DeviceId device : plan.fold.representatives(plan.cluster)) {
    speed_.push_back(plan.cluster.speed_of(device));
  }
  start_.assign(speed_.size(), builder_.join({}, 0, begin));
  compute_ = start_;
}

std::uint32_t DeviceStreams::origin(std::string name, std::string stream, const StepPlace& place,
                                    int to_rank) {
  return builder_.origin({.name = std::move(name),
                          .stream = std::move(stream),
                          .layer = place.layer,
                          .microbatch = place.microbatch,
                          .pass = place.pass,
                          .stage = place.stage,
                          .to_rank = to_rank,
                          .purpose = place.purpose,
                          .memory_bound = place.memory_bound,
                          .work = place.work});
}

void DeviceStreams::compute(Classes classes, Seconds seconds, std::uint32_t origin, ClassOps& at) {
  for (const std::uint32_t c : classes) {
    Op op;
    op.kind = OpKind::compute;
    op.device = c;
    op.origin = origin;
    op.seconds = seconds / speed_[c];
    const OpId waits[] = {compute_[c], at[c]};
    at[c] = builder_.add(op, {waits, waits[0] == waits[1] ? std::size_t{1} : std::size_t{2}});
    compute_[c] = at[c];
  }
}

CollectiveCall DeviceStreams::call_of_move(const Move& move) const {
  CollectiveCall call = call_of(*move.what, mesh_);
  call.ask.shift = move.shift;
  call.algorithm = move.algorithm;
  return call;
}

void DeviceStreams::remember_groups(Classes classes, const CollectiveLowering::Bracket& bracket,
                                    const ClassOps& ends,
                                    std::vector<std::uint32_t>& group_of) const {
  constexpr std::uint32_t kUnknown = 0xffffffffu;
  group_of.resize(start_.size(), kUnknown);
  if (group_of[classes.front()] != kUnknown) return;
  for (const std::uint32_t c : classes) {
    const auto group = std::lower_bound(bracket.end.begin(), bracket.end.end(), ends[c]);
    must(group != bracket.end.end() && *group == ends[c], "every class of the rank is in a group");
    group_of[c] = static_cast<std::uint32_t>(group - bracket.end.begin());
  }
}

std::size_t DeviceStreams::description(const Move& move, const CollectiveCall& call, Pass pass) {
  const auto [known, fresh] =
      described_.try_emplace({move.what, move.shift}, plan_.collectives.size());
  if (fresh) {
    const ShardedCollective& c = *move.what;
    CollectiveInstance& made =
        plan_.collectives.emplace_back(describe_call(call, plan_.cluster, c.axes));
    made.tensor = c.tensor;
    made.case_text = c.case_text;
    made.reason = c.reason;
    made.alternatives = c.alternatives;
    made.pass = pass;
    made.moves_weights = move.of_weights;
  }
  return known->second;
}

const Occurrence& DeviceStreams::communicate(Classes classes, const Move& move,
                                             const StepPlace& place, ClassOps& at,
                                             std::string_view stream) {
  const CollectiveCall call = call_of_move(move);
  const std::size_t number = description(move, call, place.pass);
  const std::vector<std::string>& over = move.what->axes;
  const std::string axes =
      over.size() == 1 ? over.front() : fmt::format("{}", fmt::join(over, ","));
  const std::string name = axes + std::string(stream);
  const std::uint32_t from = builder_.origin(
      {.name = concat({to_text(move.what->kind), " ", move.what->tensor, " over ", axes}),
       .stream = name,
       .layer = place.layer,
       .microbatch = place.microbatch,
       .pass = place.pass,
       .collective = static_cast<int>(number),
       .stage = place.stage,
       .purpose = place.purpose,
       .work = place.work});
  ClassOps& tail = tails_.try_emplace(name, start_).first->second;
  const double share = overlap_.share_of(axes);
  if (share > 0) {  // its kernels begin when the device has come, wherever the others are
    for (const std::uint32_t c : classes) at[c] = builder_.join({at[c], tail[c]}, c, from);
  }
  const ClassOps arrived = share > 0 ? at : ClassOps{};
  CollectiveLowering::Bracket bracket = collectives_.lower(call, from, {at, classes, &tail});
  if (share > 0) {
    for (const std::uint32_t c : classes)
      builder_.hold({c, overlap_.number_of(axes), share, arrived[c], tail[c]});
  }
  remember_groups(classes, bracket, tail, plan_.collectives[number].group_of);
  std::vector<Occurrence>& times = plan_.collectives[number].times;
  times.push_back({place.layer, place.microbatch, place.stage, std::move(bracket.begin),
                   std::move(bracket.end)});
  return times.back();
}

void DeviceStreams::join(Classes classes, std::uint32_t origin, ClassOps& at,
                         const ClassOps& and_also) {
  for (const std::uint32_t c : classes) at[c] = builder_.join({at[c], and_also[c]}, c, origin);
}

ClassOps DeviceStreams::all_done(Classes classes, std::uint32_t origin) {
  ClassOps done = start_;
  for (const std::uint32_t c : classes) {
    std::vector<OpId> waits = {compute_[c]};
    for (const auto& [name, tail] : tails_) waits.push_back(tail[c]);
    done[c] = builder_.join(std::move(waits), c, origin);
  }
  return done;
}

}  // namespace shardsim
