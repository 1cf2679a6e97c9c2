#include "spec/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "spec/fields.h"
#include "spec/inline_layer.h"
#include "spec/library.h"
#include "spec/load_tree.h"
#include "spec/override.h"
#include "spec/parallel.h"
#include "spec/read.h"
#include "spec/table.h"
#include "spec/topology.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

// One file of the kind `library.what`.
struct Named {
  const Library& of;
  std::string name;                  // without folder and ending
  std::shared_ptr<const Node> root;  // nullptr: there is none
};

Named open_named(const Library& library, const Chosen<std::string>& wanted, Problems& problems) {
  const auto path = locate(library, wanted, problems);
  if (!path) return {library, wanted.value, nullptr};
  return {library, fs::path(*path).stem().string(), open_kept_yaml(*path, wanted.pos, problems)};
}

void read_named(const Named& file, RunSpec& into, Problems& problems) {
  if (file.root != nullptr && file.root->pos.source)
    read_fields(file.of.what, *file.root, into, problems);
}

// What was made of a file without a problem, while the file stays as it was: every point of a sweep
// asks for its chip and its model.
template <class Spec>
struct Kept {
  std::shared_ptr<const Node> root;
  std::shared_ptr<const Node> block;  // of a model
  Spec spec;
};

template <class Spec>
void keep(std::vector<Kept<Spec>>& all, Kept<Spec> one) {
  constexpr std::size_t kMost = 32;
  if (all.size() >= kMost) all.clear();
  all.push_back(std::move(one));
}

// `before`: problems, when the file had not been opened.
void read_model_file(const Named& file, std::size_t before, RunSpec& into, Problems& problems) {
  ModelSpec& model = into.model_spec;
  model.name = file.name;
  read_named(file, into, problems);
  if (model.block.given && !model.statements.empty()) {
    problems.push_back({model.block.pos, "expected block or statements, found both", ""});
  } else if (model.block.given) {
    read_named(open_named(kBlocks, model.block, problems), into, problems);
  } else if (model.statements.empty() && problems.size() == before) {
    SourcePos whole{model.pos.source, 0, 0, 1};
    problems.push_back({std::move(whole), "missing key \"block\" (or \"statements\")",
                        "block: a name from models/blocks, or a path to a .yaml"});
  }
}

// The file of the model's block; nullptr: it names none.
std::shared_ptr<const Node> block_of(const ModelSpec& model) {
  Problems ignored;  // were said when it was read
  return model.block.given ? open_named(kBlocks, model.block, ignored).root : nullptr;
}

void read_model(const Chosen<std::string>& wanted, RunSpec& into, Problems& problems) {
  static std::vector<Kept<ModelSpec>> kept;
  const auto before = problems.size();
  const Named file = open_named(kModels, wanted, problems);
  for (const Kept<ModelSpec>& one : kept) {
    if (one.root != file.root || one.block != block_of(one.spec)) continue;
    into.model_spec = one.spec;
    return;
  }
  read_model_file(file, before, into, problems);
  if (problems.size() != before) return;
  keep(kept, {file.root, block_of(into.model_spec), into.model_spec});
}

void read_chip_file(const Named& file, std::size_t before, RunSpec& run, Problems& problems) {
  run.chip_spec.name = file.name;
  read_named(file, run, problems);
  IciSpec& ici = run.chip_spec.ici;
  if (ici.dims > 0) ici.chip = run.chip_spec.name;
  if (ici.wrap_length > 0 && ici.wrap_cube > 0) {
    problems.push_back({ici.pos, "expected wrap_length or wrap_cube in ici, found both", ""});
  }
  if (problems.size() != before || !run.chip_spec.peak.empty()) return;
  problems.push_back({run.chip_spec.peak_pos, "expected at least one rate in peak, found none",
                      "for example peak: {bf16: 989 TFLOP/s}"});
}

void read_chip(RunSpec& run, Problems& problems) {
  static std::vector<Kept<ChipSpec>> kept;
  const auto before = problems.size();
  const Named file = open_named(kChips, run.chip, problems);
  for (const Kept<ChipSpec>& one : kept) {
    if (one.root != file.root) continue;
    run.chip_spec = one.spec;
    return;
  }
  read_chip_file(file, before, run, problems);
  if (problems.size() == before) keep(kept, {file.root, nullptr, run.chip_spec});
}

