// SPDX-License-Identifier: BSL-1.0
// What is compiled once for all instruction sets: the second parts of the headers.
#include <kiln/autograd/anomaly_impl.hpp>
#include <kiln/autograd/backward_impl.hpp>
#include <kiln/autograd/create_graph_impl.hpp>
#include <kiln/autograd/grad_impl.hpp>
#include <kiln/autograd/hooks_impl.hpp>
#include <kiln/autograd/node_impl.hpp>
#include <kiln/autograd/tape_program_impl.hpp>
#include <kiln/core/error_impl.hpp>
#include <kiln/data/workers_impl.hpp>
#include <kiln/device/cpu/memory/memory_impl.hpp>
#include <kiln/device/cpu/threads/threads_impl.hpp>
#include <kiln/expr/own_ops.hpp>
#include <kiln/nn/functional/window_impl.hpp>
#include <kiln/nn/layers/layer_impl.hpp>
#include <kiln/nn/module_impl.hpp>
#include <kiln/optim/flat_memory_impl.hpp>
#include <kiln/optim/schedulers_impl.hpp>
#include <kiln/optim/schedules_impl.hpp>
#include <kiln/tape/infix_impl.hpp>
#include <kiln/tensor/assign_impl.hpp>
#include <kiln/tensor/custom_node_impl.hpp>
#include <kiln/tensor/einsum_impl.hpp>
#include <kiln/tensor/gradient_pass_impl.hpp>
#include <kiln/tensor/indexing_impl.hpp>
#include <kiln/tensor/join_impl.hpp>
#include <kiln/tensor/multiply_impl.hpp>
#include <kiln/tensor/print_impl.hpp>
#include <kiln/tensor/run_impl.hpp>
#include <kiln/tensor/scan_impl.hpp>
#include <kiln/tensor/sort_impl.hpp>
#include <kiln/tensor/view_metadata_impl.hpp>
#include <kiln/transform/cpp_function_impl.hpp>

const kiln::rule_table& kiln::detail::compiled_facts() {
  return op_facts_table;
}
