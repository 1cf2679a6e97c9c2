// Work that needs a process of its own: SimGrid allows one engine per process and aborts on errors.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/units.h"

namespace shardsim {

// Memory that a forked child writes and its parent reads; zero at first.
class SharedSeconds {
 public:
  explicit SharedSeconds(std::size_t count);
  ~SharedSeconds();
  SharedSeconds(const SharedSeconds&) = delete;
  SharedSeconds& operator=(const SharedSeconds&) = delete;

  std::span<Seconds> values() const { return {data_, count_}; }

 private:
  Seconds* data_ = nullptr;
  std::size_t count_ = 0;
};

// Forks, runs `work` in the child on a thread with a large stack, and waits for it. What the child
// writes to stderr is kept for the error message and otherwise dropped. Throws std::runtime_error
// when the child dies or `work` throws, and Interrupted after Ctrl-C (the child is killed first).
// The child ends by _exit: no destructor of the parent's objects runs twice.
void run_in_child(const std::function<void()>& work);

}  // namespace shardsim
