// SPDX-License-Identifier: BSL-1.0
// What models of float on the processor are made of and trained with, compiled once: layers, losses and optimizers.
// Their kernels are those of prebuilt.cpp; what has none there is interpreted.
#define KILN_INTERPRET
#include <kiln/kiln.hpp>

#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/conv.hpp>
#include <kiln/nn/layers/embedding.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/recurrent.hpp>
#include <kiln/nn/layers/transformer.hpp>
#include <kiln/nn/loss/cross_entropy.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/adam.hpp>
#include <kiln/optim/gradients.hpp>
#include <kiln/optim/sgd.hpp>

namespace kiln {

template bool detail::product_gradient<float, Cpu>(const detail::saved_product&, const tensor_state&,
                                                   const ref<gradient_record>&, const ref<gradient_record>&, void*);

template ref<tensor_state> detail::one_like(const Tensor<float>&);
template Tensor<float> detail::turned(const Tensor<float>&);
template Tensor<std::int64_t> detail::best_positions<true>(const Tensor<float>&, const axes&, bool, const char*);

template class detail::attention_node<float, Cpu>;
template Tensor<float> detail::attention_of(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                            const scaled_attention_options<float, Cpu>&, double);
template Tensor<float> detail::composed_attention(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                                  const scaled_attention_options<float, Cpu>&, double);
template class detail::lstm_node<float>;
template std::array<Tensor<float>, 3> detail::lstm_steps(const Tensor<float>&, const Tensor<float>&,
                                                         const Tensor<float>&, const Tensor<float>&,
                                                         const Tensor<std::int64_t>&, bool);
template class detail::convolution_node<float, Cpu>;
template class detail::recorded_convolution_node<float, Cpu>;
template Tensor<float> detail::convolve(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                        const conv2d_options&);
template Tensor<float> detail::convolve_channels_last(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                                      conv2d_options);
template class detail::batch_norm_node<float, Cpu>;
template Tensor<float> detail::normalized(const Tensor<float>&, const Tensor<float>&, const Tensor<float>&,
                                          const Tensor<float>&, const Tensor<float>&, double);

template Tensor<float> nn::init::uniform(const dims&, double, Cpu);
template std::vector<Tensor<float>> nn::detail::tensors_of(const nn::detail::tensor_collector&);
template Tensor<float> nn::detail::or_number(const Tensor<float>&, const Tensor<float>&, float);
template struct nn::Linear<float, Cpu>;
template void nn::detail::walk(std::string_view, const nn::Linear<float>&, nn::detail::visitor&);
template ref<tensor_state> detail::compute<true, false>(const detail::linear_result&);
template ref<tensor_state> detail::compute<true, false>(const node<relu_op, detail::linear_result>&);
template struct nn::MultiheadAttention<float, Cpu>;
template struct nn::TransformerEncoderLayer<float, Cpu>;
template class nn::detail::recurrent<nn::LSTM<float, Cpu>, 4, 2, float, Cpu>;
template class nn::LSTM<float, Cpu>;
template Tensor<float> nn::Embedding<float, Cpu>::operator()(const Tensor<std::int64_t>&) const;

template ref<tensor_state> detail::compute<true, false>(const row_node<log_softmax_op, Tensor<float>>&);
template Tensor<float> nn::detail::class_loss(const Tensor<float>&, const Tensor<std::int64_t>&,
                                              const nn::detail::no_weights&, const nn::detail::unsmoothed_options&,
                                              const char*);
template Tensor<float> nn::detail::class_loss(const Tensor<float>&, const Tensor<std::int64_t>&,
                                              const nn::detail::no_weights&, const nn::class_loss_options&,
                                              const char*);
template Tensor<float> nn::detail::class_loss(const Tensor<float>&, const Tensor<std::int64_t>&, const Tensor<float>&,
                                              const nn::class_loss_options&, const char*);

template class optim::parameter_groups<float, Cpu, optim::sgd_options>;
template class optim::SGD<float, Cpu>;
template class optim::parameter_groups<float, Cpu, optim::adam_options>;
template class optim::Adam<float, Cpu>;
template class optim::parameter_groups<float, Cpu, optim::adamw_options>;
template class optim::AdamW<float, Cpu>;
template double optim::clip_grad_norm(const std::vector<Tensor<float>>&, double, double, bool);

}  // namespace kiln
