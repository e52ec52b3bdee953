// SPDX-License-Identifier: BSL-1.0
// Makes the gradients of all ranks their mean, while the backward pass goes on: buckets are ranges of a flat gradient
// buffer, from its end to its beginning, as passes come by; each is sent off when its last gradient is complete and has
// been written there. What cannot go early (gradients that are added to, parameters that this pass did not reach) goes
// when the pass has delivered. Read ready() and finish() first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <kiln/autograd/hooks.hpp>
#include <kiln/distributed/process_group.hpp>
#include <kiln/optim/flat_memory.hpp>
#include <kiln/tensor/executor.hpp>
#include <kiln/tensor/gradient_pass.hpp>

namespace kiln::distributed::detail {

/// Parameters [first, last) of a flat buffer, whose gradients are reduced together.
struct bucket {
  int first, last;
  int left = 0;  ///< gradients of the running pass that are still to come
};

/// Cuts a layout, from its end, into buckets that hold at least `bytes` each, or are the last.
inline std::vector<bucket> cut_buckets(const optim::detail::flat_layout& layout, std::size_t element_bytes,
                                       std::int64_t bytes) {
  std::vector<bucket> all;
  const int count = static_cast<int>(layout.begins.size()) - 1;
  const auto width = static_cast<std::int64_t>(element_bytes);
  for (int last = count; last > 0;) {
    int first = last - 1;
    const std::int64_t end = layout.begins[static_cast<std::size_t>(last)];
    while (first > 0 && (end - layout.begins[static_cast<std::size_t>(first)]) * width < bytes) --first;
    all.push_back({first, last});
    last = first;
  }
  return all;
}

class reducer {
 public:
  /// `flags` is a group on the processor, over which ranks tell each other what they have gradients of.
  reducer(optim::detail::flat_memory& memory, const kiln::detail::device_functions& device, process_group& group,
          process_group& flags, std::int64_t bucket_bytes, bool overlap)
      : memory_(memory), device_(device), group_(group), flags_(flags), overlap_(overlap) {
    const dtype type = memory.values()->type;
    buckets_ = cut_buckets(memory.layout(), size_of(type), bucket_bytes);
    bucket_of_.resize(static_cast<std::size_t>(memory.size()));
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (int i = buckets_[b].first; i < buckets_[b].last; ++i) bucket_of_[static_cast<std::size_t>(i)] = b;
    hooks_.resize(bucket_of_.size());
    hooked_.resize(bucket_of_.size());
    attach();
  }
  reducer(const reducer&) = delete;
  reducer& operator=(const reducer&) = delete;
  ~reducer() {
    for (gradient_hook_handle& hook : hooks_) hook.remove();
  }

  const std::vector<bucket>& buckets() const { return buckets_; }
  /// How many buckets the last pass sent off before it ended.
  int early() const { return early_; }
  bool on = true;  ///< else gradients stay this rank's own

 private:
  struct ready_hook final : gradient_hook {
    reducer& to;
    int parameter;
    ready_hook(reducer& r, int i, const kiln::detail::runnable* adding) : to(r), parameter(i) {
      comes_last = true;
      add = adding;
    }
    ref<tensor_state> call(const ref<tensor_state>& gradient) override {
      to.ready(parameter, gradient);
      return nullptr;
    }
  };
  struct pass_end final : kiln::detail::after_delivery {
    reducer* of;
    explicit pass_end(reducer& r) : of(&r) {}
    ~pass_end() override {
      if (of) of->failed();
    }
    void delivered() override { std::exchange(of, nullptr)->finish(); }
  };

  /// To be told of the gradients; anew for those that were frozen and are not any more, whose record is another.
  void attach() {
    for (int i = 0; i < memory_.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const ref<gradient_record>& record = memory_.parameter(i)->autograd_metadata;
      if (record == hooked_[at]) continue;
      hooks_[at].remove();
      hooked_[at] = record;
      if (record) hooks_[at] = kiln::detail::add_hook(record, std::make_unique<ready_hook>(*this, i, record->add));
    }
  }

