#include "plan/make_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "plan/check_dims.h"
#include "plan/stated_layouts.h"

namespace shardsim {
namespace {

using DimNames = std::vector<std::string>;

DimNames dim_names(const Sharding& sharding) {
  DimNames names;
  for (const DimLayout& layout : sharding.dims) names.push_back(layout.dim);
  return names;
}

std::string text(const DimNames& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

bool has(const DimNames& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

struct Builder {
  std::map<std::string, DimNames> written;  // dims where a name is first written with brackets
  std::span<const Statement> statements;
  std::set<std::string> circles;  // names that a reported circle goes through
  std::set<std::string> unlike;   // names written with two lists of dims
  Layer layer;
  std::vector<Problem>& problems;
};

void report(Builder& b, const SourcePos& pos, std::string message, std::string hint = "") {
  b.problems.push_back({pos, std::move(message), std::move(hint)});
}

void note_written(Builder& b, const ArrayExpr& expr) {
  if (expr.bare) return;
  const DimNames dims = dim_names(expr.sharding);
  const auto [it, inserted] = b.written.emplace(expr.name, dims);
  if (inserted || it->second == dims) return;
  b.unlike.insert(expr.name);
  report(
      b, expr.pos,
      fmt::format("{} is written {} here and {} before", expr.name, text(dims), text(it->second)),
      "one name is one array: give the other one a name of its own");
}

const Statement* maker(const Builder& b, const std::string& name) {
  const auto it = std::find_if(b.statements.begin(), b.statements.end(),
                               [&](const Statement& s) { return s.out.name == name; });
  return it == b.statements.end() ? nullptr : &*it;
}

// What is made on the way from `from` to `to`, following "is made from": {from, …, to}; empty when
// there is no way.
std::vector<std::string> way(const Builder& b, const std::string& from, const std::string& to) {
  std::map<std::string, std::string> reached = {{from, ""}};  // each with what needs it
  std::vector<std::string> open = {from};
  for (std::size_t next = 0; next < open.size() && reached.count(to) == 0; ++next) {
    const std::string name = open[next];
    const Statement* s = maker(b, name);
    if (s == nullptr) continue;
    for (const ArrayExpr& expr : s->in) {
      if (reached.emplace(expr.name, name).second) open.push_back(expr.name);
    }
  }
  std::vector<std::string> names;
  if (reached.count(to) == 0) return names;
  for (std::string name = to; !name.empty(); name = reached[name]) names.push_back(name);
  std::reverse(names.begin(), names.end());
  return names;
}

// `expr` is read by the statement of `out`, but made by a later one, or from `out` itself.
void report_order(Builder& b, const std::string& out, const ArrayExpr& expr) {
  const std::vector<std::string> names = way(b, expr.name, out);
  if (names.empty()) {
    report(b, expr.pos, fmt::format("{} is read before the statement that makes it", expr.name),
           fmt::format("put \"{}\" above", maker(b, expr.name)->text));
    return;
  }
  if (b.circles.count(out) != 0 && b.circles.count(expr.name) != 0) return;
  b.circles.insert(names.begin(), names.end());
  std::string circle = fmt::format("{} needs {}", out, expr.name);
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    circle += fmt::format(", {} needs {}", names[i], names[i + 1]);
  }
  report(b, expr.pos, fmt::format("{} is made from itself: {}", out, circle));
}

// The tensor that the statement of `out` reads, added at its first use; -1 with a problem noted
// when it cannot be read here.
int operand(Builder& b, const std::string& out, const ArrayExpr& expr) {
  const int known = b.layer.tensor(expr.name);
  if (known >= 0) return known;
  if (maker(b, expr.name) != nullptr) {
    report_order(b, out, expr);
    return -1;
  }
  const auto dims = b.written.find(expr.name);
  if (dims == b.written.end()) {
    report(b, expr.pos,
           fmt::format("the dims of {0} are never written: expected {0}[...] once", expr.name));
    return -1;
  }
  const bool parameter = expr.name.starts_with("W");
  b.layer.tensors.push_back(
      {expr.name, dims->second, parameter ? TensorRole::parameter : TensorRole::input});
  return static_cast<int>(b.layer.tensors.size()) - 1;
}

// What could be written for an einsum whose output has no dims: those of one operand alone, and
// where its blocks are partial sums what may become of them.
std::string einsum_hint(const Statement& s, const std::vector<const LayerTensor*>& in) {
  Sharding yielded;
  for (const std::size_t i : {0u, 1u}) {
    for (const std::string& dim : in[i]->dims) {
      const DimLayout* here = s.in[i].sharding.find(dim);
      const DimLayout* there = s.in[1 - i].sharding.find(dim);
      if (!has(in[1 - i]->dims, dim)) {
        yielded.dims.push_back({dim, here == nullptr ? std::vector<std::string>{} : here->axes});
      } else if (i == 0 && here != nullptr && there != nullptr && here->axes == there->axes) {
        yielded.unreduced.insert(yielded.unreduced.end(), here->axes.begin(), here->axes.end());
      }
    }
  }
  if (yielded.dims.empty()) return "";
  if (!yielded.unreduced.empty()) return ways_to_settle(s.out.name, yielded);
  return fmt::format("for example {}{} = ...", s.out.name, to_text(yielded));
}

std::optional<DimNames> output_dims(Builder& b, const Statement& s,
                                    const std::vector<const LayerTensor*>& in) {
  if (const auto it = b.written.find(s.out.name); it != b.written.end()) return it->second;
  const bool writes = s.kind == StatementKind::einsum || s.kind == StatementKind::reshape;
  if (s.kind == StatementKind::reduce) {
    DimNames dims = in.front()->dims;
    std::erase(dims, s.over_dim);
    return dims;
  }
  if (!writes) return in.front()->dims;
  report(b, s.out.pos,
         fmt::format("the dims of {0} are never written: expected {0}[...] = ...", s.out.name),
         s.kind == StatementKind::einsum ? einsum_hint(s, in) : "");
  return std::nullopt;
}

// What a reshape makes is of its operand's dtype; 0: that of its role.
double bytes_of_dtype(Builder& b, const Statement& s, const std::vector<int>& in) {
  if (s.kind == StatementKind::reshape && !in.empty()) {
    return b.layer.tensors[static_cast<std::size_t>(in.front())].element_bytes;
  }
  if (s.kind != StatementKind::cast) return 0;
  const std::vector<std::string> names = dtype_names();
  if (has(names, s.dtype)) return dtype_bytes(s.dtype);
  report(b, s.dtype_pos, fmt::format("expected {}, found \"{}\"", joined_or(names), s.dtype),
         suggestion(s.dtype, names));
  return 0;
}

void add_statement(Builder& b, const Statement& s) {
  LayerStatement result{s.kind, 0, {}, s.function, s.over_dim, s.causal, s.text, s.pos, 0};
  result.number = static_cast<int>(b.layer.statements.size()) + 1;
  for (const ArrayExpr& expr : s.in) {
    const int tensor = operand(b, s.out.name, expr);
    if (tensor >= 0) result.in.push_back(tensor);
  }
  // A name whose dims were never written, or written in two ways, has been reported; what reads it
  // is not checked again.
  const auto unlike = [&](const ArrayExpr& expr) { return b.unlike.contains(expr.name); };
  const bool complete = result.in.size() == s.in.size() && !unlike(s.out) &&
                        std::none_of(s.in.begin(), s.in.end(), unlike) &&
                        std::none_of(result.in.begin(), result.in.end(), [&](int t) {
                          return b.layer.tensors[static_cast<std::size_t>(t)].dims.empty();
                        });
  if (b.layer.tensor(s.out.name) >= 0) {
    report(b, s.out.pos, fmt::format("{} is made twice", s.out.name));
    return;
  }
  std::optional<DimNames> dims;
  if (complete) {
    std::vector<const LayerTensor*> in;
    for (const int t : result.in) in.push_back(&b.layer.tensors[static_cast<std::size_t>(t)]);
    dims = output_dims(b, s, in);
    if (dims) check_dims(b.layer, s, *dims, in, b.problems);
  } else if (const auto it = b.written.find(s.out.name); it != b.written.end()) {
    dims = it->second;
  }
  // Without dims the name still counts as made, so that its readers are not reported as well.
  result.out = static_cast<int>(b.layer.tensors.size());
  b.layer.tensors.push_back({s.out.name, dims.value_or(DimNames{}), TensorRole::activation,
                             bytes_of_dtype(b, s, result.in)});
  b.layer.statements.push_back(std::move(result));
}

// True when every dim named in the statements has a positive size.
bool check_sizes(Builder& b, std::span<const Statement> statements) {
  bool good = true;
  std::set<std::string> reported;
  const auto check = [&](const ArrayExpr& expr) {
    for (const DimLayout& layout : expr.sharding.dims) {
      const bool known = std::any_of(b.layer.dims.begin(), b.layer.dims.end(), [&](const auto& d) {
        return d.name == layout.dim && d.size > 0;
      });
      if (known) continue;
      good = false;
      if (!reported.insert(layout.dim).second) continue;
      report(b, expr.pos, fmt::format("dim {} of {} has no size", layout.dim, expr.name));
    }
  };
  for (const Statement& s : statements) {
    check(s.out);
    for (const ArrayExpr& expr : s.in) check(expr);
  }
  return good;
}

}  // namespace

Layer layer_from(std::span<const Statement> statements, std::vector<NamedDim> dims,
                 std::vector<Problem>& problems) {
  Builder b{{}, statements, {}, {}, {}, problems};
  b.layer.dims = std::move(dims);
  if (!check_sizes(b, statements)) return b.layer;
  for (const Statement& s : statements) {
    note_written(b, s.out);
    for (const ArrayExpr& expr : s.in) note_written(b, expr);
  }
  for (const Statement& s : statements) add_statement(b, s);
  return b.layer;
}

std::vector<NamedDim> model_dims(const ModelSpec& model, const BatchSpec& batch, int sequences,
                                 std::vector<Problem>& problems) {
  std::vector<NamedDim> dims;
  if (batch.global.given) dims.push_back({"B", sequences});
  if (batch.length.given) dims.push_back({"T", batch.length.value});
  for (const AxisSpec& dim : model.dims) {
    if (dim.name == "B" || dim.name == "T") {
      problems.push_back(
          {dim.pos, fmt::format("dim {} comes from the batch, not from the model", dim.name), ""});
      continue;
    }
    dims.push_back({dim.name, dim.size});
  }
  return dims;
}

std::vector<Statement> parse_model(const ModelSpec& model, const BatchSpec& batch,
                                   std::vector<std::string> axes, std::vector<Problem>& problems) {
  std::vector<Problem> said_by_model_dims;
  NotationContext context;
  for (const NamedDim& dim : model_dims(model, batch, 1, said_by_model_dims)) {
    context.dims.push_back(dim.name);
  }
  if (model.inlined) context.axes = std::move(axes);
  const std::size_t before = problems.size();
  std::vector<Statement> statements;
  for (const Chosen<std::string>& line : model.statements) {
    std::optional<Statement> s = parse_statement(line.value, line.pos, context, problems);
    if (s) statements.push_back(std::move(*s));
  }
  if (statements.empty() && problems.size() == before) {
    problems.push_back({model.pos, fmt::format("model {} has no statements", model.name), ""});
  }
  return statements;
}

Layer make_layer(const ModelSpec& model, const BatchSpec& batch, int sequences,
                 std::vector<Problem>& problems) {
  const std::size_t before = problems.size();
  Layer incomplete;
  incomplete.dims = model_dims(model, batch, sequences, problems);
  const std::vector<Statement> statements = parse_model(model, batch, {}, problems);
  if (problems.size() != before) return incomplete;
  return layer_from(statements, std::move(incomplete.dims), problems);
}

}  // namespace shardsim
