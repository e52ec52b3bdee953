// SPDX-License-Identifier: BSL-1.0
// Whole tasks by the kernels that fit any layout, on the emulator against plain loops; and that their texts are the
// same for all layouts.
#include <kiln/device/cuda/plan/schedule_general.hpp>

#include "device/cuda/whole_task.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <set>
#include <string>
#include <vector>

using namespace whole;

namespace {

// Contiguous, the axes in another order, spread out, or broadcast along some axes.
dims drawn_strides(const dims& domain) {
  const std::int64_t kind = draw(4);
  if (kind == 0) return packed(domain, static_cast<std::uint32_t>(draw(1 << domain.rank())));
  dims strides = packed(domain, everywhere);
  if (kind == 1) {
    std::int64_t next = 1;
    for (int d = 0; d < domain.rank(); ++d) {
      strides[d] = next;
      next *= domain[d];
    }
  }
  if (kind == 2)
    for (int d = 0; d < domain.rank(); ++d) strides[d] *= 3;
  return strides;
}
dims drawn_domain(std::int64_t most_axes) {
  dims domain;
  for (std::int64_t d = 1 + draw(most_axes); d > 0; --d) domain.push_back(1 + draw(draw(5) == 0 ? 20 : 3));
  return domain;
}

void make_general(whole_task& t) {
  t.launches = cuda::schedule_general(t.what, {.processors = 1, .blocks_on_each = 2}, [&](std::size_t bytes) {
    return t.scratch.emplace_back(dtype::uint8, bytes).data();
  });
  for (const cuda::launch& l : t.launches) t.sources.push_back(print_kernel(l));
}

// A program of the tests below; `kind` says which.
void write_program(sheet& s, int kind) {
  const symbol a = s.leaf(0), b = cast(s.leaf(1, dtype::bfloat16), dtype::float32);
  if (kind == 0) {  // a map
    s.result(a * b + 0.5);
  } else if (kind == 1) {  // results of a gradient
    s.result(a * b);
    s.result(a - b);
  } else if (kind == 2) {  // rows
    s.result((a - row_max(a)) * b + row_sum(a * 0.125));
  } else {  // one value per row
    s.result(row_sum(a * b) * 0.25 - row_max(a));
  }
}

}  // namespace

TEST_CASE("schedule_general: drawn layouts give what plain loops give, with one kernel per tape and type") {
  for (int kind = 0; kind < 4; ++kind) {
    std::deque<whole_task> tasks;
    std::set<std::string> of_tape, all;
    for (int k = 0; k < 25; ++k) {
      state = static_cast<std::uint64_t>(1000 * kind + k) * 77777 + 5;
      draw(2);
      whole_task& t = tasks.emplace_back();
      write_program(t.tape, kind);
      const dims domain = drawn_domain(k % 5 == 0 ? 7 : 4);
      t.what = cuda::task_for(view_of(t.tape.p), domain);
      if (kind >= 2) t.what.reduced_axes = 1 + static_cast<std::uint32_t>(draw((1 << domain.rank()) - 1));
      t.what.reduction_rooted = kind == 3;
      t.place(0, drawn_strides(domain));
      t.place(1, drawn_strides(domain));
      for (std::size_t r = 0; r < t.what.results.size(); ++r) {
        t.what.results[r].type = draw(3) == 0 ? dtype::bfloat16 : dtype::float32;
        dims y = packed(domain, kind == 3 ? ~t.what.reduced_axes : everywhere);
        if (kind == 1 && draw(2) == 0) y = packed(domain, static_cast<std::uint32_t>(draw(1 << domain.rank())));
        if (kind == 2 && draw(4) == 0) y = packed(domain, static_cast<std::uint32_t>(draw(1 << domain.rank())));
        if (draw(4) == 0)
          for (int d = 0; d < domain.rank(); ++d) y[d] *= 2;
        t.place_result(r, y, draw(3) == 0);
      }
      make_general(t);
      for (std::size_t i = 0; i < t.sources.size(); ++i) {
        all.insert(t.sources[i].name);
        if (!t.launches[i].tape) of_tape.insert(t.sources[i].text);
      }
    }
    CHECK(of_tape.size() == 1);
    CHECK(all.size() <= 1 + 2 * 3 + 4);  // copies and sums that store two types, by adding or not, and packing
    run_all(tasks, 3e-5);
  }
}

TEST_CASE("schedule_general: results that nobody wants change neither the text nor the others") {
  std::deque<whole_task> tasks;
  std::set<std::string> texts;
  for (int wanted = 1; wanted < 4; ++wanted) {
    whole_task& t = tasks.emplace_back();
    write_program(t.tape, 1);
    t.what = cuda::task_for(view_of(t.tape.p), {6, 9});
    t.place(0, {9, 1});
    t.place(1, {0, 1});
    for (std::size_t r = 0; r < 2; ++r) t.place_result(r, {9, 1});
    std::deque<memory> kept;
    for (std::size_t r = 0; r < 2; ++r)
      if (!(wanted >> r & 1)) t.what.results[r].data = nullptr;
    make_general(t);
    for (const cuda::source& s : t.sources) texts.insert(s.text);
  }
  CHECK(texts.size() == 1);
  const emulated::module module(*texts.begin(), emulated::headers());
  for (whole_task& t : tasks) {
    emulated::run(module, t.sources[0], t.launches[0].how, t.launches[0].job);
    const naive_tape::table values = naive_tape::values_of(t.what, t.leaves);
    for (std::size_t r = 0; r < 2; ++r) {
      const std::vector<real> nothing(54, 0.25L);
      const auto want = t.what.results[r].data ? naive_tape::result_of(t.what, values, r, nothing) : nothing;
      for (std::size_t i = 0; i < 54; ++i) CHECK(std::abs(t.results[r][i] - want[i]) < 1e-5L);
    }
  }
}

TEST_CASE("schedule_general: rows without elements give the identity, or an error that says there is none") {
  for (const bool sums : {true, false}) {
    whole_task t;
    // The max is a user's: the one that composite ops are written with has an identity.
    const symbol x = t.tape.leaf(0);
    t.tape.result(
        sums ? row_sum(x) + 2
             : symbol{x.on,
                      x.on->push({.code = opcode_of("max"), .type = x.type(), .a = static_cast<std::int16_t>(x.id)})});
    t.what = cuda::task_for(view_of(t.tape.p), {4, 0, 3});
    t.what.reduced_axes = 6;
    t.what.reduction_rooted = true;
    t.place(0, {0, 3, 1});
    t.place_result(0, {1, 0, 0});
    if (!sums) {
      CHECK_THROWS_AS(make_general(t), value_error);
      continue;
    }
    make_general(t);
    const cuda::source& last = t.sources.back();
    const emulated::module module(last.text, emulated::headers());
    emulated::run(module, last, t.launches.back().how, t.launches.back().job, 2);
    for (std::size_t i = 0; i < 4; ++i) CHECK(t.results[0][i] == 2);
  }
}
