// SPDX-License-Identifier: BSL-1.0
// The node of an evaluated expression: one class for all, whose arrays follow it in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <kiln/autograd/node.hpp>
#include <kiln/core/few.hpp>
#include <kiln/tensor/run_at_once.hpp>

namespace kiln::detail {

class expression_node final : public op_node {
 public:
  static ref<graph_node> make(const expression_facts& f, const gradient_facts& gradients, const operands& c,
                              const evaluation& how, tensor_state& out, bool in_place) {
    std::byte* const memory = static_cast<std::byte*>(cpu::allocate(bytes_of(f.leaves, f.products, f.scalars)));
    return ref<graph_node>::adopt(::new (memory) expression_node(memory, f, gradients, c, how, out, in_place));
  }
  static void operator delete(expression_node* self, std::destroying_delete_t) {
    const std::size_t bytes = bytes_of(self->slots_, self->product_count_, self->number_count_);
    self->~expression_node();
    cpu::deallocate(self, bytes);
  }

  void backward(const ref<tensor_state>& gradient) override {
    ref<tensor_state> kept = gradient;
    run_backward(kept);
  }
  void backward_last(ref<tensor_state>& gradient, const ref<gradient_record>& output) override {
    if (grad_enabled())
      backward_recorded(gradient, output);
    else
      run_backward(gradient);
  }

 private:
  // Where a result of the gradient program goes; null: nobody asked for it.
  struct placed_result {
    tensor_state* tensor = nullptr;
    bool add = false;
  };

