#include "ir/layer.h"

#include "sharding.h"

namespace shardsim {
namespace {

using testing::batch;
using testing::kLlama;
using testing::messages;
using testing::model;

Layer make(const std::vector<std::string>& statements, std::vector<Problem>& problems) {
  return make_layer(model(statements, {{"D", 32}, {"F", 48}, {"N", 8}, {"K", 4}, {"H", 4}}),
                    batch(8, 16), 8, problems);
}

TEST_CASE("names take the dims they are first written with") {
  std::vector<Problem> problems;
  const Layer layer = make(kLlama, problems);
  REQUIRE(problems.empty());
  CHECK(layer.statements.size() == 13);
  struct Row {
    std::string name;
    std::vector<std::string> dims;
    TensorRole role;
  };
  const std::vector<Row> rows = {
      {"In", {"B", "T", "D"}, TensorRole::input},
      {"Wq", {"D", "N", "H"}, TensorRole::parameter},
      {"Wnorm2", {"D"}, TensorRole::parameter},
      {"Y2", {"B", "T", "D"}, TensorRole::activation},
      {"O", {"B", "T", "N", "H"}, TensorRole::activation},
      {"H", {"B", "T", "F"}, TensorRole::activation},
      {"Out", {"B", "T", "D"}, TensorRole::activation},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const int t = layer.tensor(row.name);
    REQUIRE(t >= 0);
    CHECK(layer.tensors[static_cast<std::size_t>(t)].dims == row.dims);
    CHECK(layer.tensors[static_cast<std::size_t>(t)].role == row.role);
  }
  CHECK(layer.tensor("nothing") == -1);
  CHECK(layer.dim_size("B") == 8);
  CHECK(layer.dim_sizes(layer.tensor("Wq")) == std::vector<int>{32, 8, 4});
  // 2*D*N*H + 2*D*K*H + 3*D*F + 2*D
  CHECK(layer.parameters() == doctest::Approx(2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 64));
}

TEST_CASE("what makes no layer") {
  struct Row {
    std::vector<std::string> statements;
    std::vector<std::string> expected;
  };
  const std::vector<Row> rows = {
      {{"A = gelu(C)", "C[B,D] = X[B,D] + Z[B,D]"},
       {"C is read before the statement that makes it"}},
      {{"A = gelu(A[B,D])"}, {"A is made from itself: A needs A"}},
      {{"A[B,D] = gelu(C)", "C = relu(E)", "E = X[B,D] + A"},
       {"A is made from itself: A needs C, C needs E, E needs A"}},
      {{"A = gelu(X[B,D])", "A = relu(X)"}, {"A is made twice"}},
      {{"A = gelu(X)", "C = gelu(A)"}, {"the dims of X are never written: expected X[...] once"}},
      {{"C = A[B,D] * Wx[D,F]"}, {"the dims of C are never written: expected C[...] = ..."}},
      {{"A = gelu(X[B,D])", "C = X[D,B] + A"}, {"X is written [D, B] here and [B, D] before"}},
      {{"A = X[B,D] + Z[B,F]"}, {"Z has dims [B, F], but A has [B, D]"}},
      {{"A = gelu(X[B,Q])"}, {"unknown dim \"Q\": no size is given for it"}},
      {{"A = norm(X[B,D], D, Ws[F])"}, {"Ws has a dim F that X lacks"}},
      {{"A = norm(X[B,D], F)"}, {"X has no dim F"}},
      {{"A = max(X[D], D)"},
       {"expected X with a dim beside D: an array without dims has no layout"}},
      {{"A[B,D] = max(X[B,D], D)"}, {"A has dims [B, D]: expected those of X without D, [B]"}},
      {{"A[B,F] = reshard(X[B,D])"}, {"X has dims [B, D], but A has [B, F]"}},
      {{"A = reshard(X[B,D])"}, {"the dims of A are never written: expected A[...] = ..."}},
      {{"A = cast(X[B,D], fp7)"}, {"expected bf16, fp16, fp32, fp8 or int8, found \"fp7\""}},
      {{"O = attention(Q[B,T,N,H], Kc[B,T,F,H], V[B,T,F,H])"},
       {"8 query heads cannot share 48 key/value heads evenly"}},
      {{"O = attention(Q[N,H], K[B,T,K,H], V[B,T,K,H])"},
       {"attention needs Q as [..., sequence, heads, head size], found [N, H]"}},
      {{"O = attention(Q[B,T,N,H], K[B,T,K,H], V[B,K,T,H])"},
       {"V has dims [B, K, T, H], but K has [B, T, K, H]"}},
      {{"O = attention(Q[B,T,N,H], K[B,T,K,D], V[B,T,K,D])"},
       {"K is [B, T, K, D]: expected the batch dims and the head size of Q [B, T, N, H]"}},
      {{"C[B,F] = A * Wx[D,F]", "A[B,F] = gelu(X[B,F])"},
       {"A is read before the statement that makes it"}},
      {{"C[B,F] = A * Wx[D,D_X]"},
       {"unknown mesh axis \"X\"; there are no mesh axes here", "dim D appears twice in Wx"}},
      {{}, {"model test has no statements"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.expected.front());
    std::vector<Problem> problems;
    make(row.statements, problems);
    CHECK(messages(problems) == row.expected);
  }
}

TEST_CASE("a bare output is checked like a written one") {
  std::vector<Problem> problems;
  make({"C[B,H] = A[B,D] * Wx[D,F]"}, problems);
  CHECK(messages(problems) == std::vector<std::string>{"index H of C is in no operand"});
  problems.clear();
  make({"Z = gelu(C[B,H])", "D = gelu(A[B,D])", "E[B,H] = A * Wx[D,F]"}, problems);
  CHECK(messages(problems) == std::vector<std::string>{"index H of E is in no operand"});
}

TEST_CASE("a dim needs a size") {
  std::vector<Problem> problems;
  make_layer(model({"A = gelu(X[B,T,D])"}, {{"D", 32}}), batch(4, 0), 4, problems);
  CHECK(messages(problems) == std::vector<std::string>{"dim T of X has no size"});
  problems.clear();
  make_layer(model({"A = gelu(X[B,D])"}, {{"D", 32}}), BatchSpec{}, 4, problems);
  CHECK(messages(problems) ==
        std::vector<std::string>{"unknown dim \"B\": no size is given for it"});
}

}  // namespace
}  // namespace shardsim
