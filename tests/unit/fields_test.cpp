#include "spec/fields.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "spec/load.h"
#include "spec/read.h"
#include "spec/table.h"

using namespace shardsim;

namespace {

std::shared_ptr<const Source> source(std::string text) {
  return std::make_shared<const Source>(Source{"f", std::move(text)});
}

// The tree on one line: {a: [1, "2"]}, ~ for nothing.
std::string outline(const Node& node) {
  std::string out;
  switch (node.kind) {
    case NodeKind::null:
      return "~";
    case NodeKind::scalar:
      return node.quoted ? '"' + node.text + '"' : node.text;
    case NodeKind::list:
      for (const NodeEntry& entry : node.entries)
        out += (out.empty() ? "" : ", ") + outline(entry.node);
      return "[" + out + "]";
    case NodeKind::map:
      for (const NodeEntry& entry : node.entries) {
        out += (out.empty() ? "" : ", ") + entry.key + ": " + outline(entry.node);
      }
      return "{" + out + "}";
  }
  return "?";
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string first_problem(const std::string& text) {
  std::vector<Problem> problems;
  (void)parse_yaml(source(text), 0, problems);
  return problems.empty() ? "" : format(problems.front());
}

// A value that a field of this type takes.
std::string sample(const Field& field) {
  switch (field.type) {
    case FieldType::map:
      return "{}";
    case FieldType::text:
      return "some words";
    case FieldType::name:
      return "a_name";
    case FieldType::choice:
      return field.choices.front();
    case FieldType::count:
      return "7";
    case FieldType::large_count:
      return "70553706496";
    case FieldType::factor:
    case FieldType::share:
      return "0.5";
    case FieldType::number:
    case FieldType::ratio:
      return "2.5";
    case FieldType::position:
      return "0";
    case FieldType::nodes:
      return "0..7";
    case FieldType::names:
      return "[x, y]";
    case FieldType::numbers:
      return "[8, 7]";
    case FieldType::maps:
      return "[{}]";
    case FieldType::bytes:
      return "64 MiB";
    case FieldType::bandwidth:
      return "90 GB/s";
    case FieldType::seconds:
      return "1 us";
    case FieldType::flop_rate:
      return "989 TFLOP/s";
    case FieldType::texts:
      return "[a, b]";
    case FieldType::name_or_map:
      return "ring:8";
    case FieldType::mesh_axis:
      return "[x, y]";
    case FieldType::preset:
      return "X";
    case FieldType::flag:
      return "true";
    case FieldType::run:
      return "a_name";
    case FieldType::values:
      return "1..8 step x2";
    case FieldType::conditions:
      return "[a < b, c]";
  }
  return "";
}

// A file with only this field: "cluster: {topology: {size: 7}}".
std::string file_with(const Field& field, const std::string& value) {
  std::string out = value;
  std::string path(field.path);
  for (;;) {
    const auto dot = path.rfind('.');
    std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
    if (key == "*") key = "q";
    out = key == "[]" ? "[" + out + "]" : "{" + key + ": " + out + "}";
    if (dot == std::string::npos) return out;
    path.resize(dot);
  }
}

std::vector<std::string> problems_about(const Field& field, const std::string& value) {
  Problems problems;
  RunSpec run;
  const Node root = parse_yaml(source(file_with(field, value)), 0, problems);
  read_fields(field.file, root, run, problems);
  std::vector<std::string> out;
  for (const Problem& problem : problems) {
    if (!problem.message.starts_with("missing key")) out.push_back(problem.message);
  }
  return out;
}

}  // namespace

TEST_CASE("fields: trees") {
  struct Row {
    std::string text, want;
  };
  const std::vector<Row> rows{
      {"a: 1\nb: [x, 'y']\n", "{a: 1, b: [x, \"y\"]}"},
      {"", "~"},
      {"# only\n", "~"},
      {"a:\nb: ~\nc: null\nd: \"\"\n", "{a: ~, b: ~, c: ~, d: \"\"}"},
      {"- In[B_X, T]\n- C[I] = A[I,J] * B[J]\n", "[In[B_X, T], C[I] = A[I,J] * B[J]]"},
      {"a: &n {x: 1}\nb: *n\n", "{a: {x: 1}, b: {x: 1}}"},
      {"a: 010\nb: 1e3\nc: true\n", "{a: 010, b: 1e3, c: true}"},
      {"a: 1 # why\r\nb: 2\r\n", "{a: 1, b: 2}"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    std::vector<Problem> problems;
    CHECK(outline(parse_yaml(source(row.text), 0, problems)) == row.want);
    CHECK(problems.empty());
  }
}

TEST_CASE("fields: positions of keys, values, quoted texts and aliases") {
  std::vector<Problem> problems;
  const Node root = parse_yaml(source("a: 1\nb:\n  - \"xy\"\nc: &n [1]\nd: *n\n"), 0, problems);
  REQUIRE(root.entries.size() == 4);
  const Node& text = root.entries[1].node.entries[0].node;
  CHECK(root.entries[0].key_pos.line == 1);
  CHECK(root.entries[0].node.pos.column == 4);
  CHECK(text.pos.line == 3);
  CHECK(text.pos.column == 5);
  CHECK(text.pos.length == 4);
  CHECK(root.entries[3].node.pos.line == 5);
  CHECK(root.entries[3].node.anchor_line == 4);
  CHECK(found(root.entries[3].node) == "a list (the value anchored in line 4)");
}

TEST_CASE("fields: what YAML lets pass is refused") {
  struct Row {
    std::string text, want;  // start of the message
  };
  const std::vector<Row> rows{
      {"a: 1\na: 2\n", "f:2:1: key \"a\" is written twice; first in line 1"},
      {"{a: {<<: x}}", "f:1:6: the merge key << is not supported"},
      {"? [1]\n: 2\n", "f:1:3: expected a key, found a list"},
      {"a: 1\n---\nb: 2\n", "f:2:1: expected one YAML document, found a second"},
      {"a: !include b\n", "f:1:4: YAML tags such as !include are not supported"},
      {"a: &x [*x]\n", "f:1:8: this alias refers to a value it is part of"},
      {std::string("a: \0b\n", 6), "f:1:4: expected text in UTF-8, found byte 0x00"},
      {"a: \xff\n", "f:1:4: expected text in UTF-8, found byte 0xFF"},
      {"a: [1\n", "f:2:1: this is not YAML: "},
      {"{a: In[B_X, T]}", "f:1:5: YAML splits In[B_X, T] at the brackets and commas"},
      {"x: 1\nt: [Wq[D, N], Wk[D]]\n", "f:2:5: YAML splits Wq[D, N] at the brackets and commas"},
      {"t: [\"Wq[D, N]\", Wk[D]]\n", "f:1:17: YAML splits Wk[D] at the brackets and commas"},
      {"t:\n  - Wq[D, N]\n  - [x}\n", "f:3:7: this is not YAML: "},
      {"a: In[B_X\n", "f:1:4: the brackets in \"In[B_X\" do not match"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(first_problem(row.text).substr(0, row.want.size()) == row.want);
  }
}

TEST_CASE("fields: size and depth are bounded") {
  CHECK(first_problem(std::string(64, '[') + std::string(64, ']')) == "");
  CHECK(first_problem(std::string(65, '[') + std::string(65, ']'))
            .starts_with("f:1:65: expected at most 64 lists and maps inside each other"));
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name < 'k'; ++name) {
    bomb += std::string(1, name) + ": &" + name + " [";
    for (int i = 0; i < 10; ++i)
      bomb += std::string(i > 0 ? ", *" : "*") + static_cast<char>(name - 1);
    bomb += "]\n";
  }
  const std::string wide = "a: &a [" + repeated("x,", 2000) + "]\nb: [" + repeated("*a,", 60) + "]";
  CHECK(first_problem(wide).find("expected at most 100000 values") != std::string::npos);
  CHECK(first_problem(bomb).find("expected at most 100000 values") != std::string::npos);
}

TEST_CASE("fields: every row of the table stores what its type reads, and refuses other shapes") {
  for (const Field& field : fields()) {
    CAPTURE(field.file);
    CAPTURE(field.path);
    CHECK(problems_about(field, sample(field)).empty());
    const bool takes_all = field.type == FieldType::values;  // checked as the field of the run
    const bool takes_map = takes_all || field.type == FieldType::map ||
                           field.type == FieldType::run || field.type == FieldType::name_or_map;
    const std::string items = std::string(field.path) + ".[].*";
    const bool takes_items = std::any_of(fields().begin(), fields().end(), [&](const Field& other) {
      return other.file == field.file && other.path == items;
    });
    // A list of maps fits only lists whose items may have any key; a map fits only maps; nothing
    // fits none.
    if (!takes_all && !takes_items) CHECK(problems_about(field, "[{a: 1}]").size() == 1);
    const std::string list =
        field.path.ends_with(".[]") ? field.path.substr(0, field.path.size() - 3) : std::string();
    const bool may_be_empty =
        std::any_of(fields().begin(), fields().end(), [&](const Field& other) {
          return other.file == field.file && other.path == list && other.may_be_empty;
        });
    CHECK(problems_about(field, "").size() == (may_be_empty ? 0 : 1));
    if (!takes_map) CHECK(problems_about(field, "{a: 1}").size() == 1);
    CHECK(!field.help.empty());
  }
}

TEST_CASE("fields: every kind of number refuses what is none") {
  for (const Field& field : fields()) {
    CAPTURE(field.path);
    switch (field.type) {
      case FieldType::count:
      case FieldType::large_count:
      case FieldType::factor:
      case FieldType::share:
      case FieldType::number:
      case FieldType::bytes:
      case FieldType::bandwidth:
      case FieldType::seconds:
      case FieldType::flop_rate:
        for (const std::string bad : {"nan", ".inf", "-1", "1e999", "12abc", "010", "''"}) {
          CAPTURE(bad);
          CHECK(problems_about(field, bad).size() == 1);
        }
        break;
      default:
        break;
    }
  }
}

TEST_CASE("fields: the reference has a row for every field, and peaks for every element type") {
  const auto rows = field_rows();
  CHECK(rows.size() == fields().size());
  for (const FieldRow& row : rows) {
    CAPTURE(row.path);
    CHECK(!row.type.empty());
    CHECK(!row.shapes.empty());
  }
  for (const std::string& dtype : dtype_names()) {
    CAPTURE(dtype);
    CHECK(dtype_bytes(dtype) > 0);
    CHECK(std::any_of(rows.begin(), rows.end(), [&](const FieldRow& row) {
      return row.file == "chip" && row.path == "peak." + dtype;
    }));
  }
  CHECK(dtype_bytes("bf61") == 0);
}
