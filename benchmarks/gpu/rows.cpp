// SPDX-License-Identifier: BSL-1.0
// Row programs over rows of 64 to 32768 elements, 1 to 256 MiB in all: forward, and forward with backward.
#include "measure.hpp"

using namespace measure;

namespace {

using row = std::vector<double>;

// What a row should give, and the gradient of its product with g.
struct row_rule {
  row (*values)(const row& x);
  row (*slopes)(const row& x, const row& y, const row& g);
};

double sum_of_products(const row& a, const row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
double log_sum_exp(const row& x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);  // draws of a normal distribution do not overflow
  return std::log(sum);
}
row normalised(const row& x, bool centred, double eps) {
  const row ones(x.size(), 1);
  const auto n = static_cast<double>(x.size());
  const double mean = centred ? sum_of_products(x, ones) / n : 0;
  row y = x;
  for (double& v : y) v -= mean;
  const double by = 1 / std::sqrt(sum_of_products(y, y) / n + eps);
  for (double& v : y) v *= by;
  return y;
}
// The rows' scale is found from x and y, so that one rule serves both norms.
row slopes_of_norm(const row& x, const row& y, const row& g, bool centred) {
  const row ones(x.size(), 1);
  const auto n = static_cast<double>(x.size());
  std::size_t at = 0, low = 0;
  for (std::size_t i = 0; i < x.size(); ++i) at = x[i] > x[at] ? i : at, low = x[i] < x[low] ? i : low;
  const double by = (y[at] - y[low]) / (x[at] - x[low]), along = sum_of_products(g, y) / n;
  const double mean = centred ? sum_of_products(g, ones) / n : 0;
  row out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(by * (g[i] - mean - y[i] * along));
  return out;
}

const row_rule softmax_rule{[](const row& x) {
                              const double total = log_sum_exp(x);
                              row y;
                              for (const double v : x) y.push_back(std::exp(v - total));
                              return y;
                            },
                            [](const row&, const row& y, const row& g) {
                              const double along = sum_of_products(y, g);
                              row out;
                              for (std::size_t i = 0; i < y.size(); ++i) out.push_back(y[i] * (g[i] - along));
                              return out;
                            }};
const row_rule layer_norm_rule{[](const row& x) { return normalised(x, true, 1e-5); },
                               [](const row& x, const row& y, const row& g) { return slopes_of_norm(x, y, g, true); }};
const row_rule rms_norm_rule{[](const row& x) { return normalised(x, false, 1e-6); },
                             [](const row& x, const row& y, const row& g) { return slopes_of_norm(x, y, g, false); }};
const row_rule logsumexp_rule{[](const row& x) { return row{log_sum_exp(x)}; },
                              [](const row& x, const row& y, const row& g) {
                                row out;
                                for (const double v : x) out.push_back(g[0] * std::exp(v - y[0]));
                                return out;
                              }};

// Compares some rows of what is there, all of them in full.
template <class T>
std::string check_rows(const on_device<T>& x, const on_device<T>& y, const on_device<T>& g, const on_device<T>& slope,
                       const row_rule& rule) {
  const no_grad quiet;
  const std::int64_t rows = x.size(0), n = x.size(1), width = y.numel() / rows;
  const std::int64_t step = std::max<std::int64_t>(1, rows / 30) | 1;
  const auto some = [&](const on_device<T>& t, std::int64_t columns) {
    return values_of(t.detach().view({rows, columns}).slice(0, 0, rows, step));
  };
  const row xs = some(x, n), ys = some(y, width), gs = g.defined() ? some(g, width) : row();
  const row ss = slope.defined() ? some(slope, n) : row();
  const auto part = [](const row& all, std::size_t r, std::int64_t columns) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r) * columns;
    return row(begin, begin + columns);
  };
  row wanted, slopes;
  for (std::size_t r = 0; r * static_cast<std::size_t>(n) < xs.size(); ++r) {
    const row here = part(xs, r, n), out = rule.values(here);
    wanted.insert(wanted.end(), out.begin(), out.end());
    if (gs.empty()) continue;
    const row back = rule.slopes(here, out, part(gs, r, width));
    slopes.insert(slopes.end(), back.begin(), back.end());
  }
  return difference(ys, wanted, tolerance<T>()) + (gs.empty() ? "" : difference(ss, slopes, 2 * tolerance<T>()));
}

template <class T, class Function>
void enter_rows(const std::string& name, std::int64_t rows, std::int64_t n, const row_rule& rule, bool reduces,
                Function function) {
  const std::string contest = name + "/" + type_name<T>() + "/" + std::to_string(rows) + "x" + std::to_string(n);
  const double all = static_cast<double>(rows * n) * sizeof(T), one = static_cast<double>(rows) * sizeof(T);
  const double forward = reduces ? all + one : 2 * all;
  enter(contest + "/forward", "kiln", [=] {
    const on_device<T> x = cast<T>(randn<float, Cuda>({rows, n}));
    auto y = std::make_shared<on_device<T>>();
    work made;
    made.run = [=] { *y = function(x); };
    made.wrong = [=] { return check_rows<T>(x, *y, {}, {}, rule); };
    made.bytes = forward;
    return made;
  });
  enter_copy(contest + "/forward", forward);
  // Backward reads what a reduction kept, or x and the gradient, and writes a gradient.
  const double both = forward + (reduces ? 2 * all + 2 * one : 3 * all);
  enter(contest + "/both", "kiln", [=] {
    auto x = std::make_shared<on_device<T>>(cast<T>(randn<float, Cuda>({rows, n})));
    x->requires_grad();
    auto y = std::make_shared<on_device<T>>(function(x->detach()));
    const on_device<T> g = cast<T>(randn<float, Cuda>(y->sizes()));
    work made;
    made.run = [=] {
      x->zero_grad();
      *y = function(*x);
      backward(*y, g);
    };
    made.wrong = [=] { return check_rows<T>(*x, *y, g, x->grad(), rule); };
    made.bytes = both;
    return made;
  });
  enter_copy(contest + "/both", both);
}

template <class T>
void enter_shape(std::int64_t rows, std::int64_t n) {
  rows = sized(rows, 4), n = sized(n, n / 64 + 40);
  enter_rows<T>("softmax", rows, n, softmax_rule, false, [](const on_device<T>& x) { return softmax(x, 1); });
  enter_rows<T>("layer_norm", rows, n, layer_norm_rule, false, [](const on_device<T>& x) { return layer_norm(x, 1); });
  enter_rows<T>("rms_norm", rows, n, rms_norm_rule, false, [](const on_device<T>& x) { return rms_norm(x, 1); });
  enter_rows<T>("logsumexp", rows, n, logsumexp_rule, true, [](const on_device<T>& x) { return logsumexp(x, 1); });
}

[[maybe_unused]] const bool entered = [] {
  for (const std::int64_t n : {64, 1024, 8192, 32768}) enter_shape<float>((64 << 20) / n, n);
  if (tiny()) return true;
  enter_shape<float>(256, 1024);      // 1 MiB
  enter_shape<float>(16 << 10, 256);  // 16 MiB
  enter_shape<bfloat16>(128 << 10, 1024);
  return true;
}();

}  // namespace
