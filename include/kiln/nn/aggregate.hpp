// SPDX-License-Identifier: BSL-1.0
// An aggregate taken apart: how many members it has, and pointers to them. C++20 has no pack of structured bindings, so
// there is one line for each number of members.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <type_traits>
#include <utility>

namespace kiln::nn::detail {

/// Stands for any member when they are counted; nothing is ever converted. (With a body, because clang++ takes the
/// conversion that std::optional's constructor makes for used.)
struct any_member {
  template <class M>
  [[noreturn]] operator M() const {
    std::abort();
  }
};
template <class T, std::size_t... I>
constexpr bool initialised_by(std::index_sequence<I...>) {
  return requires {
    T{(static_cast<void>(I), any_member{})...};
  };
}
inline constexpr std::size_t most_members = 32;
/// How many members an aggregate has: so many values can initialise it, and not one more.
template <class T, std::size_t N = 0, bool Before = false>
constexpr std::size_t count_members() {
  constexpr bool now = initialised_by<T>(std::make_index_sequence<N>());
  if constexpr (Before && !now)
    return N - 1;
  else if constexpr (N > most_members)
    return N;
  else
    return count_members<T, N + 1, now>();
}
template <class T>
inline constexpr std::size_t member_count = std::is_empty_v<T> ? 0 : count_members<std::remove_const_t<T>>();

/// Pointers to the members of an aggregate, as a tuple.
template <class T>
constexpr auto tied(T& x) {
  constexpr std::size_t n = member_count<std::remove_const_t<T>>;
  static_assert(n <= most_members,
                "kiln: a module of more than 32 members, with a reference, or with an array T[n] (use std::array): "
                "group some in a struct, or "
                "list them by a static members(self)");
  constexpr auto all = [](auto&... each) { return std::tuple<decltype(&each)...>(&each...); };
  if constexpr (n == 0) {
    return all();
  } else if constexpr (n == 1) {
    auto& [m1] = x;
    return all(m1);
  } else if constexpr (n == 2) {
    auto& [m1, m2] = x;
    return all(m1, m2);
  } else if constexpr (n == 3) {
    auto& [m1, m2, m3] = x;
    return all(m1, m2, m3);
  } else if constexpr (n == 4) {
    auto& [m1, m2, m3, m4] = x;
    return all(m1, m2, m3, m4);
  } else if constexpr (n == 5) {
    auto& [m1, m2, m3, m4, m5] = x;
    return all(m1, m2, m3, m4, m5);
  } else if constexpr (n == 6) {
    auto& [m1, m2, m3, m4, m5, m6] = x;
    return all(m1, m2, m3, m4, m5, m6);
  } else if constexpr (n == 7) {
    auto& [m1, m2, m3, m4, m5, m6, m7] = x;
    return all(m1, m2, m3, m4, m5, m6, m7);
  } else if constexpr (n == 8) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8);
  } else if constexpr (n == 9) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9);
  } else if constexpr (n == 10) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
  } else if constexpr (n == 11) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
  } else if constexpr (n == 12) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
  } else if constexpr (n == 13) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
  } else if constexpr (n == 14) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
  } else if constexpr (n == 15) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
  } else if constexpr (n == 16) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
  } else if constexpr (n == 17) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17);
  } else if constexpr (n == 18) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18);
  } else if constexpr (n == 19) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19);
  } else if constexpr (n == 20) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20);
  } else if constexpr (n == 21) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21);
  } else if constexpr (n == 22) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22);
  } else if constexpr (n == 23) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23] =
        x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22,
               m23);
  } else if constexpr (n == 24) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24);
  } else if constexpr (n == 25) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25);
  } else if constexpr (n == 26) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26);
  } else if constexpr (n == 27) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26, m27);
  } else if constexpr (n == 28) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26, m27, m28);
  } else if constexpr (n == 29) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26, m27, m28, m29);
  } else if constexpr (n == 30) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26, m27, m28, m29, m30);
  } else if constexpr (n == 31) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30, m31] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26, m27, m28, m29, m30, m31);
  } else if constexpr (n == 32) {
    auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
           m24, m25, m26, m27, m28, m29, m30, m31, m32] = x;
    return all(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23,
               m24, m25, m26, m27, m28, m29, m30, m31, m32);
  }
}

}  // namespace kiln::nn::detail
