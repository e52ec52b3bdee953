// SPDX-License-Identifier: BSL-1.0
// The definitions of compile.hpp.
#pragma once

#include <kiln/device/cuda/compile/compile.hpp>

namespace kiln::cuda {

KILN_INLINE std::vector<const char*> compile_options(const nvrtc_functions& nvrtc) {
  std::vector<const char*> options{"-std=c++20"};
  if (nvrtc.major > 12 || (nvrtc.major == 12 && nvrtc.minor >= 4)) options.push_back("--minimal");
  return options;
}

KILN_INLINE compile_request request_for(const source& printed, int architecture, const nvrtc_functions& nvrtc) {
  compile_request r{.text = printed.text, .name = printed.name, .architecture = architecture};
  for (const char* option : compile_options(nvrtc)) r.options += std::string(option) + " ";
  r.compiler = message("NVRTC ", nvrtc.major, ".", nvrtc.minor);
  return r;
}

namespace detail {

KILN_INLINE std::vector<int> architectures_of(const nvrtc_functions& nvrtc) {
  int count = 0;
  if (nvrtc.get_num_supported_archs(&count) != nvrtc_result::success) return {};
  std::vector<int> all(static_cast<std::size_t>(count));
  if (nvrtc.get_supported_archs(all.data()) != nvrtc_result::success) return {};
  return all;
}

KILN_INLINE int older_architecture(const nvrtc_functions& nvrtc, int architecture) {
  int best = 0;
  for (const int known : architectures_of(nvrtc)) {
    if (known == architecture) return 0;
    if (known < architecture) best = std::max(best, known);
  }
  return best;
}

KILN_INLINE std::string text_from(const nvrtc_functions& nvrtc, nvrtc_program program,
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

KILN_INLINE compile_result compile_text(const nvrtc_functions& nvrtc, const compile_request& request,
                                        const char* target, const std::vector<const char*>& more) {
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
  std::vector<const char*> options = compile_options(nvrtc);
  options.push_back(architecture.c_str());
  options.insert(options.end(), more.begin(), more.end());
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

KILN_INLINE compile_function compile_with(const nvrtc_functions& nvrtc) {
  return [&nvrtc](const compile_request& request) {
    const int older = detail::older_architecture(nvrtc, request.architecture);
    if (older == 0) return detail::compile_text(nvrtc, request, "sm_");
    compile_request text = request;
    text.architecture = older;
    return detail::compile_text(nvrtc, text, "compute_");
  };
}

}  // namespace kiln::cuda
