// SPDX-License-Identifier: BSL-1.0
// gemm and batched_gemm against plain loops in a wider type: layouts, sizes, types, accumulation, epilogues, threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <kiln/device/cpu/memory/memory.hpp>
#include <kiln/device/cpu/processor/caches.hpp>
#include <kiln/device/cpu/products/gemm.hpp>
#include <support/sanitized.hpp>

using namespace kiln;

namespace {

struct threads_for_scope {
  int before = cpu::num_threads();
  explicit threads_for_scope(int count) { cpu::set_num_threads(count); }
  ~threads_for_scope() { cpu::set_num_threads(before); }
};

constexpr auto seed_of_all = 11u;
std::mt19937 random_bits(seed_of_all);

template <class T>
T random_element() {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random_bits());
  else
    return static_cast<T>(std::uniform_real_distribution<float>(-1, 1)(random_bits));
}

enum class layout { row_major, column_major, both_strided };

// A matrix with room between its rows, so that reads and writes outside of it show.
template <class T>
struct operand {
  std::int64_t rows, cols, row_stride, col_stride;
  std::vector<T> data;

  operand(std::int64_t r, std::int64_t c, layout order)
      : rows(r),
        cols(c),
        row_stride(order == layout::column_major ? 1
                   : order == layout::row_major  ? c + 3
                                                 : 2 * c + 1),
        col_stride(order == layout::column_major ? r + 3
                   : order == layout::row_major  ? 1
                                                 : 2),
        data(static_cast<std::size_t>(r * row_stride + c * col_stride + 1)) {
    for (T& x : data) x = random_element<T>();
  }
  T at(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * row_stride + j * col_stride)]; }
  cpu::matrix_ref<const T> ref() const { return {data.data(), row_stride, col_stride}; }
};

// What a sum of k products may be off by, for each |a||b| of it: k roundings, and one more at the store.
template <class T>
double tolerance(std::int64_t k) {
  using compute = std::conditional_t<sizeof(T) == 2, float, T>;
  return static_cast<double>(k + 1) * static_cast<double>(std::numeric_limits<compute>::epsilon());
}

template <class T>
bool check_product(std::int64_t m, std::int64_t n, std::int64_t k, layout a_order, layout b_order, bool accumulate) {
  const operand<T> a(m, k, a_order), b(k, n, b_order);
  operand<T> c(m, n, layout::row_major);
  const auto before = c.data;
  std::vector<int> finished(static_cast<std::size_t>(m * n));
  cpu::gemm<T>(m, n, k, a.ref(), b.ref(), c.data.data(), c.row_stride, accumulate,
               [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
                 for (std::int64_t i = r0; i < r1; ++i) {
                   for (std::int64_t j = c0; j < c1; ++j) ++finished[static_cast<std::size_t>(i * n + j)];
                 }
               });
  for (int times : finished) {
    if (times != 1) return false;
  }
  for (std::size_t at = 0; at < before.size(); ++at) {
    const auto i = static_cast<std::int64_t>(at) / c.row_stride, j = static_cast<std::int64_t>(at) % c.row_stride;
    if (i >= m || j >= n) {
      if (c.data[at] != before[at]) return false;  // outside of C
      continue;
    }
    if constexpr (std::is_integral_v<T>) {
      std::uint64_t sum = accumulate ? static_cast<std::uint64_t>(before[at]) : 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<std::uint64_t>(a.at(i, p)) * static_cast<std::uint64_t>(b.at(p, j));
      if (c.data[at] != static_cast<T>(sum)) return false;
    } else {
      using wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
      wide sum =
          accumulate ? static_cast<wide>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(before[at])) : 0;
      wide size = std::abs(sum);
      for (std::int64_t p = 0; p < k; ++p) {
        const wide product = static_cast<wide>(a.at(i, p)) * static_cast<wide>(b.at(p, j));
        sum += product;
        size += std::abs(product);
      }
      const auto result = static_cast<wide>(c.data[at]);
      const double step = std::abs(static_cast<double>(sum)) * static_cast<double>(std::numeric_limits<T>::epsilon());
      const double store = sizeof(T) == 2 ? step + static_cast<double>(std::numeric_limits<T>::denorm_min()) : 0.0;
      if (!(static_cast<double>(std::abs(result - sum)) <= tolerance<T>(k) * static_cast<double>(size) + store))
        return false;
    }
  }
  return true;
}

