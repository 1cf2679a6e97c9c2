#include "command/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/problem.h"
#include "command/arguments.h"
#include "command/network.h"
#include "plan/algorithms.h"
#include "plan/clusters.h"
#include "plan/network_text.h"
#include "plan/presets.h"
#include "plan/schedules.h"
#include "report/reports.h"
#include "report/schema.h"
#include "spec/library.h"
#include "spec/load.h"
#include "sweep/points.h"

namespace shardsim {

namespace {

Rows list_chips() {
  Rows rows = {{"chip", "bf16 peak", "memory", "read at", "link (one way)", "variants"}};
  for (const std::string& name : chip_names()) {
    const ChipSpec chip = load_chip(name);
    std::string peak = "-";
    for (const auto& [dtype, rate] : chip.peak) {
      if (dtype == "bf16") peak = to_text(rate);
    }
    std::vector<std::string> variants;
    for (const ChipVariant& variant : chip.variants) variants.push_back(variant.name);
    rows.push_back({name, peak, to_text(chip.memory_capacity), to_text(chip.memory_bandwidth),
                    chip.link_bandwidth.given ? to_text(chip.link_bandwidth.value) : "-",
                    fmt::format("nominal {}", fmt::join(variants, " "))});
  }
  return rows;
}

std::string sent(BytesPerSec rate) {
  return rate == BytesPerSec{} ? "-" : fmt::format("{:g}", rate / BytesPerSec{1e9});
}

// The files of configs/topologies.
Rows list_networks() {
  Rows rows = {
      {"file", "devices", "links", "bisection GB/s", "both ways", "ports", "wrap", "levels"}};
  for (const std::string& name : topology_names()) {
    std::vector<Problem> problems;
    const StatedNetwork stated = stated_network({name, "", "", "", ""}, problems);
    const Cluster cluster = make_cluster(stated.topology, stated.link, problems);
    throw_if_any(problems);
    const NetworkFacts facts = network_facts(cluster);
    rows.push_back({name, fmt::format("{}", cluster.devices()), fmt::format("{:g}", facts.links),
                    sent(facts.bisection), sent(facts.bisection * 2),
                    fmt::format("{:g}", facts.ports), facts.wrap, shape_text(cluster)});
  }
  return rows;
}

Rows list_topologies() {
  Rows rows = {{"kind", "example", "what it is"}};
  for (const TopologyRow& row : topologies()) {
    rows.push_back({std::string(row.name), std::string(row.example), std::string(row.help)});
  }
  return rows;
}

Rows list_models() {
  Rows rows = {{"model", "layers", "parameters", "dims"}};
  for (const std::string& name : model_names()) {
    const ModelSpec model = load_model(name);
    std::vector<std::string> dims;
    for (const AxisSpec& dim : model.dims) dims.push_back(fmt::format("{}={}", dim.name, dim.size));
    rows.push_back({name, fmt::format("{}", model.layers),
                    model.parameters == 0 ? "-" : fmt::format("{:.4g}", model.parameters),
                    fmt::format("{}", fmt::join(dims, " "))});
  }
  return rows;
}

Rows list_runs() {
  Rows rows = {{"run", "chip", "model", "what it is"}};
  for (const std::string& name : run_names()) {
    const RunSpec run = load_run(data_dir() + "/configs/runs/" + name + ".yaml");
    rows.push_back(
        {name, run.chip_spec.name, run.model.given ? run.model_spec.name : "-", run.name.value});
  }
  return rows;
}

Rows list_sweeps() {
  Rows rows = {{"sweep", "points", "objective", "what it is"}};
  for (const std::string& name : names_in(kSweeps)) {
    const SweepSpec sweep = read_sweep(path_in(kSweeps, name));
    const PointList list = list_points(sweep, Candidates(sweep));
    rows.push_back({name, fmt::format("{}", list.points.size()),
                    sweep.search ? std::string(to_text(sweep.search->objective)) : "-",
                    sweep.name});
  }
  return rows;
}

// A group of eight along one axis, two axes, and two levels, of every kind of the topology table.
std::vector<GroupNet> sample_nets() {
  std::vector<GroupNet> nets;
  for (const TopologyRow& topology : topologies()) {
    const bool line = topology.wiring == Wiring::ring && !topology.wraps;
    GroupAxis axis{8, line ? Wiring::line : topology.wiring, BytesPerSec{1}, Seconds{},
                   topology.wiring == Wiring::ring && !line ? 2 : 1};
    if (axis.wiring == Wiring::star) axis.climbs = {{0, axis.w1, axis.w1, axis.w1}};
    nets.push_back({{axis}});
    if (topology.highest_axes > 1) nets.push_back({{axis, axis}});
    GroupAxis outside = axis;
    outside.level = outside.nic_level = 1;
    if (axis.wiring == Wiring::star) outside.climbs = {{1, axis.w1, axis.w1, axis.w1}};
    nets.push_back({{outside, axis}});
    for (GroupNet& net : nets) {
      for (GroupAxis& one : net.axes) {
        for (Climb& climb : one.climbs) climb.block.assign(net.axes.size(), 1);  // its own
      }
    }
  }
  return nets;
}

// The kinds that a row suits on some network.
std::string kinds_of(const AlgorithmRow& row) {
  static const std::vector<GroupNet> kNets = sample_nets();
  std::vector<std::string> kinds;
  for (const Collective kind : collective_kinds()) {
    const bool suits = std::any_of(kNets.begin(), kNets.end(), [&](const GroupNet& net) {
      const CollectiveAsk plain{kind, Bytes{1}, 1, {}};
      const CollectiveAsk permutes{kind, Bytes{1}, 1, {1, 0}};
      return row.why_not(plain, net).empty() || row.why_not(permutes, net).empty();
    });
    if (suits) kinds.emplace_back(to_text(kind));
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

Rows list_collectives() {
  Rows rows = {{"algorithm", "what it does"}};
  for (const AlgorithmRow& row : algorithms()) {
    rows.push_back({std::string(row.name), fmt::format("{}. For {}", row.help, kinds_of(row))});
  }
  return rows;
}

Rows list_schedules() {
  Rows rows = {{"schedule", "stages per rank", "what it is; also called"}};
  for (const ScheduleRow& row : schedules()) {
    std::string text(row.help);
    if (!row.aliases.empty()) text += fmt::format("; also {}", fmt::join(row.aliases, ", "));
    rows.push_back({std::string(row.name),
                    row.fewest_chunks == row.most_chunks
                        ? fmt::format("{}", row.fewest_chunks)
                        : fmt::format("{} or more", row.fewest_chunks),
                    std::move(text)});
  }
  return rows;
}

Rows list_presets() {
  Rows rows = {{"preset", "also", "takes", "what it does; where it cuts; when"}};
  for (const PresetRow& row : presets()) {
    std::string text(row.help);
    for (const std::string& column : {where_text(row), when_text(row)}) {
      if (!column.empty()) text += fmt::format("; {}", column);
    }
    rows.push_back({std::string(row.name), fmt::format("{}", fmt::join(row.aliases, " ")),
                    row.argument == PresetArgument::flag ? "true" : "mesh axes", std::move(text)});
  }
  return rows;
}

Rows list_fields() {
  Rows rows = {{"file", "key", "type", "default", "meaning"}};
  for (const FieldRow& row : field_rows()) {
    const std::string required =
        row.unless.empty() ? "(required)"
                           : fmt::format("(required without {})", fmt::join(row.unless, " or "));
    rows.push_back(
        {row.file, row.path, row.type, row.required ? required : row.default_text, row.help});
  }
  return rows;
}

// The reference for reading: per file, key, then meaning, type and default.
std::string fields_text() {
  std::string text;
  std::string file;
  for (const FieldRow& row : field_rows()) {
    if (row.file != file) text += fmt::format("{}{} file\n", file.empty() ? "" : "\n", row.file);
    file = row.file;
    std::string rest = row.required && row.unless.empty() ? "required"
                       : row.required
                           ? fmt::format("required without {}", fmt::join(row.unless, " or "))
                       : row.default_text.empty() ? ""
                                                  : "default: " + row.default_text;
    if (!rest.empty()) rest = "; " + rest;
    const bool beside = row.path.size() <= 33;
    text += fmt::format("  {:<33}{}{}\n", row.path, beside ? " " : "\n" + std::string(36, ' '),
                        wrapped(fmt::format("{} ({}{})", row.help, row.type, rest), 100, 36));
  }
  return text;
}

Rows list_reports() {
  Rows rows = {{"report", "file", "what it is"}};
  for (const ReportRow& row : reports()) {
    rows.push_back({std::string(row.name), row.file.empty() ? "-" : std::string(row.file),
                    std::string(row.help)});
  }
  return rows;
}

Rows list_lists();

struct ListRow {
  std::string_view name;
  std::string_view help;
  Rows (*rows)();
  Rows (*more)() = nullptr;  // a second table
};
constexpr ListRow kLists[] = {
    {"", "", list_lists},  // what can be listed
    {"chips", "peaks, memories and variants", list_chips},
    {"topologies", "kinds, and published networks with links and bisection", list_topologies,
     list_networks},
    {"models", "layers, parameters, dims", list_models},
    {"collectives", "algorithms, and what each is for", list_collectives},
    {"schedules", "of pipelines", list_schedules},
    {"presets", "parallelism: what each cuts, and when copies live", list_presets},
    {"runs", "to start from: shardsim example NAME, shardsim run NAME", list_runs},
    {"sweeps", "to start from: shardsim example NAME, shardsim sweep NAME", list_sweeps},
    {"fields", "every key of every file", list_fields},
    {"reports", "files that run --out writes", list_reports}};
constexpr std::string_view kFieldSchema = "schema";  // JSON alone: how configs/schema.json is made

Rows list_lists() {
  Rows rows = {{"shardsim list", "what it shows"}};
  for (const ListRow& list : kLists)
    if (!list.name.empty()) rows.push_back({std::string(list.name), std::string(list.help)});
  rows.push_back(
      {std::string(kFieldSchema), "the fields of a run file as JSON Schema, for editors"});
  return rows;
}

const ListRow& list_named(const std::string& what) {
  for (const ListRow& list : kLists) {
    if (list.name == what) return list;
  }
  std::vector<std::string> names = names_of(std::span<const ListRow>(kLists).subspan(1));
  names.emplace_back(kFieldSchema);
  throw ConfigError(
      {{argument_pos("list", what), fmt::format("expected something to list, found \"{}\"", what),
        suggestion(what, names)}});
}

Array objects_of(const Rows& rows) {
  Array objects;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    Object object;
    for (std::size_t c = 0; c < rows[r].size(); ++c) object.emplace_back(rows[0][c], rows[r][c]);
    objects.push_back(std::move(object));
  }
  return objects;
}

}  // namespace

Json list_document(const ListArguments& args) {
  if (args.what == kFieldSchema) {
    return json_schema(field_rows(), "run");
  }
  const ListRow& list = list_named(args.what);
  Array objects = objects_of(list.rows());
  if (list.more != nullptr) {
    for (Json& object : objects_of(list.more())) objects.push_back(std::move(object));
  }
  return objects;
}

void list_command(const ListArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  throw_if_any(problems);
  if (args.format == "json" || args.what == kFieldSchema) {
    print(to_json(list_document(args)));
    return;
  }
  const ListRow& list = list_named(args.what);
  print(args.what == "fields" ? fields_text() : rows_text(list.rows()));
  if (list.more != nullptr) print("\n" + rows_text(list.more()));
}

void example_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Library& library : {kRuns, kSweeps}) {
    for (const std::string& one : names_in(library)) {
      if (one == name) return print(read_file(path_in(library, name), kLargestYaml));
      names.push_back(one);
    }
  }
  const std::string near = suggestion(name, names);
  throw ConfigError(
      {{argument_pos("example", name), fmt::format("expected an example, found \"{}\"", name),
        near.empty() ? "see: shardsim list runs, shardsim list sweeps" : near}});
}

}  // namespace shardsim
