#include "base/file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/problem.h"

using namespace shardsim;
namespace fs = std::filesystem;

namespace {

// A new folder, removed at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "shardsim-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string at(const std::string& name) const { return (path / name).string(); }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path)) count += entry.exists() ? 1 : 0;
    return count;
  }
};

std::string message(void (*act)(const Folder&), const Folder& folder) {
  try {
    act(folder);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("file: what is written is read, and replaces what was there") {
  const Folder folder;
  const std::string big(300'000, 'x');
  write_files({{folder.at("a"), "old"}, {folder.at("b"), big}});
  write_files({{folder.at("a"), "new"}});
  CHECK(read_file(folder.at("a"), 10) == "new");
  CHECK(read_file(folder.at("b"), 300'000) == big);
  CHECK(folder.files() == 2);  // no temporaries left
}

TEST_CASE("file: what cannot be read is named") {
  const Folder folder;
  CHECK(message([](const Folder& f) { (void)read_file(f.at("none"), 10); }, folder) ==
        folder.at("none") + ": cannot read: No such file or directory");
  CHECK(message([](const Folder& f) { (void)read_file(f.path.string(), 10); }, folder) ==
        folder.path.string() + ": cannot read: Is a directory");
  CHECK(message([](const Folder&) { (void)read_file("/dev/zero", 1000); }, folder) ==
        "/dev/zero: cannot read: not a regular file");
  write_files({{folder.at("big"), std::string(1001, 'x')}});
  CHECK(message([](const Folder& f) { (void)read_file(f.at("big"), 1000); }, folder) ==
        folder.at("big") + ": larger than 1000 bytes");
}

TEST_CASE("file: a failure leaves every target as it was and no temporaries") {
  const Folder folder;
  write_files({{folder.at("a"), "old"}});
  const auto act = [](const Folder& f) {
    write_files({{f.at("a"), "new"}, {f.at("missing/b"), "new"}});
  };
  CHECK(message(act, folder) ==
        folder.at("missing/b") + ": cannot create: No such file or directory");
  CHECK(read_file(folder.at("a"), 10) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("file: a full disk is an error, and /dev/full stays a device") {
  const Folder folder;
  const auto act = [](const Folder& f) { write_files({{f.at("a"), "new"}, {"/dev/full", "new"}}); };
  CHECK(message(act, folder) == "/dev/full: cannot write: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
  CHECK(folder.files() == 0);
}

TEST_CASE("file: a limit reached in the middle of a write leaves the old file") {
  const Folder folder;
  write_files({{folder.at("a"), "old"}});
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto act = [](const Folder& f) { write_files({{f.at("a"), std::string(100'000, 'x')}}); };
    const bool refused = message(act, folder) == folder.at("a") + ": cannot write: File too large";
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read_file(folder.at("a"), 10) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("file: a link's target is written, the link stays") {
  const Folder folder;
  write_files({{folder.at("a"), "old"}});
  fs::create_symlink(folder.at("a"), folder.at("link"));
  write_files({{folder.at("link"), "new"}});
  CHECK(fs::is_symlink(folder.at("link")));
  CHECK(read_file(folder.at("a"), 10) == "new");
}

TEST_CASE("file: directories for results") {
  const Folder folder;
  require_writable_directory(folder.at("x/y"));
  CHECK(fs::is_directory(folder.at("x/y")));
  CHECK(fs::is_empty(folder.at("x/y")));
  write_files({{folder.at("plain"), ""}});
  const auto act = [](const Folder& f) { require_writable_directory(f.at("plain")); };
  CHECK(message(act, folder).starts_with(folder.at("plain") + ": cannot create the directory: "));
}

TEST_CASE("file: an interrupt stops writing and removes the temporaries") {
  const Folder folder;
  write_files({{folder.at("a"), "old"}});
  // In a child: the flag, once set, stays.
  const pid_t child = ::fork();
  if (child == 0) {
    catch_interrupts();
    ::raise(SIGINT);
    bool stopped = false;
    try {
      write_files({{folder.at("a"), "new"}});
    } catch (const Interrupted&) {
      stopped = true;
    }
    ::_exit(stopped && interrupted() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read_file(folder.at("a"), 10) == "old");
  CHECK(folder.files() == 1);
}

TEST_CASE("file: the data directory can be moved") {
  const std::string before = data_dir();
  CHECK(fs::exists(fs::path(before) / "configs" / "chips"));
  const Folder folder;
  fs::create_directory(folder.path / "configs");
  ::setenv("SHARDSIM_DATA", folder.path.c_str(), 1);
  CHECK(data_dir() == folder.path.string());
  ::setenv("SHARDSIM_DATA", "/elsewhere", 1);
  CHECK_THROWS_WITH(
      data_dir(), "SHARDSIM_DATA=/elsewhere: expected a directory that holds configs/ and models/");
  ::unsetenv("SHARDSIM_DATA");
  CHECK(data_dir() == before);
}
