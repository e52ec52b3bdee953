// SPDX-License-Identifier: BSL-1.0
// The definitions of tensor.hpp.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <kiln/autograd/backward.hpp>
#include <kiln/dynamic/evaluate.hpp>
#include <kiln/dynamic/kernels.hpp>
#include <kiln/dynamic/lent_memory.hpp>
#include <kiln/dynamic/pending.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/tensor/creation.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/recorder.hpp>
#include <kiln/tensor/run.hpp>

namespace kiln::dynamic {

KILN_INLINE tensor tensor::of(ref<tensor_state> state, dynamic::device where) {
  if (!state) throw value_error("tensor::of: this Tensor has no value yet: assign one before using it");
  return tensor(graph::cell_of(std::move(state), where));
}

KILN_INLINE void tensor::check_type(kiln::dtype wanted) const {
  if (type() != wanted)
    throw dtype_error(message("as: a tensor of ", name(type()), sizes(), " is not one of ", name(wanted),
                              ": convert it with to(), or ask for its own type"));
}

KILN_INLINE void tensor::check_kind(bool on_host) const {
  if (device().on_host() != on_host)
    throw device_error(message("as: a tensor on ", dynamic::name(device()), " is no Tensor of the device ",
                               on_host ? "Cpu" : "Cuda", ": bring it there with to(), or ask for its own device"));
}

KILN_INLINE ref<tensor_state> tensor::of_number() const {
  return graph::materialised(*cell())->value;
}
// The same cell from now on has a value; calls that read the number can tell whether it was changed since.
KILN_INLINE void tensor::becomes(ref<tensor_state> value, moment before) {
  graph::cell& mine = *cell();
  mine.value = std::move(value);
  mine.computed = before;
  mine.is = graph::form::value;
}

KILN_INLINE tensor tensor::contiguous() const {
  return state()->contiguous ? *this : clone();
}
KILN_INLINE tensor tensor::clone() const {
  return call("clone", {*this});
}
KILN_INLINE tensor tensor::to(kiln::dtype wanted) const {
  return type() == wanted ? *this : tensor(graph::converted(cell(), wanted));
}

namespace graph {
/// Takes what arrives at a copy on another device back to where the original is.
class moved_node final : public detail::op_node_of<1> {
 public:
  moved_node(const ref<gradient_record>& original, dynamic::device home, dynamic::device away)
      : op_node_of(functions_of(home)), home_(home), away_(away) {
    input[0] = original;
    stay_walkable();
  }
  const char* name() const override { return "to"; }
  void backward(const ref<tensor_state>& gradient) override {
    const tensor here = tensor::of(gradient, away_).to(home_);
    detail::hand_over_gradient(*adding_kernel(here.type(), home_), here.state(), *input[0]);
  }
  void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>&) override {
    detail::the_recorder().add(*input[0], tensor::of(gradient, away_).to(home_).state(), functions_of(home_));
  }

 private:
  dynamic::device home_, away_;
};
}  // namespace graph

KILN_INLINE tensor tensor::to(dynamic::device where) const {
  const dynamic::device home = device();
  if (where == home) return *this;
  check_device(where);
  ref<tensor_state> moved;
  {
    const no_grad quiet;
    const tensor here = (cell()->is == graph::form::number ? of(of_number()) : detach()).contiguous();
    const graph::device_driver& cuda = graph::cuda_driver();
    moved = home.on_host()    ? cuda.from_host(*here.state(), where.index)
            : where.on_host() ? cuda.to_host(*here.state())
                              : cuda.to_other(*here.state(), where.index);
  }
  if (grad_enabled() && requires_grad())
    detail::set_producer(*moved, new graph::moved_node(state()->autograd_metadata, home, where));
  return of(std::move(moved), where);
}

KILN_INLINE const void* tensor::data() const {
  if (!device().on_host())
    throw device_error(message("data: the elements of this tensor are on ", dynamic::name(device()),
                               ", not in the host's memory: bring it there with to(device_kind::cpu)"));
  const ref<tensor_state>& mine = state();
  if (mine->contiguous) return mine->data;
  const no_grad quiet;
  packed_ = clone().state();
  return packed_->data;
}
KILN_INLINE void tensor::to_host(void* to) const {
  const std::size_t bytes = static_cast<std::size_t>(numel()) * size_of(type());
  if (bytes == 0) return;
  if (device().on_host()) {
    std::memcpy(to, data(), bytes);
  } else {
    const no_grad quiet;
    graph::functions_of(device()).copy_out(*contiguous().state(), to);
  }
}

