// SPDX-License-Identifier: BSL-1.0
// A stand-in for libcudnn: the functions that kiln calls, done by the CPU with plain loops, in the order of the
// stand-in driver's streams. It believes nothing: descriptors must fit each other, addresses must be device memory, and
// an algorithm that was chosen for other sizes is refused.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "stand_in_cudnn.hpp"

namespace kiln::cuda {

struct cudnn_filter_object : cudnn_tensor_object {};
struct cudnn_convolution_object {
  long pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, groups = 1;
  cudnn_type compute{};
  cudnn_math math{};
};
struct cudnn_pooling_object {
  cudnn_pooling_mode mode{};
  cudnn_nan nan{};
  long h = 1, w = 1, pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
};

namespace stand_in {
namespace {

constexpr auto good = cudnn_status::success;
constexpr auto bad = cudnn_status::bad_parameter;

// ---- convolutions ----

struct job {
  cudnn_tensor_object x, y;
  cudnn_filter_object w;
  cudnn_convolution_object how;
};

bool is_sound(const job& j) {
  auto places = [](long size, long kernel, long stride, long pad, long dilation) {
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  };
  const auto& h = j.how;
  if (j.x.type != j.y.type || j.x.type != j.w.type || h.groups < 1) return false;
  if (j.x.format != j.y.format || j.x.format != j.w.format) return false;
  if (j.x.channels_last() && j.x.type == cudnn_type::float64) return false;
  if ((h.compute == cudnn_type::float64) != (j.x.type == cudnn_type::float64)) return false;
  if (h.compute != cudnn_type::float64 && h.compute != cudnn_type::float32) return false;
  return j.x.n == j.y.n && j.x.c == j.w.c * h.groups && j.y.c == j.w.n && j.w.n % h.groups == 0 &&
         j.y.h == places(j.x.h, j.w.h, h.stride_h, h.pad_h, h.dilation_h) &&
         j.y.w == places(j.x.w, j.w.w, h.stride_w, h.pad_w, h.dilation_w);
}
// Tells one set of sizes from another, as the number of an algorithm.
int digest(const job& j, int pass) {
  std::uint64_t sum = 1469598103934665603u + static_cast<std::uint64_t>(pass);
  for (const cudnn_tensor_object* t : {&j.x, &j.y, static_cast<const cudnn_tensor_object*>(&j.w)})
    for (const long v : {static_cast<long>(t->type), static_cast<long>(t->format), t->n, t->c, t->h, t->w})
      sum = (sum ^ static_cast<std::uint64_t>(v)) * 1099511628211u;
  return static_cast<int>(sum >> 40);
}
std::size_t workspace_of(const job& j) {
  return j.x.count() % 2 == 0 ? 4096 : 0;  // some algorithms want one, some do not
}

cudnn_status answer(const char* name, const cudnn_object* handle, const job& j, int pass, int most, int* found,
                    cudnn_algorithm* answers) {
  auto& all = state::instance();
  if (const auto failed = enter_cudnn(name); failed != good) return failed;
  if (!is_ready(handle) || most < 3 || !is_sound(j)) return bad;
  if (all.fails("cudnn_heuristic")) return cudnn_status::not_supported;
  // The first two must be passed over: one is random in its order of sums, one wants all memory.
  answers[0] = {-1, good, 0.1F, 0, 0, j.how.math, {}};
  answers[1] = {-2, good, 0.2F, std::size_t{1} << 40, 1, j.how.math, {}};
  answers[2] = {digest(j, pass), good, 0.3F, workspace_of(j), 1, j.how.math, {}};
  *found = all.fails("cudnn_deterministic") ? 2 : 3;
  return good;
}

// Calls f(place in x, place in w, place in y) for each product.
template <class F>
void each_product(const job& j, F f) {
  const auto& h = j.how;
  const long outputs = j.w.n / h.groups;
  for (long n = 0; n < j.y.n; ++n)
    for (long o = 0; o < j.y.c; ++o)
      for (long r = 0; r < j.y.h; ++r)
        for (long s = 0; s < j.y.w; ++s)
          for (long c = 0; c < j.w.c; ++c)
            for (long p = 0; p < j.w.h; ++p)
              for (long q = 0; q < j.w.w; ++q) {
                const long row = r * h.stride_h + p * h.dilation_h - h.pad_h;
                const long col = s * h.stride_w + q * h.dilation_w - h.pad_w;
                if (row < 0 || row >= j.x.h || col < 0 || col >= j.x.w) continue;
                f(j.x.place(n, o / outputs * j.w.c + c, row, col), j.w.place(o, c, p, q), j.y.place(n, o, r, s));
              }
}

// out = alpha * sums of products of a and b + beta * out; `which` says which two of x, w and y are a and b.
cudnn_status convolve(const char* name, const cudnn_object* handle, const job& j, int pass, const void* alpha,
                      const void* a, const void* b, int algorithm, void* whole, std::size_t bytes, const void* beta,
                      void* out) {
  auto& all = state::instance();
  if (const auto failed = enter_cudnn(name); failed != good) return failed;
  if (all.fails("cudnn_convolution")) return cudnn_status::execution_failed;
  if (!is_ready(handle) || !is_sound(j) || algorithm != digest(j, pass) || bytes != workspace_of(j)) return bad;
  const cudnn_tensor_object& of_a = pass == 1 ? j.w : j.x;
  const cudnn_tensor_object& of_b = pass == 0 ? j.w : j.y;
  const cudnn_tensor_object& of_out = pass == 0 ? j.y : pass == 1 ? j.x : static_cast<const cudnn_tensor_object&>(j.w);
  if (!is_memory(handle, a, of_a) || !is_memory(handle, b, of_b) || !is_memory(handle, out, of_out)) return bad;
  if (bytes != 0 && !all.is_device(reinterpret_cast<std::uint64_t>(whole), bytes)) return bad;
  const double scale = number(j.x.type, alpha), keep = number(j.x.type, beta);
  const bool rounded = j.x.type == cudnn_type::float32 && j.how.math != cudnn_math::fma;
  all.enqueue(handle->stream, [=, total = of_out.count()] {
    if (bytes != 0) std::memset(whole, 0x5a, bytes);
    std::vector<double> sums(static_cast<std::size_t>(total));
    each_product(j, [&](long x, long w, long y) {
      double u = load(j.x.type, a, pass == 1 ? w : x), v = load(j.x.type, b, pass == 0 ? w : y);
      if (rounded) u = as_tf32(u), v = as_tf32(v);
      sums[static_cast<std::size_t>(pass == 0 ? y : pass == 1 ? x : w)] += u * v;
    });
    for (long i = 0; i < total; ++i)
      store(j.x.type, out, i,
            scale * sums[static_cast<std::size_t>(i)] + (keep != 0 ? keep * load(j.x.type, out, i) : 0));
    return driver_result::success;
  });
  return good;
}

// ---- poolings ----

bool is_sound(const cudnn_pooling_object& how, const cudnn_tensor_object& x, const cudnn_tensor_object& y) {
  if (x.channels_last() || y.channels_last()) return false;
  return x.type == y.type && x.n == y.n && x.c == y.c && y.h == (x.h + 2 * how.pad_h - how.h) / how.stride_h + 1 &&
         y.w == (x.w + 2 * how.pad_w - how.w) / how.stride_w + 1;
}
// Calls f(place in y, places in x under its window).
template <class F>
void each_window(const cudnn_pooling_object& how, const cudnn_tensor_object& x, const cudnn_tensor_object& y, F f) {
  std::vector<long> under;
  for (long p = 0; p < y.n * y.c; ++p)
    for (long r = 0; r < y.h; ++r)
      for (long s = 0; s < y.w; ++s) {
        under.clear();
        for (long i = 0; i < how.h; ++i)
          for (long k = 0; k < how.w; ++k) {
            const long row = r * how.stride_h - how.pad_h + i, col = s * how.stride_w - how.pad_w + k;
            if (row >= 0 && row < x.h && col >= 0 && col < x.w) under.push_back((p * x.h + row) * x.w + col);
          }
        f((p * y.h + r) * y.w + s, under);
      }
}
bool is_max(const cudnn_pooling_object& how) {
  return how.mode == cudnn_pooling_mode::max || how.mode == cudnn_pooling_mode::max_deterministic;
}
double divisor(const cudnn_pooling_object& how, std::size_t inside) {
  return how.mode == cudnn_pooling_mode::average_with_padding ? static_cast<double>(how.h * how.w)
                                                              : static_cast<double>(inside);
}

template <class T>
cudnn_status create(const char* name, T** made) {
  if (const auto failed = enter_cudnn(name); failed != good) return failed;
  *made = new T;
  return good;
}
template <class T>
cudnn_status destroy(const char* name, T* object) {
  ++state::instance().counts[name];
  delete object;
  return good;
}

}  // namespace
}  // namespace stand_in
}  // namespace kiln::cuda

