// SPDX-License-Identifier: BSL-1.0
// A few objects on the stack, whose number is known at run time.
#pragma once

#include <cstddef>
#include <memory>

#include <kiln/core/version.hpp>

namespace kiln::detail {

/// `count` objects, `Most` at most, that are made in place and end with this: only so much of the room is touched.
template <class T, std::size_t Most>
class few {
 public:
  explicit few(int count) : count_(count) { std::uninitialized_default_construct_n(data(), count_); }
  few(const few&) = delete;
  few& operator=(const few&) = delete;
  ~few() { std::destroy_n(data(), count_); }
  T* data() { return reinterpret_cast<T*>(reserved_); }
  T& operator[](int i) { return data()[i]; }

 private:
  alignas(T) std::byte reserved_[Most * sizeof(T)];
  int count_;
};

}  // namespace kiln::detail
