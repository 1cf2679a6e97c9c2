#include "plan/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/must.h"
#include "plan/backward.h"
#include "plan/check_dims.h"
#include "plan/make_layer.h"
#include "plan/placement.h"
#include "plan/shard.h"
#include "plan/stated_layouts.h"
#include "plan/sub_axes.h"

namespace shardsim {

LinkFigures link_figures(const RunSpec& spec, std::vector<Problem>& problems) {
  LinkFigures link;
  link.ici = spec.chip_spec.ici;
  const bool levels = !spec.topology.levels.empty();
  const LevelSpec& topology = levels ? spec.topology.levels.front() : spec.topology;
  if (topology.bandwidth.given) {
    link.bandwidth = topology.bandwidth.value;
  } else if (spec.chip_spec.link_bandwidth.given) {
    link.bandwidth = spec.chip_spec.link_bandwidth.value;
  } else if (spec.topology.links.empty()) {  // links of a graph may each say their own
    problems.push_back(
        {topology.pos,
         fmt::format("expected a link bandwidth, found none: chip {} states no figure",
                     spec.chip_spec.name),
         levels ? fmt::format("add bandwidth: 100 GB/s to level {}", topology.name)
                : "add link: {bandwidth: 100 GB/s} to the topology"});
  }
  for (const ChipVariant& variant : spec.chip_spec.variants) {
    if (spec.variant.given && variant.name == spec.variant.value) link.efficiency = variant.link;
  }
  if (topology.efficiency.given) link.efficiency = topology.efficiency.value;
  if (topology.latency.given) link.latency = topology.latency.value;
  return link;
}

namespace {

// Algorithms by kind that the user asked for; unknown kinds and names are problems.
class WantedAlgorithms {
 public:
  WantedAlgorithms(const RunSpec& spec, std::vector<Problem>& problems) : spec_(spec) {
    std::vector<std::string> kinds;
    for (const Collective kind : collective_kinds()) kinds.emplace_back(to_text(kind));
    std::vector<std::string> names = algorithm_names();
    names.emplace_back("auto");
    for (const AlgorithmSpec& entry : spec.collectives) {
      if (std::find(kinds.begin(), kinds.end(), entry.kind) == kinds.end()) {
        problems.push_back({entry.pos,
                            fmt::format("expected a collective, found \"{}\"", entry.kind),
                            suggestion(entry.kind, kinds)});
      }
      if (std::find(names.begin(), names.end(), entry.algorithm.value) == names.end()) {
        problems.push_back(
            {entry.algorithm.pos,
             fmt::format("expected a collective algorithm, found \"{}\"", entry.algorithm.value),
             algorithm_suggestion(entry.algorithm.value)});
      }
    }
  }

  AlgorithmChoice pick(const CollectiveCall& call, const Cluster& cluster,
                       std::vector<Problem>& problems) const {
    for (const AlgorithmSpec& entry : spec_.collectives) {
      if (entry.kind == to_text(call.ask.kind)) {
        return pick_algorithm(entry.algorithm.value, call, cluster, entry.algorithm.pos, problems);
      }
    }
    return pick_algorithm("auto", call, cluster, {}, problems);
  }

