// Executes a sharded layer on arrays: every device computes on its blocks, collectives move them.
// Gradients that get several contributions are kept as those contributions until they are read.
// A step is one micro-batch after the other: give() its inputs, run(). Gradients of weights add up
// as they are held meanwhile, partial sums too.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device_arrays.h"
#include "kernels.h"
#include "plan/block_order.h"
#include "plan/reshard.h"
#include "sharding.h"

namespace shardsim::testing {

// One value on all devices, in one layout.
struct Copy {
  Sharding layout;
  std::vector<Block> blocks;  // [devices]
};

// One collective on the blocks of all devices.
using Mover = std::function<std::vector<Block>(const Devices&, const ShardedCollective&,
                                               const std::vector<Block>&)>;

class Execution {
 public:
  Execution(const Sharded& s, const Mesh& mesh, Mover mover = {})
      : s_(s), devices_(mesh, s.layer), mover_(std::move(mover)) {
    const auto rows = std::find_if(s.layer.dims.begin(), s.layer.dims.end(),
                                   [](const NamedDim& dim) { return dim.name == "T"; });
    if (rows == s.layer.dims.end()) return;
    const std::vector<std::string>& axes = s.layouts.zigzag;
    position_ = positions(s.layouts.order_over(axes), rows->size, mesh.size_of(axes));
  }

  // Inputs, weights and the gradient of the output, cut from whole arrays.
  void give(const std::string& name, const Sharding& layout, const Block& global) {
    Copy copy{layout, {}};
    const Block stored = as_stored(global, names(layout));
    for (int d = 0; d < devices_.count(); ++d)
      copy.blocks.push_back(devices_.slice(d, stored, layout));
    store_[name] = {std::move(copy)};
    whole_[name] = global;
  }

  // A whole array with the rows of the sequence in the order in which devices hold them.
  Block as_stored(const Block& global, const std::vector<std::string>& dims) const {
    const auto rows = std::find(dims.begin(), dims.end(), "T");
    if (rows == dims.end()) return global;
    Block stored = global;
    for_each(stored, [&](std::vector<int> i) {
      const std::size_t to = stored.offset(i);
      int& row = i[static_cast<std::size_t>(rows - dims.begin())];
      row = position_[static_cast<std::size_t>(row)];
      stored.data[to] = global.data[global.offset(i)];
    });
    return stored;
  }

  // The collectives of the step's end and the update come with the last micro-batch.
  void run(bool last = true) {
    last_ = last;
    bool backward = false;
    for (const ShardedStatement& st : s_.result.steps) {
      if (st.pass == Pass::backward && !backward) forget();
      backward = st.pass == Pass::backward;
      for (const ShardedCollective& c : st.before) before(c);
      std::vector<std::vector<Block>> operands;
      for (std::size_t i = 0; i < st.operands.size(); ++i) {
        operands.push_back(read(st.operand_names[i], st.operands[i]).blocks);
      }
      Copy out{st.out, {}};
      for (int d = 0; d < devices_.count(); ++d) {
        std::vector<const Block*> blocks;
        for (const auto& operand : operands)
          blocks.push_back(&operand[static_cast<std::size_t>(d)]);
        Block block = devices_.empty(d, st.out);
        compute(st, blocks, block);
        out.blocks.push_back(std::move(block));
      }
      const bool again = backward && s_.layer.tensor(st.out_name) >= 0;
      if (backward && !again) {
        contribute(st.out_name, std::move(out));
      } else {
        store_[st.out_name].push_back(std::move(out));
      }
      for (const ShardedCollective& c : st.after) {
        if (!c.once_per_step) after(c, backward && !again);
      }
      for (const ShardedCollective& c : st.after) {
        if (!c.once_per_step || !last_) continue;
        if (s_.layer.tensor(c.tensor) >= 0) finish_backward(st);
        add_earlier(c.tensor);
        after(c, true);
      }
      settle(st.out_name, backward && !again);
    }
    if (last_) return finish_backward(s_.result.steps.back());
    forget_microbatch();
  }

