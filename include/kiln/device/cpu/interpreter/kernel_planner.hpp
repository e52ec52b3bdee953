// SPDX-License-Identifier: BSL-1.0
// Plans one kernel. The roles of the values (tape/roles.hpp) say what is computed once and what per element; values get
// buffers for as long as they are needed; results are made where they belong if they can be.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <kiln/core/error.hpp>
#include <kiln/device/cpu/interpreter/plan.hpp>
#include <kiln/device/cpu/kernel/kernel_layout.hpp>

namespace kiln::cpu::inline KILN_VERSION_ISA {
namespace interpreter::detail {

class kernel_planner {
 public:
  kernel_planner(program_plan& program, const value_facts* values, const tape_facts& facts, kernel_kind kind, int pass)
      : program_(program),
        t_(program.program.tape),
        values_(values),
        facts_(facts),
        kind_(kind),
        pass_(pass),
        roles_(at(t_.size)),
        place_of_(at(t_.size), std::int16_t{-1}) {
    find_roles(t_, facts, values, kind, pass, program.program.reduction_rooted, roles_.data());
    join_products(t_, facts, op_facts_table, values, kind, pass, program.program.reduction_rooted, roles_.data());
    for (const role r : roles_) work_ += r == role::each || r == role::read_back;
    join_steps();
  }

  kernel_plan make() {
    for (int i = 0; i < t_.size; ++i)
      if (roles_[at(i)] != role::none && roles_[at(i)] != role::joined) value(i);
    folds();
    results();
    lay_out();
    return std::move(k_);
  }

 private:
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static dtype type_of(const instruction& x) { return kiln::compute_type(x.type); }
  bool once(int i) const { return roles_[at(i)] == role::once; }

  /// A buffer under way: from the step that fills it to the last that reads it.
  struct buffer {
    std::int16_t place;
    std::size_t size;
    int made, last;
    bool exclusive = false;
    int number = -1;
  };

  int add_place(std::int64_t mask, const void* fixed = nullptr) {
    if (k_.places.size() > 32000)
      throw value_error("an expression has too many values for one kernel: evaluate a part of it into a Tensor first");
    k_.places.push_back({fixed, 0, mask});
    return static_cast<int>(k_.places.size()) - 1;
  }
  std::int64_t fixed_workspace(std::size_t bytes) {
    const std::size_t from = fixed_;
    fixed_ += (bytes + 63) / 64 * 64;
    return static_cast<std::int64_t>(from);
  }
  /// A place for a value that a step makes.
  int add_value(bool once, dtype type) {
    const int p = add_place(once ? 0 : -1);
    if (once)
      k_.places.back().offset = fixed_workspace(static_cast<std::size_t>(vector_bytes));
    else
      buffers_.push_back({static_cast<std::int16_t>(p), size_of(type), static_cast<int>(k_.each.size()), -1});
    return p;
  }
  void read(int place, int by) {
    for (buffer& b : buffers_)
      if (b.place == place) b.last = std::max(b.last, by);
  }
  int add_step(bool once, strip_function run, dtype type, int lanes, int a, int b = -1, int c = -1, int d = -1) {
    k_.unit = std::max<std::int64_t>(k_.unit, lanes);
    const int now = static_cast<int>(k_.each.size());
    for (const int x : {a, b, c, d})
      if (x >= 0) read(x, now);
    const int out = add_value(once, type);
    auto place = [](int p) { return static_cast<std::int16_t>(std::max(p, 0)); };
    const std::int64_t n = vector_bytes / static_cast<std::int64_t>(size_of(type));
    (once ? k_.once : k_.each).push_back({run, place(out), place(a), place(b), place(c), place(d), once ? n : 0});
    return out;
  }
  int convert_step(bool once, dtype from, dtype to, int a) {
    return add_step(once, conversion(from, to), to, lanes_of(from, to), a);
  }
  int number(const instruction& now, bool of_row, int index) {
    const int p = add_value(true, type_of(now));
    k_.numbers.push_back({static_cast<std::int16_t>(p), static_cast<std::int16_t>(index), spreading(now.type), of_row});
    return p;
  }
  int row(enum row_use::how how, int index, const instruction& now) {
    const int p = add_place(-1);
    k_.rows.push_back({how, static_cast<std::int16_t>(p), static_cast<std::int16_t>(index), size_of(type_of(now)), 0});
    return p;
  }
  int kept_number(int i) const {
    return static_cast<int>(std::count_if(values_, values_ + i, [](const value_facts& v) { return v.kept >= 0; }));
  }

