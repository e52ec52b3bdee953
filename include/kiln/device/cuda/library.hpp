// SPDX-License-Identifier: BSL-1.0
// Opens NVIDIA's libraries at run time: where they are looked for, and what is said when they are not there. Nothing is
// linked, so one program runs with and without a GPU.
#pragma once

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>

namespace kiln::cuda {

/// What is needed to find one library.
struct library_description {
  const char* name;                            ///< for messages: "NVRTC"
  const char* variable;                        ///< names a file that is then the only one tried: KILN_LIBNVRTC
  std::span<const char* const> files;          ///< file names, the most wanted first
  std::span<const char* const> wheel_folders;  ///< its folders in Python's packages: "nvidia/cuda_nvrtc/lib"
  const char* install;                         ///< the way out when there is none
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

inline std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

// Paths that match, the highest version first: ".../cuda-13.0" before ".../cuda-12.4".
inline std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  ::glob_t result{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &result) == 0) {
    for (std::size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  }
  ::globfree(&result);
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// Folders to look in after the system's own, as patterns: the toolkit's, then those of Python's wheels.
inline std::vector<std::string> folders_of(const library_description& wanted) {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"}) {
    const std::string root = environment(variable);
    if (!root.empty()) folders.insert(folders.end(), {root + "/lib64", root + "/lib"});
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = environment(variable);
    if (root.empty()) continue;
    folders.push_back(root + "/lib");
    for (const char* inside : wanted.wheel_folders) folders.push_back(root + "/lib/python3*/site-packages/" + inside);
  }
  folders.insert(folders.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda-1*/lib64", "/usr/lib/wsl/lib"});
  const std::string home = environment("HOME");
  for (const char* inside : wanted.wheel_folders) {
    if (!home.empty()) folders.push_back(home + "/.local/lib/python3*/site-packages/" + inside);
    folders.push_back("/usr/local/lib/python3*/dist-packages/" + std::string(inside));
  }
  return folders;
}

// The file behind an open library, in full where the loader tells.
inline std::string path_of(void* handle, const std::string& name) {
  const ::link_map* loaded = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0 && loaded->l_name[0] != 0 ? loaded->l_name : name;
}

inline std::string reason_of_failure() {
  const char* words = ::dlerror();
  return words == nullptr ? "no reason given" : words;
}

}  // namespace detail

/// Opens a library: the file that its variable names, and no other, if it is set; else by name, as the system finds it
/// (already loaded, LD_LIBRARY_PATH, the system's folders), then in the toolkit's folders and in those of Python's
/// wheels. Throws device_error that says where it looked and what to install.
inline library open_library(const library_description& wanted) {
  const std::string named = detail::environment(wanted.variable);
  if (!named.empty()) {
    if (void* handle = ::dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL)) return library(handle, named, wanted.name);
    throw device_error(message(wanted.name, ": ", wanted.variable, " names ", named, ", which cannot be opened (",
                               detail::reason_of_failure(), "); correct the variable or remove it"));
  }
  for (const char* file : wanted.files) {
    if (void* handle = ::dlopen(file, RTLD_NOW | RTLD_LOCAL))
      return library(handle, detail::path_of(handle, file), wanted.name);
  }
  std::string broken;  // a file that is there but cannot be opened explains more than all that are not there
  const std::vector<std::string> folders = detail::folders_of(wanted);
  for (const char* file : wanted.files) {
    for (const std::string& folder : folders) {
      for (const std::string& path : detail::matches(folder + "/" + file)) {
        if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library(handle, path, wanted.name);
        if (broken.empty()) broken = path + " cannot be opened (" + detail::reason_of_failure() + "); ";
      }
    }
  }
  std::string files, places;
  for (const char* file : wanted.files) files += (files.empty() ? "" : ", ") + std::string(file);
  for (const std::string& folder : folders) places += ", " + folder;
  throw device_error(message(wanted.name, " not found: ", broken, "looked for ", files,
                             " by name (LD_LIBRARY_PATH and the system's folders)", places, "; ", wanted.install,
                             ", or set ", wanted.variable, " to the file"));
}

}  // namespace kiln::cuda
