// SPDX-License-Identifier: BSL-1.0
// NVRTC compiles a kernel of every shape that the printers know, for programs of four types, and its PTX shows what
// their texts are meant for: loads of 16 bytes, one round of Philox for four numbers, rows in registers.
#include <kiln/core/philox.hpp>
#include <kiln/device/cuda/compile/bundle_sources.hpp>
#include <kiln/tape/expand.hpp>
#include <kiln/tape/gradient.hpp>

#include "device/cuda/nvrtc/nvrtc_compile.hpp"
#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

using namespace kiln;
using nvrtc_test::count;

namespace {

constexpr std::array types{dtype::float32, dtype::bfloat16, dtype::float16, dtype::float64};

void* address(std::uint64_t k) {
  return reinterpret_cast<void*>(k << 40);
}

// Contiguous leaves and results of `type` over a domain; results of a reduction are one value per row.
cuda::task task_of(const program& tape, const dims& domain, dtype type, std::uint32_t reduced = 0,
                   bool rooted = false) {
  cuda::task job = cuda::task_for(view_of(tape), domain);
  job.reduced_axes = reduced;
  job.reduction_rooted = rooted;
  std::uint64_t next = 0;
  for (cuda::leaf_view& x : job.leaves)
    if (x.used) x = {address(++next), cuda::detail::packed_strides(domain), x.type, true};
  for (std::size_t r = 0; r < job.results.size(); ++r)
    if (tape.results[r] >= 0)
      job.results[r] = {address(++next), cuda::detail::packed_strides(domain, rooted ? reduced : 0), type, false};
  return job;
}

symbol leaf(sheet& s, int slot, dtype type) {
  const symbol x = s.leaf(slot, type);
  return compute_type(type) == type ? x : cast(x, compute_type(type));
}

// The value, or the gradient, of layer_norm(x) * w + b over rows of `length`, or of a softmax.
program row_program(bool norm, bool gradient, dtype type, std::int64_t length) {
  sheet s;
  const symbol x = leaf(s, 0, type);
  if (norm) {
    const symbol y = apply<layer_norm_op>(x, constant_like(x, static_cast<double>(length)), constant_like(x, 1e-5));
    s.result(y * leaf(s, 1, type) + leaf(s, 2, type));
  } else {
    s.result(apply<softmax_op>(x));
  }
  program kept, flat;
  expand(s.p, kept, op_rules_table, gradient);
  if (gradient)
    kiln::gradient(kept, flat, op_rules_table, norm ? 3 : 1, compute_type(type));
  else
    keep_needed(kept, flat);
  return flat;
}
cuda::task rows_of(const program& tape, bool norm, dtype type, std::int64_t rows, std::int64_t length) {
  cuda::task job = task_of(tape, {rows, length}, type, 0b10);
  for (std::size_t k = 1; norm && k < 3; ++k) {  // the weights, and their gradients
    if (job.leaves[k].used) job.leaves[k].strides = {0, 1};
    if (job.results.size() > k) job.results[k].strides = {0, 1};
  }
  return job;
}

/// The shape of a kernel, from its name: kiln_SHAPE_HASH.
std::string shape_of(const cuda::source& s) {
  return s.name.substr(5, s.name.rfind('_') - 5);
}

}  // namespace

TEST_CASE("nvrtc: kernels of every shape compile, in four types") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  std::set<std::string> shapes;
  int turn = 0;
  for (const dtype type : types) {
    std::deque<program> tapes;
    cuda::detail::source_set set;
    const auto add = [&](const cuda::task& job) {
      set.add(job, false);
      set.add(job, true);  // and the kernel that fits any layout
    };
    sheet map, sums, two;
    map.result(leaf(map, 0, type) * leaf(map, 1, type) + 0.5);
    sums.result(row_sum(leaf(sums, 0, type)) * 0.25);
    two.result(row_max(leaf(two, 0, type)) - row_sum(leaf(two, 0, type)));
    add(task_of(map.p, {1 << 20}, type));
    cuda::task turned = task_of(map.p, {512, 1024}, type);
    turned.leaves[1].strides = {1, 512};
    add(turned);
    add(task_of(sums.p, {4096, 1024}, type, 0b01, true));  // columns
    add(task_of(sums.p, {1 << 20}, type, 0b1, true));
    add(task_of(two.p, {4096, 1024}, type, 0b10, true));
    for (const std::int64_t length : {64, 8192, 131072, 1 << 20}) {
      // The value of a softmax, or the gradient of a layer norm.
      const bool norm = type == dtype::float32 || type == dtype::bfloat16;
      add(rows_of(tapes.emplace_back(row_program(norm, norm, type, length)), norm, type, 4096, length));
    }
    std::string any, clusters;
    for (const cuda::source& s : set.all) {
      const std::string shape = shape_of(s);
      shapes.insert(shape);
      (shape == "cluster_per_row" ? clusters : any) += s.text;
    }
    nvrtc.check_compiles(any, {std::array{80, 90, 100, 120}[static_cast<std::size_t>(turn)]});
    nvrtc.check_compiles(clusters, {std::array{90, 100, 120, 90}[static_cast<std::size_t>(turn++)]});
  }
  for (int k = 0; k <= static_cast<int>(cuda::kernel_shape::transpose); ++k) {
    const std::string shape = name(static_cast<cuda::kernel_shape>(k));
    CHECK_MESSAGE(shapes.count(shape) == 1, shape);
  }
}

