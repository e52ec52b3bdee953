// SPDX-License-Identifier: BSL-1.0
// Views and what they are views of share one history: drawn programs of views, views of views and in-place writes to
// any of them, against a tape of single numbers in double that knows neither views nor versions; and cases by hand.
#include <kiln/tensor/view_metadata.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;

namespace {

// One number and how it was made of others.
struct scalar_node {
  double value = 0;
  std::vector<std::pair<std::size_t, double>> parts;  // of which numbers, with which derivative
};
std::vector<scalar_node> scalars;

std::size_t number(double value, std::vector<std::pair<std::size_t, double>> parts = {}) {
  scalars.push_back({value, std::move(parts)});
  return scalars.size() - 1;
}
// d(of)/d(each number), in reverse order of making.
std::vector<double> derivatives(std::size_t of) {
  std::vector<double> d(scalars.size());
  d[of] = 1;
  for (std::size_t i = of + 1; i-- > 0;)
    for (const auto& [part, slope] : scalars[i].parts) d[part] += d[i] * slope;
  return d;
}

// A tensor of the reference: places in a list that views share, each holding the number that lies there now.
struct model {
  std::shared_ptr<std::vector<std::size_t>> memory;
  std::vector<std::size_t> at;
  dims sizes;
  bool of_leaf = false;

