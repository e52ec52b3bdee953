// SPDX-License-Identifier: BSL-1.0
// Modules whose number and types are known at run time: each takes a tensor and gives one, and what it is, is
// forgotten.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/autograd/node.hpp>
#include <kiln/nn/convert.hpp>

namespace kiln::nn {

/// Modules one after the other, added at run time: torch.nn.Sequential where the static one, which keeps what is lazy
/// lazy, can't be used. Copies share the modules; nn::clone makes others. Since types are forgotten, nn::to of another
/// device or element type is not possible.
template <Element T = float, class D = Cpu>
class DynamicSequential {
 public:
  using tensor_type = Tensor<T, D>;

  /// Adds a module that takes a tensor, by the name of its place or one of its own.
  template <class M>
    requires requires(M& m, const tensor_type& x) {
      tensor_type(m(x));
    }
  DynamicSequential& add(M module, std::string name = {}) {
    if (name.empty()) name = std::to_string(parts_.size());
    parts_.push_back({std::move(name), std::make_shared<held_of<M>>(std::move(module))});
    return *this;
  }
  /// How many there are.
  std::size_t size() const { return parts_.size(); }

  /// The result of the last module, each given that of the one before; the input if there are none.
  tensor_type operator()(tensor_type x) const {
    for (const part& p : parts_) x = p.module->run(x);
    return x;
  }

  /// For walks over modules.
  void walk(std::string_view name, detail::visitor& v) const {
    v.enter(name, {this, "Sequential", false, nullptr});
    for (const part& p : parts_) p.module->walk(p.name, v);
    v.leave();
  }
  /// What nn::clone makes.
  DynamicSequential clone() const {
    DynamicSequential copy;
    for (const part& p : parts_) copy.parts_.push_back({p.name, p.module->clone()});
    return copy;
  }

 private:
  struct held {
    virtual ~held() = default;
    virtual tensor_type run(const tensor_type& x) = 0;
    virtual void walk(std::string_view name, detail::visitor& v) const = 0;
    virtual std::shared_ptr<held> clone() const = 0;
  };
  template <class M>
  struct held_of final : held {
    M module;
    explicit held_of(M m) : module(std::move(m)) {}
    tensor_type run(const tensor_type& x) override { return module(x); }
    void walk(std::string_view name, detail::visitor& v) const override { detail::walk(name, module, v); }
    std::shared_ptr<held> clone() const override { return std::make_shared<held_of>(nn::clone(module)); }
  };
  struct part {
    std::string name;
    std::shared_ptr<held> module;
  };
  std::vector<part> parts_;
};

}  // namespace kiln::nn
