// SPDX-License-Identifier: BSL-1.0
// A program over kiln::compiled: everything that comes from the library, once, against plain loops. Its argument is
// part of the text of the exception that the first call must throw; without one, none may be thrown.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <kiln/kiln.hpp>

#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/sgd.hpp>

using namespace kiln;

namespace {

int failures = 0;
void check(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what), ++failures;
}
bool near(double a, double b) {
  return std::fabs(a - b) <= 1e-4 * (1 + std::fabs(b));
}

Tensor<float> numbers(const dims& sizes) {
  auto t = empty<float>(sizes);
  std::int64_t seed = 1;
  for (float& x : t.span()) x = static_cast<float>((seed = seed * 48271 % 2147483647) % 201 - 100) / 50.0f;
  return t;
}

void maps_and_rows() {
  const Tensor<float> a = numbers({300, 517}), b = transpose(numbers({517, 300}), 0, 1);
  const Tensor<float> map = a * b + 1.0f, rows = sum(a * b, 1), columns = sum(a, 0), soft = softmax(a, 1);
  double all = 0, one_row = 0, one_column = 0, weights = 0;
  for (int i = 0; i < 300; ++i) {
    all += std::fabs(map(i, 7) - (a(i, 7) * b(i, 7) + 1.0f));
    one_column += a(i, 3);
  }
  for (int j = 0; j < 517; ++j) one_row += a(5, j) * b(5, j), weights += std::exp(static_cast<double>(a(5, j)));
  check(all < 1e-3, "a map with a transposed operand");
  check(near(rows(5), one_row), "a sum over rows");
  check(near(columns(3), one_column), "a sum over columns");
  check(near(soft(5, 9), std::exp(static_cast<double>(a(5, 9))) / weights), "softmax");
}

void products() {
  const Tensor<float> a = numbers({70, 90}), b = numbers({90, 110});
  const Tensor<float> c = relu(matmul(a, b));
  const Tensor<std::int32_t> small = matmul(cast<std::int32_t>(a), cast<std::int32_t>(b));
  double f = 0;
  std::int32_t n = 0;
  for (int q = 0; q < 90; ++q) {
    f += static_cast<double>(a(3, q)) * static_cast<double>(b(q, 8));
    n += static_cast<std::int32_t>(a(3, q)) * static_cast<std::int32_t>(b(q, 8));
  }
  check(near(c(3, 8), std::fmax(f, 0.0)), "a product with what is around it");
  check(small(3, 8) == n, "a product of integers");
}

void gradients() {
  Tensor<float> x = numbers({40, 30}), w = numbers({30}), bias = numbers({1});
  x.requires_grad(), w.requires_grad(), bias.requires_grad();
  Tensor<float> loss = sum(square(x * w + bias));
  backward(loss);
  double of_w = 0, of_bias = 0;
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 30; ++j) {
      const double y = static_cast<double>(x(i, j)) * static_cast<double>(w(j)) + static_cast<double>(bias(0));
      if (j == 4) of_w += 2 * y * static_cast<double>(x(i, j));
      of_bias += 2 * y;
    }
  check(near(w.grad()(4), of_w), "the gradient of a row");
  check(near(bias.grad()(0), of_bias), "the gradient of a number");
}

// Losses and steps whose kernels the library has: a classifier of one linear layer, by hand in double.
void training() {
  Tensor<float> w = numbers({4, 3}), v = numbers({4, 3});
  w.requires_grad(), v.requires_grad();
  const Tensor<float> x = numbers({5, 4}), bias = numbers({3});
  const Tensor<std::int64_t> labels{0, 2, 1, 1, 0};
  optim::SGD descent({w}, {.lr = 0.1, .momentum = 0.9});
  optim::Adam adam({v}, {.lr = 0.1});
  double by_descent[4][3], by_adam[4][3], b[4][3] = {}, m[4][3] = {}, squares[4][3] = {};
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) by_descent[i][j] = w(i, j), by_adam[i][j] = v(i, j);
  for (int step = 1; step <= 3; ++step)
    for (const bool first : {true, false}) {
      auto& at = first ? by_descent : by_adam;
      double loss = 0, gradient[4][3] = {};
      for (int n = 0; n < 5; ++n) {
        double score[3], total = 0;
        for (int j = 0; j < 3; ++j) {
          score[j] = bias(j);
          for (int i = 0; i < 4; ++i) score[j] += x(n, i) * at[i][j];
          total += std::exp(score[j]);
        }
        loss -= (score[labels(n)] - std::log(total)) / 5;
        for (int j = 0; j < 3; ++j)
          for (int i = 0; i < 4; ++i)
            gradient[i][j] += (std::exp(score[j]) / total - (j == labels(n))) * static_cast<double>(x(n, i)) / 5;
      }
      const Tensor<float> computed = nn::cross_entropy(matmul(x, first ? w : v) + bias, labels);
      check(near(computed.item<double>(), loss), "cross_entropy of a linear layer");
      descent.zero_grad(), adam.zero_grad();
      backward(computed);
      first ? descent.step() : adam.step();
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 3; ++j) {
          const double g = gradient[i][j];
          if (first) {
            b[i][j] = step == 1 ? g : 0.9 * b[i][j] + g;
            at[i][j] -= 0.1 * b[i][j];
            check(near(w(i, j), at[i][j]), "a step of SGD with momentum");
          } else {
            m[i][j] = 0.9 * m[i][j] + 0.1 * g;
            squares[i][j] = 0.999 * squares[i][j] + 0.001 * g * g;
            at[i][j] -= 0.1 * m[i][j] / (1 - std::pow(0.9, step)) /
                        (std::sqrt(squares[i][j] / (1 - std::pow(0.999, step))) + 1e-8);
            check(near(v(i, j), at[i][j]), "a step of Adam");
          }
        }
    }
}

