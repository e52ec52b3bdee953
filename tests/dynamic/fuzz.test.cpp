// SPDX-License-Identifier: BSL-1.0
// Random graphs of calls against loops over vectors of doubles, values and gradients: whatever is fused with whatever,
// in whatever order it is asked for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <dynamic/values.hpp>
#include <kiln/autograd/node.hpp>
#include <random>
#include <string>
#include <vector>

using namespace kiln::dynamic;
using namespace test;

namespace {
using sizes = std::vector<std::int64_t>;

struct array {
  sizes shape;
  std::vector<double> at;
};
std::int64_t count(const sizes& s) {
  std::int64_t n = 1;
  for (const std::int64_t x : s) n *= x;
  return n;
}
bool broadcast(sizes a, sizes b, sizes& out) {
  while (a.size() < b.size()) a.insert(a.begin(), 1);
  while (b.size() < a.size()) b.insert(b.begin(), 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return false;
    a[i] = a[i] == 1 ? b[i] : a[i];
  }
  out = a;
  return true;
}
// The position in x of position i of what x is broadcast to.
std::size_t place(const array& x, const sizes& to, std::int64_t i) {
  std::int64_t at = 0, step = 1;
  for (std::size_t k = 0; k < to.size(); ++k) {
    const std::size_t axis = to.size() - 1 - k;
    const std::int64_t here = i % to[axis];
    i /= to[axis];
    if (k < x.shape.size()) {
      const std::int64_t n = x.shape[x.shape.size() - 1 - k];
      if (n != 1) at += here * step;
      step *= n;
    }
  }
  return static_cast<std::size_t>(at);
}

struct step {
  std::string op;
  int a = 0, b = -1;
  sizes axes;
  bool keepdim = false;
  double number = 0;
};

double combined(const std::string& op, double x, double y) {
  if (op == "add") return x + y;
  if (op == "sub") return x - y;
  if (op == "mul") return x * y;
  return std::max(x, y);
}
array pointwise(const step& s, const array& x, const array& y) {
  array out;
  REQUIRE(broadcast(x.shape, y.shape, out.shape));
  for (std::int64_t i = 0; i < count(out.shape); ++i)
    out.at.push_back(combined(s.op, x.at[place(x, out.shape, i)], y.at[place(y, out.shape, i)]));
  return out;
}
double folded(const std::string& op, const std::vector<double>& row) {
  const double n = static_cast<double>(row.size());
  double sum = 0, most = -INFINITY, squares = 0, exps = 0;
  for (const double x : row) sum += x, most = std::max(most, x);
  for (const double x : row) squares += (x - sum / n) * (x - sum / n), exps += std::exp(x - most);
  if (op == "sum") return sum;
  if (op == "mean") return sum / n;
  if (op == "max") return most;
  if (op == "var") return squares / (n - 1);
  return most + std::log(exps);
}
array over_rows(const step& s, const array& x) {
  sizes kept = x.shape, small;
  for (const std::int64_t axis : s.axes) kept[static_cast<std::size_t>(axis)] = 1;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (s.keepdim || std::find(s.axes.begin(), s.axes.end(), static_cast<std::int64_t>(i)) == s.axes.end())
      small.push_back(kept[i]);
  const array frame{kept, {}};
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(count(kept)));
  for (std::int64_t i = 0; i < count(x.shape); ++i)
    rows[place(frame, x.shape, i)].push_back(x.at[static_cast<std::size_t>(i)]);
  array out;
  if (s.op == "softmax") {
    out.shape = x.shape;
    for (std::int64_t i = 0; i < count(x.shape); ++i)
      out.at.push_back(
          std::exp(x.at[static_cast<std::size_t>(i)] - folded("logsumexp", rows[place(frame, x.shape, i)])));
    return out;
  }
  out.shape = small;
  for (const auto& row : rows) out.at.push_back(folded(s.op, row));
  return out;
}
array done(const step& s, const std::vector<array>& before) {
  const array& x = before[static_cast<std::size_t>(s.a)];
  if (s.b >= 0) return pointwise(s, x, before[static_cast<std::size_t>(s.b)]);
  if (!s.axes.empty()) return over_rows(s, x);
  array out = x;
  for (double& v : out.at) v = s.op == "tanh" ? std::tanh(v) : s.op == "neg" ? -v : v * s.number;
  return out;
}
tensor called(const step& s, const std::vector<tensor>& before) {
  const tensor& x = before[static_cast<std::size_t>(s.a)];
  if (s.b >= 0) return call(s.op, {x, before[static_cast<std::size_t>(s.b)]});
  if (s.op == "softmax") return softmax(x, s.axes[0]);
  if (!s.axes.empty()) return reduce(s.op, x, s.axes, s.keepdim);
  if (s.op == "scale") return call("mul", {x, scalar(s.number)});
  return call(s.op, {x});
}

