// SPDX-License-Identifier: BSL-1.0
// Prints maps: kernels that compute every element by itself. A thread takes `step` neighbours at once; each leaf is
// moved as its own place in memory allows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/print/print.hpp>

namespace kiln::cuda {

namespace detail {

/// Where operands are read and written: pointers for the run of the innermost axis at hand, loads and stores of a step.
/// The names: a0 a1 ... are coordinates of the axes before the innermost, i the first element of the step.
class walk {
 public:
  walk(const task& job, const plan& p, const tape_view& t, statements& values)
      : job_(job), p_(p), t_(t), values_(values) {}

  static std::string leaf_name(int slot) { return message("x", slot); }

  /// Parameters of all operands and of the sizes of the domain.
  void parameters(signature& s, bool of_rows = false) const {
    for (int r = 0; r < t_.result_count; ++r)
      if (wanted(r) && !goes_to_scratch(r)) s.result(r);
    each_leaf([&](int slot, dtype) { s.leaf(slot, job_.leaves[static_cast<std::size_t>(slot)]); });
    each_number([&](int slot, dtype type) { s.number(slot, type); });
    for (int d = 0; d < p_.rank; ++d) s.whole(parameter_kind::size, message("size", d), 0, d);
    if (p_.rank > 1) {
      if (!of_rows) {
        s.whole(parameter_kind::steps, "steps");
        s.whole(parameter_kind::divisor, "by_steps", 0, -1);
      }
      for (int d = 1; d + 1 < p_.rank; ++d) s.whole(parameter_kind::divisor, message("by", d), 0, d);
    }
    strides(s);
    if (any_drawn()) s.draw_offset();
  }
  bool any_drawn() const {
    for (int i = 0; i < t_.size; ++i)
      if (t_[i].code == opcode::leaf && is_drawn(kind_of(t_[i]))) return true;
    return false;
  }
  void strides(signature& s) const {
    auto of = [&](parameter_kind kind, int k, const operand_plan& x, const char* letter) {
      for (int d = 0; d + 1 < p_.rank; ++d)
        if (x.axes >> d & 1) s.whole(kind, message(letter, k, "_s", d), k, d);
      if (x.how >= access::strided) s.whole(kind, message(letter, k, "_s", p_.rank - 1), k, p_.rank - 1);
    };
    for (int r = 0; r < t_.result_count; ++r)
      if (wanted(r) && !goes_to_scratch(r)) of(parameter_kind::result_stride, r, result(r), "y");
    each_leaf([&](int slot, dtype) { of(parameter_kind::leaf_stride, slot, leaf(slot), "x"); });
  }

  bool wanted(int r) const { return t_.results[r] >= 0 && result(r).how != access::unused; }
  summed sum(int r) const { return p_.sums.empty() ? summed::nothing : p_.sums[static_cast<std::size_t>(r)]; }
  /// Sums that blocks make together: each leaves its share in scratch memory.
  bool goes_to_scratch(int r) const { return sum(r) == summed::across_rows || sum(r) == summed::everything; }
  const operand_plan& leaf(int slot) const { return p_.leaves[static_cast<std::size_t>(slot)]; }
  const operand_plan& result(int r) const { return p_.results[static_cast<std::size_t>(r)]; }

  /// Calls f(slot, type) once for each leaf slot on the tape.
  template <class F>
  void each_leaf(F f) const {
    std::vector<bool> seen(job_.leaves.size());
    for (int i = 0; i < t_.size; ++i) {
      if (t_[i].code != opcode::leaf || seen[static_cast<std::size_t>(t_[i].slot)]) continue;
      seen[static_cast<std::size_t>(t_[i].slot)] = true;
      f(t_[i].slot, t_[i].type);
    }
  }

  template <class F>
  void each_number(F f) const {
    std::vector<std::int16_t> seen;
    for (int i = 0; i < t_.size; ++i) {
      if (t_[i].code != opcode::scalar || std::count(seen.begin(), seen.end(), t_[i].slot) > 0) continue;
      seen.push_back(t_[i].slot);
      f(t_[i].slot, t_[i].type);
    }
  }

