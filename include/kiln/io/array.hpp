// SPDX-License-Identifier: BSL-1.0
// A tensor of the host whose element type is known at run time: what files hold. It is made of any tensor, and asked
// for one by `as<T>()`. A tensor_map is several of them, by name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln::io {

namespace detail {

/// Copies elements of `width` bytes between layouts; strides are in elements.
inline void copy_strided(char* to, const dims& to_strides, const char* from, const dims& from_strides,
                         const dims& sizes, std::size_t width) {
  if (holds_nothing(sizes)) return;
  const int last = sizes.rank() - 1;
  dims at = dims::filled(sizes.rank(), 0);
  const auto step = [width](std::int64_t stride) { return stride * static_cast<std::int64_t>(width); };
  for (;;) {
    const std::int64_t n = last < 0 ? 1 : sizes[last];
    const std::int64_t out = last < 0 ? 0 : step(to_strides[last]), in = last < 0 ? 0 : step(from_strides[last]);
    if (out == static_cast<std::int64_t>(width) && in == out)
      std::memcpy(to, from, static_cast<std::size_t>(n) * width);
    else
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * out, from + i * in, width);
    int axis = last - 1;
    for (; axis >= 0; --axis) {
      to += step(to_strides[axis]);
      from += step(from_strides[axis]);
      if (++at[axis] < sizes[axis]) break;
      to -= step(to_strides[axis]) * sizes[axis];
      from -= step(from_strides[axis]) * sizes[axis];
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}

/// Bytes of all elements.
inline std::size_t bytes_in(const tensor_state& t) {
  return static_cast<std::size_t>(count(t.sizes)) * size_of(t.type);
}
/// Turns the bytes of each element around.
inline void swap_bytes(char* bytes, std::size_t n, std::size_t width) {
  if (width > 1)
    for (std::size_t at = 0; at < n; at += width) std::reverse(bytes + at, bytes + at + width);
}
/// Whether the address suits elements of this many bytes.
inline bool is_aligned(const void* data, std::size_t width) {
  return reinterpret_cast<std::uintptr_t>(data) % width == 0;
}

}  // namespace detail

/// A tensor of any element type, on the host.
class array {
 public:
  /// Nothing.
  array() = default;
  /// A tensor's elements, shared if they are the host's, else copied from the device.
  template <Element T, class Device>
  array(const Tensor<T, Device>& x) {
    if constexpr (std::is_same_v<Device, Cpu>)
      state_ = x.detach().state();
    else
      state_ = x.detach().template to<Cpu>().state();
  }
  explicit array(ref<tensor_state> state) : state_(std::move(state)) {}

  bool defined() const { return static_cast<bool>(state_); }
  kiln::dtype dtype() const { return state()->type; }
  const dims& sizes() const { return state()->sizes; }
  std::int64_t numel() const { return count(sizes()); }
  /// The tensor itself, its elements shared. Throws dtype_error for another element type.
  template <Element T>
  Tensor<T> as() const {
    if (dtype() != dtype_of<T>)
      throw dtype_error(message("as: an array of ", name(dtype()), " of shape ", sizes(), " is no tensor of ",
                                name(dtype_of<T>), ": ask for the type that it has and cast<...>() it"));
    return Tensor<T>(state_);
  }
  /// Row-major without gaps: this, or a copy.
  array contiguous() const {
    if (is_contiguous(*state())) return *this;
    ref<tensor_state> copy = new_tensor(dtype(), sizes());
    detail::copy_strided(static_cast<char*>(copy->data), copy->strides, static_cast<const char*>(state_->data),
                         state_->strides, sizes(), size_of(dtype()));
    return array(std::move(copy));
  }
  /// The address of the first element.
  const char* data() const { return static_cast<const char*>(state()->data); }
  std::size_t bytes() const { return detail::bytes_in(*state()); }
  /// Throws value_error if there is none.
  const ref<tensor_state>& state() const {
    if (!state_) throw value_error("this array has no value yet: assign one before using it");
    return state_;
  }

 private:
  ref<tensor_state> state_;
};

/// Arrays by name, in the order of the names.
using tensor_map = std::map<std::string, array>;

namespace detail {

/// Elements in memory that somebody else keeps, `keep` among others: no copy, unless the address does not suit them.
inline array array_in(char* data, dtype type, const dims& sizes, std::shared_ptr<void> keep) {
  if (!is_aligned(data, size_of(type)) || holds_nothing(sizes)) {
    ref<tensor_state> copy = new_tensor(type, sizes);
    if (const std::size_t n = bytes_in(*copy)) std::memcpy(copy->data, data, n);
    return array(std::move(copy));
  }
  const std::int64_t bytes = count(sizes) * static_cast<std::int64_t>(size_of(type));
  const Tensor<std::uint8_t> block = from_blob(reinterpret_cast<std::uint8_t*>(data), {bytes}, std::move(keep));
  ref<tensor_state> state = new_state(type, sizes, contiguous_strides(sizes));
  state->data = data;
  state->memory = block.state()->memory;
  return array(std::move(state));
}

}  // namespace detail

}  // namespace kiln::io
