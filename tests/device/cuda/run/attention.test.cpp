// SPDX-License-Identifier: BSL-1.0
// Attention's kernels against sums written out in double, forward and backward, of every floating type: lengths and
// widths that are no multiple of a tile, queries that see nothing, masks of both kinds, dropout, and any strides.
#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/run/attention.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace kiln;
using list = std::vector<double>;

namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

template <class T>
struct on_device {
  ref<storage> memory;
  std::size_t size, skipped;
  explicit on_device(const list& values, std::size_t before = 0)
      : memory(cuda::new_storage((before + values.size()) * sizeof(T))), size(values.size()), skipped(before) {
    const auto here = std::make_unique<T[]>(before + size);  // std::vector<bool> has no data()
    for (std::size_t i = 0; i < size; ++i) here[before + i] = static_cast<T>(static_cast<compute_t<T>>(values[i]));
    if (before + size > 0)
      cuda::copy_to_device(memory->data, here.get(), (before + size) * sizeof(T), cuda::current_stream({}));
  }
  T* data() const { return static_cast<T*>(memory->data) + skipped; }
  list values() const {
    std::vector<T> here(size);
    if (size > 0) cuda::copy_to_host(here.data(), data(), size * sizeof(T), cuda::current_stream({}));
    list out;
    for (const T x : here) out.push_back(static_cast<double>(static_cast<compute_t<T>>(x)));
    return out;
  }
};

template <class T>
list waves(std::int64_t n, double phase) {
  list out;
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = std::sin(phase + 1.7 * static_cast<double>(i) + 0.01 * static_cast<double>(i * i % 97));
    out.push_back(static_cast<double>(static_cast<compute_t<T>>(static_cast<T>(static_cast<compute_t<T>>(x)))));
  }
  return out;
}

double furthest(const list& a, const list& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < a.size() && most < 1e9; ++i) {
    const double far = a[i] == b[i] ? 0 : std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    most = std::isnan(far) ? 1e9 : std::max(most, far);
  }
  return most;
}

/// Queries, keys and values of (batch, heads, time, width), the layout (batch, time, heads, width) or contiguous.
struct problem {
  std::int64_t batch = 1, heads = 2, queries = 1, keys = 1, width = 1, value_width = 1;
  bool causal = false, numbers = false, truths = false, turned = false;
  double dropout = 0, scale = 0.7;  // times 1 / sqrt(width)
  std::size_t offset = 0;           // elements that memory begins before q, k and v
};

matrix_places places(const problem& p, const void* data, std::int64_t rows, std::int64_t width) {
  if (p.turned) return {data, dims{rows * p.heads * width, width}, p.heads * width, 1};
  return {data, dims{p.heads * rows * width, rows * width}, width, 1};
}

