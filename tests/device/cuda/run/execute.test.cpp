// SPDX-License-Identifier: BSL-1.0
// Launches that are ready: found again for the same layout at other addresses, and for no other layout.
#include <kiln/device/cuda/run/execute.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <tuple>
#include <vector>

using namespace kiln;
using kiln::cuda::detail::view_of;

namespace {

// x0 * n0 + x1 over n elements.
struct scaled_sum {
  program tape;
  std::uint64_t number = std::bit_cast<std::uint64_t>(3.0);
  ref<storage> x = cuda::new_storage(4096), y = cuda::new_storage(4096), out = cuda::new_storage(4096);
  cuda::task job;

  explicit scaled_sum(std::int64_t n) {
    const auto push = [&](instruction now) { return static_cast<std::int16_t>(tape.push(now)); };
    const auto x0 = push({.code = opcode::leaf, .type = dtype::float32, .slot = 0});
    const auto n0 = push({.code = opcode::scalar, .type = dtype::float32, .slot = 0});
    const auto product = push({.code = opcode_of("mul"), .type = dtype::float32, .a = x0, .b = n0});
    const auto x1 = push({.code = opcode::leaf, .type = dtype::float32, .slot = 1});
    tape.add_result(push({.code = opcode_of("add"), .type = dtype::float32, .a = product, .b = x1}));
    job = cuda::task_for(view_of(tape), {n});
    job.numbers = &number;
    job.leaves[0] = {x->data, {1}, dtype::float32, true};
    job.leaves[1] = {y->data, {1}, dtype::float32, true};
    job.results[0] = {out->data, {1}, dtype::float32, false};
    write(x, 2), write(y, 1);
  }
  static void write(const ref<storage>& to, float value) {
    const std::vector<float> values(1024, value);
    cuda::copy_to_device(to->data, values.data(), 4096, cuda::current_stream({}));
  }
  float first() const { return cuda::read_value<float>(out->data, cuda::current_stream({})); }
};

}  // namespace

TEST_CASE("execute: the same layout is planned once; addresses and numbers are put in anew") {
  const auto& device = emulate::stand_in();
  cuda::launch_table table;
  scaled_sum a(100), b(100);
  cuda::execute(table, a.job, {});
  CHECK(a.first() == 7);
  const auto ready = table.find(a.job, {});
  REQUIRE(ready != nullptr);
  CHECK(table.find(b.job, {}) == ready);
  b.number = std::bit_cast<std::uint64_t>(10.0);
  device.reset();
  cuda::execute(table, b.job, {});
  if (device.emulated()) CHECK(device.count("cuLaunchKernel") == 1);
  if (device.emulated()) CHECK(device.count("cuLaunchKernelEx") == (cuda::properties({}).architecture >= 90 ? 1 : 0));
  if (device.emulated()) CHECK(device.count("cuCtxGetCurrent") + device.count("cuCtxSetCurrent") == 1);
  if (device.emulated()) CHECK(device.count("cuModuleLoadData") == 0);
  CHECK(b.first() == 21);
}

TEST_CASE("execute: another size, stride, alignment, device or overlap is another layout") {
  emulate::stand_in();
  cuda::launch_table table;
  scaled_sum a(100);
  cuda::execute(table, a.job, {});
  const cuda::task same = a.job;
  CHECK(table.find(same, Cuda{1}) == nullptr);
  const auto differs = [&](auto change) {
    cuda::task other = same;
    change(other);
    return table.find(other, {}) == nullptr;
  };
  CHECK_FALSE(differs([](cuda::task&) {}));
  CHECK(differs([](cuda::task& t) { t.domain = {99}; }));
  CHECK(differs([](cuda::task& t) { t.leaves[0].strides = {2}; }));
  CHECK(differs([](cuda::task& t) { t.leaves[1].data = static_cast<const float*>(t.leaves[1].data) + 1; }));
  CHECK(differs([](cuda::task& t) { t.leaves[1].data = t.leaves[0].data; }));
  CHECK(differs([](cuda::task& t) { t.results[0].data = const_cast<void*>(t.leaves[0].data); }));
  CHECK(differs([](cuda::task& t) { t.results[0].add = true; }));
  CHECK(differs([](cuda::task& t) { t.results[0].type = dtype::float64; }));
  // An address that keeps the alignment is the same layout.
  CHECK_FALSE(differs([](cuda::task& t) { t.leaves[1].data = static_cast<const float*>(t.leaves[1].data) + 4; }));
}

