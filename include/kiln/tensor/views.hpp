// SPDX-License-Identifier: BSL-1.0
// Views: other sizes and strides over the same elements. Each is a change of a `layout` (sizes, strides, offset); the
// gradient of a view is added through the same change of the base's gradient, so no view needs a rule of its own.
#pragma once

#include <cstdint>
#include <utility>

#include <kiln/autograd/node.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

namespace detail {

/// How elements lie relative to a first one.
struct layout {
  dims sizes, strides;
  std::int64_t offset = 0;
};

}  // namespace detail
}  // namespace kiln
