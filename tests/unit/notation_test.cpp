#include "ir/notation.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace shardsim {
namespace {

const NotationContext kPlain{{"X", "Y", "Z", "data", "fsdp"}, {"I", "J", "K", "B", "D"}};

struct Written {
  std::string text;
  std::string printed;  // to_text of the sharding
};

TEST_CASE("arrays are read and printed in one form") {
  const std::vector<Written> rows = {
      {"A[I,J]", "[I, J]"},
      {"A[I_X, J_{XY}]{U_Z}", ""},  // X twice
      {"A[I_X, J_{YZ}]", "[I_X, J_{YZ}]"},
      {"A[I_X,J_YZ]", "[I_X, J_{YZ}]"},
      {"A[I_ZY, J]", "[I_{ZY}, J]"},
      {"  A [ I_X , J ] { U_Z } ", "[I_X, J]{U_Z}"},
      {"A[I]{U_XY}", "[I]{U_{XY}}"},
      {"A[I]{U_YX}", "[I]{U_{XY}}"},  // a sum has no order
      {"A[B_{data,fsdp}, D]", "[B_{data,fsdp}, D]"},
      {"A[B_data, D_X]", "[B_data, D_X]"},
      {"A[B_{ data , X }]", "[B_{data,X}]"},
      {"A[IX, JY]", "[I_X, J_Y]"},
      {"A[IXY, J]", "[I_{XY}, J]"},
      {"A[Bdatafsdp]", "[B_{data,fsdp}]"},
      {"A", "[]"},
      {"W_in[I]", "[I]"},
  };
  for (const Written& row : rows) {
    CAPTURE(row.text);
    std::vector<Problem> problems;
    const auto expr = parse_array(row.text, argument_pos("a", row.text), kPlain, problems);
    CHECK(expr.has_value() == !row.printed.empty());
    CHECK(problems.empty() == !row.printed.empty());
    if (!expr) continue;
    CHECK(to_text(expr->sharding) == row.printed);
    if (expr->bare) continue;
    std::vector<Problem> again;
    const std::string text = expr->name + to_text(expr->sharding);
    const auto reread = parse_array(text, argument_pos("a", text), kPlain, again);
    REQUIRE(reread.has_value());
    CHECK(reread->sharding == expr->sharding);
  }
}

struct Refused {
  std::string text;
  int column;
  int length;
  std::string message;
  std::string hint;
};

TEST_CASE("what is wrong with an array is said where it is") {
  const std::string once = "a mesh axis can be used once in one array";
  const std::vector<Refused> rows = {
      {"A[I_X, J_X]", 10, 1, "mesh axis X cuts both I and J of A", once},
      {"A[I_{XX}]", 7, 1, "mesh axis X is listed twice in dim I of A", once},
      {"A[I_X]{U_X}", 10, 1, "mesh axis X cuts dim I of A and is unreduced in it, too", once},
      {"A[I]{U_YY}", 9, 1, "mesh axis Y is listed twice in {U} of A", once},
      {"A[I_W]", 5, 1, "unknown mesh axis \"W\"", "expected one of X, Y, Z, data, fsdp"},
      {"A[B_dtaa]", 5, 4, "unknown mesh axis \"dtaa\"", ""},
      {"A[Q_X]", 3, 1, "unknown dim \"Q\": no size is given for it",
       "expected one of I, J, K, B, D"},
      {"A[IQ]", 3, 2, "unknown dim \"IQ\": no size is given for it", ""},
      {"A[I, I]", 6, 1, "dim I appears twice in A",
       "expected every dim once: a diagonal or a trace is no array of the notation"},
      {"A[I", 4, 1, "expected \",\" or \"]\" in A[...], found end of text", ""},
      {"A[I,]", 5, 1, "expected a dim in A[...], found \"]\"", ""},
      {"A[]", 3, 1, "expected a dim in A[...], found \"]\"", ""},
      {"A[I_]", 5, 1, "expected a mesh axis after \"I_\", found \"]\"", ""},
      {"A[I_{X]", 7, 1, "expected \"}\" after the axes of I, found \"]\"", ""},
      {"A[I]{X}", 6, 1, "expected {U_...} with the unreduced axes of A", ""},
      {"A[I] B", 6, 1, "expected the end, found \"B\"", ""},
      {"[I]", 1, 1, "expected an array such as Wq[D, F], found \"[\"", ""},
      {"", 1, 1, "expected an array such as Wq[D, F], found end of text", ""},
      {"A{U_X}", 2, 1, "{U_...} needs the dims of A: write A[...]{U_...}", ""},
  };
  for (const Refused& row : rows) {
    CAPTURE(row.text);
    std::vector<Problem> problems;
    CHECK_FALSE(parse_array(row.text, argument_pos("a", row.text), kPlain, problems).has_value());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == row.message);
    CHECK(problems[0].pos.column == row.column);
    CHECK(problems[0].pos.length == row.length);
    if (!row.hint.empty()) CHECK(problems[0].hint == row.hint);
  }
}

