// The rows of a run file that turn layers into a training step.
#include "spec/table.h"

namespace shardsim {
namespace {

std::vector<Field> parallel_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run", "parallel", map, false, "",
       "the short form of mesh, sharding and the pipeline: devices along each axis, tp innermost, "
       "then cp, fsdp, dp and pp",
       [](RunSpec& r, V v, Problems&) {
         r.parallel.pos = v.key_pos;
         r.parallel.given = true;
       }},
      {"run", "parallel.tp", count, false, "no such axis", "tensor parallel",
       [](RunSpec& r, V v, Problems&) { r.parallel.tp = v.as<int>(); }},
      {"run", "parallel.cp", count, false, "no such axis", "context parallel",
       [](RunSpec& r, V v, Problems&) { r.parallel.cp = v.as<int>(); }},
      {"run", "parallel.pp", count, false, "no pipeline",
       "ranks of the pipeline; 1f1b unless "
       "schedule says otherwise",
       [](RunSpec& r, V v, Problems&) { r.parallel.pp = v.as<int>(); }},
      {"run", "parallel.dp", count, false, "no such axis",
       "data parallel; beside fsdp, its copies (hsdp)",
       [](RunSpec& r, V v, Problems&) { r.parallel.dp = v.as<int>(); }},
      {"run", "parallel.fsdp", count, false, "no such axis", "fully sharded data parallel",
       [](RunSpec& r, V v, Problems&) { r.parallel.fsdp = v.as<int>(); }},
      {"run", "parallel.zero", position, false, "0", "stage of ZeRO over dp: 0 to 3",
       [](RunSpec& r, V v, Problems&) { r.parallel.zero = v.as<int>(); }},
      {"run", "parallel.sp", flag, false, "false", "sequence parallel, with tp",
       [](RunSpec& r, V v, Problems&) { r.parallel.sp = v.as<bool>(); }},
  };
}

std::vector<Field> schedule_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run", "schedule", map, false, "", "the pipeline: stages of layers, and their order of work",
       [](RunSpec& r, V v, Problems&) {
         r.schedule.pos = v.key_pos;
         r.schedule.given = true;
       }},
      {"run", "schedule.kind", name, false, "1f1b beside parallel",
       "a name from shardsim list schedules, required without file and without parallel",
       [](RunSpec& r, V v, Problems&) { r.schedule.kind = v.as<std::string>(); }},
      {"run", "schedule.file", text, false, "",
       "instead of kind: a file with the order of every rank, as schedule --export writes it",
       [](RunSpec& r, V v, Problems&) { r.schedule.file = v.as<std::string>(); }},
      {"run", "schedule.axis", name, false, "pp beside parallel",
       "mesh axis of the ranks of the pipeline, required without parallel",
       [](RunSpec& r, V v, Problems&) { r.schedule.axis = v.as<std::string>(); }},
      {"run", "schedule.chunks", count, false, "the kind's fewest", "stages of a rank",
       [](RunSpec& r, V v, Problems&) { r.schedule.chunks = v.as<int>(); }},
      {"run", "schedule.group", count, false, "the number of ranks",
       "interleaved kinds: micro-batches that follow each other on a chunk",
       [](RunSpec& r, V v, Problems&) { r.schedule.group = v.as<int>(); }},
      {"run", "schedule.memory_limit", number, false, "the kind's",
       "searched kinds: activations of one stage that fit a rank",
       [](RunSpec& r, V v, Problems&) { r.schedule.memory_limit = v.as<double>(); }},
      {"run",
       "schedule.p2p",
       choice,
       false,
       "async",
       "how a rank sends to the next: beside its work, one at a time for each pair of ranks, or "
       "waiting until both have come",
       [](RunSpec& r, V v, Problems&) { r.schedule.p2p = v.as<std::string>(); },
       {"async", "serial", "blocking"}},
      {"run", "schedule.scatter_gather", flag, false, "false",
       "copies of what a rank hands to the next send a piece each, which are gathered there",
       [](RunSpec& r, V v, Problems&) { r.schedule.scatter_gather = v.as<bool>(); }},
      {"run", "schedule.layers", numbers, false, "evenly",
       "layers of every stage, first stage first; embedding and head come on top",
       [](RunSpec& r, V v, Problems&) { r.schedule.layers = v.as<Words>(); }},
  };
}

