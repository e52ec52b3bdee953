// SPDX-License-Identifier: BSL-1.0
// What makes Tensor<T, Cuda> work: the executor of the device Cuda, copies to and from it, and its random numbers. For
// users it comes with kiln/cuda.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include <kiln/device/cuda/print/print_random.hpp>
#include <kiln/device/cuda/run/launch_fixed.hpp>
#include <kiln/tensor/cuda_products.hpp>
#include <kiln/tensor/cuda_run.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/random.hpp>

namespace kiln {
namespace detail {

/// A tape without leaves whose value is one number: what fills memory.
template <Element T>
struct number_program {
  static constexpr auto tape = finished([](program& out) {
    const dtype type = compute_type(dtype_of<T>);
    out.add_result(out.push({.code = opcode::scalar, .type = type, .slot = 0}));
  });
  static constexpr bool reduction_rooted = false;
  static constexpr std::array<dtype, 1> stores{dtype_of<T>};
};

}  // namespace detail

template <>
struct executor<Cuda> {
  static constexpr bool on_host = false;

  static ref<tensor_state> new_tensor(dtype type, const dims& sizes, Cuda where = {}) {
    const std::int64_t elements = count(sizes);
    ref<tensor_state> made = new_state(type, sizes, contiguous_strides(sizes));
    made->memory = cuda::new_storage(static_cast<std::size_t>(elements) * size_of(type), where);
    made->data = made->memory->data;
    return made;
  }
  static ref<tensor_state> new_tensor(dtype type, const dims& sizes, const storage& near) {
    return new_tensor(type, sizes, device_of(near));
  }
  static Cuda device_of(const storage& memory) { return {memory.device}; }
  static bool same_device(const storage& a, const storage& b) { return a.device == b.device; }
  static void check_operand(const storage& operand, const storage& result) {
    if (operand.device != result.device)
      throw device_error(message("the operands live on Cuda{", operand.device, "} and Cuda{", result.device,
                                 "}: move one of them with .to(Cuda{", result.device, "})"));
    cuda::record_use(operand, cuda::current_stream({result.device}));
  }

  static void set_zero(tensor_state& t) {
    cuda::fill_bytes(t.data, 0, static_cast<std::size_t>(count(t.sizes)) * size_of(t.type), stream_of(*t.memory));
  }
  static void copy_out(const tensor_state& t, void* to) {
    cuda::read_bytes(to, t.data, static_cast<std::size_t>(count(t.sizes)) * size_of(t.type), stream_of(*t.memory));
    cuda::check_fault(device_of(*t.memory));
  }
  template <Element T>
  static void fill(tensor_state& t, T value) {
    std::uint64_t number = common::to_bits(static_cast<compute_t<T>>(value));
    common::result_view out{t.data, t.strides, t.type, false};
    common::task job{
        .program = &program<detail::number_program<T>>(), .domain = t.sizes, .out = &out, .scalars = &number};
    run<detail::number_program<T>>(job, *t.memory);
  }
  template <Element T>
  static T read(const tensor_state& t, std::int64_t offset = 0) {
    const Cuda device = device_of(*t.memory);
    const T value = cuda::read_value<T>(static_cast<const T*>(t.data) + offset, stream_of(*t.memory));
    cuda::check_fault(device);
    return value;
  }
  static void check_foreign(const void* data, std::int64_t elements, Cuda where) {
    cuda::check_device(where);
    if (elements > 0 && !cuda::detail::is_device_memory(data))
      throw device_error(message("from_blob: ", data,
                                 " is no address of a GPU's memory: look at it with "
                                 "from_blob<Cpu> and copy it with .to<Cuda>()"));
  }

