#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/problem.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t g_interrupted = 0;

void note_interrupt(int) {
  g_interrupted = 1;
}

[[noreturn]] void fail(std::string_view path, std::string_view doing, int error) {
  throw std::runtime_error(fmt::format("{}: {}: {}", path, doing, std::strerror(error)));
}

// An open file descriptor; closed when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

int open_retrying(const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EINTR) return fd;
    throw_if_interrupted();
  }
}

void write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    throw_if_interrupted();
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "cannot write", errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Writes, flushes to the disk and closes; a full disk may show up only in the last two.
void write_and_close(Descriptor& fd, const OutputFile& file) {
  write_all(fd.get(), file.content, file.path);
  // Devices and pipes cannot be flushed: EINVAL, EROFS.
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != EROFS) {
    fail(file.path, "cannot write", errno);
  }
  if (::close(fd.release()) != 0) fail(file.path, "cannot write", errno);
}

// A name beside `target` that nothing has yet, created empty.
std::pair<int, std::string> create_beside(const std::string& target) {
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::string name = fmt::format("{}.tmp-{}-{}", target, ::getpid(), attempt);
    const int fd = open_retrying(name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd >= 0) return {fd, std::move(name)};
    if (errno != EEXIST) fail(target, "cannot create", errno);
  }
  fail(target, "cannot create", EEXIST);
}

// Temporaries and what they become; those still here at the end are removed.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() {
    for (const auto& [temporary, target] : moves_) ::unlink(temporary.c_str());
  }

  void write(const OutputFile& file, const std::string& target) {
    auto [opened, temporary] = create_beside(target);
    Descriptor fd(opened);
    moves_.emplace_back(std::move(temporary), target);
    write_and_close(fd, file);
  }

  void move_all() {
    while (!moves_.empty()) {
      const auto& [temporary, target] = moves_.back();
      if (::rename(temporary.c_str(), target.c_str()) != 0) fail(target, "cannot replace", errno);
      moves_.pop_back();
    }
  }

 private:
  std::vector<std::pair<std::string, std::string>> moves_;
};

// Where the bytes go: the file itself when `path` is a link to it.
std::string resolved(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_symlink(path, ignored)) return path;
  const fs::path target = fs::canonical(path, ignored);
  return ignored ? path : target.string();
}

}  // namespace

std::string read_file(const std::string& path, std::size_t limit) {
  const Descriptor fd(open_retrying(path, O_RDONLY | O_NONBLOCK));  // a FIFO must not block
  if (fd.get() < 0) fail(path, "cannot read", errno);
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) fail(path, "cannot read", errno);
  if (S_ISDIR(info.st_mode)) fail(path, "cannot read", EISDIR);
  if (!S_ISREG(info.st_mode)) throw std::runtime_error(path + ": cannot read: not a regular file");
  std::string content;
  std::string buffer(64 * 1024, '\0');
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      throw_if_interrupted();
      continue;
    }
    if (got < 0) fail(path, "cannot read", errno);
    if (got == 0) return content;
    content.append(buffer, 0, static_cast<std::size_t>(got));
    if (content.size() > limit) {
      throw std::runtime_error(fmt::format("{}: larger than {} bytes", path, limit));
    }
  }
}

void write_files(const std::vector<OutputFile>& files) {
  Pending pending;
  for (const OutputFile& file : files) {
    throw_if_interrupted();
    const std::string target = resolved(file.path);
    std::error_code missing;
    const fs::file_status status = fs::status(target, missing);
    if (fs::is_directory(status)) fail(file.path, "cannot write", EISDIR);
    // A device or pipe is written in place: renaming over it would replace it by a plain file.
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      Descriptor fd(open_retrying(target, O_WRONLY));
      if (fd.get() < 0) fail(file.path, "cannot write", errno);
      write_and_close(fd, file);
      continue;
    }
    pending.write(file, target);
  }
  throw_if_interrupted();
  pending.move_all();
}

void require_writable_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, "cannot create the directory", error.value());
  if (!fs::is_directory(path, error)) fail(path, "cannot create the directory", ENOTDIR);
  if (::access(path.c_str(), W_OK | X_OK) != 0) fail(path, "cannot write in the directory", errno);
  const auto [fd, probe] = create_beside((fs::path(path) / "probe").string());
  ::close(fd);
  ::unlink(probe.c_str());
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;  // no SA_RESTART: a blocked read or write returns EINTR
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit fails the write, which removes the temporaries
}

bool interrupted() {
  return g_interrupted != 0;
}

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted("interrupted");
}

std::string data_dir() {
  const char* chosen = std::getenv("SHARDSIM_DATA");
  if (chosen == nullptr || *chosen == '\0') return SHARDSIM_SOURCE_DIR;
  if (!fs::is_directory(fs::path(chosen) / "configs")) {
    throw std::runtime_error(fmt::format(
        "SHARDSIM_DATA={}: expected a directory that holds configs/ and models/", chosen));
  }
  return chosen;
}

}  // namespace shardsim