  // A gradient or an array as it is held, partial sums added up.
  Copy value(const std::string& name, const Sharding& layout) {
    Copy copy = read(name, layout);
    if (copy.layout.unreduced.empty()) return copy;
    ShardedCollective c;
    c.kind = Collective::all_reduce;
    c.axes = copy.layout.unreduced;
    c.before = copy.layout;
    c.after = copy.layout;
    c.after.unreduced.clear();
    return {c.after, devices_.move(c, copy.blocks)};
  }
  // The layout of a complete gradient; that of an activation may be left a partial sum.
  Sharding gradient_layout(const std::string& gradient) const {
    const auto t = static_cast<std::size_t>(s_.layer.tensor(gradient.substr(1)));
    if (s_.layer.tensors[t].role == TensorRole::parameter) return s_.layouts.tensors[t].optimizer;
    Sharding layout = s_.result.held[t];
    layout.unreduced.clear();
    const auto at = store_.find(gradient);
    if (partial_gradient(gradient) && at != store_.end() && !at->second.empty()) {
      layout.unreduced = at->second.front().layout.unreduced;
    }
    return layout;
  }

  // The value in a layout, cut from any copy that allows it; contributions to a gradient are added.
  Copy read(const std::string& name, const Sharding& layout) {
    for (const Copy& copy : gathered_[name]) {
      if (only_slices(copy.layout, layout)) return sliced(copy, layout);
    }
    const bool sums = name.starts_with("d") && store_[name].size() > 1;
    if (sums) return summed(name, layout);
    for (const Copy& copy : store_[name]) {
      if (only_slices(copy.layout, layout)) return sliced(copy, layout);
    }
    throw Unexecutable("no copy of " + name + " can be cut to " + to_text(layout));
  }

 private:
  std::vector<Block> move(const ShardedCollective& c, const std::vector<Block>& blocks) const {
    return mover_ ? mover_(devices_, c, blocks) : devices_.move(c, blocks);
  }

  Copy sliced(const Copy& copy, const Sharding& layout) const {
    Copy result{layout, {}};
    for (int d = 0; d < devices_.count(); ++d) {
      result.blocks.push_back(devices_.slice(d, copy.blocks[static_cast<std::size_t>(d)], layout));
    }
    return result;
  }

  Copy summed(const std::string& name, const Sharding& layout) {
    Copy sum;
    for (const Copy& part : store_[name]) {
      if (!only_slices(part.layout, layout)) {
        throw Unexecutable("a contribution to " + name + " is left as " + to_text(part.layout));
      }
      const Copy cut = sliced(part, layout);
      if (sum.blocks.empty()) {
        sum = cut;
        continue;
      }
      add_to(sum, cut);
    }
    return sum;
  }

  void before(const ShardedCollective& c) {
    const Copy from = read(c.tensor, c.before);
    gathered_[c.tensor].push_back({c.after, move(c, from.blocks)});
  }

  // Turns the copy (or the contribution) that has the layout, or can be cut to it, into the next
  // one. A contribution that can be cut to the layout of the complete gradient stays as it is.
  void after(const ShardedCollective& c, bool replaces) {
    std::vector<Copy>& copies = store_[c.tensor];
    const auto moves = [&](const Copy& copy) {
      const bool gradient = replaces && s_.layer.tensor(c.tensor) < 0;
      if (!gradient || partial_gradient(c.tensor)) return true;
      return !only_slices(copy.layout, gradient_layout(c.tensor));
    };
    const auto exact = [&](const Copy& copy) { return copy.layout == c.before && moves(copy); };
    const auto fits = [&](const Copy& copy) {
      return only_slices(copy.layout, c.before) && moves(copy);
    };
    auto copy = std::find_if(copies.begin(), copies.end(), exact);
    if (copy == copies.end()) copy = std::find_if(copies.begin(), copies.end(), fits);
    if (copy == copies.end()) {
      throw Unexecutable("no copy of " + c.tensor + " has the layout " + to_text(c.before));
    }
    Copy moved{c.after, move(c, sliced(*copy, c.before).blocks)};
    if (replaces) {
      *copy = std::move(moved);
    } else {
      copies.push_back(std::move(moved));
    }
  }

