// SPDX-License-Identifier: BSL-1.0
// What a tensor handle points to: where its elements lie, and what it has to do with gradients. None of it depends on
// the element type, so it is written and compiled once.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/lock.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/device/cpu/device.hpp>
#include <kiln/tape/program.hpp>
#include <kiln/tensor/layout.hpp>

namespace kiln {

struct gradient_record;
namespace detail {
struct runnable;
class backward_pass;
}  // namespace detail

/// A tensor without its static type.
struct tensor_state {
  std::atomic<std::uint32_t> references{1};
  dtype type = dtype::float32;
  bool contiguous = true;          ///< row-major without gaps: asked for often, so known
  bool in_memory = false;          ///< stands in the room of a block that `memory` is or keeps
  bool is_view = false;            ///< is a view_state
  bool made_without_grad = false;  ///< a view that no_grad cut off from what it looks at
  bool frozen = false;             ///< requires_grad(false) was called: it is known that it has no gradient
  /// Grows whenever these elements get another history, so that views know.
  std::atomic<std::uint32_t> histories{0};
  dims sizes, strides;
  void* data = nullptr;  ///< the first element
  ref<storage> memory;
  ref<gradient_record> autograd_metadata;  ///< set if gradients flow to or through this tensor
};

/// A view whose history follows from that of the tensor whose elements it shows.
struct view_state final : tensor_state {
  ref<tensor_state> base;
  detail::layout where;                      ///< of this in a contiguous tensor of the base's sizes
  const detail::runnable* add = nullptr;     ///< copies or adds gradients
  std::atomic<std::uint32_t> made_after{0};  ///< the base's `histories` when the history here was made
  void (*follow)(view_state&) = nullptr;     ///< what follow_base does: held by files that make views
};

inline void destroy(tensor_state* state) noexcept;
inline void destroy(gradient_record* record) noexcept;

namespace detail {
struct runnable;

/// A call of a virtual function by its place in the object's table, which is what every such call comes to. Where g++
/// knows the function it compiles that of every class, to see whether to inline it, even of those that a file makes no
/// object of.
template <auto Function, class Object, class... A>
inline decltype(auto) call_virtual(Object& object, A&&... a) {
  return (object.*Function)(std::forward<A>(a)...);
}
}  // namespace detail

/// What is called when a gradient is complete; the record that it belongs to owns it.
struct gradient_hook {
  gradient_hook* next = nullptr;
  std::uint64_t number = 0;
  bool comes_last = false;                ///< sees what all others have made of the gradient
  const detail::runnable* add = nullptr;  ///< adds tensors of its type
  virtual ~gradient_hook() = default;
  /// Null, or what takes the gradient's place.
  virtual ref<tensor_state> call(const ref<tensor_state>& gradient) = 0;
};

/// One step of a backward pass: takes the gradient of what it made and hands gradients on to what it was made from.
struct graph_node {
  std::atomic<std::uint32_t> references{1};
  std::uint64_t order = 0;                 ///< later nodes run earlier; set when the node is made
  ref<gradient_record>* inputs = nullptr;  ///< empty references where no gradient is wanted
  int input_count = 0;
  int output_count = 1;
  /// What a pass does with a node of several outputs, for which it is set (set_outputs): false if no gradient arrived.
  bool (*run_outputs)(detail::backward_pass& pass, graph_node& node, const ref<gradient_record>& first,
                      const ref<tensor_state>& gradient) = nullptr;
  bool freed = false;

