// SPDX-License-Identifier: BSL-1.0
// Models: modules, layers, losses. Include it beside kiln.hpp, which has the tensors.
#pragma once

#include <kiln/nn/layers/layer.hpp>  // first: its sentences

#include <kiln/nn/convert.hpp>                // clone, to<Device>, to<T>
#include <kiln/nn/init.hpp>                   // init::fan_in ...
#include <kiln/nn/layer_names.hpp>            // layer_names
#include <kiln/nn/layers/activation.hpp>      // ReLU, GELU, Softmax ...
#include <kiln/nn/layers/attention.hpp>       // MultiheadAttention, PositionalEncoding, causal_mask
#include <kiln/nn/layers/batch_norm.hpp>      // BatchNorm1d, BatchNorm2d
#include <kiln/nn/layers/conv.hpp>            // Conv1d, Conv2d
#include <kiln/nn/layers/conv_transpose.hpp>  // ConvTranspose2d
#include <kiln/nn/layers/dropout.hpp>         // Dropout, Dropout2d
#include <kiln/nn/layers/dynamic.hpp>         // DynamicSequential: modules of any type, chosen at run time
#include <kiln/nn/layers/embedding.hpp>       // Embedding
#include <kiln/nn/layers/linear.hpp>          // Linear, Bilinear
#include <kiln/nn/layers/normalization.hpp>   // LayerNorm, RMSNorm, GroupNorm, InstanceNorm
#include <kiln/nn/layers/pool.hpp>            // MaxPool, AvgPool, AdaptiveAvgPool (1d, 2d)
#include <kiln/nn/layers/recurrent.hpp>       // RNN, LSTM, GRU
#include <kiln/nn/layers/sequential.hpp>      // Sequential, Parallel, Residual, Identity, Lambda
#include <kiln/nn/layers/shape.hpp>           // Flatten, Unflatten
#include <kiln/nn/layers/transformer.hpp>     // Transformer, its encoder, decoder and their layers
#include <kiln/nn/layers/upsample.hpp>        // Upsample
#include <kiln/nn/loss/cross_entropy.hpp>     // cross_entropy, nll_loss
#include <kiln/nn/loss/ctc.hpp>               // ctc_loss
#include <kiln/nn/loss/distribution.hpp>      // binary_cross_entropy, kl_div ...
#include <kiln/nn/loss/margin.hpp>            // triplet_margin_loss, cosine_embedding_loss ...
#include <kiln/nn/loss/regression.hpp>        // mse_loss, l1_loss, huber_loss ...
#include <kiln/nn/module.hpp>                 // parameters, train, freeze ...
#include <kiln/nn/print.hpp>                  // to_string
#include <kiln/nn/stop_on_nan.hpp>            // stop_on_nan
#include <kiln/nn/summary.hpp>                // summary
