// Another program, run to its end.
#pragma once

#include <string>
#include <vector>

namespace shardsim {

struct ProgramEnd {
  int status = 0;      // 128 + the signal that killed it
  std::string output;  // of both streams
};

// Looks for `words.front()` as a shell does and waits for its end. Throws std::runtime_error when
// it cannot be started; see is_program.
ProgramEnd run_program(const std::vector<std::string>& words);

// Whether there is a program of this name on $PATH.
bool is_program(const std::string& name);

// Where this program is. Throws std::runtime_error.
std::string own_path();

// As a POSIX shell reads it back: in single quotes where that is needed.
std::string shell_word(const std::string& word);
std::string shell_words(const std::vector<std::string>& words);

}  // namespace shardsim
