#include "spec/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace shardsim {
namespace {

// What YAML reads as a plain text wherever it stands.
bool is_plain(std::string_view text) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./+%()^").find(c) != std::string_view::npos;
  };
  if (text.empty() || !harmless(text.front()) || text.front() == '%') return false;
  if (text.back() == ' ') return false;
  if (text == "null" || text == "Null" || text == "NULL") return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return harmless(c) || c == ' ' || c == '-' || c == '*'; });
}

std::string in_double_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string scalar_text(std::string_view text, bool quoted) {
  return quoted || !is_plain(text) ? in_double_quotes(text) : std::string(text);
}

bool holds_only_scalars(const Node& node) {
  return std::all_of(node.entries.begin(), node.entries.end(), [](const NodeEntry& entry) {
    return entry.node.kind == NodeKind::scalar || entry.node.kind == NodeKind::null;
  });
}

bool on_one_line(const Node& node) {
  return node.entries.empty() || holds_only_scalars(node);
}

void append(const Node& node, int depth, std::string& out);

// "key: value" or "- value" behind `out`, its lines below indented.
void append_entry(const std::string& head, const Node& node, int depth, std::string& out) {
  out += head;
  const bool block = (node.kind == NodeKind::map || node.kind == NodeKind::list) &&
                     !(depth > 0 && on_one_line(node)) && !node.entries.empty();
  if (!block) {
    out += fmt::format(" {}\n", flow_text(node));
    return;
  }
  out += '\n';
  append(node, depth + 1, out);
}

void append(const Node& node, int depth, std::string& out) {
  const std::string indent(2 * static_cast<std::size_t>(depth), ' ');
  for (const NodeEntry& entry : node.entries) {
    const std::string head =
        node.kind == NodeKind::list ? "-" : scalar_text(entry.key, false) + ":";
    append_entry(indent + head, entry.node, depth, out);
  }
}

}  // namespace

std::string flow_text(const Node& value) {
  switch (value.kind) {
    case NodeKind::null:
      return "null";
    case NodeKind::scalar:
      return scalar_text(value.text, value.quoted);
    case NodeKind::list:
    case NodeKind::map:
      break;
  }
  const bool map = value.kind == NodeKind::map;
  std::string out;
  for (const NodeEntry& entry : value.entries) {
    if (!out.empty()) out += ", ";
    if (map) out += scalar_text(entry.key, false) + ": ";
    out += flow_text(entry.node);
  }
  return fmt::format("{}{}{}", map ? '{' : '[', out, map ? '}' : ']');
}

std::string yaml_text(const Node& root) {
  if (root.kind != NodeKind::map || root.entries.empty()) return flow_text(root) + "\n";
  std::string out;
  append(root, 0, out);
  return out;
}

}  // namespace shardsim