using namespace kiln::cuda;
using namespace kiln::cuda::stand_in;
using guarded = std::lock_guard<std::recursive_mutex>;

#pragma GCC visibility push(default)
extern "C" {

std::size_t cudnnGetVersion() {
  return 91900;
}
const char* cudnnGetErrorString(cudnn_status status) {
  return status == cudnn_status::success         ? "CUDNN_STATUS_SUCCESS"
         : status == cudnn_status::bad_parameter ? "CUDNN_STATUS_BAD_PARAM"
         : status == cudnn_status::not_supported ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                 : "CUDNN_STATUS_EXECUTION_FAILED";
}
cudnn_status cudnnCreate(cudnn_handle* made) {
  const guarded lock(state::instance().mutex);
  if (state::instance().fails("cudnn_start")) return cudnn_status::not_initialized;
  if (const auto failed = create("cudnnCreate", made); failed != good) return failed;
  cuCtxGetCurrent(&(*made)->context);
  return (*made)->context == nullptr ? cudnn_status::not_initialized : good;
}
cudnn_status cudnnSetStream(cudnn_handle handle, stream_handle stream) {
  const guarded lock(state::instance().mutex);
  if (handle == nullptr || stream == nullptr || stream->context != handle->context) return bad;
  handle->stream = stream;
  return good;
}

cudnn_status cudnnCreateTensorDescriptor(cudnn_tensor* made) {
  const guarded lock(state::instance().mutex);
  return create("cudnnCreateTensorDescriptor", made);
}
cudnn_status cudnnDestroyTensorDescriptor(cudnn_tensor object) {
  const guarded lock(state::instance().mutex);
  return destroy("cudnnDestroyTensorDescriptor", object);
}
cudnn_status cudnnSetTensor4dDescriptor(cudnn_tensor object, cudnn_format format, cudnn_type type, int n, int c, int h,
                                        int w) {
  if (object == nullptr || n < 1 || c < 1 || h < 1 || w < 1) return bad;
  *object = {type, n, c, h, w, format};
  return good;
}
cudnn_status cudnnCreateFilterDescriptor(cudnn_filter* made) {
  const guarded lock(state::instance().mutex);
  return create("cudnnCreateFilterDescriptor", made);
}
cudnn_status cudnnDestroyFilterDescriptor(cudnn_filter object) {
  const guarded lock(state::instance().mutex);
  return destroy("cudnnDestroyFilterDescriptor", object);
}
cudnn_status cudnnSetFilter4dDescriptor(cudnn_filter object, cudnn_type type, cudnn_format format, int o, int c, int h,
                                        int w) {
  if (object == nullptr || o < 1 || c < 1 || h < 1 || w < 1) return bad;
  static_cast<cudnn_tensor_object&>(*object) = {type, o, c, h, w, format};
  return good;
}
cudnn_status cudnnCreateConvolutionDescriptor(cudnn_convolution* made) {
  const guarded lock(state::instance().mutex);
  return create("cudnnCreateConvolutionDescriptor", made);
}
cudnn_status cudnnDestroyConvolutionDescriptor(cudnn_convolution object) {
  const guarded lock(state::instance().mutex);
  return destroy("cudnnDestroyConvolutionDescriptor", object);
}
cudnn_status cudnnSetConvolution2dDescriptor(cudnn_convolution object, int pad_h, int pad_w, int stride_h, int stride_w,
                                             int dilation_h, int dilation_w, cudnn_mode mode, cudnn_type compute) {
  if (object == nullptr || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1 || dilation_h < 1 || dilation_w < 1)
    return bad;
  if (mode != cudnn_mode::cross_correlation) return bad;
  *object = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, 1, compute, cudnn_math::standard};
  return good;
}
cudnn_status cudnnSetConvolutionMathType(cudnn_convolution object, cudnn_math math) {
  object->math = math;
  return good;
}
cudnn_status cudnnSetConvolutionGroupCount(cudnn_convolution object, int groups) {
  object->groups = groups;
  return good;
}

