// SPDX-License-Identifier: BSL-1.0
// The host compiler that stands in for NVRTC, and the files that it takes and leaves.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace emulate {

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// The same at once: other processes may read or write the file at the same time, and find all of it or none. A file
/// that cannot be written is left out.
inline void write_whole_file(const std::string& path, std::string_view content) {
  std::string own = path + ".XXXXXX";  // this thread's own
  if (const int file = ::mkstemp(own.data()); file < 0 || ::close(file) != 0) return;
  write_file(own, content);
  if (std::rename(own.c_str(), path.c_str()) != 0) std::remove(own.c_str());
}

/// A folder that ends with its holder.
class scratch_folder {
 public:
  scratch_folder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr && *base != 0 ? base : "/tmp") + "/kiln_emulator_XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder can be made at " + path_);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    const std::string command = "rm -rf '" + path_ + "'";
    if (std::system(command.c_str()) != 0) return;  // a folder left behind in /tmp harms nobody
  }
  const std::string& path() const { return path_; }
  /// A file in it, with the folders that its name has.
  void write(const std::string& name, std::string_view content) const {
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
      ::mkdir((path_ + "/" + name.substr(0, slash)).c_str(), 0700);  // which may be there: then the file says the rest
    write_file(path_ + "/" + name, content);
  }

 private:
  std::string path_;
};

inline std::string folder_of_emulator() {
#if defined(KILN_TEST_SOURCE_DIR)
  return KILN_TEST_SOURCE_DIR "/tests/cuda_emulator/";
#else
  const std::string here = __FILE__;  // as far as the compiler was told: give -I an absolute path
  return here.substr(0, here.find_last_of('/') + 1);
#endif
}

// KILN_HOST_CXX, or g++ even where clang++ made the test: clang++ does not check the alignment of a vector that is
// copied whole.
// (Not one string for all threads: the stand-in is built without the thread sanitizer, which does not see it made.)
inline std::string host_compiler() {
  if (const char* named = std::getenv("KILN_HOST_CXX"); named != nullptr && *named != 0) return named;
  static const bool gnu = std::system("command -v g++ > /dev/null 2>&1") == 0;
  return gnu ? "g++" : "clang++";
}

inline bool host_compiler_is_clang() {
  return host_compiler().find("clang") != std::string::npos;
}

}  // namespace emulate
