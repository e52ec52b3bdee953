// SPDX-License-Identifier: BSL-1.0
// Modules of modules: one after the other, beside each other, around each other, and any function as a module.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/nn/convert.hpp>
#include <kiln/nn/watch.hpp>

namespace kiln::nn {

/// A module with a name within a Sequential or a Parallel: `nn::Sequential{nn::child("fc1", nn::Linear{784, 256}),
/// ...}`.
template <class M>
struct child {
  std::string name;
  M module;
  child(std::string its_name, M its_module) : name(std::move(its_name)), module(std::move(its_module)) {}
};

namespace detail {
template <class M>
struct child_module {
  using type = M;
  static std::string name(const M&, std::size_t at) { return std::to_string(at); }
  static M& module(M& m) { return m; }
};
template <class M>
struct child_module<child<M>> {
  using type = M;
  static std::string name(const child<M>& c, std::size_t) { return c.name; }
  static M& module(child<M>& c) { return c.module; }
};

/// Modules with names.
template <class... M>
class children {
 public:
  template <class... C>
  explicit children(std::in_place_t, C&&... each) : modules_(child_module<C>::module(each)...) {
    std::size_t at = 0;
    ((names_[at] = child_module<C>::name(each, at), ++at), ...);
  }
  /// The module at a place.
  template <std::size_t I>
  auto& get() {
    return std::get<I>(modules_);
  }
  template <std::size_t I>
  const auto& get() const {
    return std::get<I>(modules_);
  }
  static auto members(auto& self) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{named(self.names_[I], std::get<I>(self.modules_))..., named("names", self.names_)};
    }
    (std::index_sequence_for<M...>());
  }

 protected:
  children(from_members, M... each, std::array<std::string, sizeof...(M)> names)
      : modules_(std::move(each)...), names_(std::move(names)) {}
  std::tuple<M...> modules_;
  std::array<std::string, sizeof...(M)> names_;
};
}  // namespace detail

/// Modules one after the other: torch.nn.Sequential. The types stay known, so what is lazy stays so from one to the
/// next.
template <class... M>
class Sequential : public detail::children<M...> {
 public:
  template <class... C>
    requires(sizeof...(C) == sizeof...(M) &&
             (std::same_as<typename detail::child_module<std::remove_cvref_t<C>>::type, M> && ...))
  Sequential(C... each) : detail::children<M...>(std::in_place, std::move(each)...) {}
  Sequential(from_members f, M... each, std::array<std::string, sizeof...(M)> names)
      : detail::children<M...>(f, std::move(each)..., std::move(names)) {}

  auto operator()(const auto& x) const { return run<0>(x); }
  auto operator()(const auto& x) { return const_cast<const Sequential&>(*this).template run<0>(x); }

 private:
  template <std::size_t I>
  auto run(const auto& x) const {
    if constexpr (I + 1 < sizeof...(M))
      return run<I + 1>(std::get<I>(this->modules_)(x));
    else
      return std::get<I>(this->modules_)(x);
  }
};
template <class... C>
Sequential(C...) -> Sequential<typename detail::child_module<C>::type...>;

/// The same input through several modules; their results as a tuple.
template <class... M>
class Parallel : public detail::children<M...> {
 public:
  template <class... C>
    requires(sizeof...(C) == sizeof...(M) &&
             (std::same_as<typename detail::child_module<std::remove_cvref_t<C>>::type, M> && ...))
  Parallel(C... each) : detail::children<M...>(std::in_place, std::move(each)...) {}
  Parallel(from_members f, M... each, std::array<std::string, sizeof...(M)> names)
      : detail::children<M...>(f, std::move(each)..., std::move(names)) {}

  auto operator()(const auto& x) const {
    return std::apply([&](const auto&... each) { return std::tuple{each(x)...}; }, this->modules_);
  }
};
template <class... C>
Parallel(C...) -> Parallel<typename detail::child_module<C>::type...>;

/// x + module(x): a residual connection (He, Zhang, Ren, Sun 2016).
template <class M>
struct Residual {
  M module;
  auto operator()(const auto& x) const { return x + module(x); }
};
template <class M>
Residual(M) -> Residual<M>;

/// The input itself: torch.nn.Identity.
struct Identity {
  auto operator()(const auto& x) const { return x; }
};

/// Any function of tensors as a module without parameters: `nn::Lambda{[](const auto& x) { return square(x); }}`.
template <class F>
class Lambda {
 public:
  Lambda(F f) : f_(std::move(f)) {}
  auto operator()(const auto&... x) const { return f_(x...); }
  static auto members(auto& self) { return std::tuple{named("f", self.f_)}; }
  Lambda(from_members, F f) : f_(std::move(f)) {}

 private:
  F f_;
};

}  // namespace kiln::nn
