#include "plan/schedule_forms.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardsim {

namespace {

constexpr std::string_view kSweep = "fitted to replays; exact in all of them";
constexpr std::string_view kZeroBubble = "arXiv 2401.10241, table 1 and section 2.3";

// Costs under the letters of the formulas.
struct Letters {
  double m, p, v;
  Seconds f, i, w, b, x, c;
  bool free_p2p;  // c = 0
  bool async;     // or c = 0, which is the same
  bool blocking;  // and c > 0
  bool b_is_i_and_w;
};

bool same(Seconds a, Seconds b) {
  return std::abs((a - b) / Seconds{1}) <= 1e-12 * std::abs(b / Seconds{1});
}

Letters letters(const ScheduleAsk& ask) {
  const CellCosts& t = ask.costs;
  const bool free = t.p2p == Seconds{} && ask.mode != P2pMode::blocking;
  return {.m = static_cast<double>(ask.microbatches),
          .p = static_cast<double>(ask.ranks),
          .v = static_cast<double>(ask.chunks),
          .f = t.forward,
          .i = t.backward_input,
          .w = t.backward_weight,
          .b = t.backward,
          .x = t.overlapped,
          .c = t.p2p,
          .free_p2p = free,
          .async = free || ask.mode == P2pMode::async,
          .blocking = ask.mode == P2pMode::blocking,
          .b_is_i_and_w = same(t.backward_input + t.backward_weight, t.backward)};
}

Seconds largest(std::initializer_list<Seconds> of) {
  return std::max(of);
}

// The condition under which the forms of zero-bubble schedules with split backwards were checked.
bool thirds(const Letters& l) {
  return same(l.f, l.i) && same(l.i, l.w) && l.b_is_i_and_w;
}

}  // namespace

std::string_view to_text(P2pMode mode) {
  constexpr std::array<std::string_view, 3> kNames = {"async", "serial", "blocking"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::span<const P2pMode> p2p_modes() {
  static constexpr std::array kModes = {P2pMode::async, P2pMode::serial, P2pMode::blocking};
  return kModes;
}

ScheduleForms no_forms(const ScheduleAsk&) {
  return {};
}

ScheduleForms gpipe_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  return {{.what = "makespan",
           .formula = "(m+p-1)(F+B) + 2(p-1)c",
           .condition = "async p2p",
           .holds = l.async,
           .value = (l.m + l.p - 1) * (l.f + l.b) + 2 * (l.p - 1) * l.c,
           .source = "arXiv 1811.06965, section 2.3"}};
}

ScheduleForms one_f_one_b_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  const Seconds compute = (l.m + l.p - 1) * (l.f + l.b);
  if (l.blocking) {
    const bool two = ask.ranks == 2;
    return {
        {.what = "makespan",
         .formula = two ? "(m+p-1)(F+B) + (m+1)c" : "(m+p-1)(F+B) + (2m+2p-5)c",
         .condition =
             two ? "blocking p2p, c <= min(F, B)" : "blocking p2p, p >= 3, m >= 2, c <= min(F, B)",
         .holds = (two || (ask.ranks >= 3 && ask.microbatches >= 2)) && l.c <= std::min(l.f, l.b),
         .value = compute + (two ? l.m + 1 : 2 * l.m + 2 * l.p - 5) * l.c,
         .source = kSweep,
         .note = "the exchange costs about 2c for every micro-batch, however many ranks"}};
  }
  const double later = std::ceil((l.m - 1) / l.p);
  return {{.what = "makespan",
           .formula = "(m+p-1)(F+B) + 2c[(p-1) + (m-1) - ceil((m-1)/p)]",
           .condition = "async p2p",
           .holds = l.async,
           .value = compute + 2 * (l.p - 1 + l.m - 1 - later) * l.c,
           .source = "arXiv 2104.04473, section 2.2.1 for c = 0; the p2p term is fitted to replays",
           .note =
               "often written with 2(p-1)c, but a rank's window of p micro-batches is one round "
               "trip, so p2p also costs about 2(p-1)/p c for every micro-batch"}};
}

