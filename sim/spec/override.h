// --set path=value on the tree of a run file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/fields.h"
#include "spec/load.h"

namespace shardsim {

// One part of a dotted path, and where it is written.
struct PathStep {
  std::string key;
  SourcePos pos;
};
std::vector<PathStep> path_steps(std::string_view path, const SourcePos& start);

// What the tree has at a dotted path; items of a list of maps by their name or number. nullptr:
// nothing.
Node* node_at(Node& root, std::string_view path);
const Node* node_at(const Node& root, std::string_view path);

// The path of something that is there, each step of this one or the nearest to it; "": none is
// near.
std::string nearest_path(const Node& root, std::string_view path);

// Puts the value at its place in the tree; maps on the way are made, and a topology's short name
// becomes a map.
void assign(std::span<const PathStep> path, Node value, Node& root, std::vector<Problem>& problems);

// The same of a value that is read as YAML. Whether the path means anything is found when the tree
// is read.
void apply(const Override& change, Node& root, std::vector<Problem>& problems);

}  // namespace shardsim
