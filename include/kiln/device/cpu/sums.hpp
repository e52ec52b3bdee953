// SPDX-License-Identifier: BSL-1.0
// Results narrower than the domain: the gradient of an operand that was broadcast is the sum over the axes it was
// broadcast along. Strips are added in double, per thread; `deliver` joins the threads and rounds once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <kiln/device/cpu/isa.hpp>
#include <kiln/device/cpu/staging.hpp>
#include <kiln/device/cpu/task.hpp>
#include <kiln/device/cpu/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

template <class F>
inline void visit_floating(dtype type, F f) {
  switch (type) {
    case dtype::float16:
      return f(std::type_identity<half>{});
    case dtype::bfloat16:
      return f(std::type_identity<bfloat16>{});
    case dtype::float64:
      return f(std::type_identity<double>{});
    default:
      return f(std::type_identity<float>{});
  }
}

/// Adds all values of a strip: in the element type along a few dozen lanes, so in runs too short to lose digits, and
/// in double across them.
template <class T>
inline double sum_of(const T* values, std::int64_t n) {
  constexpr int N = vector_bytes / static_cast<int>(sizeof(T));
  auto a = lanes<T, N>(T(0)), b = a, c = a, d = a;
  std::int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N) {
    a = a + load<N>(values + i);
    b = b + load<N>(values + i + N);
    c = c + load<N>(values + i + 2 * N);
    d = d + load<N>(values + i + 3 * N);
  }
  for (; i + N <= n; i += N) a = a + load<N>(values + i);
  double rest = 0;  // one by one: the lanes beyond a partial load are not zero
  for (; i < n; ++i) rest += static_cast<double>(values[i]);
  return static_cast<double>(reduce_add((a + b) + (c + d))) + rest;
}
template <class T>
inline void add_wide(double* total, const T* values, std::int64_t n) {
  constexpr int N = vector_bytes / 8;
  std::int64_t i = 0;
  for (; i + N <= n; i += N)
    store(total + i, load<N>(static_cast<const double*>(total + i)) + convert<double>(load<N>(values + i)));
  for (; i < n; ++i) total[i] += static_cast<double>(values[i]);
}

}  // namespace detail

/// Puts a contiguous strip of one type into places `stride` apart of another, rounding once; with `add`, adds it.
/// Types that differ, and adding, are for floating types only.
inline void put_strip(void* to, dtype to_type, std::int64_t stride, const void* from, dtype from_type, std::int64_t n,
                      bool add) {
  if (!add && to_type == from_type) return scatter(to, stride, from, n, size_of(to_type));
  detail::visit_floating(to_type, [&]<class To>(std::type_identity<To>) {
    auto put = [&]<class From>(const From* values) {
      To* out = static_cast<To*>(to);
      for (std::int64_t i = 0; i < n; ++i) {
        const From before = add ? static_cast<From>(static_cast<compute_t<To>>(out[i * stride])) : From(0);
        out[i * stride] = static_cast<To>(before + values[i]);
      }
    };
    if (from_type == dtype::float64)
      put(static_cast<const double*>(from));
    else
      put(static_cast<const float*>(from));
  });
}

/// The sums of one run of a program.
class result_sums {
 public:
  explicit result_sums(task& job) : job_(job) {
    if (job.program->row_root) return;  // one value per row is what the program computes, not a sum over its results
    for (int r = 0; r < job.program->results; ++r) {
      const result_view& y = job.out[r];
      if (!y.data) continue;
      std::int64_t size = 1;
      bool narrow = false;
      for (int i = 0; i < job.domain.rank(); ++i) {
        if (y.strides[i] == 0)
          narrow |= job.domain[i] != 1;
        else
          size *= job.domain[i];
      }
      if (narrow) wide_.push_back({r, size, {}, {}});
    }
  }
  bool any() const { return !wide_.empty(); }
  bool wanted(int r) const { return find(r) != nullptr; }
  /// Makes room for every thread.
  void prepare(const task&) {
    for (auto& w : wide_) w.per_thread.resize(static_cast<std::size_t>(num_threads()));
  }

  /// Adds a strip of result r whose elements belong `stride` apart from `offset` on.
  void add(int r, const void* values, std::int64_t offset, std::int64_t stride, std::int64_t n) {
    double* total = room(r) + offset;
    auto add_values = [&](const auto* v) {
      if (stride == 0)
        *total += detail::sum_of(v, n);
      else if (stride == 1)
        detail::add_wide(total, v, n);
      else
        for (std::int64_t i = 0; i < n; ++i) total[i * stride] += static_cast<double>(v[i]);
    };
    // Half types are computed in float, so a strip is of one of two types.
    if (job_.program->stores[r] == dtype::float64)
      add_values(static_cast<const double*>(values));
    else
      add_values(static_cast<const float*>(values));
  }
  /// Adds values already summed.
  void add_number(int r, double value, std::int64_t offset) { room(r)[offset] += value; }

  /// Joins the threads' sums and writes the results. Without strips, writes zeros.
  void deliver() {
    for (const auto& w : wide_) {
      result_view& y = job_.out[w.result];
      detail::visit_floating(y.type, [&]<class T>(std::type_identity<T>) {
        T* out = static_cast<T*>(y.data);
        for (std::int64_t i = 0; i < w.size; ++i) {
          double total = y.add ? static_cast<double>(static_cast<compute_t<T>>(out[i])) : 0.0;
          for (const auto& part : w.per_thread)
            if (!part.empty()) total += part[static_cast<std::size_t>(i)];
          for (const auto& [thread, part] : w.late) total += part[static_cast<std::size_t>(i)];
          out[i] = static_cast<T>(static_cast<compute_t<T>>(total));
        }
      });
    }
  }

 private:
  struct wide_result {
    int result;
    std::int64_t size;
    std::vector<std::vector<double>> per_thread;
    std::map<int, std::vector<double>> late;  ///< of threads that set_num_threads() added after `prepare`
  };
  const wide_result* find(int r) const {
    for (const auto& w : wide_)
      if (w.result == r) return &w;
    return nullptr;
  }
  double* room(int r) {
    for (auto& w : wide_)
      if (w.result == r) {
        const std::size_t me = static_cast<std::size_t>(thread_index()), size = static_cast<std::size_t>(w.size);
        if (me >= w.per_thread.size()) {
          const std::lock_guard lock(late_);
          return w.late.try_emplace(thread_index(), size, 0.0).first->second.data();
        }
        auto& mine = w.per_thread[me];
        if (mine.empty()) mine.assign(size, 0.0);
        return mine.data();
      }
    return nullptr;
  }
  task& job_;
  std::vector<wide_result> wide_;
  std::mutex late_;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