constexpr layout orders[] = {layout::row_major, layout::column_major, layout::both_strided};

template <class T>
void check_shapes(const std::vector<std::int64_t>& sizes, std::int64_t largest) {
  int wrong = 0;
  for (std::int64_t m : sizes) {
    for (std::int64_t n : sizes) {
      for (std::int64_t k : sizes) {
        if (m * n * k > largest) continue;
        const auto a_order = orders[random_bits() % 3], b_order = orders[random_bits() % 3];
        const bool accumulate = random_bits() % 2 == 0;
        if (!check_product<T>(m, n, k, a_order, b_order, accumulate)) {
          ++wrong;
          MESSAGE("wrong: " << m << " x " << k << " x " << n << ", layouts " << static_cast<int>(a_order) << " "
                            << static_cast<int>(b_order) << std::string(accumulate ? ", accumulated" : ""));
        }
      }
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gemm: every combination of layouts is right for shapes of every kind") {
  for (int threads : {1, 2}) {
    if (test::sanitized && threads == 1) continue;
    const threads_for_scope scope(threads);
    for (const auto& shape : {std::array<std::int64_t, 3>{1, 1, 1},
                              {1, 1, 300},
                              {1, 70, 33},
                              {70, 1, 33},
                              {5, 7, 3},
                              {16, 32, 8},
                              {13, 33, 17},
                              {64, 10, 50},
                              {10, 64, 50},
                              {100, 257, 31},
                              {257, 100, 401},
                              {12, 4100, 5},
                              {200, 3, 900}}) {
      const std::int64_t m = shape[0], n = shape[1], k = shape[2];
      for (layout a : orders) {
        for (layout b : orders) {
          for (bool accumulate : {false, true}) {
            INFO(m << " x " << k << " x " << n << ", layouts " << static_cast<int>(a) << " " << static_cast<int>(b));
            CHECK(check_product<float>(m, n, k, a, b, accumulate));
            CHECK(check_product<double>(m, n, k, a, b, accumulate));
          }
        }
      }
    }
  }
}

TEST_CASE("gemm: all sizes of a list against each other") {
  const threads_for_scope scope(2);
  check_shapes<float>({0, 1, 2, 3, 5, 16, 17, 31, 64, 100, 257}, 3000000);
  check_shapes<double>({0, 1, 2, 3, 5, 16, 17, 31, 64, 100, 257}, 1000000);
}

TEST_CASE_TEMPLATE("gemm: columns that fill little of a vector are done by themselves", T, double, float) {
  constexpr std::int64_t lanes = cpu::detail::gemm_vector<T>::lanes, most = lanes / 4;
  for (const layout a_order : orders) {
    for (const layout b_order : orders) {
      for (const std::int64_t n : {most, 2 * most, lanes + 1, lanes + most, 3 * lanes + 1, 3 * lanes + most}) {
        CHECK(check_product<T>(90, n, 60, a_order, b_order, false));
        CHECK(check_product<T>(9, n, 500, a_order, b_order, true));
        CHECK(check_product<T>(40, n, 130, a_order, b_order, true));
      }
    }
  }
}

TEST_CASE("gemm: half and bfloat16 are computed in float and rounded once") {
  check_shapes<half>({0, 1, 2, 5, 17, 64, 100}, 200000);
  check_shapes<bfloat16>({0, 1, 2, 5, 17, 64, 100}, 200000);
  CHECK(check_product<half>(20, 40, 1000, layout::row_major, layout::row_major, true));
  // 2048 ones: in half, 2048 + 1 would stay 2048.
  const std::vector<half> ones(4096, half(1.0f));
  std::vector<half> sums(40, half(0.0f));
  cpu::gemm<half>(1, 40, 4096, {ones.data(), 0, 1}, {ones.data(), 0, 0}, sums.data(), 40);
  for (half sum : sums) CHECK(static_cast<float>(sum) == 4096.0f);
}

TEST_CASE("gemm: integers of every width are exact and wrap around") {
  const threads_for_scope scope(2);
  check_shapes<std::int8_t>({0, 1, 3, 17, 40}, 100000);
  check_shapes<std::uint8_t>({0, 1, 3, 17, 40}, 100000);
  check_shapes<std::int16_t>({0, 1, 3, 17, 40}, 100000);
  check_shapes<std::int32_t>({0, 1, 3, 17, 40, 130}, 300000);
  check_shapes<std::int64_t>({0, 1, 3, 17, 40, 130}, 300000);
  CHECK(check_product<std::int32_t>(30, 50, 800, layout::row_major, layout::column_major, true));
}

TEST_CASE("gemm: drawn shapes with reversed, repeated, sliced and transposed operands are exact") {
  // Whole numbers of at most 3: sums are exact in float and double, and a half type holds them rounded once.
  std::mt19937 draw(29);
  const auto size = [&](double most) {
    return static_cast<std::int64_t>(std::exp2(std::uniform_real_distribution<>(0, most)(draw)));
  };
  struct view {
    std::int64_t first, row, column, elements;
  };
  const auto drawn_view = [&](std::int64_t rows, std::int64_t columns) -> view {
    const std::int64_t pad = draw() % 2 == 0 ? 0 : 5;
    std::int64_t row = columns + pad, column = 1;
    switch (draw() % 6) {
      case 0:
        row = 1, column = rows + pad;
        break;
      case 1:
        row = 2 * columns + pad, column = 2;
        break;
      case 2:
        row = 0;
        break;
      case 3:
        row = std::int64_t{1} << 9;
        break;  // a leading dimension that is a power of two
      default:
        break;
    }
    const std::int64_t elements = (rows - 1) * row + (columns - 1) * column + 1;
    if (draw() % 5 == 0) return {elements - 1, -row, -column, elements};
    return {0, row, column, elements};
  };
  int wrong = 0, cases = 0;
  const auto check = [&]<class T>(T) {
    const std::int64_t m = size(7.5), n = size(7.5), k = size(m * n > 4000 ? 8.5 : 10.5);
    const view va = drawn_view(m, k), vb = drawn_view(k, n);
    const bool accumulate = draw() % 2 == 0;
    const std::int64_t ldc = n + static_cast<std::int64_t>(draw() % 2) * 7;
    const auto numbers = [&](std::int64_t count) {
      std::vector<T> out;
      for (std::int64_t i = 0; i < count; ++i)
        out.push_back(static_cast<T>(static_cast<float>(static_cast<int>(draw() % 7) - 3)));
      return out;
    };
    const auto a = numbers(va.elements), b = numbers(vb.elements);
    auto c = numbers(m * ldc);
    const auto before = c;
    const threads_for_scope scope(1 + static_cast<int>(draw() % 3));
    cpu::gemm<T>(m, n, k, {a.data() + va.first, va.row, va.column}, {b.data() + vb.first, vb.row, vb.column}, c.data(),
                 ldc, accumulate);
    int different = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < ldc; ++j) {
        const auto at = static_cast<std::size_t>(i * ldc + j);
        double sum = accumulate || j >= n ? static_cast<double>(before[at]) : 0;
        for (std::int64_t p = 0; p < k && j < n; ++p)
          sum += static_cast<double>(a[static_cast<std::size_t>(va.first + i * va.row + p * va.column)]) *
                 static_cast<double>(b[static_cast<std::size_t>(vb.first + p * vb.row + j * vb.column)]);
        different += static_cast<float>(c[at]) != static_cast<float>(static_cast<T>(static_cast<float>(sum)));
      }
    }
    if (different > 0)
      MESSAGE("wrong: " << m << " x " << k << " x " << n << ", strides " << va.row << " " << va.column << " " << vb.row
                        << " " << vb.column << ", elements of " << sizeof(T) << " bytes");
    wrong += different > 0;
    ++cases;
  };
  for (int i = 0; i < 60; ++i) {
    check(float{});
    check(double{});
    check(half{});
    check(bfloat16{});
  }
  CHECK(wrong == 0);
  CHECK(cases == 240);
}

