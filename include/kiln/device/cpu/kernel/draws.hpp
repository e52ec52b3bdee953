// SPDX-License-Identifier: BSL-1.0
// Random numbers as operands of kernels: the kernels load them like the elements of a tensor, from strips that are
// filled just before, and no tensor of them exists. `draw_slots` finds them on a tape.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <kiln/core/philox.hpp>
#include <kiln/device/cpu/elements/random.hpp>
#include <kiln/device/cpu/kernel/compiled.hpp>
#include <kiln/device/cpu/processor/isa.hpp>
#include <kiln/tape/instruction.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {

namespace detail {

/// Numbers of a stream from `position` on, `stride` positions apart.
template <leaf_kind Kind, class T>
void draw_strip(const random_stream& stream, std::uint64_t position, std::int64_t stride, std::int64_t n, void* strip) {
  constexpr std::uint64_t in_block = 4 / words_of<T>;
  alignas(64) random_buffer words;
  auto make = [&](T* to, std::uint64_t from, std::int64_t count) {
    draw(words, stream, from / in_block, count * words_of<T>);
    if constexpr (Kind == leaf_kind::uniform)
      make_uniform(to, words.data(), count);
    else
      make_normal(to, words.data(), count);
  };
  auto one = [&](std::uint64_t at) {
    std::array<T, static_cast<std::size_t>(in_block)> numbers;
    make(numbers.data(), at, in_block);
    return numbers[static_cast<std::size_t>(at % in_block)];
  };
  T* to = static_cast<T*>(strip);
  if (stride == 0) return void(std::fill_n(to, n, one(position)));
  if (stride != 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = one(position + static_cast<std::uint64_t>(i * stride));
    return;
  }
  for (; n > 0 && position % in_block != 0; ++position, --n) *to++ = one(position);
  while (n > 0) {
    const std::int64_t count = std::min(n, random_words / words_of<T>);
    make(to, position, count);
    to += count, n -= count, position += static_cast<std::uint64_t>(count);
  }
}

template <class Tape>
constexpr int count_draws(const Tape& t) {
  int n = 0;
  for (int i = 0; i < t.size(); ++i) n += t[i].code == opcode::leaf && is_drawn(kind_of(t[i]));
  return n;
}
/// The drawn slots of a Program.
template <class Program>
constexpr auto draw_slots() {
  std::array<draw_slot, static_cast<std::size_t>(count_draws(Program::tape))> all{};
  if constexpr (!all.empty()) {
    std::size_t n = 0;
    auto one = [&]<int I>(std::integral_constant<int, I>) {
      constexpr const auto& t = Program::tape;
      constexpr instruction now = t[I];
      if constexpr (now.code == opcode::leaf && is_drawn(kind_of(now))) {
        using T = element_t<now.type>;
        all[n++] = {now.slot, t[now.a].slot, t[now.b].slot, sizeof(T), &draw_strip<kind_of(now), T>};
      }
    };
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (one(std::integral_constant<int, I>{}), ...);
    }
    (std::make_integer_sequence<int, Program::tape.size()>{});
  }
  return all;
}

/// Fills a strip with the draws at addresses `stride` elements apart, from `address` on.
inline void stage_draws(const draw_slot& from, const std::uint64_t* scalars, void* to, const void* address,
                        std::int64_t stride, std::int64_t n) {
  const random_stream stream{scalars[from.seed], scalars[from.first]};
  if (stream.first == no_block) {
    std::memset(to, 0, static_cast<std::size_t>(n) * from.size);
    return;
  }
  const std::uint64_t bytes = reinterpret_cast<std::uintptr_t>(address) - random_places;
  from.fill(stream, bytes / from.size, stride, n, to);
}

}  // namespace detail
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
