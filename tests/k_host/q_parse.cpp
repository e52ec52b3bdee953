// SPDX-License-Identifier: BSL-1.0
// A parser by recursive descent over the characters themselves: terms from left to right, which then associate to the
// right.
#include "q_parse.hpp"

#include "q_literal.hpp"
#include "q_verbs.hpp"

#include <cctype>
#include <cstring>
#include <set>

namespace k_host {

bool is_infix(const std::string& name) {
  static const std::set<std::string> names = {
      "and",     "asof", "bin",   "cor",   "cov",    "cross",  "cut",    "div",    "each",   "except",
      "fby",     "ij",   "in",    "inter", "insert", "like",   "lj",     "mavg",   "mcount", "mmu",
      "mod",     "msum", "or",    "over",  "peach",  "prior",  "rotate", "scan",   "set",    "ss",
      "sublist", "sv",   "uj",    "union", "upsert", "vs",     "wavg",   "within", "wsum",   "xasc",
      "xbar",    "xcol", "xcols", "xdesc", "xexp",   "xgroup", "xkey",   "xlog",   "xprev",  "xrank"};
  return names.count(name) != 0;
}

namespace {

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// A term of an expression: whether it wants arguments on both sides.
struct term {
  branch tree;
  bool verb = false;
  bool last = false;  // has taken all that follows: an assignment, a query
};

class parser {
 public:
  explicit parser(const std::string& text) : text_(text) {}

  std::vector<branch> program() {
    auto result = statements('\0');
    if (place_ < text_.size()) fail(std::string(1, text_[place_]));
    return result;
  }

  [[noreturn]] void fail(const std::string& what) const {
    q_error error(what);
    error.source = text_;
    error.column = static_cast<int>(place_);
    throw error;
  }

 private:
  char here(std::size_t ahead = 0) const { return place_ + ahead < text_.size() ? text_[place_ + ahead] : '\0'; }
  char before() const { return place_ == 0 ? ' ' : text_[place_ - 1]; }

  /// Past white space, and comments, which begin with a slash after white space.
  void skip() {
    while (true) {
      if (place_ < text_.size() && is_space(here())) {
        ++place_;
      } else if (here() == '/' && is_space(before())) {
        while (place_ < text_.size() && here() != '\n') ++place_;
      } else {
        return;
      }
    }
  }

  branch make(form kind, std::size_t column) const {
    auto made = std::make_unique<node>();
    made->kind = kind;
    made->column = static_cast<int>(column);
    return made;
  }
  branch constant(value x, std::size_t column) const {
    branch made = make(form::constant, column);
    made->constant = std::move(x);
    return made;
  }

  branch verb_constant(const std::string& glyph, std::size_t column) const {
    branch made = constant(verb_value(glyph), column);
    made->text = glyph;
    return made;
  }

  std::string word_here() const {
    std::size_t end = place_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '_' ||
                                  (text_[end] == '.' && end + 1 < text_.size() && is_letter(text_[end + 1])))) {
      ++end;
    }
    return text_.substr(place_, end - place_);
  }
  bool starts_name() const { return is_letter(here()) || (here() == '.' && is_letter(here(1))); }

  /// Expressions between semicolons, up to a closing character, which is consumed; '\0' for the end of the text.
  std::vector<branch> statements(char close) {
    const bool query = std::exchange(in_query_, false);
    std::vector<branch> result;
    while (true) {
      skip();
      result.push_back(expression());
      skip();
      if (here() == ';') {
        ++place_;
        continue;
      }
      if (close == '\0') break;
      if (here() != close) fail(std::string(1, here() ? here() : close));
      ++place_;
      break;
    }
    in_query_ = query;
    return result;
  }

  /// Null for an empty one.
  branch expression() {
    skip();
    const std::size_t start = place_;
    if (here() == ':' && here(1) != ':') {
      ++place_;
      skip();
      if (here() == ';' || here() == ']' || here() == ')') return verb_constant(":", start);
      branch made = make(form::give, start);
      made->parts.push_back(expression());
      return made;
    }
    if (here() == '\'' && here(1) != '[') {
      ++place_;
      branch made = make(form::signal, start);
      made->parts.push_back(expression());
      return made;
    }
    std::vector<term> terms;
    while (true) {
      skip();
      if (at_end_of_expression()) break;
      term next = parse_term(!terms.empty() && !terms.back().verb);
      const bool last = next.last;
      terms.push_back(std::move(next));
      if (last) break;
    }
    return terms.empty() ? nullptr : joined(terms, 0);
  }

