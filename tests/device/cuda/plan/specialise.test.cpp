// SPDX-License-Identifier: BSL-1.0
// The plan of a map: what it says of each leaf, and that keys hold neither sizes nor addresses.
#include <kiln/device/cuda/plan/specialise.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

using namespace kiln;

namespace {
alignas(256) char memory[1 << 16];

struct placed {
  std::size_t byte;
  dims strides;
};
cuda::task product(const sheet& s, const dims& domain, placed a, placed b, placed y) {
  cuda::task job = cuda::task_for(view_of(s.p), domain);
  job.leaves[0].data = memory + a.byte;
  job.leaves[0].strides = a.strides;
  job.leaves[1].data = memory + b.byte;
  job.leaves[1].strides = b.strides;
  job.results[0].data = memory + y.byte;
  job.results[0].strides = y.strides;
  return job;
}
std::string key_of(dtype a, dtype b, cuda::task (*make)(const sheet&)) {
  sheet s;
  symbol x = s.leaf(0, a), y = s.leaf(1, b);
  s.result(detail::push(opcode_of("mul"), dtype::float32, x, y));
  cuda::task job = make(s);
  return cuda::plan_map(job).key();
}
}  // namespace

TEST_CASE("specialise: keys hold no sizes") {
  auto of_size = [](std::int64_t n) {
    sheet s;
    s.result(s.leaf(0) * s.leaf(1));
    cuda::task job = product(s, {n, 8}, {0, {8, 1}}, {16384, {0, 1}}, {32768, {8, 1}});
    return cuda::plan_map(job).key();
  };
  CHECK(of_size(10) == of_size(300));
}

TEST_CASE("specialise: each leaf is walked as its own place allows; none spoils the others") {
  CHECK(key_of(dtype::float32, dtype::float32, [](const sheet& s) {
          return product(s, {10, 64}, {4, {64, 1}}, {16384, {1, 0}}, {32768, {64, 1}});
        }) == "map rank 2 step 4 int32 x0 each(0) x1 row(0) y0 float32 vectors(0)");
  CHECK(key_of(dtype::float32, dtype::bfloat16, [](const sheet& s) {
          return product(s, {10, 64}, {0, {1, 10}}, {16384, {64, 1}}, {32768, {64, 1}});
        }) == "map rank 2 step 4 int32 x0 strided(0) x1 vectors(0) y0 float32 vectors(0)");
}

TEST_CASE("specialise: halves move eight at a time, doubles two, and a row that is too short fewer") {
  auto step = [](dtype type, std::int64_t n) {
    sheet s;
    s.result(s.leaf(0, type) * s.leaf(1, type));
    cuda::task job = product(s, {n}, {0, {1}}, {16384, {1}}, {32768, {1}});
    job.results[0].type = type;
    return cuda::plan_map(job).step;
  };
  CHECK(step(dtype::float16, 100) == 8);
  CHECK(step(dtype::float64, 100) == 2);
  CHECK(step(dtype::uint8, 100) == 16);
  CHECK(step(dtype::uint8, 5) == 4);
}

TEST_CASE("specialise: a result that is not aligned decides how many neighbours move at once") {
  CHECK(key_of(dtype::float32, dtype::float32, [](const sheet& s) {
          return product(s, {640}, {0, {1}}, {16384, {1}}, {32776, {1}});
        }) == "map rank 1 step 2 int32 x0 vectors x1 vectors y0 float32 vectors");
}

TEST_CASE("specialise: memory that a leaf shares with the result is said so") {
  auto apart = [](placed a, placed y) {
    sheet s;
    s.result(s.leaf(0) * s.leaf(1));
    cuda::task job = product(s, {64}, a, {16384, {1}}, y);
    return cuda::plan_map(job).apart;
  };
  CHECK(apart({0, {1}}, {256, {1}}));
  CHECK_FALSE(apart({0, {1}}, {0, {1}}));
  CHECK_FALSE(apart({0, {1}}, {252, {1}}));
  CHECK_FALSE(apart({256, {0}}, {504, {-1}}));
}

TEST_CASE("specialise: 64-bit indices where 32 bits cannot count the elements or reach them") {
  auto wide = [](const dims& domain, const dims& strides) {
    sheet s;
    s.result(s.leaf(0) * s.leaf(1));
    cuda::task job = product(s, domain, {0, strides}, {16384, dims::filled(domain.rank(), 0)}, {32768, strides});
    return cuda::plan_map(job).wide;
  };
  CHECK_FALSE(wide({1 << 20}, {1}));
  CHECK(wide({std::int64_t{1} << 31}, {1}));
  CHECK(wide({100}, {std::int64_t{1} << 25}));
}

TEST_CASE("specialise: one element is a row like any other") {
  sheet s;
  s.result(s.leaf(0) * s.leaf(1));
  cuda::task job = product(s, {}, {0, {}}, {16384, {}}, {32768, {}});
  const cuda::plan p = cuda::plan_map(job);
  CHECK(p.rank == 1);
  CHECK(p.key() == "map rank 1 step 1 int32 x0 one x1 one y0 float32 each");
}
