// SPDX-License-Identifier: BSL-1.0
// The definitions of create_graph.hpp: nodes whose backward passes are made of nodes of the same kinds, so that there
// is no last order. Tapes give tapes, products give products, views and placements give each other.
#pragma once

#include <utility>
#include <vector>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/core/growing_list.hpp>
#include <kiln/tensor/op_node.hpp>
#include <kiln/tensor/views.hpp>

namespace kiln::detail {

KILN_INLINE tape_view view_of(const program& tape) {
  return {&tape[0], tape.size(), tape.results, tape.result_count};
}

KILN_INLINE bool records(std::initializer_list<const tensor_state*> operands) {
  bool any = false;
  for (const tensor_state* x : operands) any |= x && x->autograd_metadata;
  return any && grad_enabled();
}

/// An evaluated tape.
class tape_node final : public op_node {
 public:
  tape_node(std::shared_ptr<const tape_program> what, const device_functions& device, const evaluation& how,
            const std::vector<ref<tensor_state>>& operands, std::vector<std::uint64_t> numbers)
      : op_node(device),
        what_(std::move(what)),
        how_(how),
        numbers_(std::move(numbers)),
        records_(operands.size()),
        values_(operands.size()) {
    for (std::size_t s = 0; s < operands.size(); ++s) {
      if (!operands[s] || !what_->reads(static_cast<int>(s))) continue;
      records_[s] = operands[s]->autograd_metadata;
      values_[s].save(*operands[s]);
    }
    set_inputs(records_.data(), static_cast<int>(records_.size()));
    set_saved(values_.data(), static_cast<int>(values_.size()));
    set_outputs(*this, static_cast<int>(what_->results().size()));
    keep_what_is_read();
  }

  void backward(const ref<tensor_state>&) override {}
  void backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>*) override {
    const std::size_t outputs = static_cast<std::size_t>(output_count);
    std::vector<bool> arrives(outputs), wanted(records_.size());
    const storage* near = nullptr;
    for (std::size_t r = 0; r < outputs; ++r)
      if ((arrives[r] = static_cast<bool>(gradients[r]))) near = gradients[r]->memory.get();
    for (std::size_t s = 0; s < records_.size(); ++s) wanted[s] = wants(static_cast<int>(s));
    const auto back = what_->gradient(arrives, wanted);
    // What the gradient does not read may have been changed.
    for (std::size_t s = 0; s < values_.size(); ++s) {
      if (!values_[s].memory || !back->reads(static_cast<int>(s))) continue;
      values_[s].check();
      device().check_operand(*values_[s].memory, *near);
    }
    std::vector<ref<tensor_state>> operands;
    std::vector<dims> sizes;
    for (std::size_t s = 0; s < records_.size(); ++s) {
      operands.push_back(values_[s].memory ? remembered(values_[s], records_[s]) : nullptr);
      sizes.push_back(values_[s].sizes);
    }
    operands.insert(operands.end(), gradients, gradients + outputs);
    const auto made = evaluate_tape(back, device(), how_, std::move(operands), numbers_, sizes);
    for (std::size_t s = 0; s < records_.size(); ++s)
      if (made[s]) the_recorder().add(*records_[s], made[s], device());
  }

 private:
  void forget() override { what_ = nullptr; }
  // What no gradient reads is not held until then. (Where there is no gradient program, the pass will say why.)
  void keep_what_is_read() {
    std::vector<bool> arrives, wanted;
    for (int r = 0; r < output_count; ++r) arrives.push_back(what_->has(r));
    for (const auto& record : records_) wanted.push_back(static_cast<bool>(record));
    try {
      const auto back = what_->gradient(arrives, wanted);
      for (std::size_t s = 0; s < values_.size(); ++s)
        if (!back->reads(static_cast<int>(s))) values_[s].memory = nullptr;
    } catch (const error&) {
    }
  }

  std::shared_ptr<const tape_program> what_;
  evaluation how_;
  std::vector<std::uint64_t> numbers_;
  std::vector<ref<gradient_record>> records_;
  std::vector<saved_value> values_;
};

