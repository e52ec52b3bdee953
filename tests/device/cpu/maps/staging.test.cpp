// SPDX-License-Identifier: BSL-1.0
// Moving strips: gathered, scattered, turned; every size of element, nothing beside the target touched.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <kiln/device/cpu/maps/staging.hpp>

using namespace kiln;

TEST_CASE_TEMPLATE("staging: gather, scatter and turning, element by element", Word, std::uint8_t, std::uint16_t,
                   std::uint32_t, std::uint64_t) {
  std::vector<Word> memory(4000), strip(300), back(4000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<Word>(i * 7 + 1);
  for (const std::int64_t stride : {0, 1, 2, 3, 13})
    for (const std::int64_t n : {0, 1, 7, 8, 9, 100, 299}) {
      strip.assign(300, Word(99));
      cpu::gather(strip.data(), memory.data(), stride, n, sizeof(Word));
      bool right = strip[static_cast<std::size_t>(n)] == Word(99);
      for (std::int64_t i = 0; i < n; ++i)
        right &= strip[static_cast<std::size_t>(i)] == memory[static_cast<std::size_t>(i * stride)];
      if (stride > 0) {
        back.assign(4000, Word(3));
        cpu::scatter(back.data(), stride, strip.data(), n, sizeof(Word));
        for (std::int64_t i = 0; i < 4000; ++i)
          right &= back[static_cast<std::size_t>(i)] ==
                   (i % stride == 0 && i / stride < n ? memory[static_cast<std::size_t>(i)] : Word(3));
      }
      CHECK(right);
    }
  for (const std::int64_t rows : {1, 3, 8, 32})
    for (const std::int64_t columns : {1, 7, 8, 17, 100}) {
      back.assign(4000, Word(3));
      cpu::transpose_block(back.data(), columns + 1, memory.data(), rows + 2, rows, columns, sizeof(Word));
      bool right = true;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c)
          right &= back[static_cast<std::size_t>(r * (columns + 1) + c)] ==
                   memory[static_cast<std::size_t>(c * (rows + 2) + r)];
        right &= back[static_cast<std::size_t>(r * (columns + 1) + columns)] == Word(3);
      }
      CHECK(right);
    }
}
