// SPDX-License-Identifier: BSL-1.0
// Plans: made once for each set of sizes, types and alignments, and not more than a bounded number of them.
#include <kiln/device/cuda/libraries/multiply_plan.hpp>

#include <kiln/device/cuda/run/graph.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <set>

using kiln::Cuda;
using kiln::cuda::product_stats;
using kiln::cuda::detail::plan_key;
using kiln::cuda::detail::product_library;

namespace {

plan_key key_of(std::int64_t rows, std::int64_t columns) {
  plan_key key;
  key.a = {rows, 2, rows, 0, false};
  key.b = {2, columns, 2, 0, false};
  key.d = {rows, columns, rows, 0, false};
  key.alignment_a = key.alignment_b = key.alignment_d = 16;
  return key;
}

}  // namespace

TEST_CASE("the first product of a device cannot be in a captured graph") {
  if (emulate::lacks_second_device()) return;
  emulate::stand_in();
  CHECK_THROWS_WITH_AS(kiln::cuda::capture([] { (void)product_stats(Cuda{1}); }, Cuda{1}, 0),
                       doctest::Contains("warm_ups"), kiln::device_error);
  CHECK_NOTHROW((void)product_stats(Cuda{1}));
}

TEST_CASE("a library that does not start is an error, and is tried again") {
  if (emulate::skip_on_gpu("it lets the driver fail")) return;
  const auto& device = emulate::stand_in();
  device.set("fail_cublaslt", 1);
  CHECK_THROWS_WITH_AS((void)product_stats(), doctest::Contains("cublasLtCreate: CUBLAS_STATUS_OTHER (1)"),
                       kiln::device_error);
  CHECK_NOTHROW((void)product_stats());
  CHECK(device.count("cublasLtCreate") == 2);
  CHECK_NOTHROW((void)product_stats());
  CHECK(device.count("cublasLtCreate") == 2);
}

TEST_CASE("a plan is chosen once, and each thing it depends on has a plan of its own") {
  const auto& device = emulate::stand_in();
  const kiln::cuda::device_scope scope(Cuda{0});
  product_library& library = product_library::of(Cuda{0});
  const auto before = product_stats();
  const plan_key first = key_of(3, 4);
  const auto plan = library.plan(first, {});
  CHECK(plan->possible);
  CHECK(library.plan(first, {}) == plan);
  CHECK(product_stats().heuristic_calls == before.heuristic_calls + 1);
  std::vector<plan_key> others(10, first);
  others[0].type = others[0].type_b = others[0].type_d = kiln::cuda::cuda_data_type::bfloat16;
  others[1].compute = kiln::cuda::cublas_compute::tf32;
  others[2].epilogue = kiln::cuda::matmul_epilogue::relu;
  others[3].batch = 2;
  others[4].a.leading = 8;
  others[5].alignment_d = 4;
  others[6].a = {2, 3, 2, 0, true};
  others[7].alignment_b = 4;
  others[8].b.batch_stride = 64;
  others[9].alignment_a = 8;
  std::set<std::size_t> hashes{kiln::cuda::detail::plan_hash()(first)};
  for (const plan_key& other : others) {
    CHECK(library.plan(other, {}) != plan);
    hashes.insert(kiln::cuda::detail::plan_hash()(other));
  }
  CHECK(hashes.size() == 11);
  if (device.emulated()) CHECK(device.count("cublasLtMatmulAlgoGetHeuristic") == 11);
  CHECK(product_stats().plans == before.plans + 11);
}

TEST_CASE("what was made for choosing is given back, and old plans go") {
  const auto& device = emulate::stand_in();
  const kiln::cuda::device_scope scope(Cuda{0});
  product_library& library = product_library::of(Cuda{0});
  constexpr auto most = static_cast<std::int64_t>(product_library::most_plans);
  const auto held = library.plan(key_of(7, 7), {});
  for (std::int64_t i = 1; i <= most + 50; ++i) library.plan(key_of(i, 9), {});
  CHECK(product_stats().plans <= most);
  CHECK(held->possible);  // who uses one keeps it
  if (!device.emulated()) return;
  CHECK(device.count("cublasLtMatmulPreferenceCreate") == device.count("cublasLtMatmulPreferenceDestroy"));
  CHECK(device.count("cublasLtMatmulDescDestroy") > most / 2);
  CHECK(device.count("cublasLtMatrixLayoutDestroy") == 3 * device.count("cublasLtMatmulDescDestroy"));
}
