// SPDX-License-Identifier: BSL-1.0
// Functions of plain numbers, seen as expressions: called with `traced` leaves in place of numbers, a generic function
// returns an expression whose type is its tape. From that come programs of its value, gradient and tangent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <kiln/device/common/bits.hpp>
#include <kiln/expr/flatten.hpp>
#include <kiln/tape/tangent.hpp>

namespace kiln {

/// Input `Index` of the function that `Tag` stands for. Functions within functions see the inputs of those around them:
/// the tag tells whose they are.
template <Element T, int Index, class Tag>
struct traced {
  using operand = void;
  using leaf = void;
  using value_type = T;
  using device_type = any_device;
  T value{};
  static constexpr dims sizes() { return {}; }
};

/// Result `Result` of a program made of E, an expression over inputs of `Tag`, where they have the values of `args`.
/// What E has besides (numbers, inputs of functions around) it keeps.
template <class Program, int Result, class Tag, class E, class... Args>
struct derived {
  using operand = void;
  using value_type = element_t<Program::type_of(Result)>;
  using device_type = any_device;
  E e;
  std::tuple<Args...> args;
};

namespace detail {

/// Calls `f(std::type_identity<X>{})` for the inputs in X that are not the function's own, in their order.
template <class Tag>
struct outer_inputs {
  template <class X, class F>
  static constexpr void each(std::type_identity<X>, const F&) {}
  template <class T, int I, class Other, class F>
  static constexpr void each(std::type_identity<traced<T, I, Other>> x, const F& f) {
    if constexpr (!std::same_as<Other, Tag>) f(x);
  }
  template <class Op, class... X, class F>
  static constexpr void each(std::type_identity<node<Op, X...>>, const F& f) {
    (each(std::type_identity<X>{}, f), ...);
  }
  template <class Program, int Result, class Inner, class E, class... Args, class F>
  static constexpr void each(std::type_identity<derived<Program, Result, Inner, E, Args...>>, const F& f) {
    (each(std::type_identity<Args>{}, f), ...);
    outer_inputs<Inner>::each(std::type_identity<E>{}, [&](auto x) { each(x, f); });
  }

  // The same of values.
  template <class X, class F>
  static constexpr void each_value(const X&, const F&) {}
  template <class T, int I, class Other, class F>
  static constexpr void each_value(const traced<T, I, Other>& x, const F& f) {
    if constexpr (!std::same_as<Other, Tag>) f(x);
  }
  template <class Op, class... X, class F>
  static constexpr void each_value(const node<Op, X...>& x, const F& f) {
    each_value(x.a, f);
    if constexpr (sizeof...(X) > 1) each_value(x.b, f);
    if constexpr (sizeof...(X) > 2) each_value(x.c, f);
  }
  template <class Program, int Result, class Inner, class E, class... Args, class F>
  static constexpr void each_value(const derived<Program, Result, Inner, E, Args...>& x, const F& f) {
    std::apply([&](const auto&... arg) { (each_value(arg, f), ...); }, x.args);
    outer_inputs<Inner>::each_value(x.e, [&](const auto& outer) { each_value(outer, f); });
  }
};

/// Calls `f(type, number)` for the numbers in an expression, in their order; of values, with the number itself.
struct held_numbers {
  template <class X, class F>
  static constexpr void each(const X&, const F&) {}
  template <class T, class F>
  static constexpr void each(const scalar<T>& x, const F& f) {
    f(x.value);
  }
  template <class Op, class... X, class F>
  static constexpr void each(const node<Op, X...>& x, const F& f) {
    each(x.a, f);
    if constexpr (sizeof...(X) > 1) each(x.b, f);
    if constexpr (sizeof...(X) > 2) each(x.c, f);
  }
  template <class Program, int Result, class Inner, class E, class... Args, class F>
  static constexpr void each(const derived<Program, Result, Inner, E, Args...>& x, const F& f) {
    std::apply([&](const auto&... arg) { (each(arg, f), ...); }, x.args);
    each(x.e, f);
  }
};
template <class X>
inline constexpr int number_count = 0;
template <class T>
inline constexpr int number_count<scalar<T>> = 1;
template <class Op, class... X>
inline constexpr int number_count<node<Op, X...>> = (number_count<X> + ...);
template <class Program, int Result, class Inner, class E, class... Args>
inline constexpr int number_count<derived<Program, Result, Inner, E, Args...>> = (number_count<Args> + ... +
                                                                                  number_count<E>);

template <class Tag, class E>
inline constexpr int outer_count = [] {
  int n = 0;
  outer_inputs<Tag>::each(std::type_identity<E>{}, [&](auto) { ++n; });
  return n;
}();

/// Writes the tape of an expression over `Inputs` inputs of `Tag`: these are the leaves in slots [0, Inputs), each
/// other input stands in a slot of its own after them.
template <class Tag, int Inputs>
struct traced_writer {
  program& out;
  int outers = 0, numbers = 0;

