#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/counted.h"

namespace shardsim {
namespace {

constexpr double kSilent_s = 2;     // at first
constexpr double kBetween_s = 0.5;  // between changes of the line

int g_under_way = 0;  // Progress objects; a forked child inherits its parent's
bool g_quiet = false;

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

std::string time_left(double left_s) {
  if (left_s < 100) return fmt::format("{:.0f} s left", left_s);
  if (left_s < 6000) return fmt::format("{:.0f} min left", left_s / 60);
  return fmt::format("{:.1f} h left", left_s / 3600);
}

// "point replayed" of "points replayed".
std::string of_one(std::string what) {
  const std::size_t end = std::min(what.find(' '), what.size());
  if (end > 0 && what[end - 1] == 's') what.erase(end - 1, 1);
  return what;
}

}  // namespace

std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double elapsed_s) {
  const double rate = elapsed_s > 0 ? static_cast<double>(done) / elapsed_s : 0;
  std::string text = fmt::format("{} {}", grouped(done), done == 1 ? of_one(what) : what);
  if (total > 0) text += fmt::format(" of {}", grouped(total));
  if (rate <= 0) return text;
  text += rate < 1000
              ? fmt::format(", {:.3g}/s", rate)
              : fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(std::llround(rate))));
  if (total > done) text += ", " + time_left(static_cast<double>(total - done) / rate);
  return text;
}

Progress::Progress(std::string what, std::uint64_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      silent_(quiet || g_quiet || g_under_way > 0 || isatty(STDERR_FILENO) != 1),
      began_s_(now_s()),
      next_s_(began_s_ + kSilent_s) {
  ++g_under_way;
}

Progress::~Progress() {
  --g_under_way;
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
}

void Progress::at(std::uint64_t done) {
  if (silent_) return;
  const double now = now_s();
  if (now < next_s_) return;
  next_s_ = now + kBetween_s;
  std::fprintf(stderr, "\r%s\033[K", progress_text(what_, done, total_, now - began_s_).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void show_no_progress() {
  g_quiet = true;
}

}  // namespace shardsim
