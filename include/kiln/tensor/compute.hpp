// SPDX-License-Identifier: BSL-1.0
// The steps of one evaluation: choose what fits one kernel, compute products, run, record for a backward pass.
// `compute` makes a new tensor (or reuses one nobody else can see); `compute_in_place` overwrites one.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include <kiln/tensor/evaluate.hpp>
#include <kiln/tensor/product_epilogue.hpp>

namespace kiln::detail {

/// Defined by autograd: makes `out` remember how it was computed. `in_place`: it was a leaf of E too, so what backward
/// passes expect to find in its memory is gone.
template <class E, class C>
void record(const C& leaves, const evaluation& how, const ref<tensor_state>& out, bool in_place);

/// Whether a backward pass of E reads the value of the leaf in this slot.
template <class E>
constexpr bool gradient_reads(int slot) {
  constexpr auto& t = gradient_tape<E>;
  for (int i = 0; i < t.size(); ++i)
    if (t[i].code == opcode::leaf && t[i].slot == slot) return true;
  return false;
}

template <class E>
inline constexpr bool is_product = false;
template <class A, class B>
inline constexpr bool is_product<product<A, B>> = true;

/// Whether a leaf or an operand of a product has something to do with gradients.
template <class E, class C>
bool any_history(const C& c) {
  bool any = false;
  for (int i = 0; i < census<E>::leaves; ++i) {
    const std::size_t k = static_cast<std::size_t>(i);
    if (c.leaf[k]) any |= static_cast<bool>(c.leaf[k]->history);
    if constexpr (census<E>::products > 0)
      if (c.product_left[k]) any |= c.product_left[k]->history || c.product_right[k]->history;
  }
  return any;
}

/// Memory of an operand: the result goes to the same device.
template <class E, class C>
const storage* first_memory(const C& c) {
  if constexpr (census<E>::products > 0)
    if (!c.leaf[0]) return c.product_left[0]->memory.get();
  return c.leaf[0]->memory.get();
}

/// Applies the kernel of E to blocks of a product as they are finished: `values` holds the product, `out` gets the
/// result (they may be the same memory).
template <class E>
class block_epilogue {
 public:
  block_epilogue(const collected<E>& c, const dims& domain, tensor_state& out)
      : c_(c),
        out_(static_cast<char*>(out.data)),
        size_(size_of(out.type)),
        rank_(domain.rank()),
        columns_(domain.back()),
        domain_(domain) {
    for (int k = 0; k < leaves; ++k) {
      const tensor_state& leaf = *c.leaf[static_cast<std::size_t>(k)];
      strides_[static_cast<std::size_t>(k)] = cpu::broadcast_strides(leaf.sizes, leaf.strides, domain);
    }
  }
  /// Rows of the result and leaves that are contiguous or constant along them.
  bool suits() const {
    if (cpu::compiler<value_program<E>>::program.draw_count > 0) return false;
    for (int k = 0; k < leaves; ++k) {
      const std::int64_t s = strides_[static_cast<std::size_t>(k)].back();
      if (s != 0 && s != 1) return false;
    }
    return true;
  }
  block_function function() {
    return {[](void* self, std::int64_t batch, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
              static_cast<const block_epilogue*>(self)->apply(batch, r0, r1, c0, c1);
            },
            this};
  }

 private:
  void apply(std::int64_t batch, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) const {
    static constexpr const cpu::compiled& program = cpu::compiler<value_program<E>>::program;
    std::array<const void*, static_cast<std::size_t>(leaves)> in;
    std::array<std::int64_t, static_cast<std::size_t>(leaves)> step;
    dims at = dims::filled(rank_, 0);
    for (int d = rank_ - 3; d >= 0; --d) {
      at[d] = batch % domain_[d];
      batch /= domain_[d];
    }
    at[rank_ - 2] = r0;
    std::int64_t place = 0;
    for (int d = 0; d + 1 < rank_; ++d) place = place * domain_[d] + at[d];
    char* to = out_ + (place * columns_ + c0) * static_cast<std::int64_t>(size_);
    std::array<std::int64_t, static_cast<std::size_t>(leaves)> row_bytes;
    for (int k = 0; k < leaves; ++k) {
      const std::size_t i = static_cast<std::size_t>(k);
      const tensor_state& leaf = *c_.leaf[i];
      const std::int64_t size = static_cast<std::int64_t>(size_of(leaf.type));
      std::int64_t offset = c0 * strides_[i].back();
      for (int d = 0; d + 1 < rank_; ++d) offset += at[d] * strides_[i][d];
      in[i] = static_cast<const char*>(leaf.data) + offset * size;
      step[i] = strides_[i].back();
      row_bytes[i] = strides_[i][rank_ - 2] * size;
    }
    const bool add = false;
    void* out = to;
    const cpu::strip row{
        .in = in.data(), .step = step.data(), .out = &out, .add = &add, .scalars = c_.number.data(), .count = c1 - c0};
    for (std::int64_t r = r0; r < r1; ++r) {
      program.map(row);
      out = to += columns_ * static_cast<std::int64_t>(size_);
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<const char*>(in[i]) + row_bytes[i];
    }
  }

