// SPDX-License-Identifier: BSL-1.0
// The steps of nn::LSTM on the processor, as one node of the graph (device/cpu/products/lstm.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <kiln/autograd/backward.hpp>
#include <kiln/core/lstm_job.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/nn/functional/window.hpp>
#include <kiln/tensor/op_node.hpp>

#ifndef KILN_COMPILED
#include <kiln/device/cpu/products/lstm.hpp>

namespace kiln::cpu::drivers {
using cpu::lstm;
using cpu::lstm_backward;
}  // namespace kiln::cpu::drivers
#endif

namespace kiln::detail {

template <class T>
class lstm_node final : public op_node_of<4, 5> {
 public:
  /// Inputs: of_inputs, weight, first state, first cell. Kept: weight, gates, cells, states, lengths or null.
  lstm_node(const lstm_job<T>& job, std::array<ref<gradient_record>, 4> records,
            const std::array<const tensor_state*, 5>& kept)
      : op_node_of(functions_of<Cpu>), job_(job) {
    set_outputs(*this, 3);
    for (std::size_t i = 0; i < 4; ++i) input[i] = std::move(records[i]);
    for (std::size_t i = 0; i < 5; ++i)
      if (kept[i]) saved[i].save(*kept[i]);
  }
  const char* name() const override { return "LSTM"; }
  void backward(const ref<tensor_state>&) override {}
  void backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>* outputs) override {
    if (grad_enabled()) {  // says that there is no second derivative
      for (int i = 0; i < 3; ++i)
        if (gradients[i]) return backward_recorded(gradients[i], outputs[i]);
    }
    const storage& near = *saved[0].memory;
    check_saved(near);
    const auto data = [](const ref<tensor_state>& t) { return t ? static_cast<T*>(t->data) : nullptr; };
    const auto made = [&](const dims& sizes) { return executor<Cpu>::new_tensor(dtype_of<T>, sizes, near); };
    const ref<tensor_state> gates = made({job_.times, job_.batch, 4 * job_.units});
    ref<tensor_state> first[2];
    for (int i = 0; i < 2; ++i)
      if (wants(2 + i)) first[i] = made({job_.batch, job_.units});
    lstm_gradients<T> to{data(gradients[0]), data(gradients[1]), data(gradients[2]), data(gates), nullptr,
                         data(first[0]),     data(first[1])};
    if (wants(1)) {
      gradient_target into = target(1, near);
      to.weight = static_cast<T*>(into.added(device()).data);
    }
    cpu::drivers::lstm_backward(job_, to);
    const runnable& add = *adding_kernel<T, Cpu>();
    if (wants(0)) hand_over_gradient(add, gates, *input[0]);
    for (int i = 0; i < 2; ++i)
      if (first[i]) add_to_gradient(add, *first[i], *input[2 + i]);
  }

 private:
  lstm_job<T> job_;  // what its pointers show is kept
};

/// The states at all times, the last state and the last cell.
template <class T>
std::array<Tensor<T>, 3> lstm_steps(const Tensor<T>& of_inputs, const Tensor<T>& weight, const Tensor<T>& state,
                                    const Tensor<T>& cell, const Tensor<std::int64_t>& lengths, bool backwards) {
  const bool recorded =
      grad_enabled() && (of_inputs.needs_grad() || weight.needs_grad() || state.needs_grad() || cell.needs_grad());
  const dims& sizes = of_inputs.sizes();
  const std::int64_t times = sizes[0], batch = sizes[1], units = weight.size(1), numbers = batch * units;
  const ref<tensor_state> out = new_output(of_inputs, {times, batch, units});
  const ref<tensor_state> gates = new_output(of_inputs, {recorded ? times : 1, batch, 4 * units}),
                          cells = new_output(of_inputs, {times + 1, batch, units}),
                          states = new_output(of_inputs, {times + 1, batch, units});
  const auto data = [](const ref<tensor_state>& t) { return static_cast<T*>(t->data); };
  const auto whole = [&](const Tensor<T>& x) { return in_one_piece(x, *out); };
  const Tensor<T> x = whole(of_inputs), h = whole(state), c = whole(cell), w = weight.detach();
  const Tensor<std::int64_t> ends = lengths.defined() ? in_one_piece(lengths, *out) : lengths;
  lstm_job<T> job{times,          batch,          units,
                  backwards,      x.data(),       w.data(),
                  w.strides()[0], w.strides()[1], ends.defined() ? ends.data() : nullptr,
                  data(gates),    data(cells),    data(states),
                  recorded};
  const std::int64_t begin = job.before(job.time_of(0)) * numbers;
  std::copy_n(h.data(), numbers, job.states + begin);
  std::copy_n(c.data(), numbers, job.cells + begin);
  cpu::drivers::lstm(job, data(out));
  // The last ones lie in what is kept, where nobody may write: they are given away as copies.
  const ref<tensor_state> last_state = new_output(of_inputs, {batch, units}),
                          last_cell = new_output(of_inputs, {batch, units});
  const std::int64_t end = job.after(job.time_of(times - 1)) * numbers;
  std::copy_n(job.states + end, numbers, data(last_state));
  std::copy_n(job.cells + end, numbers, data(last_cell));
  const std::array<ref<tensor_state>, 3> all{out, last_state, last_cell};
  if (recorded) {
    const auto record = [](const Tensor<T>& t) { return t.state()->autograd_metadata; };
    const ref<graph_node> node = ref<graph_node>::adopt(new lstm_node<T>(
        job, {record(of_inputs), record(weight), record(state), record(cell)},
        {w.state().get(), gates.get(), cells.get(), states.get(), ends.defined() ? ends.state().get() : nullptr}));
    for (int i = 0; i < 3; ++i) {
      set_producer(*all[static_cast<std::size_t>(i)], node);
      all[static_cast<std::size_t>(i)]->autograd_metadata->output = i;
    }
  }
  return {Tensor<T>(out), Tensor<T>(last_state), Tensor<T>(last_cell)};
}

#ifdef KILN_COMPILED  // in src/models.cpp
extern template class lstm_node<float>;
extern template std::array<Tensor<float>, 3> lstm_steps(const Tensor<float>&, const Tensor<float>&,
                                                        const Tensor<float>&, const Tensor<float>&,
                                                        const Tensor<std::int64_t>&, bool);
#endif

}  // namespace kiln::detail
