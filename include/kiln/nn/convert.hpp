// SPDX-License-Identifier: BSL-1.0
// Modules made of modules: clone, with tensors of its own, and to<Device> and to<T>, whose type has another device or
// element type in the place of the module's template arguments.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/autograd/node.hpp>
#include <kiln/nn/walk.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/transfer.hpp>

namespace kiln::nn {

/// Given to the constructor of a class that lists its members, with their values in that order, when such a module is
/// made of another. A class without such a constructor is default-constructed and its members are assigned.
struct from_members {};

namespace detail {

// The type with every To in the place of a device, or of a floating element type.
template <class To, class Argument>
struct replaced {
  static constexpr bool fits = kiln::HasExecutor<To> ? kiln::HasExecutor<Argument>
                                                     : std::floating_point<Argument> || std::same_as<Argument, half> ||
                                                           std::same_as<Argument, bfloat16>;
  using type = std::conditional_t<fits, To, Argument>;
};
template <class To, template <class...> class M, class... A>
struct replaced<To, M<A...>> {
  using type = M<typename replaced<To, A>::type...>;
};
template <class To, template <class, auto...> class M, class A, auto... N>
  requires(sizeof...(N) > 0)
struct replaced<To, M<A, N...>> {
  using type = M<typename replaced<To, A>::type, N...>;
};
template <class To, class X, std::size_t N>
struct replaced<To, std::array<X, N>> {
  using type = std::array<typename replaced<To, X>::type, N>;
};
// An integer tensor keeps its element type.
template <class To, class T, class D>
struct replaced<To, Tensor<T, D>> {
  using type =
      Tensor<typename std::conditional_t<is_floating(dtype_of<T>), replaced<To, T>, std::type_identity<T>>::type,
             typename replaced<To, D>::type>;
};
template <class To, class M>
using replaced_t = typename replaced<To, M>::type;

/// Makes members of a module of those of another; a tensor that stood in two places does so again.
class converter {
 public:
  /// Whether tensors that need not change are shared, or copied.
  explicit converter(bool copies) : copies_(copies) {}

  template <class To, class From>
  To made(const From& x) {
    if constexpr (is_tensor<From>) {
      return tensor<To>(x);
    } else if constexpr (is_buffer<From>) {
      return To(tensor<typename To::tensor_type>(*x));
    } else if constexpr (WalksItself<From> && !ListsMembers<From>) {
      static_assert(
          std::same_as<To, From>,
          "kiln: a dynamic module holds modules whose types were forgotten, so it can't become one of another "
          "device or element type: make it there, or use nn::Sequential");
      return x.clone();
    } else if constexpr (is_setting<From>) {
      return x;
    } else if constexpr (is_list<From>) {
      return list<To>(x);
    } else if constexpr (is_tuple<From>) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return To{made<std::tuple_element_t<I, To>>(std::get<I>(x))...};
      }
      (std::make_index_sequence<std::tuple_size_v<To>>());
    } else if constexpr (is_holder<From>) {
      using Element = std::remove_cvref_t<decltype(*std::declval<To&>())>;
      if (!x) return To();
      if constexpr (std::same_as<To, std::optional<Element>>)
        return To(made<Element>(*x));
      else
        return To(new Element(made<Element>(*x)));
    } else {
      return module<To>(x, std::make_index_sequence<std::tuple_size_v<member_types<const From>>>());
    }
  }

 private:
  template <class P>
  using pointed = std::remove_const_t<std::remove_pointer_t<P>>;

  template <class To, class From, std::size_t... I>
  To module(const From& x, std::index_sequence<I...>) {
    const auto from = member_pointers(x);
    using members = member_types<To>;
    if constexpr (!ListsMembers<From>) {
      return To{made<pointed<std::tuple_element_t<I, members>>>(*std::get<I>(from))...};
    } else if constexpr (std::is_constructible_v<To, from_members, pointed<std::tuple_element_t<I, members>>...>) {
      return To(from_members(), made<pointed<std::tuple_element_t<I, members>>>(*std::get<I>(from))...);
    } else {
      static_assert(
          std::is_default_constructible_v<To>,
          "kiln: to make such a module of another, a class that lists its members needs a default constructor, "
          "or one of (nn::from_members, the members' values in that order)");
      To made_one;
      const auto to = member_pointers(made_one);
      ((*std::get<I>(to) = made<pointed<std::tuple_element_t<I, members>>>(*std::get<I>(from))), ...);
      return made_one;
    }
  }

  template <class To, class From>
  To list(const From& x) {
    using Element = typename To::value_type;
    if constexpr (requires(To to) { to.push_back(std::declval<Element>()); }) {
      To all;
      all.reserve(x.size());
      for (const auto& each : x) all.push_back(made<Element>(each));
      return all;
    } else {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return To{made<Element>(x[I])...};
      }
      (std::make_index_sequence<std::tuple_size_v<To>>());
    }
  }

  template <class To, class T, class D>
  To tensor(const Tensor<T, D>& x) {
    if (!x.defined()) return To();
    for (const auto& [from, to] : done_)
      if (from == x.state()) return To(to);
    const To result = changed<To>(x);
    done_.emplace_back(x.state(), result.state());
    return result;
  }
  template <class To, class T, class D>
  To changed(const Tensor<T, D>& x) {
    using U = typename To::value_type;
    if constexpr (std::same_as<To, Tensor<T, D>>)
      if (!copies_) return x;
    To result = [&] {
      const no_grad quiet;
      if constexpr (!std::same_as<T, U>)
        return kiln::detach(cast<U>(x)).template to<typename To::device_type>();
      else if constexpr (!std::same_as<D, typename To::device_type>)
        return x.template to<typename To::device_type>();
      else
        return kiln::detach(apply<clone_op>(x));
    }();
    if constexpr (is_floating(dtype_of<U>))
      if (x.needs_grad() || x.state()->frozen) result.requires_grad(x.needs_grad());
    return result;
  }

  bool copies_;
  std::vector<std::pair<ref<tensor_state>, ref<tensor_state>>> done_;
};

template <class To, class M>
struct has_argument {
  static constexpr bool checked = true;
  static_assert(!std::same_as<replaced_t<To, M>, M> || std::same_as<tensor_of<M>, replaced_t<To, tensor_of<M>>>,
                "kiln: nn::to makes a module whose type has another device or element type in the place of a template "
                "argument, and this module's has none: write template <class D = Cpu> struct Mlp { ... }");
};

}  // namespace detail

/// A module with the same settings and copies of all tensors, which require grad, or are frozen, where the originals
/// are. A copy made by = has the same tensors.
template <class M>
M clone(const M& module) {
  return detail::converter(true).made<M>(module);
}
/// The module on a device: `nn::to<Cuda>(net)` of an Mlp<Cpu> is an Mlp<Cuda>; or with another floating element type:
/// `nn::to<double>(net)`. What need not change is shared with the original. Throws memory_error, device_error.
template <class To, class M>
auto to(const M& module) {
  static_assert(detail::has_argument<To, M>::checked);
  return detail::converter(false).made<detail::replaced_t<To, M>>(module);
}

}  // namespace kiln::nn
