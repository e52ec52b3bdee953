// SPDX-License-Identifier: BSL-1.0
// gather, scatter and their relatives on Tensor<T, Cuda>.
#pragma once

#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/run/index.hpp>
#include <kiln/tensor/indexing.hpp>

namespace kiln {
namespace detail {

/// Enters the kernels for elements of T among those that a bundle holds.
template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_index_kernels{
    {[] { return cuda::index_kernels_of(dtype_of<T>); }}};

}  // namespace detail

template <>
struct indexer<Cuda> {
  template <Element T>
  static void run(const index_job& job, const storage& near) {
    static_cast<void>(detail::registered_index_kernels<T>);
    cuda::run_index(job, dtype_of<T>, {near.device});
  }
};

}  // namespace kiln