  void value(int i) {
    const instruction& now = t_[i];
    std::int16_t& place = place_of_[at(i)];
    auto is = [&](int p) { place = static_cast<std::int16_t>(p); };
    if (roles_[at(i)] == role::read_back) return is(row(row_use::how::kept_before, kept_number(i), now));
    if (now.code == opcode::constant) {
      program_.constants.emplace_back();
      spreading(now.type)(program_.constants.back().data(), now.literal);
      return is(add_place(0, program_.constants.back().data()));
    }
    if (now.code == opcode::scalar) return is(number(now, false, now.slot));
    if (now.code == opcode::leaf) {
      const int p = add_place(-1);
      if (once(i)) k_.places.back().mask = 0;
      k_.places.back().offset = fixed_workspace(static_cast<std::size_t>(vector_bytes));
      k_.leaves.push_back({static_cast<std::int16_t>(p), now.slot, once(i), size_of(now.type), 0});
      return is(now.type == type_of(now) ? p : convert_step(once(i), now.type, type_of(now), p));
    }
    if (const int r = values_[i].reduction; r >= 0)
      return is(kind_ == kernel_kind::rows ? row(row_use::how::finished, r, now) : number(now, true, r));
    is(op(i));
    if (kind_ == kernel_kind::pass && values_[i].kept == pass_ && !once(i)) {
      // Made in the row that keeps it, and read from there.
      k_.rows.push_back(
          {row_use::how::kept_here, place, static_cast<std::int16_t>(kept_number(i)), size_of(type_of(now)), 0});
      std::erase_if(buffers_, [&](const buffer& b) { return b.place == place; });
    }
  }
  // A comparison that one choice asks for is made as it chooses, and a sum or product that goes into one other with it.
  void join_steps() {
    std::vector<int> uses(roles_.size());
    auto use = [&](int i) {
      if (i >= 0) ++uses[at(i)];
    };
    for (int i = 0; i < t_.size; ++i) {
      // A reduction keeps its operand apart, whichever pass takes it.
      const int times = values_[i].reduction >= 0 ? 2 : roles_[at(i)] != role::none;
      for (int k = 0; k < times; ++k) use(t_[i].a), use(t_[i].b), use(t_[i].c);
    }
    for (int r = 0; r < 2 * t_.result_count; ++r) use(t_.results[r / 2]);
    auto free = [&](int i) {
      return i >= 0 && roles_[at(i)] == role::each && uses[at(i)] == 1 && values_[i].kept < 0 && !joins(t_[i].a) &&
             !joins(t_[i].b);
    };
    for (int i = 0; i < t_.size; ++i) {
      const instruction& now = t_[i];
      if (roles_[at(i)] != role::each || now.a < 0 || joins(now.a) || joins(now.b)) continue;
      const dtype type = type_of(now);
      if (now.c >= 0) {
        if (!free(now.a)) continue;
        const instruction& asked = t_[now.a];
        if (asked.type == dtype::boolean && asked.b >= 0 && asked.c < 0 && type_of(t_[asked.b]) == type &&
            type_of(t_[now.b]) == type && choice(asked.code, type))
          roles_[at(now.a)] = role::joined;
      } else if (now.b >= 0) {
        for (const bool swapped : {false, true}) {
          const int inner = swapped ? now.b : now.a;
          if (!free(inner) || type_of(t_[inner]) != type || !pair_of(t_[inner].code, now.code, swapped, type)) continue;
          roles_[at(inner)] = role::joined;
          break;
        }
      }
    }
  }
  bool joins(int i) const { return i >= 0 && roles_[at(i)] == role::joined; }