namespace graph {
inline void check_one_element(const tensor& x) {
  if (x.numel() != 1)
    throw shape_error(message("item: a tensor of shape ", x.sizes(), " has ", x.numel(),
                              " elements, not one: reduce or index it first"));
}
/// The bits of a tensor of one element.
struct one_element {
  alignas(16) unsigned char bytes[16] = {};
  explicit one_element(const tensor& x) {
    check_one_element(x);
    x.to_host(bytes);
  }
};
}  // namespace graph

KILN_INLINE double tensor::item() const {
  const graph::one_element one(*this);
  const void* const at = one.bytes;
  return with_type(type(), [at]<class T>(std::type_identity<T>) -> double {
    return static_cast<double>(static_cast<compute_t<T>>(*static_cast<const T*>(at)));
  });
}
KILN_INLINE std::int64_t tensor::item_int64() const {
  graph::check_one_element(*this);
  if (is_floating(type()))
    throw dtype_error(message("item_int64: a tensor of ", name(type()), " has fractions: use item()"));
  const graph::one_element one(*this);
  const void* const at = one.bytes;
  return with_type(type(), [at]<class T>(std::type_identity<T>) -> std::int64_t {
    return static_cast<std::int64_t>(static_cast<compute_t<T>>(*static_cast<const T*>(at)));
  });
}

namespace graph {
inline void refuse_lent(const tensor& x, const char* where) {
  if (x.cell()->is == form::value && is_lent(*x.cell()->value))
    throw value_error(message(where, ": the elements of this tensor of shape ", x.sizes(),
                              " belong to somebody else and are only to be read: clone() it first"));
}
}  // namespace graph

// ---- gradients

KILN_INLINE tensor tensor::detach() const {
  const ref<tensor_state>& mine = state();
  ref<tensor_state> same = new_state(mine->type, mine->sizes, mine->strides);
  same->data = mine->data;
  same->memory = mine->memory;
  return of(std::move(same), device());
}
KILN_INLINE bool tensor::requires_grad() const {
  if (cell()->is == graph::form::value) graph::state_of(*cell());
  return graph::requires_grad(*cell());
}
KILN_INLINE bool tensor::is_leaf() const {
  if (is_lazy()) return !requires_grad();
  const ref<gradient_record>& autograd_metadata = state()->autograd_metadata;
  return !autograd_metadata || !autograd_metadata->producer;
}
KILN_INLINE tensor& tensor::requires_grad_(bool on) {
  if (on) graph::refuse_lent(*this, "requires_grad_");
  if (cell()->is == graph::form::number && is_floating(type())) {
    ref<tensor_state> value = of_number();
    const moment now(*value->memory);
    becomes(std::move(value), now);
  }
  with_floating_type(type(), "requires_grad_", [&]<class T>(std::type_identity<T>) {
    Tensor<T>(state()).requires_grad(on);  // wherever it is: only what adds gradients is the device's
  });
  if (on && !device().on_host()) state()->autograd_metadata->add = graph::adding_kernel(type(), device());
  return *this;
}
KILN_INLINE tensor tensor::grad() const {
  if (is_lazy()) return {};
  const ref<gradient_record>& autograd_metadata = state()->autograd_metadata;
  if (!autograd_metadata || !autograd_metadata->gradient) return {};
  return with_floating_type(
      type(), "grad", [&]<class T>(std::type_identity<T>) { return of(Tensor<T>(state()).grad().state(), device()); });
}
KILN_INLINE void tensor::zero_grad() {
  if (is_lazy()) return;
  if (const ref<gradient_record>& autograd_metadata = state()->autograd_metadata) autograd_metadata->gradient = nullptr;
}
KILN_INLINE void tensor::backward(const tensor& gradient, bool retain_graph, bool create_graph) const {
  const ref<tensor_state>& mine = state();
  if (!is_floating(type()))
    throw dtype_error(
        message("backward: a tensor of ", name(type()), sizes(), " has no gradient: only floating types have"));
  ref<tensor_state> seed;
  if (gradient.defined()) {
    if (gradient.type() != type())
      throw dtype_error(message("backward: the gradient is of ", name(gradient.type()), " and the tensor of ",
                                name(type()), ": convert it with to()"));
    if (gradient.device() != device())
      throw device_error(message("backward: the gradient is on ", dynamic::name(gradient.device()),
                                 " and the tensor on ", dynamic::name(device()), ": bring it there with to()"));
    seed = create_graph ? gradient.contiguous().state() : gradient.detach().contiguous().state();
  } else {
    detail::check_loss(*mine);
    seed = with_floating_type(type(), "backward", [&]<class T>(std::type_identity<T>) {
      const no_grad quiet;
      return tensor(kiln::ones<T>(mine->sizes)).to(device()).state();
    });
  }
  detail::run_backward(*mine, std::move(seed), *graph::adding_kernel(type(), device()),
                       {.retain_graph = retain_graph, .create_graph = create_graph});
}

