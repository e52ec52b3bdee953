// SPDX-License-Identifier: BSL-1.0
// L-BFGS on a function with a bent valley, beside PyTorch's: the loss before a step and the parameters after it.
#include <doctest/doctest.h>

#include <kiln/optim/lbfgs.hpp>
#include <optim/agreement.hpp>

using namespace kiln;

namespace {

/// The problem of torch_values.py: losses and parameters of steps 1, 3 and 8.
std::vector<double> run(const optim::lbfgs_options& options) {
  Tensor<double> x{-1.2, 0.8}, y{{1.0}};
  x.requires_grad(), y.requires_grad();
  optim::LBFGS opt(std::vector{x, y}, options);
  std::vector<double> seen;
  for (int t = 1; t <= 8; ++t) {
    const double loss = opt.step([&] {
      const auto a = x.select(0, 0), b = x.select(0, 1), c = y.reshape(dims{});
      const Tensor<double> value = square(1.0 - a) + square(b - a * a) * 20.0 + square(c - b) + square(square(c)) * 0.1;
      backward(value);
      return value;
    });
    if (t == 1 || t == 3 || t == 8) seen.insert(seen.end(), {loss, x(0), x(1), y(0, 0)});
  }
  return seen;
}

}  // namespace

TEST_CASE("LBFGS takes PyTorch's steps, of fixed length and by line search") {
  CHECK(agreement::worst_difference(run({.lr = 0.1, .history_size = 5}), torch_values::lbfgs) < 1e-12);
  CHECK(agreement::worst_difference(run({.line_search_fn = optim::line_search::strong_wolfe}),
                                    torch_values::lbfgs_wolfe) < 1e-12);
  CHECK(agreement::worst_difference(
            run({.max_iter = 3, .history_size = 2, .line_search_fn = optim::line_search::strong_wolfe}),
            torch_values::lbfgs_short) < 1e-12);
}

TEST_CASE("LBFGS refuses closures without a backward pass, and options that are none") {
  Tensor<double> x{1, 2};
  x.requires_grad();
  const std::vector all{x};
  optim::LBFGS opt(all);
  CHECK_THROWS_AS(opt.step([&] { return 1.0; }), graph_error);
  CHECK((opt.iterations() == 0 && opt.evaluations() == 1));
  CHECK_THROWS_AS(optim::LBFGS(all, {.lr = -1}), value_error);
  CHECK_THROWS_AS(optim::LBFGS(all, {.max_iter = 0}), value_error);
  CHECK_THROWS_AS(optim::LBFGS(all, {.max_iter = std::int64_t{1} << 62}), value_error);
  CHECK_THROWS_AS(optim::LBFGS(all, {.tolerance_grad = std::nan("")}), value_error);
}