  int op(int i) {
    const instruction& now = t_[i];
    const bool once = this->once(i);
    const dtype made = type_of(now);
    if (joins(now.a) && now.c >= 0) {
      const instruction& asked = t_[now.a];
      return add_step(once, choice(asked.code, made), made, lanes_of(made), operand_of(asked.a), operand_of(asked.b),
                      operand_of(now.b), operand_of(now.c));
    }
    if (joins(now.a) || joins(now.b)) {
      const bool first = joins(now.a);
      const instruction& inner = t_[first ? now.a : now.b];
      const bool rounds_once = inner.code == op_facts_table.mul && now.code != op_facts_table.mul;
      const strip_function run = rounds_once ? joined_product(made, now.code == op_facts_table.add ? 0
                                                                    : first                        ? 1
                                                                                                   : 2)
                                             : pair_of(inner.code, now.code, !first, made);
      return add_step(once, run, made, lanes_of(made), operand_of(inner.a), operand_of(inner.b),
                      operand_of(first ? now.b : now.a));
    }
    const int a = operand_of(now.a), b = operand_of(now.b), c = operand_of(now.c);
    if (now.code == op_facts_table.cast) {
      const dtype from = type_of(t_[now.a]);
      // A cast to a half type rounds through it; the value goes on as a float.
      if (now.type != type_of(now))
        return convert_step(once, now.type, type_of(now), convert_step(once, from, now.type, a));
      return from == now.type ? a : convert_step(once, from, now.type, a);
    }
    const int last = now.c >= 0 ? now.c : now.b >= 0 ? now.b : now.a;
    const dtype type = type_of(t_[last]);
    const strip_function run = strip_of(now.code, type, step_width(t_));
    if (!run) {
      const found_rules rules = op_facts_table.find(now.code);
      throw value_error(message("interpreter: ", rules ? rules->name : "an unknown op", " of ", name(type),
                                " is nothing that it computes: write composite ops out before (expand)"));
    }
    return add_step(once, run, type_of(now), lanes_of(type), a, b, c);
  }
  int operand_of(int i) const { return i < 0 ? -1 : place_of_[at(i)]; }

  void folds() {
    if (kind_ != kernel_kind::pass) return;
    const int width = step_width(t_);
    k_.side_by_side = accumulators(work_);
    for (int i = 0; i < t_.size; ++i) {
      const value_facts& v = values_[i];
      if (v.reduction < 0 || v.phase != pass_ + 1) continue;
      const fold_functions f = fold_of(t_[i].code, type_of(t_[i]), width);
      if (!f.add)
        throw value_error(message("interpreter: ", op_facts_table.find(t_[i].code)->name, " of ", name(t_[i].type),
                                  " is nothing that it computes"));
      fold_use fold{.reduction = v.reduction, .functions = f};
      auto operand = [&](int x) {
        read(operand_of(x), end());
        return static_cast<std::int16_t>(operand_of(x));
      };
      if (joins(t_[i].a)) {
        fold.place = operand(t_[t_[i].a].a);
        fold.factor = operand(t_[t_[i].a].b);
      } else {
        fold.place = operand(t_[i].a);
      }
      k_.folds.push_back(fold);
    }
    if (k_.folds.empty()) k_.side_by_side = 1;
    if (!k_.folds.empty()) k_.granule = k_.side_by_side * width;
    const std::int64_t longest = longest_strip(!k_.folds.empty(), k_.side_by_side, width);
    program_.program.pass_length = std::min(program_.program.pass_length, longest);
  }
  int end() const { return static_cast<int>(k_.each.size()); }

