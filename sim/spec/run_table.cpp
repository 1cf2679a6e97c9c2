// The rows of a run file.
#include <utility>

#include "spec/load.h"
#include "spec/table.h"

namespace shardsim {
namespace {

void store_mesh_axis(RunSpec& run, const Value& v, Problems&) {
  MeshAxisSpec axis{v.key, {}, 0, v.key_pos};
  if (v.is<int>()) {
    axis.size = std::get<int>(v.data);
  } else {
    axis.axes = std::get<Words>(v.data);
  }
  run.mesh.axes.push_back(std::move(axis));
}

void store_preset(RunSpec& run, const Value& v, Problems&) {
  PresetSpec preset{v.key, {}, {}, v.key_pos};
  if (v.is<bool>()) {
    preset.flag = v.as<bool>();
  } else {
    preset.axes = std::get<Words>(v.data);
  }
  run.sharding.push_back(std::move(preset));
}

std::vector<std::string> placements() {
  return {"row-major", "innermost-first"};
}

std::vector<std::string> recomputations() {
  return {"none", "selective", "full"};
}

std::vector<Field> machine_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run", "name", text, false, "the file's name", "title of the run",
       [](RunSpec& r, V v, Problems&) { r.name = v.as<std::string>(); }},
      {"run", "cluster", map, true, "", "the machine"},
      {"run", "cluster.chip", name, true, "", "a name from configs/chips, or a path to a .yaml",
       [](RunSpec& r, V v, Problems&) { r.chip = v.as<std::string>(); }},
      {"run", "cluster.variant", name, false, "nominal", "of the chip: factors on its figures",
       [](RunSpec& r, V v, Problems&) { r.variant = v.as<std::string>(); }},
      {"run", "cluster.topology", name_or_map, true, "",
       "a short name such as torus:4x4x4, a name from configs/topologies, a path to a .yaml, or "
       "{kind, axes, link} or {levels}",
       [](RunSpec& r, V v, Problems&) {
         if (v.is<std::string>()) r.topology_name = v.as<std::string>();
         r.topology.pos = v.pos;
       }},
  };
}

std::vector<Field> work_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run",
       "mesh",
       map,
       true,
       "",
       "logical axes and the hardware axes they span, major first",
       [](RunSpec& r, V v, Problems&) { r.mesh.pos = v.key_pos; },
       {},
       "parallel"},
      {"run", "mesh.*", mesh_axis, false, "", "hardware axes, major first, or a size",
       store_mesh_axis},
      {"run", "mesh.order", choice, false, "", "how sizes alone are placed",
       [](RunSpec& r, V v, Problems&) { r.mesh.order = v.as<std::string>(); }, placements()},
      {"run",
       "model",
       name,
       true,
       "",
       "a name from models, or a path to a .yaml",
       [](RunSpec& r, V v, Problems&) { r.model = v.as<std::string>(); },
       {},
       "layer"},
      {"run", "layer", texts, false, "",
       "instead of model: statements, layouts in them, as \"C[I_X, K] = A[I_X, J] * B[J, K]\"; "
       "others are +, gelu, relu, silu, exp, norm, layernorm, softmax, max, min, cast, attention, "
       "reshape and reshard",
       [](RunSpec& r, V v, Problems&) {
         r.layer_pos = v.key_pos;
         r.layer = v.as<Words>().value;
       }},
      {"run", "dims", map, false, "", "sizes of the dims of layer; B and T stand here or in batch",
       [](RunSpec& r, V v, Problems&) { r.dims_pos = v.key_pos; }},
      {"run", "dims.*", count, false, "", "size of the dim",
       [](RunSpec& r, V v, Problems&) {
         r.dims.push_back({v.key, v.as<int>().value, v.key_pos});
       }},
      {"run", "layers", count, false, "all of the model's", "layers to simulate",
       [](RunSpec& r, V v, Problems&) { r.layers = v.as<int>(); }},
      {"run",
       "batch",
       map,
       true,
       "",
       "the work of one step",
       [](RunSpec& r, V v, Problems&) { r.batch.pos = v.key_pos; },
       {},
       "layer"},
      {"run", "batch.global", count, true, "", "sequences in the step, over all devices",
       [](RunSpec& r, V v, Problems&) { r.batch.global = v.as<int>(); }},
      {"run", "batch.micro", count, false, "all at once", "sequences per device and micro-batch",
       [](RunSpec& r, V v, Problems&) { r.batch.micro = v.as<int>(); }},
      {"run", "batch.length", count, true, "", "tokens per sequence",
       [](RunSpec& r, V v, Problems&) { r.batch.length = v.as<int>(); }},
  };
}

