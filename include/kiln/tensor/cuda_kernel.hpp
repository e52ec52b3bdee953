// SPDX-License-Identifier: BSL-1.0
// Kernels of one's own on tensors: CUDA text that NVRTC compiles, launched in the current stream like kiln's own. For
// users it comes with kiln/cuda.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/run/kernels.hpp>
#include <kiln/device/cuda/run/ranges.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::cuda {

namespace detail {
template <class X>
inline constexpr bool is_cuda_tensor = false;
template <Element T>
inline constexpr bool is_cuda_tensor<Tensor<T, Cuda>> = true;
}  // namespace detail

/// A kernel of the user's own.
///
///     const cuda::custom_kernel scale(R"(
///       extern "C" __global__ void scale(float* y, const float* x, float by, long long n) {
///         const long long i = blockIdx.x * 256LL + threadIdx.x;
///         if (i < n) y[i] = by * x[i];
///       })", "scale");
///     scale({.grid_x = 4, .block_x = 256}, y, x, 2.0f, y.numel());
///
/// The text is compiled when it is first launched on a device, and kept as kiln's own kernels are. It has no history:
/// gradients do not flow through it.
class custom_kernel {
 public:
  /// `name` is that of an `extern "C" __global__` function of the text.
  custom_kernel(std::string text, std::string name)
      : printed_{std::move(text), std::move(name), {}}, key_("own " + printed_.name + "\n" + printed_.text) {}

  /// Queues the kernel in the current stream of the tensors' device. A tensor is passed as the address of its first
  /// element, anything else by value, as exactly the parameter's type. Tensors that are not const count as changed in
  /// place. Throws device_error for text that does not compile (with the compiler's words), a size that the device
  /// cannot launch, no tensor, or tensors of two devices; shape_error for one that is not contiguous; graph_error for
  /// one that would be written and whose gradient is wanted; value_error, from a driver of CUDA 12.4 on, if number or
  /// sizes of the arguments are not those of the parameters.
  template <class... Arguments>
  void operator()(const launch_size& size, Arguments&&... arguments) const {
    static_assert((detail::is_cuda_tensor<std::remove_cvref_t<Arguments>> || ...),
                  "kiln: a kernel of one's own works on at least one tensor of a GPU, which says where it runs");
    int device = -1;
    (look_at(arguments, device), ...);
    const stream where = current_stream({device});
    auto loaded = detail::kernel_table::instance().find(key_, device);
    if (!loaded) loaded = load_own_kernel(key_, printed_, {device});
    std::array values{value_of(arguments)...};
    const std::array<std::size_t, sizeof...(Arguments)> sizes{size_of_argument<std::remove_cvref_t<Arguments>>...};
    loaded->function.check_parameters(sizes);
    std::array<void*, sizeof...(Arguments)> places;
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = values[i].bytes;
    const profiler_range range(profiling() ? printed_.name : std::string());
    loaded->function.launch(size, where, places.data());
    (note_use(arguments, where), ...);
  }

  const std::string& name() const { return printed_.name; }
  const std::string& text() const { return printed_.text; }

 private:
  template <class X>
  static constexpr std::size_t size_of_argument = detail::is_cuda_tensor<X> ? sizeof(void*) : sizeof(X);

  struct value {
    alignas(16) unsigned char bytes[16];
  };

  template <class X>
  void look_at(X& argument, int& device) const {
    using plain = std::remove_const_t<X>;
    if constexpr (detail::is_cuda_tensor<plain>) {
      if (!argument.is_contiguous())
        throw shape_error(message("kernel ", printed_.name, ": a tensor of shape ", argument.sizes(), " and strides ",
                                  argument.strides(), " is not contiguous: give x.contiguous()"));
      if (!std::is_const_v<X> && argument.needs_grad())
        throw graph_error(message("kernel ", printed_.name,
                                  ": it may write a tensor whose gradient is wanted, and has none itself: give it as "
                                  "const to read it, or x.detach()"));
      const int own = argument.device().index;
      if (device >= 0 && own != device)
        throw device_error(message("kernel ", printed_.name, ": tensors of Cuda{", device, "} and Cuda{", own,
                                   "}: move one of them with .to()"));
      device = own;
    } else {
      static_assert(std::is_trivially_copyable_v<plain> && sizeof(plain) <= sizeof(value) && !std::is_pointer_v<plain>,
                    "kiln: an argument of a kernel is a Tensor<T, Cuda> or a plain number");
    }
  }
  template <class X>
  static value value_of(const X& argument) {
    value made{};
    if constexpr (detail::is_cuda_tensor<X>) {
      const void* const start = argument.state()->data;
      std::memcpy(made.bytes, &start, sizeof start);
    } else {
      std::memcpy(made.bytes, &argument, sizeof argument);
    }
    return made;
  }
  template <class X>
  static void note_use(X& argument, const stream& where) {
    if constexpr (detail::is_cuda_tensor<std::remove_const_t<X>>) {
      storage& memory = *argument.state()->memory;
      record_use(memory, where);
      if constexpr (!std::is_const_v<X>) ++memory.version;
    }
  }

  source printed_;
  std::string key_;
};

}  // namespace kiln::cuda