  void results() {
    if (delivers_results(facts_, kind_, pass_, program_.program.reduction_rooted)) {
      for (int r = 0; r < t_.result_count; ++r)
        if (t_.results[r] >= 0) result(r, t_.results[r], program_.stores[at(r)], true);
    } else if (kind_ == kernel_kind::operands) {
      for (int i = 0; i < t_.size; ++i)
        if (values_[i].reduction >= 0 && values_[i].phase == 1)
          result(values_[i].reduction, t_[i].a, type_of(t_[i]), false);
    }
  }
  void result(int index, int i, dtype stored, bool adds) {
    const int p = operand_of(i);
    const dtype type = type_of(t_[i]), as = kiln::compute_type(stored);
    result_use r{.index = static_cast<std::int16_t>(index),
                 .value = static_cast<std::int16_t>(p),
                 .store = conversion(type, stored),
                 .size = size_of(stored)};
    k_.unit = std::max<std::int64_t>(k_.unit, lanes_of(type, stored));
    if (adds && stored != dtype::boolean) {
      r.add = addition(stored);
      if (as != type) {
        r.to_stored = conversion(type, as);
        converts_ = true;
      }
    }
    for (buffer& b : buffers_) {
      if (b.place != p) continue;
      r.non_temporal = type == stored;
      const bool taken = std::any_of(k_.results.begin(), k_.results.end(),
                                     [&](const result_use& o) { return o.direct && o.value == p; });
      if (type == stored && !taken) {
        r.direct = b.exclusive = true;
        r.made_last = b.made == end() - 1;
      }
    }
    for (result_use& other : k_.results)
      if (other.value == p) other.shared = r.shared = true;
    read(p, end());
    k_.results.push_back(r);
  }

  // Buffers by their spans of life; then all memory of a run, one piece after the other.
  void lay_out() {
    k_.granule = std::max(k_.granule, k_.unit);
    std::size_t widest = 1;
    for (const buffer& b : buffers_) widest = std::max(widest, b.size);
    std::vector<int> free_from;  // per buffer of memory: the first step that may fill it anew
    std::vector<std::size_t> held;
    for (buffer& b : buffers_) {
      if (!b.exclusive)
        for (std::size_t n = 0; n < free_from.size() && b.number < 0; ++n)
          // A result may lie on an operand that is read for the last time, if its elements are not wider.
          if (free_from[n] < b.made || (free_from[n] == b.made && b.size <= held[n])) b.number = static_cast<int>(n);
      if (b.number < 0) {
        b.number = static_cast<int>(free_from.size());
        free_from.push_back(0);
        held.push_back(0);
      }
      free_from[at(b.number)] = b.exclusive ? end() + 1 : b.last;
      held[at(b.number)] = b.size;
    }
    // A value that nobody reads does not happen, but for results that are not asked for: made and forgotten.
    const std::size_t streams = k_.leaves.size() + k_.rows.size() + k_.results.size();
    k_.block = largest_block;
    while (k_.block > smallest_block &&
           (free_from.size() + streams) * widest * static_cast<std::size_t>(k_.block) > cache_share)
      k_.block /= 2;
    k_.block = std::max(k_.block, k_.granule);
    for (leaf_use& l : k_.leaves)
      if (!l.once) l.tail = fixed_workspace(l.size * static_cast<std::size_t>(k_.granule));
    for (row_use& r : k_.rows) r.tail = fixed_workspace(r.size * static_cast<std::size_t>(k_.granule));
    for (result_use& r : k_.results) r.tail = fixed_workspace(r.size * static_cast<std::size_t>(k_.granule));
    const std::size_t block = static_cast<std::size_t>(k_.block);
    if (converts_) k_.conversions = fixed_workspace(8 * block);
    for (const buffer& b : buffers_)
      k_.places[at(b.place)].offset =
          static_cast<std::int64_t>(fixed_ + static_cast<std::size_t>(b.number) * block * widest);
    k_.bytes = fixed_ + free_from.size() * block * widest;
  }

  // Half of the first-level cache of a common processor holds a block's values and what is read and written for them.
  static constexpr std::size_t cache_share = 32768;
  static constexpr std::int64_t smallest_block = 256, largest_block = 2048;

  program_plan& program_;
  const tape_view& t_;
  const value_facts* values_;
  const tape_facts& facts_;
  kernel_kind kind_;
  int pass_;
  std::vector<role> roles_;
  std::vector<std::int16_t> place_of_;
  std::vector<buffer> buffers_;
  std::size_t fixed_ = 0;
  int work_ = 0;  ///< values that a compiled kernel computes per element
  bool converts_ = false;
  kernel_plan k_;
};

}  // namespace interpreter::detail
}  // namespace kiln::cpu::inline KILN_VERSION_ISA
