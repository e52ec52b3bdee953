// SPDX-License-Identifier: BSL-1.0
// Batch norm, conv2d and attention of half and bfloat16, which cuDNN computes where it takes them: values and gradients
// against plain double loops on the host, and which of cuDNN and kiln's own kernels it was. On a GPU also what each
// takes.
#include "operands.hpp"

#include <chrono>
#include <string>

#include "nn/functional/channels_last.hpp"
#include "support/attention_reference.hpp"
#include "support/device_layers.hpp"

using namespace gpu_test;
using device_test::by_definition;

namespace {

// Numbers that T holds, between -1 and 1.
template <class T>
std::vector<double> drawn(std::int64_t n, std::uint64_t seed, double offset = 0) {
  drawing draw(seed);
  std::vector<double> out(static_cast<std::size_t>(n));
  for (double& v : out) v = number(rounded<T>(draw.between(-1, 1) + offset));
  return out;
}
// The largest difference, relative to the largest number.
double relative(const std::vector<double>& got, const std::vector<double>& wanted) {
  double largest = 1e-6, worst = got.size() == wanted.size() ? 0 : INFINITY;
  for (const double v : wanted) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i) {
    const double d = std::abs(got[i] - wanted[i]) / largest;
    worst = d <= worst ? worst : (std::isnan(d) ? INFINITY : d);
  }
  return worst;
}
template <class T>
constexpr double rounding = std::is_same_v<T, half> ? 4e-3 : 3e-2;

template <class T>
std::string type_name() {
  return std::string(kiln::name(dtype_of<T>));
}

// Milliseconds of one call, of ten.
template <class F>
double milliseconds(F&& f) {
  for (int i = 0; i < 2; ++i) f();
  cuda::synchronize({});
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) f();
  cuda::synchronize({});
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count() / 10;
}

// Sets a number for as long as it lives.
template <class N>
class set_to {
 public:
  set_to(N& what, N value) : what_(what), before_(std::exchange(what, value)) {}
  ~set_to() { what_ = before_; }
  set_to(const set_to&) = delete;
  set_to& operator=(const set_to&) = delete;

 private:
  N& what_;
  N before_;
};

// What cuDNN said, where it computes nothing: a refusal on a GPU of sm_80 to sm_90 is a failure, so that it is seen,
// but for that of a version that is known to lack the graph.
void report(const std::string& what, const std::string& refusal) {
  if (refusal.empty()) {
    MESSAGE(what, ": by cuDNN");
    return;
  }
  MESSAGE(what, ": by kiln's own kernels, since ", refusal);
  const int architecture = cuda::properties({}).architecture;
  const bool known = architecture < 80 || architecture >= 100 || refusal.find("too old") != refusal.npos;
  CHECK_MESSAGE(known, what, " should be cuDNN's: ", refusal);
}

const dims second{0, 3, 1, 2}, last{0, 2, 3, 1};

// Numbers of images (n, c, h, w) in the order of (n, h, w, c).
std::vector<double> with_channels_last(const std::vector<double>& x, const dims& s) {
  std::vector<double> out;
  each_index({s[0], s[2], s[3], s[1]}, [&](const dims& at) {
    out.push_back(x[static_cast<std::size_t>(((at[0] * s[1] + at[3]) * s[2] + at[1]) * s[3] + at[2])]);
  });
  return out;
}

