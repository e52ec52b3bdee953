// SPDX-License-Identifier: BSL-1.0
// Sessions are read, compared as they ask, and told apart from what is shown; those in sessions/plain are replayed.
#include "session.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace k_host;

namespace {

const std::string folder = KILN_TEST_SOURCE_DIR "/tests/k_host/sessions/";

/// A session that is replayed as it should be, with nothing left of it.
void check(const std::string& file, const std::string& library = "") {
  CAPTURE(file);
  const auto before = live_objects();
  const replayed result = replay(text_of_file(folder + file), library);
  for (auto& wrong : result.mismatches) FAIL_CHECK(described(wrong));
  CHECK(result.inputs > 0);
  CHECK(result.left_out == 0);
  if (live_objects() != before) FAIL_CHECK("left: ", live_summary());
}

TEST_CASE("session: what a console shows") {
  check("plain/console.q");
}
TEST_CASE("session: the language") {
  check("plain/language.q");
}
TEST_CASE("session: a script that trains") {
  check("plain/training.q");
}
TEST_CASE("session: a library's functions, errors and breaches") {
  check("plain/library.q", KILN_K_HOST_LIBRARY);
}

TEST_CASE("session: the rows of the documentation can all be read") {
  for (const char* file : {"overview.q", "pointers.q"}) {
    const auto steps = read_session(text_of_file(folder + file));
    CHECK(steps.size() > 20);
    for (auto& one : steps) {
      CAPTURE(one.input);
      if (one.input[0] == '\\') continue;
      CHECK_NOTHROW(parse(one.input));
    }
  }
}

TEST_CASE("session: inputs, what they show, how it is compared") {
  const auto steps =
      read_session("/ a comment\nq)x:1\n/ tolerance 1e-3\nq)x\n1\n2\n/ needs gpu\nq)y\n/ needs\nq)z\n\n");
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].input == "x:1");
  CHECK(steps[0].expected.empty());
  CHECK(steps[1].tolerance == 1e-3);
  CHECK(steps[1].expected == "1\n2\n");
  CHECK(steps[1].line == 4);
  CHECK(steps[2].needs == "gpu");
  CHECK(steps[2].tolerance < 0);
  CHECK(steps[3].needs.empty());
}

step expecting(const std::string& text) {
  step one;
  one.expected = text;
  return one;
}

TEST_CASE("session: comparisons can fail") {
  step exact = expecting("1 2\n");
  CHECK(agrees(exact, "1 2  \n"));
  CHECK_FALSE(agrees(exact, "1  2\n"));
  CHECK_FALSE(agrees(exact, "1 2\n3\n"));
  CHECK_FALSE(agrees(exact, ""));
  step close = expecting("0.5 (1;`a)\n");
  close.tolerance = 1e-3;
  CHECK(agrees(close, "0.5001   (1.0005;`a)\n"));
  CHECK_FALSE(agrees(close, "0.502 (1;`a)\n"));
  CHECK_FALSE(agrees(close, "0.5 (1;`b)\n"));
  step free = expecting(",123 -5f\n");
  free.any = true;
  CHECK(agrees(free, ",9 7f\n"));
  CHECK_FALSE(agrees(free, "9 7f\n"));
  CHECK_FALSE(agrees(free, ",9 7 8f\n"));
  step shuffled = expecting("a 1\nb 2\n");
  shuffled.unordered = true;
  CHECK(agrees(shuffled, "b  2\na  1\n"));
  CHECK_FALSE(agrees(shuffled, "b 2\nb 2\n"));
  step pattern = expecting("* cpu 3\n");
  pattern.like = true;
  CHECK(agrees(pattern, "17 cpu 3\n"));
  CHECK_FALSE(agrees(pattern, "17 cpu 4\n"));
}

TEST_CASE("session: errors agree in their text, and their place where one is expected") {
  const std::string shown = "'type\n  [0]  1+`a\n        ^\n";
  CHECK(agrees(expecting("'type\n"), shown));
  CHECK(agrees(expecting(shown), shown));
  CHECK_FALSE(agrees(expecting("'rank\n"), shown));
  CHECK_FALSE(agrees(expecting("'type\n  [0]  1+`a\n      ^\n"), shown));
  CHECK_FALSE(agrees(expecting(""), shown));
  CHECK_FALSE(agrees(expecting("'type\n"), "`type\n"));
  step some = expecting("yp\n");
  some.fails = true;
  CHECK(agrees(some, shown));
  CHECK_FALSE(agrees(some, "yp\n"));
  step any = expecting("");
  any.shown = true;
  CHECK(agrees(any, "whatever\n"));
  CHECK_FALSE(agrees(any, shown));
}

TEST_CASE("session: mismatches are found, and the rest goes on") {
  const replayed result = replay("q)1+1\n3\nq)x:2\nq)x\n2\n/ needs gpu\nq)nosuch\n");
  CHECK(result.inputs == 3);
  CHECK(result.left_out == 1);
  REQUIRE(result.mismatches.size() == 1);
  CHECK(result.mismatches[0].shown == "2\n");
  CHECK(described(result.mismatches[0]).find("line 1: q)1+1") == 0);
  CHECK(replay("x:1\nif[x;\n  'wrong]\n").mismatches.size() == 1);
  const replayed script = replay("-1\"one\";\nshow 2\n");
  CHECK(script.script);
  CHECK(script.output == "one\n2\n");
  CHECK_THROWS(text_of_file(folder + "nosuch.q"));
}

}  // namespace
