// SPDX-License-Identifier: BSL-1.0
// A stand-in for libcublasLt: the functions that kiln calls, done by the CPU in the order of the stand-in driver's
// streams. It believes nothing: layouts, addresses, alignments and the workspace are checked, and a kernel that was
// chosen for other sizes is refused.
#include <kiln/core/float8.hpp>
#include <kiln/device/cuda/libraries/cublaslt.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "stand_in_elements.hpp"
#include "stand_in_state.hpp"

extern "C" kiln::cuda::driver_result cuCtxGetCurrent(kiln::cuda::context_handle*);

namespace kiln::cuda {

struct cublaslt_object {
  context_object* context = nullptr;
};
struct matmul_descriptor_object {
  cublas_compute compute{};
  cuda_data_type scale{};
  cublas_operation transpose_a{}, transpose_b{};
  matmul_epilogue epilogue = matmul_epilogue::none;
  const void* bias = nullptr;
  const float *scale_a = nullptr, *scale_b = nullptr;
};
struct matrix_layout_object {
  cuda_data_type type{};
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0, batch_stride = 0;
  std::int32_t batch = 1;
  bool operator==(const matrix_layout_object&) const = default;
};
struct matmul_preference_object {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reduction_schemes = 7;
  std::array<std::uint32_t, 4> alignments{256, 256, 256, 256};
};

namespace stand_in {
namespace {

constexpr auto good = cublas_status::success;
constexpr auto bad = cublas_status::invalid_value;

cublas_status enter_library(const char* name) {
  auto& all = state::instance();
  ++all.counts[name];
  return all.final_error == driver_result::success ? good : cublas_status::execution_failed;
}

template <class T>
cublas_status set(T& target, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return bad;
  std::memcpy(&target, value, bytes);
  return good;
}

std::size_t bytes_of(cuda_data_type type) {
  const bool small =
      type == cuda_data_type::int8 || type == cuda_data_type::float8_e4m3fn || type == cuda_data_type::float8_e5m2;
  return small ? 1 : type == cuda_data_type::int32 ? 4 : size_of(type);
}
double element(cuda_data_type type, const void* start, std::int64_t i) {
  switch (type) {
    case cuda_data_type::int8:
      return static_cast<const std::int8_t*>(start)[i];
    case cuda_data_type::int32:
      return static_cast<const std::int32_t*>(start)[i];
    case cuda_data_type::float8_e4m3fn:
      return static_cast<double>(float8_value(static_cast<const std::uint8_t*>(start)[i], 3));
    case cuda_data_type::float8_e5m2:
      return static_cast<double>(float8_value(static_cast<const std::uint8_t*>(start)[i], 2));
    default:
      return load(type, start, i);
  }
}
void set_element(cuda_data_type type, void* start, std::int64_t i, double value) {
  if (type == cuda_data_type::int32)
    static_cast<std::int32_t*>(start)[i] = static_cast<std::int32_t>(value);
  else
    store(type, start, i, value);
}
double scale_at(const float* place) {
  return place == nullptr ? 1 : static_cast<double>(*place);
}

bool has(matmul_epilogue which, matmul_epilogue part) {
  return (static_cast<std::uint32_t>(which) & static_cast<std::uint32_t>(part)) != 0;
}

struct job {
  matmul_descriptor_object how;
  matrix_layout_object a, b, d;
};

// The layouts fit each other, and each is one.
bool is_sound(const job& j) {
  for (const matrix_layout_object* x : {&j.a, &j.b, &j.d}) {
    constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
    if (x->rows == 0 || x->columns == 0 || x->rows > most || x->columns > most || x->leading < 0 ||
        static_cast<std::uint64_t>(x->leading) < x->rows || x->batch < 1 || x->batch > 65535 || x->batch != j.d.batch)
      return false;
  }
  const bool ta = j.how.transpose_a == cublas_operation::transpose,
             tb = j.how.transpose_b == cublas_operation::transpose;
  const auto m = ta ? j.a.columns : j.a.rows, k = ta ? j.a.rows : j.a.columns;
  const auto n = tb ? j.b.rows : j.b.columns, kb = tb ? j.b.columns : j.b.rows;
  if (m != j.d.rows || n != j.d.columns || k != kb) return false;
  if (bytes_of(j.a.type) == 1) {
    // Eight bits: "TN" only, in units of 16 elements, or 4 of int8; no two E5M2.
    const bool whole = j.a.type == cuda_data_type::int8;
    const std::uint64_t unit = whole ? 4 : 16;
    const auto free = [&](const matrix_layout_object& x) { return static_cast<std::uint64_t>(x.leading) % unit == 0; };
    if (!ta || tb || m % unit != 0 || k % unit != 0 || !free(j.a) || !free(j.b) || bytes_of(j.b.type) != 1)
      return false;
    if (whole)
      return j.b.type == cuda_data_type::int8 && j.d.type == cuda_data_type::int32 &&
             j.how.compute == cublas_compute::int32 && j.how.scale == cuda_data_type::int32 && !j.how.scale_a;
    const bool pair = j.b.type != cuda_data_type::int8 &&
                      (j.a.type == cuda_data_type::float8_e4m3fn || j.b.type == cuda_data_type::float8_e4m3fn);
    return pair && j.how.compute == cublas_compute::float32 && j.how.scale == cuda_data_type::float32 &&
           (j.d.type == cuda_data_type::float32 || bytes_of(j.d.type) == 2);
  }
  if (j.a.type != j.d.type || j.b.type != j.d.type || j.how.scale_a || j.how.scale_b) return false;
  const bool is_double = j.d.type == cuda_data_type::float64;
  const bool types = is_double ? j.how.compute == cublas_compute::float64 && j.how.scale == cuda_data_type::float64
                               : j.how.compute != cublas_compute::float64 && j.how.scale == cuda_data_type::float32;
  if (j.how.compute == cublas_compute::tf32 && j.d.type != cuda_data_type::float32) return false;
  return types;
}

bool is_memory(const void* start, const matrix_layout_object& x, const context_object* context) {
  const auto& all = state::instance();
  const auto address = reinterpret_cast<std::uint64_t>(start);
  const std::int64_t last = static_cast<std::int64_t>(x.columns - 1) * x.leading +
                            static_cast<std::int64_t>(x.rows - 1) + (x.batch - 1) * x.batch_stride;
  if (last < 0 || x.batch_stride < 0) return false;
  const std::size_t bytes = (static_cast<std::size_t>(last) + 1) * bytes_of(x.type);
  return all.is_device(address, bytes) && all.block_of(address, bytes)->context == context;
}

// Tells one set of sizes from another.
std::uint64_t digest(const job& j) {
  std::uint64_t sum = 1469598103934665603u;
  const auto mix = [&sum](auto value) { sum = (sum ^ static_cast<std::uint64_t>(value)) * 1099511628211u; };
  mix(j.how.compute), mix(j.how.scale), mix(j.how.transpose_a), mix(j.how.transpose_b), mix(j.how.epilogue);
  for (const matrix_layout_object* x : {&j.a, &j.b, &j.d})
    mix(x->type), mix(x->rows), mix(x->columns), mix(x->leading), mix(x->batch_stride), mix(x->batch);
  return sum;
}

// NVIDIA does not say what its relu makes of a NaN: both are tried (KILN_STAND_IN_relu_keeps_nan=0).
double relu(double value) {
  if (std::isnan(value)) return state::instance().settings["relu_keeps_nan"] != 0 ? value : 0;
  return value < 0 ? 0 : value;
}

// The operand whose sums over the inner axis are wanted, and how many they are; null: none.
const matrix_layout_object* summed(const job& j) {
  return has(j.how.epilogue, matmul_epilogue::bias_gradient_a)   ? &j.a
         : has(j.how.epilogue, matmul_epilogue::bias_gradient_b) ? &j.b
                                                                 : nullptr;
}
std::uint64_t vector_length(const job& j) {
  return summed(j) == &j.b ? j.d.columns : j.d.rows;
}
bool has_vector(const job& j) {
  return summed(j) != nullptr || has(j.how.epilogue, matmul_epilogue::bias);
}

void sum_operand(const job& j, const void* a, const void* b, std::int64_t depth) {
  const matrix_layout_object& x = *summed(j);
  const bool left = &x == &j.a;
  // Elements along the inner axis lie next to each other in the first of these.
  const bool packed =
      left ? j.how.transpose_a == cublas_operation::transpose : j.how.transpose_b == cublas_operation::none;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(vector_length(j)); ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      sum += load(x.type, left ? a : b, packed ? i * x.leading + k : k * x.leading + i);
    store(j.d.type, const_cast<void*>(j.how.bias), i, sum);
  }
}

void run(const job& j, double alpha, const void* a, const void* b, double beta, void* d) {
  const bool ta = j.how.transpose_a == cublas_operation::transpose,
             tb = j.how.transpose_b == cublas_operation::transpose;
  const auto depth = static_cast<std::int64_t>(ta ? j.a.rows : j.a.columns);
  if (summed(j) != nullptr) sum_operand(j, a, b, depth);
  const bool short_operands = j.how.compute == cublas_compute::tf32;
  for (std::int64_t batch = 0; batch < j.d.batch; ++batch) {
    for (std::int64_t column = 0; column < static_cast<std::int64_t>(j.d.columns); ++column) {
      for (std::int64_t row = 0; row < static_cast<std::int64_t>(j.d.rows); ++row) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          double x =
              element(j.a.type, a, batch * j.a.batch_stride + (ta ? row * j.a.leading + k : k * j.a.leading + row));
          double y = element(j.b.type, b,
                             batch * j.b.batch_stride + (tb ? k * j.b.leading + column : column * j.b.leading + k));
          if (short_operands) x = as_tf32(x), y = as_tf32(y);
          sum += x * y;
        }
        const std::int64_t place = batch * j.d.batch_stride + column * j.d.leading + row;
        double value = alpha * sum * scale_at(j.how.scale_a) * scale_at(j.how.scale_b);
        if (beta != 0) value += beta * element(j.d.type, d, place);
        if (has(j.how.epilogue, matmul_epilogue::bias)) value += load(j.d.type, j.how.bias, row);
        if (has(j.how.epilogue, matmul_epilogue::relu)) value = relu(value);
        if (has(j.how.epilogue, matmul_epilogue::gelu))
          value *=
              0.5 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (value + 0.044715 * value * value * value)));
        set_element(j.d.type, d, place, value);
      }
    }
  }
}

}  // namespace
}  // namespace stand_in
}  // namespace kiln::cuda

