// SPDX-License-Identifier: BSL-1.0
// libtorch's side of the contests, behind plain C++: its own header costs 15 s and 1 GB to compile, so torch.cpp is the
// only file that sees it. Without libtorch, torch_absent.cpp takes its place and torch_found() is false. Every function
// sets the work up and gives a callable that does it once, written as a user of libtorch would write it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace peers {

/// Does the work once and returns a pointer to the result.
using step = std::function<const float*()>;

bool torch_found();
std::string torch_version();
/// How many threads libtorch computes with from now on; 1 until called.
void torch_threads(int count);

step torch_map(const float* a, const float* b, const float* c, std::size_t n);
step torch_map_gradient(const float* a, const float* b, const float* c, std::size_t n);
step torch_combine(const float* a, const float* b, const float* c, const float* d, std::size_t n);
step torch_broadcast(const float* a, const float* row, const float* col, std::size_t rows, std::size_t cols);
/// sum(gelu(x * w + b)) and its three gradients.
step torch_gelu_gradient(const float* x, const float* w, const float* b, std::size_t n);

step torch_softmax(const float* x, std::size_t rows, std::size_t cols);
step torch_layer_norm(const float* x, std::size_t rows, std::size_t cols);
/// Forward and backward of sum(f(x) * g).
step torch_softmax_gradient(const float* x, const float* g, std::size_t rows, std::size_t cols);
step torch_layer_norm_gradient(const float* x, const float* g, std::size_t rows, std::size_t cols);

/// `name` is sum, mean or max; `axis` is 0, 1 or -1 for all.
step torch_reduce(const std::string& name, int axis, const float* x, std::size_t rows, std::size_t cols);
step torch_transpose_add(const float* a, const float* b, std::size_t side);
step torch_matmul(const float* a, const float* b, std::size_t rows, std::size_t inner, std::size_t cols);

/// sigmoid(matmul(W, x) + b) for W [n, n], x and b [n, 1]; with gradients for W and b if `backward`.
step torch_small(const float* w, const float* x, const float* b, std::size_t n, bool backward);
/// One step of gradient descent, batch 1, of the 1-10-1 sigmoid network.
step torch_curve_step();
/// One step of gradient descent with momentum of the 784-256-10 network on x [batch, 784] and one-hot t [batch, 10].
step torch_mnist_step(const float* x, const float* t, std::size_t batch);

// One step of Adam, by its loss: of the models of run_time/models.cpp, on the inputs that it has there.
step torch_knossos_step(const float* x, std::size_t batch);
step torch_cnn_step(const float* x, std::size_t batch);
step torch_lstm_step(const float* x, std::size_t batch, std::size_t times);
step torch_block_step(const float* x, std::size_t batch, std::size_t times);

}  // namespace peers
