// SPDX-License-Identifier: BSL-1.0
// From the job of a Program, as the tensor layer describes it for every device, to a task of device/cuda.
#pragma once

#include <cstdint>
#include <memory>

#include <kiln/device/common/task.hpp>
#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/run/execute.hpp>
#include <kiln/tensor/run_time_tape.hpp>

namespace kiln::detail {

/// A Program as this device has it: kernels follow from it and the task together.
template <class Program>
inline constexpr common::program_view cuda_program = common::view_of(view(Program::tape), Program::stores.data(),
                                                                     Program::reduction_rooted, op_facts_table);

/// Zeros where results are sums over the axes of a domain without elements.
inline void zero_sums(const cuda::task& job, Cuda device) {
  for (const cuda::result_view& y : job.results) {
    if (y.data == nullptr || y.add) continue;
    std::int64_t elements = 1;
    for (int i = 0; i < job.domain.rank(); ++i)
      if (y.strides[i] != 0) elements *= job.domain[i];
    cuda::fill_bytes(y.data, 0, static_cast<std::size_t>(elements) * size_of(y.type), cuda::current_stream(device));
  }
}

inline void run_on_cuda(cuda::launch_table& launches, const common::task& job, Cuda device) {
  // Kept by the thread, so that an evaluation allocates nothing.
  static thread_local cuda::task what;
  cuda::take(what, job);
  if (count(job.domain) == 0 && !what.reduction_rooted) return zero_sums(what, device);
  cuda::execute(launches, what, device);
}

/// Enters the tape of a Program among those that a bundle has kernels for.
template <class Program>
inline const cuda::registration<cuda::registered_tape> registered_program{
    {cuda_program<Program>.tape, Program::reduction_rooted, Program::stores.data()}};

/// Queues a job in the current stream of a device.
template <class Program>
void run_on_cuda(common::task job, Cuda device) {
  static_cast<void>(registered_program<Program>);
  static cuda::launch_table& launches = *new cuda::launch_table;
  job.program = &cuda_program<Program>;
  run_on_cuda(launches, job, device);
}

/// The same of a tape that is made at run time.
inline void run_tape_on_cuda(const run_time_tape& tape, common::task& job, Cuda device) {
  struct kept {
    common::program_view program;
    cuda::launch_table launches;
  };
  static const char here = 0;
  const auto made = tape.prepared<kept>(&here, [&] {
    auto fresh = std::make_shared<kept>();
    fresh->program = common::view_of(tape.view(), tape.stores.data(), tape.reduction_rooted, op_facts_table);
    return fresh;
  });
  job.program = &made->program;
  run_on_cuda(made->launches, job, device);
  cuda::detail::run_deferred();  // the tape may be gone when work that waits is queued
}

}  // namespace kiln::detail