template <class T>
void check(const problem& p, double tolerance) {
  CAPTURE(p.queries);
  CAPTURE(p.keys);
  CAPTURE(p.width);
  const std::int64_t matrices = p.batch * p.heads;
  const list q = waves<T>(matrices * p.queries * p.width, 1), k = waves<T>(matrices * p.keys * p.width, 2),
             v = waves<T>(matrices * p.keys * p.value_width, 3), dy = waves<T>(matrices * p.queries * p.value_width, 4);
  // Numbers for each query and key of all matrices, truth values for each key of each batch; the first query of the
  // second matrix sees none. The second batch sees no key past the first ones, and of one alone, nothing.
  const list added = waves<T>(p.queries * p.keys, 5);
  list allowed;
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t j = 0; j < p.keys; ++j) allowed.push_back(b == 1 ? 0 : j % 3 != 1);
  const on_device<T> on_q(q, p.offset), on_k(k, p.offset), on_v(v, p.offset), on_dy(dy), on_added(added);
  const on_device<bool> on_allowed(allowed);
  attention_job job{.type = dtype_of<T>,
                    .stack = {p.batch, p.heads},
                    .matrices = matrices,
                    .queries = p.queries,
                    .keys = p.keys,
                    .width = p.width,
                    .value_width = p.value_width,
                    .q = places(p, on_q.data(), p.queries, p.width),
                    .k = places(p, on_k.data(), p.keys, p.width),
                    .v = places(p, on_v.data(), p.keys, p.value_width),
                    .causal = p.causal,
                    .scale = p.scale / std::sqrt(static_cast<double>(p.width)),
                    .dropout = p.dropout,
                    .stream = {123, 40}};
  if (p.numbers) job.added = {on_added.data(), dims{0, 0}, p.keys, 1};
  if (p.truths) job.allowed = {on_allowed.data(), dims{p.keys, 0}, 0, 1};

  // The same by definition.
  const std::size_t rows = static_cast<std::size_t>(matrices * p.queries);
  list y(dy.size()), logsumexp(rows), dq(q.size()), dk(k.size()), dv(v.size());
  for (std::int64_t m = 0; m < matrices; ++m) {
    const auto at = [&](std::int64_t length, std::int64_t width, std::int64_t row, std::int64_t column) {
      const matrix_places w = places(p, nullptr, length, width);
      return static_cast<std::size_t>(w.offset(m, job.stack) + row * w.row + column);
    };
    const auto place = [&](std::int64_t length, std::int64_t width, std::int64_t row, std::int64_t column) {
      return static_cast<std::size_t>((m * length + row) * width + column);
    };
    for (std::int64_t i = 0; i < p.queries; ++i) {
      list weight(static_cast<std::size_t>(p.keys)), kept(weight.size(), 1), slope(weight.size());
      double most = nothing, sum = 0, common = 0;
      for (std::int64_t j = 0; j < p.keys; ++j) {
        const auto here = static_cast<std::size_t>(j);
        double score = 0;
        for (std::int64_t c = 0; c < p.width; ++c)
          score += q[at(p.queries, p.width, i, c)] * k[at(p.keys, p.width, j, c)];
        score *= job.scale;
        if (p.numbers) score += added[static_cast<std::size_t>(i * p.keys + j)];
        if (p.truths && allowed[static_cast<std::size_t>(m / p.heads * p.keys + j)] == 0) score = nothing;
        if (p.causal && j > i) score = nothing;
        weight[here] = score, most = std::max(most, score);
        if (p.dropout > 0) {
          const auto block = static_cast<std::uint64_t>((m * p.queries + i) * ((p.keys + 3) / 4) + j / 4);
          const double drawn = (job.stream.block(block)[here % 4] >> 8) / double(1 << 24);
          kept[here] = drawn >= p.dropout ? 1 / (1 - p.dropout) : 0;
        }
      }
      for (double& w : weight) sum += w = most == nothing ? 0 : std::exp(w - most);
      logsumexp[static_cast<std::size_t>(m * p.queries + i)] = most == nothing ? nothing : most + std::log(sum);
      if (most == nothing) continue;
      for (std::int64_t j = 0; j < p.keys; ++j) {
        const auto here = static_cast<std::size_t>(j);
        weight[here] /= sum;
        for (std::int64_t c = 0; c < p.value_width; ++c) {
          const double g = dy[place(p.queries, p.value_width, i, c)], of = kept[here] * weight[here];
          y[place(p.queries, p.value_width, i, c)] += of * v[at(p.keys, p.value_width, j, c)];
          dv[place(p.keys, p.value_width, j, c)] += of * g;
          slope[here] += kept[here] * g * v[at(p.keys, p.value_width, j, c)];
        }
        common += weight[here] * slope[here];
      }
      for (std::int64_t j = 0; j < p.keys; ++j)
        for (std::int64_t c = 0; c < p.width; ++c) {
          const auto here = static_cast<std::size_t>(j);
          const double d = weight[here] * (slope[here] - common) * job.scale;
          dq[place(p.queries, p.width, i, c)] += d * k[at(p.keys, p.width, j, c)];
          dk[place(p.keys, p.width, j, c)] += d * q[at(p.queries, p.width, i, c)];
        }
    }
  }

  const auto& where = cuda::current_stream({});
  REQUIRE(cuda::can_attend(job, {}));
  const on_device<T> out(list(y.size(), 7));
  const on_device<compute_t<T>> sums(list(rows, 7));
  cuda::attention(job, out.data(), sums.data(), where);
  CHECK(furthest(out.values(), y) < tolerance);
  CHECK(furthest(sums.values(), logsumexp) < tolerance);
  // Gradients of keys and queries are written over what is there, that of the values is added to it.
  const on_device<T> to_q(list(q.size(), 7)), to_k(list(k.size(), 7)), to_v(list(v.size(), 1));
  cuda::attention_backward(job, out.data(), sums.data(), on_dy.data(), {to_q.data()}, {to_k.data()},
                           {to_v.data(), true}, where);
  for (double& x : dv) x += 1;
  CHECK(furthest(to_q.values(), dq) < tolerance);
  CHECK(furthest(to_k.values(), dk) < tolerance);
  CHECK(furthest(to_v.values(), dv) < tolerance);
  // What nobody wants is not made.
  const on_device<T> alone(list(k.size(), 7));
  cuda::attention_backward(job, out.data(), sums.data(), on_dy.data(), {}, {alone.data()}, {}, where);
  CHECK(alone.values() == to_k.values());
}

}  // namespace