KILN_INLINE std::vector<ref<tensor_state>> evaluate_tape(const std::shared_ptr<const tape_program>& what,
                                                         const device_functions& device, const evaluation& how,
                                                         std::vector<ref<tensor_state>> operands,
                                                         std::vector<std::uint64_t> numbers,
                                                         const std::vector<dims>& sizes) {
  const storage* near = nullptr;
  bool recorded = false;
  for (std::size_t s = 0; s < operands.size(); ++s) {
    if (!operands[s] || !what->reads(static_cast<int>(s))) continue;
    near = operands[s]->memory.get();
    recorded |= static_cast<bool>(operands[s]->autograd_metadata);
  }
  std::vector<ref<tensor_state>> out(what->results().size());
  if (!near) return out;
  for (std::size_t r = 0; r < out.size(); ++r)
    if (what->has(static_cast<int>(r))) out[r] = device.new_tensor(what->results()[r].stored, sizes[r], *near);
  what->run(device, how, operands.data(), numbers.data(), out.data(), *near);
  if (!recorded || !grad_enabled()) return out;
  const auto node = ref<graph_node>::adopt(new tape_node(what, device, how, operands, std::move(numbers)));
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (!out[r]) continue;
    set_producer(*out[r], node);
    out[r]->autograd_metadata->output = static_cast<int>(r);
  }
  return out;
}

// A tape of floating elements of one type, written once: 0 copies its leaf, 1 adds its two.
KILN_INLINE std::shared_ptr<const tape_program> small_program(dtype type, int leaves) {
  static constinit never_destroyed<growing_list<std::shared_ptr<const tape_program>>> kept[16][2];
  auto& at = kept[static_cast<std::size_t>(type)][static_cast<std::size_t>(leaves - 1)].value;
  if (const auto* known = at.find([](const auto&) { return true; })) return *known;
  program p;
  symbol sum{&p, p.push({.code = opcode::leaf, .type = type, .slot = 0})};
  if (leaves == 2)
    sum = {&p, p.push({.code = op_facts_table.add,
                       .type = compute_type(type),
                       .a = static_cast<std::int16_t>(sum.id),
                       .b = static_cast<std::int16_t>(p.push({.code = opcode::leaf, .type = type, .slot = 1}))})};
  p.add_result(sum.id);
  return at.add(std::make_shared<const tape_program>(p, leaves, std::vector<delivered_result>{{.stored = type}}));
}
KILN_INLINE ref<tensor_state> copied(const ref<tensor_state>& x, const device_functions& device) {
  return evaluate_tape(small_program(x->type, 1), device, {.domain = x->sizes}, {x}, {}, {x->sizes})[0];
}

/// A view of a contiguous tensor, or the placement that is its transpose.
class layout_node final : public op_node_of<1> {
 public:
  layout_node(const ref<gradient_record>& of, layout where, const dims& base, bool is_view,
              const device_functions& device)
      : op_node_of(device), where_(std::move(where)), base_(base), is_view_(is_view) {
    input[0] = of;
    stay_walkable();
  }
  void backward(const ref<tensor_state>&) override {}
  void backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>*) override {
    recorder& r = the_recorder();
    r.add(*input[0],
          is_view_ ? r.place(gradients[0], where_, base_, device())
                   : copied(r.view(gradients[0], where_, device()), device()),
          device());
  }

 private:
  layout where_;
  dims base_;
  bool is_view_;
};

// The elements of any tensor in another layout; the change is that of views.hpp.
template <class Change>
ref<tensor_state> changed(const ref<tensor_state>& base, const Change& change, const device_functions& device) {
  const layout l = change(layout{base->sizes, base->strides, 0});
  ref<tensor_state> view = new_state(base->type, l.sizes, l.strides);
  view->data = static_cast<char*>(base->data) + l.offset * static_cast<std::int64_t>(size_of(base->type));
  view->memory = base->memory;
  if (records({base.get()}))
    set_producer(
        *view, new layout_node(base->autograd_metadata, change(layout{base->sizes, contiguous_strides(base->sizes), 0}),
                               base->sizes, true, device));
  return view;
}

KILN_INLINE ref<tensor_state> placed(const ref<tensor_state>& values, const layout& where, const dims& sizes,
                                     const device_functions& device) {
  const ref<tensor_state> out = device.zeros(values->type, sizes, *values->memory);
  if (count(where.sizes) > 0) {
    // Written by the driver, with the strides of the layout.
    ref<tensor_state> target = new_state(out->type, where.sizes, where.strides);
    target->data = static_cast<char*>(out->data) + where.offset * static_cast<std::int64_t>(size_of(out->type));
    target->memory = out->memory;
    small_program(values->type, 1)->run(device, {.domain = where.sizes}, &values, nullptr, &target, *out->memory);
  }
  if (records({values.get()}))
    set_producer(*out, new layout_node(values->autograd_metadata, where, values->sizes, false, device));
  return out;
}

// Sums over the axes along which a tensor of these sizes was broadcast to that of `x`.
KILN_INLINE ref<tensor_state> summed_to(const ref<tensor_state>& x, const dims& sizes, const device_functions& device) {
  if (x->sizes == sizes) return x;
  return placed(x, {x->sizes, common::broadcast_strides(sizes, contiguous_strides(sizes), x->sizes), 0}, sizes, device);
}

