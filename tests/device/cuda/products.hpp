// SPDX-License-Identifier: BSL-1.0
// For tests of products on the stand-in: arrays in device memory that are seen as doubles, and what a task should make
// of them, by plain loops over its definition.
#pragma once

#include <kiln/device/cuda/libraries/multiply_task.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/memory/memory_copy.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace products {

/// The stand-in, and every block of memory of exactly its size, so that it sees what reaches outside.
inline const emulate::stand_in_library& exact_stand_in() {
  const auto& device = emulate::stand_in();
  kiln::cuda::set_memory_caching(false);
  return device;
}

/// Calls f with the C++ type of a type that can be multiplied.
template <class F>
void with_type(kiln::dtype type, F f) {
  if (type == kiln::dtype::float64) return f(std::type_identity<double>{});
  if (type == kiln::dtype::float16) return f(std::type_identity<kiln::half>{});
  if (type == kiln::dtype::bfloat16) return f(std::type_identity<kiln::bfloat16>{});
  f(std::type_identity<float>{});
}

/// Values of a type in device memory, `offset` elements into their block.
class array {
 public:
  array(kiln::dtype type, std::vector<double> values, std::size_t offset = 0, kiln::Cuda device = {})
      : type_(type),
        values_(std::move(values)),
        offset_(offset),
        stream_(kiln::cuda::current_stream(device)),
        memory_(kiln::cuda::new_storage((values_.size() + offset) * kiln::size_of(type), stream_)) {
    with_type(type, [&]<class T>(std::type_identity<T>) {
      std::vector<T> elements;
      for (double& value : values_) {
        elements.push_back(static_cast<T>(static_cast<kiln::compute_t<T>>(value)));
        value = static_cast<double>(static_cast<kiln::compute_t<T>>(elements.back()));  // rounded as in memory
      }
      kiln::cuda::copy_to_device(data(), elements.data(), elements.size() * sizeof(T), stream_);
    });
  }
  void* data() const { return static_cast<char*>(memory_->data) + offset_ * kiln::size_of(type_); }
  /// What it was made with.
  const std::vector<double>& values() const { return values_; }
  /// What is there now.
  std::vector<double> read() const {
    std::vector<double> result;
    with_type(type_, [&]<class T>(std::type_identity<T>) {
      std::vector<T> elements(values_.size());
      kiln::cuda::copy_to_host(elements.data(), data(), elements.size() * sizeof(T), stream_);
      stream_.synchronize();
      for (const T& x : elements) result.push_back(static_cast<double>(static_cast<kiln::compute_t<T>>(x)));
    });
    return result;
  }

 private:
  kiln::dtype type_;
  std::vector<double> values_;
  std::size_t offset_;
  kiln::cuda::stream stream_;
  kiln::ref<kiln::storage> memory_;
};

/// Calls f with each index of the batch.
template <class F>
void each_index(const kiln::dims& batch, F f) {
  for (std::int64_t size : batch)
    if (size == 0) return;
  kiln::dims index = kiln::dims::filled(batch.rank(), 0);
  for (;;) {
    f(index);
    int axis = batch.rank() - 1;
    while (axis >= 0 && ++index[axis] == batch[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}
inline std::int64_t place(const kiln::dims& index, const kiln::dims& strides) {
  std::int64_t sum = 0;
  for (int i = 0; i < index.rank(); ++i) sum += index[i] * strides[i];
  return sum;
}

inline double activated(kiln::cuda::product_epilogue epilogue, double x) {
  if (epilogue == kiln::cuda::product_epilogue::relu) return x > 0 ? x : 0;
  if (epilogue == kiln::cuda::product_epilogue::gelu_tanh)
    return x / 2 * (1 + std::tanh(std::sqrt(8 / std::acos(-1.0) / 4) * (x + 0.044715 * std::pow(x, 3))));
  return x;
}

/// The result's memory after a task, from what the memories held before.
inline std::vector<double> expected(const kiln::cuda::product_task& task, const std::vector<double>& a,
                                    const std::vector<double>& b, std::vector<double> out,
                                    const std::vector<double>& bias) {
  const auto rows = task.a.rows, columns = task.b.columns;
  std::vector<double> sums(out.size(), 0);
  const auto target = [&](const kiln::dims& index, std::int64_t r, std::int64_t c) {
    return static_cast<std::size_t>(place(index, task.out_batch_strides) + r * task.out_row_stride + c);
  };
  const auto each = [&](const kiln::dims& batch, auto f) {
    each_index(batch, [&](const kiln::dims& index) {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) f(index, r, c);
    });
  };
  each(task.batch, [&](const kiln::dims& index, std::int64_t r, std::int64_t c) {
    for (std::int64_t k = 0; k < task.a.columns; ++k)
      sums[target(index, r, c)] += a[static_cast<std::size_t>(place(index, task.a.batch_strides) +
                                                              r * task.a.row_stride + k * task.a.column_stride)] *
                                   b[static_cast<std::size_t>(place(index, task.b.batch_strides) +
                                                              k * task.b.row_stride + c * task.b.column_stride)];
  });
  kiln::dims results = task.batch;  // an axis that is summed over has one result, however long it is
  for (int i = 0; i < results.rank(); ++i)
    if (task.out_batch_strides[i] == 0) results[i] = 1;
  each(results, [&](const kiln::dims& index, std::int64_t r, std::int64_t c) {
    double& x = out[target(index, r, c)];
    x = sums[target(index, r, c)] + (task.add ? x : 0) + (bias.empty() ? 0 : bias[static_cast<std::size_t>(c)]);
    x = activated(task.epilogue, x);
  });
  return out;
}

/// A small whole number for each i, the same ones every time.
inline std::vector<double> whole_numbers(std::size_t count, std::uint32_t seed, int range = 1) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<int>((seed >> 16) % static_cast<unsigned>(2 * range + 1)) - range);
  }
  return values;
}

/// rows x columns by columns x n, all contiguous, without memory.
inline kiln::cuda::product_task plain_task(kiln::dtype type, std::int64_t m, std::int64_t k, std::int64_t n) {
  kiln::cuda::product_task task;
  task.type = type;
  task.a = {nullptr, m, k, k, 1, {}};
  task.b = {nullptr, k, n, n, 1, {}};
  task.out_row_stride = n;
  return task;
}

}  // namespace products
