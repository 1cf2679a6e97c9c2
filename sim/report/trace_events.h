// Chrome trace events, one by one: a trace of millions is never a tree as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"
#include "report/json.h"
#include "report/slices.h"

namespace shardsim {

double us(Seconds time);

class TraceEvents {
 public:
  void add(const Object& event);
  // Names a process (`what`: "process_name") or a thread ("thread_name").
  void add_name(const char* what, std::int64_t process, std::int64_t thread,
                const std::string& name);
  std::string take() { return std::move(text_) + "]}\n"; }

 private:
  std::string text_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
  const char* before_ = "";
};

// One interval on a thread.
struct TraceSlice {
  std::string name;
  std::int64_t process = 0, thread = 0;
  Seconds from, to;
};
Object to_event(const TraceSlice& slice);  // "ph": "X"

// How slices become events.
struct TraceStyle {
  std::int64_t first_process = 0;  // process = this + device class
  std::int64_t first_id = 0;       // of transfers and arrows
  std::string category;            // of transfers
  std::function<std::string(const SliceTrack&)> process_name;
  std::function<Object(const Slice&)> args;  // of computes and collectives
};

// A process for each device class, a thread for each stream. Computes and collectives are slices;
// transfers may overlap, which slices of one thread must not: pairs of asynchronous events; an
// arrow goes from what made a transfer to what waited for it. Returns the number of ids used.
std::int64_t add_slices(const Slices& made, const TraceStyle& style, TraceEvents& events);

}  // namespace shardsim