TEST_CASE("cuda attention: float, by tiles and parts of them") {
  emulate::stand_in();
  check<float>({.queries = 5, .keys = 7, .width = 3, .value_width = 4}, 1e-5);
  check<float>({.queries = 70, .keys = 40, .width = 8, .value_width = 31, .turned = true}, 1e-5);
  check<float>({.heads = 1, .queries = 33, .keys = 65, .width = 60, .value_width = 64}, 1e-5);
}

TEST_CASE("cuda attention: double") {
  emulate::stand_in();
  check<double>({.batch = 2, .queries = 35, .keys = 33, .width = 8, .value_width = 6, .truths = true}, 1e-13);
  check<double>({.heads = 1, .queries = 33, .keys = 35, .width = 2, .value_width = 128, .causal = true, .dropout = 0.4},
                1e-13);
}

TEST_CASE("cuda attention: masks, causal, and dropout that backward draws again") {
  emulate::stand_in();
  check<float>({.queries = 70, .keys = 70, .width = 4, .value_width = 4, .causal = true}, 1e-5);
  check<float>({.queries = 10, .keys = 40, .width = 4, .value_width = 4, .causal = true, .dropout = 0.3}, 1e-5);
  check<float>({.queries = 66, .keys = 9, .width = 4, .value_width = 4, .causal = true, .numbers = true}, 1e-5);
  check<float>({.batch = 2,
                .queries = 6,
                .keys = 35,
                .width = 4,
                .value_width = 4,
                .numbers = true,
                .truths = true,
                .dropout = 0.5,
                .offset = 1},
               1e-5);
  check<float>({.queries = 6, .keys = 0, .width = 4, .value_width = 4}, 1e-5);
}

TEST_CASE("cuda attention: half and bfloat16 on tensor cores") {
  emulate::stand_in();
  check<half>({.queries = 5, .keys = 7, .width = 3, .value_width = 4}, 2e-3);
  check<half>({.heads = 1, .queries = 70, .keys = 130, .width = 64, .value_width = 40, .causal = true}, 2e-3);
  check<half>({.queries = 66, .keys = 20, .width = 16, .value_width = 16, .turned = true, .dropout = 0.25}, 2e-3);
  check<half>({.heads = 1, .queries = 65, .keys = 70, .width = 128, .value_width = 80, .truths = true}, 2e-3);
  check<bfloat16>({.batch = 2,
                   .queries = 9,
                   .keys = 66,
                   .width = 24,
                   .value_width = 8,
                   .numbers = true,
                   .truths = true,
                   .offset = 3},
                  1.5e-2);
}

