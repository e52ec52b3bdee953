// SPDX-License-Identifier: BSL-1.0
// What an evaluated expression leaves behind for backward passes: one node, with the values that its gradient program
// reads. `record` makes it; `expression_node::backward` runs the gradient program, all leaves in one kernel, and
// turns the gradient of each product into products.
#pragma once

#include <array>
#include <cstdint>

#include <kiln/tensor/gradient_target.hpp>
#include <kiln/tensor/saved_value.hpp>
#include <kiln/tensor/tensor.hpp>

namespace kiln {

namespace detail {

template <class E>
struct gradient_program {
  static constexpr const auto& tape = gradient_tape<E>;
  static constexpr bool row_root = false;
  static constexpr auto stores = [] {
    std::array<dtype, static_cast<std::size_t>(tape.result_count())> types{};
    for (int r = 0; r < tape.result_count(); ++r)
      types[static_cast<std::size_t>(r)] =
          tape.result(r) < 0 ? dtype::float32 : compute_type(tape[tape.result(r)].type);
    return types;
  }();
};

/// The operands of a product that is a leaf of the expression.
struct saved_product {
  int slot = -1;
  saved_value left, right;
};

/// Adds to the gradients of a product's operands, where they are wanted, given the product's own.
using product_rule = void (*)(const saved_product&, const tensor_state& gradient, const ref<gradient_record>& left,
                              const ref<gradient_record>& right);

/// The parts of a node whose number depends on the expression.
struct node_parts {
  const runnable* gradients;
  int slots;            ///< leaves of the expression; the gradient is slot `slots`, the result `slots + 1`
  saved_value* values;  ///< slots + 2 of them; those not read by the program are empty
  const std::uint64_t* numbers;
  const std::int16_t* shared;    ///< the slot that stands for each slot
  ref<gradient_record>* inputs;  ///< per slot; of products empty, theirs follow: left, right of each
  saved_product* products;
  int product_count;
  const product_rule* product_rules;
  dims* sizes;  ///< per slot: sizes of the leaf
  dtype* types;
  cpu::operand_view* in;                 ///< room for slots + 2
  cpu::result_view* out;                 ///< room for slots
  ref<tensor_state>* product_gradients;  ///< per product, empty
};

/// Gradients of the operands of a product, given its own: dA = dP B^T and dB = A^T dP, summed over broadcast batches.
template <class T, class Device>
void product_gradient(const saved_product& p, const tensor_state& gradient, const ref<gradient_record>& left,
                      const ref<gradient_record>& right) {
  auto stack = [](const dims& sizes, const dims& strides, bool is_left) {
    tensor_state t;
    t.sizes = sizes;
    t.strides = strides;
    return as_matrices(t, is_left);
  };
  const matrix_stack a = stack(p.left.sizes, p.left.strides, true), b = stack(p.right.sizes, p.right.strides, false);
  // The product's gradient as matrices, with the axes that 1-D operands dropped put back.
  matrix_stack g;
  g.rows = a.rows;
  g.columns = b.columns;
  g.row_stride = b.columns;
  const int batch_axes = gradient.sizes.rank() - (p.left.sizes.rank() > 1) - (p.right.sizes.rank() > 1);
  for (int i = 0; i < batch_axes; ++i) {
    g.batch.push_back(gradient.sizes[i]);
    g.batch_strides.push_back(gradient.strides[i]);
  }
  const T* dp = static_cast<const T*>(gradient.data);
  if (left) {
    const gradient_target to(*left, functions_of<Device>, *gradient.memory);
    executor<Device>::check_operand(*p.right.memory, *gradient.memory);
    const matrix_stack out = stack(to.tensor->sizes, to.tensor->strides, true);
    executor<Device>::template multiply<T>(g, dp, transposed(b), static_cast<const T*>(p.right.data), out,
                                           static_cast<T*>(to.tensor->data), to.add, {}, *gradient.memory);
  }
  if (right) {
    const gradient_target to(*right, functions_of<Device>, *gradient.memory);
    executor<Device>::check_operand(*p.left.memory, *gradient.memory);
    const matrix_stack out = stack(to.tensor->sizes, to.tensor->strides, false);
    // A 1-D right operand is a column: its gradient is written as one, which has the same memory.
    executor<Device>::template multiply<T>(transposed(a), static_cast<const T*>(p.left.data), g, dp, out,
                                           static_cast<T*>(to.tensor->data), to.add, {}, *gradient.memory);
  }
}

/// The rules of the products of an expression, in the order of their slots.
template <class E>
struct product_rule_list {
  std::array<product_rule, static_cast<std::size_t>(census<E>::products) + 1> rules{};
  int n = 0;
  template <class X>
  constexpr void add(std::type_identity<X>) {}
  template <class A, class B>
  constexpr void add(std::type_identity<product<A, B>>) {
    if constexpr (is_floating(dtype_of<typename A::value_type>))
      rules[static_cast<std::size_t>(n)] = &product_gradient<typename A::value_type, typename A::device_type>;
    ++n;
  }
  template <class Op, class... X>
  constexpr void add(std::type_identity<node<Op, X...>>) {
    (add(std::type_identity<X>{}), ...);
  }
  template <class Op, class A>
  constexpr void add(std::type_identity<row_node<Op, A>>) {
    add(std::type_identity<A>{});
  }
};
template <class E>
inline constexpr auto product_rules = [] {
  product_rule_list<E> list;
  list.add(std::type_identity<E>{});
  return list.rules;
}();

void run_gradient(const node_parts& node, const evaluation& how, const ref<tensor_state>& gradient);

template <class E>
class expression_node final : public graph_node {
  static constexpr int slots = census<E>::leaves, products = census<E>::products;