TEST_CASE("execute: results that lie on a leaf, or beside it, are right") {
  emulate::stand_in();
  cuda::launch_table table;
  scaled_sum a(100);
  a.job.results[0].data = const_cast<void*>(a.job.leaves[0].data);
  for (const float want : {7.0f, 22.0f, 67.0f}) {
    cuda::execute(table, a.job, {});
    CHECK(cuda::read_value<float>(a.x->data, cuda::current_stream({})) == want);
  }
}

TEST_CASE("execute: as many blocks as the driver says run at once of this kernel") {
  const auto& device = emulate::stand_in();
  if (!device.emulated()) return;
  constexpr std::int64_t n = 40000;  // 40 blocks of 256 threads, which take four each
  const ref<storage> x = cuda::new_storage(4 * n), y = cuda::new_storage(4 * n);
  // Of 32 registers a multiprocessor holds 8 blocks, of 64 half as many; there are 4 multiprocessors.
  for (const auto& [registers, blocks, op] : {std::tuple{32, 32, "neg"}, {64, 16, "abs"}, {40, 24, "sqrt"}}) {
    device.set("registers", registers);
    program tape;
    const int leaf = tape.push({.code = opcode::leaf, .type = dtype::float32, .slot = 0});
    tape.add_result(tape.push({.code = opcode_of(op), .type = dtype::float32, .a = static_cast<std::int16_t>(leaf)}));
    cuda::task job = cuda::task_for(view_of(tape), {n});
    job.leaves[0] = {x->data, {1}, dtype::float32, true};
    job.results[0] = {y->data, {1}, dtype::float32, false};
    cuda::launch_table table;
    const long long before = device.blocks();
    cuda::execute(table, job, {});
    CHECK(device.blocks() - before == blocks);
  }
  device.reset();
}

TEST_CASE("execute: rows in more shared memory than a kernel may declare, which is asked of the driver") {
  emulate::stand_in();
  constexpr std::int64_t n = 20480;
  program tape;
  const auto push = [&](instruction now) { return static_cast<std::int16_t>(tape.push(now)); };
  const auto x = push({.code = opcode::leaf, .type = dtype::float32, .slot = 0});
  const auto total = push({.code = opcode_of("sum"), .type = dtype::float32, .a = x});
  tape.add_result(push({.code = opcode_of("sub"), .type = dtype::float32, .a = x, .b = total}));
  cuda::task job = cuda::task_for(view_of(tape), {16, n});
  job.reduced_axes = 2;
  const ref<storage> in = cuda::new_storage(4 * 16 * n), out = cuda::new_storage(4 * 16 * n);
  std::vector<float> values(16 * n, 1);
  cuda::copy_to_device(in->data, values.data(), 4 * 16 * n, cuda::current_stream({}));
  job.leaves[0] = {in->data, {n, 1}, dtype::float32, true};
  job.results[0] = {out->data, {n, 1}, dtype::float32, false};
  cuda::launch_table table;
  cuda::execute(table, job, {});
  CHECK(table.find(job, {})->launches[0].size.shared_bytes == 4 * n);
  for (const std::int64_t at : {std::int64_t{0}, 16 * n - 1})
    CHECK(cuda::read_value<float>(static_cast<float*>(out->data) + at, cuda::current_stream({})) == 1 - n);
}

TEST_CASE("execute: ever new shapes do not collect plans without end") {
  emulate::stand_in();
  cuda::launch_table table;
  scaled_sum a(1);
  for (std::int64_t n = 1; n < 200; ++n) {
    a.job.domain = {n};
    cuda::execute(table, a.job, {});
  }
  CHECK(table.find(a.job, {}) != nullptr);
  a.job.domain = {1};
  CHECK(table.find(a.job, {}) == nullptr);
}

TEST_CASE("execute: a layout of many tensors is found again") {
  // As many leaves as an expression may hold, and a gradient for each.
  constexpr int count = 70;
  program tape;
  for (int k = 0; k < count; ++k)
    tape.add_result(tape.push({.code = opcode::leaf, .type = dtype::float32, .slot = static_cast<std::int16_t>(k)}));
  cuda::task job = cuda::task_for(view_of(tape), {16});
  std::vector<float> memory(2 * count * 16);
  for (int k = 0; k < count; ++k) {
    job.leaves[static_cast<std::size_t>(k)].data = memory.data() + 16 * k;
    job.leaves[static_cast<std::size_t>(k)].strides = {1};
    job.results[static_cast<std::size_t>(k)].data = memory.data() + 16 * (count + k);
    job.results[static_cast<std::size_t>(k)].strides = {1};
  }
  const auto facts = cuda::detail::facts_of(job, {});
  CHECK(cuda::detail::has_facts(facts, job, {}));
  job.results.back().data = memory.data();
  CHECK_FALSE(cuda::detail::has_facts(facts, job, {}));
}
