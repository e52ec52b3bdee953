// SPDX-License-Identifier: BSL-1.0
// Decompositions of matrices and what is computed by them: inverse, det, solve, qr, svd, eigh and others. They take
// long to compile: who links kiln::compiled compiles decompositions_impl.hpp in a file of its own, once.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

namespace decompositions {
/// The singular values of the matrices in the last two axes, the largest first, without history. Throws shape_error for
/// fewer axes, graph_error where a gradient is wanted, value_error where Eigen was not there when this was compiled.
dynamic::tensor singular_values(const dynamic::tensor& x);
}  // namespace decompositions

void offer_decompositions(registry& r);

}  // namespace kiln::k

#ifndef KILN_COMPILED
#include <kiln/k/decompositions_impl.hpp>
#endif
