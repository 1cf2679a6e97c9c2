#include "ir/notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/same_name.h"
#include "ir/array_parser.h"

namespace shardsim {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", text);
}

bool operand(ArrayParser& p, Statement& s) {
  std::optional<ArrayExpr> expr = p.array();
  if (!expr) return false;
  s.in.push_back(std::move(*expr));
  return true;
}

// f(X, D: one of the functions over the rows of a dim; `what`: "to normalise over".
bool rows_of_dim(ArrayParser& p, Statement& s, const Word& function, std::string_view what) {
  s.function = function.text;
  const std::string example = fmt::format("and the dim {}, as in {}(X, D)", what, function.text);
  if (!operand(p, s) || !p.expect(',', example)) return false;
  const Word dim = p.word();
  s.over_dim = dim.text;
  const std::size_t length = std::max<std::size_t>(1, dim.text.size());
  if (dim.text.empty()) {
    p.fail(dim.offset, length, fmt::format("expected the dim {}, found {}", what, p.found()));
    return false;
  }
  const bool known = p.context().dims.empty() || contains(p.context().dims, dim.text);
  if (!known) {
    p.fail(dim.offset, length,
           fmt::format("unknown dim {}: no size is given for it", quoted(dim.text)),
           suggestion(dim.text, p.context().dims));
  } else if (!s.in[0].bare && s.in[0].sharding.find(dim.text) == nullptr) {
    p.fail(dim.offset, length, fmt::format("{} has no dim {}", s.in[0].name, dim.text));
  }
  return true;
}

bool close(ArrayParser& p, const Word& function) {
  return p.expect(')', fmt::format("to close {}(", function.text));
}

bool norm_arguments(ArrayParser& p, Statement& s, const Word& function) {
  s.kind = StatementKind::norm;
  if (!rows_of_dim(p, s, function, "to normalise over")) return false;
  if (function.text != "softmax" && p.accept(',') && !operand(p, s)) return false;
  return close(p, function);
}

bool reduce_arguments(ArrayParser& p, Statement& s, const Word& function) {
  s.kind = StatementKind::reduce;
  return rows_of_dim(p, s, function, "to reduce over") && close(p, function);
}

bool cast_arguments(ArrayParser& p, Statement& s, const Word& function) {
  s.kind = StatementKind::cast;
  s.function = function.text;
  if (!operand(p, s) || !p.expect(',', "and the dtype, as in cast(X, fp8)")) return false;
  const Word dtype = p.identifier();
  s.dtype = dtype.text;
  s.dtype_pos = p.position(dtype.offset, std::max<std::size_t>(1, dtype.text.size()));
  return close(p, function);
}

bool attention_arguments(ArrayParser& p, Statement& s, const Word&) {
  s.kind = StatementKind::attention;
  if (!operand(p, s) || !p.expect(',', "in attention(Q, K, V)") || !operand(p, s) ||
      !p.expect(',', "in attention(Q, K, V)") || !operand(p, s)) {
    return false;
  }
  if (p.accept(',')) {
    const Word flag = p.identifier();
    s.causal = flag.text == "causal";
    if (!s.causal) {
      p.fail(flag.offset, std::max<std::size_t>(1, flag.text.size()),
             fmt::format("expected \"causal\", found {}", quoted(flag.text)));
    }
  }
  return p.expect(')', "to close attention(");
}

bool elementwise_arguments(ArrayParser& p, Statement& s, const Word& function) {
  s.kind = StatementKind::elementwise;
  s.function = function.text;
  if (!operand(p, s) || !close(p, function)) return false;
  if (!p.accept('*')) return true;
  s.kind = StatementKind::gated;
  return operand(p, s);
}

bool reshape_arguments(ArrayParser& p, Statement& s, const Word& function) {
  s.kind = StatementKind::reshape;
  s.function = function.text;
  return operand(p, s) && close(p, function);
}

bool call(ArrayParser& p, Statement& s, const Word& function) {
  using Arguments = bool (*)(ArrayParser&, Statement&, const Word&);
  static const std::vector<std::pair<std::string, Arguments>> kFunctions = {
      {"gelu", elementwise_arguments},    {"relu", elementwise_arguments},
      {"silu", elementwise_arguments},    {"exp", elementwise_arguments},
      {"norm", norm_arguments},           {"layernorm", norm_arguments},
      {"softmax", norm_arguments},        {"max", reduce_arguments},
      {"min", reduce_arguments},          {"cast", cast_arguments},
      {"attention", attention_arguments}, {"reshape", reshape_arguments},
      {"reshard", reshape_arguments}};
  std::vector<std::string> names;
  for (const auto& [name, arguments] : kFunctions) {
    if (name == function.text) return arguments(p, s, function);
    names.push_back(name);
  }
  p.fail(function.offset, function.text.size(),
         fmt::format("unknown function {}", quoted(function.text)),
         suggestion(function.text, names));
  return false;
}

