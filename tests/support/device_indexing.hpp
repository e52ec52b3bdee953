// SPDX-License-Identifier: BSL-1.0
// Gather, scatter, what moves and repeats elements, and their gradients on any device, by numbers that can be had by
// hand.
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

/// Strides below 0 and of 0, read and, for the gradient, written.
template <class Device>
void check_other_orders() {
  Tensor<double, Device> x{{1, 2, 3}, {4, 5, 6}};
  const Tensor<double, Device> weights{{1, 10, 100}, {2, 20, 200}};
  x.requires_grad();
  CHECK(values(flip(x)) == list{6, 5, 4, 3, 2, 1});
  CHECK(values(roll(x, {1, -1}, {0, 1})) == list{5, 6, 4, 2, 3, 1});
  CHECK(values(repeat(x, 1, 2)) == list{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(values(repeat_interleave(x, 2, 1)) == list{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  CHECK(values(repeat_interleave(x, Tensor<std::int64_t, Device>{0, 2}, 0)) == list{4, 5, 6, 4, 5, 6});
  backward(sum(flip(x, 1) * weights + roll(x, 1, 1) * weights));
  CHECK(values(x.grad()) == list{110, 110, 2, 220, 220, 4});
  x.zero_grad();
  backward(sum(repeat(x, 2, 1) * repeat_interleave(weights, 2, 0)));
  CHECK(values(x.grad()) == list{3, 30, 300, 3, 30, 300});
  // Rows that are longer than a strip or a tile.
  const Tensor<float, Device> wide = reshape(arange<float>(600, Device{}), {2, 300});
  CHECK(values(flip(wide, 1))[0] == 299);
  CHECK(values(flip(transpose(wide, 0, 1), {0, 1}))[1] == 299);
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
