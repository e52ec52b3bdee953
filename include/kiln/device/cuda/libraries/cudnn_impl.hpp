// SPDX-License-Identifier: BSL-1.0
// The definitions of cudnn.hpp.
#pragma once

#include <kiln/device/cuda/libraries/cudnn.hpp>

namespace kiln::cuda {

KILN_INLINE std::unique_ptr<cudnn_functions> open_cudnn(const library& from) {
  auto api = std::make_unique<cudnn_functions>();
  api->file = from;
  from.get(api->get_version, "cudnnGetVersion");
  api->version = api->get_version();
  if (api->version < 90000 || api->version >= 100000) {
    throw device_error(message("cuDNN: ", from.path(), " has version ", api->version, ", kiln needs 9.x (90000 to ",
                               "99999); ", detail::install_cudnn));
  }
  from.get(api->get_error_string, "cudnnGetErrorString");
  from.get(api->create, "cudnnCreate");
  from.get(api->set_stream, "cudnnSetStream");
  from.get(api->tensor_create, "cudnnCreateTensorDescriptor");
  from.get(api->tensor_destroy, "cudnnDestroyTensorDescriptor");
  from.get(api->tensor_set, "cudnnSetTensor4dDescriptor");
  from.get(api->filter_create, "cudnnCreateFilterDescriptor");
  from.get(api->filter_destroy, "cudnnDestroyFilterDescriptor");
  from.get(api->filter_set, "cudnnSetFilter4dDescriptor");
  from.get(api->convolution_create, "cudnnCreateConvolutionDescriptor");
  from.get(api->convolution_destroy, "cudnnDestroyConvolutionDescriptor");
  from.get(api->convolution_set, "cudnnSetConvolution2dDescriptor");
  from.get(api->convolution_set_math, "cudnnSetConvolutionMathType");
  from.get(api->convolution_set_groups, "cudnnSetConvolutionGroupCount");
  from.get(api->get_forward, "cudnnGetConvolutionForwardAlgorithm_v7");
  from.get(api->get_backward_data, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  from.get(api->get_backward_filter, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  from.get(api->forward, "cudnnConvolutionForward");
  from.get(api->backward_data, "cudnnConvolutionBackwardData");
  from.get(api->backward_filter, "cudnnConvolutionBackwardFilter");
  from.get(api->add_tensor, "cudnnAddTensor");
  from.get(api->pooling_create, "cudnnCreatePoolingDescriptor");
  from.get(api->pooling_destroy, "cudnnDestroyPoolingDescriptor");
  from.get(api->pooling_set, "cudnnSetPooling2dDescriptor");
  from.get(api->pooling_forward, "cudnnPoolingForward");
  from.get(api->pooling_backward, "cudnnPoolingBackward");
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(from.find(symbol));
  };
  find(api->batch_norm_training, "cudnnBatchNormalizationForwardTraining");
  find(api->batch_norm_backward, "cudnnBatchNormalizationBackward");
  if (api->batch_norm_training == nullptr || api->batch_norm_backward == nullptr) {
    api->batch_norm_training = nullptr;
    api->batch_norm_backward = nullptr;
  }
  return api;
}

KILN_INLINE void check(cudnn_status status, std::string_view operation) {
  if (status == cudnn_status::success) return;
  const cudnn_functions& api = cudnn_api();
  const char* const words = api.get_error_string(status);
  throw device_error(message(operation, ": ", words ? words : "cuDNN error", " (", static_cast<int>(status), "), says ",
                             api.file.path(), "; ", detail::way_out(status)));
}

KILN_INLINE cudnn_type cudnn_type_of(dtype type) {
  switch (type) {
    case dtype::float32:
      return cudnn_type::float32;
    case dtype::float64:
      return cudnn_type::float64;
    case dtype::float16:
      return cudnn_type::float16;
    case dtype::bfloat16:
      return cudnn_type::bfloat16;
    default:
      throw dtype_error(
          message("cuDNN: ", name(type), " elements; it computes with floating types: cast<float>() the operands"));
  }
}

}  // namespace kiln::cuda
