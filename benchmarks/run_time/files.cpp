// SPDX-License-Identifier: BSL-1.0
// Files of 1 GiB: until the first element of a mapped one is there, and how fast one is written, beside dd, which
// brings it to the disk too. KILN_BENCH_FOLDER names where; by default where temporary files go.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <kiln/io/npy.hpp>
#include <kiln/io/safetensors.hpp>

namespace {

constexpr std::int64_t bytes = std::int64_t{1} << 30;

std::filesystem::path place(const char* name) {
  const char* const folder = std::getenv("KILN_BENCH_FOLDER");
  return (folder ? std::filesystem::path(folder) : std::filesystem::temp_directory_path()) / name;
}
/// 1 GiB of numbers that no disk compresses away.
const kiln::Tensor<float>& values() {
  static const kiln::Tensor<float> x = [] {
    auto made = kiln::empty<float>({bytes / 4});
    auto* const words = reinterpret_cast<std::uint32_t*>(made.data());
    std::uint32_t state = 1;
    for (std::int64_t i = 0; i < bytes / 4; ++i) words[i] = (state = state * 1664525u + 1013904223u) >> 9 | 0x3f000000u;
    return made;
  }();
  return x;
}
/// A file that goes away with the program.
struct file_for_all {
  std::filesystem::path path;
  ~file_for_all() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

/// Where no file is: else both would have to be kept for a while.
const std::filesystem::path& emptied(const file_for_all& file) {
  std::filesystem::remove(file.path);
  return file.path;
}

template <class F>
void repeat(const char* name, bool moves_all, F f) {
  auto* const b = benchmark::RegisterBenchmark(name, [f, moves_all](benchmark::State& state) {
    for (auto _ : state) f();
    if (moves_all) state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * bytes);
  });
  b->UseRealTime()->Unit(benchmark::kMillisecond);
  if (moves_all) b->Iterations(1)->Repetitions(5);
}

const bool registered = [] {
  static const file_for_all npy{place("kiln_bench.npy")}, tensors{place("kiln_bench.safetensors")},
      plain{place("kiln_bench.dd")};
  values();
  repeat("write/npy", true, [] { kiln::io::write_npy(emptied(npy), values()); });
  repeat("write/safetensors", true, [] { kiln::io::write_safetensors(emptied(tensors), {{"x", values()}}); });
  repeat("write/dd", true, [] {
    const std::string command =
        "dd if=/dev/zero of='" + emptied(plain).string() + "' bs=1M count=1024 conv=fsync 2>/dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("dd failed");
  });
  repeat("map/npy", false, [] {
    if (!std::filesystem::exists(npy.path)) kiln::io::write_npy(npy.path, values());
    benchmark::DoNotOptimize(kiln::io::map_npy<float>(npy.path)(12345));
  });
  repeat("map/safetensors", false, [] {
    if (!std::filesystem::exists(tensors.path)) kiln::io::write_safetensors(tensors.path, {{"x", values()}});
    benchmark::DoNotOptimize(kiln::io::map_safetensors(tensors.path).at("x").as<float>()(12345));
  });
  return true;
}();

}  // namespace
