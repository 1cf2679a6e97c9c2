#include "plan/layer_memory.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/must.h"
#include "plan/cost.h"
#include "plan/lifetimes.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

// What a name of a step is: a tensor of the layer, or its gradient.
struct Named {
  std::size_t tensor = 0;
  bool gradient = false;
};

Named named(const Layer& layer, std::string_view name) {
  const int t = layer.tensor(name);
  if (t >= 0) return {static_cast<std::size_t>(t), false};
  const int of = name.starts_with('d') ? layer.tensor(name.substr(1)) : -1;
  must(of >= 0, "steps speak of tensors and their gradients");
  return {static_cast<std::size_t>(of), true};
}

bool is_output(const Layer& layer, std::size_t t) {
  const auto made = [&](const LayerStatement& st) { return st.out == static_cast<int>(t); };
  const auto reads = [&](const LayerStatement& st) {
    return std::find(st.in.begin(), st.in.end(), static_cast<int>(t)) != st.in.end();
  };
  return std::any_of(layer.statements.begin(), layer.statements.end(), made) &&
         std::none_of(layer.statements.begin(), layer.statements.end(), reads);
}

// The input that the layer before makes: the first that is like an output; that of the head; -1:
// none.
int handed_on(const LayerPlan& plan) {
  const Layer& layer = plan.layer;
  for (std::size_t in = 0; in < layer.tensors.size(); ++in) {
    if (layer.tensors[in].role != TensorRole::input || plan.kind == "embedding") continue;
    if (plan.kind == "head") return static_cast<int>(in);
    for (std::size_t out = 0; out < layer.tensors.size(); ++out) {
      if (is_output(layer, out) && layer.tensors[in].dims == layer.tensors[out].dims &&
          plan.sharded.held[in] == plan.sharded.held[out])
        return static_cast<int>(in);
    }
  }
  return -1;
}

// One walk along the tasks of both passes, in the order in which they run.
class Walk {
 public:
  Walk(const LayerTasks& tasks, const MemoryAsk& ask, bool split)
      : ask_(ask), plan_(*tasks.plan), layer_(plan_.layer), handed_on_(handed_on(plan_)) {
    for (const Task& task : tasks.forward) order_.push_back(&task);
    const auto backward = static_cast<int>(order_.size());
    for (const bool of_weights : {false, true}) {
      for (std::size_t i = 0; i < tasks.backward.size(); ++i) {
        if (split ? tasks.of_weights[i] == of_weights : !of_weights)
          order_.push_back(&tasks.backward[i]);
      }
    }
    enter();
    for (int at = 0; at < static_cast<int>(order_.size()); ++at) {
      if (at == backward) turn(at);
      walk(at);
    }
    if (backward == static_cast<int>(order_.size())) turn(backward);
    leave(backward);
  }

  TaskChanges changes() const {
    TaskChanges changes(order_.size());
    const auto number = [&](int at) {
      return static_cast<std::size_t>(order_[static_cast<std::size_t>(at)]->number);
    };
    for (const Lifetime& l : arrays_.buffers()) {
      if (l.from >= 0) changes[number(l.from)].push_back({false, l.kind, l.bytes});
      if (l.to >= 0) changes[number(l.to)].push_back({true, l.kind, Bytes{} - l.bytes});
    }
    return changes;
  }

  Bytes input() const {
    if (handed_on_ < 0) return {};
    const auto in = static_cast<std::size_t>(handed_on_);
    return bytes_of(layer_.tensors[in].name, plan_.sharded.held[in]);
  }

  // Gradients of weights as they wait for the last micro-batch.
  Bytes gradients() const {
    Bytes sum;
    for (const LayerTensor& t : layer_.tensors) {
      if (t.role != TensorRole::parameter) continue;
      const std::string name = "d" + t.name;
      const auto waits = waiting_.find(name);
      const int made = arrays_.latest(name);
      if (waits != waiting_.end()) {
        sum += bytes_of(name, *waits->second);
      } else if (made >= 0) {
        sum += arrays_.at(made).bytes;
      }
    }
    return sum;
  }

 private:
  Bytes bytes_of(std::string_view name, const Sharding& layout) const {
    const Named is = named(layer_, name);
    const LayerTensor& tensor = layer_.tensors[is.tensor];
    if (plan_.kind == "embedding" && tensor.role == TensorRole::input) return {};  // numbers
    return local_bytes(layer_, ask_.mesh, layout,
                       is.gradient ? gradient_element_bytes(tensor, ask_.precision)
                                   : element_bytes(tensor, ask_.precision));
  }

  MemoryKind kind_of(std::string_view name) const {
    const LayerTensor& tensor = layer_.tensors[named(layer_, name).tensor];
    if (tensor.role == TensorRole::parameter) return MemoryKind::gathered;
    const bool words = std::find(tensor.dims.begin(), tensor.dims.end(), "V") != tensor.dims.end();
    return words && plan_.kind == "head" ? MemoryKind::logits : MemoryKind::activations;
  }

