// SPDX-License-Identifier: BSL-1.0
// What tensors ask of a device. A device is a tag type (Cpu, Cuda, EigenCpu) and what it says for these, each as static
// functions of a specialisation, all of them in namespace kiln:
//   executor            memory, kernels, products: has to be there. `host_executor` has all of it but kernels for
//                       devices with the host's memory (`OnHost`), which then have the next four for nothing
//   transfer            copies from Cpu, to Cpu, and from one such device to another (here)
//   random_filler       rand, randn, randint (random.hpp)
//   indexer             gather, scatter and their relatives (indexing.hpp)
//   convolution, pooling                                             (nn/functional/conv2d.hpp, pool2d.hpp)
//   product_epilogues   what a product does to its result in the same call; nothing, unless said (product_epilogue.hpp)
//   batch_normalizer    a library's batch norm; expressions, unless said (nn/functional/batch_norm.hpp)
//   attention_kernels   attention without its matrix of scores; products and softmax, unless said
//                       (nn/functional/attention_kernels.hpp)
// What is missing is refused where it is called, with a sentence. tensor/eigen_cpu.hpp is the shortest device,
// tensor/cuda.hpp the one that says all. `device_functions` and `runnable` are the same as plain data, for code that is
// compiled once for all devices and element types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include <kiln/core/growing_list.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/device/cpu/threads/threads.hpp>
#ifndef KILN_INTERPRET
#include <kiln/device/cpu/kernel/program.hpp>
#endif
#ifdef KILN_COMPILED
#include <kiln/device/cpu/kernel/prebuilt.hpp>
#endif
#include <kiln/tensor/multiply.hpp>
#include <kiln/tensor/state.hpp>

namespace kiln {

/// Defined for each device that tensors can be on: memory as in host_executor, `on_host`, and for a Program, a type
/// with a constexpr tape, `program<Program>()`, what the tensor layer reads of it, and `run<Program>(job, near)`, which
/// does what `job` asks on the device where `near` is. Two may be left out: `run_tape`, for tapes made at run time, and
/// `multiply_and_sum`, a product that also writes the sums of its left or right operand over the inner axis, next to
/// each other, where it returns true.
template <class Device>
struct executor;

template <class Device>
concept HasExecutor = requires {
  executor<Device>::on_host;
};
/// A device whose elements the program itself can read and write: they lie in memory of the device Cpu.
template <class Device>
concept OnHost = HasExecutor<Device> && executor<Device>::on_host;

/// What executors of devices with the host's memory have in common: all but programs.
template <class Device>
struct host_executor {
  /// Whether the program itself can read and write the elements.
  static constexpr bool on_host = true;

  /// A contiguous tensor with uninitialised elements on a device, or on the device where `near` is.
  static ref<tensor_state> new_tensor(dtype type, const dims& sizes, Device = {}) {
    return kiln::new_tensor(type, sizes);
  }
  static ref<tensor_state> new_tensor(dtype type, const dims& sizes, const storage&) {
    return kiln::new_tensor(type, sizes);
  }
  static constexpr Device device_of(const storage&) { return {}; }
  static constexpr bool same_device(const storage&, const storage&) { return true; }
  /// Before a kernel that writes `result` reads `operand`. Throws device_error if they are on different devices.
  static constexpr void check_operand(const storage&, const storage&) {}

