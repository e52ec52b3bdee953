// SPDX-License-Identifier: BSL-1.0
// Whole tasks on the emulator against plain loops: reductions over any axes of any layout, sums for leaves that were
// broadcast, large reductions in two kernels.
#include <kiln/device/cuda/schedule.hpp>

#include "device/cuda/naive_tape.hpp"
#include "device/cuda/nvrtc_compile.hpp"
#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <set>
#include <string>
#include <vector>

using namespace kiln;
using emulated::memory;
using oracles::real;

namespace {

std::uint64_t state = 11;
std::int64_t draw(std::int64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
}

struct whole_task {
  sheet tape;
  cuda::task what;
  std::deque<memory> leaves, results, scratch;
  std::vector<cuda::launch> launches;
  std::vector<cuda::source> sources;

  void place(int slot, const dims& strides) {
    cuda::leaf_view& x = what.leaves[static_cast<std::size_t>(slot)];
    x.strides = strides;
    memory& m = leaves.emplace_back(x.type, room(strides));
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, static_cast<double>(draw(1000)) / 250 - 2);
    x.data = m.data();
  }
  void place_result(std::size_t r, const dims& strides, bool add = false) {
    cuda::result_view& y = what.results[r];
    y.strides = strides;
    y.add = add;
    memory& m = results.emplace_back(y.type, room(strides));
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, 0.25);
    y.data = m.data();
  }
  std::size_t room(const dims& strides) const {
    std::int64_t last = 0;
    for (int d = 0; d < strides.rank(); ++d) last += strides[d] * (what.domain[d] - 1);
    return static_cast<std::size_t>(std::max<std::int64_t>(last, 0) + 1);
  }
  void make() {
    launches = cuda::schedule(what, {.processors = 3, .blocks_on_each = 2},
                              [&](std::size_t bytes) { return scratch.emplace_back(dtype::uint8, bytes).data(); });
    for (const cuda::launch& l : launches) sources.push_back(l.print(l.job, l.how));
  }
  void run_and_check(const emulate::module& module, double tolerance) {
    std::vector<std::vector<real>> before;
    for (memory& m : results) {
      before.emplace_back();
      for (std::size_t i = 0; i < m.size(); ++i) before.back().push_back(m[i]);
    }
    for (std::size_t k = 0; k < launches.size(); ++k) {
      const cuda::launch& l = launches[k];
      std::vector<void*> places;
      for (const std::uint64_t at : l.scratch) places.push_back(reinterpret_cast<void*>(at));
      emulated::run(module, sources[k], l.how, l.job, l.blocks, places);
    }
    const naive_tape::table values = naive_tape::values_of(what, leaves);
    for (std::size_t r = 0; r < results.size(); ++r) {
      const std::vector<real> want = naive_tape::result_of(what, values, r, before[r]);
      real scale = 1e-3L, worst = 0;
      for (const real w : want) scale = std::max(scale, std::abs(w));
      for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(results[r][i] - want[i]) / scale);
      std::string how;
      for (const cuda::launch& l : launches) how += l.how.key() + "\n";
      CHECK_MESSAGE(worst <= tolerance, text_of(tape.p), how, "domain ", what.domain, ", reduced ", what.reduced_axes,
                    ", result ", r, ": an error of ", worst);
    }
  }
};

// Row-major strides over the axes in `kept`, 0 along the others.
dims packed(const dims& domain, std::uint32_t kept) {
  dims strides = dims::filled(domain.rank(), 0);
  std::int64_t next = 1;
  for (int d = domain.rank() - 1; d >= 0; --d)
    if (kept >> d & 1) {
      strides[d] = next;
      next *= domain[d];
    }
  return strides;
}
constexpr std::uint32_t everywhere = 0xffffffffu;

void run_all(std::deque<whole_task>& tasks, double tolerance) {
  std::string text;
  std::set<std::string> seen;
  for (const whole_task& t : tasks)
    for (const cuda::source& s : t.sources)
      if (seen.insert(s.name).second) text += s.text;
  const emulate::module module(text, emulated::headers());
  for (whole_task& t : tasks) t.run_and_check(module, tolerance);
  const auto& nvrtc = nvrtc_test::library::instance();
  if (!nvrtc.available()) {
    MESSAGE("SKIPPED: no libnvrtc can be opened here");
    return;
  }
  const auto made = nvrtc.compile(text, 90);
  CHECK_MESSAGE(made.log.empty(), made.log);
  CHECK(made.good);
}

}  // namespace

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
      t.what.row_root = true;
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
      t.what.row_root = true;
      t.place(0, x);
      t.place(1, {44, 1});
      t.place_result(0, packed(domain, ~reduced));
      t.make();
    }
  run_all(tasks, 2e-5);
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

TEST_CASE("schedule: a large sum leaves one value per block, which a second kernel folds") {
  std::deque<whole_task> tasks;
  whole_task& t = tasks.emplace_back();
  const symbol x = t.tape.leaf(0);
  t.tape.result(sqrt(row_sum(x * x)));
  t.what = cuda::task_for(view_of(t.tape.p), {100003});
  t.what.reduced_axes = 1;
  t.what.row_root = true;
  t.place(0, {1});
  t.place_result(0, {0});
  t.make();
  REQUIRE(t.launches.size() == 2);
  CHECK(t.launches[0].how.shape == cuda::kernel_shape::reduce_all);
  CHECK(t.launches[0].blocks == 6);
  CHECK(t.launches[1].how.shape == cuda::kernel_shape::warp_per_row);
  run_all(tasks, 1e-6);
}

TEST_CASE("schedule: nothing to reduce gives the identity, or an error that says so") {
  std::deque<whole_task> tasks;
  whole_task& t = tasks.emplace_back();
  t.tape.result(row_sum(t.tape.leaf(0)) + 2);
  t.what = cuda::task_for(view_of(t.tape.p), {4, 0});
  t.what.reduced_axes = 2;
  t.what.row_root = true;
  t.place(0, {0, 1});
  t.what.domain = {4, 0};
  t.place_result(0, {1, 0});
  t.make();
  REQUIRE(t.launches.size() == 1);
  const emulate::module module(t.sources[0].text, emulated::headers());
  emulated::run(module, t.sources[0], t.launches[0].how, t.launches[0].job, 2);
  for (std::size_t i = 0; i < 4; ++i) CHECK(t.results[0][i] == 2);

  whole_task none;
  none.tape.result(row_max(none.tape.leaf(0)));
  none.what = cuda::task_for(view_of(none.tape.p), {4, 0});
  none.what.reduced_axes = 2;
  none.what.row_root = true;
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