std::vector<Field> overlap_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"run", "overlap", map, false, "nothing", "what runs beside the computation",
       [](RunSpec& r, V v, Problems&) { r.overlap.pos = v.key_pos; }},
      {"run", "overlap.fsdp_prefetch", position, false, "0",
       "layers whose weights are gathered ahead; 0: gathered when they are needed",
       [](RunSpec& r, V v, Problems&) { r.overlap.fsdp_prefetch = v.as<int>(); }},
      {"run",
       "overlap.fsdp",
       choice,
       false,
       "fsdp2",
       "whose rules limit what is gathered and reduced ahead",
       [](RunSpec& r, V v, Problems&) { r.overlap.fsdp = v.as<std::string>(); },
       {"fsdp1", "fsdp2"}},
      {"run",
       "overlap.backward_prefetch",
       choice,
       false,
       "pre",
       "in the backward pass the next weights are gathered beside the gradients of a layer, or "
       "after them",
       [](RunSpec& r, V v, Problems&) { r.overlap.backward_prefetch = v.as<std::string>(); },
       {"pre", "post"}},
      {"run", "overlap.gradients", flag, false, "false",
       "gradients of weights are reduced beside the backward pass",
       [](RunSpec& r, V v, Problems&) { r.overlap.gradients = v.as<bool>(); }},
      {"run", "overlap.bucket", bytes, false, "one layer's",
       "gradients that are reduced once per step are put together up to this size",
       [](RunSpec& r, V v, Problems&) { r.overlap.bucket = v.as<Bytes>(); }},
      {"run", "overlap.updates", flag, false, "false",
       "updated weights are gathered layer by layer, beside the optimizer",
       [](RunSpec& r, V v, Problems&) { r.overlap.updates = v.as<bool>(); }},
      {"run", "overlap.collective_matmul", position, false, "0",
       "tiles into which a product and the collective before or after it are cut, in rings as many "
       "as "
       "the group has devices; 0: not cut",
       [](RunSpec& r, V v, Problems&) { r.overlap.collective_matmul = v.as<int>(); }},
      {"run",
       "overlap.collective_matmul_form",
       choice,
       false,
       "two-stage",
       "two-stage: every tile is a collective of its own; ring: one-way hops round the group, ring-"
       "two-way: hops both ways, with as many tiles as devices",
       [](RunSpec& r, V v, Problems&) { r.overlap.collective_matmul_form = v.as<std::string>(); },
       {"two-stage", "ring", "ring-two-way"}},
      {"run", "overlap.ring_attention", flag, false, "false",
       "with cp: keys and values go round a ring, block by block, beside the attention of the "
       "block "
       "at hand",
       [](RunSpec& r, V v, Problems&) { r.overlap.ring_attention = v.as<bool>(); }},
      {"run", "overlap.sm_share", map, false, "",
       "by mesh axis (a,b: of collectives over several): the share of a device's compute that its "
       "collectives' kernels take while they run"},
      {"run", "overlap.sm_share.*", share, false, "0", "share of compute, below 1",
       [](RunSpec& r, V v, Problems&) {
         r.overlap.sm_share.emplace_back(Chosen<std::string>{v.key, v.key_pos, true},
                                         v.as<double>().value);
       }},
  };
}

}  // namespace

std::vector<Field> step_fields() {
  using enum FieldType;
  using V = const Value&;
  std::vector<Field> rows = parallel_fields();
  for (Field& row : schedule_fields()) rows.push_back(std::move(row));
  for (Field& row : overlap_fields()) rows.push_back(std::move(row));
  const std::vector<Field> rest = {
      {"run", "optimizer", map, false, "adam when all layers are run",
       "what updates the weights at the end of the step",
       [](RunSpec& r, V v, Problems&) { r.optimizer.pos = v.key_pos; }},
      {"run",
       "optimizer.kind",
       choice,
       false,
       "adam",
       "adam, or none: no update is simulated",
       [](RunSpec& r, V v, Problems&) { r.optimizer.kind = v.as<std::string>(); },
       {"adam", "none"}},
      {"run", "optimizer.bytes", count, false, "16",
       "of a parameter in bf16, 16 or 10: 2 of weights, 2 of gradients, 12 of fp32 master weights "
       "and "
       "two moments; or 2 of weights and 8 of moments",
       [](RunSpec& r, V v, Problems&) { r.optimizer.bytes = v.as<int>(); }},
      {"run", "dropout", flag, false, "false",
       "masks of what is dropped before it is added to the residual stream are kept for the "
       "backward pass",
       [](RunSpec& r, V v, Problems&) { r.dropout = v.as<bool>(); }},
      {"run", "memory_limit", bytes, false, "the chip's memory_capacity",
       "what a step may use of a device's memory; one that cannot hold one micro-batch is refused",
       [](RunSpec& r, V v, Problems&) { r.memory_limit = v.as<Bytes>(); }},
      {"run", "ends", flag, false, "true when all layers of a model are run",
       "embedding, head and loss are part of the step",
       [](RunSpec& r, V v, Problems&) { r.ends = v.as<bool>(); }},
  };
  rows.insert(rows.end(), rest.begin(), rest.end());
  return rows;
}

}  // namespace shardsim
