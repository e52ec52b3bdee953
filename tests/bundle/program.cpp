// SPDX-License-Identifier: BSL-1.0
// A program as users write it, which the tests build with a bundle and without. Prints "right" where its results are
// what plain loops give.
#include <kiln/cuda.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

using namespace kiln;

namespace {

using on_gpu = Tensor<float, Cuda>;

constexpr std::int64_t rows = 6, columns = 8;

double at(std::int64_t i, std::int64_t j) {
  return 0.25 * static_cast<double>(i) - 0.5 * static_cast<double>(j) + 0.125 * static_cast<double>(i * j);
}

double furthest = 0;
template <class Want>
void compare(const on_gpu& x, Want want) {
  const Tensor<float> here = x.to<Cpu>();
  for (std::int64_t i = 0; i < here.size(0); ++i)
    for (std::int64_t j = 0; j < here.size(1); ++j) {
      const double error = std::abs(static_cast<double>(here(i, j)) - want(i, j));
      furthest = error <= furthest ? furthest : error;  // a nan stays
    }
}

void run() {
  Tensor<float> values = empty<float>({rows, columns});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) values.data()[i * columns + j] = static_cast<float>(at(i, j));
  const on_gpu x = values.to<Cuda>();

  // Layouts that a bundle expects, and some that it does not: transposed, with gaps, of odd places in memory.
  const auto scaled = [](const on_gpu& y) { return on_gpu(y * 2 + 1); };
  compare(scaled(x), [](auto i, auto j) { return at(i, j) * 2 + 1; });
  compare(scaled(x.t()), [](auto i, auto j) { return at(j, i) * 2 + 1; });
  compare(scaled(x.slice(1, 1, 8, 3)), [](auto i, auto j) { return at(i, 1 + 3 * j) * 2 + 1; });

  on_gpu weight = values.slice(0, 2, 3).clone().to<Cuda>();  // (1, columns)
  weight.requires_grad();
  const on_gpu total = sum(x * weight);
  backward(total);
  compare(weight.grad(), [](auto, auto j) {
    double all = 0;
    for (std::int64_t i = 0; i < rows; ++i) all += at(i, j);
    return all;
  });
  double want = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) want += at(i, j) * at(2, j);
  furthest = std::max(furthest, std::abs(static_cast<double>(total.item()) - want));
  const Tensor<float> drawn = rand<float, Cuda>({4, 4}).to<Cpu>();
  for (const float r : drawn.span())
    if (!(r >= 0 && r < 1)) furthest = 1e9;
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& caught) {
    std::printf("%s\n", caught.what());
    return 1;
  }
  std::printf("%s: %g\n", furthest < 1e-5 ? "right" : "wrong", furthest);
  return furthest < 1e-5 ? 0 : 1;
}
