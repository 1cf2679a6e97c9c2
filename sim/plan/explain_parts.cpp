#include "plan/explain_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/network_text.h"
#include "plan/prepare.h"

namespace shardsim {
namespace {

// For a collective that no statement explains.
std::string reason_of(const ShardedCollective& c) {
  const std::string axes = fmt::format("{}", fmt::join(c.axes, ", "));
  switch (c.kind) {
    case Collective::all_gather:
      return fmt::format(
          "{} must not be cut over {} any more: every device collects the blocks of "
          "its group",
          c.dim, axes);
    case Collective::reduce_scatter:
      return fmt::format("partial sums over {} are added, and every device keeps its block of {}",
                         axes, c.dim);
    case Collective::all_reduce:
      return fmt::format("partial sums over {} are added on every device", axes);
    case Collective::all_to_all:
      return fmt::format(
          "{} moves from {} to {}: every device sends every other one a part of its "
          "block",
          axes, c.dim, c.to_dim);
    default:
      break;
  }
  return "the blocks change places";
}

std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes)
    axes.push_back(fmt::format("{} = {}", axis.name, axis.size));
  const int devices = mesh.size_of(mesh.names());
  return fmt::format("{}: {} device{}", fmt::join(axes, ", "), devices, devices == 1 ? "" : "s");
}

std::string setting_text(const ExplainSetting& s) {
  if (s.cluster.axes.empty()) return "one device: nothing is sent";
  Cluster named = s.cluster;
  if (s.default_network) {
    named.text += " (no --topology: a torus with one axis for each mesh axis)";
  }
  return s.priced ? network_text(named) : named.text + "; no --bandwidth: bytes only, no prices";
}

}  // namespace

PriceBook price_book(const ExplainSetting& setting) {
  Cluster cluster = setting.cluster;
  Mesh mesh = setting.mesh;
  if (cluster.axes.empty()) {  // of no known machine: a ring along every axis
    for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
      const int axis = static_cast<int>(a);
      mesh.axes[a].axes = {axis};
      cluster.axes.push_back({mesh.axes[a].name, mesh.axes[a].size, Wiring::ring, axis});
      cluster.ports.push_back({mesh.axes[a].name + "+", axis, BytesPerSec{}, Seconds{}, 1});
      cluster.ports.push_back({mesh.axes[a].name + "-", axis, BytesPerSec{}, Seconds{}, -1});
    }
    cluster.levels.push_back({});
  }
  const ChipRates rates = setting.rates.value_or(ChipRates{});
  if (setting.priced) return {std::move(cluster), std::move(mesh), rates};
  constexpr BytesPerSec kAssumed{1e9};
  for (Port& port : cluster.ports) {
    port.bandwidth = kAssumed;
    port.latency = {};
  }
  return {std::move(cluster), std::move(mesh), {}, kAssumed};
}

std::vector<int> shape_of(const Layer& layer, const Mesh& mesh, const Sharding& sharding) {
  std::vector<int> sizes;
  for (const DimLayout& dim : sharding.dims) sizes.push_back(layer.dim_size(dim.dim));
  return local_shape(sharding, mesh, sizes).sizes;
}

void note_padding(const Pricing& on, const Sharding& sharding, std::vector<std::string>& said) {
  std::vector<int> sizes;
  for (const DimLayout& dim : sharding.dims) sizes.push_back(on.layer.dim_size(dim.dim));
  for (std::string& line : local_shape(sharding, on.mesh, sizes).padded) {
    if (std::find(said.begin(), said.end(), line) == said.end()) said.push_back(std::move(line));
  }
}

PricedCollective price(const Pricing& on, const ShardedCollective& collective,
                       const AlgorithmChoice& choice) {
  PricedCollective result;
  result.what = collective;
  if (result.what.reason.empty()) result.what.reason = reason_of(collective);
  result.before = shape_of(on.layer, on.mesh, collective.before);
  result.after = shape_of(on.layer, on.mesh, collective.after);
  result.devices = on.mesh.size_of(collective.axes);
  result.choice = choice.reason;
  if (!on.priced || choice.row == nullptr) return result;
  CollectiveCall call = call_of(collective, on.mesh);
  call.algorithm = choice.row;
  const CollectiveInstance instance = describe_call(call, on.cluster, collective.axes);
  result.price = instance.analytic;
  result.algorithm = instance.algorithm;
  result.formula = instance.formula;
  result.convention = instance.convention;
  return result;
}

PricedCollective price(const Pricing& on, const ShardedCollective& collective) {
  if (!on.priced) return price(on, collective, AlgorithmChoice{});
  const CollectiveCall call = call_of(collective, on.mesh);
  std::vector<Problem> why_not;
  AlgorithmChoice choice = pick_algorithm("auto", call, on.cluster, {}, why_not);
  if (!why_not.empty()) choice.reason = why_not.front().message;
  return price(on, collective, choice);
}

void describe_setting(const ExplainSetting& setting, Explanation& explanation) {
  std::vector<std::string> sizes;
  for (const NamedDim& dim : setting.dims)
    sizes.push_back(fmt::format("{} = {}", dim.name, dim.size));
  explanation.facts.emplace_back("mesh", mesh_text(setting.mesh));
  explanation.facts.emplace_back(
      "sizes", fmt::format("{}; {}, {:g} bytes an element", fmt::join(sizes, ", "), setting.dtype,
                           dtype_bytes(setting.dtype)));
  if (explanation.form == "array") return;  // nothing moves
  explanation.facts.emplace_back("network", setting_text(setting));
  if (setting.rates) {
    explanation.facts.emplace_back("chip",
                                   setting.chip + ": " + rates_text(*setting.rates, setting.dtype));
    explanation.notes.emplace_back("compute is a roofline: max(FLOPs / peak, bytes / memory rate)");
  }
  explanation.notes.push_back(
      setting.priced ? "nothing is simulated: a price is the closed form of one collective alone"
                     : "nothing is simulated; without a bandwidth plans are chosen by the bytes "
                       "through the busiest link, one collective after the other, all links alike");
}

}  // namespace shardsim