TEST_CASE("gemm: no terms give zeros, or leave C as it is when accumulating; no elements are no error") {
  std::vector<float> c(6, 3.0f);
  cpu::gemm<float>(2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, c.data(), 3, true);
  for (float x : c) CHECK(x == 3.0f);
  cpu::gemm<float>(2, 3, 0, {nullptr, 0, 1}, {nullptr, 3, 1}, c.data(), 3);
  for (float x : c) CHECK(x == 0.0f);
  cpu::gemm<float>(0, 3, 5, {nullptr, 5, 1}, {nullptr, 3, 1}, nullptr, 3);
  CHECK_THROWS_AS(cpu::gemm<float>(-1, 3, 5, {nullptr, 5, 1}, {nullptr, 3, 1}, nullptr, 3), shape_error);
}

TEST_CASE("gemm: infinities and NaN spread to their row or column alone") {
  const std::int64_t m = 20, n = 40, k = 30;
  std::vector<float> a(static_cast<std::size_t>(m * k), 1.0f), b(static_cast<std::size_t>(k * n), 1.0f),
      c(static_cast<std::size_t>(m * n));
  a[static_cast<std::size_t>(m * k - 1)] = std::numeric_limits<float>::quiet_NaN();
  b[static_cast<std::size_t>(n - 1)] = std::numeric_limits<float>::infinity();
  cpu::gemm<float>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n);
  int wrong = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const float x = c[static_cast<std::size_t>(i * n + j)];
      wrong += i == m - 1 ? !std::isnan(x) : j == n - 1 ? !std::isinf(x) : x != 30.0f;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("gemm: the number of threads does not change a bit of the result") {
  if (cpu::detail::has_blas<float>) {
    MESSAGE("skipped: the library that this build names rounds as the blocks it is given fall");
    return;
  }
  const auto check = [](auto zero, std::int64_t m, std::int64_t n, std::int64_t k) {
    using T = decltype(zero);
    for (const layout a_order : {layout::row_major, layout::column_major}) {
      for (const layout b_order : {layout::row_major, layout::column_major}) {
        const operand<T> a(m, k, a_order), b(k, n, b_order);
        std::vector<T> alone(static_cast<std::size_t>(m * n)), shared = alone;
        {
          const threads_for_scope scope(1);
          cpu::gemm<T>(m, n, k, a.ref(), b.ref(), alone.data(), n);
        }
        for (const int threads : {3, 2, 7}) {
          if (test::sanitized && threads != 3) break;
          const threads_for_scope scope(threads);
          cpu::gemm<T>(m, n, k, a.ref(), b.ref(), shared.data(), n);
          CHECK(std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(T)) == 0);
        }
      }
    }
  };
  for (const auto& shape : {std::array<std::int64_t, 3>{300, 200, 500},
                            {64, 256, 784},
                            {1, 3000, 200},
                            {3000, 1, 200},
                            {3, 500, 900},
                            {700, 90, 1700}}) {
    check(float{}, shape[0], shape[1], shape[2]);
    if (!test::sanitized) check(double{}, shape[0], shape[1], shape[2]);
  }
  check(half{}, 130, 90, 1700);
}

