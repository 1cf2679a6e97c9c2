// Work that needs a process of its own: SimGrid allows one engine per process and aborts on errors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "base/units.h"

namespace shardsim {

// Memory that a forked child writes and its parent reads: values of a type that zero bytes are one
// of, and that needs no destructor. A page of it costs something only when it is touched.
void* make_shared_memory(std::size_t bytes);
void drop_shared_memory(void* memory, std::size_t bytes);

template <class T>
class SharedValues {
 public:
  explicit SharedValues(std::size_t count)
      : data_(static_cast<T*>(make_shared_memory(count * sizeof(T)))), count_(count) {
    static_assert(std::is_trivially_destructible_v<T>);
  }
  ~SharedValues() { drop_shared_memory(data_, count_ * sizeof(T)); }
  SharedValues(const SharedValues&) = delete;
  SharedValues& operator=(const SharedValues&) = delete;

  std::span<T> values() const { return {data_, count_}; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};
using SharedSeconds = SharedValues<Seconds>;
// How much the child has done.
using SharedCount = SharedValues<std::atomic<std::uint64_t>>;

// A process forked from this one, and where its stderr can be read.
struct Child {
  int pid;
  int stderr_end;
};

// Forks and runs `work` in the child on a thread with a large stack. The child is not reached by
// Ctrl-C, dies with its parent, and ends by _exit: no destructor of the parent's objects runs
// twice. Throws std::runtime_error when there can be no child.
Child start_child(const std::function<void()>& work);

// Waits for the child, calling `watch` some twenty times a second. What it writes to stderr is kept
// for the error message and otherwise dropped. Throws std::runtime_error when the child died or
// `work` threw, and Interrupted after Ctrl-C (the child is killed first).
void finish_child(const Child& child, const std::function<void()>& watch);

// Nobody needs the child any more. Throws nothing.
void kill_child(const Child& child);

}  // namespace shardsim
