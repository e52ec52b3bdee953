// SPDX-License-Identifier: BSL-1.0
// A printed map of every op on every element type that it accepts, with the memory it works on.
#pragma once

#include "device/cuda/emulated.hpp"
#include "device/cuda/one_op.hpp"

#include <cstdint>
#include <deque>
#include <set>
#include <string>

namespace one_op {

using emulated::memory;

inline constexpr dtype types[] = {dtype::boolean, dtype::uint8,   dtype::int8,     dtype::int16,   dtype::int32,
                                  dtype::int64,   dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};

// A kernel with the memory it works on.
struct job {
  const op_rules* op = nullptr;
  dtype type = dtype::float32;
  program tape;
  std::deque<memory> leaves, results;
  cuda::task what;
  cuda::plan how;
  cuda::source printed;
  std::uint32_t* fault = nullptr;

  job(const op_rules& which, dtype of, bool gradient, std::int64_t n) : op(&which), type(of) {
    if (gradient)
      gradient_tape(which, of, tape);
    else
      value_tape(which, of, tape);
    what = contiguous(tape, n);
    const std::size_t count = static_cast<std::size_t>(n);
    for (auto& x : what.leaves) x.data = leaves.emplace_back(x.type, count).data();
    for (std::size_t r = 0; r < what.results.size(); ++r) {
      auto& y = what.results[r];
      if (gradient || y.type != dtype::boolean) y.type = of;
      if (tape.results[r] >= 0) y.data = results.emplace_back(y.type, count).data();
    }
  }
  void print() {
    how = cuda::plan_map(what, 2);  // less to compile than what a device would like best
    printed = cuda::print_map(what, how);
  }
};

inline std::string together(const std::deque<job>& jobs) {
  std::string all;
  std::set<std::string> seen;  // root is sqrt, hardtanh is clamp: one kernel
  for (const job& j : jobs)
    if (seen.insert(j.printed.name).second) all += j.printed.text;
  return all;
}
inline std::deque<job> all_values(std::int64_t n) {
  std::deque<job> jobs;
  for (const op_rules* op : elementwise_ops())
    for (const dtype type : types)
      if (takes(all_ops{}, op->code, type)) jobs.emplace_back(*op, type, false, n).print();
  return jobs;
}
inline std::deque<job> all_gradients(std::int64_t n) {
  std::deque<job> jobs;
  for (const op_rules* op : elementwise_ops())
    for (const dtype type : {dtype::float32, dtype::float64, dtype::bfloat16}) {
      if (!takes(all_ops{}, op->code, type) || result_of(all_ops{}, op->code, type) == dtype::boolean) continue;
      program tape;
      gradient_tape(*op, type, tape);
      bool any = false;
      for (int r = 0; r < tape.result_count; ++r) any |= tape.results[r] >= 0;
      if (any) jobs.emplace_back(*op, type, true, n).print();
    }
  return jobs;
}
}  // namespace one_op
