// SPDX-License-Identifier: BSL-1.0
// The definitions of run.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <kiln/core/few.hpp>
#include <kiln/tensor/block_epilogue.hpp>
#include <kiln/tensor/run.hpp>
#include <kiln/tensor/run_at_once.hpp>
#include <kiln/tensor/view_metadata.hpp>

namespace kiln::detail {

KILN_INLINE const dims& broadcast_leaves(const tensor_state* const* leaf, int leaves, dims& room) {
  const dims* sizes = &leaf[0]->sizes;
  for (int i = 1; i < leaves; ++i) {
    const dims& more = leaf[i]->sizes;
    if (more.rank() == 0 || more == *sizes) continue;
    if (sizes != &room) sizes = std::construct_at(&room, *sizes);
    broadcast_into(room, more);
  }
  return *sizes;
}

KILN_INLINE const dims& sizes_of_map(const expression_facts& f, const tensor_state* const* leaf, const void* expression,
                                     dims& room) {
  try {
    return broadcast_leaves(leaf, f.leaves, room);
  } catch (const shape_error&) {
    f.name_mismatch(expression);
    throw;
  }
}

KILN_INLINE void check_unchanged(const tensor_state& leaf, const moment& wanted, int position) {
  if (wanted.has_passed(*leaf.memory))
    throw graph_error(
        message("evaluate: tensor ", position, " of the expression, of shape ", leaf.sizes,
                ", was changed in place after the expression was written and before it was evaluated: write "
                "auto y = (...).eval() where its old values are meant, or write the expression after the change"));
}

KILN_INLINE dims row_value_strides(const tensor_state& t, const dims& domain, std::uint32_t axes, bool keepdim) {
  if (keepdim) return common::broadcast_strides(t.sizes, t.strides, domain);
  dims strides = dims::filled(domain.rank(), 0);
  int k = 0;
  for (int i = 0; i < domain.rank(); ++i)
    if (!(axes >> i & 1)) strides[i] = t.strides[k++];
  return strides;
}

KILN_INLINE common::operand_view operand_over(const tensor_state& t, const dims& domain) {
  return {t.data, common::broadcast_strides(t.sizes, t.strides, domain), size_of(t.type)};
}

KILN_INLINE common::result_view result_over(const tensor_state& t, const evaluation& how) {
  dims strides = how.reduction_rooted ? row_value_strides(t, how.domain, how.axes, how.keepdim)
                                      : common::broadcast_strides(t.sizes, t.strides, how.domain);
  // A stride of 0 says that the result is a sum over the axis, which would be written, 0, though nothing is there.
  if (holds_nothing(t.sizes))
    for (int i = 0; i < strides.rank(); ++i)
      if (!(how.reduction_rooted && (how.axes >> i & 1))) strides[i] = std::max<std::int64_t>(strides[i], 1);
  return {t.data, strides, t.type, false};
}

KILN_INLINE bool shares_as_assumed(const operands& c, const std::int16_t* leaf, int leaves, const std::int16_t* number,
                                   int numbers) {
  auto one = [](const tensor_state* a, const tensor_state* b) {
    return a == b || (a && b && a->autograd_metadata == b->autograd_metadata && same_view(*a, *b));
  };
  for (int i = 0; i < leaves; ++i) {
    const int j = leaf[i];
    if (i == j) continue;
    if (!one(c.leaf[i], c.leaf[j])) return false;
    // Products are not computed yet: they are one if their operands are.
    if (!c.leaf[i] && !(one(c.product_left[i], c.product_left[j]) && one(c.product_right[i], c.product_right[j])))
      return false;
  }
  for (int i = 0; i < numbers; ++i)
    if (c.number[i] != c.number[number[i]]) return false;
  return true;
}

KILN_INLINE void run_program(const runnable& f, const operands& c, const evaluation& how, tensor_state& out,
                             common::operand_view* in) {
  for (int i = 0; i < f.program().slots; ++i) {
    const tensor_state& leaf = *c.leaf[i];
    f.device->check_operand(*leaf.memory, *out.memory);
    // Made where it stays: a copy would wait for the strides to be written.
    ::new (static_cast<void*>(in + i)) common::operand_view(operand_over(leaf, how.domain));
  }
  common::result_view result = result_over(out, how);
  common::task job{.program = &f.program(),
                   .domain = how.domain,
                   .reduced_axes = how.axes,
                   .in = in,
                   .out = &result,
                   .scalars = c.number};
  f.run(job, *out.memory);
}

KILN_INLINE bool reduce_at_once(const runnable& f, int leaves, const operands& c, const evaluation& how,
                                const tensor_state& out) {
  if (!f.device->on_host || !how.reduction_rooted || how.axes + 1 != 1u << how.domain.rank()) return false;
  const cpu::compiled& program = static_cast<const cpu::compiled&>(f.program());
  const std::int64_t total = count(how.domain);
  if (!runs_at_once(program, total) || total > program.pass_length || program.kept) return false;
  call_at_once call(total);
  if (!call.reads_leaves(c, leaves)) return false;
  std::array<std::uint64_t, common::max_slots> found, values;
  std::array<const void*, common::max_slots> finished;
  for (int r = 0; r < program.reductions; ++r) found[static_cast<std::size_t>(r)] = program.reduced[r].identity;
  cpu::strip s = call.strip(program, c.number);
  s.rows = found.data();
  s.partial = found.data();
  for (; s.pass < program.passes; ++s.pass) program.pass[s.pass].run(s);
  for (int r = 0; r < program.reductions; ++r) {
    const std::size_t i = static_cast<std::size_t>(r);
    cpu::put_bits(&values[i], program.reduced[r].type, found[i]);
    finished[i] = &values[i];
  }
  void* to = out.data;
  const bool add = false;
  program.rows(
      {.out = &to, .add = &add, .scalars = c.number, .finished = finished.data(), .count = 1, .program = &program});
  return true;
}

// The short way where there is one.
KILN_INLINE void run_values(const expression_facts& f, const operands& c, const evaluation& how, tensor_state& out,
                            common::operand_view* in) {
  if (f.reduce_at_once ? f.reduce_at_once(*f.values, f.leaves, c, how, out)
                       : run_at_once(*f.values, f.leaves, c, out, count(how.domain), false))
    return;
  run_program(*f.values, c, how, out, in);
}

// The functions of a history that a leaf or an operand of a product has; null if none has one.
KILN_INLINE const history_functions* any_history(const expression_facts& f, const operands& c) {
  const auto of = [](const tensor_state* t) {
    return t && t->autograd_metadata ? t->autograd_metadata->functions : nullptr;
  };
  for (int i = 0; i < f.leaves; ++i) {
    if (const auto* found = of(c.leaf[i])) return found;
    if (!f.products) continue;
    if (const auto* found = of(c.product_left[i])) return found;
    if (const auto* found = of(c.product_right[i])) return found;
  }
  return nullptr;
}

// A result that fits the first-level cache needs no blocks: the kernel runs over all of it afterwards.
inline constexpr std::int64_t block_bytes = 32768;

// The first product of an expression that is this one: of the same operands, computed the same way.
KILN_INLINE int first_equal_product(const operands& c, int i) {
  auto one = [](const tensor_state* a, const tensor_state* b) {
    return a == b || (a->autograd_metadata == b->autograd_metadata && a->type == b->type && same_view(*a, *b));
  };
  for (int j = 0; j < i; ++j)
    if (c.product_left[j] && c.multiply[j] == c.multiply[i] && one(c.product_left[j], c.product_left[i]) &&
        one(c.product_right[j], c.product_right[i]))
      return j;
  return i;
}

// Computes the products of an expression, each once however often it stands there; the one around which it is an
// elementwise epilogue is finished block by block into `out`. Returns true if that has been done.
KILN_INLINE bool compute_products(const expression_facts& f, const gradient_facts* gradients, const operands& c,
                                  ref<tensor_state>* held, const evaluation& how, const ref<tensor_state>& out) {
  const device_functions& device = *f.values->device;
  for (int i = 0; i < f.leaves; ++i) {
    if (!c.product_left[i]) continue;
    if (const int first = first_equal_product(c, i); first < i) {
      c.leaf[i] = c.leaf[first];
      continue;
    }
    const tensor_state &a = *c.product_left[i], &b = *c.product_right[i];
    const dims sizes = product_sizes(a.sizes, b.sizes);
    const bool same = sizes == how.domain && a.type == out->type;
    // The result's own memory holds the product until it is overwritten in place, unless a backward pass wants both.
    const bool apart = !same || f.products > 1 || f.rows > 0 || (!f.is_product && gradients && gradients->reads[i]);
    tensor_state* p = out.get();
    if (apart) p = (*held++ = device.new_tensor(a.type, sizes, *out->memory)).get();
    c.leaf[i] = p;
    if (f.fused_product && !apart && f.fused_product(c.leaf, a, b, *out)) return true;
    if (device.on_host && !f.is_product && f.values->program().reductions == 0 && f.products == 1 && f.rows == 0 &&
        sizes == how.domain && a.sizes.rank() > 1 && b.sizes.rank() > 1 && sizes.back() >= 16 &&
        count(sizes) * static_cast<std::int64_t>(size_of(a.type)) > block_bytes) {
      block_epilogue epilogue(static_cast<const cpu::compiled&>(f.values->program()), c, how.domain, *out);
      if (epilogue.suits()) {
        c.multiply[i](a, b, *p, epilogue.function());
        return true;
      }
    }
    c.multiply[i](a, b, *p, {});
    if (f.is_product) return true;
  }
  return false;
}

KILN_INLINE void run_with_products(const expression_facts& f, const recorded_gradients& gradients, const operands& c,
                                   const evaluation& how, const ref<tensor_state>& out, common::operand_view* in) {
  few<ref<tensor_state>, common::max_slots> held(f.products);
  if (!compute_products(f, gradients.facts, c, held.data(), how, out)) run_values(f, c, how, *out, in);
  if (gradients.facts) gradients.history->record(f, *gradients.facts, c, how, out, false);
}
// Computes into `out`, and records.
KILN_INLINE void run_into(const expression_facts& f, const recorded_gradients& gradients, const operands& c,
                          const evaluation& how, const ref<tensor_state>& out, bool in_place,
                          common::operand_view* in) {
  if (f.run_with_products) return f.run_with_products(f, gradients, c, how, out, in);
  run_values(f, c, how, *out, in);
  if (gradients.facts) gradients.history->record(f, *gradients.facts, c, how, out, in_place);
}

KILN_INLINE reached_bytes::reached_bytes(const tensor_state& t)
    : begin(reinterpret_cast<std::uintptr_t>(t.data)), end(begin) {
  if (count(t.sizes) == 0) return;
  for (int i = 0; i < t.sizes.rank(); ++i) {
    const std::int64_t way = (t.sizes[i] - 1) * t.strides[i] * static_cast<std::int64_t>(size_of(t.type));
    (way < 0 ? begin : end) += static_cast<std::uintptr_t>(way);
  }
  end += size_of(t.type);
}

// Whether two tensors with memory of their own have elements at the same addresses.
KILN_INLINE bool overlap(const tensor_state& a, const tensor_state& b) {
  return (a.memory->foreign || b.memory->foreign) && reached_bytes(a).meets(reached_bytes(b));
}

// Whether an operand lies, as a blob, in memory that the result would be written to.
KILN_INLINE bool reads_memory_of(const expression_facts& f, const operands& c, const tensor_state& result) {
  for (int i = 0; i < f.leaves; ++i) {
    if (const tensor_state* leaf = c.leaf[i]) {
      if (leaf->memory->foreign && overlap(*leaf, result)) return true;
    } else if (f.products && (overlap(*c.product_left[i], result) || overlap(*c.product_right[i], result))) {
      return true;
    }
  }
  return false;
}

// What `place` is, if it may be taken and serves, else a new tensor, which `made` then is.
KILN_INLINE const ref<tensor_state>& result_of(const expression_facts& f, const operands& c, const dims& sizes,
                                               const ref<tensor_state>& place, bool reuse, ref<tensor_state>& made) {
  const device_functions& device = *f.values->device;
  const storage& near = *(c.leaf[0] ? c.leaf[0] : c.product_left[0])->memory;
  if (!reuse || place->sizes != sizes || !(device.on_host || device.same_device(*place->memory, near)) ||
      reads_memory_of(f, c, *place))
    return made = device.new_tensor(f.type, sizes, near);
  place->autograd_metadata = nullptr;
  place->made_without_grad = false;
  return place;
}

KILN_INLINE void compute_planned(const expression_facts& f, const gradient_facts* gradients, const operands& c,
                                 const evaluation& how, const dims& sizes, ref<tensor_state>& place, bool reuse,
                                 common::operand_view* in) {
  ref<tensor_state> made;
  const ref<tensor_state>& out = result_of(f, c, sizes, place, reuse, made);
  const history_functions* const history = gradients && grad_enabled() ? any_history(f, c) : nullptr;
  run_into(f, {history ? gradients : nullptr, history}, c, how, out, false, in);
  if (made) place = std::move(made);
}

KILN_INLINE void compute_map(const expression_facts& f, const gradient_facts* gradients, const operands& c,
                             const void* expression, ref<tensor_state>& place, bool reuse, common::operand_view* in) {
  sizes_workspace room;
  const dims& sizes = sizes_of_map(f, c.leaf, expression, room.sizes);
  ref<tensor_state> made;
  const ref<tensor_state>& out = result_of(f, c, sizes, place, reuse, made);
  const history_functions* const history = gradients && grad_enabled() ? any_history(f, c) : nullptr;
  if (history)
    run_into(f, {gradients, history}, c, {.domain = sizes}, out, false, in);
  else if (!run_at_once(*f.values, f.leaves, c, *out, count(sizes), false))
    run_program(*f.values, c, {.domain = sizes}, *out, in);
  if (made) place = std::move(made);
}

KILN_INLINE const history_functions* check_in_place(const expression_facts& f, const operands& c, const dims& sizes,
                                                    tensor_state& target) {
  if (sizes != target.sizes)
    throw shape_error(message("in place: the result has shape ", sizes, " but the tensor has ", target.sizes,
                              ": an in-place operation cannot change the shape (write a = a + b instead)"));
  for (int i = 0; i < sizes.rank(); ++i)
    if (target.strides[i] == 0 && sizes[i] > 1)
      throw shape_error(message("in place: along axis ", i, " of shape ", sizes,
                                " all elements are one and the same, as expand() makes them: "
                                "clone() the tensor first"));
  const auto recorded = [&] { return grad_enabled() ? any_history(f, c) : nullptr; };
  const history_functions* history = recorded();
  if (grad_enabled() && shows_leaf(target))
    throw graph_error(message("in place: the tensor of shape ", target.sizes,
                              " is a view of a leaf that requires grad, which stays what it is while a graph is "
                              "recorded: use no_grad, or change a copy of the leaf (w * 1.0f)"));
  if (target.autograd_metadata && target.autograd_metadata->leaf) {
    // Updating a parameter is the end of its old value, not a step of a computation.
    ref<gradient_record> own = std::exchange(target.autograd_metadata, nullptr);
    history = recorded();
    target.autograd_metadata = std::move(own);
    if (history)
      throw graph_error(
          "in place: the tensor is a leaf that requires grad and the new value depends on others that do: "
          "use no_grad, or detach() the operands");
  }
  if (history && target.made_without_grad)
    throw graph_error(message("in place: the tensor of shape ", target.sizes,
                              " is a view that was made while no_grad was on, so what it is a view of would not know "
                              "that its elements have gradients now: take the view again, or use cat or stack"));
  return history;
}

KILN_INLINE void expect_copyable(const dims& values, const dims& sizes) {
  if (!broadcasts_to(values, sizes))
    throw shape_error(message("in place: values of shape ", values, " do not broadcast to ", sizes,
                              ", the shape of the elements they go to: reshape or select them first"));
}

KILN_INLINE bool may_overwrite(const expression_facts& f, const operands& c, const tensor_state& target) {
  if (f.products > 0 || f.rows > 0) return false;
  for (int i = 0; i < f.leaves; ++i) {
    const tensor_state& leaf = *c.leaf[i];
    if (leaf.memory == target.memory ? !same_view(leaf, target) : overlap(leaf, target)) return false;
  }
  return true;
}

// What a backward pass of the expression will read and the expression overwrites: the leaves there become a copy of it.
[[gnu::cold]] KILN_INLINE void keep_overwritten(const runnable& copy, const expression_facts& f,
                                                const gradient_facts& gradients, const operands& c,
                                                tensor_state& target, ref<tensor_state>* kept) {
  const auto overwritten = [&](int i) { return c.leaf[i]->memory == target.memory; };
  bool read = false;
  for (int i = 0; i < f.leaves; ++i) read |= gradients.reads[i] && overwritten(i);
  if (!read) return;
  const ref<tensor_state> old = copy.device->new_tensor(target.type, target.sizes, *target.memory);
  tensor_state* leaf = &target;
  common::operand_view in;
  run_program(copy, {.leaf = &leaf}, {.domain = target.sizes}, *old, &in);
  for (int i = 0; i < f.leaves; ++i) {
    tensor_state* const was = c.leaf[i];
    if (!overwritten(i)) continue;
    kept[i] = new_state(old->type, old->sizes, old->strides);
    kept[i]->data = old->data;
    kept[i]->memory = old->memory;
    kept[i]->autograd_metadata = was->autograd_metadata;
    for (int j = i; j < f.leaves; ++j)
      if (c.leaf[j] == was) c.leaf[j] = kept[i].get();
  }
}

KILN_INLINE void overwrite(const runnable& copy, const expression_facts& f, const gradient_facts* gradients,
                           const operands& c, const dims& sizes, const ref<tensor_state>& target,
                           const history_functions* history, common::operand_view* in) {
  few<ref<tensor_state>, common::max_slots> kept(history && gradients ? f.leaves : 0);
  if (history && gradients) keep_overwritten(copy, f, *gradients, c, *target, kept.data());
  before_overwriting(*target->memory);
  // Overwriting invalidates what backward passes recorded of the old value.
  if (!history) ++target->memory->version;
  run_into(f, {history ? gradients : nullptr, history}, c, {.domain = sizes}, target, true, in);
  if (history) history->changed(*target);
}

KILN_INLINE void overwrite_with(const runnable& copy, const ref<tensor_state>& values, tensor_state& target,
                                const history_functions* history) {
  before_overwriting(*target.memory);
  ++target.memory->version;
  tensor_state* leaf = values.get();
  common::operand_view in;
  run_program(copy, {.leaf = &leaf}, {.domain = target.sizes}, target, &in);
  if (!history) return;
  target.autograd_metadata = values->autograd_metadata;
  history->changed(target);
}

}  // namespace kiln::detail

#if defined(KILN_INTERPRET) || defined(KILN_COMPILED)
KILN_INLINE const kiln::common::program_view& kiln::executor<kiln::Cpu>::interpreted(interpreted_program& kept,
                                                                                     tape_view t, const dtype* stores,
                                                                                     bool reduction_rooted) {
  if (const auto* made = kept.value.find([](const auto&) { return true; })) return **made;
  return *kept.value.add(cpu::drivers::interpret(t, stores, reduction_rooted));
}
#endif