using namespace kiln::cuda;
using namespace kiln::cuda::stand_in;
using guarded = std::lock_guard<std::recursive_mutex>;

#pragma GCC visibility push(default)
extern "C" {

std::size_t cublasLtGetVersion() {
  return 130000;
}
const char* cublasLtGetStatusName(cublas_status status) {
  switch (status) {
    case cublas_status::success:
      return "CUBLAS_STATUS_SUCCESS";
    case cublas_status::invalid_value:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case cublas_status::execution_failed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case cublas_status::not_supported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_OTHER";
  }
}
const char* cublasLtGetStatusString(cublas_status status) {
  return status == good ? "no error" : "words of the stand-in";
}

cublas_status cublasLtCreate(cublaslt_handle* handle) {
  const guarded lock(state::instance().mutex);
  if (const auto failed = enter_library("cublasLtCreate"); failed != good) return failed;
  context_handle current = nullptr;
  cuCtxGetCurrent(&current);
  if (current == nullptr || state::instance().fails("cublaslt")) return cublas_status::not_initialized;
  *handle = new cublaslt_object{current};
  return good;
}

cublas_status cublasLtMatmulDescCreate(matmul_descriptor* made, cublas_compute compute, cuda_data_type scale) {
  const guarded lock(state::instance().mutex);
  *made = new matmul_descriptor_object;
  (*made)->compute = compute;
  (*made)->scale = scale;
  return enter_library("cublasLtMatmulDescCreate");
}
cublas_status cublasLtMatmulDescDestroy(matmul_descriptor gone) {
  const guarded lock(state::instance().mutex);
  delete gone;
  return enter_library("cublasLtMatmulDescDestroy");
}
cublas_status cublasLtMatmulDescSetAttribute(matmul_descriptor how, matmul_attribute which, const void* value,
                                             std::size_t bytes) {
  switch (which) {
    case matmul_attribute::transpose_a:
      return set(how->transpose_a, value, bytes);
    case matmul_attribute::transpose_b:
      return set(how->transpose_b, value, bytes);
    case matmul_attribute::epilogue:
      return set(how->epilogue, value, bytes);
    case matmul_attribute::bias_pointer:
      return set(how->bias, value, bytes);
    case matmul_attribute::a_scale_pointer:
      return set(how->scale_a, value, bytes);
    case matmul_attribute::b_scale_pointer:
      return set(how->scale_b, value, bytes);
  }
  return bad;
}

cublas_status cublasLtMatrixLayoutCreate(matrix_layout* made, cuda_data_type type, std::uint64_t rows,
                                         std::uint64_t columns, std::int64_t leading) {
  const guarded lock(state::instance().mutex);
  *made = new matrix_layout_object{type, rows, columns, leading, 0, 1};
  return enter_library("cublasLtMatrixLayoutCreate");
}
cublas_status cublasLtMatrixLayoutDestroy(matrix_layout gone) {
  const guarded lock(state::instance().mutex);
  delete gone;
  return enter_library("cublasLtMatrixLayoutDestroy");
}
cublas_status cublasLtMatrixLayoutSetAttribute(matrix_layout x, layout_attribute which, const void* value,
                                               std::size_t bytes) {
  return which == layout_attribute::batch_count    ? set(x->batch, value, bytes)
         : which == layout_attribute::batch_stride ? set(x->batch_stride, value, bytes)
                                                   : bad;
}

cublas_status cublasLtMatmulPreferenceCreate(matmul_preference* made) {
  const guarded lock(state::instance().mutex);
  *made = new matmul_preference_object;
  return enter_library("cublasLtMatmulPreferenceCreate");
}
cublas_status cublasLtMatmulPreferenceDestroy(matmul_preference gone) {
  const guarded lock(state::instance().mutex);
  delete gone;
  return enter_library("cublasLtMatmulPreferenceDestroy");
}
cublas_status cublasLtMatmulPreferenceSetAttribute(matmul_preference wanted, preference_attribute which,
                                                   const void* value, std::size_t bytes) {
  switch (which) {
    case preference_attribute::workspace_bytes:
      return set(wanted->workspace_bytes, value, bytes);
    case preference_attribute::reduction_schemes:
      return set(wanted->reduction_schemes, value, bytes);
    case preference_attribute::alignment_a:
      return set(wanted->alignments[0], value, bytes);
    case preference_attribute::alignment_b:
      return set(wanted->alignments[1], value, bytes);
    case preference_attribute::alignment_c:
      return set(wanted->alignments[2], value, bytes);
    case preference_attribute::alignment_d:
      return set(wanted->alignments[3], value, bytes);
  }
  return bad;
}

// The answer keeps for what it was given: sizes, alignments, workspace.
cublas_status cublasLtMatmulAlgoGetHeuristic(cublaslt_handle handle, matmul_descriptor how, matrix_layout a,
                                             matrix_layout b, matrix_layout c, matrix_layout d,
                                             matmul_preference wanted, int most, matmul_heuristic* answers,
                                             int* found) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_library("cublasLtMatmulAlgoGetHeuristic"); failed != good) return failed;
  context_handle current = nullptr;
  cuCtxGetCurrent(&current);
  if (handle == nullptr || handle->context != current || most < 1) return bad;
  if (all.fails("heuristic")) return cublas_status::not_supported;
  if (all.fails("heuristic_itself")) return cublas_status::internal_error;
  const job j{*how, *a, *b, *d};
  if (!is_sound(j) || !(*c == *d)) return bad;
  if (summed(j) != nullptr &&
      (j.how.epilogue != matmul_epilogue::bias_gradient_a) == (j.how.epilogue != matmul_epilogue::bias_gradient_b))
    return bad;
  if (summed(j) != nullptr && (all.fails("sums") || d->batch > 1)) return cublas_status::not_supported;
  if (has_vector(j) && (how->bias == nullptr || reinterpret_cast<std::uintptr_t>(how->bias) % 16 != 0)) return bad;
  if (bytes_of(a->type) == 1 &&
      (all.fails("eight_bit") || std::any_of(wanted->alignments.begin(), wanted->alignments.end(),
                                             [](std::uint32_t alignment) { return alignment % 16 != 0; })))
    return cublas_status::not_supported;
  const bool is_half = bytes_of(d->type) == 2;
  if (is_half != (wanted->reduction_schemes == reduction_in_compute_type)) return cublas_status::not_supported;
  matmul_heuristic answer{};
  answer.algorithm.data[0] = digest(j);
  for (std::size_t i = 0; i < 4; ++i) {
    if (!std::has_single_bit(wanted->alignments[i])) return bad;
    answer.algorithm.data[i + 1] = wanted->alignments[i];
  }
  // Some kernels want a workspace, some do not.
  answer.workspace_bytes =
      (d->rows + d->columns) % 2 == 0 ? std::min<std::uint64_t>(wanted->workspace_bytes, 70000) : 0;
  answer.algorithm.data[5] = answer.workspace_bytes;
  answers[0] = answer;
  *found = 1;
  return good;
}

