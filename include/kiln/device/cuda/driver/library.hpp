// SPDX-License-Identifier: BSL-1.0
// Opens NVIDIA's libraries at run time: where they are looked for, and what is said when they are not there. Nothing is
// linked, so one program runs with and without a GPU.
#pragma once

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/core/version.hpp>

namespace kiln::cuda {

/// What is needed to find one library.
struct library_description {
  const char* name;                            ///< for messages: "NVRTC"
  const char* variable;                        ///< names a file that is then the only one tried: KILN_LIBNVRTC
  std::span<const char* const> files;          ///< file names, the most wanted first
  std::span<const char* const> wheel_folders;  ///< its folders in Python's packages: "nvidia/cuda_nvrtc/lib"
  const char* install;                         ///< the way out when there is none
  /// A pattern of files that the library opens by name, where the system may not find them: those in its own folder are
  /// opened with it. Null if there are none.
  const char* companions = nullptr;
};

/// An open library. It stays open until the program ends, since what it gave may be in use until then.
class library {
 public:
  library() = default;
  library(void* handle, std::string path, const char* name) : handle_(handle), path_(std::move(path)), name_(name) {}

  /// Sets `function` to the library's function `symbol`. Throws device_error if the library has none.
  template <class Function>
  void get(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
    if (function == nullptr) {
      throw device_error(message(name_, ": ", path_, " has no function ", symbol,
                                 "; it is too old (kiln needs CUDA 12.0 or newer): update it"));
    }
  }
  /// Null if the library has no such symbol.
  void* find(const char* symbol) const { return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol); }
  /// Where it was found.
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
  const char* name_ = "";
};

namespace detail {

std::string environment(const char* variable);

// Paths that match, the highest version first: ".../cuda-13.0" before ".../cuda-12.4".
std::vector<std::string> matches(const std::string& pattern);

// The parts of a list like PATH.
std::vector<std::string> split_paths(const std::string& list);

// The folders above that of the first python3 of a PATH and, if that is a link, of the interpreter that it leads to:
// those of a virtual environment and of what it was made from. Empty if there is no python3.
std::vector<std::string> roots_of_python(const std::string& path);

// Folders to look in after the system's own, as patterns: the toolkit's, then those of Python's wheels.
std::vector<std::string> folders_of(const library_description& wanted);

// The folder of a file; empty for a bare name.
std::string folder_of(const std::string& path);

// The file behind an open library, in full where the loader tells.
std::string path_of(void* handle, const std::string& name);

std::string reason_of_failure();

// Opens a file as a library, and the companions beside it. The handle is null if it cannot be opened.
void* open_file(const std::string& path, const library_description& wanted);

}  // namespace detail

/// Opens a library: the file that its variable names, and no other, if it is set; else by name, as the system finds it
/// (already loaded, LD_LIBRARY_PATH, the system's folders), then in the toolkit's folders and in those of Python's
/// wheels. Throws device_error that says where it looked and what to install.
library open_library(const library_description& wanted);

}  // namespace kiln::cuda

#ifndef KILN_COMPILED
#include <kiln/device/cuda/driver/library_impl.hpp>
#endif
