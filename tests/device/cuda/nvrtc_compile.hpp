// SPDX-License-Identifier: BSL-1.0
// Compiles CUDA text for a device of some architecture, with nothing but the embedded skeletons as headers; where no
// NVRTC can be opened, `available()` says so and tests skip.
#pragma once

#include <kiln/device/cuda/skeletons.hpp>

#include <dlfcn.h>

#include <string>
#include <vector>

namespace nvrtc_test {

/// The five functions of libnvrtc that are needed, opened once.
class library {
 public:
  static const library& instance() {
    static const library opened;
    return opened;
  }
  bool available() const { return log_ != nullptr; }

  struct result {
    bool good = false;
    std::string log, image;
  };
  /// The PTX of `text`; empty if it does not compile.
  std::string ptx(const std::string& text, int architecture) const {
    return compile(text, architecture, "-arch=compute_", ptx_size_, ptx_).image;
  }
  /// The cubin of `text` for sm_`architecture`.
  result compile(const std::string& text, int architecture) const {
    return compile(text, architecture, "-arch=sm_", cubin_size_, cubin_);
  }

 private:
  using sizing = int (*)(void*, std::size_t*);
  using reading = int (*)(void*, char*);
  result compile(const std::string& text, int architecture, const char* target, sizing size_of, reading read) const {
    std::vector<const char*> names, texts;
    for (const kiln::cuda::skeleton& s : kiln::cuda::skeletons)
      names.push_back(s.name.data()), texts.push_back(s.text.data());
    void* program = nullptr;
    if (create_(&program, text.c_str(), "kernels.cu", static_cast<int>(names.size()), texts.data(), names.data()) != 0)
      return {};
    const std::string arch = target + std::to_string(architecture);
    const char* options[] = {"-std=c++20", arch.c_str(), "--minimal"};
    result out;
    out.good = compile_(program, 3, options) == 0;
    std::size_t size = 0;
    log_size_(program, &size);
    out.log.resize(size);
    log_(program, out.log.data());
    while (!out.log.empty() && (out.log.back() == '\0' || out.log.back() == '\n')) out.log.pop_back();
    if (out.good) {
      size_of(program, &size);
      out.image.resize(size);
      read(program, out.image.data());
    }
    destroy_(&program);
    return out;
  }
  library() {
    void* opened = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"})
      if (!opened) opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!opened) return;
    auto find = [&](auto& to, const char* name) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(::dlsym(opened, name));
    };
    find(create_, "nvrtcCreateProgram");
    find(compile_, "nvrtcCompileProgram");
    find(destroy_, "nvrtcDestroyProgram");
    find(log_size_, "nvrtcGetProgramLogSize");
    find(cubin_size_, "nvrtcGetCUBINSize");
    find(cubin_, "nvrtcGetCUBIN");
    find(ptx_size_, "nvrtcGetPTXSize");
    find(ptx_, "nvrtcGetPTX");
    find(log_, "nvrtcGetProgramLog");
  }
  int (*create_)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*destroy_)(void**) = nullptr;
  int (*log_size_)(void*, std::size_t*) = nullptr;
  int (*log_)(void*, char*) = nullptr;
  sizing cubin_size_ = nullptr, ptx_size_ = nullptr;
  reading cubin_ = nullptr, ptx_ = nullptr;
};

}  // namespace nvrtc_test