ScheduleForms interleaved_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  const bool plain =
      ask.microbatches % ask.ranks == 0 && (ask.group == 0 || ask.group == ask.ranks);
  const Seconds compute = (l.m * l.v + l.p - 1) * (l.f + l.b);
  if (l.blocking) {
    return {{.what = "makespan",
             .formula = "(mv+p-1)(f+b) + (mv+pv+p-3)c",
             .condition = "blocking p2p, p divides m, p >= 3, m >= 2p, c <= min(f, b)/2",
             .holds = plain && ask.ranks >= 3 && ask.microbatches >= 2 * ask.ranks &&
                      2 * l.c <= std::min(l.f, l.b),
             .value = compute + (l.m * l.v + l.p * l.v + l.p - 3) * l.c,
             .source = kSweep}};
  }
  return {{.what = "makespan",
           .formula = "(mv+p-1)(f+b) + 2(pv-1)c",
           .condition = "async p2p, p >= 2 divides m, groups of p, c <= min(f, b)",
           .holds = l.async && plain && l.c <= std::min(l.f, l.b) && (l.free_p2p || ask.ranks > 1),
           .value = compute + 2 * (l.p * l.v - 1) * l.c,
           .source = "arXiv 2104.04473, section 2.2.2 for c = 0; the p2p term is fitted to replays",
           .note = "the bubble rates of 1F1B-I in arXiv 2401.10241, table 5, follow "
                   "m(F+B) + (p-1)(F+B)/v + (2pv-p-2)c, which is p*c shorter than this order"}};
}

ScheduleForms zb_h1_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  const Seconds work = l.m * (l.f + l.b);
  const bool full = l.free_p2p && l.b_is_i_and_w && ask.microbatches >= ask.ranks;
  return {
      {.what = "makespan",
       .formula = "m(F+B) + (p-1)max(F+I-W, I, F)",
       .condition = "p2p 0 and not blocking, m >= p, B = I+W",
       .holds = full,
       .value = work + (l.p - 1) * largest({l.f + l.i - l.w, l.i, l.f}),
       .source = kZeroBubble,
       .note = "\"a third of 1F1B's bubble\" is (p-1)/(3m+p-1) at F = I = W, not B/3 of its rate"},
      {.what = "max span",
       .formula = "m(F+B) + (p-1)max(F+I-W, I)",
       .condition = "p2p 0 and not blocking, m >= p, B = I+W",
       .holds = full,
       .value = work + (l.p - 1) * largest({l.f + l.i - l.w, l.i}),
       .source = kZeroBubble,
       .note = "published as (p-1)(F+I-W), which is this while W <= F"}};
}

ScheduleForms zb_h2_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  const Seconds work = l.m * (l.f + l.b);
  const bool full = l.free_p2p && l.b_is_i_and_w && ask.microbatches >= 2 * ask.ranks - 1;
  return {
      {.what = "makespan",
       .formula = "m(F+B) + (p-1)max(F+I-2W, I-F, F)",
       .condition = "p2p 0 and not blocking, m >= 2p-1, B = I+W",
       .holds = full,
       .value = work + (l.p - 1) * largest({l.f + l.i - 2 * l.w, l.i - l.f, l.f}),
       .source = kSweep,
       .note = "\"zero bubble\" is the span of a rank: where the optimizer waits for all ranks, "
               "H2 is no faster than H1 at F = I = W"},
      {.what = "max span",
       .formula = "m(F+B) + (p-1)max(F+I-2W, I-F, 0)",
       .condition = "p2p 0 and not blocking, m >= 2p-1, B = I+W",
       .holds = full,
       .value = work + (l.p - 1) * largest({l.f + l.i - 2 * l.w, l.i - l.f, Seconds{}}),
       .source = kZeroBubble}};
}

ScheduleForms zb_v_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  const Seconds work = 2 * l.m * (l.f + l.b);
  const bool full = l.free_p2p && l.b_is_i_and_w && ask.microbatches >= 2 * ask.ranks - 1 &&
                    l.w <= l.f && l.f <= l.i;
  return {{.what = "makespan",
           .formula = "2m(f+b) + (p-1)max(2(i-w), i)",
           .condition = "p2p 0 and not blocking, m >= 2p-1, w <= f <= i, b = i+w",
           .holds = full,
           .value = work + (l.p - 1) * largest({2 * (l.i - l.w), l.i}),
           .source = kSweep},
          {.what = "max span",
           .formula = "2m(f+b) + 2(p-1)(i-w)",
           .condition = "p2p 0 and not blocking, m >= 2p-1, w <= f <= i, b = i+w",
           .holds = full,
           .value = work + 2 * (l.p - 1) * (l.i - l.w),
           .source = kSweep,
           .note = "\"zero bubble\" is the span of a rank, at f = i = w; ranks start one after the "
                   "other"}};
}

