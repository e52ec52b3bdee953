// SPDX-License-Identifier: BSL-1.0
// Poolings by kernels of our own (kernels/pool.cuh): those that cuDNN lacks, and all maxima, of which the first among
// equals gets the gradient here as on the processor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <kiln/core/window.hpp>
#include <kiln/device/cuda/kernels.hpp>
#include <kiln/device/cuda/stream.hpp>

namespace kiln::cuda {

/// What kernels/pool.cuh holds.
enum class pool_kernel : std::uint8_t { max, max_backward, average, average_backward };

/// The kernel for elements of a floating type. Parameters:
///   max:               const T* x, T* y, pool_shape
///   max_backward:      const T* x, const T* y, const T* dy, T* dx, pool_shape, bool add
///   average:           const T* x, T* y, pool_shape
///   average_backward:  const T* dy, T* dx, pool_shape, bool add
inline source print_pool(pool_kernel which, dtype type) {
  const std::string of(storage_name(type)), in = message("const ", of, "* __restrict__ "),
                                            out = message(of, "* __restrict__ ");
  struct form {
    std::string name, parameters, call;
  };
  const auto described = [&]() -> form {
    switch (which) {
      case pool_kernel::max:
        return {"max_pool", in + "x, " + out + "y, pool_shape s", "max_pool(x, y, s)"};
      case pool_kernel::max_backward:
        return {"max_pool_backward", in + "x, " + in + "y, " + in + "dy, " + out + "dx, pool_shape s, bool add",
                "max_pool_backward(x, y, dy, dx, s, add)"};
      case pool_kernel::average:
        return {"average_pool", in + "x, " + out + "y, pool_shape s", "average_pool(x, y, s)"};
      case pool_kernel::average_backward:
        break;
    }
    return {"average_pool_backward", in + "dy, " + out + "dx, pool_shape s, bool add",
            "average_pool_backward(dy, dx, s, add)"};
  }();
  source made;
  made.name = message("kiln_", described.name, "_", of);
  detail::lines body;
  body.add("#include <kernels/pool.cuh>\n");
  body.add("namespace kiln::kernels {\n");
  body.open("extern \"C\" __global__ void __launch_bounds__(256) ", made.name, "(", described.parameters, ")");
  body.add(described.call, ";");
  body.close();
  body.add("\n}  // namespace kiln::kernels");
  body.add("using kiln::kernels::", made.name, ";");
  made.text = body.text();
  return made;
}

namespace detail {

/// The pool_shape of kernels/pool.cuh.
struct pool_shape {
  std::int64_t planes, rows, columns, place_rows, place_columns;
  std::int64_t kernel[2], stride[2], padding[2], dilation[2];
  std::int64_t fixed;
  std::int32_t padding_counts;

  explicit pool_shape(const pooling_sizes& s, const average_divisor& divisor = {})
      : planes(s.planes),
        rows(s.image.height),
        columns(s.image.width),
        place_rows(s.places.height),
        place_columns(s.places.width),
        kernel{s.window.kernel.height, s.window.kernel.width},
        stride{s.window.stride.height, s.window.stride.width},
        padding{s.window.padding.height, s.window.padding.width},
        dilation{s.window.dilation.height, s.window.dilation.width},
        fixed(divisor.fixed),
        padding_counts(divisor.padding) {}
};

template <std::size_t N>
void launch_pool(pool_kernel which, dtype type, std::int64_t threads, const stream& where,
                 const void* const (&arguments)[N]) {
  if (threads == 0) return;
  const Cuda device = where.device();
  const std::string key = message("pool ", static_cast<int>(which), " ", name(type));
  auto kernel = kernel_table::instance().find(key, device.index);
  if (!kernel) kernel = load_kernel(key, print_pool(which, type), device);
  std::array<void*, N> places;
  for (std::size_t i = 0; i < N; ++i) places[i] = const_cast<void*>(arguments[i]);
  const std::int64_t most = std::int64_t{8} * properties(device).multiprocessors;
  const std::int64_t blocks = std::clamp<std::int64_t>((threads + 255) / 256, 1, most);
  kernel->function.launch({.grid_x = static_cast<unsigned>(blocks), .block_x = 256}, where, places.data());
}

}  // namespace detail

/// Queues y = the largest element under each window; nan if there is one. x (planes, image), y (planes, places), both
/// contiguous and of one floating type.
inline void pool_max(const pooling_sizes& s, dtype type, const void* x, void* y, const stream& where) {
  const detail::pool_shape shape(s);
  detail::launch_pool(pool_kernel::max, type, s.planes * s.places.area(), where, {&x, &y, &shape});
}
/// Queues its gradient by x, given that by y, to be written to dx or added to it.
inline void pool_max_backward(const pooling_sizes& s, dtype type, const void* x, const void* y, const void* dy,
                              void* dx, bool add, const stream& where) {
  const detail::pool_shape shape(s);
  detail::launch_pool(pool_kernel::max_backward, type, s.planes * s.image.area(), where,
                      {&x, &y, &dy, &dx, &shape, &add});
}
/// Queues y = the average of the elements under each window.
inline void pool_average(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x, void* y,
                         const stream& where) {
  const detail::pool_shape shape(s, divisor);
  detail::launch_pool(pool_kernel::average, type, s.planes * s.places.area(), where, {&x, &y, &shape});
}
/// Queues its gradient by x, given that by y, to be written to dx or added to it.
inline void pool_average_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* dy,
                                  void* dx, bool add, const stream& where) {
  const detail::pool_shape shape(s, divisor);
  detail::launch_pool(pool_kernel::average_backward, type, s.planes * s.image.area(), where, {&dy, &dx, &shape, &add});
}

}  // namespace kiln::cuda
