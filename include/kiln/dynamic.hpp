// SPDX-License-Identifier: BSL-1.0
// Tensors whose type is known while the program runs, all of it. Each of these headers may be included alone; modules,
// losses and optimizers cost the compiler the most.
#pragma once

#include <kiln/dynamic/containers.hpp>  // sequential, make_container
#include <kiln/dynamic/creation.hpp>    // from_host, zeros, full, arange, rand
#include <kiln/dynamic/custom.hpp>      // with_gradient
#include <kiln/dynamic/images.hpp>      // conv2d, poolings, batch_norm, dropout
#include <kiln/dynamic/indexing.hpp>    // index_select, gather, argmax, one_hot
#include <kiln/dynamic/lent.hpp>        // lent
#include <kiln/dynamic/losses.hpp>      // make_loss
#include <kiln/dynamic/modules.hpp>     // make_module, sequential
#include <kiln/dynamic/operators.hpp>   // + - * /
#include <kiln/dynamic/optimizers.hpp>  // make_optimizer
#include <kiln/dynamic/products.hpp>    // matmul, linear
#include <kiln/dynamic/shape.hpp>       // reshape, transpose, cat
#include <kiln/dynamic/tensor.hpp>      // tensor, call, reduce, softmax
