// SPDX-License-Identifier: BSL-1.0
// What makes Tensor<T, EigenCpu> work: the executor of the device EigenCpu, whose memory, random numbers, indexing,
// convolutions and poolings are those of Cpu. For users it comes with kiln/eigen.hpp.
#pragma once

#include <kiln/device/eigen/device.hpp>
#include <kiln/device/eigen/multiply.hpp>
#include <kiln/device/eigen/program.hpp>
#include <kiln/tensor/executor.hpp>

namespace kiln {

template <>
struct executor<EigenCpu> : host_executor<EigenCpu> {
  template <class Program>
  static constexpr const common::program_view& program() {
    return eigen::compiler<Program>::program;
  }
  /// Products of float and double are Eigen's, the others Cpu's.
  template <class T>
  static void multiply(const detail::matrix_stack& a, const T* a_data, const detail::matrix_stack& b, const T* b_data,
                       const detail::matrix_stack& out, T* out_data, bool accumulate,
                       detail::epilogue_function epilogue, const storage& near) {
    if constexpr (std::is_floating_point_v<T>)
      eigen::multiply<T>(a, a_data, b, b_data, out, out_data, accumulate, epilogue);
    else
      host_executor::template multiply<T>(a, a_data, b, b_data, out, out_data, accumulate, epilogue, near);
  }
};

}  // namespace kiln
