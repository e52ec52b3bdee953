// SPDX-License-Identifier: BSL-1.0
// Whole tasks on the emulator against plain loops: reductions over any axes of any layout, sums for leaves that were
// broadcast, large reductions in two kernels.
#include <kiln/device/cuda/plan/schedule.hpp>

#include "device/cuda/whole_task.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <set>
#include <string>
#include <vector>

using namespace whole;

TEST_CASE("schedule: reductions over the last axes, the first ones, or all of them") {
  std::deque<whole_task> tasks;
  int turn = 0;
  for (const dims& domain :
       {dims{7, 40}, dims{200, 9}, dims{1500, 33}, dims{3, 50, 20}, dims{4, 6, 5, 8}, dims{30000}, dims{700, 130}}) {
    const std::uint32_t all = (1u << domain.rank()) - 1;
    std::set<std::uint32_t> sets{1u, 1u << (domain.rank() - 1), all};
    if (domain.rank() > 2) sets.insert(all & ~1u), sets.insert(all & ~(1u << (domain.rank() - 1)));
    for (const std::uint32_t reduced : sets) {
      whole_task& t = tasks.emplace_back();
      const symbol x = t.tape.leaf(0, turn % 3 == 1 ? dtype::bfloat16 : dtype::float32);
      const symbol scaled = turn % 3 == 1 ? cast(x, dtype::float32) * 0.5 : x * 0.5;
      t.tape.result(turn % 2 ? row_sum(scaled) * 0.125 + 1 : row_max(abs(scaled)) - row_sum(scaled));
      t.what = cuda::task_for(view_of(t.tape.p), domain);
      t.what.reduced_axes = reduced;
      t.what.reduction_rooted = true;
      t.place(0, packed(domain, everywhere));
      t.place_result(0, packed(domain, ~reduced), turn % 4 == 1);
      t.make();
      ++turn;
    }
  }
  std::set<cuda::kernel_shape> shapes;
  bool cut = false;
  for (const whole_task& t : tasks)
    for (const cuda::launch& l : t.launches) shapes.insert(l.how.shape), cut |= l.how.cut;
  CHECK(shapes.count(cuda::kernel_shape::columns) == 1);
  CHECK(shapes.count(cuda::kernel_shape::reduce_all) == 1);
  CHECK(cut);
  run_all(tasks, 2e-5);
}

TEST_CASE("schedule: a matrix is summed wherever its elements lie, with leaves broadcast along any axis") {
  std::deque<whole_task> tasks;
  const dims domain{60, 44};
  for (const dims& x : {dims{44, 1}, dims{1, 60}, dims{88, 2}, dims{0, 1}, dims{1, 0}, dims{50, 1}})
    for (const std::uint32_t reduced : {1u, 2u, 3u}) {
      whole_task& t = tasks.emplace_back();
      t.tape.result(row_sum(t.tape.leaf(0) * t.tape.leaf(1)));
      t.what = cuda::task_for(view_of(t.tape.p), domain);
      t.what.reduced_axes = reduced;
      t.what.reduction_rooted = true;
      t.place(0, x);
      t.place(1, {44, 1});
      t.place_result(0, packed(domain, ~reduced));
      t.make();
    }
  run_all(tasks, 1e-4);  // of 2640 terms that nearly cancel
}

TEST_CASE("schedule: gradients of leaves that were broadcast are sums over the axes along which they were") {
  std::deque<whole_task> tasks;
  for (const dims& domain : {dims{50, 24}, dims{300, 7}, dims{5, 6, 10}, dims{2, 3, 4, 5}, dims{9, 5000}})
    for (std::uint32_t kept = 0; kept < 1u << domain.rank(); ++kept) {
      whole_task& t = tasks.emplace_back();
      const symbol g = t.tape.leaf(0), x = t.tape.leaf(1);
      t.tape.result(g * x);
      t.tape.result(g * 3);
      t.what = cuda::task_for(view_of(t.tape.p), domain);
      t.place(0, packed(domain, everywhere));
      t.place(1, packed(domain, everywhere));
      t.place_result(0, packed(domain, everywhere));
      t.place_result(1, packed(domain, kept), kept % 2 == 1);
      t.make();
    }
  run_all(tasks, 2e-5);
}

