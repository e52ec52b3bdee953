// SPDX-License-Identifier: BSL-1.0
// Poolings and their gradients, one thread for each element that is written: the gradient of an element is gathered
// from the windows that it lies under, so that no two threads add to one place.
#pragma once

#include <kernels/map.cuh>

namespace kiln::kernels {

/// Images (planes, rows, columns), places (planes, rows, columns) and the window that moves over them.
struct pooling_shape {
  int64 planes, rows, columns, place_rows, place_columns;
  int64 kernel[2], stride[2], padding[2], dilation[2];
  int64 fixed;            // if not 0: what every average is divided by
  int32 padding_counts;   // else whether the padding counts as elements
};

/// The element of a window along an axis, or the place of a window over an element; whether there is one.
__device__ inline bool under(const pooling_shape& s, int axis, int64 place, int64 at, int64 size, int64& out) {
  out = place * s.stride[axis] - s.padding[axis] + at * s.dilation[axis];
  return out >= 0 && out < size;
}
__device__ inline bool over(const pooling_shape& s, int axis, int64 element, int64 at, int64 places, int64& out) {
  const int64 start = element + s.padding[axis] - at * s.dilation[axis];
  out = start / s.stride[axis];
  return start >= 0 && out * s.stride[axis] == start && out < places;
}

/// Calls f(row, column) for the elements under a window, in order, until it returns true.
template <class F>
__device__ inline void each_under(const pooling_shape& s, int64 place_row, int64 place_column, F f) {
  for (int64 a = 0; a < s.kernel[0]; ++a) {
    int64 row, column;
    if (!under(s, 0, place_row, a, s.rows, row)) continue;
    for (int64 b = 0; b < s.kernel[1]; ++b)
      if (under(s, 1, place_column, b, s.columns, column) && f(row, column)) return;
  }
}
/// Calls f(place_row, place_column) for the windows over an element.
template <class F>
__device__ inline void each_over(const pooling_shape& s, int64 row, int64 column, F f) {
  for (int64 a = 0; a < s.kernel[0]; ++a) {
    int64 place_row, place_column;
    if (!over(s, 0, row, a, s.place_rows, place_row)) continue;
    for (int64 b = 0; b < s.kernel[1]; ++b)
      if (over(s, 1, column, b, s.place_columns, place_column)) f(place_row, place_column);
  }
}

/// Calls f(plane, row, column, position) for each element of `planes` images.
template <class F>
__device__ inline void each_of(int64 planes, int64 rows, int64 columns, F f) {
  const int64 all = planes * rows * columns;
  for (int64 i = first_thread<int64>(); i < all; i += all_threads<int64>()) {
    const int64 line = i / columns;
    f(line / rows, line % rows, i % columns, i);
  }
}

template <class T>
__device__ inline void max_pool(const T* x, T* y, const pooling_shape& s) {
  each_of(s.planes, s.place_rows, s.place_columns, [&](int64 plane, int64 row, int64 column, int64 i) {
    const T* const image = x + plane * s.rows * s.columns;
    auto most = -infinity<typename computed_in<T>::type>();
    each_under(s, row, column, [&](int64 r, int64 c) {
      const auto v = value_of(image[r * s.columns + c]);
      if (v > most || v != v) most = v;  // a nan is larger than all else
      return false;
    });
    y[i] = stored_as<T>(most);
  });
}
/// The first of the largest elements, or the last nan, gets the gradient of a window.
template <class T>
__device__ inline void max_pool_backward(const T* x, const T*, const T* dy, T* dx, const pooling_shape& s, bool add) {
  each_of(s.planes, s.rows, s.columns, [&](int64 plane, int64 row, int64 column, int64 i) {
    const T* const image = x + plane * s.rows * s.columns;
    auto sum = add ? value_of(dx[i]) : typename computed_in<T>::type(0);
    each_over(s, row, column, [&](int64 place_row, int64 place_column) {
      const int64 place = (plane * s.place_rows + place_row) * s.place_columns + place_column;
      typename computed_in<T>::type most = 0;
      bool any = false, here = false;
      each_under(s, place_row, place_column, [&](int64 r, int64 c) {
        const auto v = value_of(image[r * s.columns + c]);
        if (!any || v > most || v != v) {
          any = true;
          most = v;
          here = r == row && c == column;
        }
        return false;
      });
      if (here) sum += value_of(dy[place]);
    });
    dx[i] = stored_as<T>(sum);
  });
}

/// How many elements of an axis an average counts.
__device__ inline int64 counted(const pooling_shape& s, int axis, int64 place, int64 size) {
  const int64 at = place * s.stride[axis] - s.padding[axis];
  int64 end = at + s.kernel[axis] < size + s.padding[axis] ? at + s.kernel[axis] : size + s.padding[axis];
  if (s.padding_counts) return end - at;
  if (end > size) end = size;
  return end - (at > 0 ? at : 0);
}
template <class C>
__device__ inline C divisor_of(const pooling_shape& s, int64 row, int64 column) {
  return C(s.fixed != 0 ? s.fixed : counted(s, 0, row, s.rows) * counted(s, 1, column, s.columns));
}

template <class T>
__device__ inline void average_pool(const T* x, T* y, const pooling_shape& s) {
  using C = typename computed_in<T>::type;
  each_of(s.planes, s.place_rows, s.place_columns, [&](int64 plane, int64 row, int64 column, int64 i) {
    const T* const image = x + plane * s.rows * s.columns;
    C sum = 0;
    each_under(s, row, column, [&](int64 r, int64 c) {
      sum += value_of(image[r * s.columns + c]);
      return false;
    });
    y[i] = stored_as<T>(sum / divisor_of<C>(s, row, column));
  });
}
template <class T>
__device__ inline void average_pool_backward(const T* dy, T* dx, const pooling_shape& s, bool add) {
  using C = typename computed_in<T>::type;
  each_of(s.planes, s.rows, s.columns, [&](int64 plane, int64 row, int64 column, int64 i) {
    C sum = add ? value_of(dx[i]) : C(0);
    each_over(s, row, column, [&](int64 r, int64 c) {
      sum += value_of(dy[(plane * s.place_rows + r) * s.place_columns + c]) / divisor_of<C>(s, r, c);
    });
    dx[i] = stored_as<T>(sum);
  });
}

}  // namespace kiln::kernels
