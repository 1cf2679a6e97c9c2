#include "plan/sub_axes.h"

#include "../support/networks.h"
#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::cluster;
using testing::mesh;
using testing::messages;
using testing::model;
using testing::preset;

Layer layer_with(int query_heads, int heads) {
  std::vector<Problem> problems;
  Layer layer = make_layer(
      model(testing::kLlama, {{"D", 32}, {"F", 48}, {"N", query_heads}, {"K", heads}, {"H", 4}}),
      batch(8, 16), 8, problems);
  REQUIRE(messages(problems).empty());
  return layer;
}

// "X=8(0) Y=2(1)": name, size and hardware axes.
std::string text(const Mesh& m) {
  std::string result;
  for (const MeshAxis& axis : m.axes) {
    result += (result.empty() ? "" : " ") + axis.name + "=" + std::to_string(axis.size) + "(";
    for (const int a : axis.axes) result += std::to_string(a);
    result += ")";
  }
  return result;
}

TEST_CASE("mesh axes come apart where the hardware does") {
  struct Row {
    std::string network;
    Mesh mesh;
    std::vector<PresetSpec> presets;
    int heads;
    std::string expected;
    std::vector<int> hardware;
  };
  const Mesh both = {{{"Y", 16, {0, 1}}}, {}};
  const std::vector<Row> rows = {
      {"switch:16", mesh({{"Y", 16}}), {preset("tp", {"Y"})}, 8, "Y1=8(0) Y2=2(1)", {8, 2}},
      {"switch:16", mesh({{"Y", 16}}), {preset("tp", {"Y"})}, 16, "Y=16(0)", {16}},
      {"switch:16", mesh({{"Y", 16}}), {preset("tp", {"Y"})}, 32, "Y=16(0)", {16}},
      {"switch:16", mesh({{"Y", 16}}), {preset("dp", {"Y"})}, 8, "Y=16(0)", {16}},
      {"torus:8x2", both, {preset("tp", {"Y"})}, 8, "Y1=8(0) Y2=2(1)", {8, 2}},
      {"torus:4x4", both, {preset("tp", {"Y"})}, 8, "Y1=8(01) Y2=2(2)", {4, 2, 2}},
      {"torus:4x4", both, {preset("tp", {"Y"})}, 4, "Y1=4(0) Y2=4(1)", {4, 4}},
      {"ring:16", mesh({{"Y", 16}}), {preset("tp", {"Y"})}, 8, "Y1=8(0) Y2=2(1)", {8, 2}},
      {"ring-oneway:16", mesh({{"Y", 16}}), {preset("tp", {"Y"})}, 8, "Y=16(0)", {16}},
      {"torus:4x4",
       mesh({{"Y", 4}, {"Z", 4}}),
       {preset("tp", {"Y", "Z"})},
       4,
       "Y=4(0) Z=4(1)",
       {4, 4}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.network);
    CAPTURE(row.heads);
    Mesh m = row.mesh;
    Cluster c = cluster(row.network);
    const int devices = c.devices();
    take_apart(row.presets, layer_with(32, row.heads), m, c);
    CHECK(text(m) == row.expected);
    std::vector<int> sizes;
    for (const Axis& axis : c.axes) sizes.push_back(axis.size);
    CHECK(sizes == row.hardware);
    CHECK(c.devices() == devices);
  }
}

TEST_CASE("axes beside the one that comes apart keep their hardware; names stand for their parts") {
  Mesh m;
  m.axes = {{"X", 2, {1}}, {"Y", 16, {0}}, {"Y1", 2, {2}}};
  Cluster c = cluster("switch:16x2x2");
  take_apart(std::vector<PresetSpec>{preset("tp", {"Y"}), preset("dp", {"X"})}, layer_with(32, 4),
             m, c);
  CHECK(text(m) == "X=2(2) Y1_=4(0) Y2=4(1) Y1=2(3)");
  CHECK(m.resolve("Y") == std::vector<std::string>{"Y1_", "Y2"});
  CHECK(m.resolve("X") == std::vector<std::string>{"X"});
  CHECK(m.resolve("Z").empty());
  // A layout may still be written with the axis of the run file.
  std::vector<Problem> problems;
  const Layer layer = layer_with(32, 4);
  const std::string table = "Wout[F_Y, D_X]";
  const std::vector<Chosen<std::string>> tables = {{table, argument_pos("tensors", table), true}};
  const Layouts layouts =
      make_layouts(std::vector<PresetSpec>{preset("tp", {"Y"})}, tables, layer, m, problems);
  REQUIRE(messages(problems).empty());
  CHECK(to_text(layouts.tensors[static_cast<std::size_t>(layer.tensor("Wout"))].held) ==
        "[F_{Y1_,Y2}, D_X]");
}

}  // namespace
}  // namespace shardsim
