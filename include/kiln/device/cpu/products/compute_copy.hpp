// SPDX-License-Identifier: BSL-1.0
// Elements of a half type as floats for the time of a call, and floats rounded to where the result belongs. For types
// that are computed in themselves both are the memory itself.
#pragma once

#include <cstdint>
#include <type_traits>

#include <kiln/core/dtype.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/device/cpu/products/gemm_problem.hpp>
#include <kiln/device/cpu/simd/all.hpp>
#include <kiln/device/cpu/threads/threads.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// `count` elements as floats, and no more: what is beyond may be another thread's.
template <class S>
void copy_to_floats(const S* from, float* to, std::int64_t count) {
  constexpr int lanes = vector_bytes / int{sizeof(float)};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, load<lanes>(from + i));
  if (i == count) return;
  const int rest = static_cast<int>(count - i);
  store_partial(to + i, load_partial_or<lanes>(from + i, rest, {}), rest);
}

}  // namespace detail

/// n elements to read as compute_t<T>; null stays null.
template <class T>
class compute_copy {
  using C = compute_t<T>;
  static constexpr bool same = std::is_same_v<T, C>;

 public:
  compute_copy(const T* from, std::int64_t n) : from_(from), workspace_(same || !from ? 0 : n) {
    if constexpr (!same)
      if (from)
        parallel_for(n, 32768, [from, to = workspace_.data()](std::int64_t i, std::int64_t end) {
          detail::copy_to_floats(from + i, to + i, end - i);
        });
  }
  const C* data() const {
    if constexpr (same)
      return from_;
    else
      return from_ ? workspace_.data() : nullptr;
  }

 private:
  const T* from_;
  detail::gemm_scratch<C> workspace_;
};

/// n elements to write as compute_t<T>, which finish() rounds to T once, added to what is there if asked.
template <class T>
class compute_result {
  using C = compute_t<T>;
  static constexpr bool same = std::is_same_v<T, C>;

 public:
  compute_result(T* to, std::int64_t n, bool add) : to_(to), n_(n), add_(add), workspace_(same ? 0 : n) {}
  C* data() const {
    if constexpr (same)
      return to_;
    else
      return workspace_.data();
  }
  /// Whether the one who writes to data() has to add.
  bool add() const { return same && add_; }
  void finish() const {
    if constexpr (!same)
      parallel_for(n_, 32768, [to = to_, from = workspace_.data(), add = add_](std::int64_t i, std::int64_t end) {
        constexpr int N = vector_bytes / static_cast<int>(sizeof(C));
        for (; i + N <= end; i += N) {
          const auto value = load<N>(static_cast<const C*>(from + i));
          store(to + i, add ? value + load<N>(static_cast<const T*>(to + i)) : value);
        }
        for (; i < end; ++i) to[i] = static_cast<T>(add ? from[i] + static_cast<C>(to[i]) : from[i]);
      });
  }

 private:
  T* to_;
  std::int64_t n_;
  bool add_;
  detail::gemm_scratch<C> workspace_;
};

}  // namespace kiln::cpu::inline KILN_VERSION_ISA
