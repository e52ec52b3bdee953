// SPDX-License-Identifier: BSL-1.0
// Drawn programs (ops, element types, layouts, broadcasting, reductions that the rest of the row uses) on the emulator,
// and on the processor by the interpreter, against plain loops. KILN_FUZZ sets how many; the number of the first wrong
// one is in the message.
#include "device/cuda/whole_task.hpp"

#include <kiln/device/cpu/interpreter.hpp>
#include <kiln/device/cpu/rows/reduce.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

using namespace whole;

namespace {

// Values stay within a few units, so that errors do too.
symbol drawn(sheet& s, int depth, bool rows) {
  if (depth == 0) {
    constexpr dtype types[] = {dtype::float32, dtype::bfloat16, dtype::float16, dtype::int8, dtype::float32};
    const int slot = static_cast<int>(draw(3));
    const dtype type = types[slot + draw(2) * (slot == 0 ? 4 : 0)];
    if (draw(6) == 0) return cast(s.leaf(0), dtype::float32) * 0.25;
    const symbol x = s.leaf(slot, slot == 0 ? dtype::float32 : type);
    return x.type() == dtype::float32 ? x : cast(x, dtype::float32);
  }
  const symbol a = drawn(s, depth - 1, rows);
  const std::int64_t kind = draw(rows ? 14 : 11);
  if (kind == 0) return tanh(a);
  if (kind == 1) return sigmoid(a) + 0.5;
  if (kind == 2) return abs(a) - 1;
  if (kind == 3) return exp(minimum(a, 1));
  if (kind == 4) return sqrt(abs(a) + 0.5);
  if (kind == 11) return a - row_max(a) * 0.5;
  if (kind == 12) return tanh(a) * tanh(row_sum(tanh(a)) * 0.125);
  if (kind == 13) return apply<softmax_op>(a) + a;
  const symbol b = drawn(s, depth - 1, false);
  if (kind == 5) return a + b;
  if (kind == 6) return tanh(a) * b;
  if (kind == 7) return maximum(a, b);
  if (kind == 8) return minimum(a, b) - 0.25;
  if (kind == 9) return where(a < b, a, b * 0.5);
  return a / (abs(b) + 1);
}

dims drawn_strides(const dims& domain) {
  const std::int64_t kind = draw(5);
  if (kind == 0) return packed(domain, static_cast<std::uint32_t>(draw(1 << domain.rank())));
  dims strides = packed(domain, everywhere);
  if (kind == 1 && domain.rank() > 1) {  // the first axis is the fast one
    std::int64_t next = 1;
    for (int d = 0; d < domain.rank(); ++d) {
      strides[d] = next;
      next *= domain[d];
    }
  }
  if (kind == 2)
    for (int d = 0; d < domain.rank(); ++d) strides[d] *= 2;
  return strides;
}

// The same task on the processor, into memory of its own.
void interpret(whole_task& t, int number) {
  std::deque<memory> results;
  std::vector<dtype> stores;
  std::vector<common::operand_view> in;
  std::vector<common::result_view> out;
  std::vector<std::vector<real>> before;
  for (const cuda::leaf_view& x : t.what.leaves) in.push_back({x.data, x.strides, size_of(x.type)});
  for (std::size_t r = 0; r < t.what.results.size(); ++r) {
    const cuda::result_view& y = t.what.results[r];
    memory& m = results.emplace_back(y.type, t.results[r].size());
    const real first = t.what.reduction_rooted ? 0 : 0.25L;  // of a value per row nothing adds to what is there
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, static_cast<double>(first));
    before.emplace_back(m.size(), first);
    // What is added is computed in the wider type and rounded with what it is added to, as gradients are.
    stores.push_back(y.add && !t.what.reduction_rooted ? compute_type(y.type) : y.type);
    out.push_back({m.data(), y.strides, y.type, y.add});
  }
  const cpu::interpreted kept(t.what.tape, stores.data(), t.what.reduction_rooted);
  common::task job{.program = &kept.program(),
                   .domain = t.what.domain,
                   .reduced_axes = t.what.reduced_axes,
                   .in = in.data(),
                   .out = out.data()};
  kept.program().reductions == 0 ? cpu::run_map(job) : cpu::run_rows(job);
  const naive_tape::table values = naive_tape::values_of(t.what, t.leaves);
  for (std::size_t r = 0; r < results.size(); ++r) {
    const std::vector<real> want = naive_tape::result_of(t.what, values, r, before[r]);
    real scale = 1e-3L, worst = 0;
    for (const real w : want) scale = std::max(scale, std::abs(w));
    for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(results[r][i] - want[i]) / scale);
    const double limit = t.what.results[r].type == dtype::bfloat16 ? 1e-2 : 5e-5;
    CHECK_MESSAGE(worst <= limit, "interpreted, program ", number, "\n", text_of(t.tape.p), "domain ", t.what.domain,
                  ", reduced ", t.what.reduced_axes, ", result ", r, ": an error of ", worst);
  }
}

}  // namespace

TEST_CASE("fuzz: drawn programs over drawn layouts give what plain loops give") {
  const char* const asked = std::getenv("KILN_FUZZ");
  const int programs = asked ? std::atoi(asked) : 500;
  for (int first = 0; first < programs; first += 60) {
    std::deque<whole_task> tasks;
    for (int k = first; k < std::min(first + 60, programs); ++k) {
      state = 1000003u * static_cast<std::uint64_t>(k) + 17;
      draw(2);
      whole_task& t = tasks.emplace_back();
      const bool rows = draw(2) == 1;
      const symbol y = drawn(t.tape, 1 + static_cast<int>(draw(3)), rows);
      const bool fold = rows && draw(3) == 0;
      program& p = t.flat;
      t.tape.result(fold ? row_sum(y) * 0.125 : y);
      expand(t.tape.p, p, op_rules_table, false);
      dims domain;
      const std::int64_t rank = 1 + draw(3);
      for (std::int64_t d = 0; d < rank; ++d) domain.push_back(1 + draw(draw(3) == 0 ? 70 : 9));
      t.what = cuda::task_for(::view_of(p), domain);
      bool reduces = false;
      for (int i = 0; i < p.size(); ++i) {
        const found_rules op = op_rules_table.find(p[i].code);
        reduces |= op && op->reduces;
      }
      if (reduces) t.what.reduced_axes = 1u << draw(rank);
      t.what.reduction_rooted = fold;
      for (int slot = 0; slot < static_cast<int>(t.what.leaves.size()); ++slot) t.place(slot, drawn_strides(domain));
      t.what.results[0].type = draw(3) == 0 ? dtype::bfloat16 : dtype::float32;
      t.place_result(0, packed(domain, fold ? ~t.what.reduced_axes : everywhere), draw(4) == 0);
      t.make();
      interpret(t, k);
    }
    run_all(tasks, 5e-5);
  }
}
