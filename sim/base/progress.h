// How far work has come, on stderr, once it takes longer than two seconds: how much, how fast, how
// long it will still take. One line that changes, on a terminal only; it goes when the work ends.
//
// Work may be part of other work that says how far it is: then only the outer one does, and nobody
// has to know of the other.
#pragma once

#include <cstdint>
#include <string>

namespace shardsim {

class Progress {
 public:
  // `what` is done: "points replayed". `total` may be a guess; 0: unknown.
  Progress(std::string what, std::uint64_t total, bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void at(std::uint64_t done);
  void expect(std::uint64_t total) { total_ = total; }

 private:
  std::string what_;
  std::uint64_t total_;
  bool silent_, shown_ = false;
  double began_s_, next_s_;
};

// From here on no work of this process says how far it is (--quiet).
void show_no_progress();

// "1,234 points replayed of 10,000, 310/s, 28 s left".
std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double elapsed_s);

}  // namespace shardsim
