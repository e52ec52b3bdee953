// SPDX-License-Identifier: BSL-1.0
// An optimizer whose type is forgotten: what changes parameters that are dynamic tensors, and what it keeps for them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/tensor.hpp>
#include <kiln/io/array.hpp>

namespace kiln::io::detail {
class state_visitor;
}

namespace kiln::dynamic {

/// A handle: copies share the optimizer.
class optimizer {
 public:
  /// Computes the loss, calls backward() on it and returns it.
  using closure = std::function<tensor()>;
  /// State with its name and the number of the parameter that it is kept for.
  struct state_tensor {
    std::string name;
    std::size_t parameter;
    tensor value;
  };
  /// What a kind of optimizer defines.
  class held {
   public:
    virtual ~held() = default;
    virtual void step() = 0;
    virtual double step(const closure& loss) = 0;
    virtual void zero_grad() = 0;
    virtual double& lr() = 0;
    virtual std::vector<state_tensor> state() const = 0;
    virtual void visit_state(io::detail::state_visitor& v) = 0;
  };

  optimizer() = default;
  optimizer(std::string type, std::shared_ptr<held> what) : type_(std::move(type)), held_(std::move(what)) {}

  bool defined() const { return static_cast<bool>(held_); }
  /// The name that it was made by: "Adam".
  const std::string& type() const { return type_; }
  /// Changes every parameter that has a gradient. Throws graph_error if none has one, value_error for LBFGS, which
  /// needs a closure.
  void step() const { get().step(); }
  /// Forgets the gradients, calls the closure and steps; LBFGS calls it several times. Gives the first loss.
  double step(const closure& loss) const { return get().step(loss); }
  /// Forgets the gradients.
  void zero_grad() const { get().zero_grad(); }
  double lr() const { return get().lr(); }
  void set_lr(double to) const {
    if (!(to >= 0)) throw value_error(message(type_, ": a learning rate of ", to, ": use 0 or more"));
    get().lr() = to;
  }
  /// What it keeps for its parameters, in their shapes, the elements themselves: nothing before the first step. The
  /// corrections of LBFGS are not among it.
  std::vector<state_tensor> state() const { return get().state(); }
  /// All that a later step depends on beside the parameters, by name: options, steps, state. It is a copy.
  io::tensor_map state_dict() const;
  /// Goes on from there. Throws value_error that lists what is missing, unexpected or of another shape; the optimizer
  /// is as it was then.
  void load_state_dict(io::tensor_map from) const;
  std::size_t state_count() const { return state().size(); }
  std::int64_t state_bytes() const {
    std::int64_t bytes = 0;
    for (const state_tensor& each : state())
      bytes += each.value.numel() * static_cast<std::int64_t>(size_of(each.value.type()));
    return bytes;
  }

 private:
  held& get() const {
    if (!held_) throw value_error("this dynamic optimizer has no value: make one with make_optimizer first");
    return *held_;
  }
  std::string type_;
  std::shared_ptr<held> held_;
};

}  // namespace kiln::dynamic
