// SPDX-License-Identifier: BSL-1.0
// Products over the stand-in for cuBLASLt against plain double loops: every type, layout, form of batch and epilogue.
#include <kiln/device/cuda/libraries/multiply.hpp>

#include <kiln/device/cuda/run/graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "device/cuda/products.hpp"

using kiln::Cuda;
using kiln::dims;
using kiln::dtype;
using kiln::cuda::can_fuse;
using kiln::cuda::current_stream;
using kiln::cuda::matrix_operand;
using kiln::cuda::multiply;
using kiln::cuda::product_epilogue;
using kiln::cuda::product_task;
using products::array;
using products::exact_stand_in;
using products::expected;
using products::plain_task;
using products::whole_numbers;

namespace {

constexpr dtype types[] = {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16};

// float: sums of 40 products in whatever order.
double tolerance(dtype type) {
  return type == dtype::float64 ? 1e-13 : type == dtype::float32 ? 4e-6 : type == dtype::float16 ? 1e-3 : 8e-3;
}

// The largest difference, relative to the larger of 1 and the value; infinite where one is NaN.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
  }
  return worst;
}

// Strides for axes of these sizes in memory order `order` (innermost first), with gaps; 0 for those in `still`.
struct placed {
  std::vector<std::int64_t> strides;
  std::int64_t elements = 1;  // that the memory must hold
};
placed place_axes(const std::vector<std::int64_t>& sizes, const std::vector<int>& order, const std::vector<bool>& still,
                  std::mt19937& draw) {
  placed result;
  result.strides.resize(sizes.size(), 0);
  std::int64_t stride = 1;
  for (const int axis : order) {
    const auto i = static_cast<std::size_t>(axis);
    if (still[i]) continue;
    result.strides[i] = stride;
    result.elements += std::max<std::int64_t>(sizes[i] - 1, 0) * stride;
    const std::int64_t gap = draw() % 4 == 0 ? static_cast<std::int64_t>(draw() % 3) : 0;
    stride = stride * std::max<std::int64_t>(sizes[i], 1) + gap;
  }
  return result;
}

// A random task whose axes lie in random order in memory.
struct random_task {
  product_task task;
  std::int64_t a_elements = 0, b_elements = 0, out_elements = 0;
  explicit random_task(std::mt19937& draw) {
    const auto size = [&] { return static_cast<std::int64_t>(draw() % 12 == 0 ? 0 : 1 + draw() % 3); };
    task.type = types[draw() % 4];
    const int rank = static_cast<int>(draw() % 4);
    for (int i = 0; i < rank; ++i) task.batch.push_back(size());
    const std::int64_t m = size(), k = size() + (draw() % 2 == 0 ? 1 : 0), n = size();
    task.add = draw() % 3 == 0;
    a_elements = put(task.a, m, k, true, draw);
    b_elements = put(task.b, k, n, true, draw);
    matrix_operand out;
    out_elements = put(out, m, n, false, draw);
    task.out_row_stride = out.row_stride;
    task.out_batch_strides = out.batch_strides;
  }
  std::int64_t put(matrix_operand& x, std::int64_t rows, std::int64_t columns, bool may_be_transposed,
                   std::mt19937& draw) const {
    std::vector<std::int64_t> sizes(task.batch.begin(), task.batch.end());
    std::vector<int> order(sizes.size() + 1);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), draw);
    if (draw() % 3 == 0) std::sort(order.rbegin(), order.rend());  // contiguous, so that axes can be joined
    const int row = static_cast<int>(sizes.size()), column = row + 1;
    sizes.push_back(rows);
    sizes.push_back(columns);
    std::vector<bool> still(sizes.size());
    for (int i = 0; i < row; ++i) still[static_cast<std::size_t>(i)] = draw() % 4 == 0;
    order.insert(order.begin(), column);
    if (may_be_transposed && draw() % 2 == 0)
      for (int& axis : order) axis = axis == row ? column : axis == column ? row : axis;
    const placed found = place_axes(sizes, order, still, draw);
    x = {nullptr, rows, columns, found.strides[sizes.size() - 2], found.strides.back(), {}};
    for (int i = 0; i < row; ++i) x.batch_strides.push_back(found.strides[static_cast<std::size_t>(i)]);
    return found.elements;
  }
};

}  // namespace