TEST_CASE("schedule: sums over long rows are added up where the rows are held, and not written out") {
  std::deque<whole_task> tasks;
  for (const auto type : {dtype::float32, dtype::bfloat16}) {
    constexpr std::int64_t rows = 20, length = 8192;
    whole_task& t = tasks.emplace_back();
    const symbol x = t.tape.leaf(0, type), w = t.tape.leaf(1, type), g = t.tape.leaf(2, type);
    t.tape.result(g * w - row_sum(g * w) * x * 0.125);
    t.tape.result(g * x);
    t.what = cuda::task_for(view_of(t.tape.p), {rows, length});
    t.what.reduced_axes = 2;
    t.place(0, {length, 1});
    t.place(1, {0, 1});
    t.place(2, {length, 1});
    t.what.results[0].type = t.what.results[1].type = type;
    t.place_result(0, {length, 1});
    t.place_result(1, {0, 1});
    t.make();
    CHECK(t.launches.size() == 2);  // the rows, and what adds up a row of sums for each block
    CHECK(t.scratch.size() == 1);
    CHECK(t.scratch[0].size() == static_cast<std::size_t>(t.launches[0].blocks * length) * sizeof(float));
    CHECK(t.launches[0].blocks == 3 * t.launches[0].how.least_blocks);
    CHECK(static_cast<std::size_t>(t.launches[0].how.step) * size_of(type) == 16);
  }
  run_all(tasks, 2e-5);
}

TEST_CASE("schedule: what several results add to one place is joined before it is stored") {
  std::deque<whole_task> tasks;
  for (const bool rows : {false, true})
    for (const bool add : {false, true}) {
      whole_task& t = tasks.emplace_back();
      const symbol g = t.tape.leaf(0), a = t.tape.leaf(1), c = t.tape.leaf(2);
      t.tape.result(rows ? g * c - row_sum(g) : g * c);  // of a c + a, where c is another tensor
      t.tape.result(g * a);
      t.tape.result(g);
      t.what = cuda::task_for(view_of(t.tape.p), {30, 100});
      t.what.reduced_axes = rows ? 2 : 0;
      for (int k = 0; k < 3; ++k) t.place(k, {100, 1});
      t.place_result(0, {100, 1}, add);
      t.place_result(1, {100, 1});
      t.what.results[2] = t.what.results[0];
      t.what.results[2].add = true;
      const cuda::task before = t.what;
      t.make();
      REQUIRE(t.launches.size() == 1);
      CHECK(t.sources[0].text.find("y2_at") == std::string::npos);
      CHECK((t.sources[0].text.find("add_vector(y0") != std::string::npos) == add);
      CHECK(t.sources[0].text.find("__restrict__ y0") != std::string::npos);
      const emulated::module module(t.sources[0].text, emulated::headers());
      emulated::run(module, t.sources[0], t.launches[0].how, t.launches[0].job, t.launches[0].blocks);
      const naive_tape::table v = naive_tape::values_of(before, t.leaves);
      const std::vector<real> old(t.results[0].size(), 0.25L);
      const std::vector<real> first = naive_tape::result_of(before, v, 0, old),
                              want = naive_tape::result_of(before, v, 2, first);
      for (std::size_t i = 0; i < want.size(); ++i)
        CHECK(std::abs(t.results[0][i] - want[i]) <= 1e-5 * std::max<real>(1, std::abs(want[i])));
    }
}

TEST_CASE("schedule: a large reduction is one launch, whatever follows from it") {
  std::deque<whole_task> tasks;
  // sqrt(sum(x * x)) * x1 - max(x * x2), over operands in all the ways that they may lie in.
  const auto reduction = [&](const dims& domain, const dims& x, const dims& other, bool add) {
    whole_task& t = tasks.emplace_back();
    const symbol a = t.tape.leaf(0), b = t.tape.leaf(2);
    t.tape.result(sqrt(row_sum(a * a)) * t.tape.leaf(1) - row_max(a * b));
    t.what = cuda::task_for(view_of(t.tape.p), domain);
    t.what.reduced_axes = (1u << domain.rank()) - 1;
    t.what.reduction_rooted = true;
    t.place(0, x);
    t.place(1, dims::filled(domain.rank(), 0));
    t.place(2, other);
    t.place_result(0, dims::filled(domain.rank(), 0), add);
    t.make();
    REQUIRE(t.launches.size() == 1);
    CHECK(t.launches[0].how.shape == cuda::kernel_shape::reduce_all);
    CHECK(t.launches[0].blocks == 6);
  };
  reduction({100003}, {1}, {0}, false);
  reduction({100003}, {1}, {1}, true);
  reduction({300, 200}, {200, 1}, {1, 0}, false);  // one value for each run
  reduction({300, 201}, {201, 1}, {0, 1}, true);   // runs that end within a step
  reduction({40, 30, 28}, {1, 40, 1200}, {0, 1, 0}, false);
  run_all(tasks, 1e-6);
}

