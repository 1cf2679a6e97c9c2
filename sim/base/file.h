// Files in and out. Reading is bounded; writing never leaves half a file behind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim {

// The whole file. Throws std::runtime_error naming the path when it does not exist, is a directory,
// cannot be read or is larger than `limit` bytes.
std::string read_file(const std::string& path, std::size_t limit);

struct OutputFile {
  std::string path;
  std::string content;
};

// Writes every file to a temporary name beside its target, then renames all of them; on any failure
// (no directory, no permission, disk full, interrupted) removes the temporaries and throws
// std::runtime_error naming the path, so that the targets are whole: old or new.
void write_files(const std::vector<OutputFile>& files);

// Creates the directory (and parents) if missing and checks that a file can be made in it. Throws
// std::runtime_error naming the path. Called before a long run, so that it fails early.
void require_writable_directory(const std::string& path);

// Ctrl-C: installs handlers for SIGINT, SIGTERM and SIGHUP that only set a flag.
void catch_interrupts();
bool interrupted();
// Throws Interrupted (base/problem.h) when the flag is set.
void throw_if_interrupted();

// Where models/ and configs/ are: $SHARDSIM_DATA, else the source tree this binary was built from.
// Throws std::runtime_error when the variable names no such directory.
std::string data_dir();

}  // namespace shardsim