  static void set_zero(tensor_state& t) {
    std::memset(t.data, 0, static_cast<std::size_t>(count(t.sizes)) * size_of(t.type));
  }
  static void copy_out(const tensor_state& t, void* to) {
    std::memcpy(to, t.data, static_cast<std::size_t>(count(t.sizes)) * size_of(t.type));
  }
  /// Sets all elements of a contiguous tensor.
  template <Element T>
  static void fill(tensor_state& t, T value) {
    const std::int64_t n = count(t.sizes);
    T* const to = static_cast<T*>(t.data);
    constexpr std::int64_t block = 4096 / static_cast<std::int64_t>(sizeof(T));
    // The first block is set element by element and copied from cache to the others, at the speed of memory.
    const std::int64_t first = std::min(n, block);
    std::fill_n(to, first, value);
    if (n > first)
      cpu::parallel_for(n - first, 64 * block, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = first + begin; i < first + end; i += block)
          std::memcpy(static_cast<void*>(to + i), to,
                      static_cast<std::size_t>(std::min(block, first + end - i)) * sizeof(T));
      });
  }
  /// See cpu::scale. Devices without it are computed with by expressions.
  template <Element T>
  static bool scale(T* data, std::int64_t n, double number) {
    return cpu::drivers::scale<T>(data, n, number);
  }
  /// Throws device_error unless `elements` elements from `data` on are this device's, as far as that can be known.
  static void check_foreign(const void* data, std::int64_t elements, Device) {
    if (!data && elements > 0) throw value_error(message("from_blob: a null pointer to ", elements, " elements"));
  }
  /// One element.
  template <Element T>
  static T read(const tensor_state& t, std::int64_t offset = 0) {
    return static_cast<const T*>(t.data)[offset];
  }
  /// See cpu::multiply.
  template <class T>
  static void multiply(const detail::matrix_stack& a, const T* a_data, const detail::matrix_stack& b, const T* b_data,
                       const detail::matrix_stack& out, T* out_data, bool accumulate,
                       detail::epilogue_function epilogue, const storage&) {
    cpu::drivers::multiply<T>(a, a_data, b, b_data, out, out_data, accumulate, epilogue);
  }
  /// Runs a program, a cpu::compiled, over a job.
  static void run_any(common::task& job, const storage&) {
    job.program->reductions == 0 ? cpu::drivers::run_map(job) : cpu::drivers::run_rows(job);
  }
  template <class Program>
  static void run(common::task& job, const storage& near) {
    run_any(job, near);
  }
};

template <>
struct executor<Cpu> : host_executor<Cpu> {
#if defined(KILN_INTERPRET) || defined(KILN_COMPILED)
  /// A Program without kernels of its own, interpreted.
  template <class Program>
  static const common::program_view& interpreted() {
    // Never destroyed: destructors of other static objects may evaluate. (Not made with the static object, which the
    // child of a fork could find being made by another thread for ever.)
    static constinit interpreted_program kept;
    return interpreted(kept, view(Program::tape), Program::stores.data(), Program::reduction_rooted);
  }
  using interpreted_program = detail::never_destroyed<detail::growing_list<std::shared_ptr<const cpu::compiled>>>;
  static const common::program_view& interpreted(interpreted_program& kept, tape_view t, const dtype* stores,
                                                 bool reduction_rooted);
#endif
  /// The kernels of a Program.
#ifdef KILN_COMPILED
  template <class Program>
  static constexpr bool prebuilt = cpu::prebuilt_number<Program> >= 0;
  template <class Program>
  static const common::program_view& program() {
    if constexpr (prebuilt<Program>)
      return cpu::drivers::prebuilt(cpu::prebuilt_number<Program>);
    else
#ifdef KILN_INTERPRET
      return interpreted<Program>();
#else
      return cpu::compiler<Program>::program;
#endif
  }
#elif defined(KILN_INTERPRET)
  template <class Program>
  static const common::program_view& program() {
    return interpreted<Program>();
  }
#else
  template <class Program>
  static constexpr const common::program_view& program() {
    return cpu::compiler<Program>::program;
  }
  template <class Program>
  static void run(common::task& job, const storage&) {
    constexpr bool rows = cpu::compiler<Program>::program.reductions > 0;
    if constexpr (requires { requires Program::never_sums; })
      rows ? cpu::drivers::run_plain_rows(job) : cpu::drivers::run_plain_map(job);
    else
      rows ? cpu::drivers::run_rows(job) : cpu::drivers::run_map(job);
  }
#endif
};

