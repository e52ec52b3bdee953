// SPDX-License-Identifier: BSL-1.0
// What a tensor handle points to: where its elements lie, and what it has to do with gradients. None of it depends on
// the element type, so it is written and compiled once.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include <kiln/core/dims.hpp>
#include <kiln/core/dtype.hpp>
#include <kiln/core/storage.hpp>
#include <kiln/device/cpu/device.hpp>

namespace kiln {

struct gradient_record;

/// A tensor without its static type.
struct tensor_state {
  std::atomic<std::uint32_t> references{1};
  dtype type = dtype::float32;
  bool contiguous = true;  ///< row-major without gaps: asked for often, so known
  bool in_memory = false;  ///< stands in the room of `memory`, which then ends no sooner
  dims sizes, strides;
  void* data = nullptr;  ///< the first element
  ref<storage> memory;
  ref<gradient_record> history;  ///< set if gradients flow to or through this tensor
};

inline void destroy(tensor_state* state) noexcept;
inline void destroy(gradient_record* record) noexcept;

/// One step of a backward pass: takes the gradient of what it made and hands gradients on to what it was made from.
struct graph_node {
  std::atomic<std::uint32_t> references{1};
  std::uint64_t order = 0;                 ///< later nodes run earlier; set when the node is made
  ref<gradient_record>* inputs = nullptr;  ///< empty references where no gradient is wanted
  int input_count = 0;
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
  /// Adds to the gradient of each input, given that of the output.
  virtual void backward(const ref<tensor_state>& gradient) = 0;
  /// Lets go of everything `backward` needs.
  virtual void release() = 0;
};
inline void destroy(graph_node* node) noexcept {
  delete node;
}

/// The gradient of one tensor: shared by the tensor and by the nodes that it went into.
struct gradient_record {
  std::atomic<std::uint32_t> references{1};
  bool leaf = false;  ///< the user asked for it; kept in `gradient` after a backward pass
  bool view = false;  ///< of a view: its elements belong to another tensor's history as well
  dtype type = dtype::float32;
  dims sizes;
  ref<tensor_state> gradient;  ///< contiguous
  ref<graph_node> producer;    ///< of a leaf: none
  bool queued = false;         ///< a running backward pass will come to it
};

inline void destroy(gradient_record* record) noexcept {
  // A long chain of nodes is taken apart in a loop: one call inside the other would use up the stack.
  static thread_local std::vector<ref<graph_node>>* pending = nullptr;
  ref<graph_node> producer = std::move(record->producer);
  record->~gradient_record();
  cpu::deallocate(record, sizeof(gradient_record));
  if (!producer) return;
  if (pending) {
    pending->push_back(std::move(producer));
    return;
  }
  std::vector<ref<graph_node>> work;
  pending = &work;
  producer = nullptr;
  while (!work.empty()) {
    ref<graph_node> next = std::move(work.back());
    work.pop_back();
    next = nullptr;
  }
  pending = nullptr;
}

inline void destroy(tensor_state* state) noexcept {
  const bool in_memory = state->in_memory;
  const ref<storage> memory = std::move(state->memory);
  state->~tensor_state();
  if (!in_memory) cpu::deallocate(state, sizeof(tensor_state));
}

inline ref<gradient_record> new_record(dtype type, const dims& sizes) {
  auto* record = new (cpu::allocate(sizeof(gradient_record))) gradient_record;
  record->type = type;
  record->sizes = sizes;
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
  constexpr std::size_t room = (sizeof(tensor_state) + 63) / 64 * 64;
  // State and elements in one block: half the work of making a small tensor is asking for memory.
  ref<storage> memory = cpu::new_storage(static_cast<std::size_t>(count(sizes)) * size_of(type), room);
  auto* state = new (cpu::room_of(*memory)) tensor_state;
  state->type = type;
  state->in_memory = true;
  state->sizes = sizes;
  state->strides = contiguous_strides(sizes);
  state->data = memory->data;
  state->memory = std::move(memory);
  return ref<tensor_state>::adopt(state);
}

inline bool is_contiguous(const tensor_state& t) {
  return t.contiguous;
}

namespace detail {
inline thread_local bool recording = true;
}

/// While it lives, this thread records nothing for backward passes.
class no_grad {
 public:
  no_grad() : before_(detail::recording) { detail::recording = false; }
  no_grad(const no_grad&) = delete;
  no_grad& operator=(const no_grad&) = delete;
  ~no_grad() { detail::recording = before_; }

 private:
  bool before_;
};

/// Whether evaluations on this thread are recorded for backward passes.
inline bool grad_enabled() {
  return detail::recording;
}

}  // namespace kiln