TEST_CASE("a product of every type in every layout is what plain loops make of it, and touches nothing else") {
  exact_stand_in();
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::mt19937 draw(seed);
    random_task drawn(draw);
    product_task& task = drawn.task;
    const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    const array a(task.type, whole_numbers(count(drawn.a_elements), seed), draw() % 3),
        b(task.type, whole_numbers(count(drawn.b_elements), seed + 1), draw() % 3),
        out(task.type, whole_numbers(count(drawn.out_elements), seed + 2), draw() % 3),
        bias(task.type, whole_numbers(count(task.b.columns), seed + 3));
    task.a.data = a.data();
    task.b.data = b.data();
    task.out = out.data();
    if (draw() % 3 == 0) task.epilogue = static_cast<product_epilogue>(draw() % 3);
    if (draw() % 3 == 0) task.bias = bias.data();
    if (!can_fuse(task, current_stream(Cuda{0}))) task.epilogue = product_epilogue::none, task.bias = nullptr;
    INFO("seed ", seed, ", ", kiln::message(task));
    multiply(task, current_stream(Cuda{0}));
    const auto wanted =
        expected(task, a.values(), b.values(), out.values(), task.bias ? bias.values() : std::vector<double>{});
    if (task.epilogue == product_epilogue::gelu_tanh)
      CHECK(distance(out.read(), wanted) <= tolerance(task.type));
    else
      CHECK(out.read() == wanted);
  }
}

TEST_CASE("random values are right to the rounding of their type") {
  exact_stand_in();
  std::mt19937 draw(1);
  std::normal_distribution<double> normal;
  const auto normals = [&](std::size_t n) {
    std::vector<double> values(n);
    for (double& value : values) value = normal(draw);
    return values;
  };
  for (const dtype type : types) {
    product_task task = plain_task(type, 17, 40, 23);
    const array a(type, normals(17 * 40)), b(type, normals(40 * 23)), out(type, normals(17 * 23)),
        bias(type, normals(23));
    task.a.data = a.data(), task.b.data = b.data(), task.out = out.data(), task.bias = bias.data();
    task.add = true;
    task.epilogue = size_of(type) > 2 ? product_epilogue::relu : product_epilogue::gelu_tanh;
    multiply(task, current_stream(Cuda{0}));
    CHECK(distance(out.read(), expected(task, a.values(), b.values(), out.values(), bias.values())) <= tolerance(type));
  }
}

TEST_CASE("a result that is not added to is not read: NaN there does not matter") {
  exact_stand_in();
  product_task task = plain_task(dtype::float32, 2, 2, 2);
  const array a(task.type, {1, 2, 3, 4}), b(task.type, {1, 0, 0, 1}), out(task.type, std::vector<double>(4, NAN));
  task.a.data = a.data(), task.b.data = b.data(), task.out = out.data();
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read() == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("sums of no products are zeros, what is there, or the bias") {
  const auto& device = exact_stand_in();
  product_task task = plain_task(dtype::float32, 2, 0, 2);
  const array out(task.type, {5, 6, 7, 8}), bias(task.type, {1, -2});
  task.out = out.data();
  task.add = true;
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read() == std::vector<double>{5, 6, 7, 8});
  if (device.emulated()) CHECK(device.count("cublasLtMatmul") == 0);
  task.bias = bias.data();
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read() == std::vector<double>{6, 4, 8, 6});
  task.add = false;
  task.epilogue = product_epilogue::relu;
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read() == std::vector<double>{1, 0, 1, 0});
  task.bias = nullptr;
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read() == std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("sums of an operand over the inner axis come with one product, and are refused with several") {
  exact_stand_in();
  using kiln::cuda::summed_operand;
  const auto& where = current_stream(Cuda{0});
  for (const dtype type : types)
    for (const auto which : {summed_operand::a, summed_operand::b})
      for (const bool turned : {false, true}) {
        CAPTURE(turned);
        product_task task = plain_task(type, 3, 10, 5);
        task.batch = {2};  // summed: one product over an inner axis of 10
        task.a.columns = task.b.rows = 5;
        const array a(type, whole_numbers(30, 1)), b(type, whole_numbers(50, 2)), out(type, whole_numbers(15, 3)),
            sums(type, whole_numbers(5, 4));
        if (turned) {
          task.a.row_stride = 1, task.a.column_stride = 3, task.a.batch_strides = {15};
        } else {
          task.a.batch_strides = {5};
        }
        task.b.batch_strides = {25}, task.out_batch_strides = {0};
        task.a.data = a.data(), task.b.data = b.data(), task.out = out.data(), task.add = true;
        task.summed = which, task.sums = sums.data();
        if (!can_fuse(task, where)) {
          MESSAGE(kiln::message("cuBLASLt has no sums beside this product: ", kiln::name(type), ", of the ",
                                which == summed_operand::a ? "left" : "right", " operand"));
          CHECK(emulate::on_gpu());
          continue;
        }
        std::vector<double> wanted = sums.values();
        for (std::size_t i = 0; i < (which == summed_operand::a ? 3u : 5u); ++i) {
          wanted[i] = 0;
          for (std::size_t k = 0; k < 10; ++k)
            wanted[i] +=
                which == summed_operand::b ? b.values()[k * 5 + i] : a.values()[turned ? k * 3 + i : i * 10 + k];
        }
        multiply(task, where);
        CHECK(sums.read() == wanted);
        CHECK(out.read() == expected(task, a.values(), b.values(), out.values(), {}));
        task.out_batch_strides = {15};
        CHECK_FALSE(can_fuse(task, where));
        CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("for this type or batch"), kiln::value_error);
      }
}

