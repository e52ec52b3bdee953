// SPDX-License-Identifier: BSL-1.0
// Which programs kiln::compiled holds, with kernels for each of its instruction sets: those of layers, losses and
// optimizers that many programs share (src/prebuilt.hpp lists the expressions). A program is known by its tape, so that
// every expression that comes to the same tape has the library's kernels, and a unit that holds it compiles none.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kiln/device/cpu/kernel/prebuilt_keys.hpp>
#include <kiln/tape/program.hpp>

namespace kiln::cpu {

/// A number for a program, the same in every build: of its tape, the types that it stores, and whether its result is
/// one value per row.
constexpr std::uint64_t prebuilt_key(const tape_view& t, const dtype* stores, bool reduction_rooted) {
  const tape_key k = key(t);
  std::uint64_t h = k.low ^ (k.high << 31 | k.high >> 33) ^ static_cast<std::uint64_t>(reduction_rooted);
  for (int r = 0; r < t.result_count; ++r) h = (h ^ static_cast<std::uint64_t>(stores[r])) * 0x100000001b3u;
  return h;
}
template <class Program>
inline constexpr std::uint64_t prebuilt_key_of = prebuilt_key(view(Program::tape), Program::stores.data(),
                                                              Program::reduction_rooted);

/// Its place among the library's, or -1.
template <class Program>
inline constexpr int prebuilt_number = [] {
  for (std::size_t i = 0; i < prebuilt_keys.size(); ++i)
    if (prebuilt_keys[i] == prebuilt_key_of<Program>) return static_cast<int>(i);
  return -1;
}();

}  // namespace kiln::cpu
