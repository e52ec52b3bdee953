// SPDX-License-Identifier: BSL-1.0
// Maps over all kinds of layouts on the emulator against plain loops, and what their text looks like. What every op
// computes stands in every_op.test.cpp.
#include <kiln/device/cuda/print/print_map.hpp>

#include <kiln/core/philox.hpp>

#include "device/cuda/emulated.hpp"
#include "tape/sheet.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

using namespace kiln;
using emulated::memory;
using real_number = long double;

namespace {

std::uint64_t state = 7;
std::int64_t draw(std::int64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
}

std::int64_t offset_at(const dims& domain, const dims& strides, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = domain.rank() - 1; d >= 0; --d) {
    offset += index % domain[d] * strides[d];
    index /= domain[d];
  }
  return offset;
}
std::int64_t elements(const dims& domain) {
  std::int64_t n = 1;
  for (const std::int64_t size : domain) n *= size;
  return n;
}
// Strides of an operand over this domain: contiguous, padded, transposed, broadcast along some axes, every other one.
dims any_strides(const dims& domain, bool result) {
  std::vector<int> order(static_cast<std::size_t>(domain.rank()));
  for (int d = 0; d < domain.rank(); ++d) order[static_cast<std::size_t>(d)] = d;
  const std::int64_t kind = draw(result ? 4 : 6);
  if (kind == 1 && order.size() > 1)
    std::swap(order[order.size() - 1], order[static_cast<std::size_t>(draw(domain.rank()))]);
  dims strides = dims::filled(domain.rank(), 0);
  std::int64_t next = kind == 2 ? 2 : 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = next;
    next *= domain[order[k]] + (kind == 3 ? 3 : 0);
  }
  if (kind >= 4)
    for (int d = 0; d < domain.rank(); ++d)
      if (kind == 5 || draw(2)) strides[d] = 0;
  return strides;
}
std::size_t reserved(const dims& domain, const dims& strides) {
  std::int64_t last = 0;
  for (int d = 0; d < domain.rank(); ++d) last += strides[d] * (domain[d] - 1);
  return static_cast<std::size_t>(last + 1);
}

struct layout_case {
  sheet tape;
  dims domain;
  std::deque<memory> leaves, results;
  cuda::task written, what;
  cuda::plan how;
  cuda::source printed;
  std::uint64_t numbers[1];
};

// y0 = x0 * x1 + n0 * x2, y1 = x0 - x2 added to what is there.
void make(layout_case& c, std::int64_t turn) {
  constexpr dtype types[] = {dtype::float32, dtype::bfloat16, dtype::float16, dtype::float64};
  const dtype type = types[turn % 4], first = turn % 3 == 0 ? dtype::float32 : type;
  auto leaf = [&](int slot, dtype of) {
    const symbol x = c.tape.leaf(slot, of);
    const dtype computed = type == dtype::float64 ? dtype::float64 : dtype::float32;
    return compute_type(of) == computed ? x : cast(x, computed);
  };
  const symbol x0 = leaf(0, first), x1 = leaf(1, type), x2 = leaf(2, dtype::int16);
  c.tape.result(x0 * x1 + c.tape.number(0, compute_type(type)) * x2);
  c.tape.result(x0 - x2);
  const std::int64_t rank = 1 + draw(4);
  for (std::int64_t d = 0; d < rank; ++d) c.domain.push_back(draw(4) == 0 ? 1 + draw(40) : 1 + draw(7));
  c.numbers[0] = std::bit_cast<std::uint64_t>(3.0);
  c.written = cuda::task_for(view_of(c.tape.p), c.domain);
  c.written.numbers = c.numbers;
  for (auto& x : c.written.leaves) {
    x.strides = any_strides(c.domain, false);
    memory& m = c.leaves.emplace_back(x.type, reserved(c.domain, x.strides), static_cast<std::size_t>(draw(3)));
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, static_cast<double>(draw(9) - 4));
    x.data = m.data();
  }
  for (std::size_t r = 0; r < 2; ++r) {
    auto& y = c.written.results[r];
    y.strides = any_strides(c.domain, true);
    y.type = type;
    y.add = r == 1;
    memory& m = c.results.emplace_back(type, reserved(c.domain, y.strides), static_cast<std::size_t>(draw(2)));
    if (turn % 5 == 4 && r == 1) continue;  // nobody asks for it
    y.data = m.data();
    for (std::size_t i = 0; i < m.size(); ++i) m.set(i, 2);
  }
  c.what = c.written;
  c.how = cuda::plan_map(c.what);
  c.how.wide |= turn % 2 == 1;
  c.printed = cuda::print_map(c.what, c.how);
}

}  // namespace