TEST_CASE("sums of the gradient that arrives come with the product that makes a weight's gradient") {
  exact_stand_in();
  using kiln::cuda::summed_operand;
  const auto& where = current_stream(Cuda{0});
  // 64 samples, 256 inputs, 128 outputs: the left operand is the transposed input, the right one the gradient.
  for (const dtype type : {dtype::float32, dtype::float16, dtype::bfloat16}) {
    product_task task = plain_task(type, 256, 64, 128);
    task.a.row_stride = 1, task.a.column_stride = 256;
    const array a(type, whole_numbers(256 * 64, 1)), b(type, whole_numbers(64 * 128, 2)),
        out(type, whole_numbers(256 * 128, 3)), sums(type, std::vector<double>(128));
    task.a.data = a.data(), task.b.data = b.data(), task.out = out.data();
    task.summed = summed_operand::b, task.sums = sums.data();
    CAPTURE(kiln::name(type));
    CHECK(can_fuse(task, where));
    if (!can_fuse(task, where)) continue;
    multiply(task, where);
    std::vector<double> wanted(128);
    for (std::size_t i = 0; i < 64 * 128; ++i) wanted[i % 128] += b.values()[i];
    CHECK(sums.read() == wanted);
    CHECK(out.read() == expected(task, a.values(), b.values(), out.values(), {}));
  }
}

TEST_CASE("float32 products round their operands to TF32 only if that is allowed") {
  if (emulate::skip_on_gpu("a library need not use tensor cores for one number")) return;
  exact_stand_in();
  const double x = 1 + std::ldexp(1.0, -12);
  product_task task = plain_task(dtype::float32, 1, 1, 1);
  const array a(task.type, {x}), b(task.type, {1}), out(task.type, {0});
  task.a.data = a.data(), task.b.data = b.data(), task.out = out.data();
  CHECK_FALSE(kiln::cuda::allow_tf32());
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read()[0] == x);
  kiln::cuda::set_allow_tf32(true);
  CHECK(kiln::cuda::allow_tf32());
  multiply(task, current_stream(Cuda{0}));
  kiln::cuda::set_allow_tf32(false);
  CHECK(out.read()[0] == 1);
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read()[0] == x);
}

