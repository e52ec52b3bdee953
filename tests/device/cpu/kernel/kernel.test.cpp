// SPDX-License-Identifier: BSL-1.0
// One kernel on one strip: any count, single values beside contiguous ones, adding, and nothing beyond the end.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <kiln/device/cpu/kernel/program.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/tensor.hpp>

using namespace kiln;

namespace {

using F = Tensor<float>;
using map_program = detail::value_program<decltype(F() * F() + cast<float>(Tensor<std::int32_t>()))>;
using map_kernel = cpu::kernel<map_program, kernel_kind::map, 0>;
using sum_program = detail::value_program<decltype(sum(F() * F()))>;
using sum_kernel = cpu::kernel<sum_program, kernel_kind::pass, 0>;

}  // namespace

TEST_CASE("kernel: every count, with single values in any place, writes count elements and no more") {
  std::vector<float> a(300), b(300), out(400);
  std::vector<std::int32_t> c(300);
  for (std::size_t i = 0; i < 300; ++i)
    a[i] = static_cast<float>(i) + 1, b[i] = 2.0f - static_cast<float>(i), c[i] = static_cast<std::int32_t>(7 * i);
  for (std::int64_t n = 0; n <= 300; ++n)
    for (unsigned single = 0; single < 8; ++single)
      for (const bool add : {false, true}) {
        CAPTURE(n);
        CAPTURE(single);
        CAPTURE(add);
        out.assign(400, 5.0f);
        const void* in[] = {a.data(), b.data(), c.data()};
        const std::int64_t step[] = {!(single & 1), !(single >> 1 & 1), !(single >> 2 & 1)};
        void* to = out.data();
        map_kernel::run({.in = in, .step = step, .out = &to, .add = &add, .count = n});
        bool right = true;
        for (std::size_t i = 0; i < 400; ++i) {
          const std::size_t p = step[0] ? i : 0, q = step[1] ? i : 0, r = step[2] ? i : 0;
          right &=
              out[i] ==
              (static_cast<std::int64_t>(i) >= n ? 5.0f : a[p] * b[q] + static_cast<float>(c[r]) + (add ? 5.0f : 0.0f));
        }
        REQUIRE(right);
      }
}

TEST_CASE("kernel: a pass adds to what earlier strips gave, and two parts join") {
  const cpu::reduction_facts& sums = cpu::compiler<sum_program>::program.reduced[0];
  CHECK(sums.pass == 0);
  std::vector<float> a(200), b(200);
  for (std::size_t i = 0; i < 200; ++i) a[i] = static_cast<float>(i % 13), b[i] = static_cast<float>(i % 5) - 2;
  for (std::int64_t n = 0; n <= 200; ++n) {
    double want = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      want += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    const void* in[] = {a.data(), b.data()};
    const std::int64_t step[] = {1, 1};
    std::uint64_t total = cpu::to_bits(10.0);
    sum_kernel::run({.in = in, .step = step, .partial = &total, .count = n});
    REQUIRE(cpu::from_bits<double>(total) == 10 + want);
    const std::uint64_t other = cpu::to_bits(-3.0);
    REQUIRE(cpu::from_bits<double>(sums.join(total, other)) == 7 + want);
  }
}

TEST_CASE("kernel: the bits of a value do not depend on where in a strip it stands") {
  using E = decltype(F() * F() + F() * F() - F() * (F() * F()));
  using program = detail::value_program<E>;
  std::vector<float> x[7];
  for (std::size_t k = 0; k < 7; ++k)
    for (std::size_t i = 0; i < 200; ++i)
      x[k].push_back(1.0f + static_cast<float>((i * 7919 + k * 104729) % 10007) / 9973.0f);
  auto run = [&](std::size_t first, std::int64_t n, float* to) {
    const void* in[7];
    const std::int64_t step[] = {1, 1, 1, 1, 1, 1, 1};
    for (std::size_t k = 0; k < 7; ++k) in[k] = x[k].data() + first;
    void* out = to;
    const bool add = false;
    cpu::kernel<program, kernel_kind::map, 0>::run({.in = in, .step = step, .out = &out, .add = &add, .count = n});
  };
  std::vector<float> whole(200), alone(200);
  run(0, 200, whole.data());
  for (std::size_t i = 0; i < 200; ++i) run(i, 1, alone.data() + i);
  CHECK(whole == alone);
  for (std::size_t i = 0; i < 200; ++i) {
    double v[7];
    for (std::size_t k = 0; k < 7; ++k) v[k] = static_cast<double>(x[k][i]);
    const double want = v[0] * v[1] + v[2] * v[3] - v[4] * (v[5] * v[6]);
    REQUIRE(std::abs(static_cast<double>(whole[i]) - want) <= 4e-6);
  }
}

TEST_CASE("kernel: an expression of many lengthy functions, which are called, is right for every count and mixture") {
  using E = decltype(exp(F()) + tanh(F()) * sin(F()) - log1p(F()) / (1.0f + sigmoid(F())) + atan(F()) +
                     erf(F()) * cos(F()) - exp2(F()));
  using program = detail::value_program<E>;
  std::vector<float> x(100), y(100), alone(100);
  for (std::size_t i = 0; i < 100; ++i)
    x[i] = static_cast<float>(i * 37 % 101) / 64.0f, y[i] = 0.5f + static_cast<float>(i * 53 % 97) / 32.0f;
  for (std::int64_t n = 1; n <= 100; n += n < 40 ? 1 : 17)
    for (const std::int64_t step_of_y : {1, 0}) {
      CAPTURE(n);
      CAPTURE(step_of_y);
      const std::uint64_t one[] = {cpu::to_bits(1.0f)};
      const bool add = false;
      auto run = [&](std::size_t first, std::int64_t count, float* to) {
        const float* const at_y = y.data() + (step_of_y ? first : 0);
        const float* const at_x = x.data() + first;
        const void* in[] = {at_x, at_y, at_x, at_y, at_x, at_y, at_x, at_y, at_x};
        const std::int64_t step[] = {1, step_of_y, 1, step_of_y, 1, step_of_y, 1, step_of_y, 1};
        void* out = to;
        cpu::kernel<program, kernel_kind::map, 0>::run(
            {.in = in, .step = step, .out = &out, .add = &add, .scalars = one, .count = count});
      };
      std::vector<float> whole(101, 5.0f);
      run(0, n, whole.data());
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        run(i, 1, alone.data());
        const double a = static_cast<double>(x[i]), b = static_cast<double>(y[step_of_y ? i : 0]);
        const double want = std::exp(a) + std::tanh(b) * std::sin(a) - std::log1p(b) / (1 + 1 / (1 + std::exp(-a))) +
                            std::atan(b) + std::erf(a) * std::cos(b) - std::exp2(a);
        REQUIRE(std::abs(static_cast<double>(whole[i]) - want) <= 4e-6);
        REQUIRE(whole[i] == alone[0]);
      }
      REQUIRE(whole[static_cast<std::size_t>(n)] == 5.0f);
    }
}
