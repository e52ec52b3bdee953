// SPDX-License-Identifier: BSL-1.0
// A task with its memory, cut into kernels, run on the emulator and compared with plain loops.
#pragma once

#include <kiln/device/cuda/plan/schedule.hpp>
#include <kiln/device/cuda/print/print_kernel.hpp>
#include <kiln/tape/expand.hpp>

#include "device/cuda/naive_tape.hpp"
#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace whole {

using namespace kiln;
using emulated::memory;
using oracles::real;

inline std::uint64_t state = 11;
inline std::int64_t draw(std::int64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
}

struct whole_task {
  sheet tape;
  program flat;  ///< with composite ops written out, where there are any
  cuda::task what;
  std::deque<memory> leaves, results, scratch;
  std::vector<cuda::launch> launches;
  std::vector<cuda::source> sources;

  void place(int slot, const dims& strides) {
    cuda::leaf_view& x = what.leaves[static_cast<std::size_t>(slot)];
    x.strides = strides;
    memory& m = leaves.emplace_back(x.type, reserved(strides));
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, static_cast<double>(draw(1000)) / 250 - 2);
    x.data = m.data();
  }
  void place_result(std::size_t r, const dims& strides, bool add = false) {
    cuda::result_view& y = what.results[r];
    y.strides = strides;
    y.add = add;
    memory& m = results.emplace_back(y.type, reserved(strides));
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, 0.25);
    y.data = m.data();
  }
  std::size_t reserved(const dims& strides) const {
    std::int64_t last = 0;
    for (int d = 0; d < strides.rank(); ++d) last += strides[d] * (what.domain[d] - 1);
    return static_cast<std::size_t>(std::max<std::int64_t>(last, 0) + 1);
  }
  void make(int processors = 3) {
    launches = cuda::schedule(what, {.processors = processors, .blocks_on_each = 2},
                              [&](std::size_t bytes) { return scratch.emplace_back(dtype::uint8, bytes).data(); });
    for (const cuda::launch& l : launches) sources.push_back(print_kernel(l));
  }
  void run_and_check(const emulated::module& module, double tolerance) {
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
      const double limit = what.results[r].type == dtype::bfloat16 ? std::max(tolerance, 1e-2) : tolerance;
      CHECK_MESSAGE(worst <= limit, text_of(tape.p), how, "domain ", what.domain, ", reduced ", what.reduced_axes,
                    ", result ", r, ": an error of ", worst, " where the largest is ", scale);
    }
  }
};

// Row-major strides over the axes in `kept`, 0 along the others.
inline dims packed(const dims& domain, std::uint32_t kept) {
  dims strides = dims::filled(domain.rank(), 0);
  std::int64_t next = 1;
  for (int d = domain.rank() - 1; d >= 0; --d)
    if (kept >> d & 1) {
      strides[d] = next;
      next *= domain[d];
    }
  return strides;
}
inline constexpr std::uint32_t everywhere = 0xffffffffu;

inline void run_all(std::deque<whole_task>& tasks, double tolerance) {
  std::string text;
  std::set<std::string> seen;
  for (const whole_task& t : tasks)
    for (const cuda::source& s : t.sources)
      if (seen.insert(s.name).second) text += s.text;
  const emulated::module module(text, emulated::headers());
  for (whole_task& t : tasks) t.run_and_check(module, tolerance);
}

}  // namespace whole
