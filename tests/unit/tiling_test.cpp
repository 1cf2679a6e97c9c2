// Shards tile every tensor: the blocks of all devices cover each element of it equally often,
// devices / shards times, for every product of presets on every model and for every run file.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "device_arrays.h"
#include "plan/prepare.h"
#include "sharding.h"
#include "spec/load.h"

namespace shardsim {
namespace {

using testing::Block;
using testing::Devices;

// The elements of the array between the block boundaries of all devices: every element of a cell
// lies in the same blocks. Returns what is wrong, or "".
std::string tiles(const Devices& devices, const Layer& layer, const Sharding& layout) {
  std::vector<Block> blocks;
  std::vector<int> sizes;
  Block cells;  // counted, not measured
  std::vector<std::vector<int>> bounds;
  int shards = 1;
  for (const DimLayout& dim : layout.dims) {
    sizes.push_back(layer.dim_size(dim.dim));
    shards *= devices.mesh().size_of(dim.axes);
  }
  const LocalShape local = local_shape(layout, devices.mesh(), sizes);
  for (int d = 0; d < devices.count(); ++d) {
    blocks.push_back(devices.region(d, layout));
    if (blocks.back().padded != local.sizes) return "a block has not its local shape";
  }
  for (std::size_t d = 0; d < layout.dims.size(); ++d) {
    std::set<int> at = {0, sizes[d]};
    for (const Block& block : blocks) at.insert({block.start[d], block.start[d] + block.size[d]});
    bounds.emplace_back(at.begin(), at.end());
    cells.start.push_back(0);
    cells.size.push_back(static_cast<int>(at.size()) - 1);
  }
  std::string wrong;
  for_each(cells, [&](const std::vector<int>& cell) {
    std::vector<int> element;
    for (std::size_t d = 0; d < cell.size(); ++d) {
      element.push_back(bounds[d][static_cast<std::size_t>(cell[d])]);
    }
    const auto copies = std::count_if(blocks.begin(), blocks.end(),
                                      [&](const Block& block) { return block.contains(element); });
    if (copies * shards == devices.count()) return;
    wrong = "an element lies on " + std::to_string(copies) + " of " +
            std::to_string(devices.count()) + " devices in " + std::to_string(shards) + " shards";
  });
  return wrong;
}

const std::vector<Mesh>& meshes() {
  static const std::vector<Mesh> kMeshes = {
      testing::mesh({{"X", 2}}),           testing::mesh({{"X", 3}}),
      testing::mesh({{"X", 8}}),           testing::mesh({{"X", 4}, {"Y", 2}}),
      testing::mesh({{"X", 3}, {"Y", 2}}), testing::mesh({{"X", 2}, {"Y", 2}, {"Z", 2}})};
  return kMeshes;
}

TEST_CASE("shards tile every tensor, for every product of presets on every model") {
  int tensors = 0;
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    for (const Mesh& mesh : meshes()) {
      CAPTURE(mesh.names());
      for (const testing::Product& product : testing::products(mesh, 1)) {
        CAPTURE(testing::lines(product));
        const testing::Case c{load_model(name), testing::batch(24, 50), mesh, product, {}, {}};
        const testing::Sharded s = testing::shard_case(c, false);
        if (!s.problems.empty()) continue;  // heads that cannot be cut
        const Devices devices(mesh, s.layer);
        for (std::size_t t = 0; t < s.layer.tensors.size(); ++t) {
          CAPTURE(s.layer.tensors[t].name);
          ++tensors;
          const TensorLayout& layout = s.layouts.tensors[t];
          CHECK(tiles(devices, s.layer, s.result.held[t]) == "");
          CHECK(tiles(devices, s.layer, layout.gradient) == "");
          CHECK(tiles(devices, s.layer, layout.optimizer) == "");
        }
      }
    }
  }
  CHECK(tensors > 5000);
}

TEST_CASE("shards tile every tensor of every run file") {
  for (const std::string& name : run_names()) {
    CAPTURE(name);
    const std::string path = std::string(SHARDSIM_SOURCE_DIR) + "/configs/runs/" + name + ".yaml";
    const Prepared run = prepare(load_run(path));
    const Devices devices(run.mesh, run.layer);
    for (const Sharding& held : run.sharded.held) {
      CAPTURE(to_text(held));
      CHECK(tiles(devices, run.layer, held) == "");
    }
  }
}

TEST_CASE("a layout that uses an axis twice does not tile") {
  const Mesh mesh = testing::mesh({{"X", 2}});
  const Layer layer{{{"I", 8}, {"J", 8}}, {}, {}};
  const Devices devices(mesh, layer);
  CHECK(tiles(devices, layer, {{{"I", {"X"}}, {"J", {}}}, {}}) == "");
  CHECK(tiles(devices, layer, {{{"I", {"X"}}, {"J", {"X"}}}, {}}) ==
        "an element lies on 1 of 2 devices in 4 shards");
}

}  // namespace
}  // namespace shardsim
