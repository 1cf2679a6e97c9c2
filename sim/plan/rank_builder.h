// A rank's program under construction: cells, and the transfers posted between them.
#pragma once

#include <utility>

#include "ir/schedule.h"

namespace shardsim {

class RankBuilder {
 public:
  void forward(int microbatch, int stage) { add(WorkKind::forward, microbatch, stage); }
  void backward(int microbatch, int stage) { add(WorkKind::backward, microbatch, stage); }
  void backward_input(int microbatch, int stage) {
    add(WorkKind::backward_input, microbatch, stage);
  }
  void backward_weight(int microbatch, int stage) {
    add(WorkKind::backward_weight, microbatch, stage);
  }
  void add(WorkKind kind, int microbatch, int stage) {
    program_.cells.push_back(cell(kind, microbatch, stage));
  }
  void overlapped(const Work& forward, const Work& backward) {
    program_.cells.push_back(overlapped_cell(forward, backward));
  }

  void post(const P2p& p2p) { posted_.push_back(p2p); }
  // What was posted since the last call becomes a group here; nothing when nothing was.
  void wait() {
    if (posted_.empty()) return;
    program_.groups.push_back(
        {static_cast<std::uint32_t>(program_.cells.size()), std::exchange(posted_, {})});
  }

  RankProgram take() { return std::move(program_); }

 private:
  RankProgram program_ = {};
  std::vector<P2p> posted_ = {};
};

}  // namespace shardsim