// ---- in place

KILN_INLINE tensor& tensor::assign_(const tensor& values) {
  if (cell()->is == graph::form::number) {
    ref<tensor_state> value = of_number();
    const moment before(*value->memory);
    of(value).assign_(values);
    becomes(std::move(value), before);
    return *this;
  }
  const ref<tensor_state> target = state();
  graph::refuse_lent(*this, "assign_");
  if (graph::category_of(values.type()) > graph::category_of(type()))
    throw dtype_error(message("assign_: a tensor of ", name(type()), " cannot hold values of ", name(values.type()),
                              ": convert them with to()"));
  // Overwriting a leaf is the end of its old value, not a step of a computation.
  const bool leaf = target->autograd_metadata && target->autograd_metadata->leaf;
  const tensor all = [&] {
    const detail::recording_scope record(grad_enabled() && !(leaf && !values.requires_grad()));
    const tensor fitting = values.cell()->is == graph::form::number ? values : values.to(type());
    return call("where", {scalar(true), fitting, *this}).eval();
  }();
  const ref<tensor_state> made = all.state();
  tensor_state* operand = made.get();
  const detail::expression_facts facts{.leaves = 1};
  const auto* const history = detail::check_in_place(facts, {.leaf = &operand}, made->sizes, *target);
  detail::overwrite_with(graph::copying_kernel(type(), device()), made, *target, history);
  return *this;
}
KILN_INLINE tensor& tensor::fill_(double value) {
  if (is_floating(type())) return assign_(scalar(value, dtype::float64));
  if (!(value >= -0x1p63 && value < 0x1p63 && value == std::floor(value)))
    throw value_error(message("fill_: ", value, " is no value of ", name(type()), ": convert the tensor with to()"));
  if (type() == dtype::boolean && (value == 0 || value == 1)) return assign_(scalar(value == 1));
  return assign_(scalar(static_cast<std::int64_t>(value)));
}

// ---- calls

KILN_INLINE tensor scalar(double value, dtype type) {
  if (!is_floating(type))
    throw dtype_error(message("scalar: ", value, " as ", name(type), ": give an integer for that"));
  return tensor(graph::number_cell(value, 0, false, type));
}
KILN_INLINE tensor scalar(std::int64_t value, dtype type) {
  if (is_floating(type)) return scalar(static_cast<double>(value), type);
  with_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>)
      if (static_cast<std::int64_t>(static_cast<T>(value)) != value)
        throw value_error(message("scalar: ", value, " is no value of ", name(type), ": use a wider type"));
  });
  return tensor(graph::number_cell(0, value, true, type));
}
KILN_INLINE tensor scalar(bool value) {
  return tensor(graph::number_cell(0, value ? 1 : 0, true, dtype::boolean));
}

KILN_INLINE int arity_of(std::string_view op) {
  const graph::op_facts* const f = graph::find_op(op);
  return f && graph::is_pointwise(*f) ? f->rules->arity : 0;
}

KILN_INLINE tensor call(std::string_view op, std::span<const tensor> operands) {
  const graph::op_facts* const f = graph::find_op(op);
  if (!f || !graph::is_pointwise(*f)) graph::unknown_op(op);
  std::array<graph::cell_ref, 3> cells;
  if (operands.size() > cells.size())
    throw value_error(message(op, ": takes ", f->rules->arity, " operands, got ", operands.size()));
  for (std::size_t i = 0; i < operands.size(); ++i) cells[i] = operands[i].cell();
  return tensor(graph::pointwise(*f, {cells.data(), operands.size()}));
}

