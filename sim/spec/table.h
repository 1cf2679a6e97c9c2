// The table of fields: every key of every file, its type, and where its value goes. The reader, the
// reference (`list fields`) and the JSON Schema all come from it; a key is added by adding a row.
//
//   {"run", "batch.global", FieldType::count, true, "", "sequences in the step",
//    [](RunSpec& run, const Value& v, Problems&) { run.batch.global = v.as<int>(); }}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "spec/run_spec.h"

namespace shardsim {

using Problems = std::vector<Problem>;
using Words = std::vector<Chosen<std::string>>;

enum class FieldType : std::uint8_t {
  map,
  text,
  name,
  choice,       // one of Field::choices
  count,        // int, at least 1
  large_count,  // std::int64_t, at least 1
  factor,       // double in (0, 1]
  share,        // double in (0, 1)
  number,       // double above 0
  ratio,        // double of 1 or more; less is refused where the value is used
  position,     // int, from 0
  bytes,
  bandwidth,
  seconds,
  flop_rate,
  texts,        // list of texts
  names,        // list of names, which may be empty
  numbers,      // list of whole numbers, read by what uses them
  maps,         // list of maps, whose rows have the component [] in their path
  nodes,        // a device or switch, or a list of them
  name_or_map,  // topology: a name, or a map with rows of its own
  mesh_axis,    // names or a count
  preset,       // names or true/false
  flag,         // true/false
  run,          // a run: its name, or the map itself, whose rows are those of a run file
  values,       // of an axis: a list, a range, {field, values}, or a single one
  conditions    // a formula, or a list of them
};

// What a person reads of a type, and the JSON Schema types it takes.
struct TypeRow {
  FieldType type = FieldType::map;
  std::string_view text;
  std::string_view shapes;  // separated by blanks
};
const TypeRow& type_row(FieldType type);

// One value as read: the alternative that its type says.
struct Value {
  std::string key;
  SourcePos key_pos;
  SourcePos pos;  // of the first character of the text, inside the quotes
  std::variant<std::monostate, int, std::int64_t, double, bool, std::string, Bytes, BytesPerSec,
               Seconds, FlopsPerSec, Words>
      data;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data);
  }
  template <class T>
  Chosen<T> as() const {
    return {std::get<T>(data), pos, true};
  }
};

struct Field {
  std::string_view file;
  std::string path;  // cluster.topology.axes.* is any key, cluster.topology.levels.[] any item
  FieldType type = FieldType::map;
  bool required = false;
  std::string_view default_text;
  std::string_view help;
  // For a map, or an item of a list of maps: called before its entries are read, without data.
  // nullptr: nothing to store.
  void (*store)(RunSpec&, const Value&, Problems&) = nullptr;
  std::vector<std::string> choices = {};  // FieldType::choice
  std::string_view unless = {};  // a required key may be missing where one of these is beside it
  bool may_be_empty = false;     // FieldType::maps
};

std::span<const Field> fields();

// Its parts.
std::vector<Field> run_fields();                   // run_table.cpp
std::vector<Field> step_fields();                  // step_table.cpp: of a run, too
std::vector<Field> chip_fields(), model_fields();  // data_table.cpp; a block's rows, too
// topology_table.cpp: the map of a topology, whose keys begin with `prefix` in files of that kind.
std::vector<Field> topology_fields(std::string_view file, const std::string& prefix);

// sweep_table.cpp: of a sweep file
std::vector<Field> sweep_fields();

// Keys that the file format has, but this version does not: paths in a run file.
std::span<const std::string_view> later_fields();

// The words of a text, separated by blanks.
std::vector<std::string> split_words(std::string_view text);

// Names of axes: x, y, z, w, a4, a5, …; a switch has the single axis n.
std::string axis_name(std::string_view kind, std::size_t index);

}  // namespace shardsim
