#include "plan/schedule_choice.h"

#include <algorithm>
#include <array>

#include "ir/peak_activations.h"

namespace shardsim {

namespace {

constexpr double kRounding = 1 + 1e-12;

// The task's own count first.
std::array<int, 3> memory_of(const ScheduleTask& task, const Orders& orders) {
  PeakActivations most;
  for (const auto& order : orders) {
    const PeakActivations peak = peak_activations(order);
    most.until_input = std::max(most.until_input, peak.until_input);
    most.until_weight = std::max(most.until_weight, peak.until_weight);
    most.weighted = std::max(most.weighted, peak.weighted);
  }
  if (task.until_weight) return {2 * most.until_weight, most.weighted, most.until_input};
  return {most.weighted, most.until_weight, most.until_input};
}

}  // namespace

bool better(const ScheduleTask& task, const FoundSchedule& a, const FoundSchedule& b) {
  if (a.complete != b.complete) return a.complete;
  for (const auto time : {&FoundSchedule::makespan, &FoundSchedule::span}) {
    if (a.*time * kRounding < b.*time) return true;
    if (b.*time * kRounding < a.*time) return false;
  }
  return memory_of(task, a.orders) < memory_of(task, b.orders);
}

bool fits(const ScheduleTask& task, const Orders& orders) {
  return memory_of(task, orders)[0] <= task.memory;
}

}  // namespace shardsim