TEST_CASE("schedule: few long rows are cut into parts, so that more than a few blocks have work") {
  std::deque<whole_task> tasks;
  const auto rows = [&](std::int64_t count, std::int64_t length, std::int64_t step, bool root, auto result) -> auto& {
    whole_task& t = tasks.emplace_back();
    t.tape.result(result(t.tape, 1.0 / static_cast<double>(length)));
    t.what = cuda::task_for(view_of(t.tape.p), {count, length});
    t.what.reduced_axes = 2;
    t.what.reduction_rooted = root;
    t.place(0, {length * step, step});
    if (t.what.leaves.size() > 1) t.place(1, {1, 0});  // one value per row
    t.place_result(0, root ? dims{1, 0} : dims{length, 1}, count == 2);
    t.make(8);
    return t;
  };
  const auto sum = [](sheet& s, double) { return row_sum(s.leaf(0)) * s.leaf(1) + 1; };
  const auto variance = [](sheet& s, double n) {
    const symbol x = s.leaf(0), c = x - row_sum(x) * n;
    return row_sum(c * c) * n;
  };
  const auto softmax = [](sheet& s, double) {
    const symbol e = exp(s.leaf(0) - row_max(s.leaf(0)));
    return e / row_sum(e) * 1000;
  };
  const auto centred = [](sheet& s, double n) { return (s.leaf(0) - row_sum(s.leaf(0)) * n) * s.leaf(1); };
  CHECK(rows(3, 40960, 1, true, sum).launches.size() == 2);       // whole parts
  CHECK(rows(2, 40001, 1, true, sum).launches.size() == 3);       // and a rest
  CHECK(rows(2, 33000, 2, true, sum).launches.size() == 2);       // these go down the columns of two
  CHECK(rows(1, 40001, 1, true, variance).launches.size() == 2);  // each a reduction of everything
  CHECK(rows(3, 32771, 1, false, softmax).launches.size() == 7);
  CHECK(rows(4, 32768, 1, false, centred).launches.size() == 3);
  CHECK(rows(5, 32768, 1, false, centred).launches.size() == 1);   // enough rows
  CHECK(rows(4, 32767, 1, false, centred).launches.size() == 1);   // not long
  const whole_task& clusters = rows(3, 65540, 1, false, softmax);  // two blocks a row, which are enough
  REQUIRE(clusters.launches.size() == 1);
  CHECK(clusters.launches[0].how.shape == cuda::kernel_shape::cluster_per_row);
  CHECK(clusters.launches[0].blocks == 6);
  CHECK(tasks[0].launches[0].blocks > 3);
  run_all(tasks, 2e-5);
}

TEST_CASE("schedule: nothing to reduce gives the identity, or an error that says so") {
  std::deque<whole_task> tasks;
  whole_task& t = tasks.emplace_back();
  t.tape.result(row_sum(t.tape.leaf(0)) + 2);
  t.what = cuda::task_for(view_of(t.tape.p), {4, 0});
  t.what.reduced_axes = 2;
  t.what.reduction_rooted = true;
  t.place(0, {0, 1});
  t.what.domain = {4, 0};
  t.place_result(0, {1, 0});
  t.make();
  REQUIRE(t.launches.size() == 1);
  const emulated::module module(t.sources[0].text, emulated::headers());
  emulated::run(module, t.sources[0], t.launches[0].how, t.launches[0].job, 2);
  for (std::size_t i = 0; i < 4; ++i) CHECK(t.results[0][i] == 2);

  whole_task none;
  // As a user's max: the one that composite ops are written with has an identity.
  const symbol x = none.tape.leaf(0);
  none.tape.result(
      {x.on, x.on->push({.code = opcode_of("max"), .type = x.type(), .a = static_cast<std::int16_t>(x.id)})});
  none.what = cuda::task_for(view_of(none.tape.p), {4, 0});
  none.what.reduced_axes = 2;
  none.what.reduction_rooted = true;
  none.place(0, {0, 1});
  none.place_result(0, {1, 0});
  CHECK_THROWS_AS(none.make(), value_error);
}

TEST_CASE("schedule: a transposed leaf is turned in tiles, and gives what plain loops give") {
  std::deque<whole_task> tasks;
  for (const dims& x : {dims{1, 90}, dims{1, 100}}) {
    whole_task& t = tasks.emplace_back();
    t.tape.result(t.tape.leaf(0) + t.tape.leaf(1) * 2);
    t.what = cuda::task_for(view_of(t.tape.p), {90, 70});
    t.place(0, {70, 1});
    t.place(1, x);
    t.place_result(0, {70, 1});
    t.make();
    REQUIRE(t.launches.size() == 1);
    CHECK(t.launches[0].how.shape == cuda::kernel_shape::transpose);
  }
  run_all(tasks, 1e-6);
}
