#include "plan/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/must.h"
#include "plan/backward.h"
#include "plan/explain_parts.h"
#include "plan/lower.h"
#include "plan/make_layer.h"
#include "plan/reshard.h"
#include "plan/shard.h"
#include "plan/stated_layouts.h"

namespace shardsim {
namespace {

// The step without its collectives' prices.
ExplainedStep explained(const Pricing& on, const ShardedStatement& step, int statement) {
  ExplainedStep result;
  result.statement = statement;
  result.what = step;
  for (const Sharding& operand : step.operands) {
    result.operands.push_back(shape_of(on.layer, on.mesh, operand));
    note_padding(on, operand, result.padding);
  }
  result.out = shape_of(on.layer, on.mesh, step.out);
  note_padding(on, step.out, result.padding);
  return result;
}

std::string cut_text(const std::string& name, const Sharding& from, const Sharding& to) {
  return fmt::format("{0}{1} -> {0}{2}", name, to_text(from), to_text(to));
}

// Where the collectives of an array leave it; notes what is cut between them.
Sharding follow(const std::string& name, Sharding now, std::vector<PricedCollective>& collectives) {
  for (PricedCollective& c : collectives) {
    if (c.what.tensor != name) continue;
    const bool cut = now != c.what.before && only_slices(now, c.what.before);
    if (cut) c.cut = cut_text(name, now, c.what.before);
    now = c.what.after;
  }
  return now;
}

// Operands of a forward step that devices cut out of what they hold, and an output of which they
// keep a part.
void note_cuts(const Layer& layer, const ShardedLayer& sharded, ExplainedStep& step) {
  const ShardedStatement& s = step.what;
  if (s.pass != Pass::forward) return;
  for (std::size_t i = 0; i < s.operands.size(); ++i) {
    const std::string& name = s.operand_names[i];
    const Sharding& held = sharded.held[static_cast<std::size_t>(layer.tensor(name))];
    const Sharding now = follow(name, held, step.before);
    if (now == s.operands[i] || !only_slices(now, s.operands[i])) continue;
    step.cuts.push_back(cut_text(name, now, s.operands[i]));
  }
  const Sharding& kept = sharded.held[static_cast<std::size_t>(layer.tensor(s.out_name))];
  const Sharding made = follow(s.out_name, s.out, step.after);
  if (made != kept) step.cuts_after.push_back(cut_text(s.out_name, made, kept));
}

std::string_view role_name(TensorRole role) {
  switch (role) {
    case TensorRole::parameter:
      return "parameter";
    case TensorRole::input:
      return "input";
    case TensorRole::activation:
      break;
  }
  return "activation";
}

std::vector<Sharding> layouts_used(const ShardedLayer& sharded, const std::string& tensor) {
  std::vector<Sharding> used;
  for (const ShardedStatement& step : sharded.steps) {
    if (step.pass != Pass::forward) continue;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (step.operand_names[i] != tensor) continue;
      if (std::find(used.begin(), used.end(), step.operands[i]) == used.end()) {
        used.push_back(step.operands[i]);
      }
    }
  }
  return used;
}

// As the gradient of a parameter waits for the last micro-batch: what the first collective of the
// step's end finds, or what every micro-batch leaves.
Sharding accumulated(const ShardedLayer& sharded, const std::string& gradient, Sharding complete) {
  for (const ShardedStatement& step : sharded.steps) {
    if (step.out_name == gradient) complete = step.out;
    for (const ShardedCollective& c : step.after) {
      if (c.tensor != gradient) continue;
      if (c.once_per_step) return c.before;
      complete = c.after;
    }
  }
  return complete;
}

std::vector<LayoutRow> layout_rows(const Prepared& run, const Precision& precision) {
  std::vector<LayoutRow> rows;
  for (std::size_t t = 0; t < run.layer.tensors.size(); ++t) {
    const LayerTensor& tensor = run.layer.tensors[t];
    const bool parameter = tensor.role == TensorRole::parameter;
    LayoutRow row{tensor.name,
                  std::string(role_name(tensor.role)),
                  run.sharded.held[t],
                  layouts_used(run.sharded, tensor.name),
                  run.sharded.held[t],
                  {},
                  {}};
    row.gradient.unreduced.clear();  // the gradient of partial sums is whole on every device
    if (parameter) {
      row.optimizer = run.layouts.tensors[t].optimizer;
      row.gradient = accumulated(run.sharded, "d" + tensor.name, *row.optimizer);
    }
    row.bytes = local_bytes(run.layer, run.mesh, row.stored, element_bytes(tensor, precision));
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_compute(const ChipRates& rates, ExplainedStep& step) {
  step.compute = cost(step.what, rates);
  const Bytes moved = step.what.memory_bytes + step.what.beside_bytes;
  step.memory_bound = !step.what.matmul || moved / rates.memory > step.what.flops / rates.peak;
}

std::vector<std::string> work_notes() {
  return {
      "FLOPs are of one device on padded blocks: 2 for each multiplication of a contraction and "
      "its addition",
      "a dim without a subscript is whole on every device; I_XY is cut over X, then Y (major "
      "first); {U_X}: every device of X holds a partial sum"};
}

Layouts layouts_of(std::span<const ArrayExpr> stated, const Layer& layer, const Mesh& mesh) {
  Layouts layouts;
  for (const LayerTensor& tensor : layer.tensors) {
    const Sharding plain = whole(tensor.dims);
    layouts.tensors.push_back({plain, false, false, plain, plain});
  }
  for (const ArrayExpr& expr : stated) {
    layouts.tensors[static_cast<std::size_t>(layer.tensor(expr.name))] =
        layout_by_hand(mesh, expr.sharding);
  }
  return layouts;
}

}  // namespace

Explanation explain_run(const RunSpec& spec, const Prepared& run) {
  Explanation result;
  result.form = "file";
  result.title = spec.name.value;
  result.facts = facts_of(spec, run);
  result.layouts = layout_rows(run, element_bytes(spec.precision));
  const Pricing on{run.layer, run.mesh, run.cluster, true};
  std::size_t choice = 0;
  for (std::size_t s = 0; s < run.sharded.steps.size(); ++s) {
    const ShardedStatement& step = run.sharded.steps[s];
    const auto statement = static_cast<std::size_t>(step.statement);
    ExplainedStep one = explained(on, step, run.layer.statements[statement].number);
    add_compute(run.rates, one);
    for (const auto& c : step.before) one.before.push_back(price(on, c, run.choices[choice++]));
    for (const auto& c : step.after) one.after.push_back(price(on, c, run.choices[choice++]));
    note_cuts(run.layer, run.sharded, one);
    result.steps.push_back(std::move(one));
  }
  result.notes = work_notes();
  result.notes.push_back(
      "layouts: stored between steps; used by the forward pass; gradient of a parameter as it is "
      "accumulated over micro-batches; optimizer: its state and its update");
  result.notes.push_back(
      "compute is a roofline; nothing is simulated, a price is the closed form "
      "of one collective alone");
  const std::vector<std::string>& warnings = run.sharded.warnings;
  result.notes.insert(result.notes.end(), warnings.begin(), warnings.end());
  return result;
}

Explanation explain_statement(const Statement& statement, const ExplainSetting& setting,
                              std::vector<Problem>& problems) {
  Explanation result;
  result.form = "statement";
  result.title = statement.text;
  const std::size_t before = problems.size();
  const std::span<const Statement> all(&statement, 1);
  Layer layer = layer_from(all, setting.dims, problems);
  const std::vector<ArrayExpr> stated = stated_layouts(all, {}, false, setting.mesh, problems);
  if (problems.size() != before) return result;
  Layouts layouts = layouts_of(stated, layer, setting.mesh);
  const double bytes = dtype_bytes(setting.dtype);
  const Precision precision{bytes, bytes, bytes, bytes};
  PriceBook prices = price_book(setting);
  const ShardInput input{layer,
                         layouts,
                         setting.mesh,
                         precision,
                         prices,
                         nullptr,
                         setting.on_ambiguity == "error",
                         setting.on_ambiguity != "choose",
                         setting.idle_axes == "use"};
  ShardedLayer sharded = shard(input, problems);
  require_stated_sums(layer, layouts, sharded, problems);
  if (problems.size() != before) return result;
  append_backward(input, sharded);
  describe_setting(setting, result);
  const Pricing on{layer, setting.mesh, setting.cluster, setting.priced};
  for (const ShardedStatement& step : sharded.steps) {
    ExplainedStep one = explained(on, step, 1);
    if (setting.rates) add_compute(*setting.rates, one);
    for (const ShardedCollective& c : step.before) one.before.push_back(price(on, c));
    for (const ShardedCollective& c : step.after) one.after.push_back(price(on, c));
    note_cuts(layer, sharded, one);
    result.steps.push_back(std::move(one));
  }
  const std::vector<std::string> notes = work_notes();
  result.notes.insert(result.notes.begin(), notes.begin(), notes.end());
  result.notes.insert(result.notes.end(), sharded.warnings.begin(), sharded.warnings.end());
  return result;
}

void keep_steps(Explanation& explanation, const std::string& pass, const std::string& made) {
  int statement = 0;
  std::vector<std::string> names;
  for (const ExplainedStep& step : explanation.steps) {
    if (made.empty() || step.what.pass != Pass::forward || step.what.out_name != made) continue;
    statement = step.statement;
    names = step.what.operand_names;
    names.push_back(made);
  }
  std::erase_if(explanation.steps, [&](const ExplainedStep& step) {
    return (pass != "both" && to_text(step.what.pass) != pass) ||
           (!made.empty() && step.statement != statement);
  });
  if (made.empty()) return;
  std::erase_if(explanation.layouts, [&](const LayoutRow& row) {
    return std::find(names.begin(), names.end(), row.tensor) == names.end();
  });
}

}  // namespace shardsim
