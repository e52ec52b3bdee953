// SPDX-License-Identifier: BSL-1.0
// Dynamic tensors from and to vectors of doubles.
#pragma once

#include <cmath>
#include <cstddef>
#include <kiln/dynamic/tensor.hpp>
#include <support/said.hpp>
#include <vector>

namespace test {

using kiln::dynamic::tensor;

/// A tensor of these elements, converted to a type.
inline tensor made(const kiln::dims& sizes, const std::vector<double>& values,
                   kiln::dtype type = kiln::dtype::float32) {
  auto state = kiln::new_tensor(type, sizes);
  kiln::visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < values.size(); ++i)
      static_cast<T*>(state->data)[i] = static_cast<T>(static_cast<kiln::compute_t<T>>(values[i]));
  });
  return tensor::of(std::move(state));
}
/// The elements as doubles.
inline std::vector<double> values(const tensor& x) {
  std::vector<double> all;
  const void* const data = x.data();
  kiln::visit_dtype(x.type(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      all.push_back(static_cast<double>(static_cast<kiln::compute_t<T>>(static_cast<const T*>(data)[i])));
  });
  return all;
}
/// Whether each differs by no more than a part of itself, or of 1.
inline bool near(const std::vector<double>& a, const std::vector<double>& b, double part = 1e-5) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= part * (1 + std::abs(b[i])))) return false;
  return true;
}

}  // namespace test
