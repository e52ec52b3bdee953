// SPDX-License-Identifier: BSL-1.0
// Which calls of the library a task becomes. What they compute is in multiply.test.cpp.
#include <kiln/device/cuda/libraries/multiply_run.hpp>

#include <kiln/device/cuda/libraries/multiply.hpp>

#include <doctest/doctest.h>

#include "device/cuda/products.hpp"

using kiln::Cuda;
using kiln::dims;
using kiln::dtype;
using kiln::cuda::current_stream;
using kiln::cuda::multiply;
using kiln::cuda::product_task;
using products::array;
using products::exact_stand_in;
using products::plain_task;

namespace {

// Calls for a task with ones everywhere; the result must be right.
long long calls(product_task task, std::size_t a_size, std::size_t b_size, std::size_t out_size) {
  exact_stand_in();
  const array a(task.type, std::vector<double>(a_size, 1)), b(task.type, std::vector<double>(b_size, 1)),
      out(task.type, std::vector<double>(out_size, 0));
  task.a.data = a.data(), task.b.data = b.data(), task.out = out.data();
  const auto before = kiln::cuda::product_stats().products;
  multiply(task, current_stream(Cuda{0}));
  const auto made = kiln::cuda::product_stats().products - before;
  CHECK(out.read() == products::expected(task, a.values(), b.values(), out.values(), {}));
  return made;
}

}  // namespace

TEST_CASE("a contiguous batch is one call, a batch that has two strides one for each index of the shorter axis") {
  product_task task = plain_task(dtype::float32, 2, 3, 4);
  task.batch = {3, 2};
  task.a.batch_strides = {12, 6};
  task.b.batch_strides = {24, 12};
  task.out_batch_strides = {16, 8};
  CHECK(calls(task, 36, 72, 48) == 1);
  task.b.batch_strides = {12, 36};
  CHECK(calls(task, 36, 72, 48) == 2);
}

TEST_CASE("sums over a batch that cannot be one longer sum are calls that add") {
  product_task task = plain_task(dtype::float32, 2, 3, 4);
  task.batch = {5};
  task.a.batch_strides = {6};
  task.b.batch_strides = {12};
  task.out_batch_strides = {0};
  CHECK(calls(task, 30, 60, 8) == 5);
  task.a = {nullptr, 2, 3, 1, 2, {6}};  // columns next to each other: one sum over 15
  CHECK(calls(task, 30, 60, 8) == 1);
}

TEST_CASE("a batch is cut where launches can count no further") {
  product_task task = plain_task(dtype::float32, 1, 1, 1);
  task.batch = {70000};
  task.a.batch_strides = {2};
  task.b.batch_strides = {1};
  task.out_batch_strides = {3};
  CHECK(calls(task, 139999, 70000, 209998) == 2);
}

TEST_CASE("batches that go backwards are walked through by the host") {
  exact_stand_in();
  product_task task = plain_task(dtype::float32, 1, 1, 1);
  const array a(task.type, {1, 2, 3}), b(task.type, {10, 20, 30}), out(task.type, {0, 0, 0});
  task.batch = {3};
  task.a.data = static_cast<const float*>(a.data()) + 2;
  task.b.data = b.data(), task.out = out.data();
  task.a.batch_strides = {-1};
  task.b.batch_strides = task.out_batch_strides = {1};
  multiply(task, current_stream(Cuda{0}));
  CHECK(out.read() == std::vector<double>{30, 40, 30});
}

TEST_CASE("a second product of the same sizes asks for no kernel, one at another alignment does") {
  exact_stand_in();
  const array memory(dtype::float32, std::vector<double>(200, 1));
  product_task task = plain_task(dtype::float32, 5, 6, 7);
  const auto at = [&](int offset) { return static_cast<float*>(memory.data()) + offset; };
  task.a.data = at(0), task.b.data = at(64), task.out = at(128);
  const auto& where = current_stream(Cuda{0});
  const auto before = kiln::cuda::product_stats();
  for (int i = 0; i < 3; ++i) multiply(task, where);
  CHECK(kiln::cuda::product_stats().heuristic_calls == before.heuristic_calls + 1);
  CHECK(kiln::cuda::product_stats().products == before.products + 3);
  task.out = at(129);
  multiply(task, where);
  CHECK(kiln::cuda::product_stats().heuristic_calls == before.heuristic_calls + 2);
  where.synchronize();
}

TEST_CASE("a workspace is taken for a call and given back right after") {
  if (emulate::skip_on_gpu("it knows which sizes want a workspace of the stand-in")) return;
  emulate::stand_in();
  kiln::cuda::set_memory_caching(true);
  const array memory(dtype::float32, std::vector<double>(200, 1));
  product_task task = plain_task(dtype::float32, 4, 6, 8);  // the stand-in wants a workspace for these sizes
  task.a.data = task.b.data = memory.data();
  task.out = static_cast<float*>(memory.data()) + 64;
  const auto before = kiln::cuda::memory_stats();
  multiply(task, current_stream(Cuda{0}));
  CHECK(kiln::cuda::memory_stats().allocations == before.allocations + 1);
  CHECK(kiln::cuda::memory_stats().in_use == before.in_use);
  current_stream(Cuda{0}).synchronize();
}