namespace graph {
/// A mask of axes and how many elements one row has.
struct rows_of {
  std::uint32_t axes = 0;
  double elements = 1;
  rows_of(const tensor& x, std::span<const std::int64_t> over, const std::string& where) {
    axes = (over.empty() ? kiln::axes() : kiln::axes(over)).mask(x.dim(), where.c_str());
    for (int i = 0; i < x.dim(); ++i)
      if (axes >> i & 1) elements *= static_cast<double>(x.sizes()[i]);
  }
};
inline tensor as_floating(const tensor& x) {
  return is_floating(x.type()) ? x : x.to(dtype::float32);
}
inline tensor rows_function(std::string_view op, const tensor& x, const rows_of& rows, bool keepdim,
                            std::array<double, 2> numbers = {}) {
  return tensor(over_rows(op, x.cell(), rows.axes, keepdim, numbers));
}
}  // namespace graph

KILN_INLINE tensor var(const tensor& x, std::span<const std::int64_t> axes, bool keepdim, double correction) {
  const graph::rows_of rows(x, axes, "var");
  return call("div", {graph::rows_function("squared_deviation", x, rows, keepdim, {rows.elements, 0}),
                      scalar(std::max(rows.elements - correction, 0.0))});
}
KILN_INLINE tensor stddev(const tensor& x, std::span<const std::int64_t> axes, bool keepdim, double correction) {
  const graph::rows_of rows(x, axes, "std");
  return graph::rows_function("standard_deviation", x, rows, keepdim,
                              {rows.elements, std::max(rows.elements - correction, 0.0)});
}

KILN_INLINE tensor reduce(std::string_view op, const tensor& x, std::span<const std::int64_t> axes, bool keepdim) {
  if (op == "var") return var(x, axes, keepdim, 1);
  if (op == "std") return stddev(x, axes, keepdim, 1);
  const graph::rows_of rows(x, axes, std::string(op));
  const auto plain = [&](std::string_view name, const tensor& of) {
    return graph::rows_function(name, of, rows, keepdim);
  };
  if (op == "amax") return plain("max", x);
  if (op == "amin") return plain("min", x);
  for (const std::string_view known : {"sum", "prod", "max", "min", "any", "all", "logsumexp"})
    if (op == known) return plain(known, x);
  if (op == "mean") return call("div", {plain("sum", graph::as_floating(x)), scalar(rows.elements)});
  if (op == "norm") return call("root", {plain("sum", call("square", {graph::as_floating(x)}))});
  if (op == "count_nonzero") return plain("sum", call("ne", {x, scalar(0)}).to(dtype::int64));
  throw value_error(message("reduce: there is no reduction \"", op,
                            "\": those are sum, prod, mean, max, min, any, all, var, std, norm, logsumexp, "
                            "count_nonzero"));
}

KILN_INLINE tensor softmax(const tensor& x, std::int64_t axis) {
  return graph::rows_function("softmax", x, {x, {&axis, 1}, "softmax"}, true);
}
KILN_INLINE tensor log_softmax(const tensor& x, std::int64_t axis) {
  return graph::rows_function("log_softmax", x, {x, {&axis, 1}, "log_softmax"}, true);
}
KILN_INLINE tensor layer_norm(const tensor& x, std::span<const std::int64_t> axes, double eps) {
  const graph::rows_of rows(x, axes, "layer_norm");
  return graph::rows_function("layer_norm", x, rows, true, {rows.elements, eps});
}
KILN_INLINE tensor rms_norm(const tensor& x, std::span<const std::int64_t> axes, double eps) {
  const graph::rows_of rows(x, axes, "rms_norm");
  return graph::rows_function("rms_norm", x, rows, true, {rows.elements, eps});
}

KILN_INLINE bool lazy() {
  return graph::stays_lazy;
}
KILN_INLINE bool set_lazy(bool on) {
  return std::exchange(graph::stays_lazy, on);
}
KILN_INLINE evaluation_statistics statistics() {
  return {graph::counted.evaluations, graph::counted.instructions, graph::counted.programs};
}
KILN_INLINE void reset_statistics() {
  graph::counted = {};
}

}  // namespace kiln::dynamic
