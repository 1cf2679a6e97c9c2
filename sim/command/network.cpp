#include "command/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "command/arguments.h"
#include "plan/cluster_despite.h"
#include "plan/prepare.h"
#include "spec/load.h"

namespace shardsim {

namespace {

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// One "X=4" of a list that stands at `pos`.
void take_size(std::string_view item, const SourcePos& pos, std::vector<AxisSpec>& sizes,
               std::vector<Problem>& problems) {
  const std::size_t equals = std::min(item.find('='), item.size());
  const std::string_view name = trimmed(item.substr(0, equals));
  if (equals == item.size() || !is_name(name)) {
    problems.push_back({pos, fmt::format("expected NAME=SIZE, found {}", in_quotes(trimmed(item))),
                        "for example X=4"});
    return;
  }
  const std::string_view digits = trimmed(item.substr(equals + 1));
  const Parsed<int> size = parse_count(digits, 1, std::numeric_limits<int>::max());
  if (!size) problems.push_back({pos, size.error, ""});
  const auto same = [&](const AxisSpec& other) { return other.name == name; };
  if (std::any_of(sizes.begin(), sizes.end(), same)) {
    problems.push_back({pos, fmt::format("{} is given twice", name), ""});
    return;
  }
  sizes.push_back({std::string(name), size.value, pos});
}

void say_more(const TopologySpec& topology, std::vector<Problem>& problems) {
  make_cluster_despite(topology, problems);
}

}  // namespace

std::vector<AxisSpec> sizes_of(const char* option, const std::string& text,
                               std::vector<Problem>& problems) {
  std::vector<AxisSpec> sizes;
  const SourcePos pos = argument_pos(option, text);
  for (std::size_t from = 0; from <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const auto length = std::max(1, static_cast<int>(end - from));
    take_size(std::string_view(text).substr(from, end - from),
              pos.at(static_cast<int>(from), length), sizes, problems);
    from = end + 1;
  }
  return sizes;
}

StatedNetwork stated_network(const NetworkArguments& args, std::vector<Problem>& problems,
                             TopologySpec otherwise) {
  const std::size_t before = problems.size();
  const SourcePos pos = argument_pos("--topology", args.topology);
  RunSpec run;
  run.topology = args.topology.empty() ? std::move(otherwise)
                                       : load_topology(args.topology, pos, problems, say_more);
  const bool readable = problems.size() == before;
  LevelSpec& innermost = run.topology.levels.empty() ? run.topology : run.topology.levels.front();
  if (!args.bandwidth.empty()) {
    const SourcePos at = argument_pos("--bandwidth", args.bandwidth);
    innermost.bandwidth = {quantity("--bandwidth", args.bandwidth, parse_bandwidth, problems), at,
                           true};
    if (innermost.bandwidth.value == BytesPerSec{} && problems.size() == before) {
      problems.push_back({at, "expected a bandwidth above 0, found 0", ""});
    }
  }
  if (!args.latency.empty()) {
    innermost.latency = {quantity("--latency", args.latency, parse_seconds, problems),
                         argument_pos("--latency", args.latency), true};
  }
  if (!run.topology.links.empty()) {
    for (const auto& [option, text] :
         {std::pair{"--bandwidth", &args.bandwidth}, std::pair{"--latency", &args.latency}}) {
      if (text->empty()) continue;
      problems.push_back({argument_pos(option, *text),
                          fmt::format("expected no {} with an explicit graph, found one", option),
                          "every link of the graph states its own"});
    }
  }
  if (!args.chip.empty()) {
    run.chip_spec = load_chip(args.chip, argument_pos("--chip", args.chip), problems);
  }
  StatedNetwork stated;
  stated.priced = innermost.bandwidth.given || run.chip_spec.link_bandwidth.given ||
                  !run.topology.links.empty();
  if (stated.priced && problems.size() == before) {
    stated.link = link_figures(run, problems);
  } else {
    stated.link.ici = run.chip_spec.ici;
  }
  if (readable) stated.topology = std::move(run.topology);
  return stated;
}

}  // namespace shardsim
