// SPDX-License-Identifier: BSL-1.0
// The definitions of cuda.hpp.
#pragma once

#include <kiln/dynamic/cuda.hpp>
#include <kiln/dynamic/images_on.hpp>
#include <kiln/dynamic/losses_on.hpp>
#include <kiln/dynamic/optimizers_on.hpp>
#include <kiln/dynamic/products_on.hpp>
#include <kiln/nn/functional/cuda.hpp>
#include <kiln/tensor/cuda.hpp>
#include <kiln/tensor/cuda_indexing.hpp>

namespace kiln::dynamic::graph {

namespace cuda_side {

inline void check(int index) {
  if (!cuda_available())
    throw device_error(message("no CUDA device: ", cuda_unavailable_reason(), "; leave the device out, or use cpu"));
  kiln::cuda::check_device({index});
}
inline void wait(int index) {
  check(index);
  kiln::cuda::current_stream({index}).synchronize();
  kiln::cuda::check_fault({index});
}
inline ref<tensor_state> new_tensor(dtype type, const dims& sizes, int index) {
  return executor<Cuda>::new_tensor(type, sizes, Cuda{index});
}
inline ref<tensor_state> from_host(const tensor_state& x, int index) {
  return transfer<Cpu, Cuda>::copy(x, {index});
}
inline ref<tensor_state> to_host(const tensor_state& x) {
  return transfer<Cuda, Cpu>::copy(x, {});
}
inline ref<tensor_state> to_other(const tensor_state& x, int index) {
  return transfer<Cuda, Cuda>::copy(x, {index});
}
inline const detail::runnable& copying(dtype type) {
  return with_type(type, []<class T>(std::type_identity<T>) -> const detail::runnable& {
    return detail::runnable_of<detail::value_program<Tensor<T>>, Cuda>;
  });
}
inline const detail::runnable* adding(dtype type) {
  return with_type(type, []<class T>(std::type_identity<T>) { return detail::adding_kernel<T, Cuda>(); });
}
inline const detail::index_functions& index(dtype type) {
  return with_type(type, []<class T>(std::type_identity<T>) -> const detail::index_functions& {
    return detail::index_functions_of<T, Cuda>;
  });
}
inline std::shared_ptr<void> make_optimizer(std::string_view name, const std::vector<tensor>& parameters,
                                            const options& how) {
  return optimizer_on<Cuda>(name, parameters, how);
}

}  // namespace cuda_side

KILN_INLINE const device_driver& cuda_functions() {
  static constexpr device_driver all{.functions = &detail::functions_of<Cuda>,
                                     .count = &cuda_device_count,
                                     .check = &cuda_side::check,
                                     .wait = &cuda_side::wait,
                                     .new_tensor = &cuda_side::new_tensor,
                                     .from_host = &cuda_side::from_host,
                                     .to_host = &cuda_side::to_host,
                                     .to_other = &cuda_side::to_other,
                                     .copying = &cuda_side::copying,
                                     .adding = &cuda_side::adding,
                                     .index = &cuda_side::index,
                                     .matmul = &matmul_on<Cuda>,
                                     .linear = &linear_on<Cuda>,
                                     .conv2d = &conv2d_on<Cuda>,
                                     .max_pool2d = &max_pool2d_on<Cuda>,
                                     .avg_pool2d = &avg_pool2d_on<Cuda>,
                                     .batch_norm = &batch_norm_on<Cuda>,
                                     .dropout = &dropout_on<Cuda>,
                                     .make_loss = &loss_on<Cuda>,
                                     .make_optimizer = &cuda_side::make_optimizer};
  return all;
}

}  // namespace kiln::dynamic::graph
