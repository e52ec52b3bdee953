// SPDX-License-Identifier: BSL-1.0
// assign(std::tie(m, v, w), em, ev, ew): several tensors overwritten in one kernel, each by an expression of all their
// old values. What an optimizer's step is: every operand is read once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <kiln/core/version.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

namespace detail {

/// Tensor number Place of those in an assignment: the same one wherever this type stands, which types of tensors can't
/// say. It looks at a tensor that outlives it.
template <int Place, Element T, class Device>
struct placed_tensor {
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = Device;
  const Tensor<T, Device>* tensor;
  const ref<tensor_state>& state() const { return tensor->state(); }
  const dims& sizes() const { return tensor->sizes(); }
  constexpr moment wanted() const { return {}; }
};

}  // namespace detail

template <int Place, Element T, class Device>
struct census<detail::placed_tensor<Place, T, Device>> {
  static constexpr op_set ops{};
  static constexpr int leaves = 1, scalars = 0, rows = 0, products = 0;
  static constexpr bool repeats = true;
  static constexpr std::uint64_t type = detail::type_number(1000 + static_cast<std::uint64_t>(Place), dtype_of<T>, {0});
};

namespace detail {

/// Whether every leaf of an expression is a placed_tensor, and there is one.
template <class X>
inline constexpr bool is_placed = false;
template <int Place, class T, class Device>
inline constexpr bool is_placed<placed_tensor<Place, T, Device>> = true;
template <class Op, class... X>
inline constexpr bool is_placed<node<Op, X...>> = (is_placed<X> || ...) &&
                                                  ((is_placed<X> || census<X>::leaves == 0) && ...);

/// The slots of all leaves and numbers of several expressions: one after the other, but what a part of placed tensors
/// alone has, it has from an earlier part of the same type. (That their numbers are the same too is looked at before
/// the tape is used.)
template <class... E>
class joint_slots {
  static constexpr int all_leaves = (census<E>::leaves + ...), all_numbers = (census<E>::scalars + ...);

 public:
  std::array<std::int16_t, static_cast<std::size_t>(all_leaves) + 1> leaf{};
  std::array<std::int16_t, static_cast<std::size_t>(all_numbers) + 1> number{};
  int leaves = 0, numbers = 0;  ///< how many there are
  constexpr joint_slots() { (visit(std::type_identity<E>{}), ...); }

 private:
  struct sighting {
    std::uint64_t type = 0;
    int leaf = 0, number = 0;
  };
  std::array<sighting, static_cast<std::size_t>(4 * (all_leaves + all_numbers) + 8)> seen_{};
  int seen_count_ = 0, leaf_ = 0, number_ = 0;

