// SPDX-License-Identifier: BSL-1.0
// All of kiln for the CPU. What each include brings:
#pragma once

#include <kiln/autograd/backward.hpp>         // backward
#include <kiln/autograd/check_gradient.hpp>   // check_gradient
#include <kiln/core/dtype.hpp>                // element types and their promotion
#include <kiln/core/error.hpp>                // exceptions
#include <kiln/core/philox.hpp>               // generator, manual_seed
#include <kiln/core/version.hpp>              // KILN_VERSION_*
#include <kiln/device/cpu/threads.hpp>        // set_num_threads
#include <kiln/expr/formula.hpp>              // formula, tape_listing, gradient_listing: an expression in print
#include <kiln/expr/reductions.hpp>           // sum, mean, max, softmax, layer_norm ...
#include <kiln/nn/functional/batch_norm.hpp>  // batch_norm
#include <kiln/nn/functional/conv2d.hpp>      // conv2d
#include <kiln/nn/functional/dropout.hpp>     // dropout
#include <kiln/nn/functional/pool2d.hpp>      // max_pool2d, avg_pool2d
#include <kiln/ops/all.hpp>                   // + - * / exp tanh where gelu ...
#include <kiln/tensor/argmax.hpp>             // argmax, argmin
#include <kiln/tensor/creation.hpp>           // zeros, ones, full, arange, linspace, eye, tensor ...
#include <kiln/tensor/draw.hpp>               // bernoulli, normal
#include <kiln/tensor/indexing.hpp>           // gather, scatter, index_select ...
#include <kiln/tensor/join.hpp>               // cat, stack
#include <kiln/tensor/one_hot.hpp>            // one_hot
#include <kiln/tensor/print.hpp>              // <<, to_string
#include <kiln/tensor/products.hpp>           // matmul, dot, outer
#include <kiln/tensor/random.hpp>             // rand, randn, randint, randperm ...
#include <kiln/tensor/tensor.hpp>             // Tensor
#include <kiln/tensor/transfer.hpp>           // to<Device>
#include <kiln/tensor/views.hpp>              // reshape, transpose, slice, expand ...