  bool at_end_of_expression() const {
    const char c = here();
    if (place_ >= text_.size() || std::strchr(";)]}", c)) return true;
    if (!in_query_) return false;
    if (c == ',' && here(1) != '/' && here(1) != '\\' && here(1) != '\'') return true;
    if (!starts_name()) return false;
    const std::string word = word_here();
    return word == "by" || word == "from" || (word == "where" && after_from_);
  }

  branch joined(std::vector<term>& terms, std::size_t i) {
    if (i + 1 == terms.size()) return std::move(terms[i].tree);
    const bool infix = !terms[i].verb && terms[i + 1].verb;
    term& function = terms[infix ? i + 1 : i];
    branch made = make(form::apply, static_cast<std::size_t>(function.tree->column));
    made->parts.push_back(std::move(function.tree));
    if (infix) made->parts.push_back(std::move(terms[i].tree));
    if (infix && i + 2 == terms.size()) {
      made->parts.push_back(nullptr);  // (2+), a projection
    } else {
      made->parts.push_back(joined(terms, i + (infix ? 2 : 1)));
    }
    return made;
  }

  term parse_term(bool after_noun) {
    term result = primary(after_noun);
    while (true) {
      const std::size_t start = place_;
      if (here() == '[') {
        ++place_;
        branch made = make(form::apply, static_cast<std::size_t>(result.tree->column));
        made->parts.push_back(std::move(result.tree));
        auto arguments = statements(']');
        if (arguments.size() == 1 && !arguments[0]) arguments[0] = constant(general_null(), start);
        for (auto& argument : arguments) made->parts.push_back(std::move(argument));
        result = {special_form(std::move(made)), false};
      } else if (here() == '\'' || here() == '/' || here() == '\\') {
        if (is_space(before())) break;  // a comment, or the end
        branch made = make(form::derive, static_cast<std::size_t>(result.tree->column));
        made->text = text_.substr(place_, here(1) == ':' ? 2 : 1);
        place_ += made->text.size();
        made->parts.push_back(std::move(result.tree));
        result = {std::move(made), true};
      } else {
        break;
      }
    }
    if (branch assigned = assignment(result)) return {std::move(assigned), false, true};
    return result;
  }

  /// x:y, x::y, x+:y, x[i]:y and x[i]+:y, of which the part left of the verb has been read; null for anything else.
  branch assignment(term& left) {
    node& tree = *left.tree;
    const bool indexed = tree.kind == form::apply && tree.parts[0]->kind == form::name;
    if (left.verb && tree.kind != form::name) return nullptr;
    if (tree.kind != form::name && !indexed) return nullptr;
    const std::size_t start = place_;
    skip();
    branch verb;
    bool global = false;
    if (here() == ':' && here(1) == ':') {
      global = true;
      place_ += 2;
    } else if (here() == ':') {
      ++place_;
    } else if (here() && std::strchr("+-*%&|<>=~,#_!?@.$^", here()) && here(1) == ':' && here(2) != ':') {
      verb = constant(verb_value(std::string(1, here())), place_);
      place_ += 2;
    } else {
      place_ = start;
      return nullptr;
    }
    branch made = make(form::assign, static_cast<std::size_t>(tree.column));
    made->text = indexed ? tree.parts[0]->text : tree.text;
    made->global = global;
    made->parts.push_back(expression());
    if (!made->parts[0]) {  // `x:` alone is no assignment, but no more was asked of us either
      fail("assign");
    }
    made->parts.push_back(std::move(verb));
    for (std::size_t i = 1; indexed && i < tree.parts.size(); ++i) made->parts.push_back(std::move(tree.parts[i]));
    if (node& right = *made->parts[0]; right.kind == form::lambda && right.label.empty()) right.label = made->text;
    return made;
  }

  /// $[a;b;c], if[...], do[...] and while[...] are no applications.
  branch special_form(branch tree) {
    node& function = *tree->parts[0];
    form kind = form::apply;
    if (function.kind == form::constant && function.text == "$" && tree->parts.size() > 3) kind = form::cond;
    if (function.kind == form::name && function.text == "if") kind = form::when;
    if (function.kind == form::name && function.text == "do") kind = form::repeat;
    if (function.kind == form::name && function.text == "while") kind = form::loop;
    if (kind == form::apply) return tree;
    tree->kind = kind;
    tree->parts.erase(tree->parts.begin());
    return tree;
  }

