// What the statements of a layer compute on one device's blocks, forward and backward.
#pragma once

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_arrays.h"

namespace shardsim::testing {

// The layer asks for something that the devices cannot do with what they hold.
struct Unexecutable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An operand of a kernel: its dims by name, and its block.
struct Named {
  std::vector<std::string> dims;
  const Block* block = nullptr;
};

inline std::vector<std::string> names(const Sharding& sharding) {
  std::vector<std::string> result;
  for (const DimLayout& dim : sharding.dims) result.push_back(dim.dim);
  return result;
}

// Where a step along `dim` leads in the elements of an array; 0 when it lacks the dim.
inline std::size_t stride(const Named& array, const std::string& dim) {
  std::size_t result = 1;
  for (std::size_t d = array.dims.size(); d-- > 0;) {
    if (array.dims[d] == dim) return result;
    result *= static_cast<std::size_t>(array.block->size[d]);
  }
  return 0;
}

// One dim of the product space of an einsum: its size and the strides in a, b and the output.
struct Loop {
  std::string dim;
  int start = 0, size = 0;
  std::size_t a = 0, b = 0, out = 0;
};

inline void einsum_loops(const std::vector<Loop>& loops, std::size_t depth, const double* a,
                         const double* b, double* out) {
  if (depth == loops.size()) {
    *out += *a * *b;
    return;
  }
  const Loop& loop = loops[depth];
  for (int i = 0; i < loop.size; ++i) {
    einsum_loops(loops, depth + 1, a, b, out);
    a += loop.a;
    b += loop.b;
    out += loop.out;
  }
}

// out += product of a and b over all dims that out lacks.
inline void einsum(const Named& a, const Named& b, const std::vector<std::string>& out_dims,
                   Block& out) {
  const Named result{out_dims, &out};
  std::vector<Loop> loops;
  for (const Named* array : {&a, &b, &result}) {
    for (std::size_t d = 0; d < array->dims.size(); ++d) {
      const std::string& dim = array->dims[d];
      const auto known = std::find_if(loops.begin(), loops.end(),
                                      [&](const Loop& loop) { return loop.dim == dim; });
      if (known == loops.end()) {
        loops.push_back({dim, array->block->start[d], array->block->size[d], stride(a, dim),
                         stride(b, dim), stride(result, dim)});
        continue;
      }
      if (known->start != array->block->start[d] || known->size != array->block->size[d]) {
        throw Unexecutable("blocks of " + dim + " that are multiplied are not the same rows");
      }
    }
  }
  einsum_loops(loops, 0, a.block->data.data(), b.block->data.data(), out.data.data());
}

inline double apply(const std::string& function, double x) {
  if (function == "relu") return x > 0 ? x : 0;
  if (function == "silu") return x / (1 + std::exp(-x));
  if (function == "exp") return std::exp(x);
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
inline double derivative(const std::string& function, double x) {
  if (function == "relu") return x > 0 ? 1 : 0;
  if (function == "exp") return std::exp(x);
  if (function == "silu") {
    const double s = 1 / (1 + std::exp(-x));
    return s * (1 + x * (1 - s));
  }
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) + x * density;
}

// The same elements in other dims: their numbers in the whole arrays, whose sizes are given, agree.
inline std::size_t number(const std::vector<int>& index, const std::vector<int>& sizes) {
  std::size_t result = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    result = result * static_cast<std::size_t>(sizes[d]) + static_cast<std::size_t>(index[d]);
  }
  return result;
}
inline void reshape(const Block& from, const std::vector<int>& from_sizes, Block& to,
                    const std::vector<int>& to_sizes) {
  std::map<std::size_t, double> elements;
  for_each(from, [&](const std::vector<int>& i) {
    elements[number(i, from_sizes)] = from.data[from.offset(i)];
  });
  for_each(to, [&](const std::vector<int>& i) {
    const auto element = elements.find(number(i, to_sizes));
    if (element == elements.end()) throw Unexecutable("a reshape takes rows that are not there");
    to.data[to.offset(i)] = element->second;
  });
}