  /// `const drawn<...> x0 = ...;`: random numbers look like memory to what follows.
  void define_draws(lines& out) const {
    for (int i = 0; i < t_.size; ++i) {
      const instruction& now = t_[i];
      if (now.code != opcode::leaf || !is_drawn(kind_of(now))) continue;
      const std::string_view type = storage_name(now.type),
                             numbers = kind_of(now) == leaf_kind::uniform ? "uniform_numbers" : "normal_numbers";
      out.add("const auto x", now.slot, " = drawn_at<", type, ", ", numbers, "<", type, ">>(x", now.slot, "_place, ",
              values_.at(now.a), ", ", values_.at(now.b), ", *moved);");
    }
  }

  /// The coordinates of run `row` of the innermost axis.
  void coordinates(lines& out, std::string_view index) const {
    if (p_.rank == 2) out.add("const ", index, " a0 = row;");
    if (p_.rank < 3) return;
    std::string rest = "row";
    for (int d = p_.rank - 2; d > 0; --d) {
      const std::string over = d == 1 ? "a0" : message("above", d - 1);
      out.add("const ", index, " ", over, " = divided(", rest, ", by", d, "), a", d, " = ", rest, " - ", over,
              " * size", d, ";");
      rest = over;
    }
  }
  /// The coordinates of the first `axes` axes, for tiles of the others: of `rest`, which is divided by their sizes.
  void coordinates_of_rest(lines& out, std::string_view index, int axes) const {
    for (int d = axes - 1; d >= 0; --d) {
      out.add("const ", index, " a", d, " = ", d == 0 ? "rest" : message("rest % size", d), ";");
      if (d > 0) out.add("rest /= size", d, ";");
    }
  }
  /// `tiles * size0 * size1`: how many there are for all places of the first `axes` axes.
  static std::string for_each_outer(std::string count, int axes) {
    for (int d = 0; d < axes; ++d) count += message(" * size", d);
    return count;
  }
  /// How many steps the domain has, ...
  std::string all_steps() const {
    if (p_.rank == 1) return message("(size0 + ", p_.step - 1, ") / ", p_.step);
    return for_each_outer("steps", p_.rank - 1);
  }
  /// ... and where the step of this number begins: i, and the coordinates before it. Of several at once: where the
  /// first begins, and how far they are apart.
  void place_step(lines& out, std::string_view index, std::string_view number) const {
    if (p_.rank == 1) {
      const bool sum = number.find(' ') != number.npos;
      out.add("const ", index, " i = ", sum ? "(" : "", number, sum ? ")" : "", " * ", p_.step, ";");
    } else {
      const bool several = p_.shape == kernel_shape::map && p_.at_once > 1;
      out.add("const ", index, " row = divided(", number, ", by_steps), ", several ? "begin" : "i", " = (", number,
              " - row * steps) * ", p_.step, several ? message(", apart = steps * ", p_.step) : std::string(), ";");
      coordinates(out, index);
    }
  }
  /// `x0 + a0 * x0_s0`: where the run at hand begins.
  std::string begin(const std::string& name, const operand_plan& x) const {
    std::string code = name;
    for (int d = 0; d + 1 < p_.rank; ++d)
      if (x.axes >> d & 1) code += message(" + a", d, " * ", name, "_s", d);
    return code;
  }
  /// How many elements of a step exist, as the text says it.
  std::string some() const { return p_.even ? std::to_string(p_.step) : "some"; }
  /// What loads a step of a leaf from place i on.
  std::string load_step(int slot, bool again = false) const { return load_step(slot, some(), again); }
  /// `again`: also where the same step was loaded before.
  std::string load_step(int slot, const std::string& count, bool again = false) const {
    const operand_plan& x = leaf(slot);
    const std::string name = leaf_name(slot), from = begin(name, x), stride = message(name, "_s", p_.rank - 1),
                      i = again ? "forgotten(i)" : "i";
    if (x.how == access::vectors) return message("load_vector<", p_.step, ">(", from, " + ", i, ", ", count, ")");
    if (x.how == access::each) return message("load_each<", p_.step, ">(", from, " + ", i, ", ", count, ")");
    return message("load_strided<", p_.step, ">(", from, " + ", i, " * ", stride, ", ", stride, ", ", count, ")");
  }
  bool moves_along(int slot) const { return leaf(slot).how >= access::vectors; }
  /// Several steps of the row at hand, `apart` elements from each other.
  void open_steps(lines& out) const {
    out.add("#pragma unroll");
    out.open("for (int u = 0; u < ", p_.at_once, "; ++u)");
    out.add("const ", p_.wide ? "int64" : "int32", " i = begin + u * apart;");
    out.add("if (i >= size", p_.rank - 1, ") continue;");
    out.add("const int some = at_most<", p_.step, ">(size", p_.rank - 1, " - i);");
  }
  /// Leaves with one value for the row at hand.
  void load_rows(lines& out) const {
    each_leaf([&](int slot, dtype) {
      const std::string name = leaf_name(slot);
      if (leaf(slot).how == access::row && !is_address(slot))
        out.add("const auto ", name, "_at = value_of(*(", begin(name, leaf(slot)), "));");
    });
  }
  /// Loads of leaves for a step: "x0_at". Several that are whole vectors, but in the last step, stand behind one branch
  /// on that: with a branch each, a load would wait for the one before it.
  void load_steps(lines& out) const {
    std::vector<int> together;
    each_leaf([&](int slot, dtype) {
      if (leaf(slot).how == access::vectors && job_.leaves[static_cast<std::size_t>(slot)].is_memory())
        together.push_back(slot);
    });
    if (p_.even || p_.step == 1 || together.size() < 2) together.clear();
    each_leaf([&](int slot, dtype type) {
      const std::string name = leaf_name(slot);
      if (is_address(slot) || is_turned(slot)) return;
      if (std::count(together.begin(), together.end(), slot) > 0)
        out.add("vec<", storage_name(type), ", ", p_.step, "> ", name, "_at;");
      else if (moves_along(slot))
        out.add("const auto ", name, "_at = ", load_step(slot), ";");
    });
    if (together.empty()) return;
    const auto load = [&](const std::string& count) {
      for (const int slot : together) out.add(leaf_name(slot), "_at = ", load_step(slot, count), ";");
    };
    out.open("if (some == ", p_.step, ")");
    load(std::to_string(p_.step));
    out.otherwise();
    load("some");
    out.close();
  }
  /// The same for several steps, all whole, which are loaded one after the other (u) before any is looked at.
  void declare_batch(lines& out, int steps) const {
    each_leaf([&](int slot, dtype type) {
      if (moves_along(slot))
        out.add("vec<", storage_name(type), ", ", p_.step, "> ", leaf_name(slot), "_all[", steps, "];");
      else if (leaf(slot).how == access::row)
        out.add(value_name(type), " ", leaf_name(slot), "_all[", steps, "];");
    });
  }
  void load_batch(lines& out) const {
    each_leaf([&](int slot, dtype) {
      const std::string name = leaf_name(slot);
      if (moves_along(slot))
        out.add(name, "_all[u] = ", load_step(slot, std::to_string(p_.step)), ";");
      else if (leaf(slot).how == access::row)
        out.add(name, "_all[u] = value_of(*(", begin(name, leaf(slot)), "));");
    });
  }
  void open_batch(lines& out) const {
    each_leaf([&](int slot, dtype) {
      if (moves_along(slot) || leaf(slot).how == access::row)
        out.add("const auto& ", leaf_name(slot), "_at = ", leaf_name(slot), "_all[u];");
    });
  }
  bool is_turned(int slot) const { return leaf(slot).how >= access::turned; }
  bool is_address(int slot) const { return job_.leaves[static_cast<std::size_t>(slot)].kind == leaf_kind::address; }
  /// Where the element of an address leaf lies for element `k` of the step that begins at `i`.
  std::string address(int slot, std::string_view k, std::string_view i = "i") const {
    const operand_plan& x = leaf(slot);
    const std::string name = leaf_name(slot), from = begin(name, x);
    if (x.how >= access::strided) return message("*(", from, " + (", i, k, ") * ", name, "_s", p_.rank - 1, ")");
    return message("*(", from, x.how >= access::vectors ? message(" + ", i, k) : std::string(), ")");
  }
  /// The value of the leaf at i for element k of a step.
  std::string element(int i) const {
    const std::string name = leaf_name(t_[i].slot);
    if (is_address(t_[i].slot)) return address(t_[i].slot, " + k");
    return leaf(t_[i].slot).how == access::row ? name + "_at" : message("value_at(", name, "_at, k)");
  }
  void declare_results(lines& out) const {
    for (int r = 0; r < t_.result_count; ++r) {
      if (!wanted(r)) continue;
      out.add("vec<", held_type(r), ", ", p_.step, "> y", r, "_at;");
    }
  }
  void put_results(lines& out) {
    for (int r = 0; r < t_.result_count; ++r)
      if (wanted(r)) out.add("y", r, "_at[k] = stored_as<", held_type(r), ">(", values_.at(t_.results[r]), ");");
  }
  void store_step(lines& out, int r, std::string_view moved = {}) const {
    const operand_plan& y = result(r);
    const std::string name = message("y", r);
    const char* const verb = p_.adds[static_cast<std::size_t>(r)] ? "add_" : "store_";
    if (y.how == access::strided) {
      const std::string stride = message(name, "_s", p_.rank - 1);
      out.add(verb, "strided(", begin(name, y), moved, " + i * ", stride, ", ", stride, ", ", name, "_at, ", some(),
              ");");
    } else {
      out.add(verb, y.how == access::vectors ? "vector(" : "each(", begin(name, y), moved, " + i, ", name, "_at, ",
              some(), ");");
    }
  }
  void store_steps(lines& out) const {
    for (int r = 0; r < t_.result_count; ++r)
      if (wanted(r)) store_step(out, r);
  }
  /// Stores the one value of a result at the coordinates at hand.
  void store_one(lines& out, int r, const std::string& value) const {
    const std::string name = message("y", r), from = begin(name, result(r)),
                      place = from == name ? "*" + name : "*(" + from + ")";
    const std::string_view type = storage_name(p_.stores[static_cast<std::size_t>(r)]);
    if (p_.adds[static_cast<std::size_t>(r)])
      out.add(place, " = stored_as<", type, ">(value_of(", place, ") + stored_as<", held_type(r), ">(", value, "));");
    else
      out.add(place, " = stored_as<", type, ">(", value, ");");
  }
  /// What a result is held as until it is stored: one that is added is rounded only after.
  std::string_view held_type(int r) const {
    const dtype type = p_.stores[static_cast<std::size_t>(r)];
    return p_.adds[static_cast<std::size_t>(r)] ? value_name(type) : storage_name(type);
  }

 private:
  const task& job_;
  const plan& p_;
  const tape_view& t_;
  statements& values_;
};

/// Which instructions follow from numbers and single values alone: computed once, before the loop.
std::vector<bool> fixed_values(const tape_view& t, const plan& p);

/// A map as text: what is known before its steps, what each step computes once, and what each of its elements, k.
struct map_lines {
  lines before, of_step, inside;
};
map_lines map_steps(const tape_view& t, const plan& p, statements& values, walk& at);
/// One step of it, whose place is known: loads, values, stores.
void add_step(lines& out, const map_lines& map, const plan& p, const walk& at, bool faults);

}  // namespace detail

/// Prints the map that `p` plans for `job`, both as plan_map left them.
source print_map(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_map_impl.hpp>
#endif
