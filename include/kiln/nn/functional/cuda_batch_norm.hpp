// SPDX-License-Identifier: BSL-1.0
// batch_norm in training of Tensor<T, Cuda> by cuDNN: of images with channels first as they are, of half and bfloat16
// with channels last by a graph. What cuDNN does not take is left to the expressions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <kiln/device/cuda/cudnn/batch_norm_graph.hpp>
#include <kiln/device/cuda/libraries/batch_norm.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln {

namespace detail {

/// Images as cuDNN counts them: the first of their axes, and all others as one.
inline cuda::batch_norm_sizes cudnn_sizes(const batch_norm_sizes& s) {
  const std::int64_t rows = s.x.rank() > 2 ? s.x[2] : 1;
  return {s.x[0], s.x[1], {rows, rows > 0 ? s.rows[2] / rows : 0}};
}

/// Fewer elements than this are not worth a plan. Tests set it to 0.
inline std::int64_t least_cudnn_batch_norm = std::int64_t{1} << 16;

/// The order of axes that puts channels last, and the one that puts them second again.
inline dims channels_last_order(int rank) {
  dims order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}
inline dims channels_second_order(int rank) {
  dims order{0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) order.push_back(i);
  return order;
}
/// Whether memory lies at a multiple of what cuDNN's graphs ask for.
inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

/// What a training by cuDNN leaves in the graph: x as cuDNN was given it, and floats for each channel.
template <Element T>
class cudnn_batch_norm_node final : public op_node_of<3, 2> {
  using C = compute_t<T>;
  using device = executor<Cuda>;

 public:
  struct channel_values {
    Tensor<C, Cuda> scale, mean, inverse;
  };
  /// `last` is the layout of images with channels last; none: they are second.
  cudnn_batch_norm_node(double eps, const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& weight, channel_values channel,
                        std::optional<cuda::batch_norm_layout> last, std::array<ref<gradient_record>, 3> records)
      : op_node_of(functions_of<Cuda>), eps_(eps), channel_(std::move(channel)), last_(last) {
    for (std::size_t i = 0; i < 3; ++i) input[i] = std::move(records[i]);
    saved[0].save(*x.state());
    saved[1].save(*weight.state());
  }
  const char* name() const override { return "batch_norm in training"; }

  void backward(const ref<tensor_state>& gradient) override {
    const no_grad quiet;
    const storage& near = *gradient->memory;
    check_saved(near);
    for (const auto* t : {&channel_.scale, &channel_.mean, &channel_.inverse})
      device::check_operand(*t->state()->memory, near);
    // cuDNN computes all three at once. What nobody asked for is dropped.
    const dims channel{channel_.mean.numel()};
    const Tensor<C, Cuda> dweight(device::new_tensor(dtype_of<C>, channel, near)),
        dbias(device::new_tensor(dtype_of<C>, channel, near));
    ref<tensor_state> dx;
    bool add = false;
    if (wants(0)) {
      const gradient_target to = target(0, near);
      dx = to.tensor;
      add = to.add;
    } else {
      dx = device::new_tensor(dtype_of<T>, saved[0].sizes, near);
    }
    if (last_)
      by_graph(gradient, dx, add, dweight, dbias);
    else
      cuda::batch_norm_backward(cudnn_sizes(batch_norm_sizes(saved[0].sizes)), dtype_of<T>, saved[0].data,
                                gradient->data, channel_.scale.data(), channel_.mean.data(), channel_.inverse.data(),
                                eps_, dx->data, add, dweight.data(), dbias.data(), cuda::current_stream({near.device}));
    if (wants(1)) hand_over_gradient(adding(), untracked(converted<T>(dweight)).state(), *input[1]);
    if (wants(2)) hand_over_gradient(adding(), untracked(converted<T>(dbias)).state(), *input[2]);
  }

 private:
  static const runnable& adding() { return *adding_kernel<T, Cuda>(); }