void check_variant(const RunSpec& run, Problems& problems) {
  if (!run.variant.given || run.variant.value == "nominal") return;
  std::vector<std::string> names{"nominal"};
  for (const ChipVariant& variant : run.chip_spec.variants) names.push_back(variant.name);
  if (std::find(names.begin(), names.end(), run.variant.value) != names.end()) return;
  problems.push_back({run.variant.pos,
                      fmt::format("expected a variant of {}: {}; found {}", run.chip_spec.name,
                                  joined_or(names), in_quotes(run.variant.value)),
                      suggestion(run.variant.value, names)});
}

void set_default(Chosen<std::string>& choice, std::string_view value) {
  if (!choice.given) choice.value = value;
}

void set_defaults(RunSpec& run, const std::string& name) {
  set_default(run.name, name);
  set_default(run.variant, "nominal");
  set_default(run.precision.weights, "bf16");
  set_default(run.precision.gradients, "bf16");
  set_default(run.precision.activations, "bf16");
  set_default(run.precision.optimizer, "fp32");
  if (!run.layers.given) run.layers.value = run.model_spec.layers;
  if (!run.topology.efficiency.given) run.topology.efficiency.value = 1;
}

void throw_if_any(Problems problems) {
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

// Whether a problem is in what stands at a key of the file, before the next key.
bool is_at(const Problem& problem, const Node& root, std::string_view key) {
  const auto at = std::find_if(root.entries.begin(), root.entries.end(),
                               [&](const NodeEntry& entry) { return entry.key == key; });
  if (at == root.entries.end() || problem.pos.line < at->key_pos.line) return false;
  return at + 1 == root.entries.end() || problem.pos.line < (at + 1)->key_pos.line;
}

// Whether the mesh can be placed: it and the axes that it names could be read.
bool mesh_is_read(const Problems& problems, const Node& root) {
  return std::none_of(problems.begin(), problems.end(), [&](const Problem& problem) {
    return problem.pos.source != root.pos.source || is_at(problem, root, "cluster") ||
           is_at(problem, root, "mesh") || is_at(problem, root, "parallel");
  });
}

// `readable`: there is a tree; why not is among the problems.
RunSpec load_tree(const Node& root, bool readable, const std::string& name, Problems problems,
                  FurtherProblems of_cluster) {
  RunSpec run;
  if (readable) read_fields("run", root, run, problems);
  read_topology(root, run, problems);
  if (run.chip.given) {
    const auto before = problems.size();
    read_chip(run, problems);
    if (problems.size() == before) check_variant(run, problems);
  }
  if (run.model.given) read_model(run.model, run, problems);
  settle_layer(root, run, problems);
  settle_parallel(root, run, problems);
  set_defaults(run, name);
  if (!problems.empty() && readable && of_cluster != nullptr) {
    if (!mesh_is_read(problems, root)) run.mesh = {};
    of_cluster(run, problems);
  }
  throw_if_any(std::move(problems));
  return run;
}

}  // namespace

RunSpec load_run(const std::string& path, std::span<const Override> overrides) {
  return load_run(path, overrides, nullptr);
}

RunSpec load_run(const std::string& path, std::span<const Override> overrides,
                 FurtherProblems of_cluster) {
  Problems problems;
  Node root = open_argument(kRuns, path, problems);
  require_kind(kRuns, root, path);
  const bool readable = root.pos.source != nullptr;
  for (const Override& change : overrides) apply(change, root, problems);
  return load_tree(root, readable, fs::path(path).stem().string(), std::move(problems), of_cluster);
}

RunSpec load_run(const Node& root, const std::string& name) {
  return load_tree(root, true, name, {}, nullptr);
}

ChipSpec load_chip(const std::string& name_or_path, const SourcePos& pos,
                   std::vector<Problem>& problems) {
  RunSpec run;
  run.chip = {name_or_path, pos, true};
  read_chip(run, problems);
  return run.chip_spec;
}

ChipSpec load_chip(const std::string& name_or_path) {
  Problems problems;
  ChipSpec chip = load_chip(name_or_path, {}, problems);
  throw_if_any(std::move(problems));
  return chip;
}

ModelSpec load_model(const std::string& name_or_path) {
  Problems problems;
  RunSpec run;
  read_model({name_or_path, {}, true}, run, problems);
  throw_if_any(std::move(problems));
  return run.model_spec;
}

std::vector<std::string> chip_names() {
  return names_in(kChips);
}
std::vector<std::string> topology_names() {
  return names_in(kTopologies);
}
std::vector<std::string> model_names() {
  return names_in(kModels);
}
std::vector<std::string> run_names() {
  return names_in(kRuns);
}

}  // namespace shardsim