 private:
  const RunSpec& spec_;
};

void pick_all(const WantedAlgorithms& wanted, Prepared& run, std::vector<Problem>& problems) {
  std::vector<Problem> found;
  for (const ShardedStatement& step : run.sharded.steps) {
    for (const auto* list : {&step.before, &step.after}) {
      for (const ShardedCollective& collective : *list) {
        const CollectiveCall call = call_of(collective, run.mesh);
        run.choices.push_back(wanted.pick(call, run.cluster, found));
      }
    }
  }
  for (const Problem& p :
       found) {  // the same choice fails for every collective of its kind: say it once
    const bool said = std::any_of(problems.begin(), problems.end(), [&](const Problem& q) {
      return q.message == p.message && q.pos.line == p.pos.line;
    });
    if (!said) problems.push_back(p);
  }
}

// Sets batch and, if it can be read, layer; returns the layouts that stand in its statements.
std::vector<ArrayExpr> read_layer(const RunSpec& spec, Prepared& run,
                                  std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  const ModelSpec& model = spec.model_spec;
  const std::vector<Statement> statements =
      parse_model(model, spec.batch, run.mesh.names(), problems);
  std::vector<ArrayExpr> stated;
  if (model.inlined) {
    stated = stated_layouts(statements, spec.tensors, !spec.sharding.empty(), run.mesh, problems);
  }
  const bool readable = problems.size() == before;
  run.batch = split_batch(spec.batch, spec.sharding, run.mesh, problems, axes_of_dim(stated, "B"));
  std::vector<NamedDim> dims = model_dims(model, spec.batch, run.batch.sequences, problems);
  if (!readable) return stated;
  const std::size_t then = problems.size();
  run.layer = layer_from(statements, std::move(dims), problems);
  if (problems.size() != then) run.layer = {};
  return stated;
}

// Model files may state sizes that only other models of theirs need, as that of the vocabulary.
void check_sizes_used(const ModelSpec& model, const Layer& layer, std::vector<Problem>& problems) {
  if (!model.inlined) return;
  std::vector<std::string> used;
  for (const LayerTensor& tensor : layer.tensors) {
    used.insert(used.end(), tensor.dims.begin(), tensor.dims.end());
  }
  require_used(model.dims, used, problems);
}

bool is_read(const Layer& layer, int tensor) {
  return std::any_of(layer.statements.begin(), layer.statements.end(), [&](const auto& st) {
    return std::find(st.in.begin(), st.in.end(), tensor) != st.in.end();
  });
}

// What one layer makes is what the next one reads: an output has the dims of an input, and is held
// in the same layout, since nothing is moved between layers.
void check_layers_fit(const RunSpec& spec, const Prepared& run, std::vector<Problem>& problems) {
  if (run.layers == 1) return;
  const Layer& layer = run.layer;
  std::string outputs, inputs, near;
  for (const LayerStatement& st : layer.statements) {
    if (is_read(layer, st.out)) continue;
    const auto out = static_cast<std::size_t>(st.out);
    const std::string made = layer.tensors[out].name + to_text(run.sharded.held[out]);
    outputs += (outputs.empty() ? "" : ", ") + made;
    for (std::size_t in = 0; in < layer.tensors.size(); ++in) {
      if (layer.tensors[in].role != TensorRole::input) continue;
      if (layer.tensors[in].dims != layer.tensors[out].dims) continue;
      if (run.sharded.held[in] == run.sharded.held[out]) return;
      near = fmt::format("write {}{} to have it moved", layer.tensors[out].name,
                         to_text(run.sharded.held[in]));
    }
  }
  for (std::size_t in = 0; in < layer.tensors.size(); ++in) {
    if (layer.tensors[in].role != TensorRole::input) continue;
    inputs += (inputs.empty() ? "" : ", ") + layer.tensors[in].name + to_text(run.sharded.held[in]);
  }
  problems.push_back(
      {spec.layers.given ? spec.layers.pos : spec.model_spec.pos,
       fmt::format(
           "expected {} layers that read what the one before them makes, found a layer that "
           "makes {} and reads {}",
           run.layers, outputs, inputs.empty() ? "no input" : inputs),
       near.empty() ? "write layers: 1, or give an output the dims of an input" : near});
}

}  // namespace

Prepared prepare(const RunSpec& spec) {
  std::vector<Problem> problems;
  Prepared run;
  run.link = link_figures(spec, problems);
  run.cluster = make_cluster(spec.topology, run.link, problems);
  run.rates = chip_rates(spec.chip_spec, spec.variant, spec.precision.activations, problems);
  run.layers = spec.layers.given ? spec.layers.value : spec.model_spec.layers;
  if (spec.layers.given && spec.layers.value > spec.model_spec.layers) {
    problems.push_back(
        {spec.layers.pos,
         fmt::format("expected at most the {} layers of {}, found {}", spec.model_spec.layers,
                     spec.model_spec.name, spec.layers.value),
         ""});
  }
  const WantedAlgorithms wanted(spec, problems);
  if (!run.cluster.axes.empty()) run.mesh = place_mesh(spec.mesh, run.cluster, problems);
  if (run.mesh.axes.empty()) throw ConfigError(std::move(problems));

  const std::vector<ArrayExpr> stated = read_layer(spec, run, problems);
  if (run.layer.statements.empty()) throw ConfigError(std::move(problems));

  take_apart(spec.sharding, run.layer, run.mesh, run.cluster);
  run.recompute = find_recompute(spec.recompute.given ? spec.recompute.value : "none");
  must(run.recompute != nullptr, "the reader knows the rows of the table of recomputation");
  const Precision precision = element_bytes(spec.precision);
  run.layouts = make_layouts(spec.sharding, spec.tensors, run.layer, run.mesh, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  apply_stated(stated, run.layer, run.mesh, run.layouts, problems);
  PriceBook prices(run.cluster, run.mesh, run.rates);
  const bool refuse_ties = spec.on_ambiguity.value == "error";
  const bool chosen = spec.on_ambiguity.value == "choose";
  const ShardInput input{run.layer, run.layouts,   run.mesh,    precision,
                         prices,    run.recompute, refuse_ties, !chosen};
  run.sharded = shard(input, problems);
  require_stated_sums(run.layer, run.layouts, run.sharded, problems);
  check_layers_fit(spec, run, problems);
  check_sizes_used(spec.model_spec, run.layer, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  append_backward(input, run.sharded);
  pick_all(wanted, run, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  return run;
}

}  // namespace shardsim
