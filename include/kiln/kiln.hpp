// SPDX-License-Identifier: BSL-1.0
// All of kiln for the CPU. What each include brings:
#pragma once

// Those with sentences on mistakes first, each by itself: compilers write out the way in which a header came in.
#include <kiln/core/version.hpp>  // KILN_VERSION_*

#include <kiln/core/dtype.hpp>  // element types and their promotion
#include <kiln/core/error.hpp>  // exceptions

#include <kiln/expr/methods.hpp>  // what can be asked of every expression

#include <kiln/ops/logical.hpp>  // & | logical_and ...

#include <kiln/expr/node.hpp>  // lazy expressions

#include <kiln/expr/reductions.hpp>  // sum, mean, max, softmax, layer_norm ...

#include <kiln/tensor/tensor.hpp>  // Tensor

#include <kiln/autograd/backward.hpp>         // backward
#include <kiln/autograd/check_gradient.hpp>   // check_gradient
#include <kiln/autograd/checkpoint.hpp>       // checkpoint: computed again in the backward pass
#include <kiln/autograd/grad.hpp>             // grad: gradients as values
#include <kiln/autograd/hooks.hpp>            // Tensor::on_gradient
#include <kiln/autograd/with_gradient.hpp>    // with_gradient: a gradient of one's own
#include <kiln/core/philox.hpp>               // generator, manual_seed
#include <kiln/device/cpu/kernel/plain.hpp>     // exp(0.5f), relu(0.5f): ops on plain numbers
#include <kiln/device/cpu/threads/threads.hpp>  // set_num_threads
#include <kiln/expr/formula.hpp>              // formula, tape_listing, gradient_listing: an expression in print
#include <kiln/expr/members.hpp>              // x.sum(), x.exp(), x.argmax() ...
#include <kiln/nn/functional/batch_norm.hpp>  // batch_norm
#include <kiln/nn/functional/conv2d.hpp>      // conv2d
#include <kiln/nn/functional/dropout.hpp>     // dropout
#include <kiln/nn/functional/pool2d.hpp>      // max_pool2d, avg_pool2d
#include <kiln/ops/all.hpp>                   // + - * / exp tanh where gelu ...
#include <kiln/tensor/argmax.hpp>             // argmax, argmin
#include <kiln/tensor/assign.hpp>             // assign: several tensors in one kernel
#include <kiln/tensor/creation.hpp>           // zeros, ones, full, arange, linspace, eye, tensor ...
#include <kiln/tensor/draw.hpp>               // bernoulli, normal
#include <kiln/tensor/einsum.hpp>             // einsum
#include <kiln/tensor/equal.hpp>              // equal, allclose, isclose
#include <kiln/tensor/indexing.hpp>           // gather, scatter, index_select ...
#include <kiln/tensor/join.hpp>               // cat, stack
#include <kiln/tensor/mask.hpp>               // masked_fill, masked_select, nonzero
#include <kiln/tensor/masked_elements.hpp>    // x[mask]
#include <kiln/tensor/meshgrid.hpp>           // meshgrid
#include <kiln/tensor/one_hot.hpp>            // one_hot
#include <kiln/tensor/print.hpp>              // <<, to_string
#include <kiln/tensor/products.hpp>           // matmul, dot, outer
#include <kiln/tensor/random.hpp>             // rand, randn, randint, randperm ...
#include <kiln/tensor/reorder.hpp>            // flip, roll
#include <kiln/tensor/repeat.hpp>             // repeat, tile, repeat_interleave
#include <kiln/tensor/scan.hpp>               // cumsum, cumprod
#include <kiln/tensor/sort.hpp>               // sort, argsort, topk, kthvalue, median
#include <kiln/tensor/split.hpp>              // split, chunk, unbind
#include <kiln/tensor/transfer.hpp>           // to<Device>
#include <kiln/tensor/triangular.hpp>         // tril, triu, diag, diagonal
#include <kiln/tensor/views.hpp>              // reshape, transpose, slice, expand ...
#ifdef KILN_COMPILED
#include <kiln/autograd/anomaly.hpp>       // detect_anomaly; the same
#include <kiln/autograd/create_graph.hpp>  // create_graph; without the compiled library, include it where it is wanted
#endif
