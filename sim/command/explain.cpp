#include "command/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/problem.h"
#include "base/text.h"
#include "command/arguments.h"
#include "command/network.h"
#include "plan/check_dims.h"
#include "plan/clusters.h"
#include "plan/cost.h"
#include "plan/explain.h"
#include "plan/placement.h"
#include "plan/stated_layouts.h"
#include "report/explain.h"
#include "spec/load.h"
#include "spec/table.h"

namespace shardsim {
namespace {

enum Form : unsigned { kFile = 1, kStatement = 2, kArray = 4, kReshard = 8 };

struct FormRow {
  Form form = kFile;
  std::string_view name;
};
constexpr std::array kForms = {FormRow{kFile, "a run file"}, FormRow{kStatement, "a statement"},
                               FormRow{kArray, "an array"}, FormRow{kReshard, "a reshard"}};

// Which options say anything about which forms; the others are refused.
struct OptionRow {
  const char* name;
  std::string ExplainArguments::*value;
  unsigned forms;
};
constexpr std::array kOptions = {
    OptionRow{"--mesh", &ExplainArguments::mesh, kStatement | kArray | kReshard},
    OptionRow{"--dims", &ExplainArguments::dims, kStatement | kArray | kReshard},
    OptionRow{"--dtype", &ExplainArguments::dtype, kStatement | kArray | kReshard},
    OptionRow{"--device-order", &ExplainArguments::device_order, kStatement | kArray | kReshard},
    OptionRow{"--topology", &ExplainArguments::topology, kStatement | kReshard},
    OptionRow{"--bandwidth", &ExplainArguments::bandwidth, kStatement | kReshard},
    OptionRow{"--latency", &ExplainArguments::latency, kStatement | kReshard},
    OptionRow{"--chip", &ExplainArguments::chip, kStatement | kReshard},
    OptionRow{"--on-ambiguity", &ExplainArguments::on_ambiguity, kStatement},
    OptionRow{"--idle-axes", &ExplainArguments::idle_axes, kStatement},
    OptionRow{"--pass", &ExplainArguments::pass, kFile | kStatement},
    OptionRow{"--statement", &ExplainArguments::statement, kFile}};

Form form_of(const std::string& subject) {
  std::error_code none;
  const bool file = subject.ends_with(".yaml") || subject.ends_with(".yml") ||
                    std::filesystem::exists(subject, none);
  if (file) return kFile;
  if (subject.find("->") != std::string::npos) return kReshard;
  if (subject.find('=') != std::string::npos) return kStatement;
  return subject.find('[') != std::string::npos ? kArray : kFile;
}

void refuse_others(const ExplainArguments& args, Form form, std::vector<Problem>& problems) {
  const auto row =
      std::find_if(kForms.begin(), kForms.end(), [&](const FormRow& r) { return r.form == form; });
  for (const OptionRow& option : kOptions) {
    const std::string& text = args.*option.value;
    if (text.empty() || (option.forms & form) != 0) continue;
    problems.push_back({argument_pos(option.name, text),
                        fmt::format("expected no {} for {}, found one", option.name, row->name),
                        ""});
  }
  if (form == kFile) return;
  for (const std::string& change : args.set) {
    problems.push_back({argument_pos("--set", change),
                        fmt::format("expected no --set for {}, found one", row->name), ""});
  }
}

void require_sizes(const char* option, const std::string& text, const char* example,
                   const ExplainArguments& args, std::vector<Problem>& problems) {
  if (!text.empty()) return;
  problems.push_back({argument_pos("explain", args.subject),
                      fmt::format("expected sizes in {}, found no {}", option, option),
                      fmt::format("for example {} {}", option, example)});
}

std::string one_of(const char* option, const std::string& text, const char* otherwise,
                   const std::vector<std::string>& names, std::vector<Problem>& problems) {
  if (text.empty()) return otherwise;
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    const std::string close = nearest(text, names);
    problems.push_back({argument_pos(option, text),
                        fmt::format("expected {}, found {}", joined_or(names), in_quotes(text)),
                        close.empty() ? "" : fmt::format("did you mean \"{}\"?", close)});
  }
  return text;
}

// One axis for each mesh axis with more than one device, in the order of the device numbers.
TopologySpec torus_of(const MeshSpec& mesh) {
  TopologySpec topology;
  topology.kind = {"torus", mesh.pos, true};
  topology.pos = mesh.pos;
  for (const MeshAxisSpec& axis : mesh.axes) {
    if (axis.size > 1) topology.axes.push_back({"", axis.size, axis.pos});
  }
  if (mesh.order.value == "innermost-first") {
    std::reverse(topology.axes.begin(), topology.axes.end());
  }
  std::vector<int> sizes;
  for (AxisSpec& axis : topology.axes) {
    axis.name = axis_name("torus", sizes.size());
    sizes.push_back(axis.size);
  }
  topology.text = fmt::format("torus:{}", fmt::join(sizes, "x"));
  return topology;
}

void place(const MeshSpec& mesh, const StatedNetwork& network, ExplainSetting& setting,
           std::vector<Problem>& problems) {
  const TopologySpec& topology = network.topology;
  if (topology.axes.empty() && topology.levels.empty()) {  // every axis has one device
    for (const MeshAxisSpec& axis : mesh.axes) setting.mesh.axes.push_back({axis.name, 1, {}});
    return;
  }
  setting.cluster = make_cluster(topology, network.link, problems);
  if (setting.cluster.axes.empty()) return;
  setting.mesh = place_mesh(mesh, setting.cluster, problems);
}

// What the chip of a statement computes at.
void take_rates(const ExplainArguments& args, ExplainSetting& setting,
                std::vector<Problem>& problems) {
  if (args.chip.empty()) return;
  const Chosen<std::string> dtype{setting.dtype, argument_pos("--dtype", setting.dtype), true};
  setting.chip = args.chip;
  setting.rates = chip_rates(load_chip(args.chip), {}, dtype, problems);
}

ExplainSetting setting_of(const ExplainArguments& args, Form form, std::vector<AxisSpec>& dims,
                          std::vector<Problem>& problems) {
  ExplainSetting setting;
  setting.dtype = one_of("--dtype", args.dtype, "bf16", dtype_names(), problems);
  setting.order = one_of("--device-order", args.device_order, "row-major",
                         {"row-major", "innermost-first"}, problems);
  setting.on_ambiguity =
      one_of("--on-ambiguity", args.on_ambiguity, "", {"choose", "error"}, problems);
  setting.idle_axes = one_of("--idle-axes", args.idle_axes, "leave", {"leave", "use"}, problems);
  require_sizes("--dims", args.dims, "I=1024,J=4096", args, problems);
  require_sizes("--mesh", args.mesh, "X=4,Y=2", args, problems);
  dims = sizes_of("--dims", args.dims, problems);
  for (const AxisSpec& dim : dims) setting.dims.push_back({dim.name, dim.size});
  MeshSpec mesh =
      row_major(sizes_of("--mesh", args.mesh, problems), argument_pos("--mesh", args.mesh));
  mesh.order.value = setting.order;
  const NetworkArguments wanted{args.topology, args.bandwidth, args.latency, args.chip, args.mesh};
  StatedNetwork network = stated_network(wanted, problems, torus_of(mesh));
  setting.priced = network.priced;
  setting.default_network = args.topology.empty();
  if (form == kStatement) take_rates(args, setting, problems);
  if (!setting.priced && !args.latency.empty()) {
    problems.push_back({argument_pos("--latency", args.latency),
                        "expected --bandwidth beside --latency, found none", ""});
  }
  if (problems.empty()) place(mesh, network, setting, problems);
  return setting;
}

std::optional<ArrayExpr> array_of(std::string_view text, const SourcePos& pos,
                                  const NotationContext& context, std::vector<Problem>& problems) {
  std::optional<ArrayExpr> array = parse_array(text, pos, context, problems);
  if (array && array->bare) {
    problems.push_back(
        {array->pos, fmt::format("expected the dims of {0}: {0}[...]", array->name), ""});
    return std::nullopt;
  }
  return array;
}

Explanation explain_reshard_text(const std::string& text, const SourcePos& pos,
                                 const NotationContext& context, const ExplainSetting& setting,
                                 std::span<const AxisSpec> dims, std::vector<Problem>& problems) {
  const std::size_t arrow = text.find("->");
  const auto left = static_cast<int>(arrow);
  const std::string_view all = text;
  const auto from = array_of(all.substr(0, arrow), pos.at(0, left), context, problems);
  const auto to = parse_array(all.substr(arrow + 2), pos.at(left + 2, 1), context, problems);
  if (from && to && to->bare) {
    const bool sums = !from->sharding.unreduced.empty();
    problems.push_back({to->pos, fmt::format("expected the layout of {0}: {0}[...]", to->name),
                        sums ? ways_to_settle(to->name, from->sharding) : ""});
  }
  if (!from || !to || to->bare) return {};
  require_used(dims, dims_of(std::array{*from, *to}), problems);
  return explain_reshard(*from, *to, setting, problems);
}

Explanation explain_text(const ExplainArguments& args, Form form, std::vector<Problem>& problems) {
  std::vector<AxisSpec> dims;
  const ExplainSetting setting = setting_of(args, form, dims, problems);
  throw_if_any(problems);
  NotationContext context{setting.mesh.names(), {}};
  for (const NamedDim& dim : setting.dims) context.dims.push_back(dim.name);
  const SourcePos pos = argument_pos(form == kStatement ? "statement" : "array", args.subject);
  if (form == kReshard) {
    return explain_reshard_text(args.subject, pos, context, setting, dims, problems);
  }
  if (form == kArray) {
    const auto array = array_of(args.subject, pos, context, problems);
    if (!array) return {};
    require_used(dims, dims_of(std::array{*array}), problems);
    return explain_array(*array, setting);
  }
  const auto statement = parse_statement(args.subject, pos, context, problems);
  if (!statement) return {};
  require_used(dims, dims_of(*statement), problems);
  return explain_statement(*statement, setting, problems);
}

Explanation explain_file(const ExplainArguments& args) {
  std::vector<Override> overrides;
  for (const std::string& text : args.set) overrides.push_back({text});
  const RunSpec spec = load_run(args.subject, overrides, cluster_problems);
  return explain_run(spec, prepare(spec));
}

void require_statement(const Explanation& all, const std::string& made) {
  std::vector<std::string> names;
  for (const ExplainedStep& step : all.steps) {
    if (step.what.pass == Pass::forward) names.push_back(step.what.out_name);
  }
  if (made.empty() || std::find(names.begin(), names.end(), made) != names.end()) return;
  throw ConfigError(
      {{argument_pos("--statement", made),
        fmt::format("expected an array that a statement makes, found {}", in_quotes(made)),
        suggestion(made, names)}});
}

Explanation explanation_of(const ExplainArguments& args) {
  std::vector<Problem> problems;
  require_format(args.format, problems);
  if (trimmed(args.subject).empty()) {
    problems.push_back({argument_pos("explain", args.subject),
                        "expected a run file, a statement, an array or a reshard, found nothing",
                        "for example explain 'A[I_X, J]'"});
    throw_if_any(problems);
  }
  const Form form = form_of(args.subject);
  refuse_others(args, form, problems);
  const std::string pass = one_of("--pass", args.pass, form == kStatement ? "forward" : "both",
                                  {"forward", "backward", "both"}, problems);
  Explanation explanation;
  if (form == kFile) {
    throw_if_any(problems);
    explanation = explain_file(args);
  } else {
    explanation = explain_text(args, form, problems);
    throw_if_any(problems);
  }
  require_statement(explanation, args.statement);
  keep_steps(explanation, pass, args.statement);
  return explanation;
}

}  // namespace

void explain_command(const ExplainArguments& args) {
  const Explanation explanation = explanation_of(args);
  print(args.format == "json" ? to_json(explanation_json(explanation))
                              : explanation_text(explanation));
}

Json explain_document(const ExplainArguments& args) {
  return explanation_json(explanation_of(args));
}

}  // namespace shardsim
