#include "plan/end_layers.h"

#include <algorithm>

#include "plan/reshard.h"

namespace shardsim {

std::span<const EndRow> end_rows() {
  static const std::vector<EndRow> kRows = {
      {"embedding", {"In[B,T,D] = Tok[B,T,V] * Wembed[V,D]"}, "Wembed", true},
      {"head",
       {"Y[B,T,D] = norm(Out[B,T,D], D, Wnorm[D])", "Logits[B,T,V] = Y[B,T,D] * Whead[D,V]",
        "Loss = softmax(Logits, V)"},
       "Whead",
       false,
       true}};
  return kRows;
}

ModelSpec end_model(const ModelSpec& model, const EndRow& row) {
  ModelSpec end = model;
  end.statements.clear();
  for (const std::string_view text : row.statements) {
    end.statements.push_back({std::string(text), model.pos, true});
  }
  end.inlined = false;
  return end;
}

void widen_loss(Layer& layer) {
  const int loss = layer.tensor("Loss");
  if (loss >= 0) layer.tensors[static_cast<std::size_t>(loss)].element_bytes = 4;
}

void read_probabilities(LayerPlan& plan, const Mesh& mesh, const Precision& precision) {
  for (ShardedStatement& step : plan.sharded.steps) {
    if (step.pass == Pass::forward) continue;
    const auto at = std::find(step.operand_names.begin(), step.operand_names.end(), "Logits");
    if (at == step.operand_names.end()) continue;
    const auto operand = step.operands.begin() + (at - step.operand_names.begin());
    step.memory_bytes -= local_bytes(plan.layer, mesh, *operand, precision.activations);
    step.operands.erase(operand);
    step.operand_names.erase(at);
  }
}

void make_lookup(LayerPlan& plan, const Mesh& mesh, const Precision& precision) {
  std::vector<ShardedStatement> steps;
  std::vector<ShardedCollective> passed_on;  // of a step that falls away, still needed
  for (ShardedStatement& step : plan.sharded.steps) {
    if (step.out_name == "dTok") {
      for (ShardedCollective& c : step.before)
        if (c.tensor != "Wembed") passed_on.push_back(std::move(c));
      continue;
    }
    step.before.insert(step.before.begin(), passed_on.begin(), passed_on.end());
    passed_on.clear();
    step.flops = {};
    step.matmul = false;
    // Rows read and written; backward, gradients of rows read, and rows read, added to and written.
    const bool forward = step.pass == Pass::forward;
    const Sharding& rows = forward ? step.out : step.operands.back();
    step.memory_bytes =
        local_bytes(plan.layer, mesh, rows, precision.activations) * (forward ? 2.0 : 3.0);
    steps.push_back(std::move(step));
  }
  plan.sharded.steps = std::move(steps);
  plan.sharded.model_flops = {};
}

}  // namespace shardsim
