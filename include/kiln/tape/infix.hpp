// SPDX-License-Identifier: BSL-1.0
// Tapes for people: `infix` prints one as a formula, `listing` instruction by instruction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/core/version.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tape/rules.hpp>

namespace kiln {

/// What leaves and run-time numbers are called in print, by slot: x0 x1 ... and n0 n1 ... where no name is given.
struct tape_names {
  std::vector<std::string> leaves, numbers;
};

/// The shortest text that reads back as the value held by an element of this type: 0.1, not 0.100000001.
std::string number_text(double value, dtype type);

namespace detail {

std::string name_in(const std::vector<std::string>& names, int slot, const char* otherwise);

std::string leaf_text(const instruction& now, const tape_names& names);

/// How tightly an operator binds, as in C++; higher is tighter. Operators are symbols of the language, not ops.
int precedence(std::string_view symbol, int arity);

class infix_printer {
 public:
  infix_printer(const tape_view& t, const rule_table& ops, const tape_names& names)
      : t_(t),
        ops_(ops),
        names_(names),
        uses_(static_cast<std::size_t>(t.size), 0),
        texts_(static_cast<std::size_t>(t.size)) {}

  std::string print() {
    count_uses();
    std::string out;
    const bool lets = written_out_length() > line_length;
    for (int i = 0; i < t_.size; ++i) {
      if (uses_[at(i)] == 0) continue;
      texts_[at(i)] = text_of(i);
      if (lets && uses_[at(i)] > 1 && is_op(t_[i].code)) {
        const std::string name = "t" + std::to_string(lets_++);
        out += name + " = " + texts_[at(i)].text + "\n";
        texts_[at(i)] = {name, atom};
      }
    }
    for (int r = 0; r < t_.result_count; ++r) {
      if (t_.result_count > 1) out += "y" + std::to_string(r) + " = ";
      out += t_.results[r] < 0 ? "none" : texts_[at(t_.results[r])].text;
      if (r + 1 < t_.result_count) out += "\n";
    }
    return out;
  }

 private:
  static constexpr int atom = 100, line_length = 100;
  struct piece {
    std::string text;
    int precedence = atom;
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  template <class F>
  static void each_operand(const instruction& now, F f) {
    if (now.a >= 0) f(now.a);
    if (now.b >= 0) f(now.b);
    if (now.c >= 0) f(now.c);
  }

  void count_uses() {
    for (int r = 0; r < t_.result_count; ++r)
      if (t_.results[r] >= 0) ++uses_[at(t_.results[r])];
    for (int i = t_.size - 1; i >= 0; --i)
      if (uses_[at(i)] > 0) each_operand(t_[i], [&](int operand) { ++uses_[at(operand)]; });
  }
  /// How long the text would be if nothing had a name. It can grow exponentially, so it is not tried out.
  double written_out_length() const {
    std::vector<double> length(at(t_.size), 0);
    double total = 0;
    for (int i = 0; i < t_.size; ++i) {
      length[at(i)] = is_op(t_[i].code) ? 3.0 : static_cast<double>(leaf_text(t_[i], names_).size());
      if (const found_rules op = ops_.find(t_[i].code); op && op->infix.empty())
        length[at(i)] += static_cast<double>(op->name.size());
      each_operand(t_[i], [&](int operand) { length[at(i)] += length[at(operand)]; });
    }
    for (int r = 0; r < t_.result_count; ++r)
      if (t_.results[r] >= 0) total = std::max(total, length[at(t_.results[r])]);
    return total;
  }
  std::string wrapped(int operand, bool parentheses) const {
    const std::string& text = texts_[at(operand)].text;
    return parentheses ? "(" + text + ")" : text;
  }
  piece text_of(int i) const {
    const instruction& now = t_[i];
    if (!is_op(now.code)) {
      std::string text = leaf_text(now, names_);
      const bool negative = text.front() == '-';
      return {std::move(text), negative ? precedence("-", 1) : atom};
    }
    const found_rules op = ops_.find(now.code);
    if (op && op->arity == 1 && !op->infix.empty()) {
      const int mine = precedence(op->infix, 1), theirs = texts_[at(now.a)].precedence;
      return {std::string(op->infix) + wrapped(now.a, theirs <= mine), mine};  // -(-x), not --x
    }
    if (op && op->arity == 2 && !op->infix.empty()) {
      const int mine = precedence(op->infix, 2), left = texts_[at(now.a)].precedence,
                right = texts_[at(now.b)].precedence;
      // Rounding makes a + (b + c) another value than a + b + c: the right side keeps its parentheses.
      return {wrapped(now.a, left < mine) + " " + std::string(op->infix) + " " + wrapped(now.b, right <= mine), mine};
    }
    std::string text(now.code == ops_.cast ? name(now.type) : op ? op->name : "unknown_op");
    text += "(";
    const char* between = "";
    each_operand(now, [&](int operand) {
      text += between + texts_[at(operand)].text;
      between = ", ";
    });
    return {text + ")", atom};
  }

  const tape_view& t_;
  const rule_table& ops_;
  const tape_names& names_;
  std::vector<int> uses_;
  std::vector<piece> texts_;
  int lets_ = 0;
};

}  // namespace detail

/// The formula of a tape: `relu(x0 * x1 + x2)`. Only the parentheses that matter are printed; casts look like
/// `float32(x0)`. Where that would not fit a line, values used more than once get a line of their own first,
/// `t0 = exp(x0 - max(x0))`. A tape with several results prints a line `y0 = ...` for each, `none` for a result that is
/// not there.
std::string infix(const tape_view& t, const rule_table& ops, const tape_names& names = {});

/// The tape, one instruction a line: `%3 = mul float32 %0 %1`; leaves, numbers and constants with their name or value;
/// `per row` marks a leaf that holds one value per row. The last line names the results.
std::string listing(const tape_view& t, const rule_table& ops, const tape_names& names = {});

}  // namespace kiln

#ifndef KILN_COMPILED
#include <kiln/tape/infix_impl.hpp>
#endif
