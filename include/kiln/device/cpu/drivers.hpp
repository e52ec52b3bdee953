// SPDX-License-Identifier: BSL-1.0
// What the processor does for tensors beside the kernels of their expressions: running programs, products, convolution,
// drawing, indexing. Without KILN_COMPILED these are this file's own functions, made with its own flags; with it they
// are those of the library kiln::compiled, made for several instruction sets, of which the processor's best is taken.
#pragma once

#include <cstdint>
#include <memory>

#include <kiln/core/attention_job.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/index_job.hpp>
#include <kiln/core/line_job.hpp>
#include <kiln/core/lstm_job.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/core/version.hpp>
#include <kiln/core/window.hpp>
#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/expr/matrix_stack.hpp>

#ifndef KILN_COMPILED
#include <kiln/device/cpu/elements/argmax.hpp>
#include <kiln/device/cpu/elements/index.hpp>
#include <kiln/device/cpu/elements/order.hpp>
#include <kiln/device/cpu/elements/random.hpp>
#include <kiln/device/cpu/elements/running.hpp>
#include <kiln/device/cpu/elements/scale.hpp>
#include <kiln/device/cpu/images/conv2d.hpp>
#include <kiln/device/cpu/images/pooling.hpp>
#include <kiln/device/cpu/maps/map.hpp>
#include <kiln/device/cpu/products/multiply.hpp>
#include <kiln/device/cpu/rows/reduce.hpp>
#ifdef KILN_INTERPRET
#include <kiln/device/cpu/interpreter.hpp>
#endif
#endif

