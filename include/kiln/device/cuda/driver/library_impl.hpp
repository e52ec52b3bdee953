// SPDX-License-Identifier: BSL-1.0
// The definitions of library.hpp.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <kiln/core/environment.hpp>
#include <kiln/device/cuda/driver/library.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::string environment(const char* variable) {
  const char* value = kiln::detail::environment(variable);
  return value == nullptr ? std::string() : std::string(value);
}

KILN_INLINE std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  ::glob_t result{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &result) == 0) {
    for (std::size_t i = 0; i < result.gl_pathc; ++i) found.emplace_back(result.gl_pathv[i]);
  }
  ::globfree(&result);
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

KILN_INLINE std::vector<std::string> split_paths(const std::string& list) {
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) paths.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

KILN_INLINE std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == path.npos ? std::string() : path.substr(0, slash);
}

KILN_INLINE std::vector<std::string> roots_of_python(const std::string& path) {
  std::vector<std::string> roots;
  const auto add_root_of = [&](const std::string& folder) {
    std::string root = folder_of(folder);
    if (!root.empty() && std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(std::move(root));
  };
  for (const std::string& folder : split_paths(path)) {
    const std::string python = folder + "/python3";
    if (::access(python.c_str(), X_OK) != 0) continue;
    add_root_of(folder);
    const std::unique_ptr<char, decltype(&std::free)> target(::realpath(python.c_str(), nullptr), &std::free);
    if (target) add_root_of(folder_of(target.get()));
    break;
  }
  return roots;
}

KILN_INLINE std::vector<std::string> folders_of(const library_description& wanted) {
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
  const auto of_python = [&](const std::string& root) {
    for (const char* inside : wanted.wheel_folders) {
      for (const char* place : {"/lib/python3*/site-packages/", "/lib64/python3*/site-packages/"})
        folders.push_back(root + place + inside);
    }
  };
  // An environment that is in use without being activated: that of the first python3, and what PYTHONPATH adds to it.
  for (const std::string& root : roots_of_python(environment("PATH"))) of_python(root);
  for (const std::string& added : split_paths(environment("PYTHONPATH")))
    for (const char* inside : wanted.wheel_folders) folders.push_back(added + "/" + inside);
  folders.insert(folders.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda-1*/lib64", "/usr/local/nvidia/lib64",
                                 "/usr/local/nvidia/lib", "/usr/lib/wsl/lib"});
  const std::string home = environment("HOME");
  for (const char* inside : wanted.wheel_folders) {
    if (!home.empty()) folders.push_back(home + "/.local/lib/python3*/site-packages/" + inside);
    if (!home.empty()) folders.push_back(home + "/.pyenv/versions/*/lib/python3*/site-packages/" + inside);
    folders.push_back("/usr/local/lib/python3*/dist-packages/" + std::string(inside));
  }
  return folders;
}

KILN_INLINE std::string path_of(void* handle, const std::string& name) {
  const ::link_map* loaded = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0 && loaded->l_name[0] != 0 ? loaded->l_name : name;
}

KILN_INLINE std::string reason_of_failure() {
  const char* words = ::dlerror();
  return words == nullptr ? "no reason given" : words;
}

KILN_INLINE void* open_file(const std::string& path, const library_description& wanted) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr || wanted.companions == nullptr) return handle;
  // An open library is found by its name. Like the library itself it stays open.
  for (const std::string& companion : matches(folder_of(path_of(handle, path)) + "/" + wanted.companions))
    ::dlopen(companion.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace detail

KILN_INLINE library open_library(const library_description& wanted) {
  const std::string named = detail::environment(wanted.variable);
  if (!named.empty()) {
    if (void* handle = detail::open_file(named, wanted)) return library(handle, named, wanted.name);
    throw device_error(message(wanted.name, ": ", wanted.variable, " names ", named, ", which cannot be opened (",
                               detail::reason_of_failure(), "); correct the variable or remove it"));
  }
  for (const char* file : wanted.files) {
    if (void* handle = detail::open_file(file, wanted))
      return library(handle, detail::path_of(handle, file), wanted.name);
  }
  std::string broken;  // a file that is there but cannot be opened explains more than all that are not there
  const std::vector<std::string> folders = detail::folders_of(wanted);
  for (const char* file : wanted.files) {
    for (const std::string& folder : folders) {
      for (const std::string& path : detail::matches(folder + "/" + file)) {
        if (void* handle = detail::open_file(path, wanted)) return library(handle, path, wanted.name);
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