  term primary(bool after_noun) {
    const std::size_t start = place_;
    const char c = here();
    if (c == '(') return {parenthesis(), false};
    if (c == '{') return {lambda(), false};
    if (c == '[') {
      ++place_;
      branch made = make(form::block, start);
      made->parts = statements(']');
      return {std::move(made), false};
    }
    if (c == '"') return {constant(string_literal(), start), false};
    if (c == '`') return {constant(symbol_literal(), start), false};
    if (starts_number(after_noun)) return {constant(number_literal(), start), false};
    if (starts_name()) {
      const std::string word = word_here();
      if (word == "select" || word == "exec" || word == "update" || word == "delete") return {query(word), false, true};
      place_ += word.size();
      branch made = make(form::name, start);
      made->text = word;
      return {std::move(made), is_infix(word)};
    }
    std::string glyph(1, c);
    if ((c >= '0' && c <= '2') && here(1) == ':') glyph += ':';
    if ((c == '<' && (here(1) == '=' || here(1) == '>')) || (c == '>' && here(1) == '=')) glyph += here(1);
    if (c == ':' && here(1) == ':') {
      place_ += 2;
      return {constant(general_null(), start), false};
    }
    if (!verb_value(glyph)) fail(glyph);
    place_ += glyph.size();
    return {verb_constant(glyph, start), true};
  }

  /// A minus sign belongs to the number, unless something to subtract from stands right before it.
  bool starts_number(bool after_noun) const {
    if (here() >= '0' && here() <= '2' && here(1) == ':' && !is_digit(here(2))) return false;
    const bool minus = here() == '-' && (!after_noun || is_space(before()));
    return is_digit(here(minus)) || (here(minus) == '.' && is_digit(here(minus + 1U)));
  }

  value number_literal() {
    std::vector<std::string> words;
    const std::size_t start = place_;
    while (true) {
      std::size_t end = place_ + (here() == '-');
      while (end < text_.size() && (is_digit(text_[end]) || is_letter(text_[end]) || text_[end] == '.' ||
                                    (text_[end] == ':' && end + 1 < text_.size() && is_digit(text_[end + 1])) ||
                                    (std::strchr("+-", text_[end]) && text_[end - 1] == 'e' && end + 1 < text_.size() &&
                                     is_digit(text_[end + 1]) && is_digit(text_[end - 2])))) {
        ++end;
      }
      words.push_back(text_.substr(place_, end - place_));
      place_ = end;
      std::size_t next = place_;
      while (next < text_.size() && text_[next] == ' ') ++next;
      const std::size_t back = std::exchange(place_, next);
      if (next == back || !starts_number(true)) {
        place_ = back;
        break;
      }
    }
    try {
      return literal_of(words);
    } catch (q_error& error) {
      place_ = start;
      fail(error.what());
    }
  }

