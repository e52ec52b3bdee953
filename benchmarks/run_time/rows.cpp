// SPDX-License-Identifier: BSL-1.0
// Row programs on [4096, 1024] beside expert Eigen and libtorch: softmax and layer norm, forward, and the gradient for
// x given that of each element; and for kiln a norm that a user writes from primitives. Eigen's side reads a row, keeps
// it in the nearest cache, and writes it once; its gradients recompute what the forward pass knew.
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using row = Eigen::Map<const Eigen::ArrayXf>;
using row_out = Eigen::Map<Eigen::ArrayXf>;

constexpr std::size_t rows = 4096, cols = 1024, n = rows * cols;
constexpr float epsilon = 1e-5F;

/// Calls f(x, g, y) for every row of the three arrays.
template <class F>
const float* each_row(const float* x, const float* g, float* y, F f) {
  const auto size = static_cast<Eigen::Index>(cols);
  for (std::size_t r = 0; r < n; r += cols) f(row(x + r, size), row(g + r, size), row_out(y + r, size));
  return y;
}

void softmax_row(const row& x, row_out& y) {
  const float most = x.maxCoeff();
  y = (x - most).exp();
  y *= 1 / y.sum();
}

struct moments {
  float mean, scale;  // scale = 1 / sqrt(variance + epsilon)
};
moments moments_of(const row& x) {
  const float mean = x.mean();
  const float variance = (x - mean).square().sum() / static_cast<float>(cols);
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

void forward_contests() {
  enter("rows/softmax", "eigen", n, [] {
    const float* x = random("x", n);
    float* y = buffer("y", n);
    return [=] { return each_row(x, x, y, [](const row& from, const row&, row_out to) { softmax_row(from, to); }); };
  });
  enter("rows/layer_norm", "eigen", n, [] {
    const float* x = random("x", n);
    float* y = buffer("y", n);
    return [=] {
      return each_row(x, x, y, [](const row& from, const row&, row_out to) {
        const moments m = moments_of(from);
        to = from * m.scale - m.mean * m.scale;
      });
    };
  });
  if (peers::torch_found()) {
    enter("rows/softmax", "torch", n, [] { return peers::torch_softmax(random("x", n), rows, cols); });
    enter("rows/layer_norm", "torch", n, [] { return peers::torch_layer_norm(random("x", n), rows, cols); });
  }
}

/// The gradient of sum(f(x) * g) for x, from x and g alone: what a backward pass has to compute.
void backward_contests() {
  enter("rows/softmax_gradient", "eigen", n, [] {
    const float *x = random("x", n), *g = random("g", n);
    float* y = buffer("y", n);
    return [=] {
      return each_row(x, g, y, [](const row& from, const row& up, row_out to) {
        softmax_row(from, to);
        const float dot = (to * up).sum();
        to *= up - dot;
      });
    };
  });
  enter("rows/layer_norm_gradient", "eigen", n, [] {
    const float *x = random("x", n), *g = random("g", n);
    float* y = buffer("y", n);
    return [=] {
      return each_row(x, g, y, [](const row& from, const row& up, row_out to) {
        const moments m = moments_of(from);
        const float count = static_cast<float>(cols), mean_up = up.sum() / count;
        const float along = ((from - m.mean) * m.scale * up).sum() / count;
        to = m.scale * (up - mean_up - (from - m.mean) * (m.scale * along));
      });
    };
  });
  if (peers::torch_found()) {  // libtorch's are forward and backward together: it keeps what the forward pass computed
    enter("rows/softmax_gradient", "torch", n,
          [] { return peers::torch_softmax_gradient(random("x", n), random("g", n), rows, cols); });
    enter("rows/layer_norm_gradient", "torch", n,
          [] { return peers::torch_layer_norm_gradient(random("x", n), random("g", n), rows, cols); });
  }
}

#if __has_include(<kiln/kiln.hpp>)
template <class F>
void kiln_forward(const std::string& work, const std::string& peer, F f) {
  enter(work, peer, n, [f] {
    return [f, x = peers::tensor(random("x", n), {rows, cols}), y = peers::result({rows, cols})]() mutable {
      y = f(x);
      return peers::data(y);
    };
  });
}

/// Given the gradient of each element: forward and backward, as a training step has them, and backward alone.
template <class F>
void kiln_backward(const std::string& work, F f) {
  enter(work, "kiln", n, [f] {
    auto x = peers::tensor(random("x", n), {rows, cols});
    x.requires_grad();
    return [f, x, g = peers::tensor(random("g", n), {rows, cols})]() mutable {
      x.zero_grad();
      kiln::Tensor<float> y = f(x);
      backward(y, g);
      return peers::data(x.grad());
    };
  });
  enter(work, "kiln_alone", n, [f] {
    auto x = peers::tensor(random("x", n), {rows, cols});
    x.requires_grad();
    return [x, y = kiln::Tensor<float>(f(x)), g = peers::tensor(random("g", n), {rows, cols})]() mutable {
      x.zero_grad();
      backward(y, g, {.retain_graph = true});
      return peers::data(x.grad());
    };
  });
}

/// A norm nobody shipped: root mean square around the mean, from primitives.
const auto own_norm = [](const auto& x) {
  const auto centred = x - mean(x, -1, true);
  return centred * rsqrt(mean(square(centred), -1, true) + epsilon);
};
#endif

[[maybe_unused]] const bool registered = [] {
  forward_contests();
  backward_contests();
#if __has_include(<kiln/kiln.hpp>)
  kiln_forward("rows/softmax", "kiln", [](const auto& x) { return softmax(x, -1); });
  kiln_forward("rows/layer_norm", "kiln", [](const auto& x) { return layer_norm(x); });
  kiln_forward("rows/layer_norm", "kiln_own", own_norm);
  kiln_backward("rows/softmax_gradient", [](const auto& x) { return softmax(x, -1); });
  kiln_backward("rows/layer_norm_gradient", [](const auto& x) { return layer_norm(x); });
#endif
  return true;
}();

}  // namespace