template <class T, class R>
void check_batch_norm(const dims& s, bool channels_last) {
  INFO(type_name<T>(), std::string(channels_last ? ", channels last" : ", channels first"));
  const std::int64_t n = count(s), channels = s[1];
  const auto X = drawn<T>(n, 1, 0.5), W = drawn<T>(channels, 2), B = drawn<T>(channels, 3), G = drawn<T>(n, 4),
             M = drawn<R>(channels, 5), V = drawn<R>(channels, 6, 2);
  const auto wanted =
      by_definition(X, static_cast<std::size_t>(s[0]), static_cast<std::size_t>(channels), W, B, G, 1e-3);
  const auto laid = [&](const std::vector<double>& x) { return channels_last ? with_channels_last(x, s) : x; };
  const dims sizes = channels_last ? dims{s[0], s[2], s[3], s[1]} : s;
  on_device<T> x = to_device<T>(laid(X), sizes), w = to_device<T>(W, {channels}), b = to_device<T>(B, {channels});
  on_device<R> mean = to_device<R>(M, {channels}), variance = to_device<R>(V, {channels});
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const batch_norm_options how{.training = true, .momentum = 0.25, .eps = 1e-3};
  on_device<T> y;
  if (channels_last)
    y = permute(batch_norm(permute(x, second), mean, variance, w, b, how), last);
  else
    y = batch_norm(x, mean, variance, w, b, how);
  CHECK(relative(to_host(y), laid(wanted.y)) <= rounding<T>);
  std::vector<double> new_mean, new_variance;
  for (std::size_t c = 0; c < M.size(); ++c) {
    new_mean.push_back(0.75 * M[c] + 0.25 * wanted.mean[c]);
    new_variance.push_back(0.75 * V[c] + 0.25 * wanted.unbiased[c]);
  }
  const double statistics = std::is_same_v<R, float> ? 1e-4 : rounding<R>;
  CHECK(relative(to_host(mean), new_mean) <= statistics);
  CHECK(relative(to_host(variance), new_variance) <= statistics);
  const on_device<T> g = to_device<T>(laid(G), sizes);
  backward(y, g);
  CHECK(relative(to_host(x.grad()), laid(wanted.dx)) <= rounding<T>);
  CHECK(relative(to_host(w.grad()), wanted.dweight) <= rounding<T>);
  CHECK(relative(to_host(b.grad()), wanted.dbias) <= rounding<T>);
  // A second pass adds to the gradients.
  if (channels_last)
    backward(permute(batch_norm(permute(x, second), mean, variance, w, b, how), last), g);
  else
    backward(batch_norm(x, mean, variance, w, b, how), g);
  std::vector<double> twice = laid(wanted.dx);
  for (double& v : twice) v *= 2;
  CHECK(relative(to_host(x.grad()), twice) <= 2 * rounding<T>);
  if (channels_last)
    report(
        "batch norm of " + type_name<T>() + " with channels last",
        cuda::cudnn_batch_norm_refusal(
            {.type = dtype_of<T>, .batch = s[0], .positions = s[2] * s[3], .channels = channels, .running = true}, {}));
}

template <class T>
void time_batch_norm(bool channels_last, bool own) {
  const dims s{64, 64, 56, 56};
  on_device<T> x = ones<T, Cuda>(channels_last ? dims{s[0], s[2], s[3], s[1]} : s), w = ones<T, Cuda>({s[1]}),
               b = zeros<T, Cuda>({s[1]});
  on_device<float> mean = zeros<float, Cuda>({s[1]}), variance = ones<float, Cuda>({s[1]});
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const on_device<T> g = ones<T, Cuda>(x.sizes());
  const set_to least(detail::least_cudnn_batch_norm, own ? INT64_MAX : 0);
  const double took = milliseconds([&] {
    const batch_norm_options how{.training = true};
    if (channels_last)
      backward(permute(batch_norm(permute(x, second), mean, variance, w, b, how), last), g);
    else
      backward(batch_norm(x, mean, variance, w, b, how), g);
  });
  // x is read, y written, x and dy read, dx written and added to what is there.
  MESSAGE(message("batch norm of ", type_name<T>(), " (64, 64, 56, 56)",
                  channels_last ? " channels last" : " channels first", own ? ", own kernels" : ", cuDNN", ": ",
                  took * 1000, " us for both passes, ", 2 * 6e-6 * static_cast<double>(count(s)) / took,
                  " GB/s of the fewest bytes"));
}

// Numbers of (batch, heads, rows, width) in the order of (batch, rows, heads, width).
std::vector<double> with_heads_in_rows(const std::vector<double>& x, const dims& s) {
  std::vector<double> out;
  each_index({s[0], s[2], s[1], s[3]}, [&](const dims& at) {
    out.push_back(x[static_cast<std::size_t>(((at[0] * s[1] + at[2]) * s[2] + at[1]) * s[3] + at[3])]);
  });
  return out;
}

struct attention_case {
  std::int64_t batch, heads, queries, keys, width;
  bool causal, heads_in_rows;
};