void by_index() {
  const Tensor<float> a = numbers({20, 5});
  const Tensor<std::int64_t> rows{3, 0, 3};
  const Tensor<float> taken = index_select(a, 0, rows);
  check(taken(2, 4) == a(3, 4), "index_select");
  const Tensor<std::int64_t> best = argmax(a, 1), least = argmin(a, 1);
  std::int64_t high = 0, low = 0;
  for (int j = 1; j < 5; ++j) {
    if (a(11, j) > a(11, high)) high = j;
    if (a(11, j) < a(11, low)) low = j;
  }
  check(best(11) == high && least(11) == low, "argmax and argmin");
}

void along_lines() {
  Tensor<float> a = numbers({30, 40});
  const auto [values, indices] = sort(a, 0);
  bool ordered = true, there = true;
  for (int i = 0; i < 30; ++i) {
    ordered = ordered && (i == 0 || values(i - 1, 7) <= values(i, 7));
    there = there && values(i, 7) == a(indices(i, 7), 7);
  }
  check(ordered && there, "sort");
  a.requires_grad();
  const Tensor<float> sums = cumsum(a, 1), products = cumprod(a, 1);
  double sum = 0, behind = 0;
  for (int j = 0; j < 40; ++j) sum += a(3, j);
  check(near(sums(3, 39), sum), "cumsum");
  check(near(products(3, 1), static_cast<double>(a(3, 0)) * static_cast<double>(a(3, 1))), "cumprod");
  backward(kiln::sum(products));
  for (int j = 39; j > 0; --j) behind = static_cast<double>(a(3, j)) * (behind + 1);
  check(near(a.grad()(3, 0), 1 + behind), "the gradient of cumprod");
}

void draws() {
  manual_seed(7);
  const Tensor<float> uniform = rand<float>({10000}), gaussian = randn<float>({10000});
  const Tensor<std::int64_t> dice = randint(1, 7, {10000});
  double mean_of = 0, square_of = 0, dots = 0;
  for (int i = 0; i < 10000; ++i) {
    mean_of += uniform(i), square_of += gaussian(i) * gaussian(i), dots += static_cast<double>(dice(i));
    if (uniform(i) < 0.0f || uniform(i) >= 1.0f || dice(i) < 1 || dice(i) > 6) return check(false, "a range of draws");
  }
  check(std::fabs(mean_of / 1e4 - 0.5) < 0.02, "rand");
  check(std::fabs(square_of / 1e4 - 1) < 0.06, "randn");
  check(std::fabs(dots / 1e4 - 3.5) < 0.1, "randint");
}

void images() {
  Tensor<float> x = numbers({1, 2, 6, 5}), w = numbers({3, 2, 2, 2});
  x.requires_grad(), w.requires_grad();
  const Tensor<float> y = conv2d(x, w), most = max_pool2d(x, 2), mean_of = avg_pool2d(x, 2);
  double sum_of = 0;
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        sum_of += static_cast<double>(x(0, c, 1 + i, 2 + j)) * static_cast<double>(w(2, c, i, j));
  check(near(y(0, 2, 1, 2), sum_of), "conv2d");
  const float a = x(0, 1, 2, 0), b = x(0, 1, 2, 1), c = x(0, 1, 3, 0), d = x(0, 1, 3, 1);
  check(most(0, 1, 1, 0) == std::fmax(std::fmax(a, b), std::fmax(c, d)), "max_pool2d");
  check(near(mean_of(0, 1, 1, 0), (a + b + c + d) / 4), "avg_pool2d");
  backward(sum(y));
  double of_w = 0;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 4; ++j) of_w += x(0, 1, i, j + 1);
  check(near(w.grad()(0, 1, 0, 1), of_w), "the gradient of conv2d's weight");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    maps_and_rows();
    products();
    gradients();
    training();
    by_index();
    along_lines();
    draws();
    images();
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return argc > 1 && std::strstr(e.what(), argv[1]) ? 0 : 1;
  }
  if (argc > 1) check(false, "no exception");
  return failures;
}
