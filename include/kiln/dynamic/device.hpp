// SPDX-License-Identifier: BSL-1.0
// Where dynamic tensors live, known while the program runs. The processor is always there; `kiln/dynamic/cuda.hpp`, in
// any file of the program, adds GPUs. What a device does for dynamic tensors is a table of functions, so that nothing
// here depends on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/error.hpp>
#include <kiln/tensor/executor.hpp>

namespace kiln {
class generator;
struct pair2d;
struct conv2d_options;
struct max_pool2d_options;
struct avg_pool2d_options;
struct batch_norm_options;
namespace detail {
struct index_functions;
}
}  // namespace kiln

namespace kiln::dynamic {

enum class device_kind : std::uint8_t { cpu, cuda };

/// A device: its kind, and which of them: `device_kind::cuda` is the first GPU, `{device_kind::cuda, 1}` the second.
struct device {
  device_kind kind = device_kind::cpu;
  int index = 0;
  constexpr device() = default;
  constexpr device(device_kind which, int number = 0) : kind(which), index(number) {}
  constexpr bool on_host() const { return kind == device_kind::cpu; }
  friend constexpr bool operator==(const device&, const device&) = default;
};
/// "cpu", or "cuda:0".
inline std::string name(device where) {
  return where.on_host() ? "cpu" : "cuda:" + std::to_string(where.index);
}

class tensor;
class options;

namespace graph {

/// What a device that is not the processor does for dynamic tensors. Operands are on it, of `type` and checked.
struct device_driver {
  const detail::device_functions* functions;
  int (*count)();            ///< how many there are
  void (*check)(int index);  ///< throws device_error unless there is one of this number
  void (*wait)(int index);   ///< until all its work is done
  ref<tensor_state> (*new_tensor)(dtype type, const dims& sizes, int index);
  // Copies of contiguous tensors.
  ref<tensor_state> (*from_host)(const tensor_state& x, int index);
  ref<tensor_state> (*to_host)(const tensor_state& x);
  ref<tensor_state> (*to_other)(const tensor_state& x, int index);
  const detail::runnable& (*copying)(dtype type);
  const detail::runnable* (*adding)(dtype type);
  const detail::index_functions& (*index)(dtype type);
  tensor (*matmul)(dtype type, const tensor& a, const tensor& b);
  tensor (*linear)(dtype type, const tensor& x, const tensor& weight, const tensor& bias);
  tensor (*conv2d)(const tensor& x, const tensor& weight, const tensor& bias, const conv2d_options& how);
  tensor (*max_pool2d)(const tensor& x, pair2d kernel, const max_pool2d_options& how);
  tensor (*avg_pool2d)(const tensor& x, pair2d kernel, const avg_pool2d_options& how);
  tensor (*batch_norm)(const tensor& x, const tensor& running_mean, const tensor& running_var, const tensor& weight,
                       const tensor& bias, const batch_norm_options& how);
  tensor (*dropout)(const tensor& x, double p, bool training, generator& from);
  std::function<tensor(const tensor&, const tensor&)> (*make_loss)(std::string_view name, const options& how);
  std::shared_ptr<void> (*make_optimizer)(std::string_view name, const std::vector<tensor>& parameters,
                                          const options& how);  ///< an optimizer::held
};

/// That of CUDA; null in a program without kiln/dynamic/cuda.hpp.
inline constinit std::atomic<const device_driver*> installed_cuda{nullptr};

/// Throws device_error in a program without CUDA.
inline const device_driver& cuda_driver() {
  const device_driver* const there = installed_cuda.load(std::memory_order_relaxed);
  if (!there)
    throw device_error(
        "no CUDA in this build: dynamic tensors are on the processor only: leave the device out, or #include "
        "<kiln/dynamic/cuda.hpp> in one file of the program");
  return *there;
}
/// The processor's and other devices' functions as plain data.
inline const detail::device_functions& functions_of(device where) {
  return where.on_host() ? detail::functions_of<Cpu> : *cuda_driver().functions;
}

}  // namespace graph

/// Throws device_error for a device that is not there, or that this program was built without.
inline void check_device(device where) {
  if (!where.on_host()) graph::cuda_driver().check(where.index);
}
/// How many GPUs dynamic tensors can be on; 0 in a program without kiln/dynamic/cuda.hpp.
inline int cuda_devices() {
  const graph::device_driver* const there = graph::installed_cuda.load(std::memory_order_relaxed);
  return there ? there->count() : 0;
}
/// Waits until a device has done its work; the processor always has.
inline void synchronize(device where) {
  if (!where.on_host()) graph::cuda_driver().wait(where.index);
}

}  // namespace kiln::dynamic
