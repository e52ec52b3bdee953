// SPDX-License-Identifier: BSL-1.0
// The definitions of bundle_write.hpp.
#pragma once

#include <kiln/device/cuda/compile/bundle_write.hpp>

namespace kiln::cuda {

KILN_INLINE std::string compile_bundle(const std::vector<source>& sources, const std::vector<int>& architectures,
                                       const nvrtc_functions& compiler) {
  constexpr std::size_t per_image = 8;  // the compiler's own start is a good part of the time of one kernel
  std::vector<bundle_part> parts;
  std::vector<compile_request> requests;
  for (const int architecture : architectures) {
    std::size_t count = 0;
    for (const source& one : sources) {
      if (one.architecture() > architecture) continue;
      if (count++ % per_image == 0) {
        parts.push_back({.architecture = architecture, .keys = {}, .image = {}});
        requests.push_back({.text = {}, .name = one.name, .architecture = architecture});
      }
      parts.back().keys.push_back(bundle_key(one.text, architecture));
      requests.back().text += one.text;
    }
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failed;
  const auto compile = [&](const compile_request& request) {
    compile_result made = detail::compile_text(compiler, request, "sm_");
    if (!made.good)
      throw device_error(message("NVRTC does not compile kernels of this bundle for sm_", request.architecture,
                                 ". This is a mistake in kiln: please report it with this text.\n", made.log, "\n",
                                 numbered(request.text)));
    return std::move(made.image);
  };
  const auto work = [&] {
    try {
      for (std::size_t k = next++; k < parts.size(); k = next++) parts[k].image = compile(requests[k]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed) failed = std::current_exception();
      next = parts.size();  // the others end after what they have begun
    }
  };
  std::vector<std::thread> threads;
  try {
    for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(work);
  } catch (...) {  // those there are do all of it
  }
  work();
  for (std::thread& t : threads) t.join();
  if (failed) std::rethrow_exception(failed);
  return bundle_bytes(parts);
}

KILN_INLINE std::vector<int> architectures_in(std::string_view list) {
  std::vector<int> all;
  int number = 0, digits = 0;
  for (const char c : std::string(list) + ",") {
    if (c >= '0' && c <= '9' && digits < 4) {
      number = 10 * number + (c - '0');
      ++digits;
    } else if (c == ',' && digits > 0) {
      all.push_back(number);
      number = digits = 0;
    } else {
      throw value_error(message("\"", list, "\" is no list of architectures: give numbers as in sm_90, such as 80,90"));
    }
  }
  return all;
}

KILN_INLINE void write_bundle(const std::string& path, std::string_view bytes) {
  const std::string beside = path + ".part";
  std::ofstream file(beside, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code failed;
  if (file) std::filesystem::rename(beside, path, failed);
  if (!file || failed) throw device_error(message("the bundle cannot be written to ", path));
}

KILN_INLINE bool write_bundle_if_asked(int& status) {
  const std::string path = detail::environment("KILN_BUNDLE_WRITE");
  if (path.empty()) return false;
  try {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<int> architectures = architectures_in(detail::environment("KILN_BUNDLE_ARCHS"));
    const std::vector<registered_tape> tapes = registered_tapes();
    const std::vector<source> sources = bundle_sources(tapes, registered_sources());
    const std::string bytes = compile_bundle(sources, architectures, nvrtc());
    write_bundle(path, bytes);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::cout << message("kiln_bundle: ", tapes.size(), " tapes, ", sources.size(), " kernels for each of ",
                         architectures.size(), " architectures, ", bytes.size(), " bytes, ", took.count(), " s\n");
    status = 0;
  } catch (const std::exception& caught) {
    std::cerr << "kiln_bundle: no bundle was made. " << caught.what() << "\n";
    status = 1;
  }
  return true;
}

}  // namespace kiln::cuda