cudnn_status cudnnGetConvolutionForwardAlgorithm_v7(cudnn_handle handle, cudnn_tensor x, cudnn_filter w,
                                                    cudnn_convolution how, cudnn_tensor y, int most, int* found,
                                                    cudnn_algorithm* answers) {
  const guarded lock(state::instance().mutex);
  return answer("cudnnGetConvolutionForwardAlgorithm_v7", handle, {*x, *y, *w, *how}, 0, most, found, answers);
}
cudnn_status cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnn_handle handle, cudnn_filter w, cudnn_tensor dy,
                                                         cudnn_convolution how, cudnn_tensor dx, int most, int* found,
                                                         cudnn_algorithm* answers) {
  const guarded lock(state::instance().mutex);
  return answer("cudnnGetConvolutionBackwardDataAlgorithm_v7", handle, {*dx, *dy, *w, *how}, 1, most, found, answers);
}
cudnn_status cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnn_handle handle, cudnn_tensor x, cudnn_tensor dy,
                                                           cudnn_convolution how, cudnn_filter dw, int most, int* found,
                                                           cudnn_algorithm* answers) {
  const guarded lock(state::instance().mutex);
  return answer("cudnnGetConvolutionBackwardFilterAlgorithm_v7", handle, {*x, *dy, *dw, *how}, 2, most, found, answers);
}

