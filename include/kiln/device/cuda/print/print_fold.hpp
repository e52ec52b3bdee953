// SPDX-License-Identifier: BSL-1.0
// Partial results of many threads become one: the folds of kernels/reduce.cuh as text.
#pragma once

#include <string>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print.hpp>

namespace kiln::cuda::detail {

/// A value that each thread has its own of, the function that joins two of them, and what joins as nothing.
struct fold {
  std::string name, how, identity;
};
/// The fold of reduction i: `v5`, `fold5`.
fold fold_of(const tape_view& t, int i);
/// `const auto fold5 = ...;`: how two partial results of reduction i are joined.
void define_fold(lines& out, const tape_view& t, int i);
/// `float v5 = ...;`: what a thread begins with.
void begin_fold(lines& out, const tape_view& t, int i);

/// Folds over the threads of a block by way of `meeting`, of which `place` folds have their 32 words already; or over
/// those of a cluster of blocks, where a fold has 32 words for each.
void fold_block(lines& out, const std::vector<fold>& folds, int& place, int cluster = 1);

}  // namespace kiln::cuda::detail

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_fold_impl.hpp>
#endif
