#include "plan/schedule_choice.h"

#include <algorithm>
#include <array>

#include "ir/peak_activations.h"

namespace shardsim {

namespace {

constexpr double kRounding = 1 + 1e-12;

// Of the fullest rank.
PeakActivations fullest(const Orders& orders) {
  PeakActivations peak;
  for (const auto& order : orders) peak = most(peak, peak_activations(order));
  return peak;
}

std::array<int, 3> memory_of(const Orders& orders) {
  const PeakActivations peak = fullest(orders);
  return {peak.weighted, peak.until_weight, peak.until_input};
}

}  // namespace

bool better(const FoundSchedule& a, const FoundSchedule& b) {
  if (a.complete != b.complete) return a.complete;
  for (const auto time : {&FoundSchedule::makespan, &FoundSchedule::span}) {
    if (a.*time * kRounding < b.*time) return true;
    if (b.*time * kRounding < a.*time) return false;
  }
  return memory_of(a.orders) < memory_of(b.orders);
}

bool fits(const ScheduleTask& task, const Orders& orders) {
  return task.room.holds(fullest(orders));
}

}  // namespace shardsim