bool right_side(ArrayParser& p, Statement& s) {
  const std::size_t start = p.here();
  const Word function = p.identifier();
  if (!function.text.empty() && p.accept('(')) return call(p, s, function);
  p.go_back(start);
  if (!operand(p, s)) return false;
  if (p.accept('*')) {
    s.kind = StatementKind::einsum;
  } else if (p.accept('+')) {
    s.kind = StatementKind::add;
  } else {
    p.fail(p.here(), 1,
           fmt::format("expected \"*\" or \"+\" after {}, found {}", s.in[0].name, p.found()));
    return false;
  }
  return operand(p, s);
}

void check_einsum(const Statement& s, std::vector<Problem>& problems) {
  if (s.kind != StatementKind::einsum || s.out.bare || s.in[0].bare || s.in[1].bare) return;
  for (const DimLayout& layout : s.out.sharding.dims) {
    if (s.in[0].sharding.find(layout.dim) || s.in[1].sharding.find(layout.dim)) continue;
    problems.push_back(
        {s.out.pos, fmt::format("index {} of {} is in no operand", layout.dim, s.out.name), ""});
  }
}

std::optional<Statement> statement(ArrayParser& p) {
  const std::size_t start = p.here();
  Statement s;
  std::optional<ArrayExpr> out = p.array();
  if (!out || !p.expect('=', fmt::format("after {}", out->name))) return std::nullopt;
  s.out = std::move(*out);
  if (!right_side(p, s) || !p.at_end()) return std::nullopt;
  std::string_view written = p.text().substr(start);
  written = written.substr(0, written.find_last_not_of(" \t") + 1);
  s.text = std::string(written);
  s.pos = p.position(start, written.size());
  return s;
}

bool all_single(const std::vector<std::string>& axes) {
  return std::all_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.size() == 1; });
}

std::string subscript_text(const std::vector<std::string>& axes) {
  if (axes.size() == 1) return "_" + axes.front();
  return fmt::format("_{{{}}}", fmt::join(axes, all_single(axes) ? "" : ","));
}

}  // namespace

std::string_view to_text(Reduction reduction) {
  constexpr std::string_view kNames[] = {"sum", "max", "min"};
  return kNames[static_cast<std::size_t>(reduction)];
}

bool combines_parts(StatementKind kind) {
  return kind == StatementKind::sums || kind == StatementKind::reduce;
}

bool Sharding::operator==(const Sharding& other) const {
  return dims == other.dims && unreduced == other.unreduced &&
         (unreduced.empty() || reduction == other.reduction);
}

const DimLayout* Sharding::find(std::string_view dim) const {
  const auto it = std::find_if(dims.begin(), dims.end(),
                               [&](const DimLayout& layout) { return same_name(layout.dim, dim); });
  return it == dims.end() ? nullptr : &*it;
}

const std::string* Sharding::dim_of_axis(std::string_view axis) const {
  for (const DimLayout& layout : dims) {
    for (const std::string& one : layout.axes)
      if (same_name(one, axis)) return &layout.dim;
  }
  return nullptr;
}

std::string to_text(const Sharding& sharding) {
  std::vector<std::string> parts;
  for (const DimLayout& layout : sharding.dims) {
    parts.push_back(layout.dim + (layout.axes.empty() ? "" : subscript_text(layout.axes)));
  }
  std::string text = fmt::format("[{}]", fmt::join(parts, ", "));
  if (!sharding.unreduced.empty()) {
    const bool sums = sharding.reduction == Reduction::sum;
    text += fmt::format("{{{}{}}}", sums ? "U" : to_text(sharding.reduction),
                        subscript_text(sharding.unreduced));
  }
  return text;
}

std::optional<ArrayExpr> parse_array(std::string_view text, const SourcePos& pos,
                                     const NotationContext& context,
                                     std::vector<Problem>& problems) {
  ArrayParser parser(text, pos, context, problems);
  std::optional<ArrayExpr> expr = parser.array();
  if (!expr || !parser.at_end() || !parser.clean()) return std::nullopt;
  return expr;
}

std::optional<Statement> parse_statement(std::string_view text, const SourcePos& pos,
                                         const NotationContext& context,
                                         std::vector<Problem>& problems) {
  ArrayParser parser(text, pos, context, problems);
  std::optional<Statement> result = statement(parser);
  if (result) check_einsum(*result, problems);
  if (!parser.clean()) return std::nullopt;
  return result;
}

LocalDim local_dim(int size, int shards) {
  const std::int64_t local = (static_cast<std::int64_t>(size) + shards - 1) / shards;
  return {static_cast<int>(local), static_cast<int>(local * shards - size)};
}

LocalShape local_shape(const Sharding& sharding, const Mesh& mesh, std::span<const int> dim_sizes) {
  LocalShape shape;
  for (std::size_t d = 0; d < sharding.dims.size(); ++d) {
    const DimLayout& layout = sharding.dims[d];
    const int shards = mesh.size_of(layout.axes);
    const LocalDim local = local_dim(dim_sizes[d], shards);
    shape.sizes.push_back(local.size);
    shape.elements *= local.size;
    if (local.padding == 0) continue;
    shape.padded.push_back(fmt::format("{}: {} over {} devices is {} each, {} {} of padding",
                                       layout.dim, dim_sizes[d], shards, local.size, local.padding,
                                       local.padding == 1 ? "row" : "rows"));
  }
  return shape;
}

}  // namespace shardsim
