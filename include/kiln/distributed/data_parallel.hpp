// SPDX-License-Identifier: BSL-1.0
// DistributedDataParallel: copies of one model on many processes, each of which sees its own part of every batch. They
// start from the state of rank 0, and after each backward pass their gradients are the mean over all ranks, so that
// each optimizer makes the same step. Nothing else in a training loop changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/distributed/process_group.hpp>
#include <kiln/distributed/reducer.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/parameter_groups.hpp>

namespace kiln::distributed {

/// As torch.nn.parallel.DistributedDataParallel's.
struct data_parallel_options {
  double bucket_cap_mb = 25;  ///< gradients of so many megabytes are sent together
  bool overlap = true;        ///< send them while the backward pass goes on; else after it
};

namespace detail {

/// The buffers of a module on one device, each once.
class buffer_collector final : public nn::detail::visitor {
 public:
  explicit buffer_collector(const void* device) : device_(device) {}
  void buffer(std::string_view, const nn::detail::tensor_slot& slot) override {
    if (!slot.now || slot.device != device_) return;
    for (const ref<tensor_state>& known : found)
      if (known == slot.now) return;
    found.push_back(slot.now);
  }
  std::vector<ref<tensor_state>> found;

 private:
  const void* device_;
};

/// Types and shapes in numbers, to be compared.
inline std::vector<std::int64_t> described(const std::vector<ref<tensor_state>>& tensors) {
  std::vector<std::int64_t> all{static_cast<std::int64_t>(tensors.size())};
  for (const ref<tensor_state>& t : tensors) {
    all.insert(all.end(), {static_cast<std::int64_t>(t->type), t->sizes.rank()});
    all.insert(all.end(), t->sizes.begin(), t->sizes.end());
  }
  return all;
}

/// Throws value_error, on every rank, unless all have tensors of the same types and shapes, in the same order.
inline void check_same(const std::vector<ref<tensor_state>>& tensors, const char* what, process_group& group) {
  std::vector<std::int64_t> mine = described(tensors);
  std::int64_t length = static_cast<std::int64_t>(mine.size());
  group.start_broadcast({&length, 1, dtype::int64, nullptr}, 0)->wait();
  std::vector<std::int64_t> first(static_cast<std::size_t>(length));
  if (group.rank() == 0) first = mine;
  group.start_broadcast({first.data(), length, dtype::int64, nullptr}, 0)->wait();
  std::vector<std::uint8_t> others(static_cast<std::size_t>(group.world_size()));
  others[static_cast<std::size_t>(group.rank())] = mine != first;
  group.start_all_reduce({others.data(), group.world_size(), dtype::uint8, nullptr}, reduce_op::max)->wait();

  std::string ranks;
  for (std::size_t r = 0; r < others.size(); ++r)
    if (others[r]) ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
  if (ranks.empty()) return;
  std::string where;
  for (std::size_t i = 0, at = 1; mine != first && i < tensors.size(); ++i) {
    const std::size_t size = 2 + static_cast<std::size_t>(tensors[i]->sizes.rank());
    bool same = at + size <= first.size();
    for (std::size_t k = at; k < at + size && same; ++k) same = mine[k] == first[k];
    at += size;
    if (same) continue;
    where = message("; ", what, " ", i, " of rank ", group.rank(), " is ", kiln::name(tensors[i]->type), " ",
                    tensors[i]->sizes, ", of rank 0 another, or there is none");
    break;
  }
  throw value_error(message("DistributedDataParallel: the ", what, "s of rank ", ranks, " are not those of rank 0 (",
                            first[0], ", here ", mine[0], ")", where,
                            ": make the same model with the same options on all ranks"));
}

}  // namespace detail

/// Joins the parameters of a module, which stay where the module has them, with those of all other ranks. Make it
/// before the optimizer, on every rank, and train as if there was one process: forward passes through the module
/// itself, `backward(loss)` gives the mean of all ranks' gradients, so that the loss be a mean over this rank's part of
/// a batch. Parameters that no rank has a gradient of keep none. It must live as long as passes go through the module.
template <Element T, class Device>
class DistributedDataParallel {
 public:
  /// Copies the parameters and buffers of rank 0 to all. Throws value_error, on all ranks, if their models are not
  /// alike, device_error if the group does not reach them, and as an optimizer's constructor.
  template <class M>
  explicit DistributedDataParallel(M& module, const data_parallel_options& options = {}, process_group& group = world())
      : DistributedDataParallel(nn::parameters(module), buffers_of(module), options, group) {}
  DistributedDataParallel(const std::vector<Tensor<T, Device>>& parameters,
                          const std::vector<ref<tensor_state>>& buffers, const data_parallel_options& options,
                          process_group& group)
      : group_(group), buffers_(buffers) {
    if (!(options.bucket_cap_mb >= 0))
      throw value_error(message("DistributedDataParallel: .bucket_cap_mb is ", options.bucket_cap_mb,
                                ": it must be 0 (a bucket for each parameter) or more"));
    constexpr bool on_host = kiln::executor<Device>::on_host;
    if (group.on_cuda() == on_host)
      throw device_error(message("DistributedDataParallel: a model on the ", on_host ? "processor" : "GPU",
                                 " cannot go through ", group.backend(),
                                 on_host ? ": leave the group out" : ": give it a distributed::nccl_group"));
    for (const ref<tensor_state>& b : buffers_)
      if (!b->contiguous)
        throw value_error(message("DistributedDataParallel: a buffer of shape ", b->sizes,
                                  " is a view with gaps: put a contiguous() copy there"));
    process_group& host = on_host ? group : world();
    detail::check_same(optim::detail::states_of(parameters), "parameter", host);
    detail::check_same(buffers_, "buffer", host);
    memory_ = std::make_unique<optim::detail::group_memory<T, Device>>(parameters);
    broadcast_state();
    if (group.world_size() > 1)
      reducer_ = std::make_unique<detail::reducer>(memory_->memory, kiln::detail::functions_of<Device>, group, host,
                                                   static_cast<std::int64_t>(options.bucket_cap_mb * 1024 * 1024),
                                                   options.overlap);
  }

