#include "plan/boundary.h"

#include <algorithm>
#include <string>

#include "plan/cost.h"
#include "plan/reshard.h"

namespace shardsim {
namespace {

const LayerTensor* first_input(const Layer& layer, std::size_t& at) {
  for (at = 0; at < layer.tensors.size(); ++at)
    if (layer.tensors[at].role == TensorRole::input) return &layer.tensors[at];
  return nullptr;
}

// Mesh axes along which the array is copied.
std::vector<std::string> copied_over(const Sharding& held, const Mesh& mesh) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes)
    if (axis.size > 1 && held.dim_of_axis(axis.name) == nullptr) axes.push_back(axis.name);
  return axes;
}

}  // namespace

Boundary make_boundary(const LayerPlan& layers, const Mesh& mesh, const Precision& precision,
                       const ScheduleSpec& schedule, std::vector<Problem>& problems) {
  Boundary made;
  std::size_t t = 0;
  const LayerTensor* input = first_input(layers.layer, t);
  if (input == nullptr) return made;
  const Sharding& held = layers.sharded.held[t];
  made.bytes = local_bytes(layers.layer, mesh, held, element_bytes(*input, precision));
  if (!schedule.scatter_gather.value) return made;
  const std::vector<std::string> axes = copied_over(held, mesh);
  if (axes.empty()) {
    problems.push_back({schedule.scatter_gather.pos,
                        "schedule.scatter_gather: expected a mesh axis with copies of what stages "
                        "hand over, found none",
                        "it is cut over all axes, so every device sends its own block anyway"});
    return made;
  }
  ShardedCollective gather;
  gather.kind = Collective::all_gather;
  gather.tensor = input->name;
  gather.axes = axes;
  gather.before = gather.after = held;
  gather.bytes = made.bytes;
  gather.case_text = "pieces";
  gather.reason = "every copy was sent a piece of " + input->name + ", which is put together";
  made.gather.push_back(std::move(gather));
  made.bytes = made.bytes / static_cast<double>(mesh.size_of(axes));
  return made;
}

}  // namespace shardsim
