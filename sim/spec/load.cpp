#include "spec/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "spec/fields.h"
#include "spec/inline_layer.h"
#include "spec/override.h"
#include "spec/read.h"
#include "spec/table.h"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

constexpr double kMostDevices = 1e6;  // device ids and products of sizes stay inside an int

// A folder of files that are asked for by name.
struct Library {
  std::string_view what;
  std::string_view folder;  // under data_dir()
};
constexpr Library kChips{"chip", "configs/chips"};
constexpr Library kModels{"model", "models"};
constexpr Library kBlocks{"block", "models/blocks"};
constexpr Library kRuns{"run", "configs/runs"};

std::vector<std::string> yaml_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (fs::directory_iterator at(folder, none), end; at != end; at.increment(none)) {
    if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> names_in(const Library& library) {
  return yaml_names(fs::path(data_dir()) / library.folder);
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") ||
         text.ends_with(".yml") || text.ends_with(".json");
}

// Short where it can be: the path from the working directory, when it is below it.
std::string shown_path(const fs::path& path) {
  std::error_code none;
  const std::string here = fs::current_path(none).string() + "/";
  const std::string whole = path.string();
  return whole.starts_with(here) ? whole.substr(here.size()) : whole;
}

// "did you mean …" among the YAML files beside a path that does not exist.
std::string nearest_file(const fs::path& path) {
  std::vector<std::string> files;
  for (const std::string& name : yaml_names(path.has_parent_path() ? path.parent_path() : ".")) {
    files.push_back((path.parent_path() / (name + ".yaml")).string());
  }
  const std::string close = nearest(path.string(), files);
  return close.empty() ? "" : fmt::format("did you mean {}?", close);
}

// Why a path is no file to read, or nothing.
std::optional<std::string> why_no_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return "no such file";
  if (fs::is_directory(status)) return "expected a file, found a directory";
  const auto size = fs::is_regular_file(status) ? fs::file_size(path, error) : 0;
  if (!error && size > kLargestYaml) {
    return fmt::format("expected a file of at most {}, found one of {}",
                       to_text(Bytes{static_cast<double>(kLargestYaml)}),
                       to_text(Bytes{static_cast<double>(size)}));
  }
  return std::nullopt;
}

// The tree of a file. `wanted_at` is where its name was written (source null: the command line). A
// node without a source means that nothing could be read; the reason is among the problems.
Node open_yaml(const std::string& path, const SourcePos& wanted_at, Problems& problems) {
  if (const auto why = why_no_file(path)) {
    const std::string hint = fs::exists(path) ? "" : nearest_file(path);
    const bool by_name = wanted_at.source != nullptr;
    SourcePos at = wanted_at;
    if (!by_name) at = {std::make_shared<const Source>(Source{path, ""}), 0, 0, 1};
    problems.push_back({at, by_name ? fmt::format("{}: {}", path, *why) : *why, hint});
    return {};
  }
  std::string text = read_file(path, kLargestYaml);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const auto source = std::make_shared<const Source>(Source{shown_path(path), std::move(text)});
  return parse_yaml(source, 0, problems);
}

std::vector<std::string> names_starting(std::span<const std::string> names,
                                        std::string_view start) {
  std::vector<std::string> longer;
  if (start.empty()) return longer;
  std::copy_if(names.begin(), names.end(), std::back_inserter(longer),
               [&](const std::string& name) { return name.starts_with(start); });
  return longer;
}

// The file that a name or path means; nothing when there is none, with the reason in `problems`.
std::optional<std::string> locate(const Library& library, const Chosen<std::string>& wanted,
                                  Problems& problems) {
  const std::string& text = wanted.value;
  if (library.what == kModels.what && text.ends_with(".json")) {
    problems.push_back({wanted.pos, "reading a config.json is not available in this version", ""});
    return std::nullopt;
  }
  if (is_path(text)) {
    const bool from_file = wanted.pos.source && wanted.pos.source->name != "--set";
    const fs::path folder = from_file ? fs::path(wanted.pos.source->name).parent_path() : "";
    return (folder / text).lexically_normal().string();
  }
  const auto names = names_in(library);
  if (std::find(names.begin(), names.end(), text) != names.end()) {
    return (fs::path(data_dir()) / library.folder / (text + ".yaml")).string();
  }
  std::string hint = suggestion(text, names);
  const auto longer = names_starting(names, text);
  if (!longer.empty()) hint = fmt::format("did you mean {}?", joined_or(longer));
  if (hint.empty()) hint = fmt::format("see: shardsim list {}s", library.what);
  problems.push_back({wanted.pos,
                      fmt::format("expected a {} from {}, found {}", library.what, library.folder,
                                  in_quotes(text)),
                      std::move(hint)});
  return std::nullopt;
}

// Finds and reads one file of the kind `library.what`; returns its name without folder and ending.
std::string read_named(const Library& library, const Chosen<std::string>& wanted, RunSpec& into,
                       Problems& problems) {
  const auto path = locate(library, wanted, problems);
  if (!path) return wanted.value;
  const Node root = open_yaml(*path, wanted.pos, problems);
  if (root.pos.source) read_fields(library.what, root, into, problems);
  return fs::path(*path).stem().string();
}

