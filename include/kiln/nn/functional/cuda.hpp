// SPDX-License-Identifier: BSL-1.0
// Convolution, pooling, batch norm and attention of Tensor<T, Cuda>: by cuDNN, and by kernels of our own where it has
// none or does not say which of several maxima gets the gradient.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <kiln/device/cuda/compile/registry.hpp>
#include <kiln/device/cuda/libraries/batch_norm.hpp>
#include <kiln/device/cuda/libraries/convolution.hpp>
#include <kiln/device/cuda/libraries/multiply_plan.hpp>
#include <kiln/device/cuda/libraries/pooling.hpp>
#include <kiln/device/cuda/run/attention.hpp>
#include <kiln/device/cuda/run/pooling_kernels.hpp>
#include <kiln/nn/functional/attention_kernels.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/pool2d.hpp>
#include <kiln/tensor/cuda.hpp>

namespace kiln {

namespace detail {
/// Enters the kernels for elements of T among those that a bundle holds.
template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_pooling_kernels{{[] {
  using cuda::pooling_kernel;
  std::vector<cuda::source> all;
  for (const pooling_kernel which :
       {pooling_kernel::max, pooling_kernel::max_backward, pooling_kernel::average, pooling_kernel::average_backward})
    all.push_back(print_pooling(which, dtype_of<T>));
  return all;
}}};

template <Element T>
inline const cuda::registration<cuda::registered_kernels> registered_attention_kernels{{[] {
  std::vector<cuda::source> all;
  for (const cuda::attention_text& text : cuda::attention_texts(dtype_of<T>)) all.push_back(print_attention(text));
  return all;
}}};

inline const cuda::stream& stream_near(const storage& near) {
  return cuda::current_stream({near.device});
}
}  // namespace detail

template <>
struct convolution<Cuda> {
  template <class T>
  static void forward(const convolution_sizes& s, const T* x, const T* w, const T* bias, T* y, const storage& near) {
    cuda::convolve(s, dtype_of<T>, x, w, bias, y, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static constexpr bool has_channels_last = !std::is_same_v<T, double>;
  template <class T>
  static void backward_input(const convolution_sizes& s, const T* dy, const T* w, T* dx, bool add,
                             const storage& near) {
    cuda::convolve_backward_input(s, dtype_of<T>, dy, w, dx, add, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static void backward_weight(const convolution_sizes& s, const T* x, const T* dy, T* dw, bool add,
                              const storage& near) {
    cuda::convolve_backward_weight(s, dtype_of<T>, x, dy, dw, add, cuda::allow_tf32(), detail::stream_near(near));
  }
  template <class T>
  static void backward_bias(const convolution_sizes& s, const T* dy, T* db, bool add, const storage& near) {
    cuda::convolve_backward_bias(s, dtype_of<T>, dy, db, add, detail::stream_near(near));
  }
};

template <>
struct pooling<Cuda> {
  template <class T>
  static void max(const pooling_sizes& s, const T* x, T* y, const storage& near) {
    static_cast<void>(detail::registered_pooling_kernels<T>);
    cuda::own_max_pool(s, dtype_of<T>, x, y, detail::stream_near(near));
  }
  template <class T>
  static void max_backward(const pooling_sizes& s, const T* x, const T* y, const T* dy, T* dx, bool add,
                           const storage& near) {
    cuda::own_max_pool_backward(s, dtype_of<T>, x, y, dy, dx, add, detail::stream_near(near));
  }
  template <class T>
  static void average(const pooling_sizes& s, const average_divisor& divisor, const T* x, T* y, const storage& near) {
    static_cast<void>(detail::registered_pooling_kernels<T>);
    if (by_cudnn(s, divisor, near))
      cuda::average_pool(s, divisor, dtype_of<T>, x, y, detail::stream_near(near));
    else
      cuda::own_average_pool(s, divisor, dtype_of<T>, x, y, detail::stream_near(near));
  }
  template <class T>
  static void average_backward(const pooling_sizes& s, const average_divisor& divisor, const T* dy, T* dx, bool add,
                               const storage& near) {
    if (by_cudnn(s, divisor, near))
      cuda::average_pool_backward(s, divisor, dtype_of<T>, dy, dx, add, detail::stream_near(near));
    else
      cuda::own_average_pool_backward(s, divisor, dtype_of<T>, dy, dx, add, detail::stream_near(near));
  }

 private:
  static bool by_cudnn(const pooling_sizes& s, const average_divisor& divisor, const storage& near) {
    return cuda::can_pool(s, divisor) && cuda::has_cudnn(executor<Cuda>::device_of(near));
  }
};

template <>
struct attention_kernels<Cuda> {
  static constexpr bool any = true;
  template <class T>
  static constexpr bool takes() {
    return true;
  }
  static bool fits(const attention_job& job, const storage& near) {
    return cuda::can_attend(job, executor<Cuda>::device_of(near));
  }
  template <class T>
  static void forward(const attention_job& job, T* out, compute_t<T>* logsumexp, const storage& near) {
    static_cast<void>(detail::registered_attention_kernels<T>);
    cuda::attention(job, out, logsumexp, detail::stream_near(near));
  }
  template <class T>
  static void backward(const attention_job& job, const T* out, const compute_t<T>* logsumexp, const T* dout,
                       attention_targets& targets, const storage& near) {
    const auto place = [&](std::size_t i) {
      return targets[i] ? cuda::attention_target{targets[i]->tensor->data, targets[i]->add} : cuda::attention_target{};
    };
    cuda::attention_backward(job, out, logsumexp, dout, place(0), place(1), place(2), detail::stream_near(near));
  }
};

namespace detail {

/// Images as cuDNN counts them: the first of their axes, and all others as one.
inline cuda::batch_norm_sizes cudnn_sizes(const batch_norm_sizes& s) {
  const std::int64_t rows = s.x.rank() > 2 ? s.x[2] : 1;
  return {s.x[0], s.x[1], {rows, rows > 0 ? s.rows[2] / rows : 0}};
}

/// What a training by cuDNN leaves in the graph.
template <Element T>
class cudnn_batch_norm_node final : public op_node_of<3, 2> {
 public:
  cudnn_batch_norm_node(const cuda::batch_norm_sizes& s, double eps, const Tensor<T, Cuda>& x,
                        const Tensor<T, Cuda>& weight, Tensor<T, Cuda> mean, Tensor<T, Cuda> inverse,
                        std::array<ref<gradient_record>, 3> records)
      : op_node_of(functions_of<Cuda>), sizes_(s), eps_(eps), mean_(std::move(mean)), inverse_(std::move(inverse)) {
    for (std::size_t i = 0; i < 3; ++i) input[i] = std::move(records[i]);
    saved[0].save(*x.state());
    saved[1].save(*weight.state());
  }
  const char* name() const override { return "batch_norm in training"; }

  void backward(const ref<tensor_state>& gradient) override {
    using device = executor<Cuda>;
    const no_grad quiet;
    const storage& near = *gradient->memory;
    check_saved(near);
    for (const auto* t : {&mean_, &inverse_}) device::check_operand(*t->state()->memory, near);
    // cuDNN computes all three at once. What nobody asked for is dropped.
    const dims channel{sizes_.channels};
    const Tensor<T, Cuda> dweight(device::new_tensor(dtype_of<T>, channel, near)),
        dbias(device::new_tensor(dtype_of<T>, channel, near));
    ref<tensor_state> dx;
    bool add = false;
    if (wants(0)) {
      const gradient_target to = target(0, near);
      dx = to.tensor;
      add = to.add;
    } else {
      dx = device::new_tensor(dtype_of<T>, saved[0].sizes, near);
    }
    cuda::batch_norm_backward(sizes_, dtype_of<T>, saved[0].data, gradient->data, saved[1].data, mean_.data(),
                              inverse_.data(), eps_, dx->data, add, dweight.data(), dbias.data(), stream_near(near));
    const runnable& adding = *adding_kernel<T, Cuda>();
    if (wants(1)) hand_over_gradient(adding, dweight.state(), *input[1]);
    if (wants(2)) hand_over_gradient(adding, dbias.state(), *input[2]);
  }

 private:
  void forget() override { mean_ = {}, inverse_ = {}; }

  cuda::batch_norm_sizes sizes_;
  double eps_;
  Tensor<T, Cuda> mean_, inverse_;
};

}  // namespace detail

template <>
struct batch_normalizer<Cuda> {
  static constexpr bool has_library = true;

  /// No copy is made to please cuDNN: operands in another layout, or statistics of another type, go to the expressions.
  template <Element T, Element R>
  static bool fits(const Tensor<T, Cuda>& x, const Tensor<R, Cuda>& running_mean, const Tensor<R, Cuda>& running_var,
                   const batch_norm_options& how) {
    const auto in_order = [](const auto& t) { return !t.defined() || t.contiguous_layout(); };
    return (std::is_same_v<T, R> || !running_mean.defined()) && in_order(x) && in_order(running_mean) &&
           in_order(running_var) &&
           cuda::can_batch_norm(detail::cudnn_sizes(detail::batch_norm_sizes(x.sizes())), dtype_of<T>, how.eps) &&
           cuda::has_batch_norm(executor<Cuda>::device_of(*x.state()->memory));
  }

  template <Element T, Element R>
  static Tensor<T, Cuda> train(const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& weight, const Tensor<T, Cuda>& bias,
                               const Tensor<R, Cuda>& running_mean, const Tensor<R, Cuda>& running_var,
                               const batch_norm_options& how) {
    const auto sizes = detail::cudnn_sizes(detail::batch_norm_sizes(x.sizes()));
    auto out = detail::new_output(x, x.sizes());
    const dims channel{sizes.channels};
    const Tensor<T, Cuda> mean(detail::new_output(x, channel)), inverse(detail::new_output(x, channel)),
        scale = detail::in_one_piece(weight, *out), shift = detail::in_one_piece(bias, *out);
    executor<Cuda>::check_operand(*x.state()->memory, *out->memory);
    cuda::batch_norm_running running{.momentum = how.momentum};
    if (running_mean.defined()) {
      for (const auto* t : {&running_mean, &running_var}) {
        executor<Cuda>::check_operand(*t->state()->memory, *out->memory);
        ++t->state()->memory->version;
      }
      running.mean = running_mean.data(), running.variance = running_var.data();
    }
    cuda::batch_norm_training(sizes, dtype_of<T>, x.data(), scale.data(), shift.data(), how.eps, out->data, mean.data(),
                              inverse.data(), running, detail::stream_near(*out->memory));
    std::array<ref<gradient_record>, 3> records{x.state()->autograd_metadata, weight.state()->autograd_metadata,
                                                bias.state()->autograd_metadata};
    if (!grad_enabled() || !(records[0] || records[1] || records[2])) return Tensor<T, Cuda>(std::move(out));
    return detail::with_producer<T, Cuda>(
        std::move(out),
        new detail::cudnn_batch_norm_node<T>(sizes, how.eps, x, scale, mean, inverse, std::move(records)));
  }
};

}  // namespace kiln
