// SPDX-License-Identifier: BSL-1.0
// The definitions of grad.hpp.
#pragma once

#include <utility>
#include <vector>

#include <kiln/autograd/backward_impl.hpp>
#include <kiln/autograd/grad.hpp>

namespace kiln::detail {

KILN_INLINE std::vector<ref<tensor_state>> run_grad(const tensor_state& of, const ref<tensor_state>& gradient,
                                                    const runnable& add, const std::vector<grad_input>& inputs,
                                                    const grad_options& options) {
  const ref<gradient_record> autograd_metadata = of.autograd_metadata;
  check_seed(of, *gradient, "grad");
  std::vector<capture> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ref<gradient_record>& record = inputs[i].tensor->autograd_metadata;
    if (!record)
      throw graph_error(message("grad: input ", i, ", of shape ", inputs[i].tensor->sizes,
                                ", does not require grad: call requires_grad() on it before computing with it"));
    wanted.push_back({record, nullptr});
  }
  const recording_scope scope(options.create_graph);
  const ref<tensor_state> seed = seed_of(gradient, add, options.create_graph);
  {
    backward_pass pass(&wanted);  // what leaves have collected before stays as it is
    pass.select(autograd_metadata);
    if (autograd_metadata->producer) pass.run(autograd_metadata, seed, options.retain_graph || options.create_graph);
    for (capture& c : wanted)
      if (c.record == autograd_metadata && !autograd_metadata->producer)
        c.gradient = seed;
      else if (!c.record->producer)
        c.gradient = pass.arrived_at(*c.record);
  }
  std::vector<ref<tensor_state>> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const grad_input& x = inputs[i];
    if (!wanted[i].gradient) {
      if (!options.allow_unused)
        throw graph_error(message("grad: nothing that leads to the result was computed from input ", i, ", of shape ",
                                  x.tensor->sizes, ": leave it out, or ask for zeros with {.allow_unused = true}"));
      wanted[i].gradient = x.device->zeros(x.tensor->type, x.tensor->sizes, *x.tensor->memory);
    }
    out.push_back(wanted[i].gradient);
  }
  return out;
}

}  // namespace kiln::detail
