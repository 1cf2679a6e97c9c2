// load: YAML in, RunSpec out; all problems of all files read at once (ConfigError).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.h"

namespace shardsim {

// --set cluster.topology.link.bandwidth='50 GB/s': replaces or adds one value before reading.
// Problems in it point at the argument.
struct Override {
  std::string text;
};

// A name is looked up in configs/chips or models, that of the run in configs/runs; a path (it has a /
// or ends in .yaml) written in a file starts from that file's folder.
RunSpec load_run(const std::string& path, std::span<const Override> overrides = {});
// `of_cluster` adds what later stages say of cluster, mesh and collectives; it is asked when the
// file has problems, so that those of a cluster that can be read are said with them. A mesh that
// has problems, or names axes that have, is left out of what it gets.
using FurtherProblems = void (*)(const RunSpec&, std::vector<Problem>&);
RunSpec load_run(const std::string& path, std::span<const Override> overrides,
                 FurtherProblems of_cluster);
ChipSpec load_chip(const std::string& name_or_path);
// As a person writes it at `pos`; appends problems.
ChipSpec load_chip(const std::string& name_or_path, const SourcePos& pos,
                   std::vector<Problem>& problems);
ModelSpec load_model(const std::string& name_or_path);

// A short name, a name from configs/topologies or a path, as a person writes it at `pos`. Appends
// problems, and what `further` finds in what could be read; returns an empty topology when there is
// any.
TopologySpec load_topology(const std::string& text, const SourcePos& pos,
                           std::vector<Problem>& problems,
                           void (*further)(const TopologySpec&, std::vector<Problem>&) = nullptr);

// "ring:8", "torus:4x4x4", "switch:8". Only the form is checked here; kinds are plan's table.
// Appends problems and returns an empty kind when the form is wrong.
TopologySpec parse_topology(std::string_view text, const SourcePos& pos,
                            std::vector<Problem>& problems);

// Names available in configs/chips, configs/topologies, models, configs/runs.
std::vector<std::string> chip_names();
std::vector<std::string> topology_names();
std::vector<std::string> model_names();
std::vector<std::string> run_names();

// One row of the YAML reference, from the table that drives the loader; enough to write a JSON
// Schema. A path component * stands for any key: the map above it is open, all others are closed;
// [] stands for any item of a list of maps.
struct FieldRow {
  std::string file;  // "run", "topology", "chip", "model", "block"
  std::string path;  // "cluster.topology.link.bandwidth", "mesh.*"
  std::string type;  // "bandwidth (90 GB/s)", "count", "name, list of names or count", …
  bool required = false;
  std::string default_text;
  std::string help;
  // JSON Schema types that the value may have: string, integer, number, boolean, array (of
  // strings, or of what the row [] below it says), object. A quantity is a string; the integer 0
  // needs no unit where zero makes sense.
  std::vector<std::string> shapes;
  std::vector<std::string> choices;  // the only legal texts; empty: any
  std::vector<std::string> unless;   // keys beside it of which one makes a required one optional
};
std::vector<FieldRow> field_rows();

}  // namespace shardsim
