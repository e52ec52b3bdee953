// SPDX-License-Identifier: BSL-1.0
// checkpoint(f, inputs...): a part of a model that keeps nothing for its backward pass but its inputs, and is computed
// a second time when the pass comes to it (Chen, Xu, Zhang, Guestrin: "Training deep nets with sublinear memory cost",
// 2016).
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/core/philox.hpp>
#include <kiln/tensor/op_node.hpp>

namespace kiln {

namespace detail {

// Notes the parts of random sequences that this thread takes, for a scope, or gives it those of an earlier scope again:
// then no generator moves, and what other threads draw meanwhile changes nothing.
class noted_draws final : public draw_source {
 public:
  noted_draws() = default;
  explicit noted_draws(const std::vector<random_stream>& again) : taken_(again), left_(again.size()) {}
  noted_draws(const noted_draws&) = delete;
  noted_draws& operator=(const noted_draws&) = delete;
  ~noted_draws() { thread_draws = before_; }

  random_stream take(generator& from, std::uint64_t blocks) override {
    if (left_ > 0) return taken_[taken_.size() - left_--];
    taken_.push_back(before_ ? before_->take(from, blocks) : next_of(from, blocks));
    return taken_.back();
  }
  std::vector<random_stream> all() && { return std::move(taken_); }

 private:
  std::vector<random_stream> taken_;
  std::size_t left_ = 0;  ///< to be given again
  draw_source* before_ = std::exchange(thread_draws, this);
};

template <class F, class Result, class... X>
class checkpoint_node final : public op_node_of<sizeof...(X), sizeof...(X)> {
  using base = op_node_of<sizeof...(X), sizeof...(X)>;
  template <class T, class Device>
  static constexpr const device_functions& functions_for(const Tensor<T, Device>*) {
    return functions_of<Device>;
  }

 public:
  checkpoint_node(F f, std::vector<random_stream> drawn, const X&... x)
      : base(functions_for(static_cast<const Result*>(nullptr))),
        f_(std::move(f)),
        drawn_(std::move(drawn)),
        x_(x.detach()...) {
    std::size_t i = 0;
    (static_cast<void>(this->input[i] = x.state()->autograd_metadata, this->saved[i++].save(*x.state())), ...);
  }
  const char* name() const override { return "checkpoint"; }
  void backward(const ref<tensor_state>& gradient) override {
    this->check_saved(*gradient->memory);
    auto own = std::apply([](const X&... x) { return std::tuple<X...>(x.detach()...); }, x_);
    each(own, [&](auto& x, std::size_t i) {
      if constexpr (is_floating(std::remove_reference_t<decltype(x)>::dtype()))
        if (this->wants(static_cast<int>(i))) x.requires_grad();
    });
    {
      const noted_draws same(drawn_);
      const recording_scope on(true);
      const Result y(std::apply(f_, own));
      if (y.needs_grad()) kiln::backward(y, Result(gradient));
    }
    each(own, [&]<class T, class Device>(Tensor<T, Device>& x, std::size_t i) {
      if constexpr (is_floating(dtype_of<T>))
        if (this->wants(static_cast<int>(i)) && x.has_grad())
          add_to_gradient(*adding_kernel<T, Device>(), *x.grad().state(), *this->input[i]);
    });
  }

 private:
  void forget() override { x_ = {}; }
  template <class Tuple, class G>
  static void each(Tuple& all, G g) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (g(std::get<I>(all), I), ...);
    }
    (std::index_sequence_for<X...>{});
  }

  F f_;
  std::vector<random_stream> drawn_;
  std::tuple<X...> x_;
};

}  // namespace detail

/// f(inputs...), a tensor or expression, as a tensor that keeps the inputs only: its backward pass calls f again. What
/// f uses besides its inputs (parameters that it captures) gets its gradients too. f must give the same again; the
/// random numbers that it draws on the calling thread are the same again, whatever other threads draw meanwhile. There
/// is no second derivative through it, and grad() knows of the inputs only. Throws what f throws; graph_error in the
/// backward pass if an input was changed in place.
template <class F, class... T, class Device>
auto checkpoint(F f, const Tensor<T, Device>&... inputs) {
  static_assert(!detail::any_transformed<Tensor<T, Device>...>,
                "kiln: checkpoint has no meaning within vmap and jvp: call f itself there, or checkpoint around them");
  std::vector<random_stream> drawn;
  auto y = [&] {
    const no_grad quiet;
    detail::noted_draws note;
    auto result = detail::untracked(f(inputs...));
    drawn = std::move(note).all();
    return result;
  }();
  if (!grad_enabled()) return y;
  y = y.detach();  // f may give one of its inputs
  detail::set_producer(*y.state(), new detail::checkpoint_node<F, decltype(y), Tensor<T, Device>...>(
                                       std::move(f), std::move(drawn), inputs...));
  return y;
}

}  // namespace kiln
