// SPDX-License-Identifier: BSL-1.0
// What functions of linear algebra have in common: stacks of matrices, taken one by one as Eigen's objects.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <Eigen/Core>

#include <kiln/autograd/with_gradient.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/triangular.hpp>

namespace kiln::linalg::detail {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using matrix_map = Eigen::Map<const matrix<T>>;
template <class T>
using matrix_out = Eigen::Map<matrix<T>>;
template <class T>
using vector_out = Eigen::Map<vector<T>>;

/// x as a tensor; of what linear algebra does not take, after a sentence on it, some tensor, so that no more is said.
template <Expression X>
auto matrices_in(const X& x) {
  constexpr bool transformed = kiln::detail::any_transformed<X>, on_host = executor<typename X::device_type>::on_host;
  constexpr bool floating = std::same_as<typename X::value_type, float> || std::same_as<typename X::value_type, double>;
  static_assert(!transformed,
                "kiln: the functions of linalg take stacks of matrices themselves: call them on the whole batch, not "
                "within vmap and jvp");
  static_assert(floating, "kiln: the functions of linalg take float and double: cast<double>() the tensor");
  static_assert(on_host || transformed,
                "kiln: the functions of linalg run on the processor: bring the tensor there with .to<Cpu>()");
  if constexpr (transformed || !floating || !on_host)
    return Tensor<double>();
  else
    return kiln::detail::as_tensor(x);
}

/// The value of x as a stack of matrices in contiguous memory.
template <Expression X>
auto stack_of(const X& x, const char* function) {
  const auto t = matrices_in(x);
  if (t.dim() < 2)
    throw shape_error(message(function, ": shape ", t.sizes(),
                              " has no matrices: give two axes at least, the last two are rows and columns"));
  return t.contiguous();
}
/// The same of square matrices.
template <Expression X>
auto squares_of(const X& x, const char* function) {
  const auto t = stack_of(x, function);
  if (t.size(-1) != t.size(-2))
    throw shape_error(message(function, ": shape ", t.sizes(), " has matrices that are not square"));
  return t;
}

/// Sizes with the last two replaced: by rows and columns, by one, or by none.
inline dims sizes_like(dims of, std::initializer_list<std::int64_t> last) {
  of.erase(of.rank() - 1);
  of.erase(of.rank() - 1);
  for (const std::int64_t n : last) of.push_back(n);
  return of;
}

/// The i-th matrix of a stack, to be read.
template <class T, class Device>
matrix_map<T> matrix_at(const Tensor<T, Device>& of, std::int64_t i) {
  return {of.data() + i * of.size(-2) * of.size(-1), of.size(-2), of.size(-1)};
}
/// That of a result, to be written.
template <class T, class Device>
matrix_out<T> matrix_at(Tensor<T, Device>& of, std::int64_t i) {
  return {of.data() + i * of.size(-2) * of.size(-1), of.size(-2), of.size(-1)};
}

/// f(i, matrix) for each matrix of a stack; for none that has no elements.
template <class T, class Device, class F>
void each_matrix(const Tensor<T, Device>& of, F f) {
  if (of.numel() == 0) return;
  const std::int64_t size = of.size(-2) * of.size(-1);
  for (std::int64_t i = 0; i < of.numel() / size; ++i) f(i, matrix_at(of, i));
}

/// The i-th row of a result, as a vector.
template <class T, class Device>
vector_out<T> vector_at(Tensor<T, Device>& of, std::int64_t i) {
  return {of.data() + i * of.size(-1), of.size(-1)};
}

/// ", matrix 2 of 5": which one of a stack, for errors.
template <class T, class Device>
std::string which(const Tensor<T, Device>& of, std::int64_t i) {
  if (of.dim() == 2) return "";
  return message(", matrix ", i, " of ", of.numel() / (of.size(-1) * of.size(-2)));
}

template <Expression X>
auto turned(const X& x) {
  return transpose(x, -2, -1);
}

/// The symmetric matrices whose lower triangles are those of x.
template <Expression X>
auto mirrored(const X& x) {
  return Tensor<typename X::value_type, typename X::device_type>(tril(x) + turned(tril(x, -1)));
}

}  // namespace kiln::linalg::detail