// Norms over the last dim. RMS norm: y = x / sqrt(mean x^2 + 1e-6) * w; layer norm: the same of x
// less its mean. Without a scale, w = 1.
inline constexpr double kNormEpsilon = 1e-6;
struct NormFactors {
  double mean = 0, r = 1;
};
inline NormFactors norm_factors(const double* x, std::size_t n, bool centred) {
  const auto count = static_cast<double>(n);
  NormFactors f;
  for (std::size_t i = 0; centred && i < n; ++i) f.mean += x[i] / count;
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) squares += (x[i] - f.mean) * (x[i] - f.mean);
  f.r = 1 / std::sqrt(squares / count + kNormEpsilon);
  return f;
}
inline double scale_at(const Block* w, std::size_t i) {
  return w == nullptr ? 1 : w->data[i];
}
inline void norm(const Block& x, const Block* w, bool centred, Block& y) {
  const auto n = static_cast<std::size_t>(x.size.back());
  for (std::size_t row = 0; row < x.data.size(); row += n) {
    const auto [mean, r] = norm_factors(&x.data[row], n, centred);
    for (std::size_t i = 0; i < n; ++i) {
      y.data[row + i] = (x.data[row + i] - mean) * r * scale_at(w, i);
    }
  }
}
// dX = r (g - mean g - y mean(g y)), g = dY * w; an RMS norm has no mean g.
inline void norm_input_gradient(const Block& dy, const Block& x, const Block* w, bool centred,
                                Block& dx) {
  const auto n = static_cast<std::size_t>(x.size.back());
  for (std::size_t row = 0; row < x.data.size(); row += n) {
    const auto [mean, r] = norm_factors(&x.data[row], n, centred);
    double of_g = 0;
    double of_gy = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double g = dy.data[row + i] * scale_at(w, i) / static_cast<double>(n);
      of_gy += g * (x.data[row + i] - mean) * r;
      if (centred) of_g += g;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double y = (x.data[row + i] - mean) * r;
      dx.data[row + i] = r * (dy.data[row + i] * scale_at(w, i) - of_g - y * of_gy);
    }
  }
}
inline void norm_scale_gradient(const Block& dy, const Block& x, bool centred, Block& dw) {
  const std::size_t n = dw.data.size();
  for (std::size_t row = 0; row < x.data.size(); row += n) {
    const auto [mean, r] = norm_factors(&x.data[row], n, centred);
    for (std::size_t i = 0; i < n; ++i) {
      dw.data[i] += dy.data[row + i] * (x.data[row + i] - mean) * r;
    }
  }
}

inline void softmax(const Block& x, Block& y) {
  const auto n = static_cast<std::size_t>(x.size.back());
  for (std::size_t row = 0; row < x.data.size(); row += n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(x.data[row + i]);
    for (std::size_t i = 0; i < n; ++i) y.data[row + i] = std::exp(x.data[row + i]) / sum;
  }
}
// dX = y (dY - sum(dY y)).
inline void softmax_gradient(const Block& dy, const Block& x, Block& dx) {
  const auto n = static_cast<std::size_t>(x.size.back());
  Block y = x;
  softmax(x, y);
  for (std::size_t row = 0; row < x.data.size(); row += n) {
    double dot = 0;
    for (std::size_t i = 0; i < n; ++i) dot += dy.data[row + i] * y.data[row + i];
    for (std::size_t i = 0; i < n; ++i) {
      dx.data[row + i] = y.data[row + i] * (dy.data[row + i] - dot);
    }
  }
}

// The largest or smallest over dim d of a block, and where it was.
inline void extremes(const Block& x, std::size_t d, Reduction reduction, Block& m) {
  std::fill(m.data.begin(), m.data.end(), neutral(reduction));
  for_each(x, [&](std::vector<int> i) {
    const double value = x.data[x.offset(i)];
    i.erase(i.begin() + static_cast<std::ptrdiff_t>(d));
    double& most = m.data[m.offset(i)];
    most = combine(reduction, most, value);
  });
}
// Copies that were summed in different orders differ in their last bits.
inline bool same_value(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(a));
}
inline void extremes_gradient(const Block& dm, const Block& x, const Block& m, std::size_t d,
                              Block& dx) {
  for_each(x, [&](std::vector<int> i) {
    const std::size_t at = x.offset(i);
    i.erase(i.begin() + static_cast<std::ptrdiff_t>(d));
    dx.data[at] = same_value(x.data[at], m.data[m.offset(i)]) ? dm.data[dm.offset(i)] : 0;
  });
}