namespace {

// What DualPipe and DualPipeV differ in.
struct DualForm {
  double half;        // PP/2, of PP stages
  double overlapped;  // cells F&B on a rank where the pipeline turns
  double forwards;    // works F on it, overlapped ones included
  double blocking;    // c of blocking transfers
  bool enough_ranks;  // for that
  std::string_view makespan, with_blocking;
  std::string_view blocking_condition;
};

// Idle time of the middle ranks: DeepSeek-V3 (arXiv 2412.19437), table 2, says
// (PP/2-1)(F&B + B - 3W); the code has F where that has I.
ScheduleForms dual_forms(const Letters& l, const DualForm& form) {
  const Seconds idle = (form.half - 1) * (l.x + l.f - l.w - std::min(l.w, l.i));
  const Seconds busy = form.overlapped * l.x + (form.forwards - form.overlapped) * (l.f + l.b);
  const bool region =
      l.b_is_i_and_w && (form.half - 1) * (l.i - l.f) <= l.f && l.x >= std::max(l.f, l.b);
  ScheduleForms forms = {
      {.what = "makespan",
       .formula = form.makespan,
       .condition =
           "p2p 0 and not blocking, (PP/2-1)(I-F) <= F, X >= max(F, B), B = I+W; PP stages",
       .holds = l.free_p2p && region,
       .value = busy + idle,
       .source = "deepseek-ai/DualPipe as it runs; fitted to replays"},
      {.what = "idle time of the middle ranks",
       .formula = "(PP/2-1)(X + B - 3W)",
       .condition = "p2p 0 and not blocking, F = I, W <= I, X >= B = I+W; PP stages",
       .holds = l.free_p2p && region && same(l.f, l.i) && l.w <= l.i,
       .value = (form.half - 1) * (l.x + l.b - 3 * l.w),
       .source = "arXiv 2412.19437, table 2",
       .note = "the code has F where the published form has I; where X < F+B the other ranks, with "
               "more overlapped cells, are less busy and idle for longer or shorter"}};
  if (!l.blocking) return forms;
  forms.front() = {
      .what = "makespan",
      .formula = form.with_blocking,
      .condition = form.blocking_condition,
      .holds = form.enough_ranks && thirds(l) && same(l.x, l.f + l.b) && 10 * l.c <= l.f,
      .value = busy + idle + form.blocking * l.c,
      .source = kSweep};
  return forms;
}

}  // namespace

ScheduleForms dualpipe_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  return dual_forms(l,
                    {.half = l.p / 2,
                     .overlapped = l.m - l.p - 1,
                     .forwards = l.m,
                     .blocking = l.m + 2 * l.p - 4,
                     .enough_ranks = ask.ranks >= 4,
                     .makespan = "(m-p-1)X + (p+1)(F+B) + (p/2-1)(X+F-W-min(W,I))",
                     .with_blocking = "(m-p-1)X + (p+1)(F+B) + (p/2-1)(X+F-2W) + (m+2p-4)c",
                     .blocking_condition = "blocking p2p, p >= 4, F = I = W, X = F+B, c <= F/10"});
}

ScheduleForms dualpipev_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  return dual_forms(l,
                    {.half = l.p,
                     .overlapped = 2 * l.m - 2 * l.p - 1,
                     .forwards = 2 * l.m,
                     .blocking = 2 * l.m + 4 * l.p - 5,
                     .enough_ranks = ask.ranks >= 3,
                     .makespan = "(2m-2p-1)x + (2p+1)(f+b) + (p-1)(x+f-w-min(w,i))",
                     .with_blocking = "(2m-2p-1)x + (2p+1)(f+b) + (p-1)(x+f-2w) + (2m+4p-5)c",
                     .blocking_condition = "blocking p2p, p >= 3, f = i = w, x = f+b, c <= f/10"});
}

ScheduleForms chimera_forms(const ScheduleAsk& ask) {
  const Letters l = letters(ask);
  return {{.what = "makespan",
           .formula = "m(F+B) + (p-2)F",
           .condition = "p2p 0 and not blocking, F = B",
           .holds = l.free_p2p && same(l.f, l.b),
           .value = l.m * (l.f + l.b) + (l.p - 2) * l.f,
           .source = "arXiv 2107.06925, table 2"}};
}

}  // namespace shardsim
