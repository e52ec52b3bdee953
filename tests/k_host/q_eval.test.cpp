// SPDX-License-Identifier: BSL-1.0
// The interpreter from C++: values, scripts, functions from outside, and that it leaves nothing behind.
#include "q_eval.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace k_host;

namespace {

struct nothing_left {
  std::int64_t before = live_objects();
  ~nothing_left() { CHECK_MESSAGE(live_objects() == before, live_summary()); }
};

TEST_CASE("eval: values are objects of the interface") {
  nothing_left check;
  interpreter q;
  value x = q.run("1 2 3.5");
  CHECK(x.type() == k::float_type);
  CHECK(k::items<double>(x.get())[2] == 3.5);
  CHECK_FALSE(q.run("x:5"));
  CHECK(q.get("x")->long_integer == 5);
  q.set("y", value(k::kj(6)));
  CHECK(q.run("x*y")->long_integer == 30);
  CHECK(q.run("(5;`a)").type() == k::mixed_type);
  CHECK(q.run("enlist enlist 5").type() == k::mixed_type);
  CHECK_FALSE(q.run(""));
}

TEST_CASE("eval: errors leave nothing, and what was before") {
  nothing_left check;
  interpreter q;
  q.run("x:1+til 3");
  for (const char* text :
       {"x+`a", "x[1]:`a", "f", "{x+y}[1;`a]", "(1;2", "'`own", "x . 1 2 3", "{x}[1;2]", "1 2+1 2 3"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS(q.run(text), q_error);
  }
  CHECK(q.run("x~1 2 3")->byte == 1);
  CHECK(owners(q.get("x").get()) == 2);  // the name's, and the one asked for here
}

TEST_CASE("eval: a function's names are its own") {
  nothing_left check;
  interpreter q;
  CHECK(q.run("a:1;f:{a:10;a+x};f[2]+a")->long_integer == 13);
  CHECK(q.run("g:{b::x;b+1};g 4")->long_integer == 5);
  CHECK(q.get("b")->long_integer == 4);
  CHECK(q.run("h:{$[x<2;1;x*h x-1]};h 10")->long_integer == 3628800);
  CHECK_THROWS_WITH_AS(q.run("r:{r x};r 1"), "stack", q_error);
}

TEST_CASE("eval: scripts of several lines, with comments of blocks") {
  nothing_left check;
  interpreter q;
  q.run_script("f:{\n  x+  / a comment\n  1\n  }\n/\nnot a program\n\\\nr:f 2 / here\n\n\\\nneither is this");
  CHECK(q.get("r")->long_integer == 3);
}

TEST_CASE("eval: what is not assigned through shared values") {
  nothing_left check;
  interpreter q;
  q.run("x:1 2 3;y:x;y[0]:9;z:(x;y);y,:4");
  CHECK(q.run("x~1 2 3")->byte == 1);
  CHECK(q.run("z~(1 2 3;9 2 3)")->byte == 1);
  CHECK(q.run("y~9 2 3 4")->byte == 1);
}

TEST_CASE("eval: what makes no sense is an error, too") {
  nothing_left check;
  interpreter q;
  for (const char* text : {"0N#1 2",
                           "1000000000000#1",
                           "100000 100000#1",
                           "til 0N",
                           "0N?5",
                           "where -1 2",
                           "0N$\"ab\"",
                           "0#|",
                           "sum 0#`",
                           "cols 5",
                           "`a xasc 5",

                           "@[1 2;{x}[;1];2]",
                           "@[1 2;`a!1;2]",
                           "f:`f;`f 1",

                           "{}[1;2]",
                           "-5 \"text\"",
                           "0N \"text\"",
                           "5 rotate 3",
                           "([]1 2;1 2 3)",
                           "select from 5",
                           "1 2 3 within 0#1",
                           "()!1",
                           "2020.01.31+`a",
                           "`a$1",

                           "99h$5",
                           "do[;1]",
                           "while[`a;1]",
                           "$[`a;1;2]",
                           "raze[1;2]"}) {
    CAPTURE(std::string(text));
    CHECK(q.console(text).substr(0, 1) == "'");
  }
  for (const char* text : {"0", "[]", "if[0;]", "2020.01.31+1000000000", "1000000000+10:30", "-0W 0N mod -1", "neg 0N",
                           "0()", "{}[]", "()", "(;)", "sublist[0N;1 2]", "x:()", "flip()!()"}) {
    CAPTURE(std::string(text));
    CHECK_NOTHROW(q.console(text));
  }
}

TEST_CASE("eval: libraries call back") {
  nothing_left check;
  interpreter q;
  object result = k::k(0, "{x+y}", k::kj(3), k::kj(4), static_cast<object>(nullptr));
  CHECK(result->long_integer == 7);
  k::r0(result);
  result = k::k(0, "1+`a", static_cast<object>(nullptr));
  CHECK(result->type == k::error_type);
  CHECK(std::string(result->symbol) == "type");
  k::r0(result);
}

}  // namespace