  /// Copies the buffers of rank 0 (the running means of batch norms) to all: before a model is judged on many ranks.
  void broadcast_buffers() {
    for (const ref<tensor_state>& b : buffers_) broadcast_tensor(*b);
  }

  /// While it lives, backward passes leave each rank its own gradients: for the first passes of several that are
  /// collected for one step. The pass after it reduces what all of them have left.
  class no_sync_scope {
   public:
    explicit no_sync_scope(detail::reducer* of) : of_(of), before_(of && of->on) {
      if (of_) of_->on = false;
    }
    no_sync_scope(const no_sync_scope&) = delete;
    no_sync_scope& operator=(const no_sync_scope&) = delete;
    ~no_sync_scope() {
      if (of_) of_->on = before_;
    }

   private:
    detail::reducer* of_;
    bool before_;
  };
  [[nodiscard]] no_sync_scope no_sync() { return no_sync_scope(reducer_.get()); }

  /// How many buckets gradients go in; 0 for a single process.
  int bucket_count() const { return reducer_ ? static_cast<int>(reducer_->buckets().size()) : 0; }
  /// How many of them the last backward pass sent off before it ended.
  int early_buckets() const { return reducer_ ? reducer_->early() : 0; }

 private:
  template <class M>
  static std::vector<ref<tensor_state>> buffers_of(const M& module) {
    detail::buffer_collector all(&nn::detail::key_of_device<Device>);
    nn::detail::walk("", module, all);
    return std::move(all.found);
  }
  void broadcast_tensor(tensor_state& t) {
    group_.start_broadcast({t.data, count(t.sizes), t.type, t.memory}, 0)->wait();
    ++t.memory->version;
  }
  void broadcast_state() {
    broadcast_tensor(*memory_->memory.values());
    memory_->memory.values_changed({0, memory_->memory.size()});
    broadcast_buffers();
  }

  process_group& group_;
  std::vector<ref<tensor_state>> buffers_;
  std::unique_ptr<optim::detail::group_memory<T, Device>> memory_;
  std::unique_ptr<detail::reducer> reducer_;
};
template <class M>
DistributedDataParallel(M&, const data_parallel_options& = {})
    -> DistributedDataParallel<typename nn::detail::tensor_of<M>::value_type,
                               typename nn::detail::tensor_of<M>::device_type>;
template <class M>
DistributedDataParallel(M&, const data_parallel_options&, process_group&)
    -> DistributedDataParallel<typename nn::detail::tensor_of<M>::value_type,
                               typename nn::detail::tensor_of<M>::device_type>;

}  // namespace kiln::distributed
