#include "plan/layer_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/backward.h"
#include "plan/lower_collective.h"
#include "plan/make_layer.h"

namespace shardsim {

WantedAlgorithms::WantedAlgorithms(const RunSpec& spec, std::vector<Problem>& problems)
    : spec_(spec) {
  std::vector<std::string> kinds;
  for (const Collective kind : collective_kinds()) kinds.emplace_back(to_text(kind));
  for (const AlgorithmSpec& entry : spec.collectives) {
    if (std::find(kinds.begin(), kinds.end(), entry.kind) == kinds.end()) {
      problems.push_back({entry.pos, fmt::format("expected a collective, found \"{}\"", entry.kind),
                          suggestion(entry.kind, kinds)});
    }
    names_algorithm(entry.algorithm.value, entry.algorithm.pos, problems);
  }
}

AlgorithmChoice WantedAlgorithms::pick(const CollectiveCall& call, const Cluster& cluster,
                                       std::size_t number, PlanMemo& memo,
                                       std::vector<Problem>& problems) const {
  for (const AlgorithmSpec& entry : spec_.collectives) {
    if (entry.kind == to_text(call.ask.kind)) {
      return pick_algorithm(entry.algorithm.value, call, cluster, entry.algorithm.pos, problems);
    }
  }
  return memo.best({number, call.ask.kind, call.ask.bytes, call.axes, call.ask.targets},
                   [&] { return pick_algorithm("auto", call, cluster, {}, problems); });
}

namespace {

// The name that an entry of tensors: begins with.
std::string_view tensor_name(std::string_view text) {
  return text.substr(0, std::min(text.find('['), text.size()));
}

}  // namespace

std::vector<Chosen<std::string>> tensors_of_ends(const RunSpec& spec, bool of_ends) {
  std::vector<Chosen<std::string>> found;
  for (const Chosen<std::string>& entry : spec.tensors) {
    const bool names_end =
        std::any_of(end_rows().begin(), end_rows().end(),
                    [&](const EndRow& row) { return tensor_name(entry.value) == row.weights; });
    if (names_end == of_ends) found.push_back(entry);
  }
  return found;
}

std::optional<Layer> layer_of(const ModelSpec& model, const BatchSpec& batch, int sequences,
                              PlanMemo& memo) {
  std::vector<Problem> problems;
  const std::vector<NamedDim> dims = model_dims(model, batch, sequences, problems);
  if (!problems.empty()) return std::nullopt;
  return memo.layer(model, dims, [&]() -> std::optional<Layer> {
    Layer made = make_layer(model, batch, sequences, problems);
    if (!problems.empty()) return std::nullopt;
    return made;
  });
}

LayerPlanner::LayerPlanner(const RunSpec& spec, const WantedAlgorithms& wanted, PlanMemo& memo,
                           Prepared& run, std::vector<Problem>& problems)
    : spec_(spec),
      wanted_(wanted),
      memo_(memo),
      run_(run),
      problems_(problems),
      cluster_(memo.cluster(run.cluster)),
      prices_(memo.prices(cluster_, run.cluster, run.mesh, run.rates)) {}

void LayerPlanner::forward() {
  const ShardInput asked = input(run_);
  const std::string question = question_of(asked, cluster_);
  question_ = fmt::format("{} backward, {}{}", question, run_.recompute->name, collectives());
  if (take(question_, run_) || take(question, run_)) return;
  const std::size_t before = problems_.size();
  run_.sharded = shard(asked, problems_);
  if (problems_.size() == before) memo_.keep(question, run_);
}

void LayerPlanner::backward() {
  if (run_.question == question_) return;
  append_backward(input(run_), run_.sharded);
  choose(run_, question_);
}

void LayerPlanner::end(const EndRow& row, bool& first) {
  LayerPlan& plan = run_.ends.emplace_back();
  plan.kind = row.kind;
  const ModelSpec model = end_model(spec_.model_spec, row);
  std::optional<Layer> known = layer_of(model, spec_.batch, run_.batch.sequences, memo_);
  plan.layer =
      known ? std::move(*known) : make_layer(model, spec_.batch, run_.batch.sequences, problems_);
  widen_loss(plan.layer);
  std::vector<Chosen<std::string>> own;
  for (const Chosen<std::string>& entry : tensors_of_ends(spec_, true))
    if (tensor_name(entry.value) == row.weights) own.push_back(entry);
  std::vector<Problem> again;  // what the presets lack was said of the layers
  plan.layouts = make_layouts(spec_.sharding, own, plan.layer, run_.mesh, again);
  if (row.keeps) plan.layouts.keep_gathered_weights();
  if (!again.empty() && first) problems_.insert(problems_.end(), again.begin(), again.end());
  first = false;
  if (!problems_.empty()) return;
  ShardInput asked = input(plan);
  asked.recompute = nullptr;  // of the layers alone
  const std::string question = question_of(asked, cluster_) + std::string(row.kind) + collectives();
  if (take(question, plan)) return;
  plan.sharded = shard(asked, problems_);
  if (!problems_.empty()) return;
  append_backward(asked, plan.sharded);
  if (row.looks_up) make_lookup(plan, run_.mesh, run_.precision);
  read_probabilities(plan, run_.mesh, run_.precision);
  choose(plan, question);
}

void LayerPlanner::say_unsuited() {
  problems_.insert(problems_.end(), unsuited_.begin(), unsuited_.end());
}

ShardInput LayerPlanner::input(LayerPlan& plan) {
  return {plan.layer,
          plan.layouts,
          run_.mesh,
          run_.precision,
          prices_,
          run_.recompute,
          spec_.on_ambiguity.value == "error",
          spec_.on_ambiguity.value != "choose",
          spec_.idle_axes.value == "use",
          run_.attention};
}

void LayerPlanner::choose(LayerPlan& plan, const std::string& question) {
  const std::size_t before = unsuited_.size();
  pick_all(plan);
  plan.question = question;
  if (unsuited_.size() == before) memo_.keep_again(question, plan);
}

AlgorithmChoice LayerPlanner::pick(const ShardedCollective& collective,
                                   std::vector<Problem>& problems) const {
  return wanted_.pick(call_of(collective, run_.mesh), run_.cluster, cluster_, memo_, problems);
}

void LayerPlanner::pick_all(LayerPlan& plan) {
  std::vector<Problem> found;
  for (const ShardedStatement& step : plan.sharded.steps) {
    for (const auto* list : {&step.before, &step.after})
      for (const ShardedCollective& c : *list) plan.choices.push_back(pick(c, found));
  }
  for (const Problem& p : found) {  // the same choice fails for every collective of its kind
    const bool said = std::any_of(unsuited_.begin(), unsuited_.end(), [&](const Problem& q) {
      return q.message == p.message && q.pos.line == p.pos.line;
    });
    if (!said) unsuited_.push_back(p);
  }
}

bool LayerPlanner::take(const std::string& question, LayerPlan& plan) const {
  const LayerPlan* known = memo_.find(question);
  if (known == nullptr) return false;
  // What was asked for, unless a norm was taken apart.
  if (known->layer.statements.size() != plan.layer.statements.size()) {
    plan.layer = known->layer;
    plan.layouts = known->layouts;
  }
  plan.sharded = known->sharded;
  plan.choices = known->choices;
  plan.question = known->question;
  return true;
}

std::string LayerPlanner::collectives() const {
  std::string text;
  for (const AlgorithmSpec& entry : spec_.collectives)
    text += fmt::format("|{}={}", entry.kind, entry.algorithm.value);
  return text;
}

}  // namespace shardsim
