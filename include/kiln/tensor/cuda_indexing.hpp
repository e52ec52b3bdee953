// SPDX-License-Identifier: BSL-1.0
// gather, scatter and their relatives on Tensor<T, Cuda>.
#pragma once

#include <vector>

#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/run/index.hpp>
#include <kiln/tensor/indexing.hpp>

namespace kiln {
namespace detail {

/// Enters the kernels for elements of T among those that a bundle holds.
template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_index_kernels{{[] {
  using cuda::index_kernel;
  std::vector<cuda::source> all;
  for (const index_kernel which :
       {index_kernel::gather, index_kernel::scatter, index_kernel::scatter_add, index_kernel::make_keys,
        index_kernel::radix_count, index_kernel::radix_scan, index_kernel::radix_place, index_kernel::sum_in_order})
    for (const bool wide : {false, true})
      if (which != index_kernel::scatter_add || sizeof(T) > 1)
        for (const bool wide_walk : {false, true}) all.push_back(print_index(which, dtype_of<T>, wide, wide_walk));
  return all;
}}};

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
