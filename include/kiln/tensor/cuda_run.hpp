// SPDX-License-Identifier: BSL-1.0
// From the job of a Program, as the tensor layer describes it for every device, to a task of device/cuda.
#pragma once

#include <algorithm>
#include <cstdint>

#include <kiln/device/cpu/kernel/task.hpp>
#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/run/execute.hpp>
#include <kiln/tensor/run_time_tape.hpp>

namespace kiln::detail {

/// What the tensor layer reads of a compiled program, without kernels for the processor.
template <class Program>
inline constexpr cpu::compiled cuda_program = [] {
  constexpr const auto& t = Program::tape;
  cpu::compiled c;
  c.tape = view(t);
  c.results = t.result_count();
  c.row_root = Program::row_root;
  c.stores = Program::stores.data();
  for (int i = 0; i < t.size(); ++i) {
    if (t[i].code == opcode::leaf) c.slots = std::max(c.slots, t[i].slot + 1);
    const found_rules op = op_rules_table.find(t[i].code);
    c.reductions += op && op->reduces;
  }
  return c;
}();

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

inline void run_on_cuda(cuda::launch_table& launches, const cpu::compiled& program, const cpu::task& job, Cuda device) {
  // Kept by the thread, so that an evaluation allocates nothing.
  static thread_local cuda::task what;
  what.tape = program.tape;
  what.domain = job.domain;
  what.reduced_axes = job.reduced_axes;
  what.row_root = program.row_root;
  what.numbers = job.scalars;
  what.leaves.assign(static_cast<std::size_t>(program.slots), {.used = false});
  for (int i = 0; i < program.tape.size; ++i) {
    if (program.tape[i].code != opcode::leaf) continue;
    const std::size_t slot = static_cast<std::size_t>(program.tape[i].slot);
    what.leaves[slot] = {job.in[slot].data, job.in[slot].strides, program.tape[i].type, true, kind_of(program.tape[i])};
  }
  what.results.resize(static_cast<std::size_t>(program.results));
  for (std::size_t r = 0; r < what.results.size(); ++r) {
    const cpu::result_view& y = job.out[r];
    what.results[r] = {y.data, y.strides, y.type, y.add};
    if (y.data == nullptr) what.results[r].strides = dims::filled(job.domain.rank(), 0);
  }
  if (count(job.domain) == 0 && !program.row_root) return zero_sums(what, device);
  cuda::execute(launches, what, device);
}

/// Enters the tape of a Program among those that a bundle has kernels for.
template <class Program>
inline const cuda::registration<cuda::registered_tape> registered_program{
    {cuda_program<Program>.tape, Program::row_root, Program::stores.data()}};

/// Queues a job in the current stream of a device.
template <class Program>
void run_on_cuda(const cpu::task& job, Cuda device) {
  static_cast<void>(registered_program<Program>);
  static cuda::launch_table& launches = *new cuda::launch_table;
  run_on_cuda(launches, cuda_program<Program>, job, device);
}

/// The same of a tape that is made at run time.
inline void run_tape_on_cuda(const run_time_tape& tape, cpu::task& job, Cuda device) {
  struct kept {
    cpu::compiled program;
    cuda::launch_table launches;
  };
  static const char here = 0;
  const auto made = tape.prepared<kept>(&here, [&] {
    auto fresh = std::make_shared<kept>();
    cpu::compiled& c = fresh->program;
    c.tape = tape.view();
    c.slots = tape.slots;
    c.results = tape.tape.result_count;
    c.reductions = tape.reductions;
    c.row_root = tape.row_root;
    c.stores = tape.stores.data();
    return fresh;
  });
  job.program = &made->program;
  run_on_cuda(made->launches, made->program, job, device);
}

}  // namespace kiln::detail
