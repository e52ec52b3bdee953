// SPDX-License-Identifier: BSL-1.0
// sum, mean and max of [4096, 1024] over everything, over each row and over axis 0, beside a hand-written loop with
// several accumulators and libtorch. The hand loop over axis 0 adds whole rows, a strip of columns at a time. kiln also
// takes everything through a transposed view, which must not matter.
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#include <algorithm>
#include <limits>
#include <string>

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using hand::packet;

constexpr std::size_t rows = 4096, cols = 1024, n = rows * cols;

struct add {
  static constexpr float start = 0;
  static packet join(packet a, packet b) { return hand::ei::padd(a, b); }
  static float finish(packet a) { return hand::ei::predux(a); }
};
struct most {
  static constexpr float start = -std::numeric_limits<float>::infinity();
  static packet join(packet a, packet b) { return hand::ei::pmax(a, b); }
  static float finish(packet a) { return hand::ei::predux_max(a); }
};

template <class Op>
float fold(const float* x, std::size_t count) {
  packet part[8];
  for (packet& each : part) each = hand::all(Op::start);
  for (std::size_t i = 0; i < count; i += 8 * hand::width)
    for (std::size_t k = 0; k < 8; ++k) part[k] = Op::join(part[k], hand::load(x + i + k * hand::width));
  for (std::size_t k = 1; k < 8; ++k) part[0] = Op::join(part[0], part[k]);
  return Op::finish(part[0]);
}

template <class Op>
void fold_rows_together(const float* x, float* y) {
  constexpr std::size_t held = 8;  // registers of running results; 16 rows are read per visit to hide the latency
  constexpr std::size_t strip = held * hand::width;
  std::fill_n(y, cols, Op::start);
  for (std::size_t r = 0; r < rows; r += 16)
    for (std::size_t c = 0; c < cols; c += strip) {
      packet part[held];
      for (std::size_t k = 0; k < held; ++k) part[k] = hand::load(y + c + k * hand::width);
      for (std::size_t i = r; i < r + 16; ++i)
        for (std::size_t k = 0; k < held; ++k)
          part[k] = Op::join(part[k], hand::load(x + i * cols + c + k * hand::width));
      for (std::size_t k = 0; k < held; ++k) hand::store(y + c + k * hand::width, part[k]);
    }
}

template <class Op>
void hand_contests(const std::string& name, bool mean) {
  enter("reductions/" + name + "/all", "hand", 1, [=] {
    return [x = random("x", n), y = buffer("one", 1), mean] {
      *y = fold<Op>(x, n) * (mean ? 1.0F / static_cast<float>(n) : 1.0F);
      return y;
    };
  });
  enter("reductions/" + name + "/transposed", "hand", 1, [=] {
    return [x = random("x", n), y = buffer("one", 1), mean] {
      *y = fold<Op>(x, n) * (mean ? 1.0F / static_cast<float>(n) : 1.0F);
      return y;
    };
  });
  enter("reductions/" + name + "/rows", "hand", rows, [=] {
    return [x = random("x", n), y = buffer("rows", rows), mean] {
      for (std::size_t r = 0; r < rows; ++r)
        y[r] = fold<Op>(x + r * cols, cols) * (mean ? 1.0F / static_cast<float>(cols) : 1.0F);
      return y;
    };
  });
  enter("reductions/" + name + "/axis0", "hand", cols, [=] {
    return [x = random("x", n), y = buffer("cols", cols), mean] {
      fold_rows_together<Op>(x, y);
      if (mean)
        for (std::size_t c = 0; c < cols; ++c) y[c] *= 1.0F / static_cast<float>(rows);
      return y;
    };
  });
}

#if __has_include(<kiln/kiln.hpp>)
template <class All, class Along>
void kiln_contests(const std::string& name, All all, Along along) {
  const auto one = [&](const std::string& over, std::size_t count, auto shape, auto f) {
    enter("reductions/" + name + "/" + over, "kiln", count, [=] {
      return [=, x = peers::tensor(random("x", n), {rows, cols}), y = peers::result(shape)]() mutable {
        y = f(x);
        return peers::data(y);
      };
    });
  };
  using shape = std::vector<std::size_t>;
  one("all", 1, shape{}, all);
  one("transposed", 1, shape{}, [all](const auto& x) { return all(x.transpose(0, 1)); });
  one("rows", rows, shape{rows}, [along](const auto& x) { return along(x, 1); });
  one("axis0", cols, shape{cols}, [along](const auto& x) { return along(x, 0); });
}
#endif

[[maybe_unused]] const bool registered = [] {
  hand_contests<add>("sum", false);
  hand_contests<add>("mean", true);
  hand_contests<most>("max", false);
  if (peers::torch_found())
    for (const std::string name : {"sum", "mean", "max"}) {
      const auto torch = [&](const std::string& over, std::size_t count, int axis) {
        enter("reductions/" + name + "/" + over, "torch", count,
              [=] { return peers::torch_reduce(name, axis, random("x", n), rows, cols); });
      };
      torch("all", 1, -1);
      torch("rows", rows, 1);
      torch("axis0", cols, 0);
    }
#if __has_include(<kiln/kiln.hpp>)
  kiln_contests(
      "sum", [](const auto& x) { return sum(x); }, [](const auto& x, int axis) { return sum(x, axis); });
  kiln_contests(
      "mean", [](const auto& x) { return mean(x); }, [](const auto& x, int axis) { return mean(x, axis); });
  kiln_contests(
      "max", [](const auto& x) { return max(x); }, [](const auto& x, int axis) { return max(x, axis); });
#endif
  return true;
}();

}  // namespace