void read_model(const Chosen<std::string>& wanted, RunSpec& into, Problems& problems) {
  const auto before = problems.size();
  ModelSpec& model = into.model_spec;
  model.name = read_named(kModels, wanted, into, problems);
  if (model.block.given && !model.statements.empty()) {
    problems.push_back({model.block.pos, "expected block or statements, found both", ""});
  } else if (model.block.given) {
    read_named(kBlocks, model.block, into, problems);
  } else if (model.statements.empty() && problems.size() == before) {
    SourcePos whole{model.pos.source, 0, 0, 1};
    problems.push_back({std::move(whole), "missing key \"block\" (or \"statements\")",
                        "block: a name from models/blocks, or a path to a .yaml"});
  }
}

void read_chip(RunSpec& run, Problems& problems) {
  const auto before = problems.size();
  run.chip_spec.name = read_named(kChips, run.chip, run, problems);
  if (problems.size() != before || !run.chip_spec.peak.empty()) return;
  problems.push_back({run.chip_spec.peak_pos, "expected at least one rate in peak, found none",
                      "for example peak: {bf16: 989 TFLOP/s}"});
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

void check_device_count(const TopologySpec& topology, const SourcePos& pos, Problems& problems) {
  double devices = 1;
  for (const AxisSpec& axis : topology.axes) devices *= axis.size;
  if (devices <= kMostDevices) return;
  problems.push_back(
      {pos, fmt::format("expected at most {:.0f} devices, found {:.4g}", kMostDevices, devices),
       ""});
}

std::string short_name(const TopologySpec& topology) {
  std::string text = topology.kind.value + ":";
  for (std::size_t i = 0; i < topology.axes.size(); ++i) {
    text += (i == 0 ? "" : "x") + std::to_string(topology.axes[i].size);
  }
  return text;
}

// What a topology written as a map needs beyond its single fields.
void finish_topology(const Node& root, TopologySpec& topology, Problems& problems) {
  const Node* cluster = root.find("cluster");
  const Node* node = cluster == nullptr ? nullptr : cluster->find("topology");
  if (node == nullptr || node->kind != NodeKind::map) return;
  const bool has_axes = node->find("axes") != nullptr;
  const bool has_size = node->find("size") != nullptr;
  if (has_axes == has_size) {
    problems.push_back({topology.pos,
                        fmt::format("cluster.topology: expected axes or size, found {}",
                                    has_axes ? "both" : "neither"),
                        "axes: {x: 4, y: 4}"});
    return;
  }
  for (AxisSpec& axis : topology.axes) {
    if (axis.name.empty()) axis.name = axis_name(topology.kind.value, 0);
  }
  topology.text = short_name(topology);
  check_device_count(topology, topology.pos, problems);
}

void set_default(Chosen<std::string>& choice, std::string_view value) {
  if (!choice.given) choice.value = value;
}

void set_defaults(RunSpec& run, const std::string& path) {
  set_default(run.name, fs::path(path).stem().string());
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

}  // namespace

RunSpec load_run(const std::string& path, std::span<const Override> overrides) {
  Problems problems;
  RunSpec run;
  Node root = open_yaml(path, {}, problems);
  const bool readable = root.pos.source != nullptr;
  for (const Override& change : overrides) apply(change, root, problems);
  if (readable) {
    read_fields("run", root, run, problems);
    finish_topology(root, run.topology, problems);
  }
  if (run.chip.given) {
    const auto before = problems.size();
    read_chip(run, problems);
    if (problems.size() == before) check_variant(run, problems);
  }
  if (run.model.given) read_model(run.model, run, problems);
  settle_layer(run, problems);
  throw_if_any(std::move(problems));
  set_defaults(run, path);
  return run;
}

ChipSpec load_chip(const std::string& name_or_path) {
  Problems problems;
  RunSpec run;
  run.chip = {name_or_path, {}, true};
  read_chip(run, problems);
  throw_if_any(std::move(problems));
  return run.chip_spec;
}

ModelSpec load_model(const std::string& name_or_path) {
  Problems problems;
  RunSpec run;
  read_model({name_or_path, {}, true}, run, problems);
  throw_if_any(std::move(problems));
  return run.model_spec;
}

TopologySpec parse_topology(std::string_view text, const SourcePos& pos, Problems& problems) {
  const auto before = problems.size();
  const auto name = trimmed(text);
  const auto colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    problems.push_back({pos,
                        fmt::format("expected a topology such as ring:8 or torus:4x4x4, found {}",
                                    in_quotes(name)),
                        ""});
    return {};
  }
  const auto offset = static_cast<std::size_t>(name.data() - text.data());
  TopologySpec topology;
  topology.text = std::string(name);
  topology.pos = pos;
  topology.kind = {std::string(name.substr(0, colon)),
                   pos.at(static_cast<int>(offset), static_cast<int>(colon)), true};
  for (std::size_t at = colon + 1; at <= name.size();) {
    const auto end = std::min(name.find('x', at), name.size());
    const auto digits = name.substr(at, end - at);
    auto size = parse_count(digits, 1, std::numeric_limits<int>::max());
    const SourcePos here =
        pos.at(static_cast<int>(offset + at), std::max(1, static_cast<int>(digits.size())));
    if (trimmed(digits) != digits) size.error = "expected a topology without blanks";
    if (!size) problems.push_back({here, size.error, "topologies read ring:8 or torus:4x4x4"});
    topology.axes.push_back(
        {axis_name(topology.kind.value, topology.axes.size()), size.value, here});
    at = end + 1;
  }
  if (problems.size() == before) check_device_count(topology, pos, problems);
  return problems.size() == before ? topology : TopologySpec{};
}

std::vector<std::string> chip_names() {
  return names_in(kChips);
}
std::vector<std::string> model_names() {
  return names_in(kModels);
}
std::vector<std::string> run_names() {
  return names_in(kRuns);
}

}  // namespace shardsim
