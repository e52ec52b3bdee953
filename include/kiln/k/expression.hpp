// SPDX-License-Identifier: BSL-1.0
// Formulas as text, read once: names, numbers, operators and pointwise functions by their names in q, from right to
// left as q does; what comes out is a list of steps for pending calls.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/k/convert.hpp>
#include <kiln/k/math.hpp>

namespace kiln::k {

/// A formula that has been read: the names of its operands in order of first appearance, and its steps.
class expression {
 public:
  /// Reads a formula.
  /// @throws value_error with the position for anything that is no formula
  explicit expression(std::string_view text) : text_(text) {
    read_right_to_left();
    skip();
    if (at_ < text_.size()) fail(at_, message("unexpected `", text_[at_], "`"));
  }

  const std::vector<std::string>& names() const { return names_; }

  /// The value for operands in the order of `names`, as calls that stay pending where calls do.
  tensor operator()(std::span<const tensor> operands) const {
    std::vector<tensor> stack;
    for (const step& each : steps_) {
      if (each.op.empty()) {
        stack.push_back(each.place < 0 ? each.number : operands[static_cast<std::size_t>(each.place)]);
        continue;
      }
      const std::span<const tensor> taken = std::span<const tensor>(stack).last(static_cast<std::size_t>(each.arity));
      tensor result = dynamic::call(each.op, taken);
      stack.resize(stack.size() - taken.size());
      stack.push_back(std::move(result));
    }
    // An operand by itself: a tensor of its own, not another name for it.
    return steps_.size() == 1 && steps_[0].place >= 0 ? stack[0].clone() : stack[0];
  }

 private:
  /// Puts an operand or a number on the stack, or replaces what an operation takes by its result.
  struct step {
    std::string_view op;
    int arity = 0, place = -1;
    tensor number{};
  };
  struct operator_row {
    std::string_view text, op;
  };
  static constexpr auto operators = std::to_array<operator_row>({{"<=", "le"},
                                                                 {">=", "ge"},
                                                                 {"<>", "ne"},
                                                                 {"+", "add"},
                                                                 {"-", "sub"},
                                                                 {"*", "mul"},
                                                                 {"%", "div"},
                                                                 {"&", "minimum"},
                                                                 {"|", "maximum"},
                                                                 {"<", "lt"},
                                                                 {">", "gt"},
                                                                 {"=", "eq"}});
  static constexpr int deepest = 500;  // operators and parentheses within each other

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_of_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; }
  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_number(std::size_t ahead = 0) const {
    return is_digit(here(ahead)) || (here(ahead) == '.' && is_digit(here(ahead + 1)));
  }
  void skip() {
    while (here() == ' ' || here() == '\t' || here() == '\n' || here() == '\r') ++at_;
  }
  [[noreturn]] void fail(std::size_t at, std::string_view what) const {
    const bool long_text = text_.size() > 200;
    throw value_error(message("position ", at, " of \"", text_.substr(0, 200), long_text ? "..." : "", "\": ", what));
  }
  void call(std::string_view op, int arity) { steps_.push_back({op, arity}); }
  void push(tensor number) { steps_.push_back({{}, 0, -1, std::move(number)}); }

  /// A term, and where an operator follows, all that is right of it.
  void read_right_to_left() {
    if (++depth_ > deepest) fail(at_, message("more than ", deepest, " operators within each other"));
    read_term();
    skip();
    const auto* row = std::ranges::find_if(operators, [&](const operator_row& each) {
      return std::string_view(text_).substr(at_).starts_with(each.text);
    });
    if (row != operators.end()) {
      at_ += row->text.size();
      read_right_to_left();
      call(row->op, 2);
    } else if (is_of_name(here()) || here() == '(') {
      fail(at_, "an operator is missing before this");
    }
    --depth_;
  }

  void read_term() {
    skip();
    const std::size_t start = at_;
    if (here() == '(') {
      ++at_;
      read_right_to_left();
      skip();
      if (here() == ';') fail(at_, "no lists here: several arguments stand in brackets, maximum[x;y]");
      if (here() != ')') fail(start, "this parenthesis is not closed");
      ++at_;
    } else if (at_number() || (here() == '-' && at_number(1))) {
      read_number();
    } else if (is_letter(here()) || (here() == '.' && is_letter(here(1)))) {
      while (is_of_name(here())) ++at_;
      read_named(start, std::string_view(text_).substr(start, at_ - start));
    } else if (at_ == text_.size()) {
      fail(at_, "a name, number or parenthesis is missing");
    } else {
      fail(at_, here() == '-' ? std::string("`-` has nothing on its left: use Neg")
                              : message("a name, number or parenthesis is missing before `", here(), "`"));
    }
  }

