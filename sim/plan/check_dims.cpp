#include "plan/check_dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/reshape.h"

namespace shardsim {
namespace {

using DimNames = std::vector<std::string>;

struct Checks {
  const Layer& layer;
  std::vector<Problem>& problems;
};

void report(const Checks& b, const SourcePos& pos, std::string message, std::string hint = "") {
  b.problems.push_back({pos, std::move(message), std::move(hint)});
}

std::string text(const DimNames& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

bool has(const DimNames& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

void check_einsum(const Checks& b, const Statement& s, const DimNames& out,
                  const std::vector<const LayerTensor*>& in) {
  for (const std::string& dim : out) {
    if (has(in[0]->dims, dim) || has(in[1]->dims, dim)) continue;
    report(b, s.out.pos, fmt::format("index {} of {} is in no operand", dim, s.out.name));
  }
}

void check_same(const Checks& b, const Statement& s, const DimNames& out,
                const std::vector<const LayerTensor*>& in) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i]->dims == out) continue;
    report(b, s.in[i].pos,
           fmt::format("{} has dims {}, but {} has {}", in[i]->name, text(in[i]->dims), s.out.name,
                       text(out)));
  }
}

void check_norm(const Checks& b, const Statement& s, const DimNames& out,
                const std::vector<const LayerTensor*>& in) {
  if (in[0]->dims != out) {
    report(b, s.in[0].pos,
           fmt::format("{} has dims {}, but {} has {}", in[0]->name, text(in[0]->dims), s.out.name,
                       text(out)));
  }
  if (!has(in[0]->dims, s.over_dim)) {
    report(b, s.in[0].pos,
           fmt::format("{} has no dim {} to normalise over", in[0]->name, s.over_dim));
  }
  if (in.size() < 2) return;
  for (const std::string& dim : in[1]->dims) {
    if (has(in[0]->dims, dim)) continue;
    report(b, s.in[1].pos,
           fmt::format("{} has a dim {} that {} lacks", in[1]->name, dim, in[0]->name));
  }
}

void check_reduce(const Checks& b, const Statement& s, const DimNames& out,
                  const std::vector<const LayerTensor*>& in) {
  DimNames left = in[0]->dims;
  std::erase(left, s.over_dim);
  if (!has(in[0]->dims, s.over_dim)) {
    report(b, s.in[0].pos, fmt::format("{} has no dim {} to reduce over", in[0]->name, s.over_dim));
  } else if (left.empty()) {
    report(b, s.in[0].pos,
           fmt::format("expected {} with a dim beside {}: an array without dims has no layout",
                       in[0]->name, s.over_dim));
  } else if (left != out) {
    report(b, s.out.pos,
           fmt::format("{} has dims {}: expected those of {} without {}, {}", s.out.name, text(out),
                       in[0]->name, s.over_dim, text(left)));
  }
}

void check_attention(const Checks& b, const Statement& s, const DimNames& out,
                     const std::vector<const LayerTensor*>& in) {
  const DimNames& q = in[0]->dims;
  const DimNames& k = in[1]->dims;
  const DimNames& v = in[2]->dims;
  if (q.size() < 3) {
    report(b, s.in[0].pos,
           fmt::format("attention needs {} as [..., sequence, heads, head size], found {}",
                       in[0]->name, text(q)));
    return;
  }
  if (out != q) {
    report(b, s.out.pos,
           fmt::format("the output of attention has the dims of {}, {}; found {}", in[0]->name,
                       text(q), text(out)));
  }
  if (k != v) {
    report(
        b, s.in[2].pos,
        fmt::format("{} has dims {}, but {} has {}", in[2]->name, text(v), in[1]->name, text(k)));
  }
  const auto batch = static_cast<std::ptrdiff_t>(q.size()) - 3;
  if (k.size() != q.size() || !std::equal(q.begin(), q.begin() + batch, k.begin()) ||
      k.back() != q.back()) {
    report(b, s.in[1].pos,
           fmt::format("{} is {}: expected the batch dims and the head size of {} {}", in[1]->name,
                       text(k), in[0]->name, text(q)));
    return;
  }
  const int heads = b.layer.dim_size(q[q.size() - 2]);
  const int kv_heads = b.layer.dim_size(k[k.size() - 2]);
  if (heads % kv_heads == 0) return;
  report(b, s.in[1].pos,
         fmt::format("{} query heads cannot share {} key/value heads evenly", heads, kv_heads));
}

double product(const Layer& layer, const DimNames& dims) {
  double result = 1;
  for (const std::string& dim : dims) result *= layer.dim_size(dim);
  return result;
}

void check_reshape(const Checks& b, const Statement& s, const DimNames& out,
                   const std::vector<const LayerTensor*>& in) {
  if (s.function == "reshard") return check_same(b, s, out, in);
  const std::optional<Regroup> change = regroup(in[0]->dims, out);
  if (!change) {
    report(b, s.pos,
           fmt::format("expected a reshape of one dim into several, or of several neighbours into "
                       "one, the others in their places; found {} to {}",
                       text(in[0]->dims), text(out)),
           "more than one takes more than one statement");
    return;
  }
  const double rows = product(b.layer, change->parts);
  const int one = b.layer.dim_size(change->one);
  if (rows == one) return;
  report(b, s.pos,
         fmt::format("expected {} = {} = {:.0f}, found {}", change->one,
                     fmt::join(change->parts, " * "), rows, one));
}

}  // namespace

void check_dims(const Layer& layer, const Statement& s, const DimNames& out,
                const std::vector<const LayerTensor*>& in, std::vector<Problem>& problems) {
  const Checks b{layer, problems};
  switch (s.kind) {
    case StatementKind::einsum:
      return check_einsum(b, s, out, in);
    case StatementKind::elementwise:
    case StatementKind::gated:
    case StatementKind::add:
    case StatementKind::cast:
      return check_same(b, s, out, in);
    case StatementKind::norm:
      return check_norm(b, s, out, in);
    case StatementKind::attention:
      return check_attention(b, s, out, in);
    case StatementKind::reshape:
      return check_reshape(b, s, out, in);
    case StatementKind::reduce:
      return check_reduce(b, s, out, in);
    case StatementKind::sums:
    case StatementKind::normalize:
      break;
  }
}

std::vector<std::string> dims_of(std::span<const ArrayExpr> arrays) {
  DimNames dims;
  for (const ArrayExpr& array : arrays) {
    for (const DimLayout& layout : array.sharding.dims) dims.push_back(layout.dim);
  }
  return dims;
}

std::vector<std::string> dims_of(const Statement& statement) {
  DimNames dims = dims_of(statement.in);
  for (const DimLayout& layout : statement.out.sharding.dims) dims.push_back(layout.dim);
  return dims;
}

namespace {

DimNames sorted_once(DimNames names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

void require_used(std::span<const AxisSpec> sizes, const std::vector<std::string>& used,
                  std::vector<Problem>& problems) {
  for (const AxisSpec& dim : sizes) {
    if (has(used, dim.name)) continue;
    problems.push_back({dim.pos,
                        fmt::format("expected a dim that some array has, found {}", dim.name),
                        suggestion(dim.name, sorted_once(used))});
  }
}

}  // namespace shardsim
