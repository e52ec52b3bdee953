// SPDX-License-Identifier: BSL-1.0
// a + transpose(b) for 4096 x 4096 beside two hand-written loops and libtorch. "hand" is the tiled loop over elements
// that one writes first; "expert" turns squares of one packet by one packet in registers, visits them tile by tile so
// that each cache line of b is used up before it is lost, and writes past the cache.
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

namespace ei = Eigen::internal;
using contest::buffer;
using contest::enter;
using contest::random;

constexpr std::size_t side = 4096, n = side * side, tile = 64;

/// y = a + transpose(b) for one square of width x width at (r, c).
void turn(const float* a, const float* b, float* y, std::size_t r, std::size_t c) {
  constexpr int size = static_cast<int>(hand::width);
  ei::PacketBlock<hand::packet, size> block;
  for (std::size_t k = 0; k < hand::width; ++k) block.packet[k] = hand::load(b + (c + k) * side + r);
  ei::ptranspose(block);
  for (std::size_t k = 0; k < hand::width; ++k) {
    const std::size_t at = (r + k) * side + c;
    hand::stream(y + at, ei::padd(hand::load(a + at), block.packet[k]));
  }
}

[[maybe_unused]] const bool registered = [] {
  enter("transpose/add", "hand", n, [] {
    return [a = random("a", n), b = random("b", n), y = buffer("y", n)] {
      // The fastest of the tiles tried (8 x 8 to 64 x 64): few rows of b at once, as their distance of 16 KB puts them
      // all into the same set of the nearest cache.
      constexpr std::size_t tall = 64, wide = 16;
      for (std::size_t r = 0; r < side; r += tall)
        for (std::size_t c = 0; c < side; c += wide)
          for (std::size_t i = r; i < r + tall; ++i)
            for (std::size_t j = c; j < c + wide; ++j) y[i * side + j] = a[i * side + j] + b[j * side + i];
      return y;
    };
  });
  enter("transpose/add", "expert", n, [] {
    return [a = random("a", n), b = random("b", n), y = buffer("y", n)] {
      for (std::size_t r = 0; r < side; r += tile)
        for (std::size_t c = 0; c < side; c += tile)
          for (std::size_t i = r; i < r + tile; i += hand::width)
            for (std::size_t j = c; j < c + tile; j += hand::width) turn(a, b, y, i, j);
      hand::stream_end();
      return y;
    };
  });
  if (peers::torch_found())
    enter("transpose/add", "torch", n, [] { return peers::torch_transpose_add(random("a", n), random("b", n), side); });
#if __has_include(<kiln/kiln.hpp>)
  enter("transpose/add", "kiln", n, [] {
    return [a = peers::tensor(random("a", n), {side, side}), b = peers::tensor(random("b", n), {side, side}),
            y = peers::result({side, side})]() mutable {
      y = a + transpose(b, 0, 1);
      return peers::data(y);
    };
  });
#endif
  return true;
}();

}  // namespace
