// SPDX-License-Identifier: BSL-1.0
// The definitions of optimizers.hpp.
#pragma once

#include <string>
#include <utility>

#include <kiln/dynamic/optimizers.hpp>
#include <kiln/dynamic/optimizers_on.hpp>

namespace kiln::dynamic {

KILN_INLINE io::tensor_map optimizer::state_dict() const {
  io::tensor_map kept;
  io::detail::state_visitor v(kept, io::detail::state_visitor::mode::keep);
  get().visit_state(v);
  // What shares its elements with the optimizer would change with its next step.
  for (auto& [name, values] : kept) {
    const no_grad quiet;
    values = io::array(tensor::of(values.state()).clone().state());
  }
  return kept;
}
KILN_INLINE void optimizer::load_state_dict(io::tensor_map from) const {
  for (const auto how : {io::detail::state_visitor::mode::compare, io::detail::state_visitor::mode::write}) {
    io::detail::state_visitor v(from, how);
    get().visit_state(v);
    std::string problems = v.problems();
    for (const auto& [name, values] : from)
      if (!v.used().contains(name)) problems += "\n  " + name + ": unexpected";
    if (!problems.empty())
      throw value_error(message(type_, ": the state is of another optimizer or of other parameters:", problems));
    if (v.writes()) v.commit();
  }
}

KILN_INLINE optimizer make_optimizer(std::string_view name, const std::vector<tensor>& parameters, const options& how) {
  if (parameters.empty()) throw value_error(message(name, ": needs one parameter at least"));
  if (!parameters[0].device().on_host())
    return {std::string(name),
            std::static_pointer_cast<optimizer::held>(graph::cuda_driver().make_optimizer(name, parameters, how))};
  return {std::string(name), graph::optimizer_on<Cpu>(name, parameters, how)};
}

}  // namespace kiln::dynamic
