// SPDX-License-Identifier: BSL-1.0
// Maps over random shapes, broadcasts, layouts and types, against a naive array of doubles.
#include <doctest/doctest.h>

#include <thread>

#include <kiln/device/cpu/maps/map.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/views.hpp>
#include <support/bits.hpp>
#include <support/compare.hpp>
#include <support/draw.hpp>

using namespace kiln;
using detail::untracked;
using test::difference;
using test::draw;
using test::lengths;
using test::naive;

TEST_CASE("map: random shapes, broadcasts and layouts, from one element to past a strip") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(6, seed % 10 == 0 ? 200000 : 5000);
    const auto a = d.tensor<float>(s), b = d.tensor<float>(d.narrower(s)), c = d.tensor<float>(d.narrower(s));
    CAPTURE(a.sizes());
    CAPTURE(a.strides());
    CAPTURE(b.sizes());
    CAPTURE(b.strides());
    CAPTURE(c.sizes());
    CAPTURE(c.strides());
    // Rounded as the kernel may round it, with or without fused multiply-add: compare within an ulp of the largest
    // term.
    const naive want = test::map([](double x, double y, double z) { return std::max(x * y + z, 0.0) - 0.5 * x; },
                                 naive::of(a), naive::of(b), naive::of(c));
    CHECK(difference(untracked(maximum(b * a + c, 0.0f) - 0.5f * a), want, 1e-6, 1e-6) == "");
  }
}

TEST_CASE("map: types mix, and each is computed and stored as its own") {
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const lengths s = d.shape(4, 3000);
    const auto f = d.tensor<float>(d.narrower(s));
    const auto g = d.tensor<double>(s);
    const auto i = d.tensor<std::int32_t>(d.narrower(s));
    const auto l = d.tensor<std::int64_t>(s);
    const auto b = d.tensor<bool>(d.narrower(s));
    const auto h = d.tensor<half>(d.narrower(s));
    const auto k = d.tensor<bfloat16>(s);
    const auto u = d.tensor<std::uint8_t>(s);
    const naive nf = naive::of(f), ng = naive::of(g), ni = naive::of(i), nl = naive::of(l), nb = naive::of(b),
                nh = naive::of(h), nk = naive::of(k), nu = naive::of(u);
    CHECK(
        difference(untracked(where(b, g * i, f)),
                   test::map([](double c, double x, double y, double z) { return c != 0 ? x * y : z; }, nb, ng, ni, nf),
                   1e-15) == "");
    CHECK(difference(untracked(i * l > u),
                     test::map([](double x, double y, double z) { return x * y > z; }, ni, nl, nu)) == "");
    CHECK(difference(untracked(h * k + f),
                     test::map([](double x, double y, double z) { return x * y + z; }, nh, nk, nf), 1e-6, 1e-6) == "");
    CHECK(
        difference(untracked(h * h - 0.5f),
                   test::map([](double x, double) { return static_cast<float>(half(static_cast<float>(x * x - 0.5))); },
                             nh, nh),
                   0) == "");
    CHECK(difference(untracked(cast<std::int32_t>(g * 1.75)),
                     test::map([](double x) { return std::trunc(x * 1.75); }, ng)) == "");
    CHECK(difference(untracked(maximum(u, u) + u), test::map([](double x) { return 2 * x; }, nu)) == "");
    CHECK(difference(untracked(where(!b, l, i)),
                     test::map([](double c, double x, double y) { return c != 0 ? y : x; }, nb, nl, ni)) == "");
    CHECK(difference(untracked(u / 4), test::map([](double x) { return x / 4; }, nu)) == "");
  }
}

TEST_CASE("map: lengths around registers, strips and tiles write all of the result and nothing else") {
  for (const std::int64_t n :
       {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 511, 512, 513, 2047, 2048, 2049, 4097}) {
    for (const std::int64_t m : {1, 3, 31, 32, 33}) {
      CAPTURE(n);
      CAPTURE(m);
      draw d(static_cast<std::uint32_t>(n * m));
      Tensor<float> whole(new_tensor(dtype::float32, {m, n + 2}));
      whole.fill_(77);
      const auto a = d.contiguous<float>({m, n}), turned = d.contiguous<float>({n, m}),
                 gaps = d.anywhere<float>({m, n});
      whole.narrow(1, 1, n).copy_(a + turned.transpose(0, 1) - gaps);
      CHECK(difference(whole.narrow(1, 1, n),
                       test::map([](double x, double y, double z) { return x + y - z; }, naive::of(a),
                                 naive::of(turned.transpose(0, 1)), naive::of(gaps)),
                       1e-6, 1e-6) == "");
      bool untouched = true;
      for (int i = 0; i < m; ++i) untouched &= whole(i, 0) == 77 && whole(i, -1) == 77;
      CHECK(untouched);
    }
  }
}