  // Axes of one device cut nothing: no collective brings an array from one such layout to another.
  Sharding plain(Sharding layout) const {
    const auto cuts_nothing = [&](const std::string& axis) {
      return ask_.mesh.size_of({&axis, 1}) == 1;
    };
    for (DimLayout& dim : layout.dims) std::erase_if(dim.axes, cuts_nothing);
    std::erase_if(layout.unreduced, cuts_nothing);
    return layout;
  }

  LivingArray array(std::string name, const Sharding& layout, int at) const {
    LivingArray made;
    made.layout = plain(layout);
    made.kind = kind_of(name);
    made.bytes = bytes_of(name, layout);
    made.made = at;
    made.name = std::move(name);
    return made;
  }

  // Inputs are there before the layer begins; the one that is handed on is not its own. Weights are
  // there throughout, and counted apart.
  void enter() {
    for (std::size_t t = 0; t < layer_.tensors.size(); ++t) {
      const TensorRole role = layer_.tensors[t].role;
      if (role == TensorRole::activation) continue;
      LivingArray in = array(layer_.tensors[t].name, plan_.sharded.held[t], 0);
      in.was_there = static_cast<int>(t) == handed_on_;
      if (role == TensorRole::parameter) in.bytes = {};
      arrays_.make(std::move(in));
    }
  }

  // From the forward to the backward pass: outputs leave, and come back as gradients.
  void turn(int at) {
    for (std::size_t t = 0; t < layer_.tensors.size(); ++t) {
      if (!is_output(layer_, t)) continue;
      const std::string& name = layer_.tensors[t].name;
      arrays_[arrays_.latest(name)].leaves_at = at - 1;
      LivingArray back = array("d" + name, plan_.sharded.held[t], at);
      back.was_there = true;
      arrays_.make(std::move(back));
    }
  }

  void leave(int backward) {
    if (handed_on_ < 0) return;
    const auto in = static_cast<std::size_t>(handed_on_);
    const std::string name = "d" + layer_.tensors[in].name;
    const int made = arrays_.latest(name);
    must(made >= 0, "what is handed on has a gradient");
    // In the layout that the layer before expects.
    const int given = settle(name, plan_.sharded.held[in], std::max(arrays_[made].made, backward));
    arrays_[given].leaves_at = static_cast<int>(order_.size()) - 1;
  }

  // The latest array of a name as `layout`: a copy of its own where that is less.
  int settle(const std::string& name, const Sharding& layout, int at) {
    const int made = arrays_.latest(name);
    if (arrays_[made].bytes == bytes_of(name, layout)) return made;
    LivingArray copy = array(name, layout, at);
    copy.comes_from = made;
    arrays_.read(made, at);
    return arrays_.make(std::move(copy));
  }

  int read(std::string_view name, const Sharding& layout, int at) {
    const int array = arrays_.find(name, plain(layout));
    must(array >= 0, "what is read has been made");
    arrays_.read(array, at);
    return array;
  }

  void walk(int at) {
    const Task& task = *order_[static_cast<std::size_t>(at)];
    if (task.collective != nullptr) {
      move(*task.collective, at);
    } else {
      compute(*task.step, at);
    }
    const bool last = at + 1 == static_cast<int>(order_.size()) ||
                      order_[static_cast<std::size_t>(at) + 1]->step != task.step;
    const int t = layer_.tensor(task.step->out_name);
    if (last && t >= 0) {
      const Sharding held = plain(plan_.sharded.held[static_cast<std::size_t>(t)]);
      if (only_slices(arrays_[arrays_.latest(task.step->out_name)].layout, held))
        settle(task.step->out_name, held, at);
    }
  }

  void move(const ShardedCollective& c, int at) {
    if (c.once_per_step) {  // works on what is held
      if (named(layer_, c.tensor).gradient) waiting_.try_emplace(c.tensor, &c.before);
      return;
    }
    LivingArray made = array(c.tensor, c.after, at);
    made.comes_from = read(c.tensor, c.before, at);
    if (c.kind == Collective::all_reduce) made.sharing = Sharing::in_place;
    arrays_.make(std::move(made));
  }

  void compute(const ShardedStatement& step, int at) {
    std::vector<int> operands;
    for (std::size_t i = 0; i < step.operands.size(); ++i)
      operands.push_back(read(step.operand_names[i], step.operands[i], at));
    const Named out = named(layer_, step.out_name);
    if (out.gradient) keep_for_backward(step, at);
    LivingArray made = array(step.out_name, step.out, at);
    const bool passes_on =
        step.kind == StatementKind::reshape || (out.gradient && step.kind == StatementKind::add);
    const int before = out.gradient ? arrays_.find(step.out_name, plain(step.out)) : -1;
    if (before >= 0 && arrays_[before].bytes == made.bytes) {
      arrays_.read(before, at);
      made.comes_from = before;
      made.sharing = Sharing::in_place;
    } else if (passes_on) {
      made.comes_from = operands.front();
      made.sharing = Sharing::same;
    }
    arrays_.make(std::move(made));
    if (!out.gradient) keep_of_forward(step, at);
  }

