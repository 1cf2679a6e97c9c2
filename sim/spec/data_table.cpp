// The rows of chip, model and block files.
#include <array>

#include "spec/table.h"

namespace shardsim {
namespace {

void store_peak(RunSpec& run, const Value& v, Problems&) {
  run.chip_spec.peak.emplace_back(v.key, v.as<FlopsPerSec>().value);
}

}  // namespace

std::vector<Field> chip_fields() {
  using enum FieldType;
  using V = const Value&;
  std::vector<Field> rows{
      {"chip", "peak", map, true, "", "dense peak rates by element type",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.peak_pos = v.key_pos; }},
      {"chip", "memory_capacity", bytes, true, "", "of one chip",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.memory_capacity = v.as<Bytes>().value; }},
      {"chip", "memory_bandwidth", bandwidth, true, "", "of one chip",
       [](RunSpec& r, V v, Problems&) {
         r.chip_spec.memory_bandwidth = v.as<BytesPerSec>().value;
       }},
      {"chip", "link_bandwidth", bandwidth, false, "none: the run must say it",
       "of one direction of one link (torus) or of one device's port (switch)",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.link_bandwidth = v.as<BytesPerSec>(); }},
      {"chip", "ici", map, false, "", "of a TPU: slices of its pod (topology kind tpu-slice)",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.ici.pos = v.key_pos; }},
      {"chip", "ici.dims", count, true, "", "most axes of a slice",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.ici.dims = v.as<int>().value; }},
      {"chip", "ici.chips", count, true, "", "of the largest slice",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.ici.chips = v.as<int>().value; }},
      {"chip",
       "ici.wrap_length",
       count,
       true,
       "",
       "an axis of this length wraps, a shorter one does not",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.ici.wrap_length = v.as<int>().value; },
       {},
       "wrap_cube"},
      {"chip",
       "ici.wrap_cube",
       count,
       true,
       "",
       "all axes wrap when all are multiples of this, otherwise none does",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.ici.wrap_cube = v.as<int>().value; },
       {},
       "wrap_length"},
      {"chip", "launch_overhead", seconds, false, "0", "added to every compute operation",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.launch_overhead = v.as<Seconds>().value; }},
      {"chip", "variants", map, false, "", "named factors on the nominal figures"},
      {"chip", "variants.*", map, false, "", "one variant",
       [](RunSpec& r, V v, Problems&) {
         r.chip_spec.variants.push_back({v.key, 1, 1, 1, 0, "", v.key_pos});
       }},
      {"chip", "variants.*.compute", factor, false, "1", "on peak",
       [](RunSpec& r, V v, Problems&) {
         r.chip_spec.variants.back().compute = v.as<double>().value;
       }},
      {"chip", "variants.*.memory", factor, false, "1", "on memory_bandwidth",
       [](RunSpec& r, V v, Problems&) {
         r.chip_spec.variants.back().memory = v.as<double>().value;
       }},
      {"chip", "variants.*.link", factor, false, "1", "on link_bandwidth",
       [](RunSpec& r, V v, Problems&) { r.chip_spec.variants.back().link = v.as<double>().value; }},
      {"chip", "variants.*.multiprocessors", count, false, "not modelled",
       "each computes a tile of 256 x 128 of a product at a time: products take whole waves",
       [](RunSpec& r, V v, Problems&) {
         r.chip_spec.variants.back().multiprocessors = v.as<int>().value;
       }},
      {"chip", "variants.*.source", text, true, "", "where the factors come from",
       [](RunSpec& r, V v, Problems&) {
         r.chip_spec.variants.back().source = v.as<std::string>().value;
       }},
  };
  static constexpr std::array<std::string_view, 5> kPeaks{"peak.bf16", "peak.fp16", "peak.fp32",
                                                          "peak.fp8", "peak.int8"};
  for (const std::string_view path : kPeaks) {
    rows.push_back(
        {"chip", std::string(path), flop_rate, false, "", "dense, one chip", store_peak});
  }
  return rows;
}

std::vector<Field> model_fields() {
  using enum FieldType;
  using V = const Value&;
  return {
      {"model", "layers", count, true, "", "layers of the whole model",
       [](RunSpec& r, V v, Problems&) { r.model_spec.layers = v.as<int>().value; }},
      {"model", "dims", map, true, "", "sizes of the named dims D F N K H V",
       [](RunSpec& r, V v, Problems&) { r.model_spec.pos = v.key_pos; }},
      {"model", "dims.*", count, false, "", "size of the dim",
       [](RunSpec& r, V v, Problems&) {
         r.model_spec.dims.push_back({v.key, v.as<int>().value, v.pos});
       }},
      {"model", "block", name, false, "", "a name from models/blocks, or a path to a .yaml",
       [](RunSpec& r, V v, Problems&) { r.model_spec.block = v.as<std::string>(); }},
      {"model", "statements", texts, false, "", "of one layer, instead of block",
       [](RunSpec& r, V v, Problems&) { r.model_spec.statements = v.as<Words>().value; }},
      {"model", "parameters", large_count, false, "unknown", "published total, to compare",
       [](RunSpec& r, V v, Problems&) {
         r.model_spec.parameters = static_cast<double>(v.as<std::int64_t>().value);
       }},
      {"block", "statements", texts, true, "", "of one layer, in order",
       [](RunSpec& r, V v, Problems&) { r.model_spec.statements = v.as<Words>().value; }},
  };
}

}  // namespace shardsim
