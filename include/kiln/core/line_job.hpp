// SPDX-License-Identifier: BSL-1.0
// What ordering and accumulating ask of the processor: to go over the lines of elements along one axis, wherever they
// lie, and to write a line of results for each.
#pragma once

#include <cstdint>

#include <kiln/core/dims.hpp>

namespace kiln {

/// The places, by rank in a stable order, of the elements of each line: those of ranks first to last - 1. A nan counts
/// as largest. Elements lie at strides of their own; a 0-d tensor is given as one line of one.
struct order_job {
  dims sizes;
  int axis = 0;
  const void* from = nullptr;
  dims from_strides;
  std::int64_t* to = nullptr;  ///< last - first places in each line
  dims to_strides;
  std::int64_t first = 0, last = 0;
  bool descending = false;
  bool nan_first = false;  ///< for one rank: of a line with nans it is the first of them
};

/// Running sums or products of each line; integers wrap around.
struct running_job {
  dims sizes;
  int axis = 0;
  const void* from = nullptr;
  dims from_strides;
  void* to = nullptr;  ///< may be `from`
  dims to_strides;
  bool in_int64 = false;  ///< the results of integers, which are else of their own type
  bool product = false;
  bool backwards = false;  ///< from the end of each line
  bool add = false;        ///< to what is there
};

/// Gradients of the elements of each line, given those of its running products.
struct running_product_gradient_job {
  dims sizes;
  int axis = 0;
  const void* from = nullptr;  ///< the elements
  dims from_strides;
  const void* gradient = nullptr;
  dims gradient_strides;
  void* to = nullptr;
  dims to_strides;
  bool add = false;
};

/// Where the lines along an axis begin, by their number in row-major order.
class line_places {
 public:
  line_places(const dims& sizes, int axis) : sizes_(sizes) { sizes_.erase(axis); }
  std::int64_t lines() const { return count(sizes_); }
  /// How far a line's first element is from the first of all, in an operand of these strides.
  std::int64_t operator()(std::int64_t line, const dims& strides, int axis) const {
    std::int64_t at = 0;
    for (int i = sizes_.rank() - 1; i >= 0; --i) {
      at += line % sizes_[i] * strides[i < axis ? i : i + 1];
      line /= sizes_[i];
    }
    return at;
  }

 private:
  dims sizes_;
};

}  // namespace kiln
