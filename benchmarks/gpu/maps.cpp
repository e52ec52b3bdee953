// SPDX-License-Identifier: BSL-1.0
// Contiguous elementwise expressions of 64 Mi elements, and a training step's use of them: value and gradients.
#include "measure.hpp"

using namespace measure;

namespace {

double value_of(double a, double b, double c) {
  return std::max(0.0, a * b + c) - 0.5 * std::tanh(a);
}

template <class T>
struct operands {
  on_device<T> a, b, c, out;
  explicit operands(std::int64_t n)
      : a(cast<T>(randn<float, Cuda>({n}))), b(cast<T>(randn<float, Cuda>({n}))), c(cast<T>(randn<float, Cuda>({n}))) {}
};

template <class T>
void enter_type(std::int64_t n) {
  const std::string end = type_name<T>() + "/" + std::to_string(n);
  const auto bytes = [n](int tensors) { return static_cast<double>(n) * sizeof(T) * tensors; };
  enter("map/" + end, "kiln", [=] {
    auto x = std::make_shared<operands<T>>(n);
    work made;
    made.run = [x] { x->out = relu(x->a * x->b + x->c) - 0.5f * tanh(x->a); };
    made.wrong = [x] {
      const auto a = sample_of(x->a), b = sample_of(x->b), c = sample_of(x->c);
      std::vector<double> wanted;
      for (std::size_t i = 0; i < a.size(); ++i) wanted.push_back(value_of(a[i], b[i], c[i]));
      return difference(sample_of(x->out), wanted, tolerance<T>());
    };
    made.bytes = bytes(4);
    return made;
  });
  enter_copy("map/" + end, bytes(4));
  enter("multiply_add/" + end, "kiln", [=] {
    auto x = std::make_shared<operands<T>>(n);
    work made;
    made.run = [x] { x->out = x->a * x->b + x->c; };
    made.wrong = [x] {
      const auto a = sample_of(x->a), b = sample_of(x->b), c = sample_of(x->c);
      std::vector<double> wanted;
      for (std::size_t i = 0; i < a.size(); ++i) wanted.push_back(a[i] * b[i] + c[i]);
      return difference(sample_of(x->out), wanted, tolerance<T>());
    };
    made.bytes = bytes(4);
    return made;
  });
  enter_copy("multiply_add/" + end, bytes(4));
  // Reads three tensors for the sum, and again for the gradients, which are three more.
  enter("map_gradient/" + end, "kiln", [=] {
    auto x = std::make_shared<operands<T>>(n);
    for (auto* leaf : {&x->a, &x->b, &x->c}) leaf->requires_grad();
    work made;
    made.run = [x] {
      for (auto* leaf : {&x->a, &x->b, &x->c}) leaf->zero_grad();
      backward(sum(relu(x->a * x->b + x->c) - 0.5f * tanh(x->a)));
    };
    made.wrong = [x] {
      const no_grad quiet;
      const auto a = sample_of(x->a), b = sample_of(x->b), c = sample_of(x->c);
      std::vector<double> da, db, dc;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double on = a[i] * b[i] + c[i] > 0 ? 1 : 0, t = std::tanh(a[i]);
        da.push_back(on * b[i] - 0.5 * (1 - t * t)), db.push_back(on * a[i]), dc.push_back(on);
      }
      return difference(sample_of(x->a.grad()), da, tolerance<T>()) +
             difference(sample_of(x->b.grad()), db, tolerance<T>()) +
             difference(sample_of(x->c.grad()), dc, tolerance<T>());
    };
    made.bytes = bytes(9);
    return made;
  });
  enter_copy("map_gradient/" + end, bytes(9));
}

[[maybe_unused]] const bool entered = [] {
  enter_type<float>(sized(64 << 20, 4096));
  enter_type<bfloat16>(sized(64 << 20, 4096));
  return true;
}();

}  // namespace
