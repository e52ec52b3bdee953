// SPDX-License-Identifier: BSL-1.0
// Members of a module that are no parameters: buffers, which move and are saved with it but are not learned, and
// whether it is in training.
#pragma once

#include <utility>

#include <kiln/tensor/tensor.hpp>

namespace kiln::nn {

/// A tensor of a module that is not learned, as running statistics are: it moves with the module, is cloned with it and
/// is among its buffers. `*b` and `b->` are the tensor.
template <class X>
class buffer;
template <Element T, class Device>
class buffer<Tensor<T, Device>> {
 public:
  using tensor_type = Tensor<T, Device>;

  /// A buffer without a tensor.
  buffer() = default;
  buffer(tensor_type value) : value_(std::move(value)) {}
  buffer& operator=(tensor_type value) {
    value_ = std::move(value);
    return *this;
  }
  operator const tensor_type&() const { return value_; }
  tensor_type& operator*() { return value_; }
  const tensor_type& operator*() const { return value_; }
  tensor_type* operator->() { return &value_; }
  const tensor_type* operator->() const { return &value_; }

 private:
  tensor_type value_;
};

/// Whether a module is in training, which `train` and `eval` set: true at first. A member of this type is told.
struct training_flag {
  bool on = true;
  explicit operator bool() const { return on; }
};

}  // namespace kiln::nn