  void by_graph(const ref<tensor_state>& gradient, const ref<tensor_state>& dx, bool add,
                const Tensor<C, Cuda>& dweight, const Tensor<C, Cuda>& dbias) {
    const storage& near = *gradient->memory;
    Tensor<T, Cuda> dy(gradient);
    if (!is_aligned(dy.data())) dy = dy.clone();
    const bool direct = !add && is_aligned(dx->data);
    const ref<tensor_state> made = direct ? dx : device::new_tensor(dtype_of<T>, saved[0].sizes, near);
    cuda::cudnn_batch_norm_backward(*last_, saved[0].data, dy.data(), channel_.scale.data(), channel_.mean.data(),
                                    channel_.inverse.data(), made->data, dweight.data(), dbias.data(),
                                    cuda::current_stream({near.device}));
    if (!direct) store_values(adding(), *made, *dx, add);
  }
  void forget() override { channel_ = {}; }

  double eps_;
  channel_values channel_;
  std::optional<cuda::batch_norm_layout> last_;
};

}  // namespace detail

template <>
struct batch_normalizer<Cuda> {
  static constexpr bool has_library = true;

  template <Element T, Element R>
  static Tensor<T, Cuda> train(const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& weight, const Tensor<T, Cuda>& bias,
                               const Tensor<R, Cuda>& running_mean, const Tensor<R, Cuda>& running_var,
                               const batch_norm_options& how) {
    using C = compute_t<T>;
    // Statistics of a type that is wider than cuDNN's would lose digits.
    if (running_mean.defined() && size_of(dtype_of<R>) > size_of(dtype_of<C>)) return {};
    // In half types cuDNN is fast with channels last alone: with channels second kiln's own kernels take a third of its
    // time.
    if constexpr (!std::is_same_v<T, C>) {
      if (x.contiguous_layout()) return {};
      return train_channels_last(x, weight, bias, running_mean, running_var, how);
    } else {
      return train_channels_second(x, weight, bias, running_mean, running_var, how);
    }
  }

 private:
  /// Numbers of each channel as cuDNN wants them: contiguous, in the type that it computes in.
  template <Element C, Element T>
  static Tensor<C, Cuda> for_cudnn(const Tensor<T, Cuda>& x, const tensor_state& result) {
    if constexpr (std::is_same_v<T, C>) {
      return detail::in_one_piece(x, result);
    } else {
      const no_grad quiet;
      executor<Cuda>::check_operand(*x.state()->memory, *result.memory);
      return detail::untracked(detail::converted<C>(x.detach()));
    }
  }

  template <Element T>
  static Tensor<T, Cuda> joined(ref<tensor_state> out, double eps, const Tensor<T, Cuda>& x,
                                const Tensor<T, Cuda>& weight, const Tensor<T, Cuda>& bias,
                                typename detail::cudnn_batch_norm_node<T>::channel_values channel,
                                std::optional<cuda::batch_norm_layout> last) {
    std::array<ref<gradient_record>, 3> records{x.state()->autograd_metadata, weight.state()->autograd_metadata,
                                                bias.state()->autograd_metadata};
    if (!grad_enabled() || !(records[0] || records[1] || records[2])) return Tensor<T, Cuda>(std::move(out));
    return detail::with_producer<T, Cuda>(
        std::move(out),
        new detail::cudnn_batch_norm_node<T>(eps, x, weight, std::move(channel), last, std::move(records)));
  }

  template <Element T, Element R>
  static Tensor<T, Cuda> train_channels_second(const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& weight,
                                               const Tensor<T, Cuda>& bias, const Tensor<R, Cuda>& running_mean,
                                               const Tensor<R, Cuda>& running_var, const batch_norm_options& how) {
    // No copy is made to please cuDNN.
    const auto in_order = [](const auto& t) { return !t.defined() || t.contiguous_layout(); };
    if ((!std::is_same_v<R, T> && running_mean.defined()) || !in_order(x) || !in_order(running_mean) ||
        !in_order(running_var))
      return {};
    const auto sizes = detail::cudnn_sizes(detail::batch_norm_sizes(x.sizes()));
    if (!cuda::can_batch_norm(sizes, dtype_of<T>, how.eps) ||
        !cuda::has_batch_norm(executor<Cuda>::device_of(*x.state()->memory)))
      return {};
    auto out = detail::new_output(x, x.sizes());
    executor<Cuda>::check_operand(*x.state()->memory, *out->memory);
    const auto new_channel = [&] {
      return Tensor<T, Cuda>(executor<Cuda>::new_tensor(dtype_of<T>, {sizes.channels}, *out->memory));
    };
    const Tensor<T, Cuda> mean = new_channel(), inverse = new_channel(), scale = for_cudnn<T>(weight, *out),
                          shift = for_cudnn<T>(bias, *out);
    cuda::batch_norm_running running{.momentum = how.momentum};
    if (running_mean.defined()) {
      for (const auto* t : {&running_mean, &running_var}) {
        executor<Cuda>::check_operand(*t->state()->memory, *out->memory);
        ++t->state()->memory->version;
      }
      running.mean = running_mean.data(), running.variance = running_var.data();
    }
    cuda::batch_norm_training(sizes, dtype_of<T>, x.data(), scale.data(), shift.data(), how.eps, out->data, mean.data(),
                              inverse.data(), running, cuda::current_stream({out->memory->device}));
    return joined(std::move(out), how.eps, x, weight, bias, {scale, mean, inverse}, {});
  }

