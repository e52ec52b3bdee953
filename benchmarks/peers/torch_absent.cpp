// SPDX-License-Identifier: BSL-1.0
// Stands in for torch.cpp where there is no libtorch: the contests ask torch_found() and enter without it.
#include "torch.hpp"

namespace peers {

bool torch_found() {
  return false;
}
std::string torch_version() {
  return "not found";
}
void torch_threads(int) {}

step torch_map(const float*, const float*, const float*, std::size_t) {
  return {};
}
step torch_map_gradient(const float*, const float*, const float*, std::size_t) {
  return {};
}
step torch_combine(const float*, const float*, const float*, const float*, std::size_t) {
  return {};
}
step torch_broadcast(const float*, const float*, const float*, std::size_t, std::size_t) {
  return {};
}
step torch_gelu_gradient(const float*, const float*, const float*, std::size_t) {
  return {};
}
step torch_softmax(const float*, std::size_t, std::size_t) {
  return {};
}
step torch_layer_norm(const float*, std::size_t, std::size_t) {
  return {};
}
step torch_softmax_gradient(const float*, const float*, std::size_t, std::size_t) {
  return {};
}
step torch_layer_norm_gradient(const float*, const float*, std::size_t, std::size_t) {
  return {};
}
step torch_reduce(const std::string&, int, const float*, std::size_t, std::size_t) {
  return {};
}
step torch_transpose_add(const float*, const float*, std::size_t) {
  return {};
}
step torch_matmul(const float*, const float*, std::size_t, std::size_t, std::size_t) {
  return {};
}
step torch_small(const float*, const float*, const float*, std::size_t, bool) {
  return {};
}
step torch_curve_step() {
  return {};
}
step torch_mnist_step(const float*, const float*, std::size_t) {
  return {};
}

step torch_knossos_step(const float*, std::size_t) {
  return {};
}
step torch_cnn_step(const float*, std::size_t) {
  return {};
}
step torch_lstm_step(const float*, std::size_t, std::size_t) {
  return {};
}
step torch_block_step(const float*, std::size_t, std::size_t) {
  return {};
}

}  // namespace peers
