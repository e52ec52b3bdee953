// SPDX-License-Identifier: BSL-1.0
// The definitions of multiply_plan.hpp.
#pragma once

#include <kiln/device/cuda/libraries/multiply_plan.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::atomic<bool>& tf32_is_on() {
  static std::atomic<bool> on = false;
  return on;
}

KILN_INLINE void create_layout(library_object<matrix_layout>& made, cuda_data_type type, const column_major& m,
                               std::int32_t batch) {
  const cublaslt_functions& api = cublaslt_api();
  made.destroy = api.layout_destroy;
  check(api.layout_create(&made.handle, type, static_cast<std::uint64_t>(m.rows), static_cast<std::uint64_t>(m.columns),
                          m.leading),
        "cublasLtMatrixLayoutCreate");
  if (batch == 1) return;
  check(api.layout_set(made.handle, layout_attribute::batch_count, &batch, sizeof batch), "batch count");
  check(api.layout_set(made.handle, layout_attribute::batch_stride, &m.batch_stride, sizeof m.batch_stride),
        "batch stride");
}

KILN_INLINE void choose(product_plan& plan, const plan_key& key, cublaslt_handle handle, const product_pointers& at) {
  const cublaslt_functions& api = cublaslt_api();
  library_object<matmul_preference> wanted;
  wanted.destroy = api.preference_destroy;
  check(api.preference_create(&wanted.handle), "cublasLtMatmulPreferenceCreate");
  const auto set = [&](preference_attribute which, const auto& value) {
    check(api.preference_set(wanted.handle, which, &value, sizeof value), "cublasLtMatmulPreferenceSet");
  };
  set(preference_attribute::workspace_bytes, most_workspace_bytes);
  set(preference_attribute::alignment_a, key.alignment_a);
  set(preference_attribute::alignment_b, key.alignment_b);
  set(preference_attribute::alignment_c, key.alignment_d);
  set(preference_attribute::alignment_d, key.alignment_d);
  // Half types are rounded once, at the store: parts of a sum are not to be rounded before they are added.
  if (key.type_d == cuda_data_type::float16 || key.type_d == cuda_data_type::bfloat16)
    set(preference_attribute::reduction_schemes, reduction_in_compute_type);
  plan.set_pointers(at);
  matmul_heuristic best{};
  int found = 0;
  const cublas_status status = api.get_heuristic(handle, plan.descriptor.handle, plan.a.handle, plan.b.handle,
                                                 plan.d.handle, plan.d.handle, wanted.handle, 1, &best, &found);
  if (status != cublas_status::not_supported) check(status, "cublasLtMatmulAlgoGetHeuristic");
  plan.possible = status == cublas_status::success && found > 0 && best.state == cublas_status::success;
  plan.algorithm = best.algorithm;
  plan.workspace_bytes = best.workspace_bytes;
}

}  // namespace detail

KILN_INLINE void set_allow_tf32(bool allow) {
  detail::tf32_is_on() = allow;
}

KILN_INLINE bool allow_tf32() {
  return detail::tf32_is_on();
}

KILN_INLINE product_statistics product_stats(Cuda device) {
  return detail::product_library::of(device).statistics();
}

}  // namespace kiln::cuda
