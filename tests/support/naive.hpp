// SPDX-License-Identifier: BSL-1.0
// The oracle of the executor's tests: an n-dimensional array of doubles, worked on element by element with odometers.
// Nothing of kiln computes here; `naive::of` only reads a tensor through its sizes and strides.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <kiln/tensor/tensor.hpp>

namespace test {

using lengths = std::vector<std::int64_t>;

inline lengths sizes_of(const kiln::dims& d) {
  return {d.begin(), d.end()};
}
inline kiln::dims dims_of(const lengths& s) {
  return kiln::dims(std::span<const std::int64_t>(s));
}

inline std::int64_t elements(const lengths& s) {
  std::int64_t n = 1;
  for (auto size : s) n *= size;
  return n;
}

/// Calls f(index) for every multi-index of these sizes, in row-major order.
template <class F>
void for_each_index(const lengths& s, F f) {
  if (elements(s) == 0) return;
  lengths at(s.size(), 0);
  for (;;) {
    f(at);
    std::size_t i = s.size();
    for (; i > 0; --i) {
      if (++at[i - 1] < s[i - 1]) break;
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

struct naive {
  lengths shape;
  std::vector<double> values;

  naive() = default;
  explicit naive(lengths s, double fill = 0)
      : shape(std::move(s)), values(static_cast<std::size_t>(elements(shape)), fill) {}

  template <class T>
  static naive of(const kiln::Tensor<T>& t) {
    naive n(sizes_of(t.sizes()));
    std::size_t k = 0;
    for_each_index(n.shape, [&](const lengths& at) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * t.strides()[static_cast<int>(i)];
      n.values[k++] = static_cast<double>(static_cast<kiln::compute_t<T>>(t.data()[offset]));
    });
    return n;
  }

  /// The element at `index` of something that this array is broadcast to.
  double broadcast_at(const lengths& index) const {
    std::int64_t place = 0;
    const std::size_t extra = index.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + (shape[i] == 1 ? 0 : index[i + extra]);
    return values[static_cast<std::size_t>(place)];
  }
};

inline lengths joint_sizes(const lengths& a, const lengths& b) {
  lengths out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 1; i <= out.size(); ++i) {
    const std::int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    out[out.size() - i] = x == 1 ? y : x;
  }
  return out;
}

/// f of the elements, broadcast.
template <class F, class... N>
naive map(F f, const N&... n) {
  lengths shape;
  ((shape = joint_sizes(shape, n.shape)), ...);
  naive out(shape);
  std::size_t k = 0;
  for_each_index(shape, [&](const lengths& at) { out.values[k++] = static_cast<double>(f(n.broadcast_at(at)...)); });
  return out;
}

inline bool has(std::uint32_t mask, std::size_t axis) {
  return (mask >> axis & 1) != 0;
}

/// For each position of the axes outside `mask`: the elements along those inside it, in row-major order.
inline std::vector<std::vector<double>> rows_of(const naive& x, std::uint32_t mask) {
  lengths kept;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (!has(mask, i)) kept.push_back(x.shape[i]);
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(elements(kept)));
  std::size_t k = 0;
  for_each_index(x.shape, [&](const lengths& at) {
    std::int64_t row = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (!has(mask, i)) row = row * x.shape[i] + at[i];
    rows[static_cast<std::size_t>(row)].push_back(x.values[k++]);
  });
  return rows;
}

using fold = std::function<double(const std::vector<double>&)>;
using row_map = std::function<std::vector<double>(const std::vector<double>&)>;

inline naive reduce(const fold& f, const naive& x, std::uint32_t mask, bool keepdim) {
  lengths shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (!has(mask, i))
      shape.push_back(x.shape[i]);
    else if (keepdim)
      shape.push_back(1);
  }
  naive out(shape);
  const auto rows = rows_of(x, mask);
  for (std::size_t r = 0; r < rows.size(); ++r) out.values[r] = f(rows[r]);
  return out;
}

/// f of each row, put back where the row came from.
inline naive along(const row_map& f, const naive& x, std::uint32_t mask) {
  auto rows = rows_of(x, mask);
  for (auto& row : rows) row = f(row);
  naive out(x.shape);
  std::vector<std::size_t> next(rows.size(), 0);
  std::size_t k = 0;
  for_each_index(x.shape, [&](const lengths& at) {
    std::int64_t row = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (!has(mask, i)) row = row * x.shape[i] + at[i];
    const auto r = static_cast<std::size_t>(row);
    out.values[k++] = rows[r][next[r]++];
  });
  return out;
}

/// NumPy's matmul, for operands that fit.
inline naive matmul(naive a, naive b) {
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const std::int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  lengths batch = joint_sizes({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
  lengths shape = batch;
  if (!row) shape.push_back(m);
  if (!column) shape.push_back(n);
  naive out(shape);
  std::size_t at = 0;
  for_each_index(batch, [&](const lengths& where) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          lengths ia = where, ib = where;
          ia.insert(ia.end(), {i, q});
          ib.insert(ib.end(), {q, j});
          sum += a.broadcast_at(ia) * b.broadcast_at(ib);
        }
        out.values[at++] = sum;
      }
  });
  return out;
}

}  // namespace test