namespace kiln::cpu {

/// What the library has for all element types, by pointers: one such table for each instruction set.
struct driver_table {
  void (*run_map)(task&) = nullptr;
  void (*run_rows)(task&) = nullptr;
  std::shared_ptr<const compiled> (*interpret)(const tape_view& tape, const dtype* stores,
                                               bool reduction_rooted) = nullptr;
  const compiled* const* prebuilt = nullptr;  ///< by their numbers (kernel/prebuilt.hpp)
};

/// What it has for each element type; null where the type does not suit.
template <class T>
struct typed_driver_table {
  using matrix_stack = kiln::detail::matrix_stack;
  void (*multiply)(const matrix_stack& a, const T* a_data, const matrix_stack& b, const T* b_data,
                   const matrix_stack& out, T* out_data, bool accumulate,
                   kiln::detail::epilogue_function epilogue) = nullptr;
  void (*fill_uniform)(T* to, std::int64_t n, const random_stream& stream) = nullptr;
  void (*fill_normal)(T* to, std::int64_t n, const random_stream& stream) = nullptr;
  void (*fill_integers)(T* to, std::int64_t n, const random_stream& stream, std::int64_t low,
                        std::uint64_t range) = nullptr;
  bool (*scale)(T* p, std::int64_t n, double number) = nullptr;
  void (*run_index)(const index_job& job) = nullptr;
  void (*order_lines)(const order_job& job) = nullptr;
  void (*run_running)(const running_job& job) = nullptr;
  void (*run_running_product_gradient)(const running_product_gradient_job& job) = nullptr;
  std::int64_t (*index_of_largest)(const T* from, std::int64_t n) = nullptr;
  std::int64_t (*index_of_smallest)(const T* from, std::int64_t n) = nullptr;
  void (*conv2d)(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y) = nullptr;
  void (*conv2d_backward_input)(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add) = nullptr;
  void (*conv2d_backward_weight)(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add) = nullptr;
  void (*conv2d_backward_bias)(const convolution_sizes& s, const T* dy, T* db, bool add) = nullptr;
  void (*max_pool)(const pooling_sizes& s, const T* x, T* y) = nullptr;
  void (*max_pool_backward)(const pooling_sizes& s, const T* x, const T* y, const T* dy, T* dx, bool add) = nullptr;
  void (*average_pool)(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y) = nullptr;
  void (*average_pool_backward)(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx,
                                bool add) = nullptr;
  void (*attention)(const attention_job& job, T* out, T* logsumexp) = nullptr;  ///< of float and double
  void (*attention_backward)(const attention_job& job, const T* out, const T* logsumexp, const T* dout, T* dq, T* dk,
                             T* dv) = nullptr;
  void (*lstm)(const lstm_job<T>& job, T* out) = nullptr;  ///< of float and double
  void (*lstm_backward)(const lstm_job<T>& job, const lstm_gradients<T>& gradients) = nullptr;
};

namespace drivers {

#ifndef KILN_COMPILED

using cpu::average_pool;
using cpu::average_pool_backward;
using cpu::best_index;
using cpu::conv2d;
using cpu::conv2d_backward_bias;
using cpu::conv2d_backward_input;
using cpu::conv2d_backward_weight;
using cpu::fill_integers;
using cpu::fill_normal;
using cpu::fill_uniform;
using cpu::max_pool;
using cpu::max_pool_backward;
using cpu::multiply;
using cpu::order_lines;
using cpu::run_index;
using cpu::run_map;
using cpu::run_plain_map;
using cpu::run_plain_rows;
using cpu::run_rows;
using cpu::run_running;
using cpu::run_running_product_gradient;
using cpu::scale;
#ifdef KILN_INTERPRET
using cpu::interpret;
#endif

#else

/// Of the library of this version: another one does not link. Throws device_error if the environment variable KILN_ISA
/// asks for an instruction set that the processor or the library lacks.
template <int Major, int Minor, int Patch>
const driver_table& chosen();
template <class T, int Major, int Minor, int Patch>
const typed_driver_table<T>& chosen_for();

inline const driver_table& here() {
  return chosen<KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
}
template <class T>
const typed_driver_table<T>& here_for() {
  return chosen_for<T, KILN_VERSION_MAJOR, KILN_VERSION_MINOR, KILN_VERSION_PATCH>();
}

/// See map.hpp, reduce.hpp, interpreter.hpp, multiply.hpp, random.hpp, scale.hpp, index.hpp, order.hpp, running.hpp,
/// argmax.hpp, conv2d.hpp, pooling.hpp, attention.hpp and lstm.hpp (which only those of nn/functional include).
inline void run_map(task& job) {
  here().run_map(job);
}
inline void run_rows(task& job) {
  here().run_rows(job);
}
inline std::shared_ptr<const compiled> interpret(const tape_view& tape, const dtype* stores, bool reduction_rooted) {
  return here().interpret(tape, stores, reduction_rooted);
}
/// A program that the library holds: see kernel/prebuilt.hpp.
inline const compiled& prebuilt(int number) {
  return *here().prebuilt[number];
}
template <class T>
void multiply(const kiln::detail::matrix_stack& a, const T* a_data, const kiln::detail::matrix_stack& b,
              const T* b_data, const kiln::detail::matrix_stack& out, T* out_data, bool accumulate,
              kiln::detail::epilogue_function epilogue = {}) {
  here_for<T>().multiply(a, a_data, b, b_data, out, out_data, accumulate, epilogue);
}
template <class T>
void fill_uniform(T* to, std::int64_t n, const random_stream& stream) {
  here_for<T>().fill_uniform(to, n, stream);
}
template <class T>
void fill_normal(T* to, std::int64_t n, const random_stream& stream) {
  here_for<T>().fill_normal(to, n, stream);
}
template <class T>
void fill_integers(T* to, std::int64_t n, const random_stream& stream, std::int64_t low, std::uint64_t range) {
  here_for<T>().fill_integers(to, n, stream, low, range);
}
template <class T>
bool scale(T* p, std::int64_t n, double number) {
  return here_for<T>().scale(p, n, number);
}
template <class T>
void run_index(const index_job& job) {
  here_for<T>().run_index(job);
}
template <class T>
void order_lines(const order_job& job) {
  here_for<T>().order_lines(job);
}
template <class T>
void run_running(const running_job& job) {
  here_for<T>().run_running(job);
}
template <class T>
void run_running_product_gradient(const running_product_gradient_job& job) {
  here_for<T>().run_running_product_gradient(job);
}
template <bool Largest, class T>
std::int64_t best_index(const T* from, std::int64_t n) {
  return Largest ? here_for<T>().index_of_largest(from, n) : here_for<T>().index_of_smallest(from, n);
}
template <class T>
void conv2d(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y) {
  here_for<T>().conv2d(s, x, w, bias, y);
}
template <class T>
void conv2d_backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add) {
  here_for<T>().conv2d_backward_input(s, dy, w, dx, add);
}
template <class T>
void conv2d_backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add) {
  here_for<T>().conv2d_backward_weight(s, x, dy, dw, add);
}
template <class T>
void conv2d_backward_bias(const convolution_sizes& s, const T* dy, T* db, bool add) {
  here_for<T>().conv2d_backward_bias(s, dy, db, add);
}
template <class T>
void max_pool(const pooling_sizes& s, const T* x, T* y) {
  here_for<T>().max_pool(s, x, y);
}
template <class T>
void max_pool_backward(const pooling_sizes& s, const T* x, const T* y, const T* dy, T* dx, bool add) {
  here_for<T>().max_pool_backward(s, x, y, dy, dx, add);
}
template <class T>
void average_pool(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y) {
  here_for<T>().average_pool(s, divisor, x, y);
}
template <class T>
void average_pool_backward(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx, bool add) {
  here_for<T>().average_pool_backward(s, divisor, dy, dx, add);
}
template <class T>
void attention(const attention_job& job, T* out, T* logsumexp) {
  here_for<T>().attention(job, out, logsumexp);
}
template <class T>
void attention_backward(const attention_job& job, const T* out, const T* logsumexp, const T* dout, T* dq, T* dk,
                        T* dv) {
  here_for<T>().attention_backward(job, out, logsumexp, dout, dq, dk, dv);
}
template <class T>
void lstm(const lstm_job<T>& job, T* out) {
  here_for<T>().lstm(job, out);
}
template <class T>
void lstm_backward(const lstm_job<T>& job, const lstm_gradients<T>& gradients) {
  here_for<T>().lstm_backward(job, gradients);
}

#endif

}  // namespace drivers
}  // namespace kiln::cpu