  // Lets go of the gradient when it has been read.
  void run_backward(ref<tensor_state>& gradient) {
    few<placed_result, common::max_slots> out(slots_);
    few<ref<tensor_state>, common::max_slots> product_gradients(product_count_);
    check_saved(*gradient->memory);
    bool any = set_results(gradient, out.data(), product_gradients.data());
    const added_bias bias = any && device().sums_beside_products
                                ? bias_of_product(*gradient, out.data(), product_gradients.data())
                                : added_bias();
    placed_result sums;
    if (bias.leaf >= 0) {
      sums = std::exchange(out[bias.leaf], {});
      any = false;
      for (int r = 0; r < slots_; ++r) any |= out[r].tensor != nullptr;
    }
    if (any && !run_at_once(*gradient, out.data())) run(*gradient, out.data());
    gradient = nullptr;  // products read theirs: what arrived need not be there beside them and what they copy
    for (int p = 0; p < product_count_; ++p) {
      const saved_product& product = products_[p];
      const ref<tensor_state>& g = product_gradients[p];
      if (!g) continue;
      const int left = slots_ + 2 * p, right = left + 1;
      const ref<gradient_record> none;
      const bool summed =
          gradients_.products[p](product, *g, wants(left) ? inputs[left] : none, wants(right) ? inputs[right] : none,
                                 p == bias.product ? sums.tensor->data : nullptr);
      if (p != bias.product || summed) continue;
      for (int r = 0; r < slots_; ++r) out[r] = {};
      out[bias.leaf] = sums;
      run(*g, out.data());
    }
  }
  // The gradient program as one call of its kernel, if nothing needs planning: see run_at_once.hpp.
  bool run_at_once(const tensor_state& gradient, const placed_result* out) const {
    if (!device().on_host) return false;
    const cpu::compiled& program = static_cast<const cpu::compiled&>(gradients_.program->program());
    const std::int64_t total = count(how_.domain);
    if (!program.map || !runs_at_once(program, total)) return false;
    call_at_once call(total);
    for (int i = 0; i < program.slots; ++i) {
      const saved_value& v = values_[i];
      if (i == slots_ ? !call.reads(i, gradient.data, gradient.sizes, gradient.contiguous)
                      : v.memory && !call.reads(i, v.data, v.sizes, v.contiguous))
        return false;
    }
    std::array<void*, common::max_slots> to;
    std::array<bool, common::max_slots> add;
    for (int r = 0; r < slots_; ++r) {
      const std::size_t i = static_cast<std::size_t>(r);
      const tensor_state* const t = out[r].tensor;
      to[i] = t ? t->data : nullptr;
      add[i] = out[r].add;
      if (t && !(t->type == program.stores[r] && call.writes(*t))) return false;
    }
    cpu::strip s = call.strip(program, numbers_);
    s.out = to.data();
    s.add = add.data();
    program.map(s);
    return true;
  }
  void run(const tensor_state& gradient, const placed_result* to) const {
    few<common::operand_view, common::max_slots> in(slots_ + 2);
    few<common::result_view, common::max_slots> out(slots_);
    const common::program_view& program = gradients_.program->program();
    set_operands(gradient, in.data());
    for (int r = 0; r < slots_; ++r)
      if (const tensor_state* const t = to[r].tensor)
        out[r] = {t->data, common::broadcast_strides(t->sizes, t->strides, how_.domain), t->type, to[r].add};
      else
        out[r].data = nullptr;
    common::task job{.program = &program,
                     .domain = how_.domain,
                     .reduced_axes = program.reductions ? how_.axes : 0,
                     .in = in.data(),
                     .out = out.data(),
                     .scalars = numbers_};
    (gradients_.program->run ? gradients_.program->run : &executor<Cpu>::run_any)(job, *gradient.memory);
  }
  // What the gradient program reads: values that were saved, and the gradient of the result.
  void set_operands(const tensor_state& gradient, common::operand_view* in) const {
    const auto result_strides = [&](const tensor_state& t) {
      return how_.reduction_rooted ? row_value_strides(t, how_.domain, how_.axes, how_.keepdim)
                                   : common::broadcast_strides(t.sizes, t.strides, how_.domain);
    };
    const int count = gradients_.program->program().slots;
    for (int i = 0; i < count; ++i) {
      if (i == slots_) {
        in[i] = {gradient.data, result_strides(gradient), size_of(gradient.type)};
        continue;
      }
      const saved_value& v = values_[i];
      if (!v.memory) {
        in[i].data = nullptr;
      } else if (i == slots_ + 1) {
        tensor_state t;
        t.sizes = v.sizes, t.strides = v.strides;
        in[i] = {v.data, result_strides(t), size_of(v.type)};
      } else {
        in[i] = {v.data, common::broadcast_strides(v.sizes, v.strides, how_.domain), size_of(v.type)};
      }
    }
  }
  // Where the gradient of every leaf goes, and that of every product; whether any is computed by the program.
  bool set_results(const ref<tensor_state>& gradient, placed_result* out, ref<tensor_state>* product_gradients) {
    const int replaces = replaces_gradient(*gradient, gradient.unique() && gradient->memory.unique());
    bool any = false;
    for (int r = 0; r < slots_; ++r) {
      out[r] = {};
      int product = -1;
      for (int p = 0; p < product_count_; ++p)
        if (products_[p].slot == r) product = p;
      if (r == replaces) {
        arriving_gradient(*inputs[r]) = gradient;
        out[r] = {gradient.get(), false};
      } else if (gradients_.shared[r] != r) {
        continue;
      } else if (product < 0 && wants(r)) {
        out[r] = result_of_leaf(r, *gradient->memory);
      } else if (product >= 0 && (wants(slots_ + 2 * product) || wants(slots_ + 2 * product + 1))) {
        out[r] = result_of_product(product, gradient, product_gradients);
      }
      any |= out[r].tensor != nullptr;
    }
    return any;
  }
  placed_result result_of_leaf(int r, const storage& near) {
    const gradient_target to = target(r, near);
    if (gradients_.program->program().tape.results[r] >= 0) return {to.tensor.get(), to.add};
    if (!to.add) device().set_zero(*to.tensor);
    return {};
  }
  placed_result result_of_product(int product, const ref<tensor_state>& gradient,
                                  ref<tensor_state>* product_gradients) {
    const tape_view& tape = gradients_.program->program().tape;
    const int r = products_[product].slot, first = products_[product].first;
    const int from = tape.results[r];
    // What arrives for a product that stands there several times is added up, and multiplied once.
    if (first < product) return from < 0 ? placed_result() : placed_result{product_gradients[first].get(), true};
    // A product that is added to the result gets its gradient as it is.
    if (from >= 0 && tape[from].code == opcode::leaf && tape[from].slot == slots_ && gradient->sizes == sizes_[r] &&
        !stands_again(product)) {
      product_gradients[product] = gradient;
      return {};
    }
    product_gradients[product] = device().new_tensor(types_[r], sizes_[r], *gradient->memory);
    if (from >= 0) return {product_gradients[product].get(), false};
    device().set_zero(*product_gradients[product]);
    return {};
  }

