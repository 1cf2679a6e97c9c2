// Layer: the statements of one Transformer layer over named dims. Nothing is cut here.
#pragma once

#include <string>
#include <vector>

#include "base/problem.h"
#include "ir/notation.h"

namespace shardsim {

// input: read but never made here and not a parameter (the residual stream that enters). A
// parameter is any array read but never made whose name starts with "W".
enum class TensorRole : std::uint8_t { parameter, activation, input };

struct LayerTensor {
  std::string name;
  std::vector<std::string> dims;
  TensorRole role = TensorRole::activation;
  double element_bytes = 0;  // of its own; 0: those of its role (element_bytes in plan/cost.h)
};

struct LayerStatement {
  StatementKind kind = StatementKind::einsum;
  int out = 0;  // index into Layer::tensors
  std::vector<int> in;
  std::string function;
  std::string over_dim;
  bool causal = false;
  std::string text;
  SourcePos pos;
  int number = 0;  // of the statement as written, from 1; parts of one share it
};

struct NamedDim {
  std::string name;
  int size = 0;
};

struct Layer {
  std::vector<NamedDim> dims;
  std::vector<LayerTensor> tensors;
  std::vector<LayerStatement> statements;  // each reads only inputs, parameters and earlier outputs

  int dim_size(std::string_view name) const;     // REQUIRES: the dim exists
  int tensor(std::string_view name) const;       // index, -1 when there is none
  std::vector<int> dim_sizes(int tensor) const;  // [dims of the tensor]
  double elements(int tensor) const;             // unpadded
  double parameters() const;                     // elements over all parameters
};

}  // namespace shardsim
