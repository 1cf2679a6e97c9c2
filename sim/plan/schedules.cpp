#include "plan/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plan/interleaved_schedules.h"
#include "plan/plain_schedules.h"
#include "plan/searched_schedules.h"
#include "plan/v_schedules.h"

namespace shardsim {

namespace {

constexpr int kAny = std::numeric_limits<int>::max();

std::string always(const ScheduleAsk&) {
  return "";
}

// Megatron-LM: groups of p to m micro-batches; a last group smaller than p would stall.
std::string groups_fit(const ScheduleAsk& ask) {
  const int group = ask.group > 0 ? ask.group : ask.ranks;
  if (group < ask.ranks || group > ask.microbatches) {
    return ask.group > 0
               ? fmt::format("expected a group of {} to {} micro-batches (p to m), found {}",
                             ask.ranks, ask.microbatches, group)
               : fmt::format("expected at least {} micro-batches on {} ranks, found {}", ask.ranks,
                             ask.ranks, ask.microbatches);
  }
  const int rest = ask.microbatches % group;
  if (rest == 0 || rest >= ask.ranks) return "";
  if (group == ask.ranks)
    return fmt::format("expected a number of micro-batches that is a multiple of {} (p), found {}",
                       ask.ranks, ask.microbatches);
  return fmt::format(
      "expected a number of micro-batches that is a multiple of {} (the group) or at least {} (p) "
      "above one, found {}",
      group, ask.ranks, ask.microbatches);
}

// PyTorch: rounds of equal size, m / (m / p) micro-batches each.
std::string rounds_fit(const ScheduleAsk& ask) {
  if (rounds_group(ask.ranks, ask.microbatches) > 0) return "";
  const int rounds = ask.microbatches / ask.ranks;
  return fmt::format(
      "expected a multiple of {} micro-batches (m / p = {} rounds of equal size), found {}", rounds,
      rounds, ask.microbatches);
}

std::string even_ranks(const ScheduleAsk& ask) {
  if (ask.ranks % 2 == 0) return "";
  return fmt::format("expected an even number of ranks, found {}", ask.ranks);
}

std::string dualpipe_fits(const ScheduleAsk& ask) {
  std::string why = even_ranks(ask);
  if (why.empty() && ask.microbatches % 2 != 0) {
    why = fmt::format("expected an even number of micro-batches, half in each direction, found {}",
                      ask.microbatches);
  }
  if (why.empty() && ask.microbatches < 2 * ask.ranks) {
    why = fmt::format("expected at least {} micro-batches, two for every rank, found {}",
                      2 * ask.ranks, ask.microbatches);
  }
  return why;
}

std::string dualpipev_fits(const ScheduleAsk& ask) {
  if (ask.microbatches >= 2 * ask.ranks) return "";
  return fmt::format("expected at least {} micro-batches, two for every rank, found {}",
                     2 * ask.ranks, ask.microbatches);
}

std::string chimera_fits(const ScheduleAsk& ask) {
  std::string why = even_ranks(ask);
  if (why.empty() && ask.ranks < 4)
    why = fmt::format("expected at least 4 ranks, found {}", ask.ranks);
  if (why.empty() && ask.microbatches % ask.ranks != 0) {
    why = fmt::format("expected a multiple of {} micro-batches, as many as ranks, found {}",
                      ask.ranks, ask.microbatches);
  }
  return why;
}

constexpr std::string_view kGpipe[] = {"fill-drain", "f-then-b"};
constexpr std::string_view k1f1b[] = {"one-f-one-b", "pipedream-flush"};
constexpr std::string_view kInterleaved[] = {"interleaved", "vpp", "1f1b-interleaved", "1f1b-i",
                                             "interleaved-1f1b-group"};
constexpr std::string_view kFlex[] = {"interleaved-flex"};
constexpr std::string_view kMoe[] = {"moe-overlap"};
constexpr std::string_view kBfs[] = {"bfs", "breadth-first", "loopedbfs"};
constexpr std::string_view kZbPt[] = {"interleaved-zero-bubble", "interleaved-zb"};
constexpr std::string_view kH1[] = {"zbh1"};
constexpr std::string_view kLight[] = {"light-zb-h1", "zbpp-light"};
constexpr std::string_view kH2[] = {"zbh2"};
constexpr std::string_view kZbv[] = {"zb-v", "zbv-zero-bubble"};
constexpr std::string_view kDualV[] = {"dualpipe-v"};

constexpr std::string_view kZb1p[] = {"zb-1p", "zb1p"};
constexpr std::string_view kZb2p[] = {"zb-2p", "zb2p"};
constexpr std::string_view kZbvAuto[] = {"zb-v-auto"};
constexpr std::string_view kVHalf[] = {"vhalf"};
constexpr std::string_view kVMin[] = {"vmin"};

constexpr ScheduleRow kSchedules[] = {
    {"gpipe", kGpipe, "all forwards, then all backwards", 1, 1, false, false, false, always, gpipe,
     gpipe_forms},
    {"1f1b", k1f1b, "one forward, one backward, after a warm-up; Megatron-LM's without chunks", 1,
     1, false, false, true, always, one_f_one_b, one_f_one_b_forms},
    {"interleaved-1f1b", kInterleaved,
     "1F1B over v chunks per rank; Megatron-LM's virtual pipeline", 2, kAny, true, false, true,
     groups_fit, interleaved, interleaved_forms},
    {"interleaved-1f1b-flex", kFlex, "the same with PyTorch's groups of m / (m / p) micro-batches",
     2, kAny, false, false, false, rounds_fit, interleaved_flex, interleaved_forms},
    {"interleaved-1f1b-moe-overlap", kMoe,
     "interleaved with one forward more to start with, so that every later one overlaps a "
     "backward; Megatron-LM's for expert parallelism",
     2, kAny, true, false, false, groups_fit, interleaved_moe_overlap, no_forms},
    {"looped-bfs", kBfs,
     "GPipe over v chunks per rank, breadth first; PyTorch's, backwards descend", 1, kAny, false,
     false, false, always, looped_bfs, no_forms},
    {"interleaved-zb-pt", kZbPt,
     "PyTorch's interleaved zero bubble: half the warm-up, weight gradients later", 2, kAny, false,
     false, false, rounds_fit, interleaved_zero_bubble, no_forms},
    {"zb-h1", kH1, "zero bubble with the memory of 1F1B (on rank 0)", 1, 1, false, false, false,
     always, zb_h1, zb_h1_forms},
    {"zb-h1-light", kLight, "1F1B that puts off few weight gradients, newest first", 1, 1, false,
     false, false, always, zb_h1_light, no_forms},
    {"zb-h2", kH2, "zero bubble with about twice the memory of 1F1B", 1, 1, false, false, false,
     always, zb_h2, zb_h2_forms},
    {"zbv", kZbv, "zero bubble over two chunks per rank, down and up, with the memory of 1F1B", 2,
     2, false, false, false, always, zb_v, zb_v_forms},
    {"dualpipe",
     {},
     "DeepSeek-V3's: both directions at once, forwards overlap backwards; two copies "
     "of the parameters",
     1,
     1,
     false,
     false,
     true,
     dualpipe_fits,
     dualpipe,
     dualpipe_forms},
    {"dualpipev", kDualV, "DualPipe cut in half: down and up, one copy of the parameters", 2, 2,
     false, false, true, dualpipev_fits, dualpipev, dualpipev_forms},
    {"chimera",
     {},
     "two 1F1B pipelines of opposite direction, p micro-batches at a time; two copies "
     "of the parameters",
     1,
     1,
     false,
     false,
     false,
     chimera_fits,
     chimera,
     chimera_forms},
    {"zb-auto-1p", kZb1p, "zero bubble searched for the costs, with the memory of 1F1B", 1, 1,
     false, true, false, always, zb_auto_1p, no_forms},
    {"zb-auto-2p", kZb2p, "zero bubble searched for the costs, with twice the memory of 1F1B", 1, 1,
     false, true, false, always, zb_auto_2p, no_forms},
    {"zbv-auto", kZbvAuto, "ZB-V searched for the costs, with the memory of 1F1B", 2, 2, false,
     true, false, always, zbv_auto, no_forms},
    {"v-half", kVHalf, "down and up with about half the memory of 1F1B, searched for the costs", 2,
     2, false, true, false, always, v_half, no_forms},
    {"v-min", kVMin, "down and up with about a third of the memory of 1F1B, searched for the costs",
     2, 2, false, true, false, always, v_min, no_forms},
    {"v-1f1b",
     {},
     "down and up without splitting backwards, with two thirds of the memory of 1F1B, "
     "searched for the costs",
     2,
     2,
     false,
     true,
     false,
     always,
     v_1f1b,
     no_forms},
};

}  // namespace

std::span<const ScheduleRow> schedules() {
  return kSchedules;
}

const ScheduleRow* find_schedule(std::string_view name) {
  for (const ScheduleRow& row : kSchedules) {
    if (row.name == name) return &row;
    if (std::find(row.aliases.begin(), row.aliases.end(), name) != row.aliases.end()) return &row;
  }
  return nullptr;
}

}  // namespace shardsim