TEST_CASE("print_map: 60 drawn layouts of leaves and results give what plain loops give") {
  std::deque<layout_case> cases(60);
  std::string texts;
  std::vector<std::string> seen;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    make(cases[k], static_cast<std::int64_t>(k));
    const std::string& name = cases[k].printed.name;
    if (std::find(seen.begin(), seen.end(), name) == seen.end()) texts += cases[k].printed.text;
    seen.push_back(name);
  }
  const emulated::module module(texts, emulated::headers());
  for (layout_case& c : cases) {
    emulated::run(module, c.printed, c.how, c.what);
    int wrong = 0;
    for (std::int64_t i = 0; i < elements(c.domain); ++i) {
      auto x = [&](std::size_t k) {
        return c.leaves[k][static_cast<std::size_t>(offset_at(c.domain, c.written.leaves[k].strides, i))];
      };
      auto y = [&](std::size_t r) {
        return c.results[r][static_cast<std::size_t>(offset_at(c.domain, c.written.results[r].strides, i))];
      };
      wrong += y(0) != x(0) * x(1) + 3 * x(2);
      if (c.written.results[1].data) wrong += y(1) != 2 + x(0) - x(2);
    }
    CHECK_MESSAGE(wrong == 0, c.printed.text);
  }
}

TEST_CASE("print_map: 140 tensors are one kernel, and so are the gradients of 64") {
  struct wide_case {
    sheet tape;
    std::deque<memory> leaves, results;
    cuda::task written, what;
    cuda::plan how;
    cuda::source printed;
    explicit wide_case(bool gradients) {
      const int count = gradients ? 64 : 140;
      const symbol g = tape.leaf(0);
      symbol sum = g;
      for (int k = 1; k <= count; ++k) {
        const symbol x = tape.leaf(k);
        if (gradients)
          tape.result(g * x);
        else
          sum = sum + x;
      }
      if (!gradients) tape.result(sum);
      written = cuda::task_for(view_of(tape.p), {45});
      for (auto& x : written.leaves) {
        memory& m = leaves.emplace_back(dtype::float32, 45u);
        for (std::size_t i = 0; i < 45; ++i) m.set(i, static_cast<double>((i * 7 + leaves.size()) % 11));
        x.data = m.data(), x.strides = {1};
      }
      for (auto& y : written.results) y.data = results.emplace_back(dtype::float32, 45u).data(), y.strides = {1};
      what = written;
      how = cuda::plan_map(what);
      printed = cuda::print_map(what, how);
    }
  };
  std::deque<wide_case> cases;
  cases.emplace_back(false);
  cases.emplace_back(true);
  const std::string text = cases[0].printed.text + cases[1].printed.text;
  const emulated::module module(text);
  for (wide_case& c : cases) {
    emulated::run(module, c.printed, c.how, c.what);
    int wrong = 0;
    for (std::size_t r = 0; r < c.results.size(); ++r)
      for (std::size_t i = 0; i < 45; ++i) {
        real_number want = c.leaves[0][i] * c.leaves[r + 1][i];
        if (c.results.size() == 1) {
          want = 0;
          for (memory& x : c.leaves) want += x[i];
        }
        wrong += c.results[r][i] != want;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("print_map: the text opens with formula, tape and specialisation") {
  sheet s;
  const symbol a = s.leaf(0), b = s.leaf(1);
  s.result(maximum(a * b, 0) + b);
  cuda::task job = cuda::task_for(view_of(s.p), {100});
  alignas(64) static float numbers[300];
  job.leaves[0] = {numbers, {1}, dtype::float32};
  job.leaves[1] = {numbers + 100, {0}, dtype::float32};
  job.results[0].data = numbers + 200;
  job.results[0].strides = {1};
  const cuda::plan p = cuda::plan_map(job);
  const cuda::source source = cuda::print_map(job, p);
  CHECK(source.text.find("// maximum(x0 * x1, 0) + x1\n// tape ") == 0);
  CHECK(p.key() == "map rank 1 step 4 int32 x0 vectors x1 one y0 float32 vectors");
  CHECK(source.text.find("// " + p.key() + "\n") != std::string::npos);
  CHECK(source.text.find("extern \"C\" __global__ void __launch_bounds__(256) " + source.name + "(\n    float*") !=
        std::string::npos);
  CHECK(source.text.find("const float v4 = maximum(v2, 0.0f);") != std::string::npos);
}

TEST_CASE("print_map: a tensor that stands twice is read once, and what follows from it is computed once") {
  sheet s;
  const symbol a = s.leaf(0), b = s.leaf(1);
  s.result(exp(a) * exp(b));
  cuda::task job = cuda::task_for(view_of(s.p), {64});
  alignas(64) static float x[64], y[64];
  job.leaves[0] = job.leaves[1] = {x, {1}, dtype::float32};
  job.results[0].data = y;
  job.results[0].strides = {1};
  const cuda::plan p = cuda::plan_map(job);
  const std::string text = cuda::print_map(job, p).text;
  CHECK(p.key().find("x1 = x0") != std::string::npos);
  CHECK(text.find("exp(", text.find("exp(", text.find('{')) + 1) == std::string::npos);
  CHECK(text.find("* __restrict__ x1") == std::string::npos);
}

TEST_CASE("print_map: a map in place is not read through the read-only cache, and would be reported if it were") {
  if (emulate::skip_on_gpu("a GPU need not show it")) return;
  sheet s;
  s.result(s.leaf(0) + s.leaf(0));
  memory x(dtype::float32, 64);
  for (std::size_t i = 0; i < 64; ++i) x.set(i, static_cast<double>(i));
  cuda::task job = cuda::task_for(view_of(s.p), {64});
  job.leaves[0] = {x.data(), {1}, dtype::float32};
  job.results[0].data = x.data();
  job.results[0].strides = {1};
  cuda::plan p = cuda::plan_map(job);
  CHECK_FALSE(p.apart);
  const auto run = [&] {
    const cuda::source printed = cuda::print_map(job, p);
    emulated::run(emulated::module(printed.text), printed, p, job);
  };
  run();
  for (std::size_t i = 0; i < 64; ++i) CHECK(x[i] == static_cast<double>(2 * i));
  p.apart = true;
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("__restrict__ parameter, and writes another value there"),
                       emulate::failure);
}

TEST_CASE("print_map: in place, the result may be where a leaf is") {
  sheet s;
  const symbol a = s.leaf(0);
  s.result(a * a + s.leaf(1));
  memory x(dtype::float32, 1003), y(dtype::float32, 1003);
  for (std::size_t i = 0; i < 1003; ++i) x.set(i, static_cast<double>(i % 17)), y.set(i, static_cast<double>(i % 5));
  cuda::task job = cuda::task_for(view_of(s.p), {1003});
  job.leaves[0] = {x.data(), {1}, dtype::float32};
  job.leaves[1] = {y.data(), {1}, dtype::float32};
  job.results[0].data = x.data();
  job.results[0].strides = {1};
  const cuda::plan p = cuda::plan_map(job);
  CHECK(p.key().find("overlapping") != std::string::npos);
  const cuda::source source = cuda::print_map(job, p);
  CHECK(source.text.find("__restrict__") == std::string::npos);
  const emulated::module module(source.text, emulated::headers());
  emulated::run(module, source, p, job);
  int wrong = 0;
  for (std::size_t i = 0; i < 1003; ++i) wrong += x[i] != static_cast<real_number>(i % 17 * (i % 17) + i % 5);
  CHECK(wrong == 0);
}