 public:
  tape_view value_tape() const override { return values_of_->program().tape; }
  [[gnu::cold]] void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>& output) override {
    check_saved(*gradient->memory);
    the_recorder().expression({.device = &device(),
                               .gradient = gradients_.program->program().tape,
                               .how = how_,
                               .slots = slots_,
                               .products = product_count_,
                               .numbers = number_count_,
                               .value = values_,
                               .product = products_,
                               .inputs = inputs,
                               .number = numbers_,
                               .sizes = sizes_,
                               .types = types_,
                               .shared = gradients_.shared},
                              gradient, output);
  }

 private:
  expression_node(std::byte* memory, const expression_facts& f, const gradient_facts& gradients, const operands& c,
                  const evaluation& how, tensor_state& out, bool in_place)
      : op_node(*gradients.program->device),
        gradients_(gradients),
        values_of_(f.values),
        how_{.domain = {}, .axes = how.axes, .reduction_rooted = how.reduction_rooted, .keepdim = how.keepdim},
        slots_(f.leaves),
        product_count_(f.products),
        number_count_(f.scalars) {
    how_.domain.set(how.domain);
    std::size_t at = sizeof(expression_node);
    values_ = place<saved_value>(memory, at, slots_ + 2 + 2 * product_count_);
    set_saved(values_, slots_ + 2 + 2 * product_count_);
    products_ = place<saved_product>(memory, at, product_count_);
    set_inputs(place<ref<gradient_record>>(memory, at, slots_ + 2 * product_count_), slots_ + 2 * product_count_);
    numbers_ = place<std::uint64_t>(memory, at, number_count_);
    sizes_ = place<dims>(memory, at, slots_);
    types_ = place<dtype>(memory, at, slots_);
    int n = 0;
    for (int i = 0; i < slots_; ++i) {
      const tensor_state& leaf = *c.leaf[i];
      sizes_[i].set(leaf.sizes);
      types_[i] = leaf.type;
      if (product_count_ && c.product_left[i]) {
        saved_value &left = values_[slots_ + 2 + 2 * n], &right = values_[slots_ + 3 + 2 * n];
        products_[n] = {i, &left, &right, c.multiply[i], n};
        for (int m = n; m-- > 0;)
          if (c.leaf[products_[m].slot] == c.leaf[i]) products_[n].first = m;
        const tensor_state &a = *c.product_left[i], &b = *c.product_right[i];
        if (b.autograd_metadata) left.save(a);
        if (a.autograd_metadata) right.save(b);
        // The sizes are needed even where the value is not.
        left.sizes.set(a.sizes), left.strides.set(a.strides);
        right.sizes.set(b.sizes), right.strides.set(b.strides);
        inputs[slots_ + 2 * n] = a.autograd_metadata;
        inputs[slots_ + 2 * n + 1] = b.autograd_metadata;
        ++n;
      } else {
        inputs[i] = leaf.autograd_metadata;
      }
      if (gradients.reads[i]) values_[i].save(leaf);
    }
    for (int i = 0; i < number_count_; ++i) numbers_[i] = c.number[i];
    if (in_place) ++out.memory->version;
    if (gradients.reads[slots_ + 1]) values_[slots_ + 1].save(out);
  }
  // The leaf whose gradient may be written over the one that it is computed from, or -1: it is computed element by
  // element, there is no other, and nobody else has that memory. So a deep chain needs one gradient, not two at a time.
  // (Not on a GPU, whose kernels are faster where they know that results lie apart from operands.)
  [[gnu::noinline]] int replaces_gradient(const tensor_state& gradient, bool nobody_else) const {
    if (!nobody_else || device().run_tape || gradient.memory->foreign || product_count_ > 0 || how_.reduction_rooted ||
        how_.axes != 0 || gradients_.program->program().reductions > 0 || gradient.sizes != how_.domain ||
        !is_contiguous(gradient))
      return -1;
    int found = -1;
    for (int r = 0; r < slots_; ++r) {
      if (!wants(r) || gradients_.shared[r] != r) continue;
      if (found >= 0) return -1;
      found = r;
    }
    if (found < 0 || gradients_.program->program().tape.results[found] < 0) return -1;
    const gradient_record& to = *inputs[found];
    const bool fits = to.type == gradient.type && to.sizes == gradient.sizes && sizes_[found] == gradient.sizes;
    return fits && !to.leaf && !arriving_gradient(*inputs[found]) ? found : -1;
  }
  // A leaf that is added to each row of a product. The product gets the arriving gradient as it is, the leaf the sums
  // of its columns, which may come with a product: -1, -1 if there is none such.
  struct added_bias {
    int leaf = -1, product = -1;
  };
  added_bias bias_of_product(const tensor_state& gradient, const placed_result* out,
                             const ref<tensor_state>* product_gradients) const {
    const tape_view& tape = gradients_.program->program().tape;
    const auto is_bias = [&](int r) {
      const int from = tape.results[r];
      return out[r].tensor && !out[r].add && out[r].tensor->type == gradient.type && from >= 0 &&
             tape[from].code == opcode::leaf && tape[from].slot == slots_ && sizes_[r] == dims{gradient.sizes.back()};
    };
    for (int p = 0; p < product_count_; ++p) {
      if (product_gradients[p].get() != &gradient || !wants(slots_ + 2 * p + 1) ||
          products_[p].left->sizes.rank() < 2 || products_[p].right->sizes.rank() < 2)
        continue;
      for (int r = 0; r < slots_; ++r)
        if (is_bias(r)) return {r, p};
    }
    return {};
  }
  // Whether a product stands in the expression once more.
  bool stands_again(int product) const {
    for (int p = product + 1; p < product_count_; ++p)
      if (products_[p].first == product) return true;
    return false;
  }
  ~expression_node() override {
    std::destroy_n(values_, slots_ + 2 + 2 * product_count_);
    std::destroy_n(inputs, input_count);
  }

