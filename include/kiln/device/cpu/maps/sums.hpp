// SPDX-License-Identifier: BSL-1.0
// Results narrower than the domain: the gradient of an operand that was broadcast is the sum over the axes it was
// broadcast along. Strips are added in double, part by part of the domain (sum_parts.hpp); what several parts have a
// share in is joined in their order, and rounded once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <kiln/device/cpu/maps/strips.hpp>
#include <kiln/device/cpu/maps/sum_parts.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

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

/// Puts a strip of float or double into places `stride` apart, or adds it, rounding as computing in T does.
template <class T>
inline void put_converted(T* to, std::int64_t stride, const void* from, bool wide, std::int64_t n, bool add) {
  for (std::int64_t i = 0; i < n; ++i, to += stride) {
    const double value = wide ? static_cast<const double*>(from)[i] : static_cast<const float*>(from)[i];
    const double before = add ? static_cast<double>(static_cast<compute_t<T>>(*to)) : 0.0;
    *to = static_cast<T>(static_cast<compute_t<T>>(before + value));
  }
}

}  // namespace detail

/// Puts a contiguous strip of one type into places `stride` apart of another, or adds it, rounding as computing does: a
/// double becomes half or bfloat16 by way of float. Where the types differ, and for adding, the strip is of float or
/// double.
inline void put_strip(void* to, dtype to_type, std::int64_t stride, const void* from, dtype from_type, std::int64_t n,
                      bool add) {
  if (!add && to_type == from_type) return scatter(to, stride, from, n, size_of(to_type));
  const bool wide = from_type == dtype::float64;
  switch (to_type) {
    case dtype::float16:
      return detail::put_converted(static_cast<half*>(to), stride, from, wide, n, add);
    case dtype::bfloat16:
      return detail::put_converted(static_cast<bfloat16*>(to), stride, from, wide, n, add);
    case dtype::float64:
      return detail::put_converted(static_cast<double*>(to), stride, from, wide, n, add);
    default:
      return detail::put_converted(static_cast<float*>(to), stride, from, wide, n, add);
  }
}

namespace detail {

/// Writes sums to the elements of a result from offset `first` on, or adds them.
inline void put_totals(const result_view& y, std::int64_t first, const double* totals, std::int64_t n) {
  put_strip(at(y.data, first, y.size()), y.type, 1, totals, dtype::float64, n, y.add);
}

}  // namespace detail

/// The sums of one run of a program.
class result_sums {
 public:
  explicit result_sums(task& job) : job_(job) {
    if (job.program->reduction_rooted)
      return;  // one value per row is what the program computes, not a sum over its results
    for (int r = 0; r < job.program->results; ++r) {
      const result_view& y = job.out[r];
      if (!y.data) continue;
      std::int64_t size = 1;
      bool narrow = false;
      for (int i = 0; i < job.domain.rank(); ++i) {
        if (y.strides[i] == 0)
          narrow |= job.domain[i] != 1;
        else
          size = kiln::detail::wrapping_product(size, job.domain[i]);
      }
      if (narrow) wide_[static_cast<std::size_t>(count_++)] = {r, size, 0, 0, false};
    }
  }
  bool any() const { return count_ > 0; }
  bool wanted(int r) const { return find(r) >= 0; }

  /// Cuts the domain into parts and makes room for sums that parts share: no more doubles than the result has elements,
  /// and one for every 512 operations. A result of which every part has a piece to itself takes none.
  [[gnu::cold]] void cut(const part_grid& grid) {
    grid_ = grid;
    const std::int64_t work = grid.outer() * grid.inner() * program_of(job_).cost,
                       wanted = work / (work_per_thread / 2);
    std::int64_t allowed = work / 512;
    for (int i = 0; i < count_; ++i) allowed += wide(i).size;
    if (wanted > 1) cut_ = cut_into_parts(grid, wanted, allowed, [&](const part_cut& with) { return measure(with); });
    shared_.emplace(static_cast<std::size_t>(8 * measure(cut_)));
  }
  std::int64_t parts() const { return cut_.parts(); }
  /// Memory of the sums that parts share.
  std::int64_t shared_bytes() { return shared_ ? 8 * measure(cut_) : 0; }

  /// Writes the sums that parts share, and zeros if there were no parts.
  void deliver() {
    for (int i = 0; i < count_; ++i)
      if (wide(i).shared || !shared_) join(wide(i));
  }

 private:
  friend class part_sums;
  struct wide_result {
    int result;
    std::int64_t size, longest, workspace;  ///< elements, most of them that a part reaches, where the shared sums begin
    bool shared;                            ///< some elements are reached by several parts
  };
  wide_result& wide(int i) { return wide_[static_cast<std::size_t>(i)]; }
  int find(int r) const {
    for (int i = 0; i < count_; ++i)
      if (wide_[static_cast<std::size_t>(i)].result == r) return i;
    return -1;
  }
  [[gnu::cold, gnu::noinline]] offset_range reach(const part_cut& cut, std::int64_t part, const wide_result& w) const {
    if (cut.parts() == 1) return {0, w.size};
    return reach_of(grid_, cut.part(grid_, part), job_.out[w.result].strides);
  }
  // The numbers that shared sums take with this cut; notes what it means for each result.
  [[gnu::cold]] std::int64_t measure(const part_cut& cut) {
    std::int64_t all = 0;
    for (int i = 0; i < count_; ++i) {
      wide_result& w = wide(i);
      std::int64_t reached = 0;
      w.longest = 0;
      for (std::int64_t k = 0; k < cut.parts(); ++k) {
        const std::int64_t size = reach(cut, k, w).size;
        reached += size;
        w.longest = std::max(w.longest, size);
      }
      w.shared = reached > w.size;
      w.workspace = all;
      if (w.shared) all += cut.parts() * w.longest;
    }
    return all;
  }
  double* shared_workspace(const wide_result& w, std::int64_t part) {
    return reinterpret_cast<double*>(shared_->get()) + w.workspace + part * w.longest;
  }

