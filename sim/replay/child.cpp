#include "replay/child.h"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "base/file.h"
#include "base/problem.h"

namespace shardsim {

namespace {

// SimGrid's solver recurses once per coupled link; 8 MB overflow between 50,000 and 100,000 links.
// Address space only: pages are taken as they are touched.
constexpr std::size_t kStackBytes = std::size_t{1} << 30;
constexpr std::size_t kMessageBytes = 2000;  // of the child's stderr, the end
constexpr int kPollMilliseconds = 50;        // how late Ctrl-C may be seen

std::runtime_error machine_error(const char* what) {
  return std::runtime_error(
      fmt::format("cannot start the engine: {}: {}", what, std::strerror(errno)));
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw machine_error("pipe");
  return {.read_end = ends[0], .write_end = ends[1]};
}

void* thread_main(void* argument) {
  const auto* work = static_cast<const std::function<void()>*>(argument);
  try {
    (*work)();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(nullptr);
    _exit(1);
  }
  return nullptr;
}

// Returns 0, or the error number.
int run_on_large_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes)) return error;
  if (const int error = pthread_attr_setstacksize(&attributes, kStackBytes)) return error;
  pthread_t thread{};
  // pthread takes a void*; thread_main gives the const back.
  auto* argument = const_cast<std::function<void()>*>(&work);
  if (const int error = pthread_create(&thread, &attributes, thread_main, argument)) return error;
  return pthread_join(thread, nullptr);
}

[[noreturn]] void child_main(const std::function<void()>& work, const Pipe& pipe, pid_t parent) {
  // Ctrl-C and the end of a terminal reach the whole group, and SimGrid installs a handler of its
  // own that crashes. The parent decides: it kills us; should it die first, so do we.
  sigset_t whole_group;
  sigemptyset(&whole_group);
  sigaddset(&whole_group, SIGINT);
  sigaddset(&whole_group, SIGHUP);
  sigprocmask(SIG_BLOCK, &whole_group, nullptr);
  for (const int fatal : {SIGTERM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(fatal, SIG_DFL);  // the parent's handlers would speak for the wrong process
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(pipe.write_end, STDERR_FILENO);
  close(pipe.write_end);
  close(pipe.read_end);
  const int error = run_on_large_stack(work);
  if (error != 0) std::fprintf(stderr, "thread with a large stack: %s\n", std::strerror(error));
  std::fflush(nullptr);
  _exit(error == 0 ? 0 : 1);
}

int wait_for_exit(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Reads until the child has closed its end, which it does by ending. Returns the last bytes.
std::string read_until_closed(int fd, const std::function<void()>& watch) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (!interrupted()) {
    watch();
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, kPollMilliseconds) <= 0) continue;
    const ssize_t count = read(fd, buffer.data(), buffer.size());
    if (count == 0) break;
    if (count < 0) continue;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kMessageBytes) text.erase(0, text.size() - kMessageBytes);
  }
  return text;
}

std::string cause_of_death(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace

void* make_shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw machine_error("shared memory");
  return memory;
}

void drop_shared_memory(void* memory, std::size_t bytes) {
  munmap(memory, std::max<std::size_t>(bytes, 1));
}

Child start_child(const std::function<void()>& work) {
  const Pipe pipe = open_pipe();
  std::fflush(nullptr);  // what is buffered must not be written twice
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) child_main(work, pipe, parent);
  close(pipe.write_end);
  if (child < 0) {
    close(pipe.read_end);
    throw machine_error("fork");
  }
  return {.pid = child, .stderr_end = pipe.read_end};
}

void finish_child(const Child& child, const std::function<void()>& watch) {
  const std::string message = read_until_closed(child.stderr_end, watch);
  close(child.stderr_end);
  if (interrupted()) kill(child.pid, SIGKILL);
  const int status = wait_for_exit(child.pid);
  throw_if_interrupted();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw std::runtime_error(
      fmt::format("the simgrid engine died: {}\n{}", cause_of_death(status), message));
}

void kill_child(const Child& child) {
  close(child.stderr_end);
  kill(child.pid, SIGKILL);
  wait_for_exit(child.pid);
}

}  // namespace shardsim
