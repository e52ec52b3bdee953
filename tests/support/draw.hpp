// SPDX-License-Identifier: BSL-1.0
// Random test data: shapes, axes, and tensors that lie in memory in every way a view can (permuted, with gaps, behind
// an offset, broadcast), amid elements that nobody may read or write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include <kiln/expr/reductions.hpp>
#include <support/naive.hpp>

namespace test {

/// The poison around the elements of a drawn tensor: a quiet nan, or a number that no draw gives.
template <class T>
T poison() {
  if constexpr (std::is_same_v<T, bool>)
    return true;
  else if constexpr (std::is_integral_v<T>)
    return T(113);
  else
    return static_cast<T>(std::numeric_limits<float>::quiet_NaN());
}

/// The axes of a mask, as a caller would list them; those of odd number counted from the end.
inline kiln::axes axes_in(std::uint32_t mask, std::size_t rank) {
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; i < rank; ++i)
    if (has(mask, i)) list.push_back(static_cast<std::int64_t>(i) - (i % 2 ? static_cast<std::int64_t>(rank) : 0));
  switch (list.size()) {
    case 0:
      return kiln::axes(std::initializer_list<std::int64_t>{});
    case 1:
      return kiln::axes(list[0]);
    case 2:
      return kiln::axes({list[1], list[0]});
    case 3:
      return kiln::axes({list[0], list[2], list[1]});
    case 4:
      return kiln::axes({list[0], list[1], list[2], list[3]});
    case 5:
      return kiln::axes({list[0], list[1], list[2], list[3], list[4]});
    default:
      return kiln::axes({list[0], list[1], list[2], list[3], list[4], list[5]});
  }
}

class draw {
 public:
  explicit draw(std::uint32_t seed) : engine_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(int one_in) { return integer(1, one_in) == 1; }
  double real(double low, double high) { return low + (high - low) * (static_cast<double>(engine_()) / 4294967295.0); }

  /// At most `rank` axes and some `most` elements.
  lengths shape(int rank, std::int64_t most, bool zeros = true) {
    static constexpr std::int64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 100};
    lengths s(static_cast<std::size_t>(integer(0, rank)));
    std::int64_t reserved = most;
    for (auto& size : s) {
      size = std::min<std::int64_t>(usual[integer(0, 16)], std::max<std::int64_t>(reserved, 1));
      if (zeros && chance(30)) size = 0;
      reserved /= std::max<std::int64_t>(size, 1);
    }
    std::shuffle(s.begin(), s.end(), engine_);
    return s;
  }
  /// A shape that broadcasts to `to`.
  lengths narrower(lengths to) {
    if (chance(2)) return to;
    const auto drop = integer(0, static_cast<std::int64_t>(to.size()));
    if (chance(2)) to.erase(to.begin(), to.begin() + drop);
    for (auto& size : to)
      if (chance(3)) size = 1;
    return to;
  }
  std::uint32_t axes(std::size_t rank) { return static_cast<std::uint32_t>(integer(0, (std::int64_t{1} << rank) - 1)); }

  template <class T>
  T value(double low = -2, double high = 2) {
    if constexpr (std::is_same_v<T, bool>)
      return chance(2);
    else if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(integer(0, 20));
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(integer(-10, 10));
    else
      return static_cast<T>(static_cast<kiln::compute_t<T>>(real(low, high)));
  }

  /// Elements anywhere in a bigger piece of memory.
  template <class T>
  kiln::Tensor<T> anywhere(const lengths& s, double low = -2, double high = 2) {
    return filled<T>(place<T>(s), low, high);
  }
  template <class T>
  kiln::Tensor<T> contiguous(const lengths& s, double low = -2, double high = 2) {
    return filled<T>(kiln::Tensor<T>(kiln::new_tensor(kiln::dtype_of<T>, dims_of(s))), low, high);
  }
  template <class T>
  kiln::Tensor<T> tensor(const lengths& s, double low = -2, double high = 2) {
    return chance(2) ? contiguous<T>(s, low, high) : anywhere<T>(s, low, high);
  }
  std::mt19937& engine() { return engine_; }

 private:
  template <class T>
  kiln::Tensor<T> filled(kiln::Tensor<T> t, double low, double high) {
    for_each_index(sizes_of(t.sizes()), [&](const lengths& at) {
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * t.strides()[static_cast<int>(i)];
      t.data()[offset] = value<T>(low, high);
    });
    return t;
  }
  template <class T>
  kiln::Tensor<T> place(const lengths& s) {
    std::vector<int> order(s.size());
    std::iota(order.begin(), order.end(), 0);
    if (chance(2))
      std::shuffle(order.begin(), order.end(), engine_);
    else if (chance(2))
      std::reverse(order.begin(), order.end());
    kiln::dims strides = dims_of(s);
    std::int64_t step = chance(3) ? integer(2, 3) : 1;
    for (int axis : order) {
      strides[axis] = step;
      step *= std::max<std::int64_t>(s[static_cast<std::size_t>(axis)], 1);
      if (chance(3)) step += integer(1, 5);
    }
    const std::int64_t offset = chance(2) ? integer(1, 9) : 0;
    const auto memory = kiln::new_tensor(kiln::dtype_of<T>, {step + offset + 16});
    std::fill_n(static_cast<T*>(memory->data), step + offset + 16, poison<T>());
    auto view = kiln::new_state(kiln::dtype_of<T>, dims_of(s), strides);
    view->memory = memory->memory;
    view->data = static_cast<T*>(memory->data) + offset;
    return kiln::Tensor<T>(std::move(view));
  }
  std::mt19937 engine_;
};

}  // namespace test