class graph_maker {
 public:
  explicit graph_maker(unsigned seed) : random_(seed) {
    const std::vector<sizes> shapes{{2, 3}, {2, 3}, {1, 3}, {2, 1}, {3}, {}, {4, 2, 3}, {1, 1}};
    const int n = 2 + pick(3);
    for (int i = 0; i < n; ++i) {
      array x{shapes[static_cast<std::size_t>(pick(static_cast<int>(shapes.size())))], {}};
      for (std::int64_t k = 0; k < count(x.shape); ++k) x.at.push_back(real());
      leaves.push_back(x);
    }
    std::vector<array> values = leaves;
    const int steps = 4 + pick(20);
    while (static_cast<int>(code.size()) < steps) {
      const step s = next(values);
      if (s.op.empty()) continue;
      values.push_back(done(s, values));
      code.push_back(s);
    }
  }
  std::vector<array> run(const std::vector<array>& from) const {
    std::vector<array> values = from;
    for (const step& s : code) values.push_back(done(s, values));
    return values;
  }
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  double real() { return static_cast<double>(random_() % 4001) / 1000 - 2; }

  std::vector<array> leaves;
  std::vector<step> code;

 private:
  step next(const std::vector<array>& values) {
    const int last = static_cast<int>(values.size());
    // Mostly what is new, so that graphs are deep.
    const auto any = [&] { return pick(3) ? std::max(0, last - 1 - pick(4)) : pick(last); };
    step s;
    s.a = any();
    const array& x = values[static_cast<std::size_t>(s.a)];
    const int kind = pick(10);
    if (kind < 5) {
      static const char* const ops[] = {"add", "sub", "mul", "maximum"};
      s.b = any();
      sizes out;
      if (!broadcast(x.shape, values[static_cast<std::size_t>(s.b)].shape, out) || count(out) > 60) return {};
      s.op = ops[pick(4)];
    } else if (kind < 7) {
      static const char* const ops[] = {"tanh", "neg", "scale"};
      s.op = ops[pick(3)];
      s.number = real();
    } else {
      if (x.shape.empty()) return {};
      static const char* const ops[] = {"sum", "mean", "max", "logsumexp", "var", "softmax"};
      s.op = ops[pick(6)];
      const int rank = static_cast<int>(x.shape.size());
      const int axis = pick(rank);
      s.axes = {axis};
      if (s.op != "softmax" && pick(4) == 0 && axis + 1 < rank) s.axes.push_back(axis + 1);
      s.keepdim = pick(2) == 0;
      std::int64_t n = 1;
      for (const std::int64_t a : s.axes) n *= x.shape[static_cast<std::size_t>(a)];
      if (s.op == "var" && n < 2) return {};
    }
    for (const double v : x.at)
      if (std::abs(v) > 20) return {"tanh", s.a, -1, {}, false, 0};
    return s;
  }
  std::mt19937 random_;
};

double total(const array& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.at.size(); ++i) sum += x.at[i] * (1 + 0.25 * static_cast<double>(i % 3));
  return sum;
}
tensor total(const tensor& x) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < x.numel(); ++i) weights.push_back(1 + 0.25 * static_cast<double>(i % 3));
  return reduce("sum", call("mul", {x, made(x.sizes(), weights, kiln::dtype::float64)}));
}
}  // namespace

