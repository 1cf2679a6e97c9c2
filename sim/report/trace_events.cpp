#include "report/trace_events.h"

#include <map>
#include <utility>
#include <vector>

namespace shardsim {

namespace {

// Threads of a process are numbered as its streams come up; lanes of a stream are one thread.
std::vector<std::int64_t> threads_of(const Slices& made, const TraceStyle& style,
                                     TraceEvents& events) {
  std::vector<std::int64_t> threads;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < made.tracks.size(); ++i) {
    const SliceTrack& track = made.tracks[i];
    const std::int64_t process = style.first_process + track.device;
    if (i == 0 || made.tracks[i - 1].device != track.device) {
      next = 0;
      events.add_name("process_name", process, 0, style.process_name(track));
    }
    if (track.lane == 0) events.add_name("thread_name", process, next++, track.stream);
    threads.push_back(next - 1);
  }
  return threads;
}

class Adding {
 public:
  Adding(const Slices& made, const TraceStyle& style, TraceEvents& events)
      : made_(made), style_(style), events_(events), threads_(threads_of(made, style, events)) {}

  std::int64_t run() {
    for (const Slice& slice : made_.slices) {
      if (transfers(slice)) {
        add_pair(slice);
      } else {
        Object event =
            to_event({origin(slice).name, process(slice), thread(slice), slice.begin, slice.end});
        event.emplace_back("args", style_.args(slice));
        events_.add(event);
      }
    }
    for (const SliceArrow& arrow : made_.arrows) add_arrow(arrow);
    return ids_;
  }

 private:
  const SliceOrigin& origin(const Slice& slice) const { return made_.origins[slice.origin]; }
  bool transfers(const Slice& slice) const {
    return made_.kinds[origin(slice).kind].group == SliceGroup::transfer;
  }
  std::int64_t process(const Slice& slice) const {
    return style_.first_process + made_.tracks[slice.track].device;
  }
  std::int64_t thread(const Slice& slice) const { return threads_[slice.track]; }
  int rank(const Slice& slice) const { return made_.tracks[slice.track].rank; }

  Object point(const char* phase, const std::string& name, std::int64_t id, const Slice& where,
               Seconds time) const {
    return Object{{"ph", phase},
                  {"name", name},
                  {"cat", style_.category},
                  {"id", style_.first_id + id},
                  {"pid", process(where)},
                  {"tid", thread(where)},
                  {"ts", us(time)}};
  }

  void add_pair(const Slice& slice) {
    const std::int64_t id = ids_++;
    events_.add(point("b", origin(slice).name, id, slice, slice.begin));
    events_.add(point("e", origin(slice).name, id, slice, slice.end));
  }

  // Only where ranks wait for each other. An arrow is bound to the slices around its points: both
  // lie where a slice begins.
  void add_arrow(const SliceArrow& arrow) {
    const Slice& to = made_.slices[arrow.to];
    std::uint32_t from = arrow.from;
    if (transfers(made_.slices[from])) from = made_.slices[from].cause;
    if (from == kNoSlice || transfers(made_.slices[from]) || transfers(to)) return;
    const Slice& maker = made_.slices[from];
    if (rank(maker) == rank(to)) return;
    const std::int64_t id = ids_++;
    events_.add(point("s", "sends", id, maker, maker.begin));
    Object end = point("f", "sends", id, to, to.begin);
    end.emplace_back("bp", "e");
    events_.add(end);
  }

  const Slices& made_;
  const TraceStyle& style_;
  TraceEvents& events_;
  std::vector<std::int64_t> threads_;  // [tracks]
  std::int64_t ids_ = 0;
};

}  // namespace

double us(Seconds time) {
  return time / Seconds{1e-6};
}

void TraceEvents::add(const Object& event) {
  text_ += std::exchange(before_, ",\n");
  append_json(text_, event);
}

void TraceEvents::add_name(const char* what, std::int64_t process, std::int64_t thread,
                           const std::string& name) {
  add({{"ph", "M"},
       {"name", what},
       {"pid", process},
       {"tid", thread},
       {"args", Object{{"name", name}}}});
}

Object to_event(const TraceSlice& slice) {
  return Object{{"ph", "X"},           {"name", slice.name},   {"pid", slice.process},
                {"tid", slice.thread}, {"ts", us(slice.from)}, {"dur", us(slice.to - slice.from)}};
}

std::int64_t add_slices(const Slices& made, const TraceStyle& style, TraceEvents& events) {
  return Adding(made, style, events).run();
}

}  // namespace shardsim
