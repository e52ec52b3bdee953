// SPDX-License-Identifier: BSL-1.0
// Elementwise expressions beside a hand-written loop over packets, expert Eigen and libtorch:
//   map        y = relu(a * b + c) - 0.5 tanh(a)         4 Ki, 256 Ki and 64 Mi elements
//   combine    y = a * b + c - 0.5 d                     256 Ki and 64 Mi
//   broadcast  y = (a + row) * col                       [4096, 1024]
// At 64 Mi the hand loop writes past the cache; for the broadcast, which just about fits, it is entered both ways.
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#include <string>

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using map = Eigen::Map<const Eigen::ArrayXf>;
using map_out = Eigen::Map<Eigen::ArrayXf>;

/// Runs `f(i)` for each packet of [0, n) and stores it with `put`; n is a multiple of the width.
template <class F, class Put>
void each_packet(std::size_t n, F f, Put put) {
  for (std::size_t i = 0; i < n; i += hand::width) put(i, f(i));
}

template <class F>
void write(float* y, std::size_t n, bool non_temporal, F f) {
  if (non_temporal) {
    each_packet(n, f, [y](std::size_t i, hand::packet v) { hand::stream(y + i, v); });
    hand::stream_end();
  } else {
    each_packet(n, f, [y](std::size_t i, hand::packet v) { hand::store(y + i, v); });
  }
}

void map_contest(std::size_t n) {
  namespace ei = Eigen::internal;
  const std::string work = "elementwise/map/" + std::to_string(n);
  const bool large = n > (std::size_t{1} << 24);
  enter(work, "hand", n, [=] {
    const float *a = random("a", n), *b = random("b", n), *c = random("c", n);
    float* y = buffer("y", n);
    return [=] {
      write(y, n, large, [=](std::size_t i) {
        const hand::packet x = hand::load(a + i);
        const hand::packet line = ei::pmax(ei::pmadd(x, hand::load(b + i), hand::load(c + i)), hand::all(0));
        return ei::psub(line, ei::pmul(hand::all(0.5F), ei::ptanh(x)));
      });
      return y;
    };
  });
  enter(work, "eigen", n, [=] {
    const auto size = static_cast<Eigen::Index>(n);
    const map a(random("a", n), size), b(random("b", n), size), c(random("c", n), size);
    float* y = buffer("y", n);
    return [=] {
      map_out(y, size) = (a * b + c).max(0.0F) - 0.5F * a.tanh();
      return y;
    };
  });
  if (peers::torch_found())
    enter(work, "torch", n, [=] { return peers::torch_map(random("a", n), random("b", n), random("c", n), n); });
#if __has_include(<kiln/kiln.hpp>)
  enter(work, "kiln", n, [=] {
    return [a = peers::tensor(random("a", n), {n}), b = peers::tensor(random("b", n), {n}),
            c = peers::tensor(random("c", n), {n}), y = peers::result({n})]() mutable {
      y = relu(a * b + c) - 0.5F * tanh(a);
      return peers::data(y);
    };
  });
#endif
}

void combine_contest(std::size_t n) {
  namespace ei = Eigen::internal;
  const std::string work = "elementwise/combine/" + std::to_string(n);
  const bool large = n > (std::size_t{1} << 24);
  enter(work, "hand", n, [=] {
    const float *a = random("a", n), *b = random("b", n), *c = random("c", n), *d = random("d", n);
    float* y = buffer("y", n);
    return [=] {
      write(y, n, large, [=](std::size_t i) {
        const hand::packet line = ei::pmadd(hand::load(a + i), hand::load(b + i), hand::load(c + i));
        return ei::pmadd(hand::all(-0.5F), hand::load(d + i), line);
      });
      return y;
    };
  });
  if (peers::torch_found())
    enter(work, "torch", n,
          [=] { return peers::torch_combine(random("a", n), random("b", n), random("c", n), random("d", n), n); });
#if __has_include(<kiln/kiln.hpp>)
  enter(work, "kiln", n, [=] {
    return [a = peers::tensor(random("a", n), {n}), b = peers::tensor(random("b", n), {n}),
            c = peers::tensor(random("c", n), {n}), d = peers::tensor(random("d", n), {n}),
            y = peers::result({n})]() mutable {
      y = a * b + c - 0.5F * d;
      return peers::data(y);
    };
  });
#endif
}

void broadcast_contest(std::size_t rows, std::size_t cols) {
  namespace ei = Eigen::internal;
  const std::string work = "elementwise/broadcast";
  const std::size_t n = rows * cols;
  const auto by_hand = [=](bool non_temporal) {
    return [=] {
      const float *a = random("a", n), *row = random("row", cols), *col = random("col", rows);
      float* y = buffer("y", n);
      return [=] {
        for (std::size_t r = 0; r < rows; ++r) {
          const hand::packet scale = hand::all(col[r]);
          write(y + r * cols, cols, non_temporal, [=](std::size_t i) {
            return ei::pmul(ei::padd(hand::load(a + r * cols + i), hand::load(row + i)), scale);
          });
        }
        return y;
      };
    };
  };
  enter(work, "hand", n, by_hand(false));
  enter(work, "hand_streamed", n, by_hand(true));
  if (peers::torch_found())
    enter(work, "torch", n,
          [=] { return peers::torch_broadcast(random("a", n), random("row", cols), random("col", rows), rows, cols); });
#if __has_include(<kiln/kiln.hpp>)
  enter(work, "kiln", n, [=] {
    return [a = peers::tensor(random("a", n), {rows, cols}), row = peers::tensor(random("row", cols), {cols}),
            col = peers::tensor(random("col", rows), {rows, 1}), y = peers::result({rows, cols})]() mutable {
      y = (a + row) * col;
      return peers::data(y);
    };
  });
#endif
}

[[maybe_unused]] const bool registered = [] {
  constexpr std::size_t kibi = 1024;
  for (const std::size_t n : {4 * kibi, 256 * kibi, 64 * kibi * kibi}) map_contest(n);
  for (const std::size_t n : {256 * kibi, 64 * kibi * kibi}) combine_contest(n);
  broadcast_contest(4096, 1024);
  return true;
}();

}  // namespace
