// SPDX-License-Identifier: BSL-1.0
// The definitions of print_rows.hpp.
#pragma once

#include <string>
#include <vector>

#include <kiln/device/cuda/print/print_rows.hpp>
#include <kiln/device/cuda/print/row_memory.hpp>
#include <kiln/device/cuda/print/row_results.hpp>

namespace kiln::cuda {

namespace detail {

class row_printer {
 public:
  row_printer(const task& job, const plan& p, const tape_view& t)
      : p_(p),
        t_(t),
        values_(t),
        at_(job, p, t, values_),
        signature_(p, out_),
        steps_(p, signature_.index()),
        memory_(p, t, at_, steps_),
        results_(p, t, at_, steps_) {}

  source print() {
    at_.parameters(signature_, true);
    signature_.whole(parameter_kind::rows, "rows");
    for (int r = 0; r < t_.result_count; ++r)
      if (at_.wanted(r) && at_.goes_to_scratch(r)) signature_.scratch(r);
    lines rows;
    print_rows(rows);
    if (faults_) signature_.fault();

    lines body;
    open_kernel(body, "extern \"C\" __global__ void ", bounds_of(p_), " @name(", signature_.text(), ")");
    if (faults_) body.add("uint32 fault = 0;");
    at_.define_draws(body);
    steps_.define_lanes(body);
    steps_.declare_meeting(body, t_);
    steps_.begin(body);
    memory_.declare_shared(body);
    body.insert(rows);
    if (faults_) body.add("if (fault) *fault_flag = fault;");
    body.close();
    finish(out_, t_, p_, body.text(), "reduce");
    return std::move(out_);
  }

 private:
  void print_rows(lines& out) {
    results_.declare_shares(out);
    for (int i = 0; i < t_.size; ++i)
      if (reduces(t_, i)) define_fold(out, t_, i);
    memory_.copy_row(out, "first");
    out.open("for (", steps_.index(), " row = first; row < rows; row += all)");
    if (memory_.any_ahead()) out.add("wait_for_copies();");
    at_.coordinates(out, steps_.index());
    results_.declare_row_sums(out);
    memory_.declare_kept(out);
    memory_.load_row(out);
    for (int pass = 0; pass < memory_.passes(); ++pass) {
      define_row_values(out, pass);
      print_pass(out, pass);
    }
    define_row_values(out, memory_.last_phase());
    if (p_.reduction_rooted) results_.deliver_rows(out, values_);
    results_.deliver_row_sums(out);
    steps_.end_row(out);
    out.close();
    results_.deliver_shares(out);
    faults_ |= values_.faults();
  }

  // Values of a row, and numbers, that can be had before pass `phase`.
  void define_row_values(lines& out, int phase) {
    for (int i = 0; i < t_.size; ++i) {
      const value_facts& facts = memory_.facts(i);
      if (facts.at == level::element || reduces(t_, i) || !values_.at(i).empty() || facts.phase > phase) continue;
      if (t_[i].code == opcode::leaf)
        values_.define(out, i, message("value_of(*(", at_.begin(message("x", t_[i].slot), at_.leaf(t_[i].slot)), "))"));
      else
        values_.define(out, i);
    }
  }

  void print_pass(lines& out, int pass) {
    const bool delivers = !p_.reduction_rooted && pass == memory_.passes() - 1;
    std::vector<int> reductions;
    for (int i = 0; i < t_.size; ++i)
      if (reduces(t_, i) && memory_.facts(i).phase == pass + 1) reductions.push_back(i);
    for (const int i : reductions) begin_fold(out, t_, i);
    // Where rows are whole steps, nothing has to be asked of each element, and nothing at all of the first steps.
    lines inside;
    steps_.skip_missing(inside);
    steps_.count_some(inside);
    const std::vector<role> roles = memory_.roles_in(pass);
    memory_.forget_step(inside, roles, pass);
    memory_.load(inside, roles);
    if (delivers) results_.declare_step(inside);
    inside.add("#pragma unroll");
    inside.open("for (int k = 0; k < ", p_.step, "; ++k)");
    if (!p_.even) inside.add("if (k >= some) continue;");
    statements values = values_;  // element values live in this loop alone
    for (int i = 0; i < t_.size; ++i) {
      const role as = roles[static_cast<std::size_t>(i)];
      if (as == role::each || as == role::read_back) memory_.define_element(inside, values, i, as);
    }
    for (const int i : reductions) inside.add("v", i, " = fold", i, "(v", i, ", ", values.at(t_[i].a), ");");
    if (delivers) results_.put_element(inside, values);
    faults_ |= values.faults();
    inside.close();
    if (delivers) results_.store_step(inside);
    steps_.loop(out, inside);
    if (pass == 0) memory_.copy_row(out, "row + all");
    std::vector<fold> folds;
    for (const int i : reductions) folds.push_back(fold_of(t_, i));
    steps_.fold_all(out, folds);
    for (const int i : reductions) values_.at(i) = message("v", i);
  }

  const plan& p_;
  const tape_view& t_;
  source out_;
  statements values_;
  walk at_;
  signature signature_;
  row_steps steps_;
  row_memory memory_;
  row_results results_;
  bool faults_ = false;
};

}  // namespace detail

KILN_INLINE source print_rows(const task& job, const plan& p) {
  program merged;
  detail::merge_leaves(job, p, merged);
  const tape_view t = detail::view_of(merged);
  return detail::row_printer(job, p, t).print();
}

}  // namespace kiln::cuda