cudnn_status cudnnConvolutionForward(cudnn_handle handle, const void* alpha, cudnn_tensor x_is, const void* x,
                                     cudnn_filter w_is, const void* w, cudnn_convolution how, int algorithm,
                                     void* whole, std::size_t bytes, const void* beta, cudnn_tensor y_is, void* y) {
  const guarded lock(state::instance().mutex);
  return convolve("cudnnConvolutionForward", handle, {*x_is, *y_is, *w_is, *how}, 0, alpha, x, w, algorithm, whole,
                  bytes, beta, y);
}
cudnn_status cudnnConvolutionBackwardData(cudnn_handle handle, const void* alpha, cudnn_filter w_is, const void* w,
                                          cudnn_tensor dy_is, const void* dy, cudnn_convolution how, int algorithm,
                                          void* whole, std::size_t bytes, const void* beta, cudnn_tensor dx_is,
                                          void* dx) {
  const guarded lock(state::instance().mutex);
  return convolve("cudnnConvolutionBackwardData", handle, {*dx_is, *dy_is, *w_is, *how}, 1, alpha, w, dy, algorithm,
                  whole, bytes, beta, dx);
}
cudnn_status cudnnConvolutionBackwardFilter(cudnn_handle handle, const void* alpha, cudnn_tensor x_is, const void* x,
                                            cudnn_tensor dy_is, const void* dy, cudnn_convolution how, int algorithm,
                                            void* whole, std::size_t bytes, const void* beta, cudnn_filter dw_is,
                                            void* dw) {
  const guarded lock(state::instance().mutex);
  return convolve("cudnnConvolutionBackwardFilter", handle, {*x_is, *dy_is, *dw_is, *how}, 2, alpha, x, dy, algorithm,
                  whole, bytes, beta, dw);
}
cudnn_status cudnnAddTensor(cudnn_handle handle, const void* alpha, cudnn_tensor a_is, const void* a, const void* beta,
                            cudnn_tensor c_is, void* c) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_cudnn("cudnnAddTensor"); failed != good) return failed;
  const cudnn_tensor_object from = *a_is, to = *c_is;
  if (!is_ready(handle) || from.type != to.type || from.count() != from.c || from.c != to.c || to.channels_last())
    return bad;
  if (!is_memory(handle, a, from) || !is_memory(handle, c, to)) return bad;
  const double scale = number(to.type, alpha), keep = number(to.type, beta);
  all.enqueue(handle->stream, [=] {
    for (long i = 0; i < to.count(); ++i)
      store(to.type, c, i, scale * load(to.type, a, i / (to.h * to.w) % to.c) + keep * load(to.type, c, i));
    return driver_result::success;
  });
  return good;
}