  template <class X>
  constexpr void visit(std::type_identity<X> x) {
    if constexpr (is_placed<X>) {
      for (int i = 0; i < seen_count_; ++i) {
        const sighting& before = seen_[static_cast<std::size_t>(i)];
        if (before.type != census<X>::type) continue;
        for (int k = 0; k < census<X>::leaves; ++k) next_leaf(leaf[static_cast<std::size_t>(before.leaf + k)]);
        for (int k = 0; k < census<X>::scalars; ++k) next_number(number[static_cast<std::size_t>(before.number + k)]);
        return;
      }
      if (seen_count_ < static_cast<int>(seen_.size()))
        seen_[static_cast<std::size_t>(seen_count_++)] = {census<X>::type, leaf_, number_};
    }
    descend(x);
  }
  constexpr void next_leaf(int slot) { leaf[static_cast<std::size_t>(leaf_++)] = static_cast<std::int16_t>(slot); }
  constexpr void next_number(int slot) {
    number[static_cast<std::size_t>(number_++)] = static_cast<std::int16_t>(slot);
  }
  template <class X>
  constexpr void descend(std::type_identity<X>) {
    for (int k = 0; k < census<X>::leaves; ++k) next_leaf(leaves++);
    for (int k = 0; k < census<X>::scalars; ++k) next_number(numbers++);
  }
  template <class Op, class... X>
  constexpr void descend(std::type_identity<node<Op, X...>>) {
    (visit(std::type_identity<X>{}), ...);
  }
};
template <class... E>
inline constexpr joint_slots<E...> slots_of{};

/// The tape of several expressions, one after the other.
template <class... E>
inline constexpr auto joint_tape = finished([](program& out) {
  program written;
  constexpr const auto& slots = slots_of<E...>;
  int leaves = 0, numbers = 0;
  auto append = [&]<class X>(std::type_identity<X>) {
    constexpr auto& one = value_tape<X>;
    scratch<std::int16_t> places(one.size());
    for (int i = 0; i < one.size(); ++i) {
      instruction now = one[i];
      if (now.code == opcode::leaf) now.slot = slots.leaf[static_cast<std::size_t>(now.slot + leaves)];
      if (now.code == opcode::scalar) now.slot = slots.number[static_cast<std::size_t>(now.slot + numbers)];
      for (std::int16_t* operand : {&now.a, &now.b, &now.c})
        if (*operand >= 0) *operand = places.data()[*operand];
      places.data()[i] = static_cast<std::int16_t>(written.push(now));
    }
    written.add_result(places.data()[one.result(0)]);
    leaves += census<X>::leaves;
    numbers += census<X>::scalars;
  };
  (append(std::type_identity<E>{}), ...);
  keep_needed(written, out);
});

template <class... E>
struct joint_program {
  static constexpr const auto& tape = joint_tape<E...>;
  static constexpr bool reduction_rooted = false;
  static constexpr std::array<dtype, sizeof...(E)> stores{dtype_of<typename E::value_type>...};
};

/// What is written where, of operands that are known as data.
struct joint_assignment {
  const runnable* kernel = nullptr;
  int targets = 0, leaves = 0;
  const ref<tensor_state>* target = nullptr;
  const dims* sizes = nullptr;           ///< of each expression
  const std::uint64_t* reads = nullptr;  ///< of each expression: bit i says that it reads leaf i
  tensor_state* const* leaf = nullptr;
  const std::uint64_t* number = nullptr;
};
/// Throws as assign().
void check_assignment(const joint_assignment& a);
/// Whether one kernel can do it: all have one shape, and what is read lies apart from what is written, or exactly
/// there.
bool fits_one_kernel(const joint_assignment& a);
void run_assignment(const joint_assignment& a);
/// The values first, then the targets, with a copy of each: the same kernel over each expression's own domain, of which
/// one result is taken. `copy` are programs that copy a target's type.
void run_assignment_apart(const joint_assignment& a, const runnable* const* copy);
/// Throws: parts of one type and of placed tensors alone differ in a number, or a place stands for two tensors.
[[noreturn, gnu::cold]] void not_as_placed();

// A tensor as it is: its value is taken before anything is written.
template <class E>
auto value_to_assign(const E& e) {
  if constexpr (Leaf<E>)
    return apply<clone_op>(e);
  else
    return e;
}

template <class T, class Device, class E>
auto expression_for(const Tensor<T, Device>& to, const E& e) {
  if constexpr (Number<E>) {
    return where(true, static_cast<T>(e), to);
  } else {
    static_assert(category<typename E::value_type> <= category<T> || std::is_same_v<typename E::value_type, T>,
                  "kiln: assign cannot store an expression's element type in this tensor: cast<T>() the expression");
    return value_to_assign(converted<T>(e));
  }
}

template <class Device, class... T, class... E, std::size_t... I>
void assign_all(const std::tuple<Tensor<T, Device>&...>& to, std::index_sequence<I...>, const E&... e) {
  constexpr const auto& slots = slots_of<E...>;
  constexpr int leaves = slots.leaves, numbers = slots.numbers;
  const std::array<ref<tensor_state>, sizeof...(E)> targets{std::get<I>(to).state()...};
  const std::array<dims, sizeof...(E)> sizes{shape_of(e)...};
  joint_assignment all{
      .targets = static_cast<int>(sizeof...(E)), .leaves = leaves, .target = targets.data(), .sizes = sizes.data()};
  std::array<tensor_state*, static_cast<std::size_t>(leaves) + 1> leaf{};
  std::array<std::uint64_t, static_cast<std::size_t>(numbers) + 1> number{};
  std::array<bool, static_cast<std::size_t>(numbers) + 1> known{};
  std::array<std::uint64_t, sizeof...(E)> reads{};
  int l = 0, n = 0;
  auto collect = [&]<class X>(const X& x, std::uint64_t& reads_here) {
    collected<X> c(x);
    for (int i = 0; i < census<X>::leaves; ++i) {
      const std::int16_t slot = slots.leaf[static_cast<std::size_t>(l++)];
      tensor_state*& place = leaf[static_cast<std::size_t>(slot)];
      reads_here |= std::uint64_t{1} << (slot & 63);
      if (place && place != c.leaf[static_cast<std::size_t>(i)]) not_as_placed();
      place = c.leaf[static_cast<std::size_t>(i)];
    }
    for (int i = 0; i < census<X>::scalars; ++i) {
      const std::size_t at = static_cast<std::size_t>(slots.number[static_cast<std::size_t>(n++)]);
      if (known[at] && number[at] != c.number[static_cast<std::size_t>(i)]) not_as_placed();
      number[at] = c.number[static_cast<std::size_t>(i)];
      known[at] = true;
    }
  };
  (collect(e, reads[I]), ...);
  all.reads = reads.data();
  all.leaf = leaf.data();
  all.number = number.data();
  check_assignment(all);
  if constexpr (((census<E>::rows == 0 && census<E>::products == 0) && ...) && leaves <= common::max_slots) {
    all.kernel = &runnable_of<joint_program<E...>, Device>;
    if (fits_one_kernel(all)) return run_assignment(all);
    const std::array<const runnable*, sizeof...(E)> copy{&runnable_of<value_program<Tensor<T, Device>>, Device>...};
    run_assignment_apart(all, copy.data());
  } else {
    // All values first, then all targets.
    const no_grad quiet;
    const std::tuple<Tensor<T, Device>...> values{Tensor<T, Device>(compute<false>(e))...};
    (overwrite_with(runnable_of<value_program<Tensor<T, Device>>, Device>, std::get<I>(values).state(), *targets[I],
                    nullptr),
     ...);
  }
}

}  // namespace detail

/// Overwrites several tensors in place, `assign(std::tie(m, v, w), em, ev, ew)`: each gets the values of its
/// expression, and all expressions read the old values. One kernel does it if the tensors have one shape, no expression
/// reduces or holds a product, and none reads a tensor that overlaps another in part. An expression has its tensor's
/// shape and an element type that it can hold. Nothing is recorded: throws graph_error if gradients would have to flow
/// (use no_grad), shape_error if sizes differ, value_error if two of the tensors share elements.
template <class Device, class... T, class... E>
void assign(const std::tuple<Tensor<T, Device>&...>& to, const E&... e) {
  static_assert(sizeof...(T) == sizeof...(E), "kiln: assign needs one expression for each tensor");
  [&]<std::size_t... I>(std::index_sequence<I...> each) {
    detail::assign_all<Device, T...>(to, each, detail::expression_for(std::get<I>(to), e)...);
  }
  (std::index_sequence_for<T...>{});
}

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tensor/assign_impl.hpp>
#endif
