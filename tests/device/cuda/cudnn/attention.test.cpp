// SPDX-License-Identifier: BSL-1.0
// Attention by cuDNN's graphs against plain double loops, forward and back, in several layouts; which jobs there is no
// graph for; what is said where cuDNN refuses, and that it is asked once.
#include <kiln/device/cuda/cudnn/attention.hpp>

#include <cuda_emulator/stand_in.hpp>
#include <support/attention_reference.hpp>

#include <doctest/doctest.h>

#include "cudnn_memory.hpp"

using namespace cudnn_test;
using kiln::cuda::cudnn_attention_layout;

namespace {

// A job of contiguous matrices, (batch, heads) of them, or with heads next to each other in each row.
attention_job job_of(dtype type, const attention_reference::sizes& s, std::int64_t heads, bool heads_in_rows,
                     const void* q, const void* k, const void* v) {
  attention_job job{.type = type,
                    .stack = {s.matrices / heads, heads},
                    .matrices = s.matrices,
                    .queries = s.queries,
                    .keys = s.keys,
                    .width = s.width,
                    .value_width = s.value_width,
                    .causal = s.causal,
                    .scale = s.scale};
  const auto places = [&](const void* data, std::int64_t rows, std::int64_t width) {
    const std::int64_t row = heads_in_rows ? heads * width : width;
    return matrix_places{
        .data = data, .strides = {heads * rows * width, heads_in_rows ? width : rows * width}, .row = row, .column = 1};
  };
  job.q = places(q, s.queries, s.width), job.k = places(k, s.keys, s.width), job.v = places(v, s.keys, s.value_width);
  return job;
}
// Contiguous matrices as rows that hold all heads.
numbers with_heads_in_rows(const numbers& from, std::int64_t heads, std::int64_t rows, std::int64_t width) {
  numbers to(from.size());
  for (std::size_t n = 0; n < from.size(); ++n) {
    const auto at = static_cast<std::int64_t>(n);
    const std::int64_t column = at % width, row = at / width % rows, head = at / width / rows % heads,
                       batch = at / width / rows / heads;
    to[static_cast<std::size_t>(((batch * rows + row) * heads + head) * width + column)] = from[n];
  }
  return to;
}

template <class T>
void compare(const attention_reference::sizes& s, std::int64_t heads, bool heads_in_rows) {
  CAPTURE(s.queries);
  CAPTURE(s.keys);
  const dtype type = std::is_same_v<T, half> ? dtype::float16 : dtype::bfloat16;
  const double tolerance = std::is_same_v<T, half> ? 0.004 : 0.03;
  const numbers q = some(s.matrices * s.queries * s.width, 1), k = some(s.matrices * s.keys * s.width, 2),
                v = some(s.matrices * s.keys * s.value_width, 3),
                dout = some(s.matrices * s.queries * s.value_width, 4);
  const auto wanted = attention_reference::attend(s, q, k, v, dout);
  const auto laid = [&](const numbers& x, std::int64_t rows, std::int64_t width) {
    return heads_in_rows ? with_heads_in_rows(x, heads, rows, width) : x;
  };
  const on_device<T> qd(laid(q, s.queries, s.width)), kd(laid(k, s.keys, s.width)), vd(laid(v, s.keys, s.value_width)),
      doutd(dout), out(s.matrices * s.queries * s.value_width), dq(s.matrices * s.queries * s.width),
      dk(s.matrices * s.keys * s.width), dv(s.matrices * s.keys * s.value_width);
  const on_device<float> logsumexp(s.matrices * s.queries);
  const attention_job job = job_of(type, s, heads, heads_in_rows, qd.data(), kd.data(), vd.data());
  const auto& where = cuda::current_stream(Cuda{0});
  const std::string refusal = cuda::cudnn_attention_refusal(job, Cuda{0});
  if (emulate::on_gpu() && refusal.find("too old") != refusal.npos) {
    MESSAGE(message("SKIPPED on the GPU: ", refusal));
    return;
  }
  REQUIRE(refusal == "");
  cuda::cudnn_attention(job, out.data(), logsumexp.data(), where);
  CHECK(out.distance(wanted.out) <= tolerance);
  CHECK(logsumexp.distance(wanted.logsumexp) <= 1e-4);
  for (const bool deterministic : {true, false}) {
    REQUIRE(cuda::cudnn_attention_backward_refusal(job, deterministic, Cuda{0}) == "");
    cuda::cudnn_attention_backward(job, deterministic, out.data(), logsumexp.data(), doutd.data(), dq.data(), dk.data(),
                                   dv.data(), where);
    CHECK(dq.distance(wanted.dq) <= 2 * tolerance);
    CHECK(dk.distance(wanted.dk) <= 2 * tolerance);
    CHECK(dv.distance(wanted.dv) <= 2 * tolerance);
  }
}

}  // namespace