  template <Element R, Element C>
  static void write_back(const Tensor<R, Cuda>& running_mean, const Tensor<C, Cuda>& mean,
                         const Tensor<R, Cuda>& running_var, const Tensor<C, Cuda>& variance) {
    const no_grad quiet;
    detail::overwrite(running_mean, detail::converted<R>(mean));
    detail::overwrite(running_var, detail::converted<R>(variance));
  }

  template <Element T, Element R>
  static Tensor<T, Cuda> train_channels_last(const Tensor<T, Cuda>& x, const Tensor<T, Cuda>& weight,
                                             const Tensor<T, Cuda>& bias, const Tensor<R, Cuda>& running_mean,
                                             const Tensor<R, Cuda>& running_var, const batch_norm_options& how) {
    using C = compute_t<T>;
    const int rank = x.sizes().rank();
    const Tensor<T, Cuda> images = permute(x, detail::channels_last_order(rank));
    const detail::batch_norm_sizes s(x.sizes());
    const cuda::batch_norm_layout layout{.type = dtype_of<T>,
                                         .batch = s.rows[0],
                                         .positions = s.rows[2],
                                         .channels = s.rows[1],
                                         .running = running_mean.defined()};
    if (!images.contiguous_layout() || !detail::is_aligned(images.data()) ||
        images.numel() < detail::least_cudnn_batch_norm ||
        !cuda::cudnn_batch_norm_refusal(layout, executor<Cuda>::device_of(*x.state()->memory)).empty())
      return {};
    auto out = detail::new_output(images, images.sizes());
    executor<Cuda>::check_operand(*x.state()->memory, *out->memory);
    const auto new_channel = [&] {
      return Tensor<C, Cuda>(executor<Cuda>::new_tensor(dtype_of<C>, {layout.channels}, *out->memory));
    };
    const Tensor<C, Cuda> mean = new_channel(), inverse = new_channel(), scale = for_cudnn<C>(weight, *out),
                          shift = for_cudnn<C>(bias, *out);
    Tensor<C, Cuda> old_mean, old_variance, new_mean, new_variance;
    cuda::batch_norm_running_floats running{.momentum = how.momentum};
    if (layout.running) {
      old_mean = for_cudnn<C>(running_mean, *out), old_variance = for_cudnn<C>(running_var, *out);
      // A view of other statistics may begin anywhere.
      const no_grad quiet;
      for (auto* old : {&old_mean, &old_variance})
        if (!detail::is_aligned(old->data())) *old = old->clone();
      new_mean = new_channel(), new_variance = new_channel();
      running = {old_mean.data(), old_variance.data(), new_mean.data(), new_variance.data(), how.momentum};
    }
    cuda::cudnn_batch_norm(layout, images.data(), scale.data(), shift.data(), how.eps, out->data, mean.data(),
                           inverse.data(), running, cuda::current_stream({out->memory->device}));
    if (layout.running) write_back(running_mean, new_mean, running_var, new_variance);
    const Tensor<T, Cuda> made = joined(std::move(out), how.eps, images, weight, bias, {scale, mean, inverse}, layout);
    return permute(made, detail::channels_second_order(rank));
  }
};

}  // namespace kiln
