// SPDX-License-Identifier: BSL-1.0
// Printed kernels on the emulator: many texts become one module, each runs on device memory of exact size.
#pragma once

#include <kiln/device/cuda/plan/source.hpp>
#include <kiln/device/cuda/print/skeletons.hpp>

#include "cuda_emulator/module.hpp"
#include "cuda_emulator/watch.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace emulated {

inline std::vector<emulate::named_text> headers() {
  std::vector<emulate::named_text> all;
  for (const kiln::cuda::skeleton& s : kiln::cuda::skeletons) all.push_back({std::string(s.name), std::string(s.text)});
  return all;
}

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
  emulate::buffer<char> bytes_;
};

/// Runs one printed kernel over `job`, as planned. At most `resident` blocks, so that threads walk on.
inline void run(const emulate::module& module, const kiln::cuda::source& s, const kiln::cuda::plan& p,
                const kiln::cuda::task& job, std::int64_t resident = 3, const std::vector<void*>& scratch = {},
                std::uint32_t* fault = nullptr, std::uint64_t seed = 0) {
  static std::uint64_t launches = 0;  // every launch in another order, the same ones every time
  if (seed == 0) seed = ++launches;
  auto bits = [](const void* at) { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at)); };
  std::vector<std::uint64_t> shares;
  for (const void* at : scratch) shares.push_back(bits(at));
  static emulate::buffer<std::uint64_t> no_offset{0};
  static emulate::buffer<std::uint32_t> finished{0};
  std::vector<std::uint64_t> values =
      arguments_of(s, p, job, shares, bits(fault), bits(no_offset.data()), bits(finished.data()));
  std::vector<void*> places;
  for (std::uint64_t& value : values) places.push_back(&value);
  const emulator::kernel* const found = module.find(s.name);
  if (!found) throw emulate::failure("no kernel " + s.name);
  module.run(found->run,
             {.grid = {static_cast<unsigned>(blocks_for(p, job, resident))},
              .block = {static_cast<unsigned>(p.threads)},
              .shared_bytes = s.shared_bytes,
              .seed = seed},
             places.data());
  if (finished[0] != 0) throw emulate::failure("the count of blocks is not 0 after the kernel " + s.name);
}

}  // namespace emulated
