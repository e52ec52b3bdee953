// SPDX-License-Identifier: BSL-1.0
// Any bytes in a compiled kernel's place. As a file: nothing is read, or an image that its checksum fits. As an image
// under a good checksum: read back as it is, and refused or let through without being read beyond its end.
#include <kiln/device/cuda/compile/cache_disk.hpp>
#include <kiln/device/cuda/driver/driver_module.hpp>

#include "memory_file.hpp"

#include <fstream>

namespace {

const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/kiln_fuzz_XXXXXX" : "/tmp/kiln_fuzz_XXXXXX";
    fuzz::promise(::mkdtemp(name.data()) != nullptr);
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return std::filesystem::path(name);
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const kiln::cuda::disk_cache disk({folder(), std::uint64_t{1} << 30, {}});
  const kiln::cuda::cache_key key{1, 2};
  std::ofstream(disk.place_of(key), std::ios::binary) << bytes;
  if (const auto image = disk.read(key)) fuzz::promise(!image->empty() && bytes.ends_with(*image));
  if (!bytes.empty()) {
    fuzz::promise(disk.write(key, bytes));
    fuzz::promise(disk.read(key) == bytes);
    disk.drop(key);
  }
  try {
    kiln::cuda::check_image(std::string(bytes));
  } catch (const kiln::cuda::bad_image&) {
  }
  try {
    kiln::cuda::detail::bytes_of(std::string(bytes));
  } catch (const kiln::value_error&) {
  }
  return 0;
}