TEST_CASE("cuda attention: half and bfloat16 with neither masks nor dropout, in larger tiles") {
  emulate::stand_in();
  check<half>({.heads = 1, .queries = 150, .keys = 70, .width = 128, .value_width = 120, .causal = true}, 2e-3);
  check<bfloat16>({.heads = 1, .queries = 3, .keys = 200, .width = 72, .value_width = 128, .causal = true}, 1.5e-2);
  check<bfloat16>({.queries = 130, .keys = 65, .width = 24, .value_width = 32, .turned = true}, 1.5e-2);
  check<half>({.heads = 1, .queries = 7, .keys = 140, .width = 33, .value_width = 61, .offset = 1}, 2e-3);
}

TEST_CASE("cuda attention: scores of half types that grow, and scales of any sign") {
  emulate::stand_in();
  // The largest score grows by more than 8 powers of two from tile to tile, and by less.
  check<half>({.heads = 1, .queries = 4, .keys = 200, .width = 64, .value_width = 8, .scale = 20}, 2e-2);
  check<half>({.heads = 1, .queries = 4, .keys = 70, .width = 16, .value_width = 8, .scale = -3}, 2e-3);
  check<half>({.heads = 1, .queries = 4, .keys = 70, .width = 16, .value_width = 8, .causal = true, .scale = 0}, 2e-3);
}

TEST_CASE("cuda attention: finite numbers as a mask hide a key, and of all keys none") {
  emulate::stand_in();
  for (const double low : {-0x1.fep127, -1e9, -3e9, -7e9, -1e12, -3e15, -1e30}) {
    CAPTURE(low);
    const on_device<bfloat16> q({1, 2}), k({3, 4, 5}), v({1, 3, 5}), added({low, 0, low, low, low, low}), out({7, 7});
    const on_device<float> sums({7, 7});
    attention_job job{.type = dtype::bfloat16, .matrices = 1, .queries = 2, .keys = 3, .width = 1, .value_width = 1};
    job.q = {q.data(), {}, 1, 1}, job.k = {k.data(), {}, 1, 1}, job.v = {v.data(), {}, 1, 1};
    job.added = {added.data(), {}, 3, 1};
    cuda::attention(job, out.data(), sums.data(), cuda::current_stream({}));
    CHECK(out.values() == list{3, 3});  // the one that is seen; the mean of all, as of equal scores
    // Only the first query's result has a gradient, and that flows to the one value alone: the weights of the second
    // are lost in the rounding of such scores, but finite.
    const on_device<bfloat16> dout({1, 0}), dq({7, 7}), dk({7, 7, 7}), dv({7, 7, 7});
    cuda::attention_backward(job, out.data(), sums.data(), dout.data(), {dq.data()}, {dk.data()}, {dv.data()},
                             cuda::current_stream({}));
    CHECK(dq.values() == list{0, 0});
    CHECK(dk.values() == list{0, 0, 0});
    CHECK(dv.values() == list{0, 1, 0});
  }
  // The only weight is 1, whatever is lost in the rounding of its score.
  const on_device<bfloat16> q({5}), k({6}), v({1}), added({-641728512}), out({7}), dout({1}), dv({7});
  const on_device<float> sums({7});
  attention_job job{.type = dtype::bfloat16, .matrices = 1, .queries = 1, .keys = 1, .width = 1, .value_width = 1};
  job.q = {q.data(), {}, 1, 1}, job.k = {k.data(), {}, 1, 1}, job.v = {v.data(), {}, 1, 1};
  job.added = {added.data(), {}, 1, 1};
  cuda::attention(job, out.data(), sums.data(), cuda::current_stream({}));
  cuda::attention_backward(job, out.data(), sums.data(), dout.data(), {}, {}, {dv.data()}, cuda::current_stream({}));
  CHECK(out.values() == list{1});
  CHECK(dv.values() == list{1});
}

TEST_CASE("cuda attention: what the kernels do not take") {
  emulate::stand_in();
  attention_job job{.matrices = 1, .queries = 4, .keys = 4, .width = 128, .value_width = 128};
  CHECK(cuda::can_attend(job, {}));
  job.value_width = 129;
  CHECK_FALSE(cuda::can_attend(job, {}));
  job.value_width = 8, job.matrices = std::int64_t{1} << 31;
  CHECK_FALSE(cuda::can_attend(job, {}));
}
