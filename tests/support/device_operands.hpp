// SPDX-License-Identifier: BSL-1.0
// Tensors on any device in drawn layouts, beside the same numbers on the host, where plain double loops say what an
// expression should have given.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <kiln/kiln.hpp>

namespace device_test {

using namespace kiln;

/// A seed that picks at compile time what is tried, too.
template <std::uint64_t Seed>
using seed = std::integral_constant<std::uint64_t, Seed>;

/// Numbers that follow from a seed.
class drawing {
 public:
  explicit drawing(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  double between(double low, double high) { return low + (high - low) * static_cast<double>(next()) / 0x1p31; }

 private:
  std::uint64_t state_;
};

template <class T>
T rounded(double value) {
  return static_cast<T>(static_cast<compute_t<T>>(value));
}
template <class T>
double number(T value) {
  return static_cast<double>(static_cast<compute_t<T>>(value));
}

/// What rounding at the end, and the device's functions, may cost relative to the values' size.
template <class T>
constexpr double tolerance() {
  if constexpr (!is_floating(dtype_of<T>)) return 0;
  return dtype_of<T> == dtype::float64   ? 1e-11
         : dtype_of<T> == dtype::float32 ? 1e-5
         : dtype_of<T> == dtype::float16 ? 2e-3
                                         : 1e-2;
}

/// Calls f with each index of a domain, in the order of a contiguous result.
template <class F>
void each_index(const dims& domain, F f) {
  if (std::count(domain.begin(), domain.end(), 0) > 0) return;
  dims index = dims::filled(domain.rank(), 0);
  for (;;) {
    f(index);
    int axis = domain.rank() - 1;
    while (axis >= 0 && ++index[axis] == domain[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

/// A tensor on the device that a view looks at, and its numbers on the host.
template <class T, class Device>
struct operand {
  Tensor<T, Device> base, view;
  std::vector<double> values;  ///< of base
  dims strides;                ///< of view over the domain: 0 where it is broadcast
  std::int64_t offset = 0;

  std::size_t place(const dims& index) const {
    std::int64_t at = offset;
    for (int d = 0; d < index.rank(); ++d) at += index[d] * strides[d];
    return static_cast<std::size_t>(at);
  }
  double at(const dims& index) const { return values[place(index)]; }
};

template <class Device, class T>
Tensor<T, Device> to_device(const std::vector<double>& values, const dims& sizes) {
  Tensor<T> here = empty<T>(sizes);
  for (std::size_t i = 0; i < values.size(); ++i) here.data()[i] = rounded<T>(values[i]);
  return here.template to<Device>();
}
template <class T, class Device>
std::vector<double> to_host(const Tensor<T, Device>& x) {
  const Tensor<T> here = x.template to<Cpu>().clone();
  std::vector<double> values;
  for (const T v : here.span()) values.push_back(number(v));
  return values;
}

/// An operand that a domain can read: in some order of the axes, some of them with steps or broadcast; or, `plain`,
/// contiguous.
template <class Device, class T>
operand<T, Device> drawn_operand(drawing& draw, const dims& domain, double low, double high, bool needs_grad,
                                 bool plain = false) {
  const int rank = domain.rank();
  std::vector<int> order(static_cast<std::size_t>(rank));  // of the axes in memory, the fast one last
  std::iota(order.begin(), order.end(), 0);
  if (!plain && draw.once_in(3))
    for (std::size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(i) + 1))]);
  dims sizes, steps = dims::filled(rank, 1), starts = dims::filled(rank, 0), lengths = domain;
  for (const int axis : order) {
    if (!plain && draw.once_in(5)) lengths[axis] = 1;
    if (!plain && draw.once_in(5)) {
      steps[axis] = 1 + draw.below(3);
      starts[axis] = draw.below(3);
    }
    sizes.push_back(starts[axis] + std::max<std::int64_t>(lengths[axis] - 1, 0) * steps[axis] + 1 +
                    draw.below(plain ? 1 : 2));
  }
  if (plain) sizes = domain;
  operand<T, Device> made;
  made.values.resize(static_cast<std::size_t>(count(sizes)));
  for (double& v : made.values) v = number(rounded<T>(draw.between(low, high)));
  made.base = to_device<Device, T>(made.values, sizes);
  if constexpr (is_floating(dtype_of<T>))
    if (needs_grad) made.base.requires_grad();
  dims back = dims::filled(rank, 0), base_strides = dims::filled(rank, 1);
  for (int i = rank - 1; i-- > 0;) base_strides[i] = base_strides[i + 1] * sizes[i + 1];
  made.strides = dims::filled(rank, 0);
  for (int i = 0; i < rank; ++i) {
    const int axis = order[static_cast<std::size_t>(i)];
    back[axis] = i;
    made.offset += starts[axis] * base_strides[i];
    if (lengths[axis] > 1) made.strides[axis] = base_strides[i] * steps[axis];
  }
  made.view = plain ? made.base : made.base.permute(back);
  if (!plain)
    for (int axis = 0; axis < rank; ++axis)
      made.view =
          made.view.slice(axis, starts[axis], starts[axis] + (lengths[axis] - 1) * steps[axis] + 1, steps[axis]);
  return made;
}

/// The largest difference, infinite where one is NaN: relative to the value where that is above 1; or, for sums, to the
/// largest of all.
inline double distance(const std::vector<double>& got, const std::vector<double>& wanted, bool sums = true) {
  if (got.size() != wanted.size()) return INFINITY;
  double scale = 1, worst = 0;
  if (sums)
    for (const double w : wanted) scale = std::max(scale, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = std::abs(got[i] - wanted[i]) / (sums ? scale : std::max(1.0, std::abs(wanted[i])));
    worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
  }
  return worst;
}

/// Sizes of up to `most_axes` axes, some thousand elements or as many as `most`.
inline dims drawn_domain(drawing& draw, int most_axes, std::int64_t most = 2'000) {
  dims domain;
  const auto rank = 1 + draw.below(most_axes);
  std::int64_t elements = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t size = 1 + draw.below(std::max<std::int64_t>(2, std::min<std::int64_t>(most / elements, 70)));
    domain.push_back(size);
    elements *= size;
  }
  return domain;
}

}  // namespace device_test