  bool keeps_scores() const { return ask_.attention.forward.products > 0; }

  // Elements of the scores of attention on one device: those of Q, with a position of K in place of
  // a place in the head.
  double scores(const ShardedStatement& step, std::size_t q) const {
    const auto size = [&](const DimLayout& dim) {
      return local_dim(layer_.dim_size(dim.dim), ask_.mesh.size_of(dim.axes)).size;
    };
    const std::vector<DimLayout>& k = step.operands[q + 1].dims;
    return rows(step, q) * size(k[k.size() - 3]);
  }
  double rows(const ShardedStatement& step, std::size_t q) const {
    const Sharding& layout = step.operands[q];
    return local_elements(layer_, ask_.mesh, layout) /
           local_dim(layer_.dim_size(layout.dims.back().dim),
                     ask_.mesh.size_of(layout.dims.back().axes))
               .size;
  }

  void extra(const std::string& name, Bytes bytes, int at) {
    LivingArray made;
    made.name = name;
    made.bytes = bytes;
    made.made = at;
    arrays_.make(std::move(made));
  }

  // What a forward statement leaves for its adjoint beside its output.
  void keep_of_forward(const ShardedStatement& step, int at) {
    const double element = ask_.precision.activations;
    if (step.kind == StatementKind::attention) {
      if (!keeps_scores()) return extra("rows of " + step.out_name, Bytes{4 * rows(step, 0)}, at);
      const double all = scores(step, 0);
      extra("scores before the softmax", Bytes{all * element}, at);
      extra("scores of " + step.out_name, Bytes{all * (2 * element + 1)}, at);
    }
    if (step.kind != StatementKind::add || !ask_.dropout) return;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      if (!is_dropped(step.operand_names[i])) continue;
      extra("mask of " + step.operand_names[i],
            Bytes{local_elements(layer_, ask_.mesh, step.operands[i])}, at);
    }
  }

  // A product with weights that is added to something: dropped before (Vaswani et al. 2017, section
  // 5.4).
  bool is_dropped(std::string_view name) const {
    for (const LayerStatement& st : layer_.statements) {
      if (layer_.tensors[static_cast<std::size_t>(st.out)].name != name) continue;
      return st.kind == StatementKind::einsum &&
             std::any_of(st.in.begin(), st.in.end(), [&](int t) {
               return layer_.tensors[static_cast<std::size_t>(t)].role == TensorRole::parameter;
             });
    }
    return false;
  }

  void keep_for_backward(const ShardedStatement& step, int at) {
    const auto also = [&](const std::string& name) {
      const int array = arrays_.latest(name);
      if (array >= 0) arrays_.read(array, at);
    };
    const auto& st = layer_.statements[static_cast<std::size_t>(step.statement)];
    const std::string& out = layer_.tensors[static_cast<std::size_t>(st.out)].name;
    if (step.kind == StatementKind::attention) {
      also("rows of " + out);
      also("scores of " + out);
      if (!keeps_scores()) also(out);
      if (keeps_scores()) {
        extra("gradients of scores", Bytes{scores(step, 1) * ask_.precision.activations}, at);
      }
    }
    if (step.kind == StatementKind::add) also("mask of " + step.out_name.substr(1));
  }

  const MemoryAsk& ask_;
  const LayerPlan& plan_;
  const Layer& layer_;
  int handed_on_;
  std::vector<const Task*> order_;
  Lifetimes arrays_;
  std::map<std::string, const Sharding*> waiting_;  // "dWq": as it waits for the last micro-batch
};

}  // namespace

LayerMemory layer_memory(const LayerTasks& tasks, const MemoryAsk& ask, SplitMemory split) {
  const Walk whole(tasks, ask, false);
  LayerMemory memory;
  memory.whole = whole.changes();
  if (split == SplitMemory::compute) memory.split = Walk(tasks, ask, true).changes();
  memory.input = whole.input();
  memory.gradients = whole.gradients();
  const LayerPlan& plan = *tasks.plan;
  for (std::size_t t = 0; t < plan.layer.tensors.size(); ++t) {
    if (plan.layer.tensors[t].role != TensorRole::parameter) continue;
    const TensorLayout& layout = plan.layouts.tensors[t];
    memory.weights += local_bytes(plan.layer, ask.mesh, layout.held, ask.precision.weights);
    memory.optimizer += local_bytes(plan.layer, ask.mesh, layout.optimizer, ask.optimizer.state);
  }
  return memory;
}

}  // namespace shardsim