/// Defined for each pair of devices of which one is not Cpu: copies contiguous values to a device, as
/// `static ref<tensor_state> copy(const tensor_state& values, To where)`.
template <class From, class To>
struct transfer;

namespace detail {

struct run_time_tape;

/// A device as plain data.
struct device_functions {
  bool on_host;  ///< programs are cpu::compiled, and the elements can be read and written
  ref<tensor_state> (*new_tensor)(dtype type, const dims& sizes, const storage& near);
  void (*set_zero)(tensor_state& t);
  void (*check_operand)(const storage& operand, const storage& result);
  bool (*same_device)(const storage&, const storage&);
  /// Copies the elements of a contiguous tensor to the host's memory.
  void (*copy_out)(const tensor_state& t, void* to);
  /// Runs a tape made at run time; null for the processor, whose interpreter not every program has.
  void (*run_tape)(const run_time_tape& tape, common::task& job, const storage& near);
  bool sums_beside_products;  ///< it has multiply_and_sum

  ref<tensor_state> zeros(dtype type, const dims& sizes, const storage& near) const {
    ref<tensor_state> made = new_tensor(type, sizes, near);
    set_zero(*made);
    return made;
  }
};
template <class Device>
constexpr auto run_tape_of() -> void (*)(const run_time_tape&, common::task&, const storage&) {
  if constexpr (requires { &executor<Device>::run_tape; })
    return &executor<Device>::run_tape;
  else
    return nullptr;
}
template <class Device>
inline constexpr bool sums_beside_products = requires {
  executor<Device>::template multiply_and_sum<float>;
};

template <class Device>
inline constexpr device_functions functions_of{executor<Device>::on_host,      &executor<Device>::new_tensor,
                                               &executor<Device>::set_zero,    &executor<Device>::check_operand,
                                               &executor<Device>::same_device, &executor<Device>::copy_out,
                                               run_tape_of<Device>(),          sums_beside_products<Device>};

/// A Program on a device as plain data.
struct runnable {
  const common::program_view& (*program)();
  void (*run)(common::task& job, const storage& near);  ///< null: executor<Cpu>::run_any, which who runs it holds
  const device_functions* device;
};
/// What runs a Program. A gradient program of the processor leaves that to the backward pass that runs it, so that
/// files without one hold no sums of gradients.
template <class Program, class Device>
constexpr auto run_of() -> void (*)(common::task&, const storage&) {
  if constexpr (std::is_same_v<Device, Cpu> && requires { requires Program::is_gradient; })
    return nullptr;
  else
    return &executor<Device>::template run<Program>;
}
/// Of a `Rare` one, which may never run: interpreted where there is an interpreter and no kernel made before, so that
/// it costs nothing to compile.
template <class Program, class Device, bool Rare = false>
inline constexpr runnable runnable_of = [] {
  if constexpr (
      Rare && requires { executor<Device>::template interpreted<Program>; } &&
      !requires { requires executor<Device>::template prebuilt<Program>; })
    return runnable{&executor<Device>::template interpreted<Program>, &executor<Device>::run_any,
                    &functions_of<Device>};
  else
    return runnable{&executor<Device>::template program<Program>, run_of<Program, Device>(), &functions_of<Device>};
}();

/// The product of two tensors of element type T by NumPy's rules, into a contiguous `out` of the right sizes.
template <class T, class Device>
void multiply_tensors(const tensor_state& a, const tensor_state& b, tensor_state& out, epilogue_function epilogue) {
  executor<Device>::check_operand(*a.memory, *out.memory);
  executor<Device>::check_operand(*b.memory, *out.memory);
  executor<Device>::template multiply<T>(as_matrices(a, true), static_cast<const T*>(a.data), as_matrices(b, false),
                                         static_cast<const T*>(b.data), matrices_of_product(a.sizes, b.sizes, out),
                                         static_cast<T*>(out.data), false, epilogue, *out.memory);
}

}  // namespace detail
}  // namespace kiln