ref<tensor_state> multiplied(const ref<tensor_state>& a, const ref<tensor_state>& b, operands::multiplier multiply,
                             const device_functions& device);

// Adds the gradients of a product's operands, given its own: dA = dP B^T, dB = A^T dP, summed over broadcast batches.
// 1-D operands are a row and a column. An operand may be null where the gradient of the other is not wanted.
KILN_INLINE void add_product_gradients(const ref<tensor_state>& a, const dims& a_sizes, const ref<tensor_state>& b,
                                       const dims& b_sizes, const ref<tensor_state>& gradient,
                                       operands::multiplier multiply, const ref<gradient_record>& left,
                                       const ref<gradient_record>& right, const device_functions& device) {
  const bool row = a_sizes.rank() == 1, column = b_sizes.rank() == 1;
  auto with_axis = [&](const ref<tensor_state>& x, std::int64_t axis) {
    return changed(
        x, [axis](const layout& l) { return unsqueezed(l, axis); }, device);
  };
  auto turned = [&](const ref<tensor_state>& x) {
    return changed(
        x, [](const layout& l) { return transposed(l, -1, -2); }, device);
  };
  auto without_axis = [&](const ref<tensor_state>& x, std::int64_t axis) {
    return copied(changed(
                      x, [axis](const layout& l) { return selected(l, axis, 0); }, device),
                  device);
  };
  ref<tensor_state> g = gradient;
  if (row) g = with_axis(g, g->sizes.rank() - (column ? 0 : 1));
  if (column) g = with_axis(g, g->sizes.rank());
  if (left) {
    const ref<tensor_state> full = multiplied(g, turned(column ? with_axis(b, 1) : b), multiply, device);
    const ref<tensor_state> da =
        row ? without_axis(summed_to(full, {1, a_sizes[0]}, device), 0) : summed_to(full, a_sizes, device);
    the_recorder().add(*left, da, device);
  }
  if (right) {
    const ref<tensor_state> full = multiplied(turned(row ? with_axis(a, 0) : a), g, multiply, device);
    const ref<tensor_state> db =
        column ? without_axis(summed_to(full, {b_sizes[0], 1}, device), 1) : summed_to(full, b_sizes, device);
    the_recorder().add(*right, db, device);
  }
}

/// A product of two tensors.
class product_node final : public op_node_of<2, 2> {
 public:
  product_node(const tensor_state& a, const tensor_state& b, operands::multiplier multiply,
               const device_functions& device)
      : op_node_of(device), multiply_(multiply) {
    input[0] = a.autograd_metadata, input[1] = b.autograd_metadata;
    saved[0].sizes = a.sizes, saved[1].sizes = b.sizes;
    // What the pass that makes this node does not ask for, one through it may.
    if (input[1]) saved[0].save(a);
    if (input[0]) saved[1].save(b);
  }
  /// Of operands that were saved before; one that no gradient asks for has sizes only.
  product_node(const saved_value& a, const saved_value& b, const ref<gradient_record>& left,
               const ref<gradient_record>& right, operands::multiplier multiply, const device_functions& device)
      : op_node_of(device), multiply_(multiply) {
    input[0] = left, input[1] = right;
    saved[0] = a, saved[1] = b;
  }
  void backward(const ref<tensor_state>&) override {}
  void backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>*) override {
    check_saved(*gradients[0]->memory);
    const ref<gradient_record> none;
    add_product_gradients(saved[0].memory ? remembered(saved[0], input[0]) : nullptr, saved[0].sizes,
                          saved[1].memory ? remembered(saved[1], input[1]) : nullptr, saved[1].sizes, gradients[0],
                          multiply_, wants(0) ? input[0] : none, wants(1) ? input[1] : none, device());
  }

 private:
  operands::multiplier multiply_;
};

KILN_INLINE ref<tensor_state> multiplied(const ref<tensor_state>& a, const ref<tensor_state>& b,
                                         operands::multiplier multiply, const device_functions& device) {
  ref<tensor_state> out = device.new_tensor(a->type, product_sizes(a->sizes, b->sizes), *a->memory);
  multiply(*a, *b, *out, {});
  if (records({a.get(), b.get()})) set_producer(*out, new product_node(*a, *b, multiply, device));
  return out;
}

// The gradient tapes of expressions with the results that were wanted: the 256 last asked for.
KILN_INLINE std::shared_ptr<const tape_program> gradient_program_of(const recorded_expression& e,
                                                                    const std::vector<bool>& wanted) {
  using key = std::pair<const instruction*, std::vector<bool>>;
  static constinit never_destroyed<recently_used<key, tape_program, 256>> known;
  if (auto found = known.value.find({e.gradient.code, wanted})) return found;
  program all, needed;
  for (int i = 0; i < e.gradient.size; ++i) all.push(e.gradient[i]);
  std::vector<delivered_result> results;
  for (int r = 0; r < e.slots; ++r) {
    all.add_result(wanted[static_cast<std::size_t>(r)] ? e.gradient.results[r] : -1);
    results.push_back({.stored = e.types[r]});
  }
  keep_needed(all, needed);
  auto made = std::make_shared<const tape_program>(needed, e.slots + 2, std::move(results));
  known.value.keep({e.gradient.code, wanted}, made);
  return made;
}