template <class T>
void check_attention(const attention_case& c, bool deterministic) {
  INFO(type_name<T>(), ", ", c.queries, " x ", c.keys, " x ", c.width, std::string(c.causal ? ", causal" : ""));
  const attention_reference::sizes s{
      c.batch * c.heads, c.queries, c.keys, c.width, c.width, c.causal, 1 / std::sqrt(static_cast<double>(c.width))};
  const auto Q = drawn<T>(s.matrices * s.queries * s.width, 1), K = drawn<T>(s.matrices * s.keys * s.width, 2),
             V = drawn<T>(s.matrices * s.keys * s.width, 3), G = drawn<T>(s.matrices * s.queries * s.width, 4);
  const auto wanted = attention_reference::attend(s, Q, K, V, G);
  // As a leaf, (batch, heads, rows, width), or (batch, rows, heads, width) as a layer's projections leave it.
  const auto turned = [&](const std::vector<double>& x, std::int64_t rows) {
    return c.heads_in_rows ? with_heads_in_rows(x, {c.batch, c.heads, rows, c.width}) : x;
  };
  const auto leaf = [&](const std::vector<double>& x, std::int64_t rows) {
    return to_device<T>(turned(x, rows), c.heads_in_rows ? dims{c.batch, rows, c.heads, c.width}
                                                         : dims{c.batch, c.heads, rows, c.width});
  };
  const auto operand_of = [&](const on_device<T>& x) { return c.heads_in_rows ? x.transpose(1, 2) : x; };
  on_device<T> q = leaf(Q, c.queries), k = leaf(K, c.keys), v = leaf(V, c.keys);
  q.requires_grad(), k.requires_grad(), v.requires_grad();
  const on_device<T> g = to_device<T>(G, {c.batch, c.heads, c.queries, c.width});
  cuda::set_deterministic(deterministic);
  std::vector<std::vector<double>> first;
  for (int pass = 0; pass < 2; ++pass) {
    const on_device<T> y =
        scaled_dot_product_attention(operand_of(q), operand_of(k), operand_of(v), {.causal = c.causal});
    backward(y, g);
    const std::vector<std::vector<double>> got{to_host(y), to_host(q.grad()), to_host(k.grad()), to_host(v.grad())};
    q.zero_grad(), k.zero_grad(), v.zero_grad();
    if (pass == 0) {
      CHECK(relative(got[0], wanted.out) <= rounding<T>);
      CHECK(relative(got[1], turned(wanted.dq, c.queries)) <= 2 * rounding<T>);
      CHECK(relative(got[2], turned(wanted.dk, c.keys)) <= 2 * rounding<T>);
      CHECK(relative(got[3], turned(wanted.dv, c.keys)) <= 2 * rounding<T>);
      first = got;
    } else if (deterministic) {
      CHECK(got == first);
    }
  }
  cuda::set_deterministic(true);
  const auto places = [&](const on_device<T>& x) {
    const on_device<T> view = operand_of(x);
    const dims& strides = view.strides();
    return matrix_places{view.data(), {strides[0], strides[1]}, strides[2], strides[3]};
  };
  const attention_job job{.type = dtype_of<T>,
                          .stack = {c.batch, c.heads},
                          .matrices = s.matrices,
                          .queries = c.queries,
                          .keys = c.keys,
                          .width = c.width,
                          .value_width = c.width,
                          .q = places(q),
                          .k = places(k),
                          .v = places(v),
                          .causal = c.causal,
                          .scale = s.scale};
  const std::string name = "attention of " + type_name<T>() + " " + std::to_string(c.queries) + " x " +
                           std::to_string(c.keys) + " x " + std::to_string(c.width) + (c.causal ? ", causal" : "");
  report(name, cuda::cudnn_attention_refusal(job, {}));
  report(name + (deterministic ? ", its gradients" : ", its gradients in any order"),
         cuda::cudnn_attention_backward_refusal(job, deterministic, {}));
}

