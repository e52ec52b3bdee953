// SPDX-License-Identifier: BSL-1.0
// gather, scatter and their relatives on Tensor<T, Cuda>.
#pragma once

#include <kiln/device/cuda/index.hpp>
#include <kiln/tensor/indexing.hpp>

namespace kiln::detail {

template <>
struct indexer<Cuda> {
  template <Element T>
  static void run(const index_job& job, const storage& near) {
    cuda::run_index(job, dtype_of<T>, {near.device});
  }
};

}  // namespace kiln::detail