  // What a statement leaves behind is its output as held, and no more of it: a gradient once the
  // last contribution is in.
  void settle(const std::string& name, bool backward) {
    if (!backward) {
      const auto t = static_cast<std::size_t>(s_.layer.tensor(name));
      store_[name] = {read(name, s_.result.held[t])};
      return;
    }
    if (updated_) return;
    const int tensor = s_.layer.tensor(name.substr(1));
    int reads = 0;
    for (const LayerStatement& st : s_.layer.statements) {
      reads += static_cast<int>(std::count(st.in.begin(), st.in.end(), tensor));
    }
    if (++contributions_[name] != reads) return;
    if (!last_ &&
        s_.layer.tensors[static_cast<std::size_t>(tensor)].role == TensorRole::parameter) {
      add_earlier(name);
      earlier_[name] = std::move(store_[name]);
      return;
    }
    add_earlier(name);
    store_[name] = {summed(name, gradient_layout(name))};
  }

  // Adds what earlier micro-batches left of a gradient of weights, contribution by contribution.
  void add_earlier(const std::string& name) {
    const auto at = earlier_.find(name);
    if (at == earlier_.end()) return;
    std::vector<Copy>& parts = store_[name];
    must(parts.size() == at->second.size(), "every micro-batch contributes in the same layouts");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      must(parts[i].layout == at->second[i].layout, "every micro-batch adds to the same blocks");
      add_to(parts[i], at->second[i]);
    }
    earlier_.erase(at);
  }

  static void add_to(Copy& sum, const Copy& more) {
    for (std::size_t d = 0; d < more.blocks.size(); ++d) {
      for (std::size_t i = 0; i < more.blocks[d].data.size(); ++i) {
        sum.blocks[d].data[i] += more.blocks[d].data[i];
      }
    }
  }

  // Everything but the weights, as they are held.
  void forget_microbatch() {
    gathered_.clear();
    contributions_.clear();
    for (const LayerTensor& tensor : s_.layer.tensors) {
      if (tensor.role != TensorRole::parameter) store_.erase(tensor.name);
      store_.erase("d" + tensor.name);
    }
  }

  bool partial_gradient(const std::string& gradient) const {
    const auto t = static_cast<std::size_t>(s_.layer.tensor(gradient.substr(1)));
    return s_.layer.tensors[t].role != TensorRole::parameter &&
           !s_.layouts.tensors[t].gradient.unreduced.empty();
  }

  // Once all gradients are complete: every device updates the blocks of the weights that its
  // optimizer state is for, W -= dW / 2, and holds nothing else of them.
  void finish_backward(const ShardedStatement& last) {
    if (updated_ || last.pass == Pass::forward) return;
    settle(last.out_name, true);
    updated_ = true;
    for (std::size_t t = 0; t < s_.layer.tensors.size(); ++t) {
      if (s_.layer.tensors[t].role != TensorRole::parameter) continue;
      const std::string& name = s_.layer.tensors[t].name;
      Copy block{s_.layouts.tensors[t].optimizer, {}};
      for (int d = 0; d < devices_.count(); ++d) {
        block.blocks.push_back(devices_.slice(d, whole_.at(name), block.layout));
      }
      const Copy gradient = read("d" + name, block.layout);
      for (std::size_t d = 0; d < block.blocks.size(); ++d) {
        for (std::size_t i = 0; i < block.blocks[d].data.size(); ++i) {
          block.blocks[d].data[i] -= gradient.blocks[d].data[i] / 2;
        }
      }
      gathered_[name].clear();
      store_[name] = {std::move(block)};
    }
  }

  void contribute(const std::string& name, Copy out) {
    for (Copy& part : store_[name]) {
      if (part.layout != out.layout) continue;
      return add_to(part, out);
    }
    store_[name].push_back(std::move(out));
  }

