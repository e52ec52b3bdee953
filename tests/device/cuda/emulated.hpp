// SPDX-License-Identifier: BSL-1.0
// Printed kernels on the emulator: many texts become one module, each runs on device memory of exact size. With
// KILN_TEST_ON_GPU=1 the same kernels are NVRTC's and run on the GPU, over pinned memory that host and device see.
#pragma once

#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/skeletons.hpp>

#include "cuda_emulator/collected_texts.hpp"
#include "cuda_emulator/module.hpp"
#include "cuda_emulator/stand_in.hpp"
#include "cuda_emulator/watch.hpp"

#include <kiln/device/cuda/compile/compile.hpp>
#include <kiln/device/cuda/driver/driver_module.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace emulated {

inline std::vector<emulate::named_text> headers() {
  std::vector<emulate::named_text> all;
  for (const kiln::cuda::skeleton& s : kiln::cuda::skeletons) all.push_back({std::string(s.name), std::string(s.text)});
  return all;
}

/// Memory that kernels see, for exactly `size` values, filled with 0xff bytes.
template <class T>
class buffer {
 public:
  explicit buffer(std::size_t size, std::size_t offset = 0) : size_(size) {
    if (!emulate::on_gpu()) {
      start_ = emulated_.emplace(size, offset).data();
      return;
    }
    pinned_ = kiln::cuda::new_pinned_storage((offset + size) * sizeof(T));
    start_ = static_cast<T*>(pinned_->data) + offset;
    std::memset(pinned_->data, 0xff, (offset + size) * sizeof(T));
  }
  buffer(std::initializer_list<T> values) : buffer(values.size()) { std::copy(values.begin(), values.end(), start_); }
  T* data() { return start_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return start_[index]; }

 private:
  std::optional<emulate::buffer<T>> emulated_;
  kiln::ref<kiln::storage> pinned_;
  std::size_t size_;
  T* start_ = nullptr;
};

/// The kernels of a text, compiled.
class module {
 public:
  explicit module(const std::string& text, const std::vector<emulate::named_text>& headers = emulated::headers()) {
    if (!emulate::on_gpu()) {
      emulated_.emplace(text, headers);
      emulate::collect_text(text);
      return;
    }
    const kiln::Cuda device;
    const auto made = kiln::cuda::compile_with(kiln::cuda::nvrtc())(
        {text, "kernels", kiln::cuda::properties(device).architecture, {}, {}});
    if (!made.good) throw emulate::failure("the text does not compile:\n" + made.log);
    image_ = made.image;
    loaded_.emplace(device, image_.data());
  }
  /// Runs a kernel, and waits for its end.
  void run(const std::string& name, const emulate::shape& how, void** arguments) const {
    if (emulated_) {
      const emulator::kernel* const found = emulated_->find(name);
      if (!found) throw emulate::failure("no kernel " + name);
      return emulated_->run(*found, how, arguments);
    }
    const kiln::cuda::stream& where = kiln::cuda::current_stream({});
    const kiln::cuda::device_function kernel = loaded_->function(name);
    if (how.shared_bytes > 0) kernel.allow_shared_bytes(how.shared_bytes);
    kernel.launch({how.grid.x, how.grid.y, how.grid.z, how.block.x, how.block.y, how.block.z, how.shared_bytes}, where,
                  arguments);
    where.synchronize();
  }
  /// The same with the arguments themselves, of exactly the parameters' types.
  template <class... Arguments>
  void launch(const std::string& name, const emulate::shape& how, Arguments... arguments) const {
    void* places[] = {static_cast<void*>(&arguments)..., nullptr};
    run(name, how, places);
  }

 private:
  std::optional<emulate::module> emulated_;
  std::string image_;
  std::optional<kiln::cuda::loaded_module> loaded_;
};

/// Device memory for elements of any type, at exactly its size, `offset` elements off its alignment.
class memory {
 public:
  memory(kiln::dtype type, std::size_t count, std::size_t offset = 0)
      : type_(type), bytes_(count * kiln::size_of(type), offset * kiln::size_of(type)) {}
  void* data() { return bytes_.data(); }
  kiln::dtype type() const { return type_; }
  std::size_t size() const { return bytes_.size() / kiln::size_of(type_); }
  /// Element i as a number, and back.
  long double operator[](std::size_t i) {
    return kiln::visit_dtype(type_, [&]<class T>(std::type_identity<T>) {
      T value;
      std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
      return static_cast<long double>(static_cast<kiln::compute_t<T>>(value));
    });
  }
  void set(std::size_t i, double value) {
    kiln::visit_dtype(type_, [&]<class T>(std::type_identity<T>) {
      const T element = static_cast<T>(static_cast<kiln::compute_t<T>>(value));
      std::memcpy(bytes_.data() + i * sizeof(T), &element, sizeof(T));
    });
  }
  template <class T>
  void copy(const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];
      std::memcpy(bytes_.data() + i * sizeof(T), &value, sizeof(T));
    }
  }

 private:
  kiln::dtype type_;
  buffer<char> bytes_;
};

/// Runs one printed kernel over `job`, as planned. At most `resident` blocks, so that threads walk on.
inline void run(const module& kernels, const kiln::cuda::source& s, const kiln::cuda::plan& p,
                const kiln::cuda::task& job, std::int64_t resident = 3, const std::vector<void*>& scratch = {},
                std::uint32_t* fault = nullptr, std::uint64_t seed = 0) {
  static std::uint64_t launches = 0;  // every launch in another order, the same ones every time
  if (seed == 0) seed = ++launches;
  auto bits = [](const void* at) { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at)); };
  std::vector<std::uint64_t> shares;
  for (const void* at : scratch) shares.push_back(bits(at));
  static buffer<std::uint64_t>& no_offset = *new buffer<std::uint64_t>{0};
  static buffer<std::uint32_t>& finished = *new buffer<std::uint32_t>{0};
  std::vector<std::uint64_t> values =
      arguments_of(s, p, job, shares, bits(fault), bits(no_offset.data()), bits(finished.data()));
  std::vector<void*> places;
  for (std::uint64_t& value : values) places.push_back(&value);
  kernels.run(s.name,
              {.grid = {static_cast<unsigned>(blocks_for(p, job, resident))},
               .block = {static_cast<unsigned>(p.threads)},
               .shared_bytes = s.shared_bytes,
               .seed = seed},
              places.data());
  if (finished[0] != 0) throw emulate::failure("the count of blocks is not 0 after the kernel " + s.name);
}

}  // namespace emulated
