// SPDX-License-Identifier: BSL-1.0
// Processes that have a GPU each, through NCCL. They find each other by a group on the processor, mostly
// distributed::world(). Collectives run on a stream of their own, so that they go on beside the kernels of a backward
// pass; who waits for one is the current stream, not the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <kiln/device/cuda/driver/context.hpp>
#include <kiln/device/cuda/driver/device.hpp>
#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/memory/memory.hpp>
#include <kiln/device/cuda/driver/stream.hpp>
#include <kiln/distributed/nccl.hpp>
#include <kiln/distributed/process_group.hpp>

namespace kiln::distributed {

/// The ranks of `host`, each with one GPU: `nccl_group gpus(distributed::world(), Cuda{local_rank})`. Every rank makes
/// it. Throws device_error without NCCL or the GPU, and for two ranks on one GPU.
class nccl_group final : public process_group {
 public:
  explicit nccl_group(process_group& host, Cuda device = {})
      : device_(device), rank_(host.rank()), size_(host.world_size()) {
    nccl_id id{};
    agree(host, [&] {
      const cuda::device_scope scope(device_);
      stream_ = cuda::stream::create(device_);
      if (rank_ == 0) check(api().get_unique_id(&id), "nccl_group", api());
    });
    host.start_broadcast({id.bytes, sizeof id.bytes, dtype::uint8, nullptr}, 0)->wait();
    const cuda::device_scope scope(device_);
    check(api().comm_init_rank(&communicator_, size_, id, rank_), "nccl_group", api());
  }
  ~nccl_group() override {
    // The others may never come to the end of what has been started here.
    if (std::uncaught_exceptions() > 0)
      api().comm_abort(communicator_);
    else
      api().comm_destroy(communicator_);
  }

  int rank() const override { return rank_; }
  int world_size() const override { return size_; }
  std::string_view backend() const override { return "nccl"; }
  bool on_cuda() const override { return true; }
  Cuda device() const { return device_; }

  std::unique_ptr<work> start_all_reduce(const elements& of, reduce_op op) override {
    detail::check_reduction(of.type, op);
    const nccl_type type = nccl_type_of(of.type);
    return start("all_reduce", of, of, [&] {
      return api().all_reduce(of.data, of.data, count_of(of), type, nccl_reduction_of(of.type, op), communicator_,
                              stream_.handle());
    });
  }
  std::unique_ptr<work> start_broadcast(const elements& of, int root) override {
    detail::check_root(*this, root, "broadcast");
    return start("broadcast", of, of, [&] {
      return api().broadcast(of.data, of.data, count_of(of) * size_of(of.type), nccl_type::uint8, root, communicator_,
                             stream_.handle());
    });
  }
  std::unique_ptr<work> start_all_gather(const elements& of, const elements& all) override {
    if (all.count != of.count * size_ || all.type != of.type)
      throw value_error(message("distributed::all_gather: ", of.count, " elements of each of ", size_,
                                " ranks do not fill ", all.count, ": make room for their product"));
    return start("all_gather", of, all, [&] {
      return api().all_gather(of.data, all.data, count_of(of) * size_of(of.type), nccl_type::uint8, communicator_,
                              stream_.handle());
    });
  }
  void barrier() override {
    const ref<storage> one = cuda::new_storage(1, device_);
    start_all_reduce({one->data, 1, dtype::uint8, one}, reduce_op::max)->wait();
    cuda::current_stream(device_).synchronize();
  }

 private:
  class pending final : public work {
   public:
    pending(const nccl_group& group, const char* what, cuda::event done)
        : group_(group), what_(what), done_(std::move(done)) {}
    bool completed() override {
      look_for_errors();
      return done_.finished();
    }
    void wait() override {
      look_for_errors();
      done_.hold_back(cuda::current_stream(group_.device_));
    }

   private:
    void look_for_errors() const {
      nccl_status met = nccl_status::success;
      check(api().comm_get_async_error(group_.communicator_, &met), what_, api());
      if (met != nccl_status::in_progress) check(met, what_, api());
    }
    const nccl_group& group_;
    const char* what_;
    cuda::event done_;
  };

  static const nccl_functions& api() { return nccl_api(); }

  /// Does what each rank has to, and throws on all of them if one could not: the others would wait for it for ever.
  template <class Step>
  static void agree(process_group& host, Step step) {
    std::exception_ptr own;
    try {
      step();
    } catch (...) {
      own = std::current_exception();
    }
    std::uint8_t failed = own != nullptr;
    host.start_all_reduce({&failed, 1, dtype::uint8, nullptr}, reduce_op::max)->wait();
    if (own) std::rethrow_exception(own);
    if (failed)
      throw device_error(message("distributed::nccl_group: another rank has no GPU or no NCCL, rank ", host.rank(),
                                 " has both: see what that one says"));
  }
  static std::size_t count_of(const elements& of) { return static_cast<std::size_t>(of.count); }

  template <class Call>
  std::unique_ptr<work> start(const char* what, const elements& of, const elements& all, Call call) {
    const cuda::device_scope scope(device_);
    cuda::hold_back(stream_, cuda::current_stream(device_));  // what is reduced has to be there
    for (const elements* each : {&of, &all})
      if (each->memory) cuda::record_use(*each->memory, stream_);
    check(call(), what, api());
    cuda::event done(device_);
    done.record(stream_);
    return std::make_unique<pending>(*this, what, std::move(done));
  }

  Cuda device_;
  int rank_, size_;
  cuda::stream stream_;
  nccl_communicator communicator_ = nullptr;
};

}  // namespace kiln::distributed
