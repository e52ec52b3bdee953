// SPDX-License-Identifier: BSL-1.0
// Scaled dot product attention of long sequences, forward, and with the gradients of queries, keys and values.
#include <kiln/nn/functional/attention.hpp>
#include <kiln/nn/functional/cuda.hpp>

#include "measure.hpp"

using namespace measure;

namespace {

struct sizes {
  std::int64_t batch, heads, length, width;
  dims shape() const { return {batch, heads, length, width}; }
};
using list = std::vector<double>;

template <class T>
struct operands {
  on_device<T> q, k, v, g, y;
  explicit operands(const sizes& s)
      : q(cast<T>(randn<float, Cuda>(s.shape()))),
        k(cast<T>(randn<float, Cuda>(s.shape()))),
        v(cast<T>(randn<float, Cuda>(s.shape()))),
        g(cast<T>(randn<float, Cuda>(s.shape()))) {}
};

// The last head of the last batch.
template <class T>
list last_head(const on_device<T>& x, const sizes& s) {
  const std::int64_t all = s.batch * s.heads;
  return values_of(on_device<T>(x.detach().view({all, s.length, s.width}).slice(0, all - 1, all)));
}

// Every 61st query, which is all that is compared of results and gradients of queries, and all whose result has a
// gradient while those of keys and values are compared: float64 on the host is slow.
constexpr std::size_t apart = 61;

struct expected {
  list y, dq, dk, dv;
};
expected by_definition(const sizes& s, bool causal, const list& q, const list& k, const list& v, const list& g) {
  const auto n = static_cast<std::size_t>(s.length), w = static_cast<std::size_t>(s.width);
  const double scale = 1 / std::sqrt(static_cast<double>(s.width));
  expected out;
  out.dk.resize(n * w), out.dv.resize(n * w);
  for (std::size_t i = 0; i < n; i += apart) {
    const std::size_t seen = causal ? i + 1 : n;
    list weight(seen), slope(seen), y(w), dq(w);
    double sum = 0, common = 0;
    for (std::size_t j = 0; j < seen; ++j) {
      for (std::size_t c = 0; c < w; ++c) weight[j] += q[i * w + c] * k[j * w + c];
      sum += weight[j] = std::exp(weight[j] * scale);
    }
    for (std::size_t j = 0; j < seen; ++j) {
      weight[j] /= sum;
      for (std::size_t c = 0; c < w; ++c) {
        y[c] += weight[j] * v[j * w + c];
        out.dv[j * w + c] += weight[j] * g[i * w + c];
        slope[j] += g[i * w + c] * v[j * w + c];
      }
      common += weight[j] * slope[j];
    }
    for (std::size_t j = 0; j < seen; ++j)
      for (std::size_t c = 0; c < w; ++c) {
        const double d = weight[j] * (slope[j] - common) * scale;
        dq[c] += d * k[j * w + c];
        out.dk[j * w + c] += d * q[i * w + c];
      }
    out.y.insert(out.y.end(), y.begin(), y.end());
    out.dq.insert(out.dq.end(), dq.begin(), dq.end());
  }
  return out;
}
list some_rows(const list& all, std::size_t width) {
  list out;
  for (std::size_t at = 0; at < all.size(); at += apart * width)
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(at),
               all.begin() + static_cast<std::ptrdiff_t>(at + width));
  return out;
}

template <class T>
void run(operands<T>& x, bool causal) {
  x.y = scaled_dot_product_attention(x.q, x.k, x.v, {.causal = causal});
}
template <class T>
void run_both(operands<T>& x, bool causal, const on_device<T>& g) {
  for (auto* leaf : {&x.q, &x.k, &x.v}) leaf->zero_grad();
  run(x, causal);
  backward(x.y, g);
}

template <class T>
std::string check(operands<T>& x, const sizes& s, bool causal, bool both) {
  const auto w = static_cast<std::size_t>(s.width);
  on_device<T> sparse;
  if (both) {
    const Tensor<std::int64_t, Cuda> query = arange<std::int64_t, Cuda>(0, s.length).view({s.length, 1});
    sparse = where(query % static_cast<std::int64_t>(apart) == 0, x.g, T(0));
    run_both(x, causal, sparse);
  }
  const no_grad quiet;
  const expected wanted = by_definition(s, causal, last_head(x.q, s), last_head(x.k, s), last_head(x.v, s),
                                        last_head(both ? sparse : x.g, s));
  std::string wrong = difference(some_rows(last_head(x.y, s), w), wanted.y, tolerance<T>());
  if (both)
    wrong += difference(some_rows(last_head(x.q.grad(), s), w), wanted.dq, 2 * tolerance<T>()) +
             difference(last_head(x.k.grad(), s), wanted.dk, 2 * tolerance<T>()) +
             difference(last_head(x.v.grad(), s), wanted.dv, 2 * tolerance<T>());
  return wrong;
}

template <class T>
void enter_attention(const sizes& s, bool causal) {
  const std::string contest = "attention/" + type_name<T>() + "/" + std::to_string(s.batch) + "x" +
                              std::to_string(s.heads) + "x" + std::to_string(s.length) + "x" + std::to_string(s.width) +
                              (causal ? "/causal" : "/full");
  const double pairs = static_cast<double>(s.batch * s.heads) * static_cast<double>(s.length * s.length),
               forward = 4 * pairs * static_cast<double>(s.width) / (causal ? 2 : 1);
  enter(contest + "/forward", "kiln", [=] {
    auto x = std::make_shared<operands<T>>(s);
    work made;
    made.run = [=] { run(*x, causal); };
    made.wrong = [=] { return check(*x, s, causal, false); };
    made.operations = forward;
    return made;
  });
  // As others count it: backward has five products where forward has two.
  enter(contest + "/both", "kiln", [=] {
    auto x = std::make_shared<operands<T>>(s);
    for (auto* leaf : {&x->q, &x->k, &x->v}) leaf->requires_grad();
    work made;
    made.run = [=] { run_both(*x, causal, x->g); };
    made.wrong = [=] { return check(*x, s, causal, true); };
    made.operations = 3.5 * forward;
    return made;
  });
}

[[maybe_unused]] const bool entered = [] {
  const std::int64_t length = sized(4096, 70);
  for (const bool causal : {false, true}) {
    enter_attention<bfloat16>({sized(4, 1), sized(16, 1), length, 64}, causal);
    enter_attention<bfloat16>({sized(2, 1), sized(16, 1), length, 128}, causal);
  }
  return true;
}();

}  // namespace
