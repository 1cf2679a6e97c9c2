#include "plan/preset_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/problem.h"

namespace shardsim {
namespace {

using enum LayoutRole;

constexpr std::array kBatch = {WhereRule{activation, "B", "", true}};

constexpr std::array kBatchAndState = {WhereRule{activation, "B", "", true},
                                       WhereRule{optimizer, "D"}};

constexpr std::array kBatchGradientsAndState = {
    WhereRule{activation, "B", "", true}, WhereRule{gradient, "D"}, WhereRule{optimizer, "D"}};

constexpr std::array kBatchAndWeights = {WhereRule{activation, "B", "", true},
                                         WhereRule{parameter, "D"}, WhereRule{gradient, "D"},
                                         WhereRule{optimizer, "D"}};

constexpr std::array kHeadsAndHidden = {WhereRule{activation, "N", "", true},
                                        WhereRule{activation, "K", "", true, true},
                                        WhereRule{activation, "F"},
                                        WhereRule{activation, "V"},
                                        WhereRule{parameter, "N", "", true},
                                        WhereRule{parameter, "K", "", true, true},
                                        WhereRule{parameter, "F"},
                                        WhereRule{parameter, "V"},
                                        WhereRule{gradient, "N", "", true},
                                        WhereRule{gradient, "K", "", true, true},
                                        WhereRule{gradient, "F"},
                                        WhereRule{gradient, "V"},
                                        WhereRule{optimizer, "N", "", true},
                                        WhereRule{optimizer, "K", "", true, true},
                                        WhereRule{optimizer, "F"},
                                        WhereRule{optimizer, "V"}};

constexpr std::array kContext = {WhereRule{activation, "T"}};

constexpr std::array kSequence = {WhereRule{activation, "T", "D"}};

using Names = std::string_view;
constexpr std::array<Names, 2> kDpAliases = {"ddp", "no_shard"};
constexpr std::array<Names, 1> kZero1Aliases = {"distributed_optimizer"};
constexpr std::array<Names, 2> kFsdpAliases = {"zero3", "full_shard"};
constexpr std::array<Names, 1> kHsdpAliases = {"hybrid_shard"};
constexpr std::array<Names, 3> kTpAliases = {"tensor_parallel", "column-parallel", "row-parallel"};
constexpr std::array<Names, 1> kCpAliases = {"context_parallel"};
constexpr std::array<Names, 1> kSpAliases = {"sequence_parallel"};
constexpr std::array<Names, 1> kContextAxes = {"cp"};
constexpr std::array<Names, 1> kTensorAxes = {"tp"};
constexpr std::array<Names, 1> kSequenceAxes = {"sp"};
constexpr std::array<Names, 3> kReplicated = {"dp", "zero1", "cp"};
constexpr std::array<Names, 3> kScattered = {"fsdp", "shard_grad_op", "zero2"};
constexpr std::array<Names, 2> kHybrid = {"dp", "fsdp"};

constexpr std::array kPresets = {
    PresetRow{.name = "dp",
              .aliases = kDpAliases,
              .help = "data parallel: every device holds all weights",
              .where = kBatch,
              .when = {.gradients = Reduce::each_step}},
    PresetRow{.name = "zero1",
              .aliases = kZero1Aliases,
              .help = "ZeRO stage 1: every device holds all weights and updates a block of them",
              .where = kBatchAndState,
              .when = {.gradients = Reduce::each_step}},
    PresetRow{.name = "zero2",
              .help = "ZeRO stage 2: as zero1, and gradients are held cut",
              .where = kBatchGradientsAndState,
              .when = {.gradients = Reduce::each_microbatch}},
    PresetRow{.name = "fsdp",
              .aliases = kFsdpAliases,
              .help = "fully sharded data parallel, ZeRO stage 3: weights are held cut, too",
              .where = kBatchAndWeights,
              .when = {.parameters = Gather::each_pass, .gradients = Reduce::each_microbatch}},
    PresetRow{.name = "shard_grad_op",
              .help = "fsdp that keeps the gathered weights until the backward pass is done",
              .where = kBatchAndWeights,
              .when = {.parameters = Gather::kept, .gradients = Reduce::each_microbatch}},
    PresetRow{.name = "hsdp",
              .aliases = kHsdpAliases,
              .help = "hybrid sharded data parallel, hsdp: [R, S]: copies over R, each cut over S",
              .parts = kHybrid},
    PresetRow{.name = "tp",
              .aliases = kTpAliases,
              .help =
                  "tensor parallel (Megatron): weights that make heads or F are column-parallel, "
                  "cut on what they make (Wq Wk Wv Wgate Win), those that read them row-parallel, "
                  "cut on what they sum (Wo Wout), so that a pair costs one reduction",
              .where = kHeadsAndHidden},
    PresetRow{.name = "cp",
              .aliases = kCpAliases,
              .help = "context parallel: sequences are cut everywhere, and attention gathers keys "
                      "and values",
              .where = kContext,
              .when = {.activations = Gather::each_pass, .gradients = Reduce::each_step}},
    PresetRow{.name = "zigzag",
              .help = "with cp: of 2n pieces of a sequence device i holds number i and number "
                      "2n-1-i, so that all have as many scores of causal attention",
              .argument = PresetArgument::flag,
              .needs = kContextAxes,
              .order = BlockOrder::zigzag},
    PresetRow{.name = "sp",
              .aliases = kSpAliases,
              .help = "sequence parallel, with tp: cuts what lies between its regions",
              .argument = PresetArgument::flag,
              .needs = kTensorAxes,
              .where = kSequence,
              .when = {.activations = Gather::kept}},
    PresetRow{.name = "regather",
              .help = "with sp: only the cut copy of an activation is kept",
              .argument = PresetArgument::flag,
              .needs = kSequenceAxes,
              .when = {.activations = Gather::each_pass}},
    PresetRow{.name = "sync",
              .help = "with dp, zero1, hsdp or cp: replicas reduce after every micro-batch, too",
              .argument = PresetArgument::flag,
              .needs = kReplicated,
              .when = {.gradients = Reduce::each_microbatch}},
    PresetRow{.name = "no_sync",
              .help = "with fsdp, shard_grad_op, zero2 or hsdp: gradients are accumulated whole",
              .argument = PresetArgument::flag,
              .needs = kScattered,
              .when = {.gradients = Reduce::each_step}},
};

struct RoleName {
  LayoutRole role;
  std::string_view text;
};
constexpr std::array kRoles = {RoleName{activation, "activations"}, RoleName{parameter, "weights"},
                               RoleName{gradient, "gradients"},
                               RoleName{optimizer, "optimizer state"}};

// "N, K, F or V", "T (with D)"; empty when no rule speaks about the role.
std::string dims_text(const PresetRow& row, LayoutRole role) {
  std::vector<std::string> dims;
  for (const WhereRule& rule : row.where) {
    if (rule.role != role) continue;
    dims.push_back(rule.only_with.empty() ? std::string(rule.dim)
                                          : fmt::format("{} (with {})", rule.dim, rule.only_with));
  }
  return joined_or(dims);
}

}  // namespace

std::span<const PresetRow> presets() {
  return kPresets;
}

const PresetRow* find_preset(std::string_view name_or_alias) {
  for (const PresetRow& row : kPresets) {
    if (row.name == name_or_alias) return &row;
    if (std::find(row.aliases.begin(), row.aliases.end(), name_or_alias) != row.aliases.end()) {
      return &row;
    }
  }
  return nullptr;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PresetRow& row : kPresets) {
    names.emplace_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  return names;
}

std::string where_text(const PresetRow& row) {
  if (!row.parts.empty()) return fmt::format("{}, each on its axes", fmt::join(row.parts, " and "));
  struct Group {  // roles that are cut alike
    std::vector<std::string_view> roles;
    std::string dims;
  };
  std::vector<Group> groups;
  for (const RoleName& role : kRoles) {
    const std::string dims = dims_text(row, role.role);
    if (dims.empty()) continue;
    if (groups.empty() || groups.back().dims != dims) groups.push_back({{}, dims});
    groups.back().roles.push_back(role.text);
  }
  std::vector<std::string> texts;
  for (const Group& group : groups) {
    texts.push_back(fmt::format("{} on {}", fmt::join(group.roles, ", "), group.dims));
  }
  if (row.order == BlockOrder::zigzag) texts.emplace_back("blocks of sequences in zigzag order");
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string when_text(const PresetRow& row) {
  constexpr std::string_view kGather[] = {"", "gathered before use and freed after, in both passes",
                                          "gathered before use and kept for the backward pass"};
  constexpr std::string_view kReduce[] = {"", "after every micro-batch", "once per step"};
  std::vector<std::string> parts;
  const auto gathered = [&](std::string_view what, Gather gather) {
    if (gather == Gather::unstated) return;
    parts.push_back(fmt::format("{} are {}", what, kGather[static_cast<std::size_t>(gather)]));
  };
  gathered("weights", row.when.parameters);
  gathered("activations", row.when.activations);
  if (row.when.gradients != Reduce::unstated) {
    parts.push_back(fmt::format("gradients are reduced {}",
                                kReduce[static_cast<std::size_t>(row.when.gradients)]));
  }
  if (dims_text(row, optimizer) != dims_text(row, parameter)) {
    parts.emplace_back("updated weights are gathered once per step");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace shardsim
