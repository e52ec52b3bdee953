// SPDX-License-Identifier: BSL-1.0
// The strip functions that move values between types, add to what is there, and spread or draw numbers.
#pragma once

#include <kiln/device/cpu/interpreter/strip_function.hpp>
#include <kiln/device/cpu/simd/all.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter {

namespace detail {

template <class From, class To>
void convert_strip(const operand* places, const step& s, std::int64_t n) {
  constexpr int N = lanes_of(dtype_of<From>, dtype_of<To>);
  const From* const x = static_cast<const From*>(places[s.a].data);
  const std::int64_t mask = places[s.a].mask;
  To* const to = s.result<To>(places);
  for (std::int64_t i = 0; i < n; i += N) store(to + i, convert<compute_t<To>>(load<N>(x + (i & mask))));
}
template <class S>
void add_strip(const operand* places, const step& s, std::int64_t n) {
  constexpr int N = lanes_of(dtype_of<S>);
  const compute_t<S>* const x = static_cast<const compute_t<S>*>(places[s.a].data);
  const std::int64_t mask = places[s.a].mask;
  S* const to = s.result<S>(places);
  for (std::int64_t i = 0; i < n; i += N)
    store(to + i, load<N>(static_cast<const S*>(to + i)) + load<N>(x + (i & mask)));
}

template <class T>
void spread(void* workspace, std::uint64_t bits) {
  store(static_cast<T*>(workspace), lanes<T, lanes_of(dtype_of<T>)>(from_bits<T>(bits)));
}

}  // namespace detail

KILN_INLINE strip_function conversion(dtype from, dtype to) {
  return visit_dtype(from, [&]<class From>(std::type_identity<From>) -> strip_function {
    return visit_dtype(
        to, [&]<class To>(std::type_identity<To>) -> strip_function { return &detail::convert_strip<From, To>; });
  });
}
KILN_INLINE strip_function addition(dtype stored) {
  return visit_dtype(stored, [&]<class S>(std::type_identity<S>) -> strip_function {
    if constexpr (std::is_same_v<S, bool>)
      return nullptr;
    else
      return &detail::add_strip<S>;
  });
}
KILN_INLINE spread_function spreading(dtype type) {
  return visit_dtype(kiln::compute_type(type),
                     [&]<class T>(std::type_identity<T>) -> spread_function { return &detail::spread<compute_t<T>>; });
}
KILN_INLINE draw_function draws_of(leaf_kind kind, dtype type) {
  auto of = [&]<class T>(std::type_identity<T>) -> draw_function {
    return kind == leaf_kind::uniform ? &cpu::detail::draw_strip<leaf_kind::uniform, T>
                                      : &cpu::detail::draw_strip<leaf_kind::normal, T>;
  };
  switch (type) {
    case dtype::float16:
      return of(std::type_identity<half>{});
    case dtype::bfloat16:
      return of(std::type_identity<bfloat16>{});
    case dtype::float64:
      return of(std::type_identity<double>{});
    default:
      return of(std::type_identity<float>{});
  }
}

}  // namespace interpreter
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
