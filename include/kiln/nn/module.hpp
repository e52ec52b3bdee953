// SPDX-License-Identifier: BSL-1.0
// What can be asked of a module. A module is any aggregate, or class with a static `members(self)`, that holds tensors,
// or modules, or arrays, vectors, optionals and tuples of them: no base class, no registration. A member Tensor is a
// parameter; nn::buffer<Tensor<...>> is not. Tensors are handles, so what these functions return is the module's own,
// and a copy of a module has the same parameters (nn::clone makes others).
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/nn/walk.hpp>

namespace kiln::nn {

namespace detail {

/// Keeps the path of where a walk is.
class path_visitor : public visitor {
 public:
  void enter(std::string_view name, const module_slot&) override;
  void leave() override;

 protected:
  std::string path_of(std::string_view name) const;
  /// That of the module that was entered last.
  std::string here() const;
  std::size_t depth() const { return lengths_.size(); }

 private:
  std::string path_;
  std::vector<std::size_t> lengths_;
};

/// Collects tensors of one type, each once.
class tensor_collector final : public path_visitor {
 public:
  struct entry {
    std::string name;
    tensor_slot slot;
  };
  /// Parameters or buffers, of an element type and a device (its key_of_device).
  tensor_collector(bool buffers, dtype type, const void* device) : buffers_(buffers), type_(type), device_(device) {}
  void parameter(std::string_view name, const tensor_slot& slot) override;
  void buffer(std::string_view name, const tensor_slot& slot) override;
  std::vector<entry> found;

 private:
  void add(std::string_view name, const tensor_slot& slot);
  bool buffers_;
  dtype type_;
  const void* device_;
};

/// The tensors of a module that are of type X, its parameters or its buffers.
template <class X, class M>
tensor_collector collected(const M& module, bool buffers) {
  tensor_collector all(buffers, dtype_of<typename X::value_type>, &key_of_device<typename X::device_type>);
  walk("", module, all);
  return all;
}
template <class X>
std::vector<X> tensors_of(const tensor_collector& all) {
  std::vector<X> tensors;
  tensors.reserve(all.found.size());
  for (const auto& each : all.found) tensors.push_back(*static_cast<const X*>(each.slot.tensor));
  return tensors;
}
template <class X>
std::vector<std::pair<std::string, X>> named_tensors_of(const tensor_collector& all) {
  std::vector<std::pair<std::string, X>> tensors;
  tensors.reserve(all.found.size());
  for (const auto& each : all.found) tensors.emplace_back(each.name, *static_cast<const X*>(each.slot.tensor));
  return tensors;
}
template <class X, class M>
using tensor_or = std::conditional_t<std::is_void_v<X>, tensor_of<M>, X>;

}  // namespace detail

/// The parameters of a module with their names, `fc1.weight`, in the order of its members; a tensor that stands in two
/// places comes once, one without a value not at all. Throws dtype_error if they are not of one element type and
/// device.
template <class M>
auto named_parameters(const M& module) {
  using X = detail::tensor_of<M>;
  return detail::named_tensors_of<X>(detail::collected<X>(module, false));
}
/// The parameters of a module, handles to the same tensors: what an optimizer takes. As named_parameters.
template <class M>
auto parameters(const M& module) {
  std::vector<detail::tensor_of<M>> found =
      detail::tensors_of<detail::tensor_of<M>>(detail::collected<detail::tensor_of<M>>(module, false));
  return found;  // (by this name, an error about a member that can't be visited is two lines shorter)
}
/// The buffers of a module that have X's element type and device, by default those of its parameters, with their names.
template <class X = void, class M>
auto named_buffers(const M& module) {
  using B = detail::tensor_or<X, M>;
  return detail::named_tensors_of<B>(detail::collected<B>(module, true));
}
/// The same without names.
template <class X = void, class M>
auto buffers(const M& module) {
  using B = detail::tensor_or<X, M>;
  return detail::tensors_of<B>(detail::collected<B>(module, true));
}
/// The gradients of the parameters that have one.
template <class M>
auto gradients(const M& module) {
  std::vector<detail::tensor_of<M>> tensors;
  for (const auto& p : parameters(module))
    if (p.has_grad()) tensors.push_back(p.grad());
  return tensors;
}

/// A module within another: its path and the name of its class.
struct module_entry {
  std::string name;    ///< "" for the module itself
  std::string type;    ///< Linear
  const void* object;  ///< where it lies
};
/// The module itself and all modules within it, in the order of members; lists are none.
template <class M>
std::vector<module_entry> modules(const M& module) {
  struct collector final : detail::path_visitor {
    std::vector<module_entry> found;
    void enter(std::string_view name, const detail::module_slot& slot) override {
      path_visitor::enter(name, slot);
      if (!slot.is_list) found.push_back({here(), std::string(slot.type), slot.object});
    }
  } all;
  detail::walk("", module, all);
  return std::move(all.found);
}

/// Puts all of a module in training, or not: dropout drops, batch norm uses the batch.
template <class M>
M& train(M& module, bool on = true) {
  struct switcher final : detail::visitor {
    bool on;
    explicit switcher(bool to) : on(to) {}
    // The walk's flags are const for those who only look; this module is not.
    void training(const training_flag& flag) override { const_cast<training_flag&>(flag).on = on; }
  } all(on);
  detail::walk("", module, all);
  return module;
}
/// The same as train(module, false).
template <class M>
M& eval(M& module) {
  return train(module, false);
}

/// Asks for no gradients of the module's parameters any more, or asks for them again with `false`.
template <class M>
M& freeze(M& module, bool on = true) {
  for (auto& p : parameters(module)) p.requires_grad(!on);
  return module;
}
/// Forgets the gradients of all parameters.
template <class M>
void zero_grad(const M& module) {
  for (auto& p : parameters(module)) p.zero_grad();
}
/// How many numbers are learned.
template <class M>
std::int64_t parameter_count(const M& module) {
  std::int64_t n = 0;
  for (const auto& p : parameters(module)) n += p.numel();
  return n;
}

}  // namespace kiln::nn

#ifdef KILN_COMPILED  // in src/models.cpp
extern template std::vector<kiln::Tensor<float>> kiln::nn::detail::tensors_of(const tensor_collector&);
#else
#include <kiln/nn/module_impl.hpp>
#endif
