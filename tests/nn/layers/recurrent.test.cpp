// SPDX-License-Identifier: BSL-1.0
// RNN, LSTM, GRU against PyTorch's values and names, their states, lengths, and what they refuse.
#include <kiln/nn/layers/recurrent.hpp>

#include "nn/layers/check.hpp"

#include <kiln/nn/print.hpp>

using namespace kiln;

namespace {
template <class M>
void check(const std::string& name, const M& usual, const M& deep) {
  auto output = [](const auto& m, const auto& x) { return m(x[0]).output; };
  test::check_layer(name, usual, {{5, 2, 3}}, output);
  test::check_layer(name + "_deep", deep, {{2, 4, 3}}, output);
}
constexpr nn::recurrent_options deep{.num_layers = 2, .batch_first = true, .bidirectional = true};
}  // namespace

TEST_CASE("recurrent layers: PyTorch's values, gradients and names") {
  check("rnn", nn::RNN<double>{3, 4}, nn::RNN<double>{3, 2, deep});
  check("lstm", nn::LSTM<double>{3, 4}, nn::LSTM<double>{3, 2, deep});
  check("gru", nn::GRU<double>{3, 4}, nn::GRU<double>{3, 2, deep});
}

TEST_CASE("recurrent layers: a sequence in two parts, with its state, is the sequence") {
  manual_seed(1);
  const nn::LSTM<double> lstm{3, 4, {.num_layers = 2}};
  const Tensor<double> x = test::wave({6, 2, 3}, 1, 0);
  const auto [y, h, c] = lstm(x);
  const auto first = lstm(x.narrow(0, 0, 4));
  const auto second = lstm(x.narrow(0, 4, 2), first.hidden, first.cell);
  CHECK(h.sizes() == dims{2, 2, 4});
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(second.output(1, 1, i) == doctest::Approx(y(5, 1, i)).epsilon(1e-13));
    CHECK(second.cell(0, 0, i) == doctest::Approx(c(0, 0, i)).epsilon(1e-13));
  }
}

TEST_CASE("recurrent layers: lengths, each sequence as if it were alone") {
  manual_seed(2);
  const nn::GRU<double> gru{3, 2, {.bidirectional = true}};
  const Tensor<double> x = test::wave({5, 2, 3}, 1, 0);
  const auto all = gru(x, {}, Tensor<std::int64_t>{5, 3});
  const auto alone = gru(x.select(1, 1).narrow(0, 0, 3));
  CHECK(alone.output.sizes() == dims{3, 4});
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t t = 0; t < 3; ++t)
      CHECK(all.output(t, 1, i) == doctest::Approx(alone.output(t, i)).epsilon(1e-13));
    CHECK(all.output(4, 1, i) == 0);
    CHECK(all.hidden(i / 2, 1, i % 2) == doctest::Approx(alone.hidden(i / 2, i % 2)).epsilon(1e-13));
  }
}

TEST_CASE("recurrent layers: an LSTM of halves takes its steps one by one, and comes to the same") {
  manual_seed(3);
  const nn::LSTM<float> lstm{3, 4, {.bidirectional = true}};
  const auto halves = nn::to<half>(lstm);
  const Tensor<float> x = cast<float>(test::wave({5, 2, 3}, 1, 0));
  const Tensor<std::int64_t> lengths{5, 3};
  const auto all = lstm(x, {}, {}, lengths);
  const auto rough = halves(cast<half>(x), {}, {}, lengths);
  for (std::int64_t i = 0; i < all.output.numel(); ++i)
    CHECK(static_cast<float>(rough.output.data()[i]) == doctest::Approx(all.output.data()[i]).epsilon(2e-3));
  for (std::int64_t i = 0; i < all.cell.numel(); ++i)
    CHECK(static_cast<float>(rough.cell.data()[i]) == doctest::Approx(all.cell.data()[i]).epsilon(2e-3));
  backward(sum(halves(cast<half>(x)).output));
  CHECK(nn::parameters(halves)[0].has_grad());
}

TEST_CASE("recurrent layers: in print, copied, and refusals") {
  nn::LSTM<double> lstm{3, 4, deep};
  CHECK(nn::to_string(lstm) == "LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True)");
  const auto narrow = nn::to<float>(lstm);
  static_assert(std::is_same_v<decltype(narrow), const nn::LSTM<float>>);
  CHECK(nn::parameters(narrow).size() == 16);
  CHECK(nn::parameters(narrow)[0](0, 0) == static_cast<float>(nn::parameters(lstm)[0](0, 0)));
  nn::eval(lstm);
  CHECK_FALSE(lstm.training.on);
  CHECK_THROWS_AS(lstm(zeros<double>({2, 5, 4})), shape_error);
  CHECK_THROWS_AS(lstm(zeros<double>({2, 5, 3}), zeros<double>({1, 2, 4})), shape_error);
  CHECK_THROWS_AS(lstm(zeros<double>({2, 5, 3}), {}, {}, Tensor<std::int64_t>{5, 6}), value_error);
  CHECK_THROWS_AS(lstm(zeros<double>({2, 5, 3}), {}, {}, Tensor<std::int64_t>{-1, 5}), value_error);
  CHECK_NOTHROW(lstm(zeros<double>({2, 5, 3}), {}, {}, Tensor<std::int64_t>{0, 5}));
  CHECK_THROWS_AS(nn::parameters(nn::RNN<float>{2, 3, {.num_layers = 0}}), value_error);
  CHECK_THROWS_AS(nn::parameters(nn::LSTM<float>{2, std::int64_t{1} << 62}), shape_error);  // four times that is 2^64
}