TEST_CASE("a form that reads in two ways is refused") {
  const NotationContext context{{"X", "Y", "XY"}, {"I", "IX", "J"}};
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"A[IX]", "\"IX\" is ambiguous: it reads as I_X or IX"},
      {"A[J_XY]", "\"XY\" is ambiguous: it can be split into mesh axes in more than one way"},
  };
  for (const auto& [text, message] : rows) {
    CAPTURE(text);
    std::vector<Problem> problems;
    CHECK_FALSE(parse_array(text, argument_pos("a", text), context, problems).has_value());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == message);
    CHECK_FALSE(problems[0].hint.empty());
  }
}

TEST_CASE("all problems of one array are gathered") {
  std::vector<Problem> problems;
  const std::string text = "A[Q_X, J_W, K_X]";
  CHECK_FALSE(parse_array(text, argument_pos("a", text), kPlain, problems).has_value());
  CHECK(problems.size() == 3);
}

TEST_CASE("statements") {
  struct Row {
    std::string text;
    StatementKind kind;
    std::size_t operands;
  };
  const std::vector<Row> rows = {
      {"C[I,K] = A[I_X,J] * B[J,K]", StatementKind::einsum, 2},
      {"H = gelu(G)", StatementKind::elementwise, 1},
      {"H = silu(G) * U", StatementKind::gated, 2},
      {"X = A + B", StatementKind::add, 2},
      {" Y = norm(X[B,D], D) ", StatementKind::norm, 1},
      {"Y = norm(X, D, Wscale[D])", StatementKind::norm, 2},
      {"Y = layernorm(X, D, Wscale[D])", StatementKind::norm, 2},
      {"Y = softmax(X, D)", StatementKind::norm, 1},
      {"M[B] = max(X[B,D], D)", StatementKind::reduce, 1},
      {"M = min(X, D)", StatementKind::reduce, 1},
      {"Y = cast(X, fp8)", StatementKind::cast, 1},
      {"Y[B] = reshard(X)", StatementKind::reshape, 1},
      {"O = attention(Q, K, V)", StatementKind::attention, 3},
      {"O = attention(Q,K,V,causal)", StatementKind::attention, 3},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    std::vector<Problem> problems;
    const auto s = parse_statement(row.text, argument_pos("s", row.text), kPlain, problems);
    REQUIRE(s.has_value());
    CHECK(s->kind == row.kind);
    CHECK(s->in.size() == row.operands);
    CHECK(s->causal == (row.text.find("causal") != std::string::npos));
  }
}

TEST_CASE("statements that are refused") {
  const std::vector<Refused> rows = {
      {"C[I,K] = A[I,J] * B[J,D]", 1, 1, "index K of C is in no operand", ""},
      {"H = glu(G)", 5, 3, "unknown function \"glu\"", "did you mean \"gelu\"?"},
      {"C = A", 6, 1, "expected \"*\" or \"+\" after A, found end of text", ""},
      {"C[I] A", 6, 1, "expected \"=\" after C, found \"A\"", ""},
      {"C = A * B * D", 11, 3, "expected the end, found \"* D\"", ""},
      {"Y = norm(X[B,D], I)", 18, 1, "X has no dim I", ""},
      {"Y = norm(X, Q)", 13, 1, "unknown dim \"Q\": no size is given for it", ""},
      {"O = attention(Q, K)", 19, 1, "expected \",\" in attention(Q, K, V), found \")\"", ""},
      {"O = attention(Q, K, V, casual)", 24, 6, "expected \"causal\", found \"casual\"", ""},
      {"H = gelu(G", 11, 1, "expected \")\" to close gelu(, found end of text", ""},
  };
  for (const Refused& row : rows) {
    CAPTURE(row.text);
    std::vector<Problem> problems;
    CHECK_FALSE(
        parse_statement(row.text, argument_pos("s", row.text), kPlain, problems).has_value());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == row.message);
    CHECK(problems[0].pos.column == row.column);
    CHECK(problems[0].pos.length == row.length);
    if (!row.hint.empty()) CHECK(problems[0].hint == row.hint);
  }
}

TEST_CASE("a long subscript does not take long") {
  const NotationContext context{{"a", "aa"}, {"I"}};
  const std::string text = "A[I_" + std::string(60, 'a') + "b]";
  std::vector<Problem> problems;
  CHECK_FALSE(parse_array(text, argument_pos("a", text), context, problems).has_value());
  CHECK(problems.size() == 1);
}

TEST_CASE("local blocks are padded to the ceiling") {
  struct Row {
    int size, shards, local, padding;
  };
  const std::vector<Row> rows = {
      {9, 4, 3, 3}, {10, 8, 2, 6}, {8, 4, 2, 0}, {3, 8, 1, 5}, {7, 1, 7, 0}};
  for (const Row& row : rows) {
    CAPTURE(row.size);
    CHECK(local_dim(row.size, row.shards).size == row.local);
    CHECK(local_dim(row.size, row.shards).padding == row.padding);
  }
  const Mesh mesh{{{"X", 2, {0}}, {"Y", 4, {1}}}};
  const std::vector<int> sizes = {10, 16};
  const LocalShape shape = local_shape({{{"I", {"X", "Y"}}, {"J", {}}}, {}}, mesh, sizes);
  CHECK(shape.sizes == std::vector<int>{2, 16});
  CHECK(shape.elements == doctest::Approx(32).epsilon(1e-12));
  CHECK(shape.padded ==
        std::vector<std::string>{"I: 10 over 8 devices is 2 each, 6 rows of padding"});
}

}  // namespace
}  // namespace shardsim
