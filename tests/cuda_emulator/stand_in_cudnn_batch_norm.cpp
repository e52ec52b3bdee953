// SPDX-License-Identifier: BSL-1.0
// The batch norms of the stand-in for libcudnn: the formulas in plain loops. Statistics have the type of the
// descriptor for them, which must be the one that cuDNN asks for.
#include <cmath>

#include "stand_in_cudnn.hpp"

namespace kiln::cuda::stand_in {
namespace {

constexpr auto good = cudnn_status::success;
constexpr auto bad = cudnn_status::bad_parameter;

bool is_sound(cudnn_batch_norm_mode mode, const cudnn_tensor_object& x, const cudnn_tensor_object& channel,
              double eps) {
  const auto wanted = x.type == cudnn_type::float64 ? cudnn_type::float64 : cudnn_type::float32;
  return mode == cudnn_batch_norm_mode::spatial && channel == cudnn_tensor_object{wanted, 1, x.c, 1, 1} && eps >= 0;
}
// Calls f(place) for each element of a channel.
template <class F>
void each_of_channel(const cudnn_tensor_object& x, long c, F f) {
  for (long n = 0; n < x.n; ++n)
    for (long i = 0; i < x.h * x.w; ++i) f((n * x.c + c) * x.h * x.w + i);
}
// to = scale * value + keep * to, where nothing is read if keep is 0.
void blend(cudnn_type type, void* to, long i, double scale, double value, double keep) {
  store(type, to, i, scale * value + (keep != 0 ? keep * load(type, to, i) : 0));
}

}  // namespace
}  // namespace kiln::cuda::stand_in

using namespace kiln::cuda;
using namespace kiln::cuda::stand_in;
using guarded = std::lock_guard<std::recursive_mutex>;

#pragma GCC visibility push(default)
extern "C" {

cudnn_status cudnnBatchNormalizationForwardTraining(cudnn_handle handle, cudnn_batch_norm_mode mode, const void* alpha,
                                                    const void* beta, cudnn_tensor x_is, const void* x,
                                                    cudnn_tensor y_is, void* y, cudnn_tensor channel_is,
                                                    const void* weight, const void* bias, double factor,
                                                    void* running_mean, void* running_variance, double eps, void* mean,
                                                    void* inverse) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_cudnn("cudnnBatchNormalizationForwardTraining"); failed != good) return failed;
  if (all.fails("cudnn_batch_norm")) return cudnn_status::execution_failed;
  const cudnn_tensor_object of = *x_is, channel = *channel_is;
  if (!is_ready(handle) || !(*y_is == of) || !is_sound(mode, of, channel, eps)) return bad;
  if ((running_mean == nullptr) != (running_variance == nullptr) || (mean == nullptr) != (inverse == nullptr))
    return bad;
  if (!is_memory(handle, x, of) || !is_memory(handle, y, of)) return bad;
  for (const void* needed : {weight, bias})
    if (!is_memory(handle, needed, channel)) return bad;
  for (const void* optional : {running_mean, running_variance, mean, inverse})
    if (optional != nullptr && !is_memory(handle, optional, channel)) return bad;
  const double scale = number(of.type, alpha), keep = number(of.type, beta);
  all.enqueue(handle->stream, [=] {
    const double count = static_cast<double>(of.n * of.h * of.w);
    for (long c = 0; c < of.c; ++c) {
      double sum = 0, squares = 0;
      each_of_channel(of, c, [&](long i) { sum += load(of.type, x, i); });
      const double average = sum / count;
      each_of_channel(of, c, [&](long i) { squares += std::pow(load(of.type, x, i) - average, 2); });
      const double by = 1 / std::sqrt(squares / count + eps);
      const double w = load(channel.type, weight, c), b = load(channel.type, bias, c);
      each_of_channel(of, c,
                      [&](long i) { blend(of.type, y, i, scale, (load(of.type, x, i) - average) * by * w + b, keep); });
      if (mean != nullptr) {
        store(channel.type, mean, c, average);
        store(channel.type, inverse, c, by);
      }
      if (running_mean == nullptr) continue;
      blend(channel.type, running_mean, c, factor, average, 1 - factor);
      blend(channel.type, running_variance, c, factor, squares / (count - 1), 1 - factor);
    }
    return driver_result::success;
  });
  return good;
}

cudnn_status cudnnBatchNormalizationBackward(cudnn_handle handle, cudnn_batch_norm_mode mode, const void* alpha_data,
                                             const void* beta_data, const void* alpha_parameters,
                                             const void* beta_parameters, cudnn_tensor x_is, const void* x,
                                             cudnn_tensor dy_is, const void* dy, cudnn_tensor dx_is, void* dx,
                                             cudnn_tensor channel_is, const void* weight, void* dweight, void* dbias,
                                             double eps, const void* mean, const void* inverse) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_cudnn("cudnnBatchNormalizationBackward"); failed != good) return failed;
  if (all.fails("cudnn_batch_norm")) return cudnn_status::execution_failed;
  const cudnn_tensor_object of = *x_is, channel = *channel_is;
  if (!is_ready(handle) || !(*dy_is == of) || !(*dx_is == of) || !is_sound(mode, of, channel, eps)) return bad;
  for (const void* all_of : {x, dy, static_cast<const void*>(dx)})
    if (!is_memory(handle, all_of, of)) return bad;
  // The saved ones may be left out, and are found again then; kiln never does.
  for (const void* needed : {weight, static_cast<const void*>(dweight), static_cast<const void*>(dbias), mean, inverse})
    if (!is_memory(handle, needed, channel)) return bad;
  const double scale = number(of.type, alpha_data), keep = number(of.type, beta_data);
  const double scale_parameters = number(of.type, alpha_parameters), keep_parameters = number(of.type, beta_parameters);
  all.enqueue(handle->stream, [=] {
    const double count = static_cast<double>(of.n * of.h * of.w);
    for (long c = 0; c < of.c; ++c) {
      const double average = load(channel.type, mean, c), by = load(channel.type, inverse, c);
      const double w = load(channel.type, weight, c);
      const auto normalised = [&](long i) { return (load(of.type, x, i) - average) * by; };
      double sum = 0, weighted = 0;
      each_of_channel(of, c, [&](long i) {
        sum += load(of.type, dy, i);
        weighted += load(of.type, dy, i) * normalised(i);
      });
      each_of_channel(of, c, [&](long i) {
        const double centred = load(of.type, dy, i) - sum / count - normalised(i) * weighted / count;
        blend(of.type, dx, i, scale, w * by * centred, keep);
      });
      blend(channel.type, dweight, c, scale_parameters, weighted, keep_parameters);
      blend(channel.type, dbias, c, scale_parameters, sum, keep_parameters);
    }
    return driver_result::success;
  });
  return good;
}

}  // extern "C"
#pragma GCC visibility pop
