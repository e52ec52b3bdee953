// SPDX-License-Identifier: BSL-1.0
// The parts that every printed kernel is made of.
#include <kiln/device/cuda/print/print.hpp>

#include "tape/sheet.hpp"

#include <doctest/doctest.h>

using namespace kiln;
using namespace kiln::cuda::detail;

TEST_CASE("print: lines are indented by their braces, directives are not") {
  lines out;
  out.open("if (x)");
  out.add("#pragma unroll");
  out.add("y = ", 2, ";");
  out.close();
  CHECK(out.text() == "if (x) {\n#pragma unroll\n  y = 2;\n}\n");
}

TEST_CASE("print: instructions become statements; constants and numbers stand where they are used") {
  sheet s;
  const symbol x = s.leaf(0), n = s.number(3);
  const symbol y = exp(x * 2) + n;
  s.result(cast(cast(y, dtype::bfloat16), dtype::int32));
  const tape_view t = ::view_of(s.p);
  statements values(t);
  lines out;
  values.at(x.id) = "x";
  for (int i = 0; i < t.size; ++i)
    if (values.at(i).empty()) values.define(out, i);
  CHECK(out.text() ==
        "const float v3 = x * 2.0f;\nconst float v4 = exp(v3);\nconst float v5 = v4 + n3;\n"
        "const float v6 = rounded_through<bfloat16>(v5);\nconst int32 v7 = convert<int32>(v6);\n");
  CHECK_FALSE(values.faults());
}

TEST_CASE("print: leaves that are one tensor become one, unwanted results are dropped with what they need") {
  sheet s;
  const symbol a = s.leaf(0), b = s.leaf(1), c = s.leaf(2);
  s.result(exp(a) + exp(b));
  s.result(tanh(c));
  cuda::task job = cuda::task_for(::view_of(s.p), {4});
  cuda::plan p;
  p.same_as = {0, 0, 2};
  p.results = {{cuda::access::each, 0}, {cuda::access::unused, 0}};
  program merged;
  merge_leaves(job, p, merged);
  CHECK(text_of(merged) == "%0 = leaf float32 x0\n%1 = exp float32 %0\n%2 = add float32 %1 %1\nresult %2 none\n");
}
