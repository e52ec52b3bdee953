// SPDX-License-Identifier: BSL-1.0
// Compiles CUDA text by the real NVRTC, for tests in a program that never loads the emulator. Where no NVRTC is
// installed `available()` says so, and tests leave it out; where one is installed but none was opened, they fail.
#pragma once

#include <kiln/device/cuda/compile/compile.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace nvrtc_test {

class library {
 public:
  static const library& instance() {
    static const library opened;
    return opened;
  }
  /// True if texts can be compiled. KILN_TEST_NVRTC names the NVRTC that the build found; then false is a failure.
  bool available() const {
    if (nvrtc_ == nullptr) {
      const char* const installed = std::getenv("KILN_TEST_NVRTC");
      if (installed != nullptr && *installed != 0)
        FAIL("NVRTC is installed (", std::string(installed), "), but was not opened: ", reason());
      MESSAGE("SKIPPED: no NVRTC is installed here, so no CUDA text is compiled");
      return false;
    }
    if (nvrtc_->file.find("kiln_stand_in_compiled") != nullptr) FAIL("the emulator is in NVRTC's place");
    return true;
  }
  /// Whether this NVRTC has code for sm_`architecture`.
  bool knows(int architecture) const {
    const std::vector<int> known = kiln::cuda::detail::architectures_of(*nvrtc_);
    return std::find(known.begin(), known.end(), architecture) != known.end();
  }
  /// Checks that `text` compiles for each architecture that this NVRTC knows, without a warning.
  void check_compiles(const std::string& text, std::initializer_list<int> architectures) const {
    for (const int architecture : architectures) {
      if (!knows(architecture)) continue;
      std::vector<const char*> fast;
      if (nvrtc_->major >= 13) fast.push_back("--Ofast-compile=max");
      const auto made = kiln::cuda::detail::compile_text(*nvrtc_, request(text, architecture), "sm_", fast);
      CHECK_MESSAGE(made.good, "sm_", architecture, ": ", made.log);
      CHECK_MESSAGE(made.log.empty(), "sm_", architecture, ": ", made.log);
      CHECK(made.image.size() > 500);
    }
  }
  /// The PTX of `text`, as a device gets it; empty if it does not compile.
  std::string ptx(const std::string& text, int architecture) const {
    return kiln::cuda::detail::compile_text(*nvrtc_, request(text, architecture), "compute_").image;
  }

 private:
  static kiln::cuda::compile_request request(const std::string& text, int architecture) {
    return {text, "kernels", architecture, {}, {}};
  }
  static std::string reason() {
    try {
      kiln::cuda::nvrtc();
    } catch (const kiln::device_error& caught) {
      return caught.what();
    }
    return {};
  }
  const kiln::cuda::nvrtc_functions* nvrtc_ = kiln::cuda::find_nvrtc();
};

/// How often `part` occurs in `text`.
inline int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace nvrtc_test
