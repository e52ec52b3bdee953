// SPDX-License-Identifier: BSL-1.0
// Gather, scatter and their gradients on any device, by numbers that can be had by hand.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <kiln/kiln.hpp>

namespace device_test {

using namespace kiln;
using list = std::vector<double>;

/// The elements of a tensor, or of an expression.
template <Expression X>
list values(const X& x) {
  using T = typename X::value_type;
  list out;
  const Tensor<T, typename X::device_type> there = x;
  const Tensor<T> here = there.template to<Cpu>().contiguous();
  for (const T v : here.span()) out.push_back(static_cast<double>(static_cast<compute_t<T>>(v)));
  return out;
}

template <class Device>
void check_indexing() {
  using at = Tensor<std::int64_t, Device>;
  const Tensor<float, Device> x{{0, 1, 2}, {10, 11, 12}, {20, 21, 22}, {30, 31, 32}};
  CHECK(values(index_select(x, 0, at{3, 0, 3})) == list{30, 31, 32, 0, 1, 2, 30, 31, 32});
  CHECK(values(index_select(x.t(), 1, Tensor<std::int32_t, Device>{1, 2})) == list{10, 20, 11, 21, 12, 22});
  CHECK(values(gather(x, 0, at{{1, 0, 3}, {2, 2, 2}})) == list{10, 1, 32, 20, 21, 22});
  const auto zero = zeros<float, Device>({3, 2});
  const Tensor<float, Device> v{{1, 2}, {3, 4}};
  CHECK(values(scatter(zero, 0, at{{1, 2}, {0, 0}}, v)) == list{3, 4, 1, 0, 0, 2});
  CHECK(values(scatter_add(zero, 0, at{{1, 1}, {1, 0}}, v)) == list{0, 4, 4, 2, 0, 0});
  CHECK(values(index_add(zero, 1, at{1, 1}, ones<float, Device>({3, 2}))) == list{0, 2, 0, 2, 0, 2});
  CHECK(Tensor<float, Device>(index_select(x, 0, zeros<std::int64_t, Device>({0}))).numel() == 0);
}

template <class Device>
void check_gradients_of_indexing() {
  using at = Tensor<std::int64_t, Device>;
  Tensor<double, Device> x{{1, 2, 3}, {4, 5, 6}}, v{{7, 8, 9}, {10, 11, 12}};
  x.requires_grad(), v.requires_grad();
  backward(sum(square(index_select(x, 0, at{1, 0, 1}))));
  CHECK(values(x.grad()) == list{2, 4, 6, 16, 20, 24});
  x.zero_grad();
  backward(sum(square(index_add(x, 0, at{1, 1}, v))));
  CHECK(values(x.grad()) == list{2, 4, 6, 42, 48, 54});
  CHECK(values(v.grad()) == list{42, 48, 54, 42, 48, 54});
  x.zero_grad(), v.zero_grad();
  backward(sum(square(scatter(x, 1, at{{2}, {1}}, v))));
  CHECK(values(x.grad()) == list{2, 4, 0, 8, 0, 12});
  CHECK(values(v.grad()) == list{14, 0, 0, 20, 0, 0});
}

}  // namespace device_test
