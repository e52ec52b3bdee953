// SPDX-License-Identifier: BSL-1.0
// cuDNN's backend (graph) API: descriptors that are created, given attributes, finalized and executed. Its functions
// and constants, as far as kiln uses them. tests/cuda_headers compares each with NVIDIA's header.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kiln/core/version.hpp>
#include <kiln/device/cuda/libraries/cudnn.hpp>

namespace kiln::cuda {

/// A handle of a backend descriptor: a pointer to what only the library knows.
using backend_handle = void*;

enum class backend_kind : int {
  pointwise = 0,
  engine = 2,
  engine_config = 3,
  engine_heuristics = 4,
  execution_plan = 5,
  pointwise_operation = 13,
  operation_graph = 15,
  variant_pack = 16,
  tensor = 17,
  matmul = 18,
  matmul_operation = 19,
  reduction = 21,
  reduction_operation = 22,
  norm_forward_operation = 29,
  norm_backward_operation = 30,
  reshape_operation = 31,
  device_properties = 38
};

/// What an array of attribute values holds.
enum class backend_value : int {
  handle = 0,
  data_type = 1,
  boolean = 2,
  int64 = 3,
  pointer = 6,
  heuristic_mode = 8,
  numerical_note = 11,
  pointwise_mode = 14,
  descriptor = 15,
  reduction_operator = 18,
  character = 24,
  norm_mode = 27,
  norm_phase = 28
};

enum class backend_attribute : int {
  pointwise_mode = 0,
  pointwise_compute_type = 1,
  pointwise_axis = 9,
  heuristics_mode = 200,
  heuristics_graph = 201,
  heuristics_results = 202,
  heuristics_device = 204,
  config_engine = 300,
  plan_library = 400,
  plan_config = 401,
  plan_workspace_size = 402,
  plan_device = 407,
  pointwise_operation_descriptor = 750,
  pointwise_operation_x = 751,
  pointwise_operation_b = 752,
  pointwise_operation_y = 753,
  pointwise_operation_t = 758,
  graph_library = 800,
  graph_operations = 801,
  tensor_alignment = 900,
  tensor_type = 901,
  tensor_dimensions = 902,
  tensor_strides = 903,
  tensor_id = 906,
  tensor_is_virtual = 907,
  tensor_is_by_value = 908,
  pack_ids = 1000,
  pack_pointers = 1001,
  pack_workspace = 1003,
  engine_index = 1301,
  engine_numerical_notes = 1303,
  matmul_compute_type = 1500,
  matmul_operation_a = 1520,
  matmul_operation_b = 1521,
  matmul_operation_c = 1522,
  matmul_operation_descriptor = 1523,
  reduction_operator = 1600,
  reduction_compute_type = 1601,
  reduction_operation_x = 1610,
  reduction_operation_y = 1611,
  reduction_operation_descriptor = 1612,
  norm_forward_mode = 2000,
  norm_forward_phase = 2001,
  norm_forward_x = 2002,
  norm_forward_mean = 2003,
  norm_forward_inverse = 2004,
  norm_forward_scale = 2005,
  norm_forward_bias = 2006,
  norm_forward_epsilon = 2007,
  norm_forward_momentum = 2008,
  norm_forward_running_mean = 2009,
  norm_forward_running_variance = 2010,
  norm_forward_new_running_mean = 2011,
  norm_forward_new_running_variance = 2012,
  norm_forward_y = 2013,
  norm_backward_mode = 2100,
  norm_backward_x = 2101,
  norm_backward_mean = 2102,
  norm_backward_inverse = 2103,
  norm_backward_dy = 2104,
  norm_backward_scale = 2105,
  norm_backward_dscale = 2107,
  norm_backward_dbias = 2108,
  norm_backward_dx = 2109,
  reshape_operation_x = 2200,
  reshape_operation_y = 2201,
  device_json = 2702
};

enum class backend_pointwise : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exponential = 13,
  logarithm = 15,
  identity = 21,
  greater_or_equal = 303,
  index = 501,  ///< the index along an axis
  select = 601  ///< x where t, else b
};
enum class backend_reduction : int { add = 0, maximum = 3 };
enum class backend_norm : int { batch = 2 };
enum class backend_norm_phase : int { training = 1 };
enum class backend_heuristic : int { fallback = 2, best = 3 };
inline constexpr int backend_nondeterministic = 4;  ///< among the numerical notes of an engine

/// The functions of the backend API. All of them are there, or all are null.
struct cudnn_backend_functions {
  template <class... Parameters>
  using function = cudnn_status(Parameters...);

  function<backend_kind, backend_handle*>* create;
  function<backend_handle>* destroy;
  function<backend_handle>* finalize;
  function<backend_handle, backend_attribute, backend_value, std::int64_t, const void*>* set;
  function<backend_handle, backend_attribute, backend_value, std::int64_t, std::int64_t*, void*>* get;
  function<cudnn_handle, backend_handle, backend_handle>* execute;
  void (*last_error)(char*, std::size_t);

  bool complete = false;
};

/// Looks the functions up in an open library.
cudnn_backend_functions open_cudnn_backend(const library& from);

/// Those of the cuDNN that cudnn_api() opened. Throws device_error without one.
inline const cudnn_backend_functions& cudnn_backend() {
  static const cudnn_backend_functions opened = open_cudnn_backend(cudnn_api().file);
  return opened;
}

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/cudnn/backend_impl.hpp>
#endif