  void join(const wide_result& w) {
    constexpr std::int64_t block = 1024;
    const std::int64_t parts = shared_ ? cut_.parts() : 0;
    const std::int64_t blocks = (w.size + block - 1) / block;
    parallel_for(blocks, std::max<std::int64_t>(work_per_thread / (block * (parts + 1)), 1),
                 [&](std::int64_t block_begin, std::int64_t block_end) {
                   std::array<double, block> totals;
                   for (std::int64_t b = block_begin; b < block_end; ++b) {
                     const std::int64_t begin = b * block, end = std::min(begin + block, w.size);
                     totals.fill(0);
                     for (std::int64_t k = 0; k < parts; ++k) {
                       const offset_range here = reach(cut_, k, w);
                       const std::int64_t from = std::max(begin, here.first),
                                          to = std::min(end, here.first + here.size);
                       const double* const sums = shared_workspace(w, k) - here.first;
                       for (std::int64_t i = from; i < to; ++i) totals[static_cast<std::size_t>(i - begin)] += sums[i];
                     }
                     detail::put_totals(job_.out[w.result], begin, totals.data(), end - begin);
                   }
                 });
  }

  task& job_;
  std::array<wide_result, max_slots> wide_;
  int count_ = 0;
  part_grid grid_;
  part_cut cut_;
  std::optional<detail::scratch> shared_;
};

/// The sums of one part: one thread's work, from its first strip to `finish`.
class part_sums {
 public:
  part_sums(result_sums& all, std::int64_t part)
      : all_(all),
        add_([](part_sums& self, int r, const void* values, std::int64_t offset, std::int64_t stride, std::int64_t n) {
          self.add_strip(r, values, offset, stride, n);
        }),
        part_(part),
        where_(all.cut_.part(all.grid_, part)),
        own_(own_workspace(all)) {
    double* own = reinterpret_cast<double*>(own_.get());
    for (int i = 0; i < all.count_; ++i) {
      const auto& w = all.wide(i);
      const offset_range here = all.reach(all.cut_, part, w);
      double* const workspace = w.shared ? all.shared_workspace(w, part) : own;
      if (!w.shared) own += here.size;
      std::fill_n(workspace, here.size, 0.0);
      workspace_[static_cast<std::size_t>(i)] = workspace - here.first;
    }
  }
  const sum_part& where() const { return where_; }
  bool wanted(int r) const { return all_.wanted(r); }

  /// Adds a strip of result r whose elements belong `stride` apart from `offset` on. By a pointer, so that who never
  /// makes such sums holds nothing of them.
  void add(int r, const void* values, std::int64_t offset, std::int64_t stride, std::int64_t n) {
    add_(*this, r, values, offset, stride, n);
  }

  /// Writes the sums that no other part has a share in.
  void finish() {
    for (int i = 0; i < all_.count_; ++i) {
      const auto& w = all_.wide(i);
      if (w.shared) continue;
      const offset_range here = all_.reach(all_.cut_, part_, w);
      detail::put_totals(all_.job_.out[w.result], here.first, workspace_[static_cast<std::size_t>(i)] + here.first,
                         here.size);
    }
  }

 private:
  void add_strip(int r, const void* values, std::int64_t offset, std::int64_t stride, std::int64_t n) {
    double* total = workspace_[static_cast<std::size_t>(all_.find(r))] + offset;
    auto add_values = [&](const auto* v) {
      if (stride == 0)
        *total += detail::sum_of(v, n);
      else if (stride == 1)
        detail::add_wide(total, v, n);
      else
        for (std::int64_t i = 0; i < n; ++i) total[i * stride] += static_cast<double>(v[i]);
    };
    // Half types are computed in float, so a strip is of one of two types.
    if (all_.job_.program->stores[r] == dtype::float64)
      add_values(static_cast<const double*>(values));
    else
      add_values(static_cast<const float*>(values));
  }
  static std::size_t own_workspace(result_sums& all) {
    std::int64_t n = 0;
    for (int i = 0; i < all.count_; ++i) n += all.wide(i).shared ? 0 : all.wide(i).longest;
    return static_cast<std::size_t>(8 * n);
  }

  result_sums& all_;
  void (*add_)(part_sums&, int, const void*, std::int64_t, std::int64_t, std::int64_t);
  std::int64_t part_;
  sum_part where_;
  detail::scratch own_;
  std::array<double*, max_slots> workspace_;  ///< where offset 0 of each result would be
};

/// Does all parts: body(part_sums&) for each, on any thread.
template <class Body>
inline void sum_parts(result_sums& sums, const part_grid& grid, Body body) {
  sums.cut(grid);
  parallel_for(sums.parts(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      part_sums part(sums, i);
      body(part);
      part.finish();
    }
  });
  sums.deliver();
}

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
