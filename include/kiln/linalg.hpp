// SPDX-License-Identifier: BSL-1.0
// Linear algebra by Eigen, for users: equations and decompositions of matrices and stacks of them, with gradients.
#pragma once

#include <kiln/linalg/cholesky.hpp>    // cholesky
#include <kiln/linalg/eigh.hpp>        // eigh, eigvalsh
#include <kiln/linalg/lu.hpp>          // solve, inv, det, slogdet, matrix_power
#include <kiln/linalg/qr.hpp>          // qr, lstsq
#include <kiln/linalg/svd.hpp>         // svd, svdvals, matrix_rank, pinv
#include <kiln/linalg/triangular.hpp>  // solve_triangular
