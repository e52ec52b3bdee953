// SPDX-License-Identifier: BSL-1.0
// A tensor without elements: what expressions are made of before anything is computed. Copies are the same tensor.
#pragma once

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>

#include <memory>

struct no_such_device {};

template <class T, class Device = no_such_device>
class handle {
 public:
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = Device;

  explicit handle(const kiln::dims& sizes) : sizes_(std::make_shared<kiln::dims>(sizes)) {}
  const kiln::dims& sizes() const { return *sizes_; }
  const std::shared_ptr<kiln::dims>& state() const { return sizes_; }

 private:
  std::shared_ptr<kiln::dims> sizes_;
};