  /// The gradient of a parameter is complete, in a pass that may go on elsewhere.
  void ready(int i, const ref<tensor_state>& gradient) {
    kiln::detail::gradient_pass* const pass = kiln::detail::running_pass;
    if (!on || !pass || !pass->delivers()) return;
    if (grad_enabled())
      throw graph_error(
          "DistributedDataParallel: a backward pass with .create_graph: no gradient flows between processes, so there "
          "is "
          "no second derivative: run it under no_sync()");
    if (broken_)
      throw graph_error(message("DistributedDataParallel: an earlier backward pass of rank ", group_.rank(),
                                " failed after it had sent gradients to the others, which wait for the rest: end the "
                                "program, and start again from the last checkpoint"));
    if (!in_pass_) begin(*pass);
    bucket& b = buckets_[bucket_of_[static_cast<std::size_t>(i)]];
    if (&b < buckets_.data() + next_)
      throw graph_error(
          message("DistributedDataParallel: parameter ", i, ", of shape ", memory_.parameter(i)->sizes,
                  ", got more gradient after its own was complete, as of a checkpoint() that uses it too: "
                  "make it with {.overlap = false}"));
    // A gradient that lies elsewhere is added when the pass delivers, as are those of inner passes.
    if (!overlap_ || pass->is_inner() || gradient->data != address(i)) return;
    --b.left;
    while (next_ < buckets_.size() && buckets_[next_].left == 0) send_next();
    early_ = static_cast<int>(next_);
    for (const auto& w : under_way_) w->completed();  // MPI moves on only while it is asked
  }

  void begin(kiln::detail::gradient_pass& pass) {
    in_pass_ = true;
    next_ = 0;
    early_ = 0;
    under_way_.clear();
    for (bucket& b : buckets_) b.left = b.last - b.first;
    pass.then(std::make_unique<pass_end>(*this));
  }

  void* address(int i) const {
    const tensor_state& flat = *memory_.gradients();
    return static_cast<char*>(flat.data) +
           memory_.layout().begins[static_cast<std::size_t>(i)] * static_cast<std::int64_t>(size_of(flat.type));
  }

  void send_next() {
    const bucket& b = buckets_[next_];
    const auto& begins = memory_.layout().begins;
    const std::int64_t count = begins[static_cast<std::size_t>(b.last)] - begins[static_cast<std::size_t>(b.first)];
    const tensor_state& flat = *memory_.gradients();
    under_way_.push_back(group_.start_all_reduce({address(b.first), count, flat.type, flat.memory}, reduce_op::mean));
    ++next_;
  }

  /// The pass has delivered: what is left is sent, and all is waited for. What one rank has a gradient of, all have.
  void finish() {
    in_pass_ = false;
    broken_ = true;  // until all is well
    memory_.gather("DistributedDataParallel");
    const int count = memory_.size();
    std::vector<std::uint8_t> known(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      if (memory_.has_gradient(i))
        known[static_cast<std::size_t>(i)] = 1;
      else
        set_zero(i);
    while (next_ < buckets_.size()) send_next();
    flags_.start_all_reduce({known.data(), count, dtype::uint8, nullptr}, reduce_op::max)->wait();
    for (const auto& w : under_way_) w->wait();
    under_way_.clear();
    memory_.gradients_changed({0, count});
    for (int i = 0; i < count; ++i) {
      const ref<gradient_record>& record = memory_.parameter(i)->autograd_metadata;
      if (!record || !known[static_cast<std::size_t>(i)] || record->gradient) continue;
      const kiln::detail::locked alone(record->adding);
      record->gradient = record->home;
    }
    attach();
    broken_ = false;
  }
  void failed() {
    in_pass_ = false;
    if (next_ > 0) broken_ = true;
  }
  void set_zero(int i) {
    const auto& begins = memory_.layout().begins;
    const std::int64_t from = begins[static_cast<std::size_t>(i)], to = begins[static_cast<std::size_t>(i) + 1];
    const ref<tensor_state> part = new_state(memory_.gradients()->type, {to - from}, {1});
    part->data = address(i);
    part->memory = memory_.gradients()->memory;
    device_.set_zero(*part);
  }

  optim::detail::flat_memory& memory_;
  const kiln::detail::device_functions& device_;
  process_group& group_;
  process_group& flags_;
  const bool overlap_;
  std::vector<bucket> buckets_;
  std::vector<std::size_t> bucket_of_;
  std::vector<gradient_hook_handle> hooks_;
  std::vector<ref<gradient_record>> hooked_;
  // Of the running pass: the next bucket to send, and those that are under way.
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<work>> under_way_;
  bool in_pass_ = false, broken_ = false;
  int early_ = 0;
};

}  // namespace kiln::distributed::detail
