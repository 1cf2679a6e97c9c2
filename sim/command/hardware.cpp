#include "command/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shardsim {

namespace {

// A figure of the chip that every run has.
template <class Unit>
void add_of_chip(const char* name, Unit ChipSpec::*figure, const ChipSpec& chip,
                 std::vector<HardwareFigure>& figures) {
  if (chip.*figure == Unit{}) return;
  figures.push_back({name, to_text(chip.*figure), [figure](RunSpec& spec, double factor) {
                       spec.chip_spec.*figure = spec.chip_spec.*figure * factor;
                     }});
}

std::string activations_of(const RunSpec& spec) {
  return spec.precision.activations.given ? spec.precision.activations.value : "bf16";
}

void add_peak(const RunSpec& spec, std::vector<HardwareFigure>& figures) {
  for (const auto& [dtype, rate] : spec.chip_spec.peak) {
    if (dtype != activations_of(spec)) continue;
    figures.push_back({"chip peak " + dtype, to_text(rate), [](RunSpec& run, double factor) {
                         for (auto& peak : run.chip_spec.peak) peak.second = peak.second * factor;
                       }});
  }
}

LevelSpec& level_at(RunSpec& spec, int index) {
  return index < 0 ? spec.topology : spec.topology.levels[static_cast<std::size_t>(index)];
}

std::string name_of(const LevelSpec& level, int index) {
  return index < 0 ? "link" : level.name;
}

// `index` of the level; -1: the cluster is the one level.
template <class Unit>
void add_of_level(const LevelSpec& level, int index, const char* what,
                  Chosen<Unit> LevelSpec::*figure, std::vector<HardwareFigure>& figures) {
  const Chosen<Unit>& chosen = level.*figure;
  if (!chosen.given || chosen.value == Unit{}) return;
  figures.push_back({fmt::format("{} {}", name_of(level, index), what), to_text(chosen.value),
                     [index, figure](RunSpec& spec, double factor) {
                       Chosen<Unit>& value = level_at(spec, index).*figure;
                       value.value = value.value * factor;
                     }});
}

// An efficiency is at most 1, however much more of it is asked for.
void scale_efficiency(double& efficiency, double factor) {
  efficiency = std::min(1.0, efficiency * factor);
}

void add_efficiency_of_level(const LevelSpec& level, int index,
                             std::vector<HardwareFigure>& figures) {
  if (!level.efficiency.given) return;
  figures.push_back({fmt::format("{} efficiency", name_of(level, index)),
                     fmt::format("{:.4g}", level.efficiency.value),
                     [index](RunSpec& spec, double factor) {
                       scale_efficiency(level_at(spec, index).efficiency.value, factor);
                     }});
}

struct VariantFactor {
  const char* name;
  double ChipVariant::*factor;
};
constexpr std::array kVariantFactors = {VariantFactor{"compute efficiency", &ChipVariant::compute},
                                        VariantFactor{"memory efficiency", &ChipVariant::memory},
                                        VariantFactor{"link efficiency", &ChipVariant::link}};

// Factors of the chip's variant, when the run has one.
void add_variant(const RunSpec& spec, std::vector<HardwareFigure>& figures) {
  const auto& variants = spec.chip_spec.variants;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (!spec.variant.given || variants[i].name != spec.variant.value) continue;
    for (const VariantFactor& one : kVariantFactors) {
      figures.push_back({one.name, fmt::format("{:.4g}", variants[i].*one.factor),
                         [i, factor_of = one.factor](RunSpec& run, double factor) {
                           scale_efficiency(run.chip_spec.variants[i].*factor_of, factor);
                         }});
    }
  }
}

// One figure of several links, all together: those of an explicit graph, or those that differ.
template <class Link, class Unit>
void add_of_links(const std::string& name, std::vector<Link> TopologySpec::*links,
                  Chosen<Unit> Link::*figure, const RunSpec& spec,
                  std::vector<HardwareFigure>& figures) {
  std::vector<Unit> values;
  for (const Link& link : spec.topology.*links)
    if ((link.*figure).given && (link.*figure).value != Unit{})
      values.push_back((link.*figure).value);
  if (values.empty()) return;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  figures.push_back(
      {name,
       *least == *most ? to_text(*least) : fmt::format("{} to {}", to_text(*least), to_text(*most)),
       [links, figure](RunSpec& run, double factor) {
         for (Link& link : run.topology.*links)
           (link.*figure).value = (link.*figure).value * factor;
       }});
}

// The chip's own link, where the innermost level does not state a bandwidth.
void add_chip_link(const RunSpec& spec, std::vector<HardwareFigure>& figures) {
  const LevelSpec& innermost =
      spec.topology.levels.empty() ? spec.topology : spec.topology.levels.front();
  const Chosen<BytesPerSec>& link = spec.chip_spec.link_bandwidth;
  if (innermost.bandwidth.given || !link.given) return;
  figures.push_back({"chip link bandwidth", to_text(link.value), [](RunSpec& run, double factor) {
                       run.chip_spec.link_bandwidth.value =
                           run.chip_spec.link_bandwidth.value * factor;
                     }});
}

}  // namespace

std::vector<HardwareFigure> hardware_figures(const RunSpec& spec) {
  std::vector<HardwareFigure> figures;
  add_peak(spec, figures);
  add_of_chip("memory bandwidth", &ChipSpec::memory_bandwidth, spec.chip_spec, figures);
  if (!spec.memory_limit.given)
    add_of_chip("memory size", &ChipSpec::memory_capacity, spec.chip_spec, figures);
  add_of_chip("launch overhead", &ChipSpec::launch_overhead, spec.chip_spec, figures);
  add_variant(spec, figures);
  add_chip_link(spec, figures);
  const int levels = static_cast<int>(spec.topology.levels.size());
  for (int i = levels == 0 ? -1 : 0; i < levels; ++i) {
    const LevelSpec& level =
        i < 0 ? spec.topology : spec.topology.levels[static_cast<std::size_t>(i)];
    add_of_level(level, i, "bandwidth", &LevelSpec::bandwidth, figures);
    add_of_level(level, i, "latency", &LevelSpec::latency, figures);
    add_efficiency_of_level(level, i, figures);
  }
  add_of_links("links' bandwidth", &TopologySpec::links, &LinkSpec::bandwidth, spec, figures);
  add_of_links("links' latency", &TopologySpec::links, &LinkSpec::latency, spec, figures);
  add_of_links("overrides' bandwidth", &TopologySpec::overrides, &OverrideSpec::bandwidth, spec,
               figures);
  add_of_links("overrides' latency", &TopologySpec::overrides, &OverrideSpec::latency, spec,
               figures);
  return figures;
}

}  // namespace shardsim
