// CheckFailed: the program's own result is not what it must be (exit status 3).
#pragma once

#include <stdexcept>

namespace shardsim {

class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace shardsim
