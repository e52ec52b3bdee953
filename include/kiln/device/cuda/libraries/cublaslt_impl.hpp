// SPDX-License-Identifier: BSL-1.0
// The definitions of cublaslt.hpp.
#pragma once

#include <kiln/device/cuda/libraries/cublaslt.hpp>

namespace kiln::cuda {

KILN_INLINE std::unique_ptr<cublaslt_functions> open_cublaslt(const library& from) {
  auto api = std::make_unique<cublaslt_functions>();
  api->file = from;
  from.get(api->get_version, "cublasLtGetVersion");
  api->version = api->get_version();
  if (api->version < 120000) {
    throw device_error(message("cuBLASLt: ", from.path(), " has version ", api->version / 10000,
                               ", kiln needs 12.0 or newer; ", detail::install_cublas));
  }
  from.get(api->get_status_name, "cublasLtGetStatusName");
  from.get(api->get_status_string, "cublasLtGetStatusString");
  from.get(api->create, "cublasLtCreate");
  from.get(api->descriptor_create, "cublasLtMatmulDescCreate");
  from.get(api->descriptor_destroy, "cublasLtMatmulDescDestroy");
  from.get(api->descriptor_set, "cublasLtMatmulDescSetAttribute");
  from.get(api->layout_create, "cublasLtMatrixLayoutCreate");
  from.get(api->layout_destroy, "cublasLtMatrixLayoutDestroy");
  from.get(api->layout_set, "cublasLtMatrixLayoutSetAttribute");
  from.get(api->preference_create, "cublasLtMatmulPreferenceCreate");
  from.get(api->preference_destroy, "cublasLtMatmulPreferenceDestroy");
  from.get(api->preference_set, "cublasLtMatmulPreferenceSetAttribute");
  from.get(api->get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  from.get(api->multiply, "cublasLtMatmul");
  return api;
}

KILN_INLINE std::string describe(cublas_status status) {
  const cublaslt_functions& api = cublaslt_api();
  const char *const name = api.get_status_name(status), *const words = api.get_status_string(status);
  return message(name ? name : "cuBLAS error", " (", static_cast<int>(status), "): ", words ? words : "unknown");
}

KILN_INLINE void check(cublas_status status, std::string_view operation) {
  if (status == cublas_status::success) return;
  throw device_error(
      message(operation, ": ", describe(status), ", says ", cublaslt_api().file.path(), "; ", detail::way_out(status)));
}

}  // namespace kiln::cuda
