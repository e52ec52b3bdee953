// SPDX-License-Identifier: BSL-1.0
// Plans of matrix products: cuBLASLt's descriptors and the kernel it chose, kept per device, since choosing costs tens
// of microseconds.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>
#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/forks.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/device/cuda/libraries/cublaslt.hpp>

namespace kiln::cuda {

/// What multiply() has done on one device.
struct product_statistics {
  std::int64_t heuristic_calls = 0;  ///< how often cuBLASLt was asked for a kernel
  std::int64_t plans = 0;            ///< kept at the moment
  std::int64_t products = 0;         ///< calls of cublasLtMatmul
};

namespace detail {

std::atomic<bool>& tf32_is_on();

// A column-major matrix of cuBLASLt: `rows` elements next to each other, columns `leading` apart.
struct column_major {
  std::int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  bool transposed = false;
  friend bool operator==(const column_major&, const column_major&) = default;
};

/// All that a plan depends on, in cuBLASLt's terms: d = op(a) op(b). Only as much of an address as its alignment.
struct plan_key {
  cuda_data_type type = cuda_data_type::float32, type_b = cuda_data_type::float32, type_d = cuda_data_type::float32;
  cublas_compute compute = cublas_compute::float32;
  matmul_epilogue epilogue = matmul_epilogue::none;
  std::int32_t batch = 1;
  column_major a, b, d;
  std::uint32_t alignment_a = 0, alignment_b = 0, alignment_d = 0;
  friend bool operator==(const plan_key&, const plan_key&) = default;
};

struct plan_hash {
  std::size_t operator()(const plan_key& key) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto mix = [&hash](auto value) {
      hash = std::rotl((hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15, 29);
    };
    mix(key.type), mix(key.type_b), mix(key.type_d), mix(key.compute), mix(key.epilogue), mix(key.batch);
    for (const column_major* m : {&key.a, &key.b, &key.d}) {
      mix(m->rows), mix(m->columns), mix(m->leading), mix(m->batch_stride), mix(m->transposed);
    }
    mix(key.alignment_a), mix(key.alignment_b), mix(key.alignment_d);
    return static_cast<std::size_t>(hash);
  }
};

// What the library hands out and takes back.
template <class Handle>
struct library_object {
  Handle handle = nullptr;
  cublas_status (*destroy)(Handle) = nullptr;
  library_object() = default;
  library_object(const library_object&) = delete;
  library_object& operator=(const library_object&) = delete;
  ~library_object() {
    if (handle != nullptr && !lost_by_fork()) destroy(handle);
  }
};

void create_layout(library_object<matrix_layout>& made, cuda_data_type type, const column_major& m, std::int32_t batch);

/// Addresses that cuBLASLt takes with the description of a product, in its terms; null: none.
struct product_pointers {
  const void* vector = nullptr;  ///< the bias, or where sums go
  const void *scale_a = nullptr, *scale_b = nullptr;
};

/// Descriptors and the chosen kernel. Changed by nobody but for the addresses, under `pointer_mutex`.
struct product_plan {
  library_object<matmul_descriptor> descriptor;
  library_object<matrix_layout> a, b, d;
  matmul_algorithm algorithm{};
  std::size_t workspace_bytes = 0;
  bool possible = false;  // false: the library has no kernel for this
  device_lock pointer_mutex;

  explicit product_plan(const plan_key& key) {
    const cublaslt_functions& api = cublaslt_api();
    const cuda_data_type scale = key.compute == cublas_compute::float64 ? cuda_data_type::float64
                                 : key.compute == cublas_compute::int32 ? cuda_data_type::int32
                                                                        : cuda_data_type::float32;
    descriptor.destroy = api.descriptor_destroy;
    check(api.descriptor_create(&descriptor.handle, key.compute, scale), "cublasLtMatmulDescCreate");
    set(matmul_attribute::transpose_a, key.a.transposed ? cublas_operation::transpose : cublas_operation::none);
    set(matmul_attribute::transpose_b, key.b.transposed ? cublas_operation::transpose : cublas_operation::none);
    set(matmul_attribute::epilogue, key.epilogue);
    create_layout(a, key.type, key.a, key.batch);
    create_layout(b, key.type_b, key.b, key.batch);
    create_layout(d, key.type_d, key.d, key.batch);
  }

  void set_pointers(const product_pointers& to) {
    if (to.vector) set(matmul_attribute::bias_pointer, to.vector);
    if (to.scale_a) set(matmul_attribute::a_scale_pointer, to.scale_a);
    if (to.scale_b) set(matmul_attribute::b_scale_pointer, to.scale_b);
  }

  template <class T>
  void set(matmul_attribute which, const T& value) {
    check(cublaslt_api().descriptor_set(descriptor.handle, which, &value, sizeof value), "cublasLtMatmulDescSet");
  }
};

// The library may use up to 32 MiB besides, as NVIDIA recommends for Hopper; it says how much of that a kernel wants.
inline constexpr std::uint64_t most_workspace_bytes = std::uint64_t{32} << 20;

// Asks for the kernel that should be fastest. Of addresses only the alignment counts.
void choose(product_plan& plan, const plan_key& key, cublaslt_handle handle, const product_pointers& at);

/// cuBLASLt on one device: its handle and the plans made so far.
class product_library {
 public:
  static product_library& of(Cuda device) {
    check_device(device);
    static std::vector<product_library>& all = *new std::vector<product_library>(
        static_cast<std::size_t>(cuda_device_count()));  // never destroyed: static tensors may be used late
    product_library& own = all[static_cast<std::size_t>(device.index)];
    const std::lock_guard lock(own.mutex_);
    if (own.handle_ == nullptr) own.start(device);
    return own;
  }

  cublaslt_handle handle() const { return handle_; }

  /// The plan of these sizes, made if there is none yet. The device must be the current one (device_scope).
  std::shared_ptr<product_plan> plan(const plan_key& key, const product_pointers& at) {
    const std::lock_guard lock(mutex_);
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
    auto made = std::make_shared<product_plan>(key);
    ++heuristic_calls_;
    choose(*made, key, handle_, at);
    // A program that meets this many sizes meets new ones all the time; those in use are soon back.
    if (plans_.size() >= most_plans) plans_.clear();
    plans_.emplace(key, made);
    return made;
  }

  void count_product() { ++products_; }
  product_statistics statistics() {
    const std::lock_guard lock(mutex_);
    return {heuristic_calls_, static_cast<std::int64_t>(plans_.size()), products_};
  }

  static constexpr std::size_t most_plans = 1024;

 private:
  void start(Cuda device) {
    if (capturing) {
      throw device_error(
          "multiply: the first product of a device starts cuBLASLt, which cannot be done while a graph is captured; "
          "let capture() run the work once before (warm_ups)");
    }
    const device_scope scope(device);
    check(cublaslt_api().create(&handle_), "cublasLtCreate");
  }

  device_lock mutex_;
  cublaslt_handle handle_ = nullptr;
  std::unordered_map<plan_key, std::shared_ptr<product_plan>, plan_hash> plans_;
  std::int64_t heuristic_calls_ = 0;
  std::atomic<std::int64_t> products_ = 0;
};

}  // namespace detail

/// float32 products may round their operands to TF32 (10 bits of mantissa in place of 23), which tensor cores multiply
/// several times faster. Off at first; for the whole process.
void set_allow_tf32(bool allow);
/// Whether float32 products may use TF32.
bool allow_tf32();

/// Numbers of the moment for one device. Throws device_error if there is no such device or no cuBLASLt.
product_statistics product_stats(Cuda device = {});

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/libraries/multiply_plan_impl.hpp>
#endif