  template <class Program>
  static constexpr const common::program_view& program() {
    return detail::cuda_program<Program>;
  }
  template <class Program>
  static void run(common::task& job, const storage& near) {
    detail::run_on_cuda<Program>(job, device_of(near));
  }
  static void run_tape(const detail::run_time_tape& tape, common::task& job, const storage& near) {
    detail::run_tape_on_cuda(tape, job, device_of(near));
  }
  template <class T>
  static void multiply(const detail::matrix_stack& a, const T* a_data, const detail::matrix_stack& b, const T* b_data,
                       const detail::matrix_stack& out, T* out_data, bool accumulate, detail::epilogue_function,
                       const storage& near) {
    detail::multiply_on_cuda<T>(a, a_data, b, b_data, out, out_data, accumulate, device_of(near));
  }
  template <class T>
  static bool multiply_and_sum(const detail::matrix_stack& a, const T* a_data, const detail::matrix_stack& b,
                               const T* b_data, const detail::matrix_stack& out, T* out_data, bool accumulate,
                               bool of_left, void* sums, const storage& near) {
    return detail::multiply_and_sum_on_cuda<T>(a, a_data, b, b_data, out, out_data, accumulate,
                                               of_left ? cuda::summed_operand::a : cuda::summed_operand::b, sums,
                                               device_of(near));
  }

 private:
  static const cuda::stream& stream_of(const storage& memory) { return cuda::current_stream({memory.device}); }
};

template <>
struct transfer<Cpu, Cuda> {
  static ref<tensor_state> copy(const tensor_state& values, Cuda where) {
    ref<tensor_state> made = executor<Cuda>::new_tensor(values.type, values.sizes, where);
    const cuda::stream& stream = cuda::current_stream(where);
    cuda::copy_to_device(made->data, values.data, made->memory->bytes, stream);
    if (cuda::is_pinned(*values.memory))
      cuda::record_pinned_use(*values.memory, stream);
    else if (values.memory->foreign && made->memory->bytes > 0 && cuda::detail::is_pinned_memory(values.data))
      stream.synchronize();  // its owner does not ask whether the copy is done
    return made;
  }
};
template <>
struct transfer<Cuda, Cpu> {
  static ref<tensor_state> copy(const tensor_state& values, Cpu) {
    ref<tensor_state> made = new_tensor(values.type, values.sizes);
    const Cuda from = executor<Cuda>::device_of(*values.memory);
    cuda::read_bytes(made->data, values.data, made->memory->bytes, cuda::current_stream(from));
    cuda::check_fault(from);
    return made;
  }
};
template <>
struct transfer<Cuda, Cuda> {
  static ref<tensor_state> copy(const tensor_state& values, Cuda where) {
    ref<tensor_state> made = executor<Cuda>::new_tensor(values.type, values.sizes, where);
    const Cuda from = executor<Cuda>::device_of(*values.memory);
    cuda::copy_between_devices(made->data, cuda::current_stream(where), values.data, cuda::current_stream(from),
                               made->memory->bytes);
    cuda::record_use(*values.memory, cuda::current_stream(where));
    return made;
  }
};

template <>
struct random_filler<Cuda> {
  template <Element T>
  static void uniform(const tensor_state& t, const random_stream& from) {
    run(cuda::random_kind::uniform, t, from, 0, 0);
  }
  template <Element T>
  static void normal(const tensor_state& t, const random_stream& from) {
    run(cuda::random_kind::normal, t, from, 0, 0);
  }
  template <Element T>
  static void integers(const tensor_state& t, const random_stream& from, std::int64_t low, std::uint64_t range) {
    run(cuda::random_kind::integers, t, from, low, range);
  }

 private:
  static void run(cuda::random_kind kind, const tensor_state& t, random_stream from, std::int64_t low,
                  std::uint64_t range) {
    const std::int64_t n = count(t.sizes);
    const Cuda device = executor<Cuda>::device_of(*t.memory);
    const void* const to = t.data;
    const std::uint64_t* const moved = cuda::draw_offset(device);
    cuda::launch_fixed(message("random ", static_cast<int>(kind), " ", name(t.type)),
                       [&] { return cuda::print_random(kind, t.type); }, (n + 3) / 4, 256, cuda::current_stream(device),
                       {&to, &n, &from.seed, &from.first, &moved, &low, &range});
  }
};

}  // namespace kiln
