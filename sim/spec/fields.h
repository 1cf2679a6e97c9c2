// Fields of a YAML file as plain values: a tree of Nodes, each with its position (the door to
// yaml-cpp).
//
//   mesh: {X: [x, y]}     map{mesh: map{X: list[scalar x, scalar y]}}
//
// What yaml-cpp lets pass is refused here, once for every file: duplicate and merge keys, binary
// content, several documents, tags, aliases that expand without bound.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"

namespace shardsim {

enum class NodeKind : std::uint8_t { null, scalar, list, map };

struct NodeEntry;

struct Node {
  NodeKind kind = NodeKind::null;
  std::string text;                // scalar
  bool quoted = false;             // scalar
  std::vector<NodeEntry> entries;  // map; list (keys empty)
  SourcePos pos;
  int anchor_line = 0;  // where the value of an alias is written; 0: it is no alias

  const Node* find(std::string_view key) const;  // nullptr when a map has no such key
};

struct NodeEntry {
  std::string key;
  SourcePos key_pos;
  Node node;
};

inline constexpr std::size_t kLargestYaml = 1024 * 1024;  // bytes of a file
inline constexpr int kMostNodes = 100'000;                // of a tree, aliases expanded
inline constexpr int kDeepest = 64;

// The one document in the source, from byte `start` of its text on. Appends what is wrong to
// `problems`; the tree then holds what could be read. An empty document is a null node.
Node parse_yaml(const std::shared_ptr<const Source>& source, std::size_t start,
                std::vector<Problem>& problems);

// "a list", "a map", "nothing", "\"text\"" (cut to 60 bytes); names the anchor's line for an alias.
std::string found(const Node& node);

}  // namespace shardsim