  static constexpr int leaves = census<E>::leaves;
  const collected<E>& c_;
  char* out_;
  std::size_t size_;
  int rank_;
  std::int64_t columns_;
  dims domain_;
  std::array<dims, static_cast<std::size_t>(leaves)> strides_;
};

// A result that fits the first-level cache needs no blocks: the kernel runs over all of it afterwards.
inline constexpr std::int64_t block_bytes = 32768;

/// Computes the products of E; the one around which E is an elementwise epilogue is finished block by block into
/// `out`. Returns true if that has been done.
template <class E, class C, class Held>
bool compute_products(C& c, Held& held, const evaluation& how, const ref<tensor_state>& out, bool recorded) {
  using device = executor<typename E::device_type>;
  int n = 0;
  for (int i = 0; i < census<E>::leaves; ++i) {
    const std::size_t k = static_cast<std::size_t>(i);
    if (!c.product_left[k]) continue;
    const tensor_state &a = *c.product_left[k], &b = *c.product_right[k];
    const dims sizes = product_sizes(a.sizes, b.sizes);
    const bool same = sizes == how.domain && a.type == out->type;
    // The result's own memory holds the product until it is overwritten in place, unless a backward pass wants both.
    const bool apart =
        !same || census<E>::products > 1 || census<E>::rows > 0 || (!is_product<E> && recorded && gradient_reads<E>(i));
    ref<tensor_state> p = apart ? device::new_tensor(a.type, sizes, *out->memory) : out;
    c.leaf[k] = p.get();
    held[static_cast<std::size_t>(n++)] = p;
    bool finished = is_product<E>;
    if constexpr (is_fused_product<E>())
      if (!apart && fused_product<E>(c, a, b, *out)) return true;
    if constexpr (device::on_host && !is_product<E> && census<E>::products == 1 && census<E>::rows == 0) {
      if (sizes == how.domain && a.sizes.rank() > 1 && b.sizes.rank() > 1 && sizes.back() >= 16 &&
          count(sizes) * static_cast<std::int64_t>(size_of(a.type)) > block_bytes) {
        block_epilogue<E> epilogue(c, how.domain, *out);
        if (epilogue.suits()) {
          c.multiply[k](a, b, *p, epilogue.function());
          return true;
        }
      }
    }
    c.multiply[k](a, b, *p, {});
    if (finished) return true;
  }
  return false;
}

template <bool Tracked, class E>
void run_into(const E& e, const evaluation& how, collected<E>& c, const ref<tensor_state>& out, bool recorded,
              bool in_place = false) {
  (void)e;
  // Where no gradient can be asked for, compile no program for it: that is half of the cost of an expression.
  constexpr bool differentiable = Tracked && is_floating(dtype_of<typename E::value_type>);
  if constexpr (census<E>::products > 0) {
    std::array<ref<tensor_state>, static_cast<std::size_t>(census<E>::products)> held;
    if (!compute_products<E>(c, held, how, out, recorded) && !run_at_once<E>(c, *out, count(how.domain)))
      run_kernel<E>(c, how, *out);
    if constexpr (differentiable)
      if (recorded) record<E>(c, how, out, in_place);
  } else {
    if (!run_at_once<E>(c, *out, count(how.domain))) run_kernel<E>(c, how, *out);
    if constexpr (differentiable)
      if (recorded) record<E>(c, how, out, in_place);
  }
}

/// Fills in what the evaluation runs over. False if one kernel cannot do it.
template <class E>
bool plan_evaluation(const E& e, const collected<E>& c, evaluation& how) {
  if constexpr (census<E>::rows == 0) {
    how.domain = shape_of(e);
    return true;
  } else {
    row_request f;
    how.row_root = value_program<E>::row_root;
    f.visit(e, !how.row_root);
    how.domain = f.domain;
    how.axes = f.axes;
    how.keepdim = f.keepdim;
    if (!f.legal) return false;
    if (!how.row_root && !is_row_node<E> && shape_of(e) != f.domain) return false;
    return shares_as_assumed<E>(c);
  }
}

/// The values of an expression in a tensor of their own: `reuse` if it has the right sizes, else a new one. What is not
/// `Tracked` remembers nothing for backward passes.
template <bool Tracked = true, class E>
ref<tensor_state> compute(const E& e, ref<tensor_state> reuse = nullptr) {
  static_assert(census<E>::leaves <= cpu::max_slots - 2,
                "kiln: an expression can hold at most 62 tensors: evaluate a part of it into a Tensor first");
  if constexpr (never_fits<E>) {
    return compute<Tracked>(row_split::unnested(e), std::move(reuse));
  } else {
    collected<E> c(e);
    evaluation how;
    if (!plan_evaluation(e, c, how)) {
      if constexpr (census<E>::rows > 0 && !always_fits<E>)
        return compute<Tracked>(row_split::apart(e), std::move(reuse));
    }
    const dims sizes = result_sizes(e, how);
    const storage& near = *first_memory<E>(c);
    using device = executor<typename E::device_type>;
    ref<tensor_state> out = reuse && reuse->sizes == sizes && device::same_device(*reuse->memory, near)
                                ? std::move(reuse)
                                : device::new_tensor(dtype_of<typename E::value_type>, sizes, near);
    out->history = nullptr;
    run_into<Tracked>(e, how, c, out, Tracked && is_floating(out->type) && grad_enabled() && any_history<E>(c));
    return out;
  }
}

/// Whether a kernel may write `target` while it reads the leaves: they lie elsewhere, or exactly on it.
template <class E, class C>
bool may_overwrite(const C& c, const tensor_state& target) {
  if (census<E>::products > 0 || census<E>::rows > 0) return false;
  for (int i = 0; i < census<E>::leaves; ++i) {
    const tensor_state& leaf = *c.leaf[static_cast<std::size_t>(i)];
    if (leaf.memory == target.memory && !same_view(leaf, target)) return false;
  }
  return true;
}

/// Overwrites `target` with the values of an expression that may read it. Throws shape_error unless the expression has
/// the target's sizes and the target's elements each have a place of their own, graph_error if the expression needs a
/// gradient and the target is a leaf that requires grad, or a part of a tensor that others hold.
template <class E>
void compute_in_place(const E& e, const ref<tensor_state>& target) {
  collected<E> c(e);
  const dims sizes = shape_of(e);
  if (sizes != target->sizes)
    throw shape_error(message("in place: the result has shape ", sizes, " but the tensor has ", target->sizes,
                              ": an in-place operation cannot change the shape (write a = a + b instead)"));
  for (int i = 0; i < sizes.rank(); ++i)
    if (target->strides[i] == 0 && sizes[i] > 1)
      throw shape_error(message("in place: along axis ", i, " of shape ", sizes,
                                " all elements are one and the same, as expand() makes them: "
                                "clone() the tensor first"));
  bool recorded = grad_enabled() && any_history<E>(c);
  if (target->history && target->history->view && grad_enabled())
    throw graph_error(message("in place: the tensor of shape ", target->sizes,
                              " is a view of one that gradients flow to, and that one "
                              "would not know of the change: change it as a whole, clone() the view, or use no_grad"));
  if (target->history && target->history->leaf) {
    // Updating a parameter is the end of its old value, not a step of a computation.
    const ref<gradient_record> own = std::exchange(target->history, nullptr);
    recorded = grad_enabled() && any_history<E>(c);
    target->history = own;
    if (recorded)
      throw graph_error(
          "in place: the tensor is a leaf that requires grad and the new value depends on others that do: "
          "use no_grad, or detach() the operands");
  }
  if (recorded && !target->history && !target->memory.unique() &&
      static_cast<std::size_t>(count(sizes)) * size_of(target->type) < target->memory->bytes)
    throw graph_error(message("in place: the tensor of shape ", sizes,
                              " is a part of a larger one, which would not know that its elements have "
                              "gradients now: make the larger one with cat or stack, or use no_grad"));
  if (!may_overwrite<E>(c, *target)) {
    const ref<tensor_state> values = compute(e);
    ++target->memory->version;
    using T = Tensor<typename E::value_type, typename E::device_type, dynamic>;
    collected<T> copy;
    copy.leaf[0] = values.get();
    run_kernel<T>(copy, {.domain = sizes}, *target);
    if (recorded) target->history = values->history;
    return;
  }
  const evaluation how{.domain = sizes};  // may_overwrite: no reductions, no products
  // Overwriting invalidates what backward passes recorded of the old value, this one's own recording included.
  if (!recorded) {
    ++target->memory->version;
    if (!run_at_once<E>(c, *target, count(sizes))) run_kernel<E>(c, how, *target);
    return;
  }
  run_into<true>(e, how, c, target, true, true);
}

}  // namespace kiln::detail
