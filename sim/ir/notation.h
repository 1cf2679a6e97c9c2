// The notation of sharded arrays and statements, and its parser.
//
//   A[I_X, J_{XY}]{U_Z}   dim I cut over mesh axis X, J over X then Y (major first), partial sums
//                         over Z; no subscript: whole on every device
//   B_{data,fsdp}         axes with longer names: in braces, separated by commas; B_data when
//   "data"
//                         is the name of one axis
//   A[IX, JY]             compact form, read only where exactly one split into a dim and axes
//   exists
//
// Statements:  C[I,K] = A[I,J] * B[J,K]     einsum: indices of A and B that C lacks are summed
//              H = gelu(G)                  elementwise (gelu, relu, silu, exp)
//              H = silu(G) * U              elementwise, gated
//              X = A + B                    add
//              Y = norm(X, D)  norm(X, D, Wscale)   RMS norm over dim D, with a scale parameter
//              Y = layernorm(X, D, Wscale)          the same after its mean is taken off
//              Y = softmax(X, D)
//              M = max(X, D)   or min               without dim D
//              Y = cast(X, fp8)                     another dtype
//              O = attention(Q, K, V, causal)       or without `causal`
//              Q[B,T,N,H] = reshape(Qf[B,T,M])      M = N * H, major first; and the other way
//              C[I,K] = reshard(P)                  the same array in another layout
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/units.h"
#include "ir/cluster.h"

namespace shardsim {

struct DimLayout {
  std::string dim;
  std::vector<std::string> axes;  // mesh axes, major first; empty: not cut

  bool operator==(const DimLayout&) const = default;
};

// What makes the whole out of its parts. Sums may be kept and written, {U_X}; partial maxima and
// minima, {max_X} in texts, are what a reduction over a cut dim yields, and are combined at once.
enum class Reduction : std::uint8_t { sum, max, min };
std::string_view to_text(Reduction reduction);  // "sum"

// The layout of one array: named dims in order, each with its axes, and the axes it is unreduced
// on.
struct Sharding {
  std::vector<DimLayout> dims;
  std::vector<std::string> unreduced;
  Reduction reduction = Reduction::sum;  // of what lies along `unreduced`

  bool operator==(const Sharding& other) const;
  const DimLayout* find(std::string_view dim) const;  // nullptr when the array lacks it
  const std::string* dim_of_axis(
      std::string_view axis) const;  // the dim cut over `axis`, or nullptr
};

std::string to_text(const Sharding& sharding);  // "[I_X, J_{XY}]{U_Z}"

struct ArrayExpr {
  std::string name;
  Sharding sharding;  // dims empty and bare == true when only the name was written
  bool bare = false;
  SourcePos pos;  // of the name
};

enum class StatementKind : std::uint8_t {
  einsum,
  elementwise,
  gated,
  add,
  norm,
  attention,
  reshape,
  reduce,
  cast,
  // Never written: what a norm over a cut dim comes apart into (plan/norm_parts.h).
  sums,      // of every row: of its squares; for a layernorm of its elements, too
  normalize  // rows by such sums
};

struct Statement {
  StatementKind kind = StatementKind::einsum;
  ArrayExpr out;
  std::vector<ArrayExpr> in;
  std::string function;  // elementwise, gated, norm, reduce, reshape: "gelu", "max", "reshard"
  std::string over_dim;  // norm, reduce
  std::string dtype;     // cast
  SourcePos dtype_pos;
  bool causal = false;  // attention
  SourcePos pos;        // of the whole statement
  std::string text;     // as written, without surrounding blanks
};

// Whether the parts that blocks yield are always combined at once: nothing else could be meant.
bool combines_parts(StatementKind kind);

// What names may appear. Empty dims: any dim name is accepted.
struct NotationContext {
  std::vector<std::string> axes;  // mesh axes
  std::vector<std::string> dims;
};

// Parse; every problem found is appended to `problems` with its position inside `pos` (the position
// of text[0]), and nullopt is returned if there was any. Refused: an axis twice in one array (in
// two dims, in one, or in a dim and in {U}), an unknown axis or dim, a dim twice, an ambiguous
// compact form, unbalanced brackets, trailing text, an unknown function, and for einsums: an output
// index that no operand has.
std::optional<ArrayExpr> parse_array(std::string_view text, const SourcePos& pos,
                                     const NotationContext& context,
                                     std::vector<Problem>& problems);
std::optional<Statement> parse_statement(std::string_view text, const SourcePos& pos,
                                         const NotationContext& context,
                                         std::vector<Problem>& problems);

// Local size of a dim of global size `size` cut into `shards`: ceil(size / shards) (GSPMD,
// DTensor). A dim over several axes is cut axis by axis, so that the block over XY lies in that
// over X: 10 over {X:2, Y:4} is 5 and 5, then 2, 2, 1, 0 of each (DTensor); the local size is the
// same 2.
struct LocalDim {
  int size = 0;     // on every device, padded
  int padding = 0;  // size * shards - global size
};
LocalDim local_dim(int size, int shards);

struct LocalShape {
  std::vector<int> sizes;           // [dims]
  double elements = 1;              // product of the padded sizes
  std::vector<std::string> padded;  // "I: 10 over 4 devices is 3 each, 2 rows of padding"
};
LocalShape local_shape(const Sharding& sharding, const Mesh& mesh,
                       std::span<const int> dim_sizes /* [dims] */);

}  // namespace shardsim