  std::size_t& operator[](std::size_t i) const { return (*memory)[at[i]]; }
};

struct both {
  Tensor<double> tensor;
  model expected;
};

both made(Tensor<double> t, std::vector<std::size_t> numbers) {
  both b;
  b.expected.sizes = t.sizes();
  b.tensor = std::move(t);
  b.expected.at.resize(numbers.size());
  std::iota(b.expected.at.begin(), b.expected.at.end(), std::size_t{0});
  b.expected.memory = std::make_shared<std::vector<std::size_t>>(std::move(numbers));
  return b;
}

class program_of_views {
 public:
  explicit program_of_views(unsigned seed) : bits_(seed) {
    scalars.clear();
    const dims shapes[] = {{6}, {2, 3}, {3, 2}, {2, 3, 2}, {4}};
    for (int i = 0; i < 3; ++i) add_tensor(shapes[below(5)], i < 2);
  }
  void step() {
    const std::size_t i = below(all_.size());
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return add_view(i);
      case 3:
        return combine(i);
      default:
        return write(i);
    }
  }
  // False if a value that a gradient needs was overwritten.
  bool check() {
    std::size_t total = number(0);
    Tensor<double> loss(0.0);
    for (const both& b : all_) {
      const double weight = 0.25 * static_cast<double>(1 + below(7));
      for (std::size_t k = 0; k < b.expected.at.size(); ++k) {
        const double w = weight * static_cast<double>(k + 1);
        total = number(scalars[total].value + w * scalars[b.expected[k]].value, {{total, 1}, {b.expected[k], w}});
      }
      Tensor<double> weights(new_tensor(dtype::float64, b.tensor.sizes()));
      for (std::int64_t k = 0; k < weights.numel(); ++k) weights.data()[k] = weight * static_cast<double>(k + 1);
      loss = loss + sum(b.tensor * weights);
    }
    const std::vector<double> slopes = derivatives(total);
    for (const both& b : all_) {
      const Tensor<double> values = b.tensor.clone();
      for (std::size_t k = 0; k < b.expected.at.size(); ++k)
        CHECK(values.data()[k] == doctest::Approx(scalars[b.expected[k]].value));
    }
    if (!loss.needs_grad()) return true;
    try {
      backward(loss);
    } catch (const graph_error&) {
      return false;
    }
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      for (std::size_t k = 0; k < leaves_[l].expected.at.size(); ++k) {
        const Tensor<double>& w = leaves_[l].tensor;
        const double got = w.has_grad() ? w.grad().data()[k] : 0;
        CHECK(got == doctest::Approx(slopes[leaves_[l].expected[k]]));
      }
    }
    return true;
  }

 private:
  std::size_t below(std::size_t n) { return bits_() % n; }
  double factor() { return 0.5 * static_cast<double>(1 + below(5)) - 1.25; }

  void add_tensor(const dims& sizes, bool is_leaf) {
    Tensor<double> t(new_tensor(dtype::float64, sizes));
    std::vector<std::size_t> numbers;
    for (std::int64_t k = 0; k < t.numel(); ++k) {
      t.data()[k] = factor();
      numbers.push_back(number(t.data()[k]));
    }
    if (is_leaf) t.requires_grad();
    all_.push_back(made(t, std::move(numbers)));
    all_.back().expected.of_leaf = is_leaf;
    if (is_leaf) leaves_.push_back(all_.back());
  }

  // The element of b at each position of a view whose position p shows source(p).
  template <class F>
  void push_view(const both& b, const Tensor<double>& view, const F& source) {
    both v{view, b.expected};
    v.expected.sizes = view.sizes();
    v.expected.at.clear();
    const dims& s = view.sizes();
    for (std::int64_t flat = 0; flat < count(s); ++flat) {
      dims p = s;
      for (std::int64_t i = s.rank() - 1, rest = flat; i >= 0; --i) {
        p[static_cast<int>(i)] = rest % s[static_cast<int>(i)];
        rest /= s[static_cast<int>(i)];
      }
      const dims from = source(p);
      std::int64_t place = 0;
      for (int i = 0; i < b.expected.sizes.rank(); ++i) place = place * b.expected.sizes[i] + from[i];
      v.expected.at.push_back(b.expected.at[static_cast<std::size_t>(place)]);
    }
    all_.push_back(std::move(v));
  }
  void add_view(std::size_t from) {
    const both b = all_[from];
    const dims& s = b.tensor.sizes();
    const int rank = s.rank();
    if (rank == 0) return;
    const int axis = static_cast<int>(below(static_cast<std::size_t>(rank)));
    const auto index = static_cast<std::int64_t>(below(static_cast<std::size_t>(s[axis])));
    switch (below(4)) {
      case 0:
        return push_view(b, b.tensor.select(axis, index), [&](dims p) { return p.insert(axis, index), p; });
      case 1:
        return push_view(b, b.tensor.slice(axis, index), [&](dims p) { return p[axis] += index, p; });
      case 2:
        return push_view(b, b.tensor.transpose(0, axis), [&](dims p) { return std::swap(p[0], p[axis]), p; });
      default:
        if (!b.tensor.contiguous_layout()) return;
        return push_view(b, b.tensor.flatten(), [&](const dims& p) {
          dims q = s;
          std::int64_t rest = p[0];
          for (int i = rank - 1; i >= 0; --i) q[i] = rest % s[i], rest /= s[i];
          return q;
        });
    }
  }
  // Another tensor of the shape of one, itself perhaps; or a number's worth of it.
  std::size_t like(std::size_t i) {
    const std::size_t begin = below(all_.size());
    for (std::size_t k = 0; k < all_.size(); ++k) {
      const std::size_t j = (begin + k) % all_.size();
      if (all_[j].expected.sizes == all_[i].expected.sizes || all_[j].expected.at.size() == 1) return j;
    }
    return i;
  }
  static std::size_t broadcast(const model& m, std::size_t k) { return m[m.at.size() == 1 ? 0 : k]; }

  void combine(std::size_t i) {
    const std::size_t j = like(i);
    const both a = all_[i], b = all_[j];
    if (b.expected.sizes.rank() > a.expected.sizes.rank()) return;
    const double f = factor();
    const bool product = below(4) == 0;
    std::vector<std::size_t> numbers;
    for (std::size_t k = 0; k < a.expected.at.size(); ++k) {
      const std::size_t x = a.expected[k], y = broadcast(b.expected, k);
      const double u = scalars[x].value, v = scalars[y].value;
      numbers.push_back(product ? number(u * v, {{x, v}, {y, u}}) : number(u + v * f, {{x, 1}, {y, f}}));
    }
    all_.push_back(product ? made(a.tensor * b.tensor, std::move(numbers))
                           : made(a.tensor + b.tensor * f, std::move(numbers)));
  }
  void write(std::size_t i) {
    const both a = all_[i];
    if (a.expected.of_leaf) return;
    const std::size_t j = like(i);
    const both b = all_[j];
    if (b.expected.sizes.rank() > a.expected.sizes.rank()) return;
    const double f = factor();
    Tensor<double> target = a.tensor;
    // What is read is read before any of it is written.
    std::vector<std::size_t> old, read;
    for (std::size_t k = 0; k < a.expected.at.size(); ++k) {
      old.push_back(a.expected[k]);
      read.push_back(broadcast(b.expected, k));
    }
    const std::size_t kind = below(4);
    for (std::size_t k = 0; k < old.size(); ++k) {
      const double u = scalars[old[k]].value, v = scalars[read[k]].value;
      a.expected[k] = kind == 0   ? number(u + v * f, {{old[k], 1}, {read[k], f}})
                      : kind == 1 ? number(v * f, {{read[k], f}})
                      : kind == 2 ? number(u * f, {{old[k], f}})
                                  : number(f);
    }
    if (kind == 0) target += b.tensor * f;
    if (kind == 1) target.copy_(b.tensor * f);
    if (kind == 2) target *= f;
    if (kind == 3) target.fill_(f);
  }

  std::mt19937 bits_;
  std::vector<both> all_, leaves_;
};