// The parts of a norm over the last dim, on blocks of rows: rows of `sums` are x^2, or x and x^2;
// `n` is the length of a whole row.
class NormParts {
 public:
  NormParts(const Block& sums, int n) : sums_(sums), n_(n), count_(sums.size.back()) {}

  static void add_up(const Block& x, Block& sums) {
    const auto width = static_cast<std::size_t>(x.size.back());
    const auto count = static_cast<std::size_t>(sums.size.back());
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      const std::size_t row = i / width * count;
      if (count == 2) sums.data[row] += x.data[i];
      sums.data[row + count - 1] += x.data[i] * x.data[i];
    }
  }
  static void add_up_gradient(const Block& ds, const Block& x, Block& dx) {
    const auto width = static_cast<std::size_t>(x.size.back());
    const auto count = static_cast<std::size_t>(ds.size.back());
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      const std::size_t row = i / width * count;
      dx.data[i] = 2 * x.data[i] * ds.data[row + count - 1] + (count == 2 ? ds.data[row] : 0);
    }
  }

  NormFactors factors(std::size_t row) const {
    const auto count = static_cast<std::size_t>(count_);
    NormFactors f;
    if (count == 2) f.mean = sums_.data[row * 2] / n_;
    f.r = 1 / std::sqrt(sums_.data[row * count + count - 1] / n_ - f.mean * f.mean + kNormEpsilon);
    return f;
  }
  void forward(const Block& x, const Block* w, Block& y) const {
    each(x, [&](std::size_t i, std::size_t column, const NormFactors& f, std::size_t) {
      y.data[i] = (x.data[i] - f.mean) * f.r * scale_at(w, column);
    });
  }
  void input_gradient(const Block& dy, const Block* w, Block& dx) const {
    each(dy, [&](std::size_t i, std::size_t column, const NormFactors& f, std::size_t) {
      dx.data[i] = f.r * dy.data[i] * scale_at(w, column);
    });
  }
  void sums_gradient(const Block& dy, const Block& x, const Block* w, Block& ds) const {
    each(x, [&](std::size_t i, std::size_t column, const NormFactors& f, std::size_t row) {
      const double g = dy.data[i] * scale_at(w, column);
      const double square = -f.r * f.r * f.r / (2 * n_) * g * (x.data[i] - f.mean);
      const auto count = static_cast<std::size_t>(count_);
      ds.data[row * count + count - 1] += square;
      if (count == 2) ds.data[row * 2] += -f.r / n_ * g - 2 * f.mean * square;
    });
  }
  void scale_gradient(const Block& dy, const Block& x, Block& dw) const {
    each(x, [&](std::size_t i, std::size_t column, const NormFactors& f, std::size_t) {
      dw.data[column] += dy.data[i] * (x.data[i] - f.mean) * f.r;
    });
  }

 private:
  template <class Visit>
  void each(const Block& x, Visit visit) const {
    const auto width = static_cast<std::size_t>(x.size.back());
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      visit(i, i % width, factors(i / width), i / width);
    }
  }

  const Block& sums_;
  double n_ = 0;
  int count_ = 1;
};

// The parts of a softmax over the last dim, on blocks of rows: the maximum m of every whole row,
// and the sum s of exp(x - m) over it.
class SoftmaxParts {
 public:
  explicit SoftmaxParts(const Block& maxima) : maxima_(maxima) {}

  void add_up(const Block& x, Block& sums) const {
    each(x, [&](std::size_t i, std::size_t row, double e) {
      static_cast<void>(i);
      sums.data[row] += e;
    });
  }
  void add_up_gradient(const Block& ds, const Block& x, Block& dx) const {
    each(x, [&](std::size_t i, std::size_t row, double e) { dx.data[i] = e * ds.data[row]; });
  }
  void forward(const Block& x, const Block& sums, Block& y) const {
    each(x, [&](std::size_t i, std::size_t row, double e) { y.data[i] = e / sums.data[row]; });
  }
  void input_gradient(const Block& dy, const Block& x, const Block& sums, Block& dx) const {
    each(x, [&](std::size_t i, std::size_t row, double e) {
      dx.data[i] = dy.data[i] * e / sums.data[row];
    });
  }
  void sums_gradient(const Block& dy, const Block& x, const Block& sums, Block& ds) const {
    each(x, [&](std::size_t i, std::size_t row, double e) {
      ds.data[row] -= dy.data[i] * e / (sums.data[row] * sums.data[row]);
    });
  }

