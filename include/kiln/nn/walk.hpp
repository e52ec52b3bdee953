// SPDX-License-Identifier: BSL-1.0
// A walk over a module and all that it holds: tensors, buffers, modules, and arrays, vectors, optionals, tuples and
// pointers of them. What is done on the way is a `visitor`'s to say, so each type of module is walked over by one
// function.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <kiln/nn/buffer.hpp>
#include <kiln/nn/members.hpp>

namespace kiln::nn {

namespace detail {

template <class D>
inline constexpr char key_of_device = 0;

/// A tensor of a module, whatever its type.
struct tensor_slot {
  const void* tensor;     ///< a Tensor<T, Device>
  dtype type;             ///< dtype_of<T>
  const void* device;     ///< key_of_device<Device>
  ref<tensor_state> now;  ///< null for a handle without a tensor
};
/// What is done on a walk. Names are those of members; of elements, their numbers.
class visitor {
 public:
  virtual ~visitor() = default;
  virtual void enter(std::string_view /*name*/, const module_slot&) {}
  virtual void leave() {}
  virtual void parameter(std::string_view /*name*/, const tensor_slot&) {}
  virtual void buffer(std::string_view /*name*/, const tensor_slot&) {}
  virtual void training(const training_flag&) {}
};

template <class M>
inline constexpr bool is_tensor = false;
template <Element T, class D>
inline constexpr bool is_tensor<Tensor<T, D>> = true;
template <class M>
inline constexpr bool is_buffer = false;
template <class X>
inline constexpr bool is_buffer<buffer<X>> = true;

/// A vector or array.
template <class M>
inline constexpr bool is_list = false;
template <class X, std::size_t N>
inline constexpr bool is_list<std::array<X, N>> = true;
template <class X, class A>
inline constexpr bool is_list<std::vector<X, A>> = true;
/// What holds one or none.
template <class M>
inline constexpr bool is_holder = false;
template <class X>
inline constexpr bool is_holder<std::optional<X>> = true;
template <class X, class D>
inline constexpr bool is_holder<std::unique_ptr<X, D>> = true;
template <class X>
inline constexpr bool is_holder<std::shared_ptr<X>> = true;
template <class M>
inline constexpr bool is_tuple = false;
template <class... X>
inline constexpr bool is_tuple<std::tuple<X...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// What says itself how it is walked over, since its type does not show what it holds.
template <class M>
concept WalksItself = requires(const M& m, std::string_view name, visitor& v) {
  m.walk(name, v);
};

template <class M>
inline constexpr bool is_setting = plain<M> || std::same_as<M, training_flag>;

// A class with a member operator() of any kind: beside another one the name is ambiguous.
struct callable_base {
  void operator()();
};
template <class M>
struct two_calls : M, callable_base {};
template <class M>
constexpr bool has_call() {
  if constexpr (std::is_final_v<M>)
    return true;
  else
    return !requires {
      &two_calls<M>::operator();
    };
}

template <class M>
constexpr bool holds_tensors();
template <class Tuple, std::size_t... I>
constexpr bool any_holds_tensors(std::index_sequence<I...>) {
  return (holds_tensors<std::remove_const_t<std::remove_pointer_t<std::tuple_element_t<I, Tuple>>>>() || ...);
}
template <class M>
using member_types = decltype(member_pointers(std::declval<M&>()));
/// Whether there may be tensors within: what is no module and holds none is a setting.
template <class M>
constexpr bool holds_tensors() {
  if constexpr (is_tensor<M> || is_buffer<M> || WalksItself<M>)
    return true;
  else if constexpr (is_setting<M>)
    return false;
  else if constexpr (is_list<M>)
    return holds_tensors<typename M::value_type>();
  else if constexpr (is_holder<M>)
    return holds_tensors<std::remove_cvref_t<decltype(*std::declval<M&>())>>();
  else if constexpr (is_tuple<M>)
    return any_holds_tensors<M>(std::make_index_sequence<std::tuple_size_v<M>>());
  else
    return any_holds_tensors<member_types<M>>(std::make_index_sequence<std::tuple_size_v<member_types<M>>>());
}
template <class M>
constexpr bool is_module() {
  if constexpr (is_setting<M> || is_tensor<M> || is_buffer<M> || is_list<M> || is_holder<M> || is_tuple<M>)
    return false;
  else
    return WalksItself<M> || has_call<M>() || holds_tensors<M>();
}
/// Whether a walk goes there: vectors of modules, not of numbers.
template <class M>
constexpr bool is_of_modules() {
  if constexpr (is_list<M>)
    return is_of_modules<typename M::value_type>();
  else if constexpr (is_holder<M>)
    return is_of_modules<std::remove_cvref_t<decltype(*std::declval<M&>())>>();
  else if constexpr (is_tuple<M>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_of_modules<std::tuple_element_t<I, M>>() || ...);
    }
  (std::make_index_sequence<std::tuple_size_v<M>>());
  else return is_tensor<M> || is_buffer<M> || is_module<M>();
}

template <Element T, class D>
tensor_slot slot_of(const Tensor<T, D>& t) {
  return {&t, dtype_of<T>, &key_of_device<D>, t.defined() ? t.state() : ref<tensor_state>()};
}

template <class M>
void walk(std::string_view name, const M& m, visitor& v) {
  if constexpr (is_tensor<M>) {
    static_assert(is_floating(dtype_of<typename M::value_type>),
                  "kiln: a member Tensor is a parameter, which is learned, so its elements are floating numbers: "
                  "write nn::buffer<Tensor<...>> for one that is not");
    v.parameter(name, slot_of(m));
  } else if constexpr (is_buffer<M>) {
    v.buffer(name, slot_of(*m));
  } else if constexpr (std::same_as<M, training_flag>) {
    v.training(m);
  } else if constexpr (WalksItself<M>) {
    m.walk(name, v);
  } else if constexpr (is_holder<M>) {
    if (m) walk(name, std::as_const(*m), v);
  } else if constexpr (is_list<M> || is_tuple<M>) {
    if constexpr (is_of_modules<M>()) {
      v.enter(name, {&m, is_list<M> ? "ModuleList" : "Tuple", true, nullptr});
      if constexpr (is_list<M>)
        for (std::size_t i = 0; i < m.size(); ++i) walk(std::to_string(i), m[i], v);
      else
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          (walk(std::to_string(I), std::get<I>(m), v), ...);
        }
      (std::make_index_sequence<std::tuple_size_v<M>>());
      v.leave();
    }
  } else if constexpr (!is_setting<M>) {
    if constexpr (is_module<M>()) v.enter(name, slot_of_module(m));
    each_member(m, [&](std::string_view its_name, const auto& each) { walk(its_name, each, v); });
    if constexpr (is_module<M>()) v.leave();
  }
}

