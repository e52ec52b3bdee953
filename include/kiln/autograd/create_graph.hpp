// SPDX-License-Identifier: BSL-1.0
// Backward passes that are recorded: backward(loss, {.create_graph = true}) and grad(..., {.create_graph = true}). With
// the compiled library there is nothing to include; where the headers are all there is, one file of the program
// includes this one, which brings the interpreter that runs gradient programs made while the program runs.
#pragma once

#include <kiln/autograd/backward.hpp>
#include <kiln/autograd/tape_program.hpp>
#include <kiln/tensor/recorder.hpp>

namespace kiln::detail {

/// Runs a tape and records it for backward passes, which record themselves if they are asked to: a node with as many
/// outputs as the tape has results. Operands are per slot, null where the tape reads none; sizes are those of the
/// results. A result that the tape does not have comes out null.
std::vector<ref<tensor_state>> evaluate_tape(const std::shared_ptr<const tape_program>& what,
                                             const device_functions& device, const evaluation& how,
                                             std::vector<ref<tensor_state>> operands,
                                             std::vector<std::uint64_t> numbers, const std::vector<dims>& sizes);

}  // namespace kiln::detail

#ifndef KILN_COMPILED
#include <kiln/autograd/create_graph_impl.hpp>
#endif