  graph_node() {
    static std::atomic<std::uint64_t> next{1};
    order = next.fetch_add(1, std::memory_order_relaxed);
  }
  graph_node(const graph_node&) = delete;
  graph_node& operator=(const graph_node&) = delete;
  virtual ~graph_node() = default;
  static void* operator new(std::size_t bytes) { return cpu::allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept { cpu::deallocate(memory, bytes); }
  /// What errors call the op.
  virtual const char* name() const { return "an op"; }
  /// The tape of an expression, for its formula.
  virtual tape_view value_tape() const { return {}; }
  /// For a view of a view: the record of that one, through which a pass may go in place of straight to the base.
  virtual const ref<gradient_record>* between() const { return nullptr; }
  /// Adds to the gradient of each input, given that of the output.
  virtual void backward(const ref<tensor_state>& gradient) = 0;
  // KILN_INLINE here as well: else the first of them would be the key function, and every unit that has its definition
  // would emit all of the class (0.6 s).
  /// The same in a pass that is recorded itself, by ops on tensors with histories; `output` is the record of what this
  /// node made. Throws graph_error for an op whose gradient has none.
  KILN_INLINE virtual void backward_recorded(const ref<tensor_state>& gradient, const ref<gradient_record>& output);
  /// The one or the other. A node with several outputs gets the gradients of all; null where none arrived.
  KILN_INLINE virtual void backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>* outputs);
  /// The same for a node with one output and a pass that has no further use for its gradient: a node may let go of it
  /// as soon as it has read it.
  virtual void backward_last(ref<tensor_state>& gradient, const ref<gradient_record>& output) {
    detail::call_virtual<&graph_node::backward_all>(*this, &gradient, &output);
  }
  /// Lets go of everything `backward` needs.
  virtual void release() = 0;
  /// Its end, by call_virtual too: a destructor of each class would bring all else of the class along.
  virtual void end() noexcept { delete this; }
};
inline void destroy(graph_node* node) noexcept {
  detail::call_virtual<&graph_node::end>(*node);
}

namespace detail {
struct expression_facts;
struct gradient_facts;
struct operands;
struct evaluation;
class layout_change;

/// What is done for tensors with a history. It is reached through their records, so it is compiled where records are
/// made: a file that asks for no gradient holds none of it.
struct history_functions {
  /// Makes `out` remember how it was computed. `in_place`: it was a leaf too, so what backward passes expect to find in
  /// its memory is gone.
  void (*record)(const expression_facts& f, const gradient_facts& gradients, const operands& c, const evaluation& how,
                 const ref<tensor_state>& out, bool in_place);
  /// The tensor has another history since an in-place write: its views will follow, and what it is a view of is told.
  void (*changed)(tensor_state& target);
  /// The history of a view whose base has one.
  ref<gradient_record> (*of_view)(const view_state& v);
  /// A view of a view also knows the way through that one.
  void (*lead_through)(const view_state& v, const tensor_state& of, const layout_change& change);
  /// The leaf is gone that the record is of.
  void (*leaf_gone)(gradient_record& record) noexcept;
  void (*destroy)(gradient_record* record) noexcept;
};

class gradient_pass;
/// What a backward pass collects for one record.
struct pass_slot {
  ref<tensor_state> gradient;  ///< contiguous
  bool queued = false;         ///< the pass will come to it
  bool skipped = false;        ///< the pass is after gradients of other tensors, to which this leads not
};
}  // namespace detail

/// The gradient of one tensor: shared by the tensor and by the nodes that it went into.
struct gradient_record {
  std::atomic<std::uint32_t> references{1};
  bool leaf = false;  ///< the user asked for it; kept in `gradient` after a backward pass
  const detail::history_functions* functions = nullptr;
  dtype type = dtype::float32;
  bool turned = false;  ///< of a matrix transposed for one product, which nobody else sees: see turned.hpp
  dims sizes;
  ref<tensor_state> gradient;             ///< of a leaf, after passes; contiguous
  ref<tensor_state> home;                 ///< of a leaf: where its gradient is to lie, for an optimizer; guarded
  ref<graph_node> producer;               ///< of a leaf: none
  int output = 0;                         ///< which output of the producer
  std::atomic<bool> unwanted{false};      ///< of a leaf that is gone: nobody will read its gradient
  const tensor_state* owner = nullptr;    ///< of a leaf: the tensor that gives out the gradient
  const detail::runnable* add = nullptr;  ///< of a leaf: adds gradients
  detail::short_lock adding;              ///< held while a pass adds to `gradient`
  std::atomic<bool> has_home{false};      ///< since it was given one
  /// The pass that writes into `home` and has not delivered yet; written while `adding` is held.
  std::atomic<detail::gradient_pass*> home_taken{nullptr};
  /// The pass that collects in `slot`; another one at the same time has a place of its own.
  std::atomic<detail::gradient_pass*> pass{nullptr};
  detail::pass_slot slot;
  gradient_hook* hooks = nullptr;
};

// A record that has ended, whose memory says what ends after it.
struct ended_record {
  ref<graph_node> producer;
  ended_record* next = nullptr;
};
static_assert(sizeof(ended_record) <= sizeof(gradient_record));

inline void destroy(gradient_record* record) noexcept {
  record->functions->destroy(record);
}

namespace detail {
inline void destroy_record(gradient_record* record) noexcept {
  // A long chain of nodes is taken apart in a loop: one call inside the other would use up the stack. The list of what
  // is still to end takes no memory but theirs, since there may be none.
  static constinit thread_local ended_record* first = nullptr;
  static constinit thread_local bool running = false;
  ref<graph_node> producer = std::move(record->producer);
  while (gradient_hook* const hook = record->hooks) {
    record->hooks = hook->next;
    delete hook;
  }
  record->~gradient_record();
  if (!producer) return cpu::deallocate(record, sizeof(gradient_record));
  first = new (static_cast<void*>(record)) ended_record{std::move(producer), first};
  if (running) return;
  running = true;
  while (ended_record* const now = first) {
    first = now->next;
    producer = std::move(now->producer);
    now->~ended_record();
    cpu::deallocate(now, sizeof(gradient_record));
    producer = nullptr;
  }
  running = false;
}
// A gradient with a history holds nodes, and these the record: the tensor's end is the end of both. A pass of another
// thread may just be adding to it.
inline void leaf_gone(gradient_record& record) noexcept {
  ref<tensor_state> gradient, home;  // end when the lock is free again
  const locked alone(record.adding);
  record.unwanted.store(true, std::memory_order_relaxed);
  gradient = std::move(record.gradient);
  home = std::move(record.home);
}
// The others: run.hpp and view_metadata.hpp.
void record(const expression_facts& f, const gradient_facts& gradients, const operands& c, const evaluation& how,
            const ref<tensor_state>& out, bool in_place);
void history_changed(tensor_state& target);
ref<gradient_record> view_record(const view_state& v);
void lead_through(const view_state& v, const tensor_state& of, const layout_change& change);
}  // namespace detail

inline void destroy(tensor_state* state) noexcept {
  if (gradient_record* const record = state->autograd_metadata.get(); record && record->owner == state)
    record->functions->leaf_gone(*record);
  if (state->is_view) {
    auto* const view = static_cast<view_state*>(state);
    ref<tensor_state> base = std::move(view->base);
    view->~view_state();
    cpu::deallocate(view, sizeof(view_state));
    // Views of views go one after the other, not one inside the other.
    while (base.unique() && base->is_view) base = ref<tensor_state>(std::move(static_cast<view_state&>(*base).base));
    return;
  }
  const bool in_memory = state->in_memory;
  const ref<storage> memory = std::move(state->memory);
  state->~tensor_state();
  if (!in_memory) cpu::deallocate(state, sizeof(tensor_state));
}

inline ref<gradient_record> new_record(dtype type, const dims& sizes) {
  static constexpr detail::history_functions functions{&detail::record,      &detail::history_changed,
                                                       &detail::view_record, &detail::lead_through,
                                                       &detail::leaf_gone,   &detail::destroy_record};
  auto* record = new (cpu::allocate(sizeof(gradient_record))) gradient_record;
  record->functions = &functions;
  record->type = type;
  record->sizes.set(sizes);
  return ref<gradient_record>::adopt(record);
}

/// A state without memory.
inline ref<tensor_state> new_state(dtype type, const dims& sizes, const dims& strides) {
  auto* state = new (cpu::allocate(sizeof(tensor_state))) tensor_state;
  state->type = type;
  state->contiguous = is_contiguous(sizes, strides);
  state->sizes = sizes;
  state->strides = strides;
  return ref<tensor_state>::adopt(state);
}

/// A contiguous tensor with uninitialised elements. Throws shape_error for impossible sizes, memory_error.
inline ref<tensor_state> new_tensor(dtype type, const dims& sizes) {
  constexpr std::size_t reserved = (sizeof(tensor_state) + 63) / 64 * 64;
  // State and elements in one block: half the work of making a small tensor is asking for memory.
  ref<storage> memory = cpu::new_storage(static_cast<std::size_t>(count(sizes)) * size_of(type), reserved);
  auto* state = new (cpu::reserved_of(*memory)) tensor_state;
  state->type = type;
  state->in_memory = true;
  state->sizes.set(sizes);
  state->strides.set_contiguous(sizes);
  state->data = memory->data;
  state->memory = std::move(memory);
  return ref<tensor_state>::adopt(state);
}

inline bool is_contiguous(const tensor_state& t) {
  return t.contiguous;
}

namespace detail {
inline thread_local bool recording = true;

/// While it lives, this thread records for backward passes, or does not, whatever stands around.
class recording_scope {
 public:
  explicit recording_scope(bool on) : before_(recording) { recording = on; }
  recording_scope(const recording_scope&) = delete;
  recording_scope& operator=(const recording_scope&) = delete;
  ~recording_scope() { recording = before_; }

 private:
  bool before_;
};
}  // namespace detail

/// While it lives, this thread records nothing for backward passes.
class no_grad : detail::recording_scope {
 public:
  [[nodiscard("it acts as long as it lives: give it a name, kiln::no_grad quiet;")]] no_grad()
      : recording_scope(false) {}
};

/// Whether evaluations on this thread are recorded for backward passes.
inline bool grad_enabled() {
  return detail::recording;
}

inline void graph_node::backward_recorded(const ref<tensor_state>&, const ref<gradient_record>&) {
  throw graph_error(std::string("create_graph: ") + name() +
                    " has no second derivative: call backward() without create_graph, or detach() what goes into it");
}
inline void graph_node::backward_all(const ref<tensor_state>* gradients, const ref<gradient_record>* outputs) {
  if (grad_enabled())
    detail::call_virtual<&graph_node::backward_recorded>(*this, gradients[0], outputs[0]);
  else
    detail::call_virtual<&graph_node::backward>(*this, gradients[0]);
}

}  // namespace kiln