 public:
  template <class C>
  expression_node(const C& c, const evaluation& how, tensor_state& out, bool in_place) : how_(how) {
    inputs = edges_.data();
    input_count = slots + 2 * products;
    int n = 0;
    for (int i = 0; i < slots; ++i) {
      const std::size_t k = static_cast<std::size_t>(i);
      const tensor_state& leaf = *c.leaf[k];
      sizes_[k] = leaf.sizes;
      types_[k] = leaf.type;
      bool is_product_slot = false;
      if constexpr (products > 0) {
        if (c.product_left[k]) {
          is_product_slot = true;
          saved_product& p = products_[static_cast<std::size_t>(n)];
          p.slot = i;
          const tensor_state &a = *c.product_left[k], &b = *c.product_right[k];
          if (b.history) p.left.save(a);
          if (a.history) p.right.save(b);
          // The sizes are needed even where the value is not.
          p.left.sizes = a.sizes, p.left.strides = a.strides;
          p.right.sizes = b.sizes, p.right.strides = b.strides;
          edges_[static_cast<std::size_t>(slots + 2 * n)] = a.history;
          edges_[static_cast<std::size_t>(slots + 2 * n + 1)] = b.history;
          ++n;
        }
      }
      if (!is_product_slot) edges_[k] = leaf.history;
      if constexpr (reads_any)
        if (reads[k]) values_[k].save(leaf);
    }
    for (int i = 0; i < census<E>::scalars; ++i)
      numbers_[static_cast<std::size_t>(i)] = c.number[static_cast<std::size_t>(i)];
    if (in_place) ++out.memory->version;
    if constexpr (gradient_reads<E>(slots + 1)) values_[static_cast<std::size_t>(slots + 1)].save(out);
  }

  void backward(const ref<tensor_state>& gradient) override {
    std::array<cpu::operand_view, static_cast<std::size_t>(slots) + 2> in;
    std::array<cpu::result_view, static_cast<std::size_t>(slots) + 1> out;
    std::array<ref<tensor_state>, static_cast<std::size_t>(products) + 1> product_gradients;
    run_gradient({&runnable_of<gradient_program<E>, typename E::device_type>, slots, values_.data(), numbers_.data(),
                  shared_leaves<E>.leaf.data(), edges_.data(), products_.data(), products, product_rules<E>.data(),
                  sizes_.data(), types_.data(), in.data(), out.data(), product_gradients.data()},
                 how_, gradient);
  }
  void release() override {
    for (auto& v : values_) v.memory = nullptr;
    for (auto& p : products_) p.left.memory = nullptr, p.right.memory = nullptr;
    for (auto& e : edges_) e = nullptr;
    freed = true;
  }

