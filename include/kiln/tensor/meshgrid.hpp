// SPDX-License-Identifier: BSL-1.0
// meshgrid: the coordinates of a grid, given those along its axes.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include <kiln/tensor/views.hpp>

namespace kiln {

/// Along which axis the first coordinate of a grid runs: the first, as an index of matrices does, or the second, as
/// that of images and plots does.
enum class grid_indexing : std::uint8_t { ij, xy };

namespace detail {

/// Coordinates along one axis of a grid, as a view of all of it.
template <Expression X>
auto grid_coordinates(const X& x, int place, const dims& sizes, grid_indexing indexing) {
  const int axis = indexing == grid_indexing::xy && place < 2 ? 1 - place : place;
  dims lengths = dims::filled(sizes.rank(), 1);
  lengths[axis] = sizes[place];
  dims grid = sizes;
  if (indexing == grid_indexing::xy) std::swap(grid[0], grid[1]);
  return expand(reshape(x, lengths), grid);
}

inline std::int64_t grid_length(const dims& sizes) {
  if (sizes.rank() > 1)
    throw shape_error(message("meshgrid: shape ", sizes, " is no row of coordinates: give 1-D tensors"));
  return sizes.rank() == 0 ? 1 : sizes[0];
}

}  // namespace detail

/// The coordinates of each point of a grid, by those along its axes, as a tuple: `auto [rows, columns] = meshgrid(x,
/// y)`, where rows(i, j) is x(i) and columns(i, j) is y(j): torch.meshgrid. With grid_indexing::xy, numpy.meshgrid's
/// default, they are x(j) and y(i). Views that repeat elements: clone() them before writing. Throws shape_error for
/// more than one axis.
template <Expression X, Expression Y>
auto meshgrid(const X& x, const Y& y, grid_indexing indexing = grid_indexing::ij) {
  const dims sizes{detail::grid_length(shape_of(x)), detail::grid_length(shape_of(y))};
  return std::tuple(detail::grid_coordinates(x, 0, sizes, indexing), detail::grid_coordinates(y, 1, sizes, indexing));
}
/// The same of three axes; with grid_indexing::xy the first two change places.
template <Expression X, Expression Y, Expression Z>
auto meshgrid(const X& x, const Y& y, const Z& z, grid_indexing indexing = grid_indexing::ij) {
  const dims sizes{detail::grid_length(shape_of(x)), detail::grid_length(shape_of(y)),
                   detail::grid_length(shape_of(z))};
  return std::tuple(detail::grid_coordinates(x, 0, sizes, indexing), detail::grid_coordinates(y, 1, sizes, indexing),
                    detail::grid_coordinates(z, 2, sizes, indexing));
}

}  // namespace kiln