template <class T>
void time_attention(std::int64_t length, std::int64_t width, bool causal, bool own) {
  const std::int64_t batch = 4, heads = 16;
  on_device<T> q = ones<T, Cuda>({batch, heads, length, width});
  on_device<T> k = ones<T, Cuda>(q.sizes()), v = ones<T, Cuda>(q.sizes());
  const set_to least(cuda::detail::least_cudnn_attention, own ? INT64_MAX : 0);
  const double forward = milliseconds([&] { on_device<T>(scaled_dot_product_attention(q, k, v, {.causal = causal})); });
  q.requires_grad(), k.requires_grad(), v.requires_grad();
  const on_device<T> y = scaled_dot_product_attention(q, k, v, {.causal = causal});
  const auto both = [&](bool deterministic) {
    cuda::set_deterministic(deterministic);
    const double took = milliseconds([&] {
      backward(on_device<T>(scaled_dot_product_attention(q, k, v, {.causal = causal})), y);
      q.zero_grad(), k.zero_grad(), v.zero_grad();
    });
    cuda::set_deterministic(true);
    return took;
  };
  const double flops = 4e-9 * static_cast<double>(batch * heads * length * length * width) / (causal ? 2 : 1);
  MESSAGE(message("attention of ", type_name<T>(), " (4, 16, ", length, ", ", width, ")", causal ? " causal" : "",
                  own ? ", own kernels" : ", cuDNN", ": forward ", forward * 1000, " us, ", flops / forward,
                  " TFLOP/s; both passes ", 3.5 * flops / both(true), " TFLOP/s, in any order ",
                  3.5 * flops / both(false)));
}

}  // namespace

TEST_CASE("gpu: batch norm of half types, by cuDNN") {
  emulate::stand_in();
  const set_to least(detail::least_cudnn_batch_norm, std::int64_t{0});
  const dims s = everything() ? dims{16, 64, 28, 28} : dims{2, 8, 3, 4};
  for (const bool channels_last : {false, true}) {
    check_batch_norm<half, float>(s, channels_last);
    if constexpr (all_types) check_batch_norm<bfloat16, bfloat16>(s, channels_last);
    if (!everything()) continue;
    for (const bool own : {false, true}) {
      if (!own && !channels_last) continue;  // kiln's own kernels alone
      time_batch_norm<half>(channels_last, own);
      if constexpr (all_types) time_batch_norm<bfloat16>(channels_last, own);
    }
  }
}

TEST_CASE("gpu: a batch norm with channels last is cuDNN's calls and some kernels over numbers of a channel") {
  if (emulate::skip_on_gpu("it counts calls of the driver")) return;
  const auto& device = emulate::stand_in();
  const set_to least(detail::least_cudnn_batch_norm, std::int64_t{0});
  on_device<half> x = ones<half, Cuda>({2, 3, 4, 8}), w = ones<half, Cuda>({8}), b = ones<half, Cuda>({8});
  on_device<float> mean = zeros<float, Cuda>({8}), variance = ones<float, Cuda>({8});
  x.requires_grad(), w.requires_grad(), b.requires_grad();
  const on_device<half> g = ones<half, Cuda>(x.sizes());
  cuda::synchronize({});
  device.reset();
  const batch_norm_options how{.training = true};
  const on_device<half> y = permute(batch_norm(permute(x, second), mean, variance, w, b, how), last);
  CHECK(y.contiguous_layout());
  // Weight and bias become float; the running statistics are copied back.
  CHECK(device.count("cuLaunchKernel") == 4);
  backward(y, g);
  // Their gradients become half. The gradient that is given here, and kept, is copied on its way through a view.
  CHECK(device.count("cuLaunchKernel") == 7);
  CHECK(device.count("cudnnBackendExecute") == 2);
}

