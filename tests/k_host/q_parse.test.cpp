// SPDX-License-Identifier: BSL-1.0
// Trees of texts, and what is refused.
#include "q_parse.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace k_host;

namespace {

/// A tree in brackets: f(a b), with _ for a gap.
std::string written(const branch& tree) {
  if (!tree) return "_";
  static const char* const kinds[] = {"#",  "",      "list", "",      "set",   "lambda", "cond",   "if",
                                      "do", "while", "",     "query", "table", "block",  "return", "signal"};
  std::string text = tree->text.empty() ? kinds[static_cast<int>(tree->kind)] : tree->text;
  if (tree->kind == form::lambda) text = "lambda" + std::to_string(tree->parameters.size());
  if (tree->kind == form::assign) text += ":";
  if (tree->parts.empty()) return text;
  text += "(";
  for (auto& part : tree->parts) text += (text.back() == '(' ? "" : " ") + written(part);
  return text + ")";
}

std::string written(const std::string& text) {
  std::string all;
  for (auto& tree : parse(text)) all += (all.empty() ? "" : "; ") + written(tree);
  return all;
}

TEST_CASE("parse: expressions associate to the right") {
  CHECK(written("a+b*c") == "(+ a (* b c))");
  CHECK(written("f g x") == "(f (g x))");
  CHECK(written("f[x;y]z") == "((f x y) z)");
  CHECK(written("a f each b") == "(a (each f b))");
  CHECK(written("x@\\:/:y") == "(/:(\\:(@)) x y)");
  CHECK(written("f'[x;y]") == "('(f) x y)");
  CHECK(written("key[x]set'x") == "('(set) (key x) x)");
  CHECK(written("(2+)") == "(+ # _)");
  CHECK(written("f[;1]") == "(f _ #)");
  CHECK(written("x -1") == "(x #)");
  CHECK(written("x-1") == "(- x #)");
  CHECK(written("x - 1") == "(- x #)");
  CHECK(written("1 2 3 x") == "(# x)");
  CHECK(written("f`a`b") == "(f #)");
}

TEST_CASE("parse: statements, assignment, comments") {
  CHECK(written("a;b") == "a; b");
  CHECK(written("a;").substr(0, 2) == "a;");
  CHECK(written("x:1") == "x:(# _)");
  CHECK(written("x+:1") == "x:(# #)");
  CHECK(written("x[i]:1") == "x:(# _ i)");
  CHECK(written("f x:g y") == "(f x:((g y) _))");
  CHECK(written("a / b") == "a");
  CHECK(written("{x+z}") == "lambda3((+ x z))");
  CHECK(written("{[a]a}") == "lambda1(a)");
  CHECK(written("$[a;b;c]") == "cond(a b c)");
  CHECK(written("if[a;b]") == "if(a b)");
  CHECK(written("f(a;[])") == "(f list(a block(_)))");
  CHECK(parse("select n:count i,sum[b]%2 from t where b>1,c")[0]->columns.size() == 2);
  CHECK(parse("select n:count i,sum[b]%2 from t where b>1,c")[0]->parts.size() == 3);
  CHECK(parse("  {x;y}")[0]->column == 2);
}

TEST_CASE("parse: what is not closed or not understood has a place") {
  const struct {
    const char* text;
    int column;
  } cases[] = {{"(1;2", 4}, {"f[1", 3}, {"1)", 1}, {"\"abc", 4}, {"1+1x", 2}};
  for (auto& one : cases) {
    CAPTURE(one.text);
    try {
      parse(one.text);
      FAIL_CHECK("parsed");
    } catch (const q_error& error) {
      CHECK(error.column == one.column);
      CHECK(error.source == one.text);
    }
  }
}

}  // namespace
