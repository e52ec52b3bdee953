// SPDX-License-Identifier: BSL-1.0
// The definitions of module.hpp.
#pragma once

#include <string>
#include <string_view>

#include <kiln/core/error.hpp>
#include <kiln/nn/module.hpp>

namespace kiln::nn::detail {

KILN_INLINE void path_visitor::enter(std::string_view name, const module_slot&) {
  lengths_.push_back(path_.size());
  if (!name.empty()) (path_ += name) += '.';
}
KILN_INLINE void path_visitor::leave() {
  path_.resize(lengths_.back());
  lengths_.pop_back();
}
KILN_INLINE std::string path_visitor::path_of(std::string_view name) const {
  return path_ + std::string(name);
}
KILN_INLINE std::string path_visitor::here() const {
  return path_.empty() ? path_ : path_.substr(0, path_.size() - 1);
}

KILN_INLINE void tensor_collector::parameter(std::string_view name, const tensor_slot& slot) {
  if (!buffers_) add(name, slot);
}
KILN_INLINE void tensor_collector::buffer(std::string_view name, const tensor_slot& slot) {
  if (buffers_) add(name, slot);
}
KILN_INLINE void tensor_collector::add(std::string_view name, const tensor_slot& slot) {
  if (!slot.now) return;
  if (slot.type != type_ || slot.device != device_) {
    if (buffers_) return;
    throw dtype_error(
        message("parameters: ", path_of(name), " is a tensor of ", kiln::name(slot.type),
                slot.type == type_ ? " on another device" : "", ", the first parameter one of ", kiln::name(type_),
                ": all of a module's must be of one type: nn::to<T>(module) makes them so, or ask the parts "
                "of the module one by one"));
  }
  for (const entry& other : found)
    if (other.slot.now.get() == slot.now.get()) return;
  found.push_back({path_of(name), slot});
}

}  // namespace kiln::nn::detail