TEST_CASE("random graphs") {
  std::int64_t calls = 0, gradients = 0;
  reset_statistics();
  for (unsigned seed = 1; seed <= 4000; ++seed) {
    INFO("seed " << seed);
    graph_maker g(seed);
    const std::vector<array> expected = g.run(g.leaves);
    std::vector<tensor> all;
    for (const array& x : g.leaves) {
      all.push_back(made(kiln::dims(x.shape), x.at, kiln::dtype::float64));
      if (g.pick(4)) all.back().requires_grad_();
    }
    const std::size_t leaves = all.size();
    for (const step& s : g.code) {
      all.push_back(called(s, all));
      if (g.pick(8) == 0) all.back().eval();
      ++calls;
    }
    // In any order: the last first, then some between.
    REQUIRE(near(values(all.back()), expected.back().at, 1e-9));
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>(g.pick(static_cast<int>(all.size())));
      INFO("value " << at);
      CHECK(all[at].sizes() == kiln::dims(expected[at].shape));
      REQUIRE(near(values(all[at]), expected[at].at, 1e-9));
    }
    // The derivative along a direction.
    const tensor loss = total(all.back());
    if (!loss.requires_grad()) continue;
    loss.backward();
    std::vector<array> up = g.leaves, down = g.leaves;
    double along = 0, sharp = 0;
    for (std::size_t i = 0; i < leaves; ++i) {
      if (!all[i].requires_grad()) continue;
      const tensor gradient = all[i].grad();
      const std::vector<double> slope =
          gradient.defined() ? values(gradient) : std::vector<double>(g.leaves[i].at.size());
      for (std::size_t k = 0; k < slope.size(); ++k) {
        const double d = g.real();
        up[i].at[k] += 1e-6 * d;
        down[i].at[k] -= 1e-6 * d;
        along += slope[k] * d;
      }
    }
    const double high = total(g.run(up).back()), low = total(g.run(down).back()), here = total(expected.back());
    sharp = std::abs(high - 2 * here + low);
    // Where a maximum changes hands there is no derivative.
    if (sharp > 1e-8 * (1 + std::abs(here)) || std::abs(here) > 1e4) continue;
    CHECK(std::abs(along - (high - low) / 2e-6) <= 1e-4 * (1 + std::abs(along)));
    ++gradients;
  }
  CHECK(gradients > 3000);
  // Fusing is what this is about.
  CHECK(3 * statistics().evaluations < 2 * calls);
}

TEST_CASE("random changes in place: old values or an error, never new ones") {
  std::int64_t right = 0, refused = 0;
  for (unsigned seed = 1; seed <= 1500; ++seed) {
    INFO("seed " << seed);
    graph_maker g(seed);
    std::vector<array> now = g.leaves;
    std::vector<tensor> all;
    for (const array& x : g.leaves) all.push_back(made(kiln::dims(x.shape), x.at, kiln::dtype::float64));
    for (const step& s : g.code) {
      all.push_back(called(s, all));
      now.push_back(done(s, now));
      if (g.pick(6)) continue;
      const auto at = static_cast<std::size_t>(g.pick(static_cast<int>(all.size())));
      const double to = g.real();
      try {
        if (g.pick(2))
          all[at].fill_(to);
        else
          all[at].as<double>().fill_(to);
        std::fill(now[at].at.begin(), now[at].at.end(), to);
      } catch (const kiln::graph_error&) {
        CHECK(all[at].is_lazy());
      }
    }
    for (std::size_t i = all.size(); i-- > 0;) {
      std::vector<double> found;
      try {
        found = values(all[i]);
      } catch (const kiln::graph_error&) {
        CHECK(all[i].is_lazy());
        ++refused;
        continue;
      }
      REQUIRE(near(found, now[i].at, 1e-9));
      ++right;
    }
  }
  CHECK(right > refused);
  CHECK(refused > 1000);
}
