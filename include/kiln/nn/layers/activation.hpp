// SPDX-License-Identifier: BSL-1.0
// Activations as modules, with PyTorch's names and defaults. They are lazy: behind a layer they become part of its
// kernel.
#pragma once

#include <cstdint>
#include <string>

#include <kiln/nn/init.hpp>
#include <kiln/nn/layers/layer.hpp>
#include <kiln/tensor/products.hpp>

namespace kiln::nn {

/// max(x, 0): torch.nn.ReLU.
struct ReLU {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::relu(x));
  }
};

/// x limited to [0, 6]: torch.nn.ReLU6.
struct ReLU6 {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::relu6(x));
  }
};

/// the self-normalising exponential unit: torch.nn.SELU.
struct SELU {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::selu(x));
  }
};

/// x sigmoid(x): torch.nn.SiLU.
struct SiLU {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::silu(x));
  }
};

/// x tanh(softplus(x)): torch.nn.Mish.
struct Mish {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::mish(x));
  }
};

/// x / (1 + |x|): torch.nn.Softsign.
struct Softsign {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::softsign(x));
  }
};

/// 1 / (1 + exp(-x)): torch.nn.Sigmoid.
struct Sigmoid {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::sigmoid(x));
  }
};

/// log(sigmoid(x)): torch.nn.LogSigmoid.
struct LogSigmoid {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::logsigmoid(x));
  }
};

/// tanh(x): torch.nn.Tanh.
struct Tanh {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::tanh(x));
  }
};

/// x - tanh(x): torch.nn.Tanhshrink.
struct Tanhshrink {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::tanhshrink(x));
  }
};

/// x / 6 + 1/2 limited to [0, 1]: torch.nn.Hardsigmoid.
struct Hardsigmoid {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::hardsigmoid(x));
  }
};

/// x hardsigmoid(x): torch.nn.Hardswish.
struct Hardswish {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::hardswish(x));
  }
};

/// x Phi(x): torch.nn.GELU.
struct GELU {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::gelu(x));
  }
  std::string settings() const { return "approximate='none'"; }
};

/// The tanh approximation of gelu: PyTorch's GELU(approximate='tanh').
struct GELUTanh {
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::gelu_tanh(x));
  }
  std::string settings() const { return "approximate='tanh'"; }
};

/// x above 0, negative_slope x below: torch.nn.LeakyReLU.
struct LeakyReLU {
  double negative_slope = 0.01;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::leaky_relu(x, negative_slope));
  }
  std::string settings() const { return detail::settings_text("negative_slope", negative_slope); }
};

/// x above 0, alpha (exp(x) - 1) below: torch.nn.ELU.
struct ELU {
  double alpha = 1;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::elu(x, alpha));
  }
  std::string settings() const { return detail::settings_text("alpha", alpha); }
};

/// x above 0, alpha (exp(x / alpha) - 1) below: torch.nn.CELU.
struct CELU {
  double alpha = 1;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::celu(x, alpha));
  }
  std::string settings() const { return detail::settings_text("alpha", alpha); }
};

/// x moved towards 0 by lambda: torch.nn.Softshrink.
struct Softshrink {
  double lambda = 0.5;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::softshrink(x, lambda));
  }
  std::string settings() const { return detail::settings_text("", lambda); }
};

/// x, but 0 within lambda of 0: torch.nn.Hardshrink.
struct Hardshrink {
  double lambda = 0.5;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::hardshrink(x, lambda));
  }
  std::string settings() const { return detail::settings_text("", lambda); }
};

/// log(1 + exp(beta x)) / beta: torch.nn.Softplus.
struct Softplus {
  double beta = 1;
  double threshold = 20;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::softplus(x, beta, threshold));
  }
  std::string settings() const { return detail::settings_text("beta", beta, "threshold", threshold); }
};

/// x limited to [min_val, max_val]: torch.nn.Hardtanh.
struct Hardtanh {
  double min_val = -1;
  double max_val = 1;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::hardtanh(x, min_val, max_val));
  }
  std::string settings() const { return detail::settings_text("min_val", min_val, "max_val", max_val); }
};

/// x above the threshold, else the value: torch.nn.Threshold.
struct Threshold {
  double threshold = 0;
  double value = 0;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::threshold(x, threshold, value));
  }
  std::string settings() const { return detail::settings_text("threshold", threshold, "value", value); }
};

/// exp(x) / sum(exp(x)) along an axis: torch.nn.Softmax.
struct Softmax {
  std::int64_t dim = -1;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::softmax(x, dim));
  }
  std::string settings() const { return detail::settings_text("dim", dim); }
};

/// log(softmax(x)) along an axis: torch.nn.LogSoftmax.
struct LogSoftmax {
  std::int64_t dim = -1;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::log_softmax(x, dim));
  }
  std::string settings() const { return detail::settings_text("dim", dim); }
};

/// softmax(-x) along an axis: torch.nn.Softmin.
struct Softmin {
  std::int64_t dim = -1;
  template <Expression X>
  auto operator()(const X& x) const {
    return detail::watched(this, kiln::softmax(-x, dim));
  }
  std::string settings() const { return detail::settings_text("dim", dim); }
};

/// The first half of the input along an axis, times the sigmoid of the second: torch.nn.GLU.
struct GLU {
  std::int64_t dim = -1;
  /// Throws shape_error for an odd size.
  template <Expression X>
  auto operator()(const X& x) const {
    const auto whole = kiln::detail::as_tensor(x);
    const std::int64_t n = whole.size(dim);
    if (n % 2 != 0)
      throw shape_error(message("GLU(dim=", dim, "): got an input of shape ", whole.sizes(),
                                ", whose axis has the odd size ", n, "; expected an even one"));
    return detail::watched(this, whole.narrow(dim, 0, n / 2) * sigmoid(whole.narrow(dim, n / 2, n / 2)));
  }
  std::string settings() const { return detail::settings_text("dim", dim); }
};

/// x above 0, weight x below, with a learned weight for all or for each channel (axis 1): torch.nn.PReLU.
template <Element T = float, class D = Cpu>
struct PReLU {
  std::int64_t num_parameters = 1;
  double start = 0.25;
  Tensor<T, D> weight = init::constant<T, D>({num_parameters}, start);

  /// Throws shape_error for another number of channels.
  template <Expression X>
  auto operator()(const X& x) const {
    const dims sizes = shape_of(x);
    if (num_parameters > 1) detail::expect_size(*this, sizes, sizes.rank() > 1 ? 1 : 0, num_parameters);
    dims beside = dims::filled(sizes.rank() > 1 ? sizes.rank() - 1 : 1, 1);
    beside[0] = num_parameters;
    return detail::watched(this, where(x > 0, x, weight.reshape(beside) * x));
  }
  std::string settings() const { return detail::settings_text("num_parameters", num_parameters); }
};

}  // namespace kiln::nn
