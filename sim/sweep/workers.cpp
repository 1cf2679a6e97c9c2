#include "sweep/workers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "base/problem.h"
#include "base/sockets.h"

namespace shardsim {
namespace {

constexpr std::size_t kMostTasks = 4;  // of one worker: the next is there when one is done
constexpr int kInterruptedStatus = 130;
constexpr int kPollMilliseconds = 50;  // how late Ctrl-C and time-outs may be seen

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// Answers tasks until there are no more; leaves the process. No destructor of the parent's objects
// may run twice.
[[noreturn]] void answer_tasks(int fd, const Workers::Work& work) {
  try {
    PointTask task;
    while (receive_bytes(fd, reinterpret_cast<char*>(&task), sizeof task) &&
           send_message(fd, work(task))) {
    }
  } catch (const Interrupted&) {
    _exit(kInterruptedStatus);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "shardsim: worker: %s\n", error.what());
    std::fflush(nullptr);
    _exit(1);
  }
  _exit(interrupted() ? kInterruptedStatus : 0);
}

[[noreturn]] void serve(int fd, const Workers::Work& work, const Workers::Around& around,
                        pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the parent die, so do we
  if (getppid() != parent) _exit(1);
  for (const int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(fatal, SIG_DFL);
  around([&] { answer_tasks(fd, work); });
  _exit(1);
}

std::string cause_of_death(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Workers::Workers(int jobs, Work work, std::optional<Seconds> timeout, Around around)
    : work_(std::move(work)),
      timeout_(timeout),
      around_(std::move(around)),
      workers_(static_cast<std::size_t>(jobs)) {
  for (Worker& worker : workers_) start(worker);
}

Workers::~Workers() {
  for (Worker& worker : workers_) stop(worker);
}

void Workers::start(Worker& worker) {
  const SocketPair sockets = make_sockets();
  std::fflush(nullptr);  // what is buffered must not be written twice
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    close(sockets.mine);
    for (const Worker& other : workers_)
      if (other.socket >= 0) close(other.socket);
    serve(sockets.theirs, work_, around_, parent);
  }
  close(sockets.theirs);
  if (pid < 0) {
    close(sockets.mine);
    throw std::runtime_error(fmt::format("cannot start a worker: {}", std::strerror(errno)));
  }
  worker.pid = pid;
  worker.socket = sockets.mine;
  worker.bytes.clear();
  worker.since_s = now_s();
}

void Workers::stop(Worker& worker) {
  if (worker.pid < 0) return;
  kill(worker.pid, SIGKILL);
  wait_for(worker.pid);
  close(worker.socket);
  worker.pid = worker.socket = -1;
}

bool Workers::has_room(bool at_once) const {
  const std::size_t most = at_once ? 1 : kMostTasks;
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const Worker& w) { return w.tasks.size() < most; });
}

void Workers::send(Worker& worker, const PointTask& task) {
  // A worker that is gone is seen when its answers end.
  send_bytes(worker.socket, {reinterpret_cast<const char*>(&task), sizeof task});
}

void Workers::give(const PointTask& task) {
  Worker& worker = *std::min_element(
      workers_.begin(), workers_.end(),
      [](const Worker& a, const Worker& b) { return a.tasks.size() < b.tasks.size(); });
  if (worker.tasks.empty()) worker.since_s = now_s();
  worker.tasks.push_back(task);
  send(worker, task);
}

void Workers::fail_first(Worker& worker, std::string why, std::vector<PointDone>& done) {
  if (!worker.tasks.empty()) {
    done.push_back({worker.tasks.front(), std::nullopt, std::move(why)});
    worker.tasks.pop_front();
  }
  start(worker);
  for (const PointTask& task : worker.tasks) send(worker, task);
}

void Workers::read_from(Worker& worker, std::vector<PointDone>& done) {
  char buffer[1 << 16];
  const ssize_t got = ::read(worker.socket, buffer, sizeof buffer);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    const int status = wait_for(worker.pid);
    close(worker.socket);
    worker.pid = worker.socket = -1;
    // Ctrl-C reaches the whole group, and the worker may have seen it first.
    if (WIFEXITED(status) && WEXITSTATUS(status) == kInterruptedStatus)
      throw Interrupted("interrupted");
    throw_if_interrupted();
    return fail_first(worker, cause_of_death(status), done);
  }
  worker.bytes.append(buffer, static_cast<std::size_t>(got));
  std::size_t at = 0;
  for (;;) {
    std::uint64_t size = 0;
    if (worker.bytes.size() - at < sizeof size) break;
    std::memcpy(&size, worker.bytes.data() + at, sizeof size);
    if (worker.bytes.size() - at - sizeof size < size) break;
    done.push_back({worker.tasks.front(), worker.bytes.substr(at + sizeof size, size), ""});
    worker.tasks.pop_front();
    worker.since_s = now_s();
    at += sizeof size + size;
  }
  worker.bytes.erase(0, at);
}

std::vector<PointDone> Workers::wait() {
  std::vector<pollfd> readable;
  for (const Worker& worker : workers_) readable.push_back({worker.socket, POLLIN, 0});
  throw_if_interrupted();
  const int ready = poll(readable.data(), readable.size(), kPollMilliseconds);
  throw_if_interrupted();
  std::vector<PointDone> done;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (ready > 0 && readable[i].revents != 0) {
      read_from(worker, done);
    } else if (timeout_ && !worker.tasks.empty() && Seconds{now_s() - worker.since_s} > *timeout_) {
      stop(worker);
      fail_first(worker, fmt::format("no answer in {}", to_text(*timeout_)), done);
    }
  }
  return done;
}

}  // namespace shardsim
