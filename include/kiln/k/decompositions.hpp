// SPDX-License-Identifier: BSL-1.0
// Decompositions of matrices and what is computed by them: inverse, det, solve, qr, svd, eigh and others. They take
// long to compile: who links kiln::compiled compiles decompositions_impl.hpp in a file of its own, once.
#pragma once

#include <kiln/core/version.hpp>
#include <kiln/k/registry.hpp>

namespace kiln::k {

void offer_decompositions(registry& r);

}  // namespace kiln::k

#ifndef KILN_COMPILED
#include <kiln/k/decompositions_impl.hpp>
#endif
