// SPDX-License-Identifier: BSL-1.0
// Tensors as a set: sample i is row i of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/data/dataset.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::data {

namespace detail {

/// Rows of a tensor along its first axis. Of the host's by this thread alone, which may be one of several.
template <Element T, class Device>
Tensor<T, Device> rows_of(const Tensor<T, Device>& from, std::span<const std::int64_t> at) {
  const std::int64_t n = from.size(0);
  for (const std::int64_t i : at) check_sample("TensorDataset", i, n);
  if constexpr (!std::is_same_v<Device, Cpu>) {
    const Tensor<std::int64_t> which = tensor(at);
    return index_select(from, 0, which.to(from.device()));
  } else {
    dims sizes = from.sizes();
    sizes[0] = static_cast<std::int64_t>(at.size());
    auto result = empty<T>(sizes);
    if (result.numel() == 0) return result;
    const std::int64_t row = result.numel() / sizes[0];
    for (std::size_t i = 0; i < at.size(); ++i)
      std::memcpy(static_cast<void*>(result.data() + static_cast<std::int64_t>(i) * row), from.data() + at[i] * row,
                  static_cast<std::size_t>(row) * sizeof(T));
    return result;
  }
}

}  // namespace detail

/// Sample i is the tuple of `tensor[i]` of each tensor, which share their first axis's size. They are kept, not copied,
/// unless they are not contiguous.
template <class... Tensors>
class TensorDataset {
  static_assert(sizeof...(Tensors) > 0, "kiln: a TensorDataset is made of one tensor or more: TensorDataset(x, y)");

 public:
  /// Throws shape_error unless all have a first axis, and of one size.
  explicit TensorDataset(const Tensors&... tensors) : tensors_(tensors.detach().contiguous()...) {
    const auto first = [&](const auto& t) {
      if (t.dim() == 0) throw shape_error("TensorDataset: a 0-d tensor has no samples: reshape({1}) it for one sample");
      if (size_ >= 0 && t.size(0) != size_)
        throw shape_error(message("TensorDataset: tensors of ", size_, " and of ", t.size(0),
                                  " samples: their first axes must have one size"));
      size_ = t.size(0);
    };
    (first(tensors), ...);
  }
  std::int64_t size() const { return size_; }
  /// Views of the tensors' elements. Throws index_error.
  std::tuple<Tensors...> get(std::int64_t i) const {
    detail::check_sample("TensorDataset", i, size_);
    return std::apply([i](const auto&... t) { return std::tuple<Tensors...>(t.select(0, i)...); }, tensors_);
  }
  /// Copies of these rows. Throws index_error.
  std::tuple<Tensors...> get_batch(std::span<const std::int64_t> at) const {
    return std::apply([at](const auto&... t) { return std::tuple<Tensors...>(detail::rows_of(t, at)...); }, tensors_);
  }
  /// The tensors themselves.
  const std::tuple<Tensors...>& tensors() const { return tensors_; }

 private:
  std::tuple<Tensors...> tensors_;
  std::int64_t size_ = -1;
};

}  // namespace kiln::data