Tensor<double> leaf(std::initializer_list<double> values) {
  Tensor<double> w(new_tensor(dtype::float64, {static_cast<std::int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), w.data());
  w.requires_grad();
  return w;
}
void check_gradient_of(const Tensor<double>& w, std::initializer_list<double> expected) {
  REQUIRE(w.has_grad());
  std::int64_t i = 0;
  for (double e : expected) CHECK(w.grad()(i++) == doctest::Approx(e));
}

}  // namespace

TEST_CASE("view_metadata: programs of views and in-place writes have the gradients of their single numbers") {
  int refused = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    program_of_views p(seed);
    for (int i = 0; i < 14; ++i) p.step();
    refused += !p.check();
  }
  CHECK(refused < 40);  // a value that a gradient needs was overwritten
}

TEST_CASE("view_metadata: a write to a view of all elements reaches the base, and the other way round") {
  Tensor<double> w = leaf({1, 2, 3, 4}), x = zeros<double>({4});
  Tensor<double> y = x.reshape({2, 2}), row = y.select(0, 1);
  y += w.reshape({2, 2});
  CHECK(x.needs_grad());
  CHECK(row.needs_grad());
  backward(sum(x * x) + sum(row));
  check_gradient_of(w, {2, 4, 7, 9});
  w.zero_grad();
  Tensor<double> z = zeros<double>({4});
  const Tensor<double> part = z.slice(0, 1, 3);
  z += w * 3.0;
  CHECK(part.needs_grad());
  backward(sum(part));
  check_gradient_of(w, {0, 3, 3, 0});
}

TEST_CASE("view_metadata: what a write to a part replaced gets no gradient any more") {
  Tensor<double> w = leaf({1, 2, 3});
  Tensor<double> x = w * 2.0;
  const Tensor<double> before = x * 1.0;
  x.select(0, 1).fill_(7);
  CHECK(x(1) == 7);
  backward(sum(x) + 10.0 * sum(before));
  check_gradient_of(w, {22, 20, 22});
}

TEST_CASE("view_metadata: views of leaves are written while nothing is recorded, else refused") {
  Tensor<double> w = leaf({1, 2, 3});
  Tensor<double> part = w.slice(0, 1);
  CHECK_THROWS_WITH_AS(part *= 2.0, doctest::Contains("no_grad"), graph_error);
  CHECK_THROWS_AS(part.select(0, 0).fill_(0), graph_error);
  CHECK(w(1) == 2);
  {
    const no_grad quiet;
    part *= 2.0;
  }
  CHECK(w(2) == 6);
  backward(sum(part * part));
  check_gradient_of(w, {0, 8, 12});
}

TEST_CASE("view_metadata: a view made under no_grad does not take a write that needs a gradient") {
  const Tensor<double> w = leaf({1, 2, 3});
  Tensor<double> x = zeros<double>({2, 3}), row;
  {
    const no_grad quiet;
    row = x.select(0, 0);
  }
  CHECK_THROWS_WITH_AS(row += w, doctest::Contains("no_grad"), graph_error);
  row += 1.0;
  CHECK(x(0, 2) == 1);
}

TEST_CASE("view_metadata: what is detached shares values and no history") {
  Tensor<double> w = leaf({1, 2, 3}), x = w * 2.0, d = x.detach();
  Tensor<double> part = d.slice(0, 1);
  part += w.slice(0, 1);
  CHECK(d.needs_grad());
  CHECK(x(2) == 9);
  backward(sum(x) + 10.0 * sum(d));
  check_gradient_of(w, {2, 12, 12});
}

TEST_CASE("view_metadata: bases that are not contiguous, and reshapes that only the view's strides allow") {
  Tensor<double> w = leaf({1, 2, 3, 4, 5, 6});
  std::vector<double> columns(6, 1.0);
  Tensor<double> base = from_blob(columns.data(), {2, 3}, {1, 2});  // column-major
  Tensor<double> flat = base.t().reshape({6});                      // a view: base.t() is contiguous
  flat += w;
  CHECK(columns[5] == 7);
  REQUIRE(base.needs_grad());
  backward(sum(base * Tensor<double>{{1, 2, 3}, {4, 5, 6}}));
  check_gradient_of(w, {1, 4, 2, 5, 3, 6});
}

TEST_CASE("view_metadata: a leaf that is a view stays one") {
  Tensor<double> x = ones<double>({4}), v = x.slice(0, 1, 3);
  v.requires_grad();
  Tensor<double> w = leaf({1, 2, 3, 4});
  x += w;
  backward(sum(v * v) + sum(x));
  check_gradient_of(w, {1, 1, 1, 1});
  CHECK(v.grad()(1) == 8);
}

TEST_CASE("view_metadata: a long chain of views that repeat elements ends without using up the stack") {
  Tensor<double> w = leaf({1, 2});
  Tensor<double> v = w.reshape({1, 2});
  for (int i = 0; i < 20000; ++i) v = v.expand({3, 2}).slice(0, 0, 1);
  backward(sum(v));
  check_gradient_of(w, {1, 1});
}