cublas_status cublasLtMatmul(cublaslt_handle handle, matmul_descriptor how, const void* alpha, const void* a,
                             matrix_layout a_layout, const void* b, matrix_layout b_layout, const void* beta,
                             const void* c, matrix_layout c_layout, void* d, matrix_layout d_layout,
                             const matmul_algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                             stream_handle stream) {
  auto& all = state::instance();
  const guarded lock(all.mutex);
  if (const auto failed = enter_library("cublasLtMatmul"); failed != good) return failed;
  if (all.fails("product")) return cublas_status::execution_failed;
  if (stream == nullptr || handle == nullptr || stream->context != handle->context) return bad;
  const job j{*how, *a_layout, *b_layout, *d_layout};
  if (!is_sound(j) || c != d || !(*c_layout == *d_layout)) return bad;
  if (algorithm == nullptr || algorithm->data[0] != digest(j) || workspace_bytes != algorithm->data[5]) return bad;
  std::size_t i = 0;
  for (const void* place : std::array<const void*, 4>{a, b, c, d})
    if (reinterpret_cast<std::uintptr_t>(place) % algorithm->data[++i] != 0) return bad;
  if (!is_memory(a, j.a, handle->context) || !is_memory(b, j.b, handle->context) || !is_memory(d, j.d, handle->context))
    return bad;
  if (has_vector(j) && !all.is_device(reinterpret_cast<std::uint64_t>(how->bias), vector_length(j) * size_of(j.d.type)))
    return bad;
  if (workspace_bytes != 0 && !all.is_device(reinterpret_cast<std::uint64_t>(workspace), workspace_bytes)) return bad;
  for (const float* place : {how->scale_a, how->scale_b})
    if (place && !all.is_device(reinterpret_cast<std::uint64_t>(place), sizeof *place)) return bad;
  const double scale = element(how->scale, alpha, 0), keep = element(how->scale, beta, 0);
  all.enqueue(stream, [=] {
    if (workspace_bytes != 0) std::memset(workspace, 0x5a, workspace_bytes);
    run(j, scale, a, b, keep, d);
    return driver_result::success;
  });
  return good;
}

}  // extern "C"
#pragma GCC visibility pop
