// SPDX-License-Identifier: BSL-1.0
// The definitions of backend.hpp.
#pragma once

#include <type_traits>

#include <kiln/device/cuda/cudnn/backend.hpp>

namespace kiln::cuda {

KILN_INLINE cudnn_backend_functions open_cudnn_backend(const library& from) {
  cudnn_backend_functions api{};
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(from.find(symbol));
    return function != nullptr;
  };
  api.complete = find(api.create, "cudnnBackendCreateDescriptor") &&
                 find(api.destroy, "cudnnBackendDestroyDescriptor") && find(api.finalize, "cudnnBackendFinalize") &&
                 find(api.set, "cudnnBackendSetAttribute") && find(api.get, "cudnnBackendGetAttribute") &&
                 find(api.execute, "cudnnBackendExecute") && find(api.last_error, "cudnnGetLastErrorString");
  return api.complete ? api : cudnn_backend_functions{};
}

}  // namespace kiln::cuda