class graph_recorder final : public recorder {
 public:
  void expression(const recorded_expression& e, const ref<tensor_state>& gradient,
                  const ref<gradient_record>& output) override {
    auto product_at = [&](int slot) {
      int found = -1;
      for (int p = 0; p < e.products; ++p)
        if (e.product[p].slot == slot) found = p;
      return found;
    };
    auto wants = [&](int i) { return wants_gradient(e.inputs[i]); };
    const ref<gradient_record> none;
    auto wanted_record = [&](int i) { return wants(i) ? e.inputs[i] : none; };
    std::vector<bool> wanted;
    std::vector<ref<tensor_state>> operands;
    for (int r = 0; r < e.slots; ++r) {
      const int p = product_at(r);
      wanted.push_back(e.shared[r] == r && (p < 0 ? wants(r) : wants(e.slots + 2 * p) || wants(e.slots + 2 * p + 1)));
      ref<tensor_state> value;
      if (e.value[r].memory) {
        value = remembered(e.value[r], p < 0 ? e.inputs[r] : none);
        if (p >= 0 && grad_enabled()) {
          const ref<gradient_record>&left = e.inputs[e.slots + 2 * p], &right = e.inputs[e.slots + 2 * p + 1];
          if (left || right)
            set_producer(*value, new product_node(*e.product[p].left, *e.product[p].right, left, right,
                                                  e.product[p].multiply, *e.device));
        }
      }
      operands.push_back(std::move(value));
    }
    operands.push_back(gradient);
    operands.push_back(e.value[e.slots + 1].memory ? remembered(e.value[e.slots + 1], output) : nullptr);
    const auto made = evaluate_tape(gradient_program_of(e, wanted), *e.device, e.how, std::move(operands),
                                    {e.number, e.number + e.numbers}, {e.sizes, e.sizes + e.slots});
    for (int r = 0; r < e.slots; ++r) {
      if (!wanted[static_cast<std::size_t>(r)]) continue;
      ref<tensor_state> own = made[static_cast<std::size_t>(r)];
      if (!own) own = e.device->zeros(e.types[r], e.sizes[r], *gradient->memory);
      const int p = product_at(r);
      if (p < 0) {
        add(*e.inputs[r], own, *e.device);
        continue;
      }
      const saved_product& product = e.product[p];
      const int left = e.slots + 2 * p, right = left + 1;
      add_product_gradients(
          product.left->memory ? remembered(*product.left, e.inputs[left]) : nullptr, product.left->sizes,
          product.right->memory ? remembered(*product.right, e.inputs[right]) : nullptr, product.right->sizes, own,
          product.multiply, wanted_record(left), wanted_record(right), *e.device);
    }
  }
  ref<tensor_state> view(const ref<tensor_state>& base, const layout& where, const device_functions& device) override {
    return changed(
        base,
        [&](const layout& l) {
          return layout{where.sizes, where.strides, where.offset + l.offset};
        },
        device);
  }
  ref<tensor_state> place(const ref<tensor_state>& values, const layout& where, const dims& sizes,
                          const device_functions& device) override {
    return placed(values, where, sizes, device);
  }
  ref<tensor_state> copy(const ref<tensor_state>& values, const device_functions& device) override {
    return copied(values, device);
  }
  void add(gradient_record& to, const ref<tensor_state>& gradient, const device_functions& device) override {
    ref<tensor_state>& so_far = arriving_gradient(to);
    if (!so_far) {
      so_far = gradient->contiguous ? gradient : copied(gradient, device);
    } else if (grad_enabled()) {
      so_far =
          evaluate_tape(small_program(to.type, 2), device, {.domain = to.sizes}, {so_far, gradient}, {}, {to.sizes})[0];
    } else {
      const gradient_target into(to, device, *gradient->memory);
      const ref<tensor_state> both[] = {into.tensor, gradient};
      small_program(to.type, 2)->run(device, {.domain = to.sizes}, both, nullptr, &into.tensor, *gradient->memory);
    }
  }
};

#ifdef KILN_COMPILED
recorder& the_recorder() {
  static graph_recorder only;
  return only;
}
#else
inline graph_recorder only_recorder;
inline const bool recorder_is_installed = (installed_recorder = &only_recorder, true);
#endif

}  // namespace kiln::detail