 private:
  static constexpr auto reads = [] {
    std::array<bool, static_cast<std::size_t>(slots) + 1> r{};
    for (int i = 0; i < slots; ++i) r[static_cast<std::size_t>(i)] = gradient_reads<E>(i);
    return r;
  }();
  static constexpr bool reads_any = true;
  evaluation how_;
  std::array<saved_value, static_cast<std::size_t>(slots) + 2> values_;
  std::array<std::uint64_t, static_cast<std::size_t>(census<E>::scalars) + 1> numbers_;
  std::array<ref<gradient_record>, static_cast<std::size_t>(slots + 2 * products) + 1> edges_;
  std::array<saved_product, static_cast<std::size_t>(products) + 1> products_;
  std::array<dims, static_cast<std::size_t>(slots) + 1> sizes_;
  std::array<dtype, static_cast<std::size_t>(slots) + 1> types_;
};

template <class E, class C>
void record(const C& c, const evaluation& how, const ref<tensor_state>& out, bool in_place) {
  auto node = ref<graph_node>::adopt(new expression_node<E>(c, how, *out, in_place));
  out->history = new_record(out->type, out->sizes);
  out->history->producer = std::move(node);
}

inline void run_gradient(const node_parts& node, const evaluation& how, const ref<tensor_state>& gradient) {
  const cpu::compiled& program = *node.gradients->program;
  const device_functions& device = *node.gradients->device;
  const storage& near = *gradient->memory;
  for (int i = 0; i < node.slots + 2; ++i)
    if (node.values[i].memory) node.values[i].check();
  for (int i = 0; i < node.product_count; ++i) {
    if (node.products[i].left.memory) node.products[i].left.check();
    if (node.products[i].right.memory) node.products[i].right.check();
  }
  auto row_strides = [&](const tensor_state& t) {
    return how.row_root ? row_value_strides(t, how.domain, how.axes, how.keepdim)
                        : cpu::broadcast_strides(t.sizes, t.strides, how.domain);
  };
  for (int i = 0; i < program.slots; ++i) {
    cpu::operand_view& in = node.in[i];
    if (i == node.slots) {
      in = {gradient->data, row_strides(*gradient), size_of(gradient->type)};
      continue;
    }
    const saved_value& v = node.values[i];
    if (!v.memory) {
      in.data = nullptr;
      continue;
    }
    device.check_operand(*v.memory, near);
    if (i == node.slots + 1) {
      tensor_state t;
      t.sizes = v.sizes, t.strides = v.strides;
      in = {v.data, row_strides(t), size_of(v.type)};
    } else {
      in = {v.data, cpu::broadcast_strides(v.sizes, v.strides, how.domain), size_of(v.type)};
    }
  }
  bool any = false;
  for (int r = 0; r < node.slots; ++r) {
    cpu::result_view& out = node.out[r];
    out.data = nullptr;
    int product = -1;
    for (int p = 0; p < node.product_count; ++p)
      if (node.products[p].slot == r) product = p;
    const bool wanted = product < 0
                            ? static_cast<bool>(node.inputs[r])
                            : node.inputs[node.slots + 2 * product] || node.inputs[node.slots + 2 * product + 1];
    if (!wanted || node.shared[r] != r) continue;
    const int from = program.tape.results[r];
    if (product >= 0) {
      // A product that is the whole expression gets its gradient as it is.
      if (from >= 0 && program.tape[from].code == opcode::leaf && program.tape[from].slot == node.slots &&
          gradient->sizes == node.sizes[r]) {
        node.product_gradients[product] = gradient;
        continue;
      }
      node.product_gradients[product] = device.new_tensor(node.types[r], node.sizes[r], near);
      if (from < 0) {
        device.set_zero(*node.product_gradients[product]);
        continue;
      }
      const tensor_state& t = *node.product_gradients[product];
      out = {t.data, cpu::broadcast_strides(t.sizes, t.strides, how.domain), size_of(t.type), t.type, false};
      any = true;
      continue;
    }
    const gradient_target to(*node.inputs[r], device, near);
    if (from < 0) {
      if (!to.add) device.set_zero(*to.tensor);
      continue;
    }
    out = {to.tensor->data, cpu::broadcast_strides(to.tensor->sizes, to.tensor->strides, how.domain),
           size_of(to.tensor->type), to.tensor->type, to.add};
    any = true;
  }
  if (any) {
    cpu::task job{.program = &program,
                  .domain = how.domain,
                  .reduced_axes = program.reductions ? how.axes : 0,
                  .in = node.in,
                  .out = node.out,
                  .scalars = node.numbers};
    node.gradients->run(job, near);
  }
  for (int p = 0; p < node.product_count; ++p) {
    const saved_product& product = node.products[p];
    const ref<tensor_state>& g = node.product_gradients[p];
    if (!g) continue;
    node.product_rules[p](product, *g, node.inputs[node.slots + 2 * p], node.inputs[node.slots + 2 * p + 1]);
  }
}

}  // namespace detail
}  // namespace kiln