TEST_CASE("products on two devices, and of several threads with biases of their own") {
  exact_stand_in();
  for (int index = 0; index < (emulate::lacks_second_device() ? 1 : 2); ++index) {
    product_task task = plain_task(dtype::float32, 2, 1, 2);
    const array a(task.type, {2, 3}, 0, Cuda{index}), b(task.type, {1, 10}, 0, Cuda{index}),
        out(task.type, {0, 0, 0, 0}, 0, Cuda{index});
    task.a.data = a.data(), task.b.data = b.data(), task.out = out.data();
    multiply(task, current_stream(Cuda{index}));
    CHECK(out.read() == std::vector<double>{2, 20, 3, 30});
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      const kiln::cuda::stream own = kiln::cuda::stream::create(Cuda{0});
      const kiln::cuda::stream_scope scope(own);
      const double mine = static_cast<double>(t);
      product_task task = plain_task(dtype::float32, 3, 1, 1);
      const array a(task.type, {1, 1, 1}), b(task.type, {1}), out(task.type, {0, 0, 0}), bias(task.type, {mine});
      task.a.data = a.data(), task.b.data = b.data(), task.out = out.data(), task.bias = bias.data();
      for (int i = 0; i < 50; ++i) {
        multiply(task, own);
        wrong[t] += out.read() != std::vector<double>(3, 1 + mine);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("a captured product is done by each replay, workspace, bias and empty sums included") {
  emulate::stand_in();
  kiln::cuda::set_memory_caching(true);
  product_task task = plain_task(dtype::float16, 2, 1, 2);  // the stand-in wants a workspace for these sizes
  product_task empty = plain_task(dtype::float16, 2, 0, 2);
  const array a(task.type, {1, 2}), b(task.type, {1, 1}), out(task.type, {0, 0, 0, 0}), bias(task.type, {1, 2}),
      none(task.type, {9, 9, 9, 9});
  task.a.data = a.data(), task.b.data = b.data(), task.out = out.data(), task.bias = empty.bias = bias.data();
  task.add = true;
  empty.out = none.data();
  const auto graph = kiln::cuda::capture([&] {
    multiply(task, current_stream(Cuda{0}));
    multiply(empty, current_stream(Cuda{0}));
  });
  CHECK(out.read() == std::vector<double>{2, 3, 3, 4});  // the warm-up
  for (int i = 0; i < 3; ++i) graph.replay();
  CHECK(out.read() == std::vector<double>{8, 12, 12, 16});
  CHECK(none.read() == std::vector<double>{1, 2, 1, 2});
}

TEST_CASE("a task that makes no sense is an error with its sizes and the way out") {
  exact_stand_in();
  const array memory(dtype::float32, std::vector<double>(64, 0));
  const auto& where = current_stream(Cuda{0});
  const auto plain = [&](dtype type = dtype::float32) {
    product_task task = plain_task(type, 2, 3, 4);
    task.a.data = task.b.data = task.out = memory.data();
    return task;
  };
  CHECK_NOTHROW(multiply(plain(), where));
  CHECK_THROWS_WITH_AS(multiply(plain(dtype::int32), where), doctest::Contains("int32 matrices"), kiln::dtype_error);
  product_task task = plain();
  task.b.rows = 5;
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("2x3 by 5x4"), kiln::shape_error);
  task = plain();
  task.batch = {2};
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("[2] x 2x3 by 3x4"), kiln::shape_error);
  task = plain();
  task.a.rows = std::int64_t{1} << 31;
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("at most 2147483647"), kiln::shape_error);
  task = plain();
  task.b.column_stride = 2;
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("the right matrix"), kiln::value_error);
  task = plain();
  task.a.data = nullptr;
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("the left matrix"), kiln::value_error);
  task = plain();
  task.out_row_stride = 3;
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("row stride of 3"), kiln::value_error);
  task = plain();
  task.bias = static_cast<const char*>(memory.data()) + 4;
  CHECK_FALSE(can_fuse(task));
  CHECK_FALSE(can_fuse(task, where));
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("can_fuse"), kiln::value_error);
  task = plain(dtype::float64);
  task.epilogue = product_epilogue::gelu_tanh;
  CHECK_FALSE(can_fuse(task));
  CHECK_THROWS_AS(multiply(task, where), kiln::value_error);
}

TEST_CASE("failures of the library are errors that name the sizes, and the next product works") {
  if (emulate::skip_on_gpu("it lets the driver fail")) return;
  const auto& device = exact_stand_in();
  const array memory(dtype::float32, std::vector<double>(900, 0));
  const auto& where = current_stream(Cuda{0});
  product_task task = plain_task(dtype::float32, 20, 9, 31);
  task.a.data = task.b.data = task.out = memory.data();
  device.set("fail_product", 1);
  CHECK_THROWS_WITH_AS(multiply(task, where),
                       doctest::Contains("20x9 by 9x31 (float32): CUBLAS_STATUS_EXECUTION_FAILED"), kiln::device_error);
  CHECK_NOTHROW(multiply(task, where));
  task = plain_task(dtype::float32, 21, 9, 31);
  task.a.data = task.b.data = task.out = memory.data();
  device.set("fail_heuristic_itself", 1);
  CHECK_THROWS_WITH_AS(multiply(task, where),
                       doctest::Contains("21x9 by 9x31 (float32): cublasLtMatmulAlgoGetHeuristic"), kiln::device_error);
  CHECK_NOTHROW(multiply(task, where));
  // No kernel for an epilogue: can_fuse says so, and its answer is kept.
  task.epilogue = product_epilogue::relu;
  device.set("fail_heuristic", 1);
  CHECK_FALSE(can_fuse(task, where));
  const auto asked = kiln::cuda::product_stats().heuristic_calls;
  CHECK_FALSE(can_fuse(task, where));
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("has no kernel for 21x9 by 9x31 (float32) with this"),
                       kiln::device_error);
  CHECK(kiln::cuda::product_stats().heuristic_calls == asked);
  // Memory that is not this device's.
  std::vector<float> host(900);
  task.epilogue = product_epilogue::none;
  task.b.data = host.data();
  CHECK_THROWS_WITH_AS(multiply(task, where), doctest::Contains("operands are memory of this device"),
                       kiln::device_error);
}