TEST_CASE("gemm: rows that are used where they are need no room for a copy") {
  const threads_for_scope one(1);
  constexpr std::int64_t m = 4099, k = 500, n = 16;
  const std::vector<float> a(m * k, 1), b(k * n, 2);
  std::vector<float> c(m * n);
  const auto multiply = [&] { cpu::gemm<float>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n); };
  multiply();
  cpu::empty_cache();
  auto& pool = cpu::process::pool();
  const std::size_t before = pool.peak = pool.mapped;
  multiply();
  // Panels of B take some of the second-level cache; of A, as high as a block, there would be more than this.
  CHECK(pool.peak - before < static_cast<std::size_t>(cpu::caches().level2) / 4);
  CHECK(std::count(c.begin(), c.end(), 1000.0f) == m * n);
}

TEST_CASE("gemm: an epilogue sees final values and may change them") {
  const threads_for_scope scope(2);
  const std::int64_t m = 150, n = 130, k = 900;  // more than one block along the product
  const operand<double> a(m, k, layout::row_major), b(k, n, layout::column_major);
  std::vector<double> c(static_cast<std::size_t>(m * n)), plain = c;
  cpu::gemm<double>(m, n, k, a.ref(), b.ref(), plain.data(), n);
  cpu::gemm<double>(m, n, k, a.ref(), b.ref(), c.data(), n, false,
                    [&](std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
                      for (std::int64_t i = r0; i < r1; ++i) {
                        for (std::int64_t j = c0; j < c1; ++j) c[static_cast<std::size_t>(i * n + j)] += 1;
                      }
                    });
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += c[i] != plain[i] + 1;
  CHECK(wrong == 0);
}