cudnn_status cudnnCreatePoolingDescriptor(cudnn_pooling* made) {
  const guarded lock(state::instance().mutex);
  return create("cudnnCreatePoolingDescriptor", made);
}
cudnn_status cudnnDestroyPoolingDescriptor(cudnn_pooling object) {
  const guarded lock(state::instance().mutex);
  return destroy("cudnnDestroyPoolingDescriptor", object);
}
cudnn_status cudnnSetPooling2dDescriptor(cudnn_pooling object, cudnn_pooling_mode mode, cudnn_nan nan, int h, int w,
                                         int pad_h, int pad_w, int stride_h, int stride_w) {
  if (object == nullptr || h < 1 || w < 1 || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1) return bad;
  *object = {mode, nan, h, w, pad_h, pad_w, stride_h, stride_w};
  return good;
}
cudnn_status cudnnPoolingForward(cudnn_handle handle, cudnn_pooling what, const void* alpha, cudnn_tensor x_is,
                                 const void* x, const void* beta, cudnn_tensor y_is, void* y) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_cudnn("cudnnPoolingForward"); failed != good) return failed;
  const cudnn_tensor_object from = *x_is, to = *y_is;
  const cudnn_pooling_object how = *what;
  if (!is_ready(handle) || !is_sound(how, from, to) || !is_memory(handle, x, from) || !is_memory(handle, y, to))
    return bad;
  if (number(from.type, alpha) != 1 || number(from.type, beta) != 0) return cudnn_status::not_supported;
  all.enqueue(handle->stream, [=] {
    each_window(how, from, to, [&](long place, const std::vector<long>& under) {
      double best = -std::numeric_limits<double>::infinity(), sum = 0;
      for (const long i : under) {
        const double v = load(from.type, x, i);
        sum += v;
        if (v > best || (std::isnan(v) && how.nan == cudnn_nan::propagate)) best = v;
        if (std::isnan(best)) break;
      }
      store(to.type, y, place, is_max(how) ? best : sum / divisor(how, under.size()));
    });
    return driver_result::success;
  });
  return good;
}
cudnn_status cudnnPoolingBackward(cudnn_handle handle, cudnn_pooling what, const void* alpha, cudnn_tensor y_is,
                                  const void* y, cudnn_tensor dy_is, const void* dy, cudnn_tensor x_is, const void* x,
                                  const void* beta, cudnn_tensor dx_is, void* dx) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_cudnn("cudnnPoolingBackward"); failed != good) return failed;
  const cudnn_tensor_object from = *x_is, to = *y_is;
  const cudnn_pooling_object how = *what;
  if (!is_ready(handle) || !is_sound(how, from, to) || !(*dy_is == to) || !(*dx_is == from)) return bad;
  if (!is_memory(handle, x, from) || !is_memory(handle, y, to) || !is_memory(handle, dy, to) ||
      !is_memory(handle, dx, from))
    return bad;
  const double scale = number(from.type, alpha), keep = number(from.type, beta);
  all.enqueue(handle->stream, [=] {
    std::vector<double> sums(static_cast<std::size_t>(from.count()));
    each_window(how, from, to, [&](long place, const std::vector<long>& under) {
      const double g = load(to.type, dy, place);
      if (!is_max(how)) {
        for (const long i : under) sums[static_cast<std::size_t>(i)] += g / divisor(how, under.size());
        return;
      }
      const double best = load(to.type, y, place);
      for (const long i : under) {
        const double v = load(from.type, x, i);
        if (v != best && !(std::isnan(v) && std::isnan(best))) continue;
        sums[static_cast<std::size_t>(i)] += g;
        return;
      }
    });
    for (long i = 0; i < from.count(); ++i)
      store(from.type, dx, i,
            scale * sums[static_cast<std::size_t>(i)] + (keep != 0 ? keep * load(from.type, dx, i) : 0));
    return driver_result::success;
  });
  return good;
}

}  // extern "C"
#pragma GCC visibility pop