std::vector<Field> precision_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run", "precision", map, false, "", "element types by role"},
      {"run", "precision.weights", choice, false, "bf16", "parameters",
       [](RunSpec& r, V v, Problems&) { r.precision.weights = v.as<std::string>(); },
       dtype_names()},
      {"run", "precision.gradients", choice, false, "bf16", "gradients of parameters",
       [](RunSpec& r, V v, Problems&) { r.precision.gradients = v.as<std::string>(); },
       dtype_names()},
      {"run", "precision.activations", choice, false, "bf16",
       "activations and their gradients; the type matrix units compute in",
       [](RunSpec& r, V v, Problems&) { r.precision.activations = v.as<std::string>(); },
       dtype_names()},
      {"run", "precision.optimizer", choice, false, "fp32", "optimizer state",
       [](RunSpec& r, V v, Problems&) { r.precision.optimizer = v.as<std::string>(); },
       dtype_names()},
  };
}

std::vector<Field> sharding_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run",
       "sharding",
       map,
       true,
       "",
       "presets (shardsim list presets) and their mesh axes",
       [](RunSpec& r, V v, Problems&) { r.sharding_pos = v.key_pos; },
       {},
       "layer parallel"},
      {"run", "sharding.*", preset, false, "", "mesh axes of the preset, or true/false",
       store_preset},
      {"run", "tensors", texts, false, "", "layouts of single tensors, as \"Wo[N_Y, H, D_X]\"",
       [](RunSpec& r, V v, Problems&) { r.tensors = v.as<Words>().value; }},
      {"run",
       "on_ambiguity",
       choice,
       false,
       "choose",
       "when two plans of a statement cost the same: take one and say so, or refuse; written out, "
       "choose also moves the cheaper operand when a batch dim is cut differently in the two",
       [](RunSpec& r, V v, Problems&) { r.on_ambiguity = v.as<std::string>(); },
       {"choose", "error"}},
      {"run",
       "idle_axes",
       choice,
       false,
       "leave",
       "mesh axes that the layouts of a statement or move do not use: leave them, as textbooks do, "
       "or use them to cut work and collectives where the forward pass is then cheaper; presets "
       "always leave them",
       [](RunSpec& r, V v, Problems&) { r.idle_axes = v.as<std::string>(); },
       {"leave", "use"}},
      {"run", "collectives", map, false, "", "the algorithm of a kind of collective"},
      {"run", "collectives.*", name, false, "the topology's",
       "a name from shardsim list collectives",
       [](RunSpec& r, V v, Problems&) {
         r.collectives.push_back({v.key, v.as<std::string>(), v.key_pos});
       }},
      {"run", "recompute", choice, false, "none", "what the backward pass computes again",
       [](RunSpec& r, V v, Problems&) { r.recompute = v.as<std::string>(); }, recomputations()},
      {"run",
       "attention",
       choice,
       false,
       "flash",
       "flash: scores never leave the chip; scores: softmax and dropout are kernels of their own, "
       "which write and read all scores",
       [](RunSpec& r, V v, Problems&) { r.attention = v.as<std::string>(); },
       {"flash", "scores"}},
      {"run", "notes", text, false, "", "anything, for people",
       [](RunSpec& r, V v, Problems&) { r.notes = v.as<std::string>().value; }},
  };
}

}  // namespace

std::vector<Field> run_fields() {
  std::vector<Field> rows;
  for (const auto& part : {machine_fields(), topology_fields("run", "cluster.topology."),
                           work_fields(), precision_fields(), sharding_fields(), step_fields()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace shardsim
