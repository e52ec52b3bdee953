// SPDX-License-Identifier: BSL-1.0
// Tensors and Eigen: eigen_matrix and eigen_vector look at a tensor's elements, from_eigen copies an Eigen expression,
// from_blob looks at an Eigen object's elements. Optional: not part of kiln.hpp.
#pragma once

#include <Eigen/Core>

#include <cstdint>
#include <type_traits>

#include <kiln/tensor/creation.hpp>

namespace kiln {

/// A matrix over memory with any strides.
template <class T>
using eigen_matrix_map = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                                    Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
/// A vector over memory with any stride.
template <class T>
using eigen_vector_map =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>, Eigen::Unaligned, Eigen::InnerStride<Eigen::Dynamic>>;

/// The elements of a 2-D tensor, or of a 1-D tensor as a column, as an Eigen matrix. Nothing is copied: the map is
/// valid while a tensor with these elements lives, and writing through it is not tracked. Throws shape_error for other
/// ranks.
template <Element T>
eigen_matrix_map<T> eigen_matrix(const Tensor<T>& x) {
  static_assert(std::is_arithmetic_v<T>, "kiln: Eigen does not know kiln's half types: cast<float>() first");
  if (x.dim() != 1 && x.dim() != 2)
    throw shape_error(message("eigen_matrix: a tensor of shape ", x.sizes(), " is no matrix: reshape it to two axes"));
  const std::int64_t columns = x.dim() == 2 ? x.sizes()[1] : 1, column_stride = x.dim() == 2 ? x.strides()[1] : 1;
  return {x.data(), static_cast<Eigen::Index>(x.sizes()[0]), static_cast<Eigen::Index>(columns),
          Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(static_cast<Eigen::Index>(x.strides()[0]),
                                                        static_cast<Eigen::Index>(column_stride))};
}
/// The elements of a 1-D tensor as an Eigen vector, under the same conditions. Throws shape_error for other ranks.
template <Element T>
eigen_vector_map<T> eigen_vector(const Tensor<T>& x) {
  static_assert(std::is_arithmetic_v<T>, "kiln: Eigen does not know kiln's half types: cast<float>() first");
  if (x.dim() != 1)
    throw shape_error(message("eigen_vector: a tensor of shape ", x.sizes(), " is no vector: flatten it"));
  return {x.data(), static_cast<Eigen::Index>(x.sizes()[0]),
          Eigen::InnerStride<Eigen::Dynamic>(static_cast<Eigen::Index>(x.strides()[0]))};
}

/// The value of an Eigen expression in a tensor of its own: 1-D if its type is a vector's, else 2-D.
template <class Derived>
Tensor<typename Derived::Scalar> from_eigen(const Eigen::DenseBase<Derived>& x) {
  using T = typename Derived::Scalar;
  if constexpr (Derived::IsVectorAtCompileTime) {
    auto result = empty<T>({static_cast<std::int64_t>(x.size())});
    auto to = eigen_vector(result);
    if constexpr (Derived::ColsAtCompileTime == 1)
      to.array() = x.derived().array();
    else
      to.array() = x.derived().array().transpose();
    return result;
  } else {
    auto result = empty<T>({static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(x.cols())});
    eigen_matrix(result).array() = x.derived().array();
    return result;
  }
}

/// A tensor that looks at the elements of an Eigen matrix, array or map, row- or column-major, without a copy. The
/// memory must outlive the tensor and everything that shares its elements, and must not be resized meanwhile.
template <class Derived>
  requires std::is_base_of_v<Eigen::DenseBase<Derived>, Derived> &&(bool(Derived::Flags& Eigen::DirectAccessBit)) &&
      (bool(Derived::Flags & Eigen::LvalueBit)) Tensor<typename Derived::Scalar> from_blob(Derived& x) {
    if constexpr (Derived::IsVectorAtCompileTime)
      return from_blob(x.data(), {static_cast<std::int64_t>(x.size())},
                       dims{static_cast<std::int64_t>(x.innerStride())});
    else
      return from_blob(x.data(), {static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(x.cols())},
                       dims{static_cast<std::int64_t>(x.rowStride()), static_cast<std::int64_t>(x.colStride())});
  }

}  // namespace kiln