  // Frees what the backward pass may not find: everything made, when the forward pass runs again,
  // and copies that are gathered again. (Selective recomputation keeps the output of attention: the
  // product after it reads it.)
  void forget() {
    if (find_recompute(s_.recompute)->collectives) {
      gathered_.clear();
      for (const LayerStatement& st : s_.layer.statements) {
        store_[s_.layer.tensors[static_cast<std::size_t>(st.out)].name].clear();
      }
    }
    for (std::size_t t = 0; t < s_.layer.tensors.size(); ++t) {
      if (!s_.layouts.regathers(s_.layer, static_cast<int>(t))) continue;
      std::vector<Copy>& copies = gathered_[s_.layer.tensors[t].name];
      const Sharding left = s_.layouts.kept_after_forward(s_.layer, static_cast<int>(t));
      std::vector<Copy> kept;
      for (const Copy& copy : copies) {
        if (kept.empty() && left != s_.result.held[t] && only_slices(copy.layout, left))
          kept.push_back(sliced(copy, left));
      }
      copies = std::move(kept);
    }
  }

  const LayerStatement& statement_making(const std::string& name) const {
    for (const LayerStatement& st : s_.layer.statements) {
      if (s_.layer.tensors[static_cast<std::size_t>(st.out)].name == name) return st;
    }
    must(false, "a statement makes it");
    return s_.layer.statements.front();
  }

  void compute(const ShardedStatement& st, const std::vector<const Block*>& in, Block& out) const {
    if (st.kind == StatementKind::einsum) {
      return einsum({names(st.operands[0]), in[0]}, {names(st.operands[1]), in[1]}, names(st.out),
                    out);
    }
    if (st.kind == StatementKind::reshape) {
      return reshape(*in[0], sizes(st.operands[0]), out, sizes(st.out));
    }
    if (s_.layer.tensor(st.out_name) >= 0) return forward(st, in, out);
    backward(st, in, out);
  }

  std::vector<int> sizes(const Sharding& layout) const {  // of the whole array
    std::vector<int> result;
    for (const DimLayout& dim : layout.dims) result.push_back(s_.layer.dim_size(dim.dim));
    return result;
  }

  static std::size_t reduced_dim(const Sharding& rows, const LayerStatement& st) {
    std::size_t d = 0;
    while (rows.dims[d].dim != st.over_dim) ++d;
    return d;
  }
  int row_length(const LayerStatement& st) const { return s_.layer.dim_size(st.over_dim); }