TEST_CASE("batched_gemm: stacks, broadcast operands and epilogues give what single products give") {
  for (int threads : {1, 2}) {
    const threads_for_scope scope(threads);
    for (const auto& shape : {std::array<std::int64_t, 4>{0, 3, 4, 5},
                              {1, 7, 5, 3},
                              {5, 3, 4, 2},
                              {3, 60, 70, 80},
                              {40, 17, 33, 9},
                              {6, 1, 50, 20}}) {
      const std::int64_t batch = shape[0], m = shape[1], n = shape[2], k = shape[3];
      for (bool a_same : {false, true}) {
        for (bool b_same : {false, true}) {
          const operand<float> a(batch * m + m, k, layout::row_major), b(batch * k + k, n, layout::row_major);
          std::vector<float> c(static_cast<std::size_t>(batch * m * n)), expected = c;
          std::vector<std::atomic<int>> finished(c.size());
          const std::int64_t a_step = a_same ? 0 : m * a.row_stride, b_step = b_same ? 0 : k * b.row_stride;
          for (std::int64_t i = 0; i < batch; ++i) {
            cpu::gemm<float>(m, n, k, {a.data.data() + i * a_step, a.row_stride, 1},
                             {b.data.data() + i * b_step, b.row_stride, 1}, expected.data() + i * m * n, n);
          }
          cpu::batched_gemm<float>(
              batch, m, n, k, a.ref(), a_step, b.ref(), b_step, c.data(), n, m * n, false,
              [&](std::int64_t i, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
                for (std::int64_t row = r0; row < r1; ++row) {
                  for (std::int64_t col = c0; col < c1; ++col)
                    ++finished[static_cast<std::size_t>((i * m + row) * n + col)];
                }
              });
          int wrong = 0;
          for (std::size_t i = 0; i < c.size(); ++i) wrong += std::abs(c[i] - expected[i]) > 1e-4f || finished[i] != 1;
          CHECK(wrong == 0);
          std::fill(c.begin(), c.end(), 1.0f);
          cpu::batched_gemm<float>(batch, m, n, k, a.ref(), a_step, b.ref(), b_step, c.data(), n, m * n, true);
          for (std::size_t i = 0; i < c.size(); ++i) wrong += std::abs(c[i] - expected[i] - 1) > 1e-4f;
          CHECK(wrong == 0);
        }
      }
    }
  }
  CHECK_THROWS_AS(cpu::batched_gemm<float>(-1, 1, 1, 1, {nullptr, 1, 1}, 0, {nullptr, 1, 1}, 0, nullptr, 1, 1),
                  shape_error);
}

TEST_CASE("gemm: a few columns that are whole vectors, at any width of those") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    constexpr std::int64_t m = 33, k = 70;
    for (std::int64_t n = 1; n <= 9; ++n) {
      std::vector<T> a(m * k), b(static_cast<std::size_t>(k * n)), c(static_cast<std::size_t>(m * n), T(7));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 5);
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 3);
      cpu::gemm<T>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n);
      int wrong = 0;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          std::int64_t sum = 0;
          for (std::int64_t q = 0; q < k; ++q) sum += (i * k + q) % 5 * ((q * n + j) % 3);
          wrong += c[static_cast<std::size_t>(i * n + j)] != static_cast<T>(sum);
        }
      CAPTURE(n);
      CHECK(wrong == 0);
    }
  };
  check(float{});
  check(double{});
}
