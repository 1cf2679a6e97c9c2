#include "report/schema.h"

#include <algorithm>
#include <map>

namespace shardsim {

namespace {

// The rows as a tree: a node per path.
struct Node {
  std::string key;
  const FieldRow* row = nullptr;
  std::vector<Node> children;  // in table order

  Node& child(const std::string& name) {
    for (Node& node : children) {
      if (node.key == name) return node;
    }
    children.push_back({name, nullptr, {}});
    return children.back();
  }
};

Node tree_of(std::span<const FieldRow> rows, std::string_view file) {
  Node root;
  for (const FieldRow& row : rows) {
    if (row.file != file) continue;
    Node* at = &root;
    std::size_t from = 0;
    while (from <= row.path.size()) {
      const std::size_t dot = std::min(row.path.find('.', from), row.path.size());
      at = &at->child(row.path.substr(from, dot - from));
      from = dot + 1;
    }
    at->row = &row;
  }
  return root;
}

void add_properties(const Node& node, Object& schema);

// Nodes of a graph and positions are numbers as well as names.
Json item_type(const FieldRow& row) {
  if (row.type == "list of numbers") return Json("integer");
  const bool numbers = row.type == "node or list of nodes";
  return numbers ? Json(Array{"string", "integer"}) : Json("string");
}

Json schema_of(const Node& node) {
  Object schema;
  if (node.row != nullptr) {
    schema.emplace_back(
        "description",
        node.row->help +
            (node.row->default_text.empty() ? "" : " (default: " + node.row->default_text + ")"));
    const std::vector<std::string>& shapes = node.row->shapes;
    if (shapes.size() == 1) {
      schema.emplace_back("type", shapes.front());
    } else if (!shapes.empty()) {
      schema.emplace_back("type", shapes);
    }
    if (!node.row->choices.empty()) schema.emplace_back("enum", node.row->choices);
    if (std::find(shapes.begin(), shapes.end(), "array") != shapes.end()) {
      const bool maps = !node.children.empty() && node.children.front().key == "[]";
      schema.emplace_back("items", maps ? schema_of(node.children.front())
                                        : Object{{"type", item_type(*node.row)}});
    }
  } else {
    schema.emplace_back("type", "object");
  }
  if (!node.children.empty() && node.children.front().key != "[]") add_properties(node, schema);
  return schema;
}

void add_properties(const Node& node, Object& schema) {
  Object properties;
  Array required;
  Array either;
  Json others = false;
  for (const Node& child : node.children) {
    if (child.key == "*") {
      others = schema_of(child);
      continue;
    }
    properties.emplace_back(child.key, schema_of(child));
    if (child.row == nullptr || !child.row->required) continue;
    if (child.row->unless.empty()) {
      required.push_back(child.key);
      continue;
    }
    Array any = {Object{{"required", Array{child.key}}}};
    for (const std::string& other : child.row->unless) {
      any.push_back(Object{{"required", Array{other}}});
    }
    either.push_back(Object{{"anyOf", std::move(any)}});
  }
  if (!properties.empty()) schema.emplace_back("properties", std::move(properties));
  schema.emplace_back("additionalProperties", std::move(others));
  if (!required.empty()) schema.emplace_back("required", std::move(required));
  if (!either.empty()) schema.emplace_back("allOf", std::move(either));
}

}  // namespace

Json json_schema(std::span<const FieldRow> rows, std::string_view file) {
  Object schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "shardsim " + std::string(file) + " file"}};
  Object body = std::get<Object>(schema_of(tree_of(rows, file)).data);
  schema.insert(schema.end(), body.begin(), body.end());
  return schema;
}

}  // namespace shardsim