  // Every array begins at a multiple of 8.
  template <class T>
  static constexpr std::size_t reserved(int count) {
    static_assert(alignof(T) <= 8);
    return (static_cast<std::size_t>(count) * sizeof(T) + 7) / 8 * 8;
  }
  template <class T>
  static T* place(std::byte* memory, std::size_t& at, int count) {
    T* const first = reinterpret_cast<T*>(memory + at);
    at += reserved<T>(count);
    std::uninitialized_default_construct_n(first, count);
    return first;
  }
  static std::size_t bytes_of(int slots, int products, int numbers) {
    return sizeof(expression_node) + reserved<saved_value>(slots + 2 + 2 * products) +
           reserved<saved_product>(products) + reserved<ref<gradient_record>>(slots + 2 * products) +
           reserved<std::uint64_t>(numbers) + reserved<dims>(slots) + reserved<dtype>(slots);
  }

  const gradient_facts& gradients_;
  const runnable* values_of_;
  evaluation how_;
  int slots_, product_count_, number_count_;
  saved_value* values_;  ///< per leaf, of the gradient, of the result, of the products' operands; not read: empty
  saved_product* products_;
  std::uint64_t* numbers_;
  dims* sizes_;  ///< per leaf
  dtype* types_;
};

KILN_INLINE void record(const expression_facts& f, const gradient_facts& gradients, const operands& c,
                        const evaluation& how, const ref<tensor_state>& out, bool in_place) {
  set_producer(*out, expression_node::make(f, gradients, c, how, *out, in_place));
}

}  // namespace kiln::detail