TEST_CASE("cuDNN's attention and its gradients are those of plain loops") {
  emulate::stand_in();
  compare<half>({4, 5, 7, 8, 8, false, 0.3}, 2, false);
  compare<half>({4, 9, 9, 16, 8, true, 0.5}, 2, true);
  compare<bfloat16>({6, 3, 11, 8, 24, true, 1}, 3, true);
  compare<bfloat16>({2, 1, 4, 32, 32, false, 0.1}, 1, false);
}

TEST_CASE("which jobs cuDNN's graphs are written for") {
  const char* const aligned = reinterpret_cast<const char*>(4096);
  const attention_reference::sizes s{4, 5, 7, 16, 8};
  const attention_job job = job_of(dtype::float16, s, 2, false, aligned, aligned, aligned);
  CHECK(cudnn_attention_layout(job));
  const auto takes = [&](auto&& change) {
    attention_job changed = job;
    change(changed);
    return cudnn_attention_layout(changed).has_value();
  };
  CHECK(takes([](attention_job& j) { j.type = dtype::bfloat16; }));
  CHECK_FALSE(takes([](attention_job& j) { j.type = dtype::float32; }));
  CHECK_FALSE(takes([&](attention_job& j) { j.added.data = aligned; }));
  CHECK_FALSE(takes([&](attention_job& j) { j.allowed.data = aligned; }));
  CHECK_FALSE(takes([](attention_job& j) { j.dropout = 0.1; }));
  CHECK_FALSE(takes([](attention_job& j) { j.width = 12; }));
  CHECK_FALSE(takes([](attention_job& j) { j.value_width = 136; }));
  CHECK_FALSE(takes([&](attention_job& j) { j.k.data = aligned + 8; }));
  CHECK_FALSE(takes([](attention_job& j) { j.q.column = 5, j.q.row = 1; }));
  CHECK_FALSE(takes([](attention_job& j) { j.v.strides[0] = 0; }));  // expanded
  CHECK_FALSE(takes([](attention_job& j) { j.stack = {2, 2, 1}; }));
  CHECK_FALSE(takes([](attention_job& j) { j.keys = 0; }));
}

TEST_CASE("a plan that cuDNN refuses is asked for once, and what fails is said") {
  if (emulate::skip_on_gpu("it lets cuDNN fail")) return;
  const auto& device = emulate::stand_in();
  const attention_reference::sizes s{2, 3, 5, 8, 8, false, 1};
  const on_device<half> q(some(48, 1)), k(some(80, 2)), v(some(80, 3)), out(48);
  const on_device<float> logsumexp(6);
  attention_job job = job_of(dtype::float16, s, 2, false, q.data(), k.data(), v.data());
  const auto& where = cuda::current_stream(Cuda{0});
  device.set("no_cudnn_engines", 1);
  CHECK(cuda::cudnn_attention_refusal(job, Cuda{0}) == "heuristics: no engine for this graph");
  const auto asked = device.count("cudnnBackendCreateDescriptor");
  CHECK(cuda::cudnn_attention_refusal(job, Cuda{0}) == "heuristics: no engine for this graph");
  CHECK(device.count("cudnnBackendCreateDescriptor") == asked);
  CHECK_THROWS_WITH_AS(cuda::cudnn_attention(job, out.data(), logsumexp.data(), where),
                       doctest::Contains("cuDNN has no plan for it (heuristics: no engine for this graph)"),
                       device_error);
  device.set("no_cudnn_engines", 0);
  job.causal = true;  // another layout: the first engine that is deterministic cannot be finalized, the fallback can
  device.set("fail_cudnn_plan", 1);
  CHECK(cuda::cudnn_attention_refusal(job, Cuda{0}) == "");
  device.set("fail_cudnn_graph", 1);
  CHECK_THROWS_WITH_AS(cuda::cudnn_attention(job, out.data(), logsumexp.data(), where),
                       doctest::Contains("scaled_dot_product_attention by cuDNN: CUDNN_STATUS_EXECUTION_FAILED"),
                       device_error);
  job.q.data = q.memory.get();  // the host's
  CHECK_THROWS_WITH_AS(cuda::cudnn_attention(job, out.data(), logsumexp.data(), where),
                       doctest::Contains("memory of this device"), device_error);
}