TEST_CASE("nvrtc: softmax and layer norm with weights stay in registers") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  std::deque<program> tapes;
  std::set<std::string> seen;
  std::string text;
  for (const std::int64_t length : {300, 2048, 16384, 32768})
    for (const bool norm : {false, true})
      for (const bool gradient : {false, true}) {
        const program& tape = tapes.emplace_back(row_program(norm, gradient, dtype::float32, length));
        cuda::task job = rows_of(tape, norm, dtype::float32, 1, length);
        const cuda::plan how = cuda::plan_rows(job, cuda::most_row_bytes, 1);
        const cuda::source s = cuda::print_kernel(job, how);
        if (seen.insert(s.name).second) text += s.text;
      }
  const std::string ptx = nvrtc.ptx(text, 90);
  REQUIRE(!ptx.empty());
  CHECK(count(ptx, ".local") == 0);
}

TEST_CASE("nvrtc: contiguous floats move 16 bytes at a time, through the read-only path") {
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  sheet s;
  s.result(s.leaf(0) * s.leaf(1));
  cuda::task job = task_of(s.p, {64}, dtype::float32);
  const cuda::plan p = cuda::plan_map(job);
  const std::string ptx = nvrtc.ptx(cuda::print_kernel(job, p).text, 90);
  CHECK(count(ptx, "ld.global.nc.v4") == 2);
  CHECK(count(ptx, "st.global.v4") == 1);
  CHECK(count(ptx, ".local") == 0);
}

TEST_CASE("nvrtc: random numbers cost one round of Philox for four, rows of a table are taken 16 bytes at a time") {
  const auto push = [](sheet& s, leaf_kind kind, std::int16_t slot, int a = -1, int b = -1) {
    return s.p.push({.code = opcode::leaf,
                     .type = dtype::float32,
                     .a = static_cast<std::int16_t>(a),
                     .b = static_cast<std::int16_t>(b),
                     .slot = slot,
                     .literal = static_cast<std::uint64_t>(kind)});
  };
  const auto number = [](sheet& s, std::int16_t slot) {
    return s.p.push({.code = opcode::scalar, .type = dtype::int64, .slot = slot});
  };
  alignas(64) static float x[4096];
  static const std::int64_t index[8] = {};
  sheet drawn;
  const int numbers = push(drawn, leaf_kind::uniform, 0, number(drawn, 0), number(drawn, 1));
  drawn.result(symbol{&drawn.p, numbers} * 2);
  cuda::task draws = cuda::task_for(view_of(drawn.p), {512});
  draws.leaves[0].data = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(random_places));
  draws.leaves[0].strides = {1};
  draws.results[0].data = x;
  draws.results[0].strides = {1};
  sheet taken;
  const symbol way = taken.leaf(0, dtype::int64) * symbol{&taken.p, number(taken, 0)};
  const int table = push(taken, leaf_kind::address, 1);
  taken.result(symbol{&taken.p, taken.p.push({.code = opcode_of("take"),
                                              .type = dtype::float32,
                                              .a = static_cast<std::int16_t>(way.id),
                                              .b = static_cast<std::int16_t>(table)})} *
               2);
  cuda::task takes = cuda::task_for(view_of(taken.p), {8, 64});
  takes.leaves[0].data = index;
  takes.leaves[0].strides = {1, 0};
  takes.leaves[1].data = x;
  takes.leaves[1].strides = {0, 1};
  takes.results[0].data = x + 2048;
  takes.results[0].strides = {64, 1};
  const auto text_of = [](cuda::task& job) {
    const cuda::plan p = cuda::plan_map(job);
    return cuda::print_kernel(job, p).text;
  };
  const std::string draws_text = text_of(draws), takes_text = text_of(takes);
  CHECK(draws_text.find("load_vector<4>(x0 + i, some)") != std::string::npos);
  CHECK(takes_text.find("take_steps(") != std::string::npos);  // one index for four steps of a row
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) return;
  const std::string draws_ptx = nvrtc.ptx(draws_text, 90), takes_ptx = nvrtc.ptx(takes_text, 90);
  CHECK(count(draws_ptx, "mul.wide.u32") == 20);  // two products in each of ten rounds
  CHECK(count(draws_ptx, ".local") == 0);
  CHECK(count(takes_ptx, "ld.global.nc.u64") + count(takes_ptx, "ld.global.nc.b64") == 1);
  const std::string loads = takes_ptx.substr(0, takes_ptx.find("st.global"));  // before any is stored
  CHECK(count(loads, "ld.global.v4") + count(loads, "ld.global.nc.v4") >= 4);
  CHECK(count(takes_ptx, ".local") == 0);
}
