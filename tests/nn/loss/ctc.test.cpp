// SPDX-License-Identifier: BSL-1.0
// ctc_loss against PyTorch's values, against all ways written out, and what it refuses.
#include <kiln/nn/loss/ctc.hpp>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/kiln.hpp>

#include "nn/loss/check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace kiln;

namespace {

using whole = Tensor<std::int64_t>;

Tensor<double> scores() {
  Tensor<double> x = sin(arange<double>(105) * 1.7 + (0.3 + test::live_shift()));
  x = x.reshape(7, 3, 5).detach().clone();
  x.requires_grad();
  return x;
}
template <class F>
void check_ctc(const char* name, F loss) {
  INFO(name);
  const test::loss_values known = test::live_or_stored(std::string("ctc_") + name, test::known_ctc.at(name));
  REQUIRE(known.gradient.size() == 105);
  const Tensor<double> x = scores(), logs = log_softmax(x, 2);
  const Tensor<double> y = loss(logs), total = y.dim() ? Tensor<double>(sum(y)) : y;
  CHECK(std::abs(total.item() - known.value) < 1e-12 * known.value);
  backward(total);
  for (std::size_t i = 0; i < 105; ++i) CHECK(std::abs(x.grad().data()[i] - known.gradient[i]) < 1e-12);
}

}  // namespace

TEST_CASE("ctc_loss: PyTorch's values and gradients") {
  const whole targets{{1, 2, 2, 4}, {3, 1, 0, 0}, {4, 4, 4, 2}}, joined{1, 2, 2, 4, 3, 1, 4, 4, 4};
  const whole times{7, 5, 6}, counts{4, 2, 3}, few{4, 5, 6}, hardly{0, 1, 0};
  using nn::ctc_loss, nn::reduction;
  check_ctc("mean", [&](const auto& x) { return ctc_loss(x, targets, times, counts); });
  check_ctc("sum", [&](const auto& x) { return ctc_loss(x, joined, times, counts, {.reduction = reduction::sum}); });
  check_ctc("none", [&](const auto& x) { return ctc_loss(x, targets, times, counts, {.reduction = reduction::none}); });
  check_ctc("zero_infinity", [&](const auto& x) { return ctc_loss(x, targets, few, counts, {.zero_infinity = true}); });
  check_ctc("blank", [&](const auto& x) { return ctc_loss(x, whole(joined - 1), times, counts, {.blank = 4}); });
  check_ctc("nothing",
            [&](const auto& x) { return ctc_loss(x, targets, times, hardly, {.reduction = reduction::sum}); });
}

TEST_CASE("ctc_loss: the derivative by the logarithms themselves is minus how likely each class is") {
  // Two times, one label: the ways are (1, 1), (0, 1) and (1, 0).
  Tensor<double> p{{0.3, 0.7}, {0.6, 0.4}}, logs = log(p);
  logs = logs.detach();
  logs.requires_grad();
  const Tensor<double> loss = nn::ctc_loss(logs, whole{1}, whole{2}, whole{1});
  const double a = 0.7 * 0.4, b = 0.3 * 0.4, c = 0.7 * 0.6, all = a + b + c;
  CHECK(loss.item() == doctest::Approx(-std::log(all)).epsilon(1e-14));
  backward(loss);
  CHECK(allclose(logs.grad(), Tensor<double>{{-b / all, -(a + c) / all}, {-c / all, -(a + b) / all}}, 1e-14, 1e-14));
  CHECK_THROWS_AS(grad(Tensor<double>(nn::ctc_loss(logs, whole{1}, whole{2}, whole{1})), logs, {.create_graph = true}),
                  graph_error);
}

TEST_CASE("ctc_loss: no way through is an infinite loss; floats") {
  const Tensor<float> logs = log_softmax(ones<float>({1, 1, 3}), 2);
  CHECK(nn::ctc_loss(logs, whole{{1, 2}}, whole{1}, whole{2}).item() == std::numeric_limits<float>::infinity());
  CHECK(nn::ctc_loss(logs, whole{{1, 2}}, whole{1}, whole{1}).item() == doctest::Approx(std::log(3.0)));
  CHECK(nn::ctc_loss(log_softmax(ones<float>({1, 1, 3}), 2), whole{{1, 2}}, whole{1}, whole{1}).item() ==
        doctest::Approx(std::log(3.0)));
}

TEST_CASE("ctc_loss: what is refused") {
  const Tensor<float> logs = zeros<float>({4, 2, 3});
  const whole two{2, 2}, four{4, 4}, labels{{1, 2}, {2, 1}};
  CHECK_NOTHROW(nn::ctc_loss(logs, labels, four, two));
  CHECK_THROWS_WITH_AS(nn::ctc_loss(logs, whole{{1, 0}, {2, 1}}, four, two),
                       "ctc_loss: label 0 of sequence 0 is the blank: check the targets", index_error);
  CHECK_THROWS_WITH_AS(nn::ctc_loss(logs, whole{{1, 2}, {3, 1}}, four, two),
                       "ctc_loss: label 3 of sequence 1 is outside [0, 3): check the targets", index_error);
  CHECK_THROWS_AS(nn::ctc_loss(logs, labels, whole{5, 4}, two), shape_error);
  CHECK_THROWS_AS(nn::ctc_loss(logs, labels, four, whole{3, 1}), shape_error);
  CHECK_THROWS_AS(nn::ctc_loss(logs, labels, whole{4}, two), shape_error);
  CHECK_THROWS_AS(nn::ctc_loss(logs, whole{1, 2, 2}, four, two), shape_error);
  CHECK_THROWS_AS(nn::ctc_loss(logs, labels, four, two, {.blank = 3}), index_error);
  CHECK_THROWS_AS(nn::ctc_loss(zeros<float>({4}), labels, four, two), shape_error);
}
