// Lifetimes of arrays along a list of tasks: who makes which, who reads it last, and which of them
// lie in one buffer. The rules stand in plan/layer_memory.h.
//
//   made  last read           buffer taken and given back
//   X     0  3                0 .. 5
//   Y     2  5   same as X    (with X)
//   Z     5  7   in place of Y    (with X) .. 7; had X been read at 6: a buffer of its own
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "ir/cluster.h"
#include "ir/notation.h"
#include "ir/op_graph.h"

namespace shardsim {

enum class Sharing : std::uint8_t {
  none,
  same,     // the array it comes from, under another name
  in_place  // written over the array it comes from, unless that is still read
};

// A layout in short. Axes of one device are left out, for they cut nothing: no collective brings an
// array from one such layout to another.
struct Cuts {
  std::string dims;  // of each dim the numbers of its mesh axes from 1, major first, then a 0
  std::string sums;  // of the axes that it is a partial sum over, ascending
};
Cuts cuts_of(const Mesh& mesh, const Sharding& layout);
// Whether `to` can be cut from an array that is cut like `from`; the dims of Cuts.
bool cut_from(const std::string& from, const std::string& to);

struct LivingArray {
  int name = 0;  // its number; below 0: nobody asks for it
  Cuts layout;
  MemoryKind kind = MemoryKind::activations;
  Bytes bytes;          // of one device
  int made = 0;         // position of the task that makes it
  int last = -1;        // of the last that reads it; -1: none
  int comes_from = -1;  // index; see sharing
  Sharing sharing = Sharing::none;
  bool was_there = false;  // taken by somebody else
  int leaves_at = -1;      // position from which on it is somebody else's; -1: it does not leave
};

// Taken at the start of task `from`, given back at the end of task `to`.
struct Lifetime {
  MemoryKind kind = MemoryKind::activations;
  Bytes bytes;
  int from = -1;  // -1: was there
  int to = -1;    // -1: stays
};

class Lifetimes {
 public:
  int make(LivingArray array);  // its index
  // The latest array of that name with these cuts, else the smallest that they can be cut from; -1
  // when there is none. Partial sums are as large as sums.
  int find(int name, const Cuts& layout) const;
  int latest(int name) const;
  void read(int array, int at);
  const LivingArray& at(int array) const { return arrays_[static_cast<std::size_t>(array)]; }
  LivingArray& operator[](int array) { return arrays_[static_cast<std::size_t>(array)]; }

  std::vector<Lifetime> buffers() const;

 private:
  std::vector<LivingArray> arrays_;
  std::vector<int> before_;  // [array] the one before it of its name, or -1
  std::vector<int> latest_;  // [name] index of an array, or -1
};

}  // namespace shardsim
