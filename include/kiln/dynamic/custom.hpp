// SPDX-License-Identifier: BSL-1.0
// Functions whose gradient the caller computes: what they made becomes a node of the graph with a rule of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <kiln/dynamic/tensor.hpp>

namespace kiln::dynamic {

/// The gradients of the inputs of a function, given that of its result: one each, undefined where there is none.
using gradient_rule = std::function<std::vector<tensor>(const tensor& gradient)>;

/// `result`, computed of `inputs` somewhere else, so that backward passes go through it by `rule`. Where no gradient is
/// wanted or recorded, the result as it is. `kept` are tensors that the rule reads: a pass throws graph_error if one
/// was changed in place since. So it does for gradients of other shapes or number than the inputs', and for a pass that
/// is recorded itself (create_graph): the rule has no derivative. What the rule throws goes through the pass. Throws
/// dtype_error for a result without fractions.
tensor with_gradient(std::string name, const tensor& result, const std::vector<tensor>& inputs, gradient_rule rule,
                     const std::vector<tensor>& kept = {});

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/custom_impl.hpp>
#endif
