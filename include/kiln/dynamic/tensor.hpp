// SPDX-License-Identifier: BSL-1.0
// Tensors whose element type is known while the program runs. What is computed with them stays pending until somebody
// asks for a value; then all that belongs together is cut into one tape, which the interpreter runs, and which is one
// node of the graph of gradients. A tensor that is not pending is a Tensor<T> without its type, and shares with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <kiln/dynamic/cell.hpp>
#include <kiln/dynamic/visit.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln::dynamic {

namespace graph {
template <class Device>
device device_of(const storage& memory) {
  if constexpr (OnHost<Device>)
    return {};
  else
    return {device_kind::cuda, executor<Device>::device_of(memory).index};
}
}  // namespace graph

/// A handle: copies share. A tensor that is pending is to be used by one thread at a time; eval() it before others do.
class tensor {
 public:
  /// Without a value: defined() is false.
  tensor() = default;
  /// The same elements, history included.
  template <Element T, class Device>
  tensor(const Tensor<T, Device>& x)
      : tensor(of(x.state(), x.defined() ? graph::device_of<Device>(*x.state()->memory) : dynamic::device{})) {}
  /// Of what a Tensor<T> points to, or a Tensor<T, Cuda>.
  static tensor of(ref<tensor_state> state, dynamic::device where = {});
  /// Of a part of a graph, for functions that make one.
  explicit tensor(std::shared_ptr<graph::cell> cell) : cell_(std::move(cell)) {}

  /// Whether there is a tensor.
  bool defined() const { return static_cast<bool>(cell_); }
  kiln::dtype type() const { return cell()->type; }
  /// Where the elements are, or will be. A scalar() goes with tensors of any device.
  dynamic::device device() const { return cell()->where; }
  const dims& sizes() const { return cell()->sizes; }
  /// Number of axes.
  int dim() const { return sizes().rank(); }
  /// Size along an axis; negative axes count from the end. Throws index_error.
  std::int64_t size(std::int64_t axis) const { return sizes()[normalize_axis(axis, dim(), "size")]; }
  /// Number of elements.
  std::int64_t numel() const { return count(sizes()); }
  /// Whether the value is still to be computed.
  bool is_lazy() const { return cell()->pending(); }
  /// How many share what this handle points to, pending calls that read it included.
  long use_count() const { return cell_.use_count(); }

  /// Computes the value, if it is not there. Throws what computing it may: value_error for integers divided by zero and
  /// for the largest of no elements, graph_error if an operand was changed in place after the call was written.
  const tensor& eval() const {
    graph::evaluate(*cell());
    return *this;
  }
  /// What a Tensor<T> of this value points to; evaluated.
  const ref<tensor_state>& state() const { return graph::state_of(*cell()); }
  /// The elements, in row-major order without gaps; evaluated. What has gaps is copied, until the next call of this.
  /// Throws device_error for elements that are not in the host's memory.
  const void* data() const;
  /// The one element, as a double. Throws shape_error for another number of elements.
  double item() const;
  /// The one element of an integer type or bool. Throws shape_error for another number of elements, dtype_error.
  std::int64_t item_int64() const;
  /// Copies the elements in row-major order to `to`, which has room for numel() of them. They are there when it
  /// returns, in pinned memory too.
  void to_host(void* to) const;

  /// The same tensor as one of a known type, on which all functions of kiln work; evaluated. Throws dtype_error if that
  /// is not its type, device_error if it is not on a `Device`. Of a scalar(), a tensor of its own.
  template <Element T, class Device = Cpu>
  Tensor<T, Device> as() const {
    check_type(dtype_of<T>);
    check_kind(OnHost<Device>);
    if (cell()->is == graph::form::number) return Tensor<T, Device>(of_number());
    return Tensor<T, Device>(state());
  }

  /// The elements as another type: lazy; of the same type, this tensor.
  tensor to(kiln::dtype type) const;
  /// The values on a device: this tensor if it is there, else a copy, through which gradients flow. Throws device_error
  /// for one that is not there, or that this program was built without (kiln/dynamic/cuda.hpp).
  tensor to(dynamic::device where) const;
  tensor to(device_kind where) const { return to(dynamic::device(where)); }
  /// The elements in memory of their own; gradients flow through it.
  tensor clone() const;
  /// This tensor if its elements have no gaps, else a copy.
  tensor contiguous() const;
  /// The same elements without their history.
  tensor detach() const;