  value symbol_literal() {
    std::vector<std::string> texts;
    while (here() == '`') {
      std::size_t end = ++place_;
      bool path = false;
      while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.' ||
                                    text_[end] == ':' || text_[end] == '_' || (path && text_[end] == '/'))) {
        path = path || text_[end] == ':';
        ++end;
      }
      texts.push_back(text_.substr(place_, end - place_));
      place_ = end;
    }
    return texts.size() == 1 ? symbol_atom(texts[0]) : symbols_of(texts);
  }

  value string_literal() {
    std::string text;
    for (++place_; here() != '"'; ++place_) {
      if (place_ >= text_.size()) fail("\"");
      if (here() != '\\') {
        text += here();
        continue;
      }
      ++place_;
      const char c = here();
      if (is_digit(c)) {
        text += static_cast<char>(std::stoi(text_.substr(place_, 3), nullptr, 8));
        place_ += 2;
      } else {
        text += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
    }
    ++place_;
    return text.size() == 1 ? value(k::kc(text[0])) : string_of(text);
  }

  branch parenthesis() {
    const std::size_t start = place_++;
    if (here() == '[') return table_literal(start);
    auto parts = statements(')');
    if (parts.size() == 1) {
      if (!parts[0]) return constant(empty_list(), start);
      return std::move(parts[0]);
    }
    branch made = make(form::list, start);
    for (auto& part : parts) made->parts.push_back(part ? std::move(part) : constant(general_null(), start));
    return made;
  }

  branch table_literal(std::size_t start) {
    branch made = make(form::table, start);
    for (auto [close, into] : {std::pair{']', &made->groups}, {')', &made->columns}}) {
      if (close == ']') ++place_;
      for (auto& part : statements(close)) {
        if (!part) continue;
        if (part->kind == form::assign && part->parts.size() == 2) {
          into->emplace_back(part->text, std::move(part->parts[0]));
        } else {
          into->emplace_back("", std::move(part));
        }
      }
    }
    return made;
  }

  branch lambda() {
    const std::size_t start = place_++;
    branch made = make(form::lambda, start);
    skip();
    const bool explicit_parameters = here() == '[';
    if (explicit_parameters) {
      ++place_;
      for (skip(); here() != ']'; skip()) {
        if (here() == ';') ++place_;
        skip();
        if (!starts_name()) {
          if (here() == ']') break;
          fail("params");
        }
        made->parameters.push_back(word_here());
        place_ += made->parameters.back().size();
      }
      ++place_;
    }
    made->parts = statements('}');
    made->text = text_.substr(start, place_ - start);
    if (!explicit_parameters) {
      const int used = implicit_parameters(made->parts);
      for (int i = 0; i < (used ? used : 1); ++i) made->parameters.emplace_back(1, "xyz"[i]);
    }
    return made;
  }

  /// 1, 2 or 3 for the last of x, y and z that is used, lambdas inside left out.
  static int implicit_parameters(const std::vector<branch>& parts) {
    int used = 0;
    for (auto& part : parts) {
      if (!part) continue;
      if ((part->kind == form::name || part->kind == form::assign) && part->text.size() == 1) {
        if (part->text[0] >= 'x' && part->text[0] <= 'z') used = std::max(used, part->text[0] - 'x' + 1);
      }
      if (part->kind == form::lambda) continue;
      used = std::max(used, implicit_parameters(part->parts));
      for (auto* group : {&part->columns, &part->groups}) {
        for (auto& [name, tree] : *group) {
          std::vector<branch> one;
          one.push_back(std::move(tree));
          used = std::max(used, implicit_parameters(one));
          tree = std::move(one[0]);
        }
      }
    }
    return used;
  }

  branch query(const std::string& kind) {
    branch made = make(form::query, place_);
    made->text = kind;
    place_ += kind.size();
    if (here() == '[') limits(*made);
    const bool outer = std::exchange(in_query_, true), outer_from = std::exchange(after_from_, false);
    phrases(made->columns);
    if (word_here() == "by") {
      place_ += 2;
      phrases(made->groups);
    }
    if (word_here() != "from") fail("from");
    place_ += 4;
    after_from_ = true;
    made->parts.push_back(expression());
    if (!made->parts[0]) fail("from");
    skip();
    if (word_here() == "where") {
      place_ += 5;
      std::vector<named> conditions;
      phrases(conditions);
      for (auto& [name, condition] : conditions) made->parts.push_back(std::move(condition));
    }
    in_query_ = outer;
    after_from_ = outer_from;
    return made;
  }

  /// select[n;>column]: how many rows, in which order.
  void limits(node& tree) {
    ++place_;
    if (skip(), here() != '<' && here() != '>') tree.limit = expression();
    if (here() == ';') ++place_;
    if (skip(), here() == '<' || here() == '>') {
      tree.descending = here() == '>';
      ++place_;
      tree.label = word_here();
      place_ += tree.label.size();
    }
    if (here() != ']') fail("]");
    ++place_;
  }

  void phrases(std::vector<named>& into) {
    while (true) {
      branch one = expression();
      if (one && one->kind == form::assign && one->parts.size() == 2) {
        into.emplace_back(one->text, std::move(one->parts[0]));
      } else if (one) {
        into.emplace_back("", std::move(one));
      }
      skip();
      if (here() != ',') return;
      ++place_;
    }
  }

  std::string text_;
  std::size_t place_ = 0;
  bool in_query_ = false, after_from_ = false;
};

}  // namespace

std::vector<branch> parse(const std::string& text) {
  parser one(text);
  return one.program();
}

}  // namespace k_host