  constexpr int leaf(dtype type, int slot) {
    return out.push({.code = opcode::leaf, .type = type, .slot = static_cast<std::int16_t>(slot)});
  }
  template <class X>
  constexpr int visit(std::type_identity<X>) {
    static_assert(never<X>,
                  "kiln: a function of plain numbers cannot use tensors, reductions or products: call it with tensors "
                  "(0-d ones for single numbers)");
    return -1;
  }
  template <class T, int I, class Other>
  constexpr int visit(std::type_identity<traced<T, I, Other>>) {
    return leaf(dtype_of<T>, std::same_as<Other, Tag> ? I : Inputs + outers++);
  }
  template <class T>
  constexpr int visit(std::type_identity<scalar<T>>) {
    return out.push(
        {.code = opcode::scalar, .type = compute_type(dtype_of<T>), .slot = static_cast<std::int16_t>(numbers++)});
  }
  template <class Op, class... X>
  constexpr int visit(std::type_identity<node<Op, X...>>) {
    const std::array<int, sizeof...(X)> at{visit(std::type_identity<X>{})...};
    instruction now{.code = opcode_of(Op::name), .type = dtype_of<typename node<Op, X...>::value_type>};
    now.a = static_cast<std::int16_t>(at[0]);
    if constexpr (sizeof...(X) > 1) now.b = static_cast<std::int16_t>(at[1]);
    if constexpr (sizeof...(X) > 2) now.c = static_cast<std::int16_t>(at[2]);
    if (Op::name == "cast" && out[at[0]].type == now.type) return at[0];
    return out.push(now);
  }
  template <class Program, int Result, class Inner, class E, class... Args>
  constexpr int visit(std::type_identity<derived<Program, Result, Inner, E, Args...>>) {
    constexpr int arguments = static_cast<int>(sizeof...(Args)), shift = outer_count<Inner, E>;
    scratch<std::int16_t> leaves(arguments + shift), places(Program::tape.size());
    int n = 0;
    auto place = [&](int at) {  // the inputs, then the inputs of functions around, then what else is given
      leaves.data()[n < Program::inputs ? n : n + shift] = static_cast<std::int16_t>(at);
      ++n;
    };
    (place(visit(std::type_identity<Args>{})), ...);
    int k = Program::inputs;
    outer_inputs<Inner>::each(std::type_identity<E>{},
                              [&](auto outer) { leaves.data()[k++] = static_cast<std::int16_t>(visit(outer)); });
    for (int i = 0; i < Program::tape.size(); ++i) {
      instruction now = Program::tape[i];
      if (now.a >= 0) now.a = places.data()[now.a];
      if (now.b >= 0) now.b = places.data()[now.b];
      if (now.c >= 0) now.c = places.data()[now.c];
      if (now.code == opcode::scalar) now.slot = static_cast<std::int16_t>(now.slot + numbers);
      places.data()[i] = now.code == opcode::leaf ? leaves.data()[now.slot] : static_cast<std::int16_t>(out.push(now));
    }
    numbers += number_count<E>;
    return places.data()[Program::tape.result(Result)];
  }
};

/// `from` with the leaf in `slot` replaced by 1.
constexpr void set_to_one(const program& from, program& into, int slot) {
  scratch<std::int16_t> places(from.size());
  for (int i = 0; i < from.size(); ++i) {
    instruction now = from[i];
    if (now.a >= 0) now.a = places.data()[now.a];
    if (now.b >= 0) now.b = places.data()[now.b];
    if (now.c >= 0) now.c = places.data()[now.c];
    if (now.code == opcode::leaf && now.slot == slot)
      now = {.code = opcode::constant, .type = now.type, .literal = literal_for(now.type, 1)};
    places.data()[i] = static_cast<std::int16_t>(into.push(now));
  }
  for (int r = 0; r < from.result_count; ++r)
    into.add_result(from.results[r] < 0 ? -1 : places.data()[from.results[r]]);
}

template <class Tape>
constexpr dtype result_type(const Tape& t, int r) {
  return t[t.result(r)].type;
}

/// The value of E, as result 0.
template <class Tag, class E, int Inputs>
struct traced_value {
  static constexpr auto tape = finished([](program& out) {
    program written, flat;
    traced_writer<Tag, Inputs> writer{written};
    written.add_result(writer.visit(std::type_identity<E>{}));
    expand(written, flat, rules_for<E>, false);
    keep_needed(flat, out);
  });
  static constexpr int inputs = Inputs;
  static constexpr dtype type_of(int r) { return result_type(tape, r); }
};

/// Results: the gradients by the inputs `Wanted`, then, if `WithValue`, the value. With `Cotangent`, what arrives is
/// the leaf after all others; else it is 1.
template <class Tag, class E, int Inputs, bool WithValue, bool Cotangent, int... Wanted>
struct traced_gradient {
  static constexpr auto tape = finished([](program& out) {
    constexpr int slots = Inputs + outer_count<Tag, E>;
    program written, kept, sweep, at_one, flat;
    traced_writer<Tag, Inputs> writer{written};
    written.add_result(writer.visit(std::type_identity<E>{}));
    expand(written, kept, rules_for<E>, true);
    const int root = kept.results[0];
    const dtype type = kept[root].type;
    if (is_floating(type)) {
      const delivered_result arriving{.stored = type};
      reverse_sweep(kept, sweep, rules_for<E>, slots, &arriving);
    } else {  // steps: no gradient
      for (int i = 0; i < kept.size(); ++i) sweep.push(kept[i]);
      for (int s = 0; s < slots; ++s) sweep.add_result(-1);
    }
    const std::array<std::int16_t, sizeof...(Wanted)> wanted{sweep.results[Wanted]...};
    sweep.result_count = 0;
    for (const std::int16_t g : wanted)
      sweep.add_result(g >= 0 ? g
                              : sweep.push({.code = opcode::constant, .type = type, .literal = literal_for(type, 0)}));
    if (WithValue) sweep.add_result(root);
    if (!Cotangent) set_to_one(sweep, at_one, slots);
    expand(Cotangent ? sweep : at_one, flat, rules_for<E>, false);
    keep_needed(flat, out);
  });
  static constexpr int inputs = Inputs;
  static constexpr dtype type_of(int r) { return result_type(tape, r); }
};

/// Results: value and tangent. The tangents of the inputs are leaves after all others.
template <class Tag, class E, int Inputs>
struct traced_tangent {
  static constexpr auto tape = finished([](program& out) {
    constexpr int slots = Inputs + outer_count<Tag, E>;
    program written, pair;
    traced_writer<Tag, Inputs> writer{written};
    written.add_result(writer.visit(std::type_identity<E>{}));
    tangent(written, pair, rules_for<E>, slots, (leaf_mask{1} << Inputs) - 1);
    if (pair.results[1] < 0) {
      const dtype type = pair[pair.results[0]].type;
      pair.results[1] = static_cast<std::int16_t>(
          pair.push({.code = opcode::constant, .type = type, .literal = literal_for(type, 0)}));
    }
    keep_needed(pair, out);
  });
  static constexpr int inputs = Inputs;
  static constexpr dtype type_of(int r) { return result_type(tape, r); }
};

}  // namespace detail

}  // namespace kiln
