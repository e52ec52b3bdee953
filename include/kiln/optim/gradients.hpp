// SPDX-License-Identifier: BSL-1.0
// What is done to all gradients at once, between backward() and step(): clipping by their common length or one by one.
// Gradients that lie in one buffer, as those of an optimizer's group do, are one kernel.
#pragma once

#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <kiln/optim/parameter_groups.hpp>

namespace kiln::optim {

namespace detail {
/// Calls f with the gradients there are, 1-D, as many at a time as lie behind each other; what stands between them is
/// zero, and has to stay so.
template <Element T, class Device, class F>
void each_gradient(const std::vector<Tensor<T, Device>>& parameters, F f) {
  std::vector<ref<tensor_state>> gradients;
  for (const Tensor<T, Device>& p : parameters)
    gradients.push_back(p.has_grad() ? p.state()->autograd_metadata->gradient : ref<tensor_state>());
  // Where there is no gradient, there is no place in the list either.
  std::vector<ref<tensor_state>> sized;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    sized.push_back(gradients[i] ? gradients[i] : parameters[i].state());
  const flat_layout layout(sized);
  for (const index_run& run : runs_in_memory(gradients, layout)) {
    const std::size_t first = static_cast<std::size_t>(run.first), last = static_cast<std::size_t>(run.last);
    const ref<tensor_state>& g = gradients[first];
    if (last == first + 1)
      f(Tensor<T, Device>(g));
    else
      f(Tensor<T, Device>(joined(g, layout.begins[last] - layout.begins[first])));
    for (std::size_t i = first; i < last; ++i) ++gradients[i]->memory->version;
  }
}
}  // namespace detail

/// Shortens the gradients of all parameters together, as if they were one vector, to the length `max_norm` of the
/// `norm_type`-norm (2, another number above 0, or infinity) if it is longer; returns the length that it had.
/// Parameters without a gradient do not count. Throws value_error for a negative max_norm, a norm_type not above 0,
/// and, with `error_if_nonfinite`, for a length that is infinite or NaN.
template <Element T, class Device>
double clip_grad_norm(const std::vector<Tensor<T, Device>>& parameters, double max_norm, double norm_type = 2,
                      bool error_if_nonfinite = false) {
  using C = compute_t<T>;
  if (!(max_norm >= 0)) throw value_error(message("clip_grad_norm: max_norm is ", max_norm, ": it must be 0 or more"));
  if (!(norm_type > 0)) throw value_error(message("clip_grad_norm: norm_type is ", norm_type, ": it must be above 0"));
  const no_grad quiet;
  double total = 0;
  detail::each_gradient(parameters, [&](const Tensor<T, Device>& g) {
    if (g.numel() == 0) return;
    const auto wide = kiln::detail::converted<C>(g);
    if (std::isinf(norm_type)) {
      const double most = static_cast<double>(max(abs(wide)).item());
      if (!(most <= total)) total = most;  // NaN too, and for good
    } else if (norm_type == 2) {
      total += static_cast<double>(sum(wide * wide).item());
    } else {
      total += static_cast<double>(sum(pow(abs(wide), norm_type)).item());
    }
  });
  const double norm = std::isinf(norm_type) ? total
                      : norm_type == 2      ? std::sqrt(total)
                                            : std::pow(total, 1 / norm_type);
  if (error_if_nonfinite && !std::isfinite(norm))
    throw value_error(message("clip_grad_norm: the gradients have the length ", norm,
                              ": the loss has grown too large, or is not a number"));
  const double by = max_norm / (norm + 1e-6);
  if (by >= 1) return norm;
  detail::each_gradient(parameters, [&](Tensor<T, Device> g) {
    const auto wide = kiln::detail::converted<C>(g);
    assign(std::tie(g), cast<T>(where(wide == 0, 0, wide * by)));
  });
  return norm;
}

/// Cuts every element of the gradients of all parameters to [-clip_value, clip_value]. Throws value_error for a
/// negative clip_value.
template <Element T, class Device>
void clip_grad_value(const std::vector<Tensor<T, Device>>& parameters, double clip_value) {
  if (!(clip_value >= 0))
    throw value_error(message("clip_grad_value: clip_value is ", clip_value, ": it must be 0 or more"));
  const no_grad quiet;
  detail::each_gradient(parameters, [&](Tensor<T, Device> g) {
    assign(std::tie(g), cast<T>(clamp(kiln::detail::converted<compute_t<T>>(g), -clip_value, clip_value)));
  });
}

/// The same of all groups of an optimizer together.
template <Element T, class Device, class Options>
double clip_grad_norm(const parameter_groups<T, Device, Options>& opt, double max_norm, double norm_type = 2,
                      bool error_if_nonfinite = false) {
  return clip_grad_norm(opt.all_parameters(), max_norm, norm_type, error_if_nonfinite);
}
template <Element T, class Device, class Options>
void clip_grad_value(const parameter_groups<T, Device, Options>& opt, double clip_value) {
  clip_grad_value(opt.all_parameters(), clip_value);
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template double clip_grad_norm(const std::vector<Tensor<float>>&, double, double, bool);
#endif

}  // namespace kiln::optim
