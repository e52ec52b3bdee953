// SPDX-License-Identifier: BSL-1.0
// Tensor cores for kernels under a host compiler; part of device.hpp. What a warp's instructions mma.m16n8k16 and
// ldmatrix do, by the layouts that the PTX ISA gives: the lanes meet, leave what they have, and take what they need.
// And cp.async, whose bytes arrive as late as the ISA allows, when the thread waits for them.
// Kernels call these where KILN_EMULATOR is defined, since a host compiler knows no PTX.
#pragma once

#pragma GCC visibility push(hidden)

namespace emulator {

inline lane_exchange& lanes_of_block() {
  return *static_cast<lane_exchange*>(exchange_start);
}
inline unsigned warp_number() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32;
}
/// All 32 lanes meet at one instruction. It orders no memory, so that a __syncwarp that is missing still shows.
inline void whole_warp(const char* otherwise, int line) {
  if (static_cast<unsigned>(host.warp(meeting::vote, line, 0xffffffffu, 1, -1)) != 0xffffffffu) host.fail(otherwise);
}
KILN_EMULATOR_UNCHECKED inline unsigned short half_of(unsigned pair, int which) {
  return static_cast<unsigned short>(which == 0 ? pair & 0xffffu : pair >> 16);
}

/// mma.sync.aligned.m16n8k16.row.col with sums in float. `value` makes a float of 16 bits. Products and their sum are
/// exact here before they are rounded, once; the hardware's order of adding is not known.
template <class Value>
KILN_EMULATOR_UNCHECKED void multiply_matrices(float& c0, float& c1, float& c2, float& c3, const unsigned (&a)[4],
                                               unsigned b0, unsigned b1, Value value, int line = __builtin_LINE()) {
  constexpr const char* words = "mma.sync: all 32 lanes of a warp must take part";
  unsigned(&shown)[32][6] = lanes_of_block().registers[warp_number()];
  const int own = lane();
  for (int i = 0; i < 4; ++i) shown[own][i] = a[i];
  shown[own][4] = b0, shown[own][5] = b1;
  whole_warp(words, line);
  float* const out[4] = {&c0, &c1, &c2, &c3};
  for (int i = 0; i < 4; ++i) {
    const int row = own / 4 + 8 * (i / 2), column = 2 * (own % 4) + i % 2;
    double sum = *out[i];
    for (int k = 0; k < 16; ++k) {
      const unsigned left = shown[4 * (row % 8) + k % 8 / 2][row / 8 + 2 * (k / 8)];
      const unsigned right = shown[4 * column + k % 8 / 2][4 + k / 8];
      sum += static_cast<double>(value(half_of(left, k % 2))) * static_cast<double>(value(half_of(right, k % 2)));
    }
    *out[i] = static_cast<float>(sum);
  }
  whole_warp(words, line);  // all have read
}

/// ldmatrix.sync.aligned.m8n8.x4.b16, with .trans if `transposed`.
KILN_EMULATOR_UNCHECKED inline void load_matrices(unsigned (&out)[4], const void* row, bool transposed,
                                                  int line = __builtin_LINE()) {
  constexpr const char* words = "ldmatrix: all 32 lanes of a warp must take part";
  if (reinterpret_cast<size_t>(row) % 16 != 0) host.fail("ldmatrix: a row that does not begin at 16 bytes");
  if (checked) host.access(row, 16, false);
  const void*(&shown)[32] = lanes_of_block().rows[warp_number()];
  const int own = lane();
  shown[own] = row;
  whole_warp(words, line);
  // Of the row that another lane has shown; a checked access, as the row lies in shared memory.
  const auto element = [](const void* of, int column) -> unsigned {
    return static_cast<const unsigned short*>(of)[column];
  };
  for (int m = 0; m < 4; ++m) {
    const int first = own / 4, second = 2 * (own % 4);
    const void* const* const rows = shown + 8 * m;
    out[m] = transposed ? element(rows[second], first) | element(rows[second + 1], first) << 16
                        : element(rows[first], second) | element(rows[first], second + 1) << 16;
  }
  whole_warp(words, line);
}

/// cp.async of 4, 8 or 16 bytes, of which the last are zeros if `size` is less than `whole`.
inline void copy_async(void* to, const void* from, int size, int whole) {
  host.copy_async(to, from, static_cast<bytes>(size), static_cast<bytes>(whole));
}
/// cp.async.commit_group and cp.async.wait_group.
inline void commit_copies() {
  host.commit_copies();
}
inline void wait_for_copies(int latest) {
  host.wait_for_copies(static_cast<bytes>(latest));
}

}  // namespace emulator

#pragma GCC visibility pop
