// SPDX-License-Identifier: BSL-1.0
// The definitions of pool.hpp.
#pragma once

#include <kiln/device/cuda/run/pooling_kernels.hpp>

namespace kiln::cuda {

KILN_INLINE source print_pooling(pooling_kernel which, dtype type) {
  const std::string of(storage_name(type)), in = message("const ", of, "* __restrict__ "),
                                            out = message(of, "* __restrict__ ");
  const auto kernel = [&](const std::string& name, const std::string& parameters, const std::string& call) {
    return print_fixed({"pooling.cuh", message(name, "_", of), parameters, message(name, call)});
  };
  switch (which) {
    case pooling_kernel::max:
      return kernel("max_pool", in + "x, " + out + "y, pooling_shape s", "(x, y, s)");
    case pooling_kernel::max_backward:
      return kernel("max_pool_backward", in + "x, " + in + "y, " + in + "dy, " + out + "dx, pooling_shape s, bool add",
                    "(x, y, dy, dx, s, add)");
    case pooling_kernel::average:
      return kernel("average_pool", in + "x, " + out + "y, pooling_shape s", "(x, y, s)");
    case pooling_kernel::average_backward:
      break;
  }
  return kernel("average_pool_backward", in + "dy, " + out + "dx, pooling_shape s, bool add", "(dy, dx, s, add)");
}

KILN_INLINE void own_max_pool(const pooling_sizes& s, dtype type, const void* x, void* y, const stream& where) {
  const detail::pooling_shape shape(s);
  detail::launch_pooling(pooling_kernel::max, type, s.planes * s.places.area(), where, {&x, &y, &shape});
}

KILN_INLINE void own_max_pool_backward(const pooling_sizes& s, dtype type, const void* x, const void* y, const void* dy,
                                       void* dx, bool add, const stream& where) {
  const detail::pooling_shape shape(s);
  detail::launch_pooling(pooling_kernel::max_backward, type, s.planes * s.image.area(), where,
                         {&x, &y, &dy, &dx, &shape, &add});
}

KILN_INLINE void own_average_pool(const pooling_sizes& s, const average_divisor& divisor, dtype type, const void* x,
                                  void* y, const stream& where) {
  const detail::pooling_shape shape(s, divisor);
  detail::launch_pooling(pooling_kernel::average, type, s.planes * s.places.area(), where, {&x, &y, &shape});
}

KILN_INLINE void own_average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, dtype type,
                                           const void* dy, void* dx, bool add, const stream& where) {
  const detail::pooling_shape shape(s, divisor);
  detail::launch_pooling(pooling_kernel::average_backward, type, s.planes * s.image.area(), where,
                         {&dy, &dx, &shape, &add});
}

}  // namespace kiln::cuda
