// SPDX-License-Identifier: BSL-1.0
// What handles to tensors, vectors and dicts of tensors hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/convert.hpp>
#include <kiln/k/handles.hpp>

namespace kiln::k {

/// The symbol of the device that a tensor is on.
inline std::string device_of(const tensor& t) {
  return dynamic::name(t.device());
}

inline std::int64_t bytes_of(const tensor& t) {
  return t.defined() ? t.numel() * static_cast<std::int64_t>(size_of(t.type())) : 0;
}

/// How many hold the tensor, not counting the caller's own reference.
inline std::int64_t uses_of(const tensor& t) {
  return t.defined() ? static_cast<std::int64_t>(t.use_count()) : 1;
}

class held_tensor : public held {
 public:
  /// What lies in a list of q's is copied: handles can be written through.
  explicit held_tensor(tensor t) : held_tensor(dynamic::is_lent(t) ? t.clone().eval() : std::move(t), as_it_is{}) {}
  /// But those that were asked to be views.
  struct as_it_is {};
  held_tensor(tensor t, as_it_is) : value(std::move(t)) {}
  held_class kind() const override { return held_class::one_tensor; }
  std::unique_ptr<held> share() const override { return std::make_unique<held_tensor>(value, as_it_is{}); }
  const void* identity() const override {
    return value.defined() ? static_cast<const void*>(value.cell().get()) : this;
  }
  std::int64_t uses() const override { return uses_of(value); }
  std::string device() const override { return value.defined() ? device_of(value) : std::string(); }
  std::string dtype_name() const override {
    return value.defined() ? std::string(symbol_of(value.type())) : std::string();
  }
  object size() const override { return value.defined() ? make_longs(value.sizes()) : make_null(); }
  std::int64_t elements() const override { return value.defined() ? value.numel() : 0; }
  std::int64_t bytes() const override { return bytes_of(value); }
  std::int64_t tensor_count() const override { return 1; }

  tensor value;
};

/// Tensors in an order, which `vector` and `dict` share among their handles.
struct tensor_list {
  std::vector<std::string> names;  // of a dict: as many as values
  std::vector<tensor> values;
  std::int64_t averaged = 1;  // how many sets of parameters these are the mean of

  std::optional<std::size_t> find(std::string_view name) const {
    const auto place = std::ranges::find(names, name);
    if (place == names.end()) return {};
    return static_cast<std::size_t>(place - names.begin());
  }
  void set(std::string_view name, tensor value) {
    if (const auto place = find(name)) {
      values[*place] = std::move(value);
      return;
    }
    values.push_back(std::move(value));
    names.emplace_back(name);
  }
};

/// A vector, or with names a dict, of tensors.
class held_list : public held {
 public:
  held_list(held_class kind, std::shared_ptr<tensor_list> what) : list(std::move(what)), kind_(kind) {}
  held_class kind() const override { return kind_; }
  std::unique_ptr<held> share() const override { return std::make_unique<held_list>(kind_, list); }
  const void* identity() const override { return list.get(); }
  std::int64_t uses() const override { return list.use_count(); }
  std::string device() const override {
    return list->values.empty() || !list->values[0].defined() ? std::string() : device_of(list->values[0]);
  }
  object size() const override { return kj(tensor_count()); }
  std::int64_t elements() const override {
    std::int64_t sum = 0;
    for (const tensor& t : list->values) sum += t.defined() ? t.numel() : 0;
    return sum;
  }
  std::int64_t bytes() const override {
    std::int64_t sum = 0;
    for (const tensor& t : list->values) sum += bytes_of(t);
    return sum;
  }
  std::int64_t tensor_count() const override { return static_cast<std::int64_t>(list->values.size()); }

  std::shared_ptr<tensor_list> list;

 private:
  held_class kind_;
};

/// Computes what handles stand for but nobody has asked for yet. Calls that change elements in place do this first, so
/// that earlier results keep the values that they were called with. What cannot be computed says so when it is used.
inline void settle() {
  const auto compute = [](const tensor& t) {
    try {
      if (t.defined() && t.is_lazy()) t.eval();
    } catch (const error&) {
    }
  };
  handles().for_each([&](std::int64_t, held& what) {
    if (const auto* one = dynamic_cast<const held_tensor*>(&what)) compute(one->value);
    if (const auto* list = dynamic_cast<const held_list*>(&what))
      for (const tensor& t : list->list->values) compute(t);
  });
}

/// A new handle to a tensor.
inline object tensor_handle(tensor t) {
  return make_handle(std::make_unique<held_tensor>(std::move(t)));
}

/// The vector or dict that a value stands for; null for anything else.
inline held_list* find_list(object x, held_class kind) {
  auto* found = find_held_as<held_list>(x);
  return found && found->kind() == kind ? found : nullptr;
}

}  // namespace kiln::k
