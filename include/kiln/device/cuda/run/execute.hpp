// SPDX-License-Identifier: BSL-1.0
// Runs a task on a GPU. Planning, printing and compiling happen when an expression meets a layout for the first time;
// after that its launches are ready, and only addresses and numbers are put in. Where nothing can be compiled, a bundle
// has the kernels; for a layout that it does not know it has one that fits any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/plan/schedule.hpp>
#include <kiln/device/cuda/plan/schedule_general.hpp>
#include <kiln/device/cuda/run/draw_offset.hpp>
#include <kiln/device/cuda/run/fault.hpp>
#include <kiln/device/cuda/run/finished.hpp>
#include <kiln/device/cuda/run/kernels.hpp>
#include <kiln/device/cuda/run/ranges.hpp>

namespace kiln::cuda {

namespace detail {

/// One argument of a launch: a value, or where to take it from.
struct argument {
  enum class origin : std::uint8_t { value, leaf, result, scratch, number, draw_offset, finished } from = origin::value;
  std::int16_t index = 0;
  dtype type = dtype::int64;  ///< of a number
  std::uint64_t value = 0;    ///< or the offset in scratch memory, or from a leaf's address, in bytes
};

struct ready_launch {
  std::shared_ptr<const loaded_kernel> kernel;
  launch_size size;
  std::vector<argument> arguments;
};

/// Scratch memory while a task is planned: addresses that no memory has, so that they are found again.
inline constexpr std::uint64_t scratch_base = std::uint64_t{1} << 62;
/// Hands out such addresses; `bytes` counts what they take.
scratch_memory planned_scratch(std::size_t& bytes);

/// What a plan depends on besides the tape.
struct layout_facts {
  Cuda device;
  dims domain;
  std::uint32_t reduced_axes = 0;
  std::vector<dims> strides;         ///< leaves that are used, then results
  std::vector<std::uint8_t> offset;  ///< of each: its address within 16 bytes, the widest access
  std::vector<std::uint8_t> state;   ///< of each: whether it is there, added to, and its type
  std::vector<reach> extent;         ///< of each: bytes that it reaches, from its address on
  std::vector<std::uint8_t> meets;   ///< per pair: 1 if they overlap, 2 if they begin at one address
};

std::uint8_t state_of(const leaf_view& x);
std::uint8_t state_of(const result_view& y);
std::uint8_t offset_of(const void* data);
std::uint8_t meeting(const reach& a, const void* at, const reach& b, const void* bt);

/// Calls f(data, strides, state, element size) for every leaf and result.
template <class F>
void each_place(const task& job, F f) {
  for (const leaf_view& x : job.leaves) f(x.data, x.strides, state_of(x), size_of(x.type));
  for (const result_view& y : job.results) f(y.data, y.strides, state_of(y), size_of(y.type));
}

layout_facts facts_of(const task& job, Cuda device);

/// Whether facts_of(job, device) would be `f`, without making it.
bool has_facts(const layout_facts& f, const task& job, Cuda device);

/// The launches that do one task in one layout.
struct ready_task {
  layout_facts facts;
  std::vector<ready_launch> launches;
  std::size_t scratch_bytes = 0;
  std::string formula;  ///< for profilers; empty if none is there
};

argument argument_for(const parameter& x, std::uint64_t value, const task& part, const task& job);

device_shape shape_of(Cuda device);

// What errors and profilers call a kernel: its formula, and its name.
std::string name_of(const task& job, const loaded_kernel& kernel);

// Which launches do a task, and where their kernels come from; `bundled_unshared` are those that take no dynamic shared
// memory and no clusters.
enum class kernel_choice : std::uint8_t { compiled, bundled, bundled_unshared, general };

// What does a task, or null if a kernel of it is in no bundle and must not or cannot be compiled.
std::shared_ptr<const ready_task> try_ready(const task& job, Cuda device, kernel_choice choice);

std::shared_ptr<const ready_task> make_ready(const task& job, Cuda device);

void run_ready(const ready_task& ready, const task& job, Cuda device);

}  // namespace detail

/// What one tape has been launched with: ready launches, by layout. One per expression type.
class launch_table {
 public:
  std::shared_ptr<const detail::ready_task> find(const task& job, Cuda device) const {
    const std::lock_guard lock(mutex_);
    for (const auto& known : entries_)
      if (detail::has_facts(known->facts, job, device)) return known;
    return nullptr;
  }
  void add(std::shared_ptr<const detail::ready_task> made) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() < most)
      entries_.push_back(std::move(made));
    else
      entries_[next_++ % most] = std::move(made);
  }

 private:
  /// Programs that meet ever new shapes plan anew each time, and must not collect plans without end.
  static constexpr std::size_t most = 64;
  mutable detail::device_lock mutex_;
  std::vector<std::shared_ptr<const detail::ready_task>> entries_;
  std::size_t next_ = 0;
};

namespace detail {

/// Defers what this thread queues, and compiles its kernels meanwhile, until the end of the scope.
class warm_up_scope {
 public:
  warm_up_scope();
  warm_up_scope(const warm_up_scope&) = delete;
  warm_up_scope& operator=(const warm_up_scope&) = delete;
  ~warm_up_scope();

 private:
  std::vector<std::function<void()>> calls_;
  std::unique_ptr<compile_ahead> compiler_;
};

/// While this thread warms up: asks for the kernels of a task, and defers it. False if it need not wait.
bool defer_task(launch_table& table, const task& job, Cuda device);

}  // namespace detail

/// Runs `work` once, with the results that it always has, and compiles its kernels on all cores meanwhile: for the
/// first step of a program, whose kernels would be compiled one after the other. What `work` queues from this thread
/// waits until its kernels are there, or until something needs it: reading a value, a convolution, an event. So it is
/// best to read values after warm_up. Work that other threads, or other libraries in streams of their own, do on the
/// same tensors needs synchronize() before, as ever. Throws what `work` throws, and device_error for a kernel that does
/// not compile.
template <class Work>
void warm_up(Work&& work) {
  const detail::warm_up_scope scope;
  work();
  detail::run_deferred();
}

/// Queues what `job` asks in the current stream of a device. All tasks of one table have the same tape. Throws
/// value_error for a maximum or minimum of nothing, device_error, memory_error.
void execute(launch_table& table, const task& job, Cuda device);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/run/execute_impl.hpp>
#endif