  /// A number as q writes it: a long, or a float with a point, an exponent or `f` behind; `e` behind makes a real.
  void read_number() {
    const std::size_t start = at_;
    const char *first = text_.data() + at_, *last = text_.data() + text_.size();
    std::int64_t whole = 0;
    double real = 0;
    const auto as_long = std::from_chars(first, last, whole);
    const auto as_real = std::from_chars(first, last, real);
    const bool is_long = as_long.ec == std::errc() && as_long.ptr == as_real.ptr;
    if (as_real.ec != std::errc()) fail(start, "a number out of range");
    at_ = static_cast<std::size_t>(as_real.ptr - text_.data());
    const char suffix = here();
    if (suffix == 'f' || suffix == 'e' || suffix == 'j') ++at_;
    if (is_of_name(here())) fail(start, "no number that a formula can have");
    if (suffix == 'j' ? !is_long : false) fail(start, "no long");
    if (!is_long && suffix != 'f' && suffix != 'e' && as_long.ptr == as_real.ptr) fail(start, "a long out of range");
    if (is_long && suffix != 'f' && suffix != 'e')
      push(dynamic::scalar(whole));
    else
      push(dynamic::scalar(real, suffix == 'e' ? dtype::float32 : dtype::float64));
  }

  /// The operation of a function of q's, with its operands and the numbers behind them where none are given.
  struct function {
    std::string_view op;
    int operands = 0;
    std::span<const double> numbers{};
  };
  static function function_named(std::string_view name) {
    function found{math::op_of(math::unary_rows, name), 1};
    if (found.op.empty()) found = {math::op_of(math::binary_rows, name), 2};
    if (found.op.empty() && (name == "add" || name == "sub")) found = {name == "add" ? "add" : "sub", 2};
    if (const auto* row = std::ranges::find(math::parametric_rows, name, &math::parametric_row::name);
        row != math::parametric_rows.end())
      found = {row->op, 1, std::span(row->otherwise).first(row->options[1].empty() ? 1 : 2)};
    if (dynamic::arity_of(found.op) == 0) found.op = {};
    return found;
  }

  void read_named(std::size_t start, std::string_view name) {
    skip();
    const function f = function_named(name);
    if (f.op.empty()) {
      if (here() == '[' || here() == '(' || is_of_name(here()))
        fail(start, message(name, " is no pointwise function, and no operator follows it"));
      const auto known = std::ranges::find(names_, name);
      steps_.push_back({{}, 0, static_cast<int>(known - names_.begin())});
      if (known == names_.end()) names_.emplace_back(name);
      return;
    }
    const int most = f.operands + static_cast<int>(f.numbers.size());
    int given = 0;
    if (here() == '[') {
      do {
        ++at_;
        read_right_to_left();
        ++given;
        skip();
      } while (here() == ';' && given < most);
      if (here() != ']' || given < f.operands)
        fail(start, message(name, " takes ", f.operands, most > f.operands ? message(" to ", most) : std::string(),
                            most > 1 ? " arguments" : " argument", " in its brackets"));
      ++at_;
    } else if (f.operands == 2) {
      fail(start, message(name, " takes two arguments: write ", name, "[x;y]"));
    } else {
      read_right_to_left();
      given = 1;
    }
    for (int i = given; i < most; ++i)
      push(dynamic::scalar(f.numbers[static_cast<std::size_t>(i - f.operands)], dtype::float64));
    call(f.op, most);
  }

  std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> names_;
  std::vector<step> steps_;
};

/// The formula of that text, read when it is first asked for; 256 are remembered.
/// @throws value_error as expression's constructor
inline std::shared_ptr<const expression> expression_of(std::string_view text) {
  static auto& known = *new std::unordered_map<std::string, std::shared_ptr<const expression>>;
  if (const auto place = known.find(std::string(text)); place != known.end()) return place->second;
  auto made = std::make_shared<const expression>(text);
  if (known.size() >= 256) known.clear();
  return known[std::string(text)] = std::move(made);
}

}  // namespace kiln::k
