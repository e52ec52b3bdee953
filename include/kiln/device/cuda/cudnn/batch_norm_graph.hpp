// SPDX-License-Identifier: BSL-1.0
// Batch norms in training of half and bfloat16 with channels last, as graphs for cuDNN. Scale, bias, statistics and
// their gradients are float. cuDNN takes channels in multiples of 8. (With channels first it would transpose the images
// in its workspace; batch_norm_training() of libraries/batch_norm.hpp reads them as they are.)
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <kiln/core/dtype.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/cudnn/operation_graph.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/libraries/batch_norm.hpp>

namespace kiln::cuda {

/// Images (batch, positions, channels), contiguous.
struct batch_norm_layout {
  dtype type = dtype::float16;
  std::int64_t batch = 0, positions = 0, channels = 0;
  bool running = false;  ///< whether running statistics are updated
  auto operator<=>(const batch_norm_layout&) const = default;
};

/// The tensors of a training's graph.
struct batch_norm_training_graph {
  operation_graph graph;
  graph_tensor x, y, scale, bias, mean, inverse;
  graph_tensor epsilon;  ///< by value
  graph_tensor momentum = 0, running_mean = 0, running_variance = 0, new_running_mean = 0, new_running_variance = 0;
  explicit batch_norm_training_graph(const batch_norm_layout& s);
};

/// The tensors of the gradients' graph.
struct batch_norm_backward_graph {
  operation_graph graph;
  graph_tensor x, dy, scale, mean, inverse, dx, dscale, dbias;
  explicit batch_norm_backward_graph(const batch_norm_layout& s);
};

/// Why cuDNN does not train with a layout, forward and back; empty if it does. Makes both plans if the layout is new.
std::string cudnn_batch_norm_refusal(const batch_norm_layout& s, Cuda device);

/// Running statistics before and after a training, all float; null: none.
struct batch_norm_running_floats {
  const void *mean = nullptr, *variance = nullptr;
  void *new_mean = nullptr, *new_variance = nullptr;
  double momentum = 0;
};

/// Queues what batch_norm_training() does, with channels last. Throws device_error if cuDNN refuses the layout or
/// fails.
void cudnn_batch_norm(const batch_norm_layout& s, const void* x, const void* scale, const void* bias, double eps,
                      void* y, void* mean, void* inverse, const batch_norm_running_floats& running,
                      const stream& where);

/// Queues the gradients by x, scale and bias. Throws as cudnn_batch_norm().
void cudnn_batch_norm_backward(const batch_norm_layout& s, const void* x, const void* dy, const void* scale,
                               const void* mean, const void* inverse, void* dx, void* dscale, void* dbias,
                               const stream& where);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/cudnn/batch_norm_graph_impl.hpp>
#endif
