// SPDX-License-Identifier: BSL-1.0
// The compiler behind the cache: a printed kernel, with the embedded skeletons as its only headers, through NVRTC to
// machine code of one architecture. No driver and no GPU is needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <kiln/core/error.hpp>
#include <kiln/device/cuda/cache.hpp>
#include <kiln/device/cuda/nvrtc.hpp>
#include <kiln/device/cuda/skeletons.hpp>
#include <kiln/device/cuda/source.hpp>

namespace kiln::cuda {

/// What is asked of NVRTC for every kernel, besides the architecture. Multiplications and additions are contracted, as
/// on the CPU; nothing else is approximate.
inline constexpr std::array compile_options{"-std=c++20", "--minimal"};

/// A printed kernel as a request to this compiler.
inline compile_request request_for(const source& printed, int architecture, const nvrtc_functions& nvrtc) {
  compile_request r{.text = printed.text, .name = printed.name, .architecture = architecture};
  for (const char* option : compile_options) r.options += std::string(option) + " ";
  r.compiler = message("NVRTC ", nvrtc.major, ".", nvrtc.minor);
  return r;
}

namespace detail {

inline std::vector<int> architectures_of(const nvrtc_functions& nvrtc) {
  int count = 0;
  if (nvrtc.get_num_supported_archs(&count) != nvrtc_result::success) return {};
  std::vector<int> all(static_cast<std::size_t>(count));
  if (nvrtc.get_supported_archs(all.data()) != nvrtc_result::success) return {};
  return all;
}

inline std::string text_from(const nvrtc_functions& nvrtc, nvrtc_program program,
                             nvrtc_result (*size)(nvrtc_program, std::size_t*),
                             nvrtc_result (*read)(nvrtc_program, char*), const char* what) {
  std::size_t bytes = 0;
  std::string out;
  nvrtc_result result = size(program, &bytes);
  if (result == nvrtc_result::success) {
    out.resize(bytes);
    result = read(program, out.data());
  }
  if (result != nvrtc_result::success)
    throw device_error(message("NVRTC: cannot read ", what, ": ", nvrtc.get_error_string(result)));
  return out;
}

/// Runs NVRTC over a text; `target` is sm_ for machine code, compute_ for PTX.
inline compile_result compile_text(const nvrtc_functions& nvrtc, const compile_request& request, const char* target) {
  const std::vector<int> known = architectures_of(nvrtc);
  if (!known.empty() && std::find(known.begin(), known.end(), request.architecture) == known.end()) {
    std::string all;
    for (const int k : known) all += (all.empty() ? "" : ", ") + std::to_string(k);
    throw device_error(message("NVRTC ", nvrtc.major, ".", nvrtc.minor, " of ", nvrtc.file.path(),
                               " has no code for sm_", request.architecture, ", only for sm_ ", all,
                               ": install a version of CUDA that knows this device"));
  }
  std::vector<const char*> names, texts;
  for (const skeleton& s : skeletons) {  // literals: they end with a zero
    names.push_back(s.name.data());
    texts.push_back(s.text.data());
  }
  const std::string file = request.name + ".cu";
  nvrtc_program program = nullptr;
  nvrtc_result result = nvrtc.create_program(&program, request.text.c_str(), file.c_str(),
                                             static_cast<int>(names.size()), texts.data(), names.data());
  if (result != nvrtc_result::success)
    throw device_error(message("NVRTC: cannot begin with ", request.name, ": ", nvrtc.get_error_string(result)));
  const auto destroy = [&nvrtc](nvrtc_program_object* p) { nvrtc.destroy_program(&p); };
  const std::unique_ptr<nvrtc_program_object, decltype(destroy)> held(program, destroy);
  const std::string architecture = message("-arch=", target, request.architecture);
  std::vector<const char*> options(compile_options.begin(), compile_options.end());
  options.push_back(architecture.c_str());
  result = nvrtc.compile_program(program, static_cast<int>(options.size()), options.data());
  compile_result out;
  out.log = text_from(nvrtc, program, nvrtc.get_program_log_size, nvrtc.get_program_log, "its log");
  while (!out.log.empty() && (out.log.back() == '\0' || out.log.back() == '\n')) out.log.pop_back();
  if (result != nvrtc_result::success) {
    if (out.log.empty()) out.log = nvrtc.get_error_string(result);
    return out;
  }
  out.good = true;
  out.image = std::string(target) == "sm_"
                  ? text_from(nvrtc, program, nvrtc.get_cubin_size, nvrtc.get_cubin, "machine code")
                  : text_from(nvrtc, program, nvrtc.get_ptx_size, nvrtc.get_ptx, "PTX");
  return out;
}

}  // namespace detail

/// NVRTC as the compiler of a cache. Throws device_error for an architecture that it does not know.
inline compile_function compile_with(const nvrtc_functions& nvrtc) {
  return [&nvrtc](const compile_request& request) { return detail::compile_text(nvrtc, request, "sm_"); };
}

}  // namespace kiln::cuda
