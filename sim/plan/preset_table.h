// The table of presets: a parallelism is data in three columns. *Where*: which dims of which arrays
// its mesh axes cut. *When*: how long gathered copies live and when gradients are reduced. *Who*:
// which device runs which layer; every row of this table says "every device, every layer".
//
//   fsdp   where: activations on B; weights, gradients, optimizer state on D
//          when:  weights gathered for each pass; gradients reduced after every micro-batch
//
// Rows that take true or false change a column of other rows: sp cuts more over the axes of tp,
// sync, no_sync and regather change when, zigzag the order of the blocks. Nothing else in the
// program knows a row's name.
//
// Sources: ZeRO stages 1 to 3, Rajbhandari et al. 2020 (arXiv 1910.02054, section 5); full_shard,
// shard_grad_op, hybrid_shard, no_shard and no_sync, PyTorch FullyShardedDataParallel documentation
// (ShardingStrategy) and Zhao et al. 2023 (arXiv 2304.11277); sync, DistributedDataParallel outside
// its no_sync; tp, Shoeybi et al. 2019 (arXiv
// 1909.08053, section 3); sp and regather, Korthikanti et al. 2022 (arXiv 2205.05198, section 4.2);
// cp, Liu et al. 2023 (arXiv 2310.01889), Megatron-LM and Dubey et al. 2024 (arXiv 2407.21783,
// section 3.3.2).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/block_order.h"

namespace shardsim {

enum class LayoutRole : std::uint8_t { activation, parameter, gradient, optimizer };

// Cuts `dim` of every array of this role over the preset's axes, minor-most.
struct WhereRule {
  LayoutRole role = LayoutRole::activation;
  std::string_view dim;
  std::string_view only_with = {};  // another dim the array must have; empty: any array
  bool divides = false;     // the dim must divide evenly (sequences, heads); else it is padded
  bool replicates = false;  // a dim smaller than the axes is cut over the first, whole on the rest
};

// How arrays that the axes cut become whole where an operand must be.
enum class Gather : std::uint8_t {
  unstated,   // prices decide which operand moves
  each_pass,  // this one is gathered, and freed after each pass
  kept        // this one is gathered, and kept for the backward pass
};

enum class Reduce : std::uint8_t { unstated, each_microbatch, each_step };

struct WhenRule {
  Gather parameters = Gather::unstated;
  Gather activations = Gather::unstated;
  Reduce gradients = Reduce::unstated;  // unstated: once per step
};

enum class PresetArgument : std::uint8_t { axes, flag };

struct PresetRow {
  std::string_view name;
  std::span<const std::string_view> aliases = {};
  std::string_view help;
  PresetArgument argument = PresetArgument::axes;
  std::span<const std::string_view> needs = {};  // a flag takes the axes of these rows
  std::span<const WhereRule> where = {};
  WhenRule when = {};
  BlockOrder order = BlockOrder::in_order;  // of the rows of a sequence
  std::span<const std::string_view> parts =
      {};  // rows that share the axes: one each, the last the rest
};

std::span<const PresetRow> presets();
const PresetRow* find_preset(std::string_view name_or_alias);  // nullptr when there is none
std::vector<std::string> preset_names();                       // aliases, too

// The columns in words.
std::string where_text(const PresetRow& row);
std::string when_text(const PresetRow& row);

}  // namespace shardsim
