// SPDX-License-Identifier: BSL-1.0
// What soundness costs, each line the median of 21 runs of processor time beside what it is compared with:
//   leaves    looking at one leaf's version, as an evaluation does (the memory's count of changes and a compare)
//   relu3     grad(relu3) of plain numbers beside relu3 itself
//   products  backward of sigmoid(h) * h + h with h = matmul(m, m) written in the expression, beside h as a tensor
#include <kiln/kiln.hpp>
#include <kiln/transform.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

using namespace kiln;

namespace {

template <class F>
double nanoseconds(std::int64_t times, F run) {
  std::vector<double> found;
  for (int r = 0; r < 21; ++r) {
    timespec a{}, b{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    run();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    found.push_back((static_cast<double>(b.tv_sec - a.tv_sec) * 1e9 + static_cast<double>(b.tv_nsec - a.tv_nsec)) /
                    static_cast<double>(times));
  }
  std::nth_element(found.begin(), found.begin() + 10, found.end());
  return found[10];
}

void leaves() {
  std::vector<Tensor<float>> x;
  for (int i = 0; i < 64; ++i) x.push_back(zeros<float>({8}));
  const std::vector<Tensor<float>> handles = x;
  constexpr std::int64_t rounds = 20000;
  std::int64_t unchanged = 0, seen = 0;
  const double all = nanoseconds(rounds * 64, [&] {
    for (std::int64_t r = 0; r < rounds; ++r)
      for (const auto& t : handles) {
        if (t.wanted().is_now(*t.state()->memory)) ++unchanged;
        asm volatile("" : "+r"(unchanged)::"memory");
      }
  });
  const double loop = nanoseconds(rounds * 64, [&] {
    for (std::int64_t r = 0; r < rounds; ++r)
      for (const auto& t : handles) {
        if (t.state()) ++seen;
        asm volatile("" : "+r"(seen)::"memory");
      }
  });
  std::printf("leaves    %.2f ns a leaf (the loop around it takes another %.2f)\n", all - loop, loop);
}

constexpr auto relu3 = [](auto x) { return where(x < 0, 0, where(x < 1, x * x * x / 3, x - 2.0 / 3)); };

void plain_numbers() {
  std::array<float, 4096> x{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 4096) / 1024 - 1;
  constexpr std::int64_t rounds = 500;
  auto each = [&](auto f) {
    return nanoseconds(rounds * 4096, [&] {
      for (std::int64_t r = 0; r < rounds; ++r)
        for (const float v : x) {
          float y = f(v);
          asm volatile("" : "+x"(y));
        }
    });
  };
  const double value = each(relu3), slope = each(grad(relu3));
  const double by_hand = each([](float v) { return v < 0 ? 0.0f : v < 1 ? v * v * v / 3 : v - 2.0f / 3; });
  std::printf("relu3     %.2f ns (by hand %.2f), grad(relu3) %.2f: %.2f times\n", value, by_hand, slope, slope / value);
}

void products() {
  set_num_threads(1);
  for (const std::int64_t n : {64, 512}) {
    Tensor<float> m = randn<float>({n, n}) * 0.01;
    m.requires_grad();
    const std::int64_t rounds = n == 64 ? 200 : 2;
    const double written = nanoseconds(rounds, [&] {
      for (std::int64_t r = 0; r < rounds; ++r) {
        auto h = matmul(m, m);
        backward(Tensor<float>(sum(sigmoid(h) * h + h)));
      }
    });
    const double named = nanoseconds(rounds, [&] {
      for (std::int64_t r = 0; r < rounds; ++r) {
        const Tensor<float> h = matmul(m, m);
        backward(Tensor<float>(sum(sigmoid(h) * h + h)));
      }
    });
    std::printf("products  %lld: %.0f us written out, %.0f us named: %.2f times\n", static_cast<long long>(n),
                written / 1e3, named / 1e3, written / named);
  }
}

}  // namespace

int main() {
  leaves();
  plain_numbers();
  products();
}
