// SPDX-License-Identifier: BSL-1.0
// Functions of functions, for users: derivatives and batches of functions of tensors and of plain numbers.
#pragma once

#include <kiln/transform/gradient.hpp>  // grad, value_and_grad
#include <kiln/transform/jacobian.hpp>  // jacobian, jacrev, jacfwd, hessian, hvp
#include <kiln/transform/jvp.hpp>       // jvp
#include <kiln/transform/vjp.hpp>       // vjp
#include <kiln/transform/vmap.hpp>      // vmap, unmapped