TEST_CASE("gpu: what cuDNN refuses of half types, kiln's own kernels do") {
  if (emulate::skip_on_gpu("it lets cuDNN refuse")) return;
  const auto& device = emulate::stand_in();
  const set_to least(detail::least_cudnn_batch_norm, std::int64_t{0});
  const set_to least_attention(cuda::detail::least_cudnn_attention, std::int64_t{0});
  device.set("no_cudnn_engines", 1);
  // Layouts of this case alone: what cuDNN refuses once it is not asked for again.
  const auto X = drawn<half>(3 * 24 * 4, 1), W = drawn<half>(24, 2), B = drawn<half>(24, 3),
             G = drawn<half>(3 * 24 * 4, 4);
  const dims s{3, 24, 2, 2};
  const auto wanted = by_definition(X, 3, 24, W, B, G, 1e-3);
  on_device<half> x = to_device<half>(with_channels_last(X, s), {3, 2, 2, 24});
  x.requires_grad();
  const on_device<half> none, y = permute(batch_norm(permute(x, second), none, none, to_device<half>(W, {24}),
                                                     to_device<half>(B, {24}), {.training = true, .eps = 1e-3}),
                                          last);
  backward(y, to_device<half>(with_channels_last(G, s), {3, 2, 2, 24}));
  CHECK(relative(to_host(y), with_channels_last(wanted.y, s)) <= rounding<half>);
  CHECK(relative(to_host(x.grad()), with_channels_last(wanted.dx, s)) <= rounding<half>);

  const attention_reference::sizes a{2, 6, 10, 8, 8, false, 1};
  const auto Q = drawn<half>(96, 5), K = drawn<half>(160, 6), V = drawn<half>(160, 7), D = drawn<half>(96, 8);
  const auto mixed = attention_reference::attend(a, Q, K, V, D);
  on_device<half> q = to_device<half>(Q, {2, 6, 8}), k = to_device<half>(K, {2, 10, 8});
  const on_device<half> v = to_device<half>(V, {2, 10, 8});
  q.requires_grad(), k.requires_grad();
  const auto attend = [&] { return scaled_dot_product_attention(q, k, v, {.scale = 1.0}); };
  const on_device<half> own = attend();
  CHECK(relative(to_host(own), mixed.out) <= rounding<half>);
  device.set("no_cudnn_engines", 0);
  // cuDNN goes back where kiln's kernel went forward: both leave the same numbers.
  backward(own, to_device<half>(D, {2, 6, 8}));
  CHECK(relative(to_host(q.grad()), mixed.dq) <= 2 * rounding<half>);
  CHECK(relative(to_host(k.grad()), mixed.dk) <= 2 * rounding<half>);
  CHECK(device.count("cudnnBackendExecute") == 1);
}

TEST_CASE("gpu: convolutions of half types") {
  emulate::stand_in();
  const std::int64_t image = everything() ? 14 : 4, channels = everything() ? 32 : 8;
  const dims x{2, image, image + 1, channels}, w{channels, 3, 3, channels};
  for (const image_layout layout : {image_layout::channels_first, image_layout::channels_last}) {
    images::compare_channels_last<half, Cuda>(x, w, {.stride = {2, 1}, .padding = 1}, layout);
    if constexpr (all_types) images::compare_channels_last<bfloat16, Cuda>(x, w, {.padding = 1}, layout);
  }
}

TEST_CASE("gpu: attention of half types and its gradients, by cuDNN") {
  const auto& device = emulate::stand_in();
  const set_to least(cuda::detail::least_cudnn_attention, std::int64_t{0});
  const std::vector<attention_case> cases =
      everything() ? std::vector<attention_case>{{2, 3, 256, 256, 64, true, true},
                                                 {1, 2, 200, 333, 128, false, false},
                                                 {2, 2, 130, 65, 32, true, false},
                                                 {1, 4, 1, 300, 64, false, false}}
                   : std::vector<attention_case>{{2, 3, 5, 5, 8, true, true}, {1, 2, 3, 7, 16, false, false}};
  for (const attention_case& c : cases)
    for (const bool deterministic : {true, false}) {
      check_attention<half>(c, deterministic);
      if constexpr (all_types)
        if (c.heads_in_rows) check_attention<bfloat16>(c, deterministic);
    }
  if (device.emulated()) CHECK(device.count("cudnnBackendExecute") == (all_types ? 24 : 16));
  // One tensor as all three operands: its gradient is their sum.
  const attention_reference::sizes s{2, 9, 9, 8, 8, false, 1};
  const auto X = drawn<half>(144, 5), G = drawn<half>(144, 6);
  const auto wanted = attention_reference::attend(s, X, X, X, G);
  on_device<half> x = to_device<half>(X, {2, 9, 8});
  x.requires_grad();
  backward(scaled_dot_product_attention(x, x, x, {.scale = 1.0}), to_device<half>(G, {2, 9, 8}));
  std::vector<double> sum(144);
  for (std::size_t i = 0; i < 144; ++i) sum[i] = wanted.dq[i] + wanted.dk[i] + wanted.dv[i];
  CHECK(relative(to_host(x.grad()), sum) <= 2 * rounding<half>);
  if (!everything()) return;
  // Few, since each is a second or two of cuDNN's compiler.
  for (const bool own : {false, true}) {
    time_attention<half>(2048, 64, true, own);
    if constexpr (all_types) {
      time_attention<bfloat16>(2048, 128, true, own);
      time_attention<bfloat16>(2048, 128, false, own);
    }
  }
}