/// The type of the tensors of a module: that of the first. void if it has none.
template <class M>
struct first_tensor {
  static constexpr auto find() {
    if constexpr (is_tensor<M>) {
      return std::type_identity<M>();
    } else if constexpr (WalksItself<M>) {
      return std::type_identity<typename M::tensor_type>();
    } else if constexpr (is_setting<M> || is_buffer<M>) {
      return std::type_identity<void>();
    } else if constexpr (is_list<M>) {
      return first_tensor<typename M::value_type>::find();
    } else if constexpr (is_holder<M>) {
      return first_tensor<std::remove_cvref_t<decltype(*std::declval<M&>())>>::find();
    } else if constexpr (is_tuple<M>) {
      return first_of<M>(std::type_identity<void>());
    } else {
      return first_of<member_types<M>>(std::type_identity<void>());
    }
  }

 private:
  template <class Tuple, std::size_t I = 0, class Found>
  static constexpr auto first_of(std::type_identity<Found> found) {
    if constexpr (!std::is_void_v<Found> || I == std::tuple_size_v<Tuple>)
      return found;
    else
      return first_of<Tuple, I + 1>(
          first_tensor<std::remove_const_t<std::remove_pointer_t<std::tuple_element_t<I, Tuple>>>>::find());
  }
};
template <class M>
using found_tensor = typename decltype(first_tensor<std::remove_cvref_t<M>>::find())::type;
template <class M>
using tensor_of = std::conditional_t<std::is_void_v<found_tensor<M>>, Tensor<float, Cpu>, found_tensor<M>>;

}  // namespace detail

}  // namespace kiln::nn
