#include "ir/sharded_layer.h"

namespace shardsim {

std::string case_name(int number) {
  return number == 0 ? "summed dim" : "case " + std::to_string(number);
}

}  // namespace shardsim