  /// Whether gradients flow to or through this tensor.
  bool requires_grad() const;
  /// Whether it is at the end of all graphs: given, and not computed from what requires grad.
  bool is_leaf() const;
  /// Asks for a gradient, or no longer. Throws dtype_error for a type without fractions, graph_error for a tensor that
  /// was computed from others that require grad.
  tensor& requires_grad_(bool on = true);
  /// What backward passes have left here; not defined if none has.
  tensor grad() const;
  /// Forgets the gradient.
  void zero_grad();
  /// Adds to the gradients of all leaves that this was computed from. `gradient` is that of some loss by this tensor,
  /// of its shape and type; it may be left out where there is one element. Throws graph_error as kiln::backward.
  void backward(const tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;

  /// Writes values into these elements, which all that share them see: of this shape or one that broadcasts to it,
  /// converted to this type. Throws dtype_error for values of a higher category, otherwise as Tensor::copy_.
  tensor& assign_(const tensor& values);
  /// Sets every element. Throws value_error for a number that an integer type does not hold.
  tensor& fill_(double value);

  /// For functions of this layer. Throws value_error if there is no tensor.
  const std::shared_ptr<graph::cell>& cell() const {
    if (!cell_) throw value_error("this dynamic tensor has no value: assign one before using it");
    return cell_;
  }

 private:
  void check_type(kiln::dtype wanted) const;
  void check_kind(bool on_host) const;
  ref<tensor_state> of_number() const;
  void becomes(ref<tensor_state> value, moment before);
  std::shared_ptr<graph::cell> cell_;
  mutable ref<tensor_state> packed_;
};

namespace graph {
/// Throws device_error unless both are on one device.
inline void check_together(std::string_view op, const tensor& a, const tensor& b) {
  if (a.device() != b.device())
    throw device_error(message(op, ": operands are on ", dynamic::name(a.device()), " and ", dynamic::name(b.device()),
                               ": bring them together with to()"));
}
}  // namespace graph

/// A number beside tensors. Among operands of call() it changes another's type only if its category is higher, and it
/// is no tensor of the tape: another value does not make another one. By itself it is a 0-d tensor of `type`.
tensor scalar(double value, dtype type = dtype::float32);
tensor scalar(std::int64_t value, dtype type = dtype::int64);
inline tensor scalar(int value) {
  return scalar(static_cast<std::int64_t>(value));
}
tensor scalar(bool value);

/// A pointwise op by its name, "add", "exp", "where", "gelu", ..., on as many operands as it has; all that
/// ops/all.hpp lists but reductions and functions of rows. Operands are broadcast and converted to a common type as the
/// static functions do. Lazy. Throws value_error for an unknown name or another number of operands, shape_error for
/// shapes that do not broadcast, dtype_error for a type that the op is not defined for.
tensor call(std::string_view op, std::span<const tensor> operands);
inline tensor call(std::string_view op, std::initializer_list<tensor> operands) {
  return call(op, std::span<const tensor>(operands.begin(), operands.size()));
}

/// Whether call() knows a name, and how many operands the op has (0: it doesn't).
int arity_of(std::string_view op);

/// A reduction by its name: sum, prod, mean, max (amax), min (amin), any, all, var, std, norm, logsumexp,
/// count_nonzero. Without axes over all; negative ones count from the end. Lazy. Throws value_error for an unknown name
/// and an axis named twice, index_error for one that is not there.
tensor reduce(std::string_view op, const tensor& x, std::span<const std::int64_t> axes = {}, bool keepdim = false);
inline tensor reduce(std::string_view op, const tensor& x, std::initializer_list<std::int64_t> axes,
                     bool keepdim = false) {
  return reduce(op, x, std::span<const std::int64_t>(axes.begin(), axes.size()), keepdim);
}
/// var and std with n - correction in the denominator.
tensor var(const tensor& x, std::span<const std::int64_t> axes, bool keepdim, double correction);
tensor stddev(const tensor& x, std::span<const std::int64_t> axes, bool keepdim, double correction);

/// exp(x) / sum(exp(x)) along an axis. Lazy.
tensor softmax(const tensor& x, std::int64_t axis = -1);
/// log(softmax(x)) without loss of accuracy. Lazy.
tensor log_softmax(const tensor& x, std::int64_t axis = -1);
/// (x - mean) / sqrt(variance + eps) along axes. Lazy.
tensor layer_norm(const tensor& x, std::span<const std::int64_t> axes, double eps = 1e-5);
/// x / sqrt(mean(x * x) + eps) along axes. Lazy.
tensor rms_norm(const tensor& x, std::span<const std::int64_t> axes, double eps = 1e-6);

/// Whether calls on this thread stay pending until a value is asked for; if not, each is evaluated at once.
bool lazy();
/// Sets that, for this thread; gives what was set before.
bool set_lazy(bool on);

/// What evaluating has done on this thread.
struct evaluation_statistics {
  std::int64_t evaluations = 0;   ///< tapes run
  std::int64_t instructions = 0;  ///< of those tapes as written, composite ops counted as one
  std::int64_t programs = 0;      ///< of them, tapes for which a program had to be made
};
evaluation_statistics statistics();
void reset_statistics();

}  // namespace kiln::dynamic

#ifndef KILN_COMPILED
#include <kiln/dynamic/tensor_impl.hpp>
#endif
