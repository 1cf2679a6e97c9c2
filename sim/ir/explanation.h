// Explanation: what `shardsim explain` shows. plan/ makes it (explain.h), report/ prints it
// (explain.h); nothing is simulated on the way. Four forms fill different parts of it:
//
//   a run file                          layouts, steps (both passes)
//   C[I_X,K] = A[I_X,J] * B[J,K]        steps (one statement)
//   A[I_X,J]                            array
//   A[I_X,J] -> A[I,J_X]                moves, alternatives
//
// Shapes are local: of the block on one device, padded. Times are closed forms, as if alone.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "ir/notation.h"
#include "ir/part.h"
#include "ir/sharded_layer.h"

namespace shardsim {

struct PricedCollective {
  ShardedCollective what;
  std::vector<int> before, after;  // local shapes
  std::string cut;                 // free, just before it: "B[J, K] -> B[J_X, K]"
  int devices = 1;                 // in one group
  std::optional<Seconds> price;    // none: no bandwidth is known, or `choice` says why
  std::string algorithm;           // row of the algorithm table
  std::string choice;              // which algorithm and why
  std::string formula;             // of the price, in N, V, W1 and a
  std::string convention;          // what W1 is
};

struct ExplainedStep {
  int statement = 1;  // in the order of the layer, from 1
  ShardedStatement what;
  std::vector<std::vector<int>> operands;  // local shapes
  std::vector<int> out;
  std::optional<Seconds> compute;  // none: no chip
  bool memory_bound = false;
  std::vector<std::string> padding;
  std::vector<std::string> cuts;  // of operands, after their collectives: "B[J, K] -> B[J_X, K]"
  std::vector<std::string> cuts_after;  // of the output, last of all
  std::vector<PricedCollective> before, after;
};

// One row of the table that presets and stated layouts expand to.
struct LayoutRow {
  std::string tensor;
  std::string role;            // "parameter", "activation", "input"
  Sharding stored;             // between steps, or between statements
  std::vector<Sharding> used;  // as statements of the forward pass read it, distinct
  Sharding gradient;           // complete; of a parameter, as it is accumulated over micro-batches
  std::optional<Sharding> optimizer;  // of a parameter: its state and its update
  Bytes bytes;                        // of `stored` on one device
};

struct DimCut {
  std::string dim;
  std::vector<std::string> axes;  // major first
  int size = 0, shards = 1, local = 0, padding = 0;
};

struct DeviceBlock {
  int device = 0;
  std::vector<int> at;        // [mesh axes]
  std::vector<int> block;     // [dims], index of the block along each
  std::vector<DimPart> part;  // [dims], the rows of each in the block
  int id = 0;                 // the blocks numbered row-major, first dim major
};

struct ExplainedArray {
  std::string text;  // "A[I_X, J]"
  std::string dtype;
  Sharding layout;
  std::vector<DimCut> dims;
  Bytes whole, per_device, over_mesh;
  int devices = 1, blocks = 1, copies = 1;  // copies of every block
  std::vector<std::string> copy_axes;       // over which the copies lie
  std::vector<std::string> mesh_axes;       // names of DeviceBlock::at
  std::string order;                        // how devices are numbered
  std::vector<DeviceBlock> rows;            // the first of the devices
};

// One step of a reshard; without a collective, a device keeps a part of its block.
struct Move {
  Sharding before, after;
  std::vector<int> before_shape, after_shape;
  Bytes before_bytes, after_bytes;  // on one device
  std::optional<PricedCollective> collective;
};

struct Explanation {
  std::string form;  // "file", "statement", "array", "reshard"
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // label and text
  std::vector<LayoutRow> layouts;
  std::vector<ExplainedStep> steps;
  std::optional<ExplainedArray> array;
  std::vector<Move> moves;
  std::vector<std::string> alternatives;
  std::vector<std::string> notes;
};

}  // namespace shardsim