  void forward(const ShardedStatement& st, const std::vector<const Block*>& in, Block& out) const {
    const LayerStatement& made = statement_making(st.out_name);
    const std::string& function = made.function;
    const bool centred = function == "layernorm";
    const auto scale = [&](std::size_t i) { return in.size() > i ? in[i] : nullptr; };
    if (st.kind == StatementKind::reduce) {
      const auto reduction = function == "min" ? Reduction::min : Reduction::max;
      return extremes(*in[0], reduced_dim(st.operands[0], made), reduction, out);
    }
    if (st.kind == StatementKind::cast) {
      out.data = in[0]->data;
      return;
    }
    if (function == "softmax") {
      if (st.kind == StatementKind::norm) return softmax(*in[0], out);
      if (st.kind == StatementKind::sums) return SoftmaxParts(*in[1]).add_up(*in[0], out);
      return SoftmaxParts(*in[2]).forward(*in[0], *in[1], out);
    }
    if (st.kind == StatementKind::norm) return norm(*in[0], scale(1), centred, out);
    if (st.kind == StatementKind::sums) return NormParts::add_up(*in[0], out);
    if (st.kind == StatementKind::normalize) {
      return NormParts(*in[1], row_length(made)).forward(*in[0], scale(2), out);
    }
    if (st.kind == StatementKind::attention) {
      return Attention(*in[0], *in[1], *in[2], made.causal, position_).forward(out);
    }
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      const double x = in[0]->data[i];
      switch (st.kind) {
        case StatementKind::add:
          out.data[i] = x + in[1]->data[i];
          break;
        case StatementKind::gated:
          out.data[i] = apply(function, x) * in[1]->data[i];
          break;
        default:
          out.data[i] = apply(function, x);
          break;
      }
    }
  }

  void backward(const ShardedStatement& st, const std::vector<const Block*>& in, Block& out) const {
    const LayerStatement& made = statement_making(st.operand_names[0].substr(1));
    const auto operand = [&](std::size_t i) {
      return "d" + s_.layer.tensors[static_cast<std::size_t>(made.in[i])].name;
    };
    if (st.kind == StatementKind::reduce) {
      return extremes_gradient(*in[0], *in[1], *in[2], reduced_dim(st.operands[1], made), out);
    }
    if (made.function == "softmax") {
      if (st.kind == StatementKind::norm) return softmax_gradient(*in[0], *in[1], out);
      if (st.kind == StatementKind::sums) {
        return SoftmaxParts(*in[2]).add_up_gradient(*in[0], *in[1], out);
      }
      const SoftmaxParts parts(*in[3]);
      if (st.out_name == operand(0)) return parts.input_gradient(*in[0], *in[1], *in[2], out);
      return parts.sums_gradient(*in[0], *in[1], *in[2], out);
    }
    if (st.kind == StatementKind::norm) {
      const bool centred = made.function == "layernorm";
      const Block* scale = in.size() > 2 ? in[2] : nullptr;
      if (st.out_name == operand(0))
        return norm_input_gradient(*in[0], *in[1], scale, centred, out);
      return norm_scale_gradient(*in[0], *in[1], centred, out);
    }
    if (st.kind == StatementKind::sums) return NormParts::add_up_gradient(*in[0], *in[1], out);
    if (st.kind == StatementKind::normalize) {
      const std::size_t sums = st.out_name == operand(0) ? 1 : 2;
      const NormParts parts(*in[sums], row_length(made));
      const Block* scale = in.size() > sums + 1 ? in[sums + 1] : nullptr;
      if (st.out_name == operand(0)) return parts.input_gradient(*in[0], scale, out);
      if (st.out_name == operand(1)) return parts.sums_gradient(*in[0], *in[1], scale, out);
      return parts.scale_gradient(*in[0], *in[1], out);
    }
    if (st.kind == StatementKind::attention) {
      Block dq = *in[1], dk = *in[2], dv = *in[3];
      for (Block* block : {&dq, &dk, &dv}) std::fill(block->data.begin(), block->data.end(), 0.0);
      Attention(*in[1], *in[2], *in[3], made.causal, position_).backward(*in[0], dq, dk, dv);
      out.data = st.out_name == operand(0)   ? dq.data
                 : st.out_name == operand(1) ? dk.data
                                             : dv.data;
      return;
    }
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      const double dc = in[0]->data[i];
      if (st.kind == StatementKind::add || st.kind == StatementKind::cast) {
        out.data[i] = dc;
      } else if (st.kind == StatementKind::gated && st.out_name == operand(1)) {
        out.data[i] = dc * apply(made.function, in[1]->data[i]);
      } else {
        out.data[i] = dc * derivative(made.function, in[1]->data[i]) *
                      (st.kind == StatementKind::gated ? in[2]->data[i] : 1);
      }
    }
  }

  const Sharded& s_;
  Devices devices_;
  std::vector<int> position_;                          // in the sequence, of the rows of T
  Mover mover_;                                        // empty: collectives as if by magic
  std::map<std::string, std::vector<Copy>> store_;     // as made; of gradients, the contributions
  std::map<std::string, Block> whole_;                 // as given
  std::map<std::string, std::vector<Copy>> earlier_;   // gradients of earlier micro-batches
  bool last_ = true;                                   // of the micro-batches
  bool updated_ = false;                               // the weights
  std::map<std::string, int> contributions_;           // to gradients, so far
  std::map<std::string, std::vector<Copy>> gathered_;  // by collectives before a statement
};

}  // namespace shardsim::testing
