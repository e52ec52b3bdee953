// SPDX-License-Identifier: BSL-1.0
// Prints row programs: as many passes over each row as reductions depend on each other, the row in registers of a warp
// or a block, or read again for every pass if it is long. Maps with results that are sums over the rows or along them
// are row programs without reductions. Read `row_printer::print`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/plan/specialise_rows.hpp>
#include <kiln/device/cuda/print/print_map.hpp>

namespace kiln::cuda {

namespace detail {

class row_printer {
 public:
  row_printer(const task& job, const plan& p, const tape_view& t)
      : p_(p), t_(t), values_(t), at_(job, p, t, values_), facts_(facts_of(t, p.leaves)) {
    passes_ = facts_.last_phase + (p.reduction_rooted ? 0 : 1);
    kept_since_.assign(static_cast<std::size_t>(t.size), -1);
    plan_passes();
  }

  source print() {
    source out;
    signature s(p_, out);
    at_.parameters(s, true);
    s.whole(parameter_kind::rows, "rows");
    for (int r = 0; r < t_.result_count; ++r)
      if (at_.wanted(r) && at_.goes_to_scratch(r)) s.scratch(r);
    const std::string_view index = s.index();
    lines rows;
    print_rows(rows, index);
    if (values_.faults() || faults_) s.fault();

    lines body;
    body.open("extern \"C\" __global__ void __launch_bounds__(", p_.threads, ") @name(", s.text(), ")");
    if (faults_) body.add("uint32 fault = 0;");
    at_.define_draws(body);
    if (p_.shape == kernel_shape::warp_per_row) {
      body.add("const int lane = threadIdx.x % ", p_.lanes, ";");
      body.add("const ", index, " first = ", index, "(blockIdx.x) * ", p_.threads / p_.lanes, " + threadIdx.x / ",
               p_.lanes, ", all = ", index, "(gridDim.x) * ", p_.threads / p_.lanes, ";");
    } else {
      body.add("const int lane = threadIdx.x;");
      body.add("const ", index, " first = blockIdx.x, all = gridDim.x;");
      if (folds_ > 0) body.add("__shared__ uint64 meeting[", 32 * folds_, "];");
      declare_shared(body);
    }
    body.insert(rows);
    if (faults_) body.add("if (fault) *fault_flag = fault;");
    body.close();
    finish(out, t_, p_, body.text(), "reduce");
    return out;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool held() const { return p_.held > 0; }
  int group() const { return p_.shape == kernel_shape::warp_per_row ? p_.lanes : p_.threads; }
  // How many of the steps that a thread holds are whole in every row of this plan: plan_rows takes as few as hold a
  // row, and for a warp the power of two from there on.
  int whole_steps() const { return p_.shape == kernel_shape::warp_per_row ? p_.held / 2 : held() ? p_.held - 1 : 0; }
  bool reduces(int i) const {
    const found_rules op = op_rules_table.find(t_[i].code);
    return op && op->reduces;
  }
  bool expensive(int i) const {
    const found_rules op = op_rules_table.find(t_[i].code);
    return op && op->expensive && !op->reduces;
  }
  bool per_element(int i) const { return facts_.values[at(i)].at == level::element; }

  // ---- which element values each pass computes --------------------------------------------------------------------
  void mark(std::vector<bool>& needed, int i, int pass) const {
    if (i < 0 || !per_element(i) || needed[at(i)]) return;
    needed[at(i)] = true;
    if (kept_since_[at(i)] >= 0 && kept_since_[at(i)] < pass) return;
    mark(needed, t_[i].a, pass);
    mark(needed, t_[i].b, pass);
    mark(needed, t_[i].c, pass);
  }
  std::vector<bool> needed_in(int pass) const {
    std::vector<bool> needed(at(t_.size));
    for (int i = 0; i < t_.size; ++i)
      if (reduces(i) && facts_.values[at(i)].phase == pass + 1) mark(needed, t_[i].a, pass);
    if (delivers(pass))
      for (int r = 0; r < t_.result_count; ++r)
        if (at_.wanted(r)) mark(needed, t_.results[r], pass);
    return needed;
  }
  bool delivers(int pass) const { return !p_.reduction_rooted && pass == passes_ - 1; }
  // In registers: leaves and expensive values stay from the pass that has them first.
  void plan_passes() {
    for (int pass = 0; pass < passes_ && held(); ++pass) {
      const std::vector<bool> now = needed_in(pass);
      for (int i = 0; i < t_.size; ++i) {
        if (!now[at(i)] || kept_since_[at(i)] >= 0 || is_address(t_[i]) ||
            !((expensive(i) && !p_.recompute) || t_[i].code == opcode::leaf))
          continue;
        for (int later = pass + 1; later < passes_; ++later)
          if (needed_in(later)[at(i)]) kept_since_[at(i)] = static_cast<std::int16_t>(pass);
      }
    }
    for (int pass = 0; pass < passes_; ++pass) needed_.push_back(needed_in(pass));
  }
  bool kept(int i) const { return kept_since_[at(i)] >= 0; }

  // ---- the loop over rows -----------------------------------------------------------------------------------------
  void print_rows(lines& out, std::string_view index) {
    for (int r = 0; r < t_.result_count; ++r) declare_shares(out, r);
    for (int i = 0; i < t_.size; ++i)
      if (reduces(i))
        out.add("const auto fold", i, " = [](", value_name(t_[i].type), " a, ", value_name(t_[i].type), " b) { return ",
                value_name(t_[i].type), "(", spelling_of(t_[i].code).combine(t_[i].type, "a", "b"), "); };");
    if (any_ahead()) copy_row(out, "first", index);
    out.open("for (", index, " row = first; row < rows; row += all)");
    if (any_ahead()) out.add("wait_for_copies();");
    at_.coordinates(out, index);
    for (int r = 0; r < t_.result_count; ++r)
      if (at_.wanted(r) && at_.sum(r) == summed::along_row) out.add(computed(r), " y", r, "_sum = 0;");
    declare_kept(out);
    for (int pass = 0; pass < passes_; ++pass) {
      define_row_values(out, pass);
      print_pass(out, pass, index);
    }
    define_row_values(out, facts_.last_phase);
    if (p_.reduction_rooted) deliver_rows(out);
    for (int r = 0; r < t_.result_count; ++r) deliver_row_sum(out, r);
    if (folds_ > 0 && p_.shape != kernel_shape::warp_per_row) out.add("__syncthreads();");
    out.close();
    bool shares = false;
    for (int r = 0; r < t_.result_count; ++r) shares |= at_.wanted(r) && at_.goes_to_scratch(r);
    if (shares && several_rows_a_warp())
      out.add("const ", index, " warp = ", index, "(blockIdx.x) * ", p_.threads / 32, " + threadIdx.x / 32;");
    for (int r = 0; r < t_.result_count; ++r) deliver_shares(out, r, index);
  }
  bool several_rows_a_warp() const { return p_.shape == kernel_shape::warp_per_row && p_.lanes < 32; }
  std::string_view computed(int r) const { return value_name(p_.stores[at(r)]); }
  std::string_view lead() const { return "lane == 0"; }
  // ---- rows in shared memory: each thread reads what it has put there itself ----------------------------------------
  row_place place_of(int slot) const { return at_.leaf(slot).kept; }
  bool any_ahead() const {
    bool any = false;
    at_.each_leaf([&](int slot, dtype) { any |= place_of(slot) == row_place::ahead; });
    return any;
  }
  void declare_shared(lines& out) const {
    if (p_.shared_bytes == 0) return;
    out.add("extern __shared__ __align__(16) uint64 row_memory[];");
    std::size_t words = 0;
    at_.each_leaf([&](int slot, dtype type) {
      if (place_of(slot) == row_place::registers) return;
      out.add("auto* const x", slot, "_kept = reinterpret_cast<vec<", storage_name(type), ", ", p_.step,
              ">*>(row_memory + ", words, ");");
      words += at(p_.held * p_.threads * p_.step) * size_of(type) / 8;
    });
  }
  std::string kept_at(int slot) const { return message("x", slot, "_kept[h * ", p_.threads, " + lane]"); }
  // Copies a row to where the next round of the loop takes it from.
  void copy_row(lines& out, std::string_view row, std::string_view index) const {
    out.open("if (const ", index, " next = ", row, "; next < rows)");
    out.add("const ", index, " row = next;");
    at_.coordinates(out, index);
    out.add("#pragma unroll");
    out.open("for (int h = 0; h < ", p_.held, "; ++h)");
    out.add("const ", index, " i = (h * ", group(), " + lane) * ", p_.step, ";");
    if (whole_steps() < p_.held)
      out.add("if (", whole_steps() > 0 ? message("h >= ", whole_steps(), " && ") : "", "i >= size", p_.rank - 1,
              ") continue;");
    at_.each_leaf([&](int slot, dtype) {
      if (place_of(slot) == row_place::ahead)
        out.add("copy_ahead(&", kept_at(slot), ", ", at_.begin(walk::leaf_name(slot), at_.leaf(slot)), " + i);");
    });
    out.close();
    out.close();
  }

  void declare_kept(lines& out) {
    for (int i = 0; i < t_.size; ++i) {
      if (!kept(i) || (t_[i].code == opcode::leaf && place_of(t_[i].slot) == row_place::shared)) continue;
      if (t_[i].code == opcode::leaf)
        out.add("vec<", storage_name(t_[i].type), ", ", p_.step, "> x", t_[i].slot, "_at[", p_.held, "];");
      else
        out.add("vec<", value_name(t_[i].type), ", ", p_.step, "> v", i, "_at[", p_.held, "];");
    }
  }
  // Values of a row, and numbers, that can be had before pass `phase`.
  void define_row_values(lines& out, int phase) {
    for (int i = 0; i < t_.size; ++i) {
      if (per_element(i) || reduces(i) || !values_.at(i).empty() || facts_.values[at(i)].phase > phase) continue;
      if (t_[i].code == opcode::leaf)
        values_.define(out, i, message("value_of(*(", at_.begin(message("x", t_[i].slot), at_.leaf(t_[i].slot)), "))"));
      else
        values_.define(out, i);
    }
    faults_ |= values_.faults();
  }

  void print_pass(lines& out, int pass, std::string_view index) {
    std::vector<int> reductions;
    for (int i = 0; i < t_.size; ++i)
      if (reduces(i) && facts_.values[at(i)].phase == pass + 1) reductions.push_back(i);
    for (const int i : reductions)
      out.add(value_name(t_[i].type), " v", i, " = ", literal(t_[i].type, spelling_of(t_[i].code).identity(t_[i].type)),
              ";");
    if (held()) {
      out.add("#pragma unroll");
      out.open("for (int h = 0; h < ", p_.held, "; ++h)");
      out.add("const ", index, " i = (h * ", group(), " + lane) * ", p_.step, ";");
    } else {
      out.open("for (", index, " i = lane * ", p_.step, "; i < size", p_.rank - 1, "; i += ", group() * p_.step, ")");
    }
    // Where rows are whole steps, nothing has to be asked of each element, and nothing at all of the first steps.
    const int whole = whole_steps();
    if (p_.even && held())
      out.add("if (", whole > 0 ? message("h >= ", whole, " && ") : "", "i >= size", p_.rank - 1, ") continue;");
    if (!p_.even)
      out.add("const int some = ", whole > 0 ? message("h < ", whole, " ? ", p_.step, " : ") : "", "at_most<", p_.step,
              ">(size", p_.rank - 1, " - i);");
    const std::vector<bool>& needed = needed_[at(pass)];
    load(out, needed, pass);
    if (delivers(pass))
      for (int r = 0; r < t_.result_count; ++r)
        if (stored_here(r)) out.add("vec<", at_.held_type(r), ", ", p_.step, "> y", r, "_at;");
    out.add("#pragma unroll");
    out.open("for (int k = 0; k < ", p_.step, "; ++k)");
    if (!p_.even) out.add("if (k >= some) continue;");
    statements values = values_;  // element values live in this loop alone
    for (int i = 0; i < t_.size; ++i)
      if (needed[at(i)]) define_element(out, values, i, pass);
    for (const int i : reductions) out.add("v", i, " = fold", i, "(v", i, ", ", values.at(t_[i].a), ");");
    if (delivers(pass))
      for (int r = 0; r < t_.result_count; ++r) put_element(out, values, r);
    faults_ |= values.faults();
    out.close();
    if (delivers(pass))
      for (int r = 0; r < t_.result_count; ++r)
        if (stored_here(r)) at_.store_step(out, r);
    out.close();
    if (pass == 0 && any_ahead()) copy_row(out, "row + all", index);
    std::vector<fold> folds;
    for (const int i : reductions)
      folds.push_back(
          {message("v", i), message("fold", i), literal(t_[i].type, spelling_of(t_[i].code).identity(t_[i].type))});
    fold_all(out, folds);
    for (const int i : reductions) values_.at(i) = message("v", i);
  }
  bool stored_here(int r) const { return at_.wanted(r) && at_.sum(r) == summed::nothing; }

  void load(lines& out, const std::vector<bool>& needed, int pass) {
    std::vector<bool> seen(p_.leaves.size());
    for (int i = 0; i < t_.size; ++i) {
      if (!needed[at(i)] || t_[i].code != opcode::leaf || seen[at(t_[i].slot)]) continue;
      seen[at(t_[i].slot)] = true;
      if (is_address(t_[i])) continue;
      const int slot = t_[i].slot;
      const bool ahead = place_of(slot) == row_place::ahead, first = kept_since_[at(i)] == pass;
      const std::string value = ahead && pass == 0 ? kept_at(slot) : at_.load_step(slot);
      if (!kept(i)) {
        out.add("const auto x", slot, "_at = ", value, ";");
      } else if (place_of(slot) != row_place::shared) {
        if (first) out.add("x", slot, "_at[h] = ", value, ";");
      } else if (first) {
        out.add("const auto x", slot, "_at = ", value, ";");
        out.add(kept_at(slot), " = x", slot, "_at;");
      } else {
        out.add("const auto x", slot, "_at = ", kept_at(slot), ";");
      }
    }
  }
  void define_element(lines& out, statements& values, int i, int pass) {
    if (is_address(t_[i])) {
      values.define(out, i, at_.element(i));
    } else if (t_[i].code == opcode::leaf) {
      const bool by_step = kept(i) && place_of(t_[i].slot) != row_place::shared;
      values.define(out, i, message("value_of(x", t_[i].slot, by_step ? "_at[h][k])" : "_at[k])"));
    } else if (kept(i) && kept_since_[at(i)] < pass) {
      values.define(out, i, message("v", i, "_at[h][k]"));
    } else {
      values.define(out, i);
      if (kept(i)) out.add("v", i, "_at[h][k] = v", i, ";");
    }
  }
  void put_element(lines& out, statements& values, int r) {
    if (!at_.wanted(r)) return;
    const std::string value = message("stored_as<", at_.sum(r) == summed::nothing ? at_.held_type(r) : computed(r),
                                      ">(", values.at(t_.results[r]), ")");
    switch (at_.sum(r)) {
      case summed::nothing:
        out.add("y", r, "_at[k] = ", value, ";");
        break;
      case summed::across_rows:
        out.add("y", r, "_sum[h][k] += ", value, ";");
        break;
      case summed::along_row:
      case summed::everything:
        out.add("y", r, "_sum += ", value, ";");
        break;
    }
  }

  // ---- folding over the threads of a row --------------------------------------------------------------------------
  struct fold {
    std::string name, how, identity;
  };
  void fold_all(lines& out, const std::vector<fold>& folds) {
    if (folds.empty()) return;
    if (p_.shape == kernel_shape::warp_per_row) {
      const std::string across = p_.lanes == 32 ? std::string("across_warp") : message("across_lanes<", p_.lanes, ">");
      for (const fold& f : folds) out.add(f.name, " = ", across, "(", f.name, ", ", f.how, ");");
      return;
    }
    int place = folds_;
    for (const fold& f : folds) out.add("leave(meeting + ", 32 * place++, ", ", f.name, ", ", f.how, ");");
    out.add("__syncthreads();");
    place = folds_;
    for (const fold& f : folds)
      out.add(f.name, " = collect(meeting + ", 32 * place++, ", ", f.identity, ", ", f.how, ");");
    folds_ = place;
  }

  // ---- results
  // -------------------------------------------------------------------------------------------------------
  void deliver_rows(lines& out) {
    out.open("if (", lead(), ")");
    for (int r = 0; r < t_.result_count; ++r)
      if (at_.wanted(r)) put_one(out, r, values_.at(t_.results[r]));
    out.close();
  }
  void put_one(lines& out, int r, const std::string& value) {
    const std::string place = "*(" + at_.begin(message("y", r), at_.result(r)) + ")";
    const std::string_view type = storage_name(p_.stores[at(r)]);
    if (p_.adds[at(r)])
      out.add(place, " = stored_as<", type, ">(value_of(", place, ") + stored_as<", computed(r), ">(", value, "));");
    else
      out.add(place, " = stored_as<", type, ">(", value, ");");
  }
  void deliver_row_sum(lines& out, int r) {
    if (!at_.wanted(r) || at_.sum(r) != summed::along_row) return;
    fold_all(out, {{message("y", r, "_sum"), "adding()", message(computed(r), "(0)")}});
    out.open("if (", lead(), ")");
    put_one(out, r, message("y", r, "_sum"));
    out.close();
  }
  void declare_shares(lines& out, int r) {
    if (!at_.wanted(r)) return;
    if (at_.sum(r) == summed::across_rows)
      out.add("vec<", computed(r), ", ", p_.step, "> y", r, "_sum[", p_.held, "] = {};");
    else if (at_.sum(r) == summed::everything)
      out.add(computed(r), " y", r, "_sum = 0;");
  }
  // The share of a result that those who hold rows have: one row, or one value. A warp with several rows at a time
  // has one share for all of them.
  void deliver_shares(lines& out, int r, std::string_view index) {
    if (!at_.wanted(r)) return;
    if (at_.sum(r) == summed::everything) {
      if (several_rows_a_warp()) {
        out.add("y", r, "_sum = across_warp(y", r, "_sum, adding());");
        out.add("if (threadIdx.x % 32 == 0) shares", r, "[warp] = y", r, "_sum;");
        return;
      }
      fold_all(out, {{message("y", r, "_sum"), "adding()", message(computed(r), "(0)")}});
      out.add("if (", lead(), ") shares", r, "[first] = y", r, "_sum;");
    } else if (at_.sum(r) == summed::across_rows) {
      out.add("#pragma unroll");
      out.open("for (int h = 0; h < ", p_.held, "; ++h)");
      out.add("const ", index, " i = (h * ", group(), " + lane) * ", p_.step, ";");
      const bool several = several_rows_a_warp();
      if (several) {
        out.add("#pragma unroll");
        out.add("for (int k = 0; k < ", p_.step, "; ++k) y", r, "_sum[h][k] = across_groups<", p_.lanes, ">(y", r,
                "_sum[h][k], adding());");
        out.open("if (threadIdx.x % 32 < ", p_.lanes, ")");
      }
      out.add("store_each(shares", r, " + ", several ? "warp" : "first", " * size", p_.rank - 1, " + i, y", r,
              "_sum[h], at_most<", p_.step, ">(size", p_.rank - 1, " - i));");
      if (several) out.close();
      out.close();
    }
  }

  const plan& p_;
  const tape_view& t_;
  statements values_;
  walk at_;
  row_facts facts_;
  int passes_ = 0, folds_ = 0;
  bool faults_ = false;
  std::vector<std::int16_t> kept_since_;
  std::vector<std::vector<bool>> needed_;
};

}  // namespace detail

/// Prints the row program that `p` plans for `job`, both as plan_rows left them.
source print_rows(const task& job, const plan& p);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/print/print_rows_impl.hpp>
#endif