TEST_CASE("map: more bytes than the cache holds, contiguous and broadcast") {
  const std::int64_t rows = 4100, columns = 2053;  // 33.7 MB, and no multiple of a cache line
  Tensor<float> a(new_tensor(dtype::float32, {rows, columns})), row(new_tensor(dtype::float32, {columns}));
  for (std::int64_t i = 0; i < rows * columns; ++i) a.data()[i] = static_cast<float>(i % 1021);
  for (std::int64_t i = 0; i < columns; ++i) row.data()[i] = static_cast<float>(i);
  for (int threads : {1, 2}) {
    cpu::set_num_threads(threads);
    const Tensor<float> flat = a * 2.0f + 1.0f, wide = a + row;
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      wrong += flat.data()[i] != static_cast<float>(i % 1021) * 2 + 1;
      wrong += wide.data()[i] != static_cast<float>(i % 1021 + i % columns);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("map: more bytes than the cache holds, from and to other types, at an odd place") {
  const std::int64_t n = (std::int64_t{9} << 20) + 5;
  Tensor<float> whole(new_tensor(dtype::float32, {n + 1}));
  for (std::int64_t i = 0; i <= n; ++i) whole.data()[i] = static_cast<float>(i % 211);
  const auto x = whole.narrow(0, 1, n);
  const Tensor<double> wide = cast<double>(x) * 0.5;
  const Tensor<half> narrow = cast<half>(x) + cast<half>(x);
  const Tensor<bool> small = x < 100.0f;
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>((i + 1) % 211);
    wrong += wide.data()[i] != value * 0.5;
    wrong += static_cast<float>(narrow.data()[i]) != 2 * value;
    wrong += small.data()[i] != (value < 100);
  }
  CHECK(wrong == 0);
  Tensor<float> there(new_tensor(dtype::float32, {n + 3}));
  there.fill_(-1);
  there.narrow(0, 1, n).copy_(x * 2.0f);
  for (std::int64_t i = 0; i < n; ++i) wrong += there.data()[i + 1] != static_cast<float>((i + 1) % 211 * 2);
  CHECK(wrong == 0);
  CHECK(there(0) == -1);
  CHECK(there(n + 1) == -1);
}

TEST_CASE("map: one thread and two give the same bits") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    draw d(seed);
    const std::int64_t m = d.integer(200, 600), n = d.integer(200, 600);
    const auto a = d.tensor<float>({m, n}), b = d.tensor<float>({n}), c = d.tensor<float>({m, 1});
    cpu::set_num_threads(1);
    const Tensor<float> one = tanh(a * b) + c;
    cpu::set_num_threads(2);
    const Tensor<float> two = tanh(a * b) + c;
    CHECK(difference(two, naive::of(one)) == "");
  }
}

TEST_CASE("map: an exception in a kernel arrives from any thread, and the next evaluation works") {
  cpu::set_num_threads(2);
  Tensor<std::int32_t> a(new_tensor(dtype::int32, {300000})), b(new_tensor(dtype::int32, {300000}));
  a.fill_(7);
  b.fill_(2);
  for (const std::int64_t at : {0, 150000, 299999}) {
    b(at) = 0;
    CHECK_THROWS_WITH_AS(Tensor<std::int32_t>(remainder(a, b)), doctest::Contains("division by zero"), value_error);
    b(at) = 2;
    CHECK(Tensor<std::int32_t>(remainder(a, b))(at) == 1);
  }
  for (std::int64_t n = 1; n < 40; ++n)
    CHECK(Tensor<std::int32_t>(fmod(a.narrow(0, 0, n), b.narrow(0, 0, n)))(n - 1) == 1);
}

TEST_CASE("map: several threads of the program evaluate at once") {
  cpu::set_num_threads(2);
  draw d(5);
  const auto a = d.contiguous<float>({500, 300}), b = d.contiguous<float>({300});
  const naive want = naive::of(Tensor<float>(a * b + a));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 30; ++round) wrong += difference(untracked(a * b + a), want) != "";
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("map: the same bits on any number of threads, wherever their shares begin") {
  const auto x = draw(7).contiguous<float>({700, 3001});
  CHECK(test::bit_patterns([&] { return Tensor<float>(gelu(x) * x + tanh(x) * 0.3f); }, 1) == 1);
  // Past the cache, and not from the beginning of a line on.
  const auto a = draw(8).contiguous<float>({3000000}), b = draw(9).contiguous<float>({3000000});
  Tensor<float> whole = Tensor<float>(new_tensor(dtype::float32, {3000005}));
  CHECK(test::bit_patterns(
            [&] {
              auto y = whole.narrow(0, 5, 3000000);
              y = gelu(a) * b + tanh(b) * 0.3f;
              return y;
            },
            1) == 1);
}