 private:
  template <class Visit>
  void each(const Block& x, Visit visit) const {
    const auto width = static_cast<std::size_t>(x.size.back());
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      visit(i, i / width, std::exp(x.data[i] - maxima_.data[i / width]));
    }
  }

  const Block& maxima_;
};

// Attention of local queries to local keys and values, [B, T, heads, H] blocks whose H is whole, as
// is T of the keys; head n reads key head n / group. Rows lie in any order: `position` says where
// each row of the whole array stands in the sequence.
class Attention {
 public:
  Attention(const Block& q, const Block& k, const Block& v, bool causal,
            const std::vector<int>& position)
      : q_(q), k_(k), v_(v), group_(q.size[2] / k.size[2]), causal_(causal), position_(position) {
    if (k.size[1] != static_cast<int>(position.size()))
      throw Unexecutable("attention reads a part of the keys");
  }

  void forward(Block& out) const {
    each_row([&](int b, int t, int n) {
      const std::vector<double> p = probabilities(b, t, n);
      for (int s = 0; s < k_.size[1]; ++s) {
        for (int h = 0; h < q_.size[3]; ++h) {
          at(out, b, t, n, h) += p[static_cast<std::size_t>(s)] * at(v_, b, s, n / group_, h);
        }
      }
    });
  }
  void backward(const Block& dout, Block& dq, Block& dk, Block& dv) const {
    const double scale = 1 / std::sqrt(static_cast<double>(q_.size[3]));
    each_row([&](int b, int t, int n) {
      const int kv = n / group_;
      const std::vector<double> p = probabilities(b, t, n);
      std::vector<double> dp(p.size());
      double mean = 0;
      for (int s = 0; s < k_.size[1]; ++s) {
        const auto i = static_cast<std::size_t>(s);
        for (int h = 0; h < q_.size[3]; ++h) {
          dp[i] += at(dout, b, t, n, h) * at(v_, b, s, kv, h);
          at(dv, b, s, kv, h) += p[i] * at(dout, b, t, n, h);
        }
        mean += p[i] * dp[i];
      }
      for (int s = 0; s < k_.size[1]; ++s) {
        const auto i = static_cast<std::size_t>(s);
        const double ds = p[i] * (dp[i] - mean) * scale;
        for (int h = 0; h < q_.size[3]; ++h) {
          at(dq, b, t, n, h) += ds * at(k_, b, s, kv, h);
          at(dk, b, s, kv, h) += ds * at(q_, b, t, n, h);
        }
      }
    });
  }

 private:
  bool sees(int t, int s) const {
    const auto at = [&](int row) { return position_[static_cast<std::size_t>(row)]; };
    return !causal_ || at(s) <= at(q_.start[1] + t);
  }
  static std::size_t offset(const Block& block, int b, int t, int n, int h) {
    const auto& s = block.size;
    return static_cast<std::size_t>(((b * s[1] + t) * s[2] + n) * s[3] + h);
  }
  static double at(const Block& block, int b, int t, int n, int h) {
    return block.data[offset(block, b, t, n, h)];
  }
  static double& at(Block& block, int b, int t, int n, int h) {
    return block.data[offset(block, b, t, n, h)];
  }
  template <class Visit>
  void each_row(Visit visit) const {
    for (int b = 0; b < q_.size[0]; ++b) {
      for (int t = 0; t < q_.size[1]; ++t) {
        for (int n = 0; n < q_.size[2]; ++n) visit(b, t, n);
      }
    }
  }
  std::vector<double> probabilities(int b, int t, int n) const {
    std::vector<double> p;
    double sum = 0;
    for (int s = 0; s < k_.size[1]; ++s) {
      if (!sees(t, s)) {
        p.push_back(0);
        continue;
      }
      double dot = 0;
      for (int h = 0; h < q_.size[3]; ++h) dot += at(q_, b, t, n, h) * at(k_, b, s, n / group_, h);
      p.push_back(std::exp(dot / std::sqrt(static_cast<double>(q_.size[3]))));
      sum += p.back();
    }
    for (double& x : p) x /= sum;
    return p;
  }

  const Block& q_;
  const Block& k_;
  const Block& v_;
  int group_;
  bool causal_;
  const std::vector<int>& position_;
};

}  // namespace shardsim::testing
