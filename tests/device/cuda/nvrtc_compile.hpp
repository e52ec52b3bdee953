// SPDX-License-Identifier: BSL-1.0
// Compiles CUDA text for a device of some architecture. Where there is no NVRTC, or the stand-in in its place,
// `available()` prints that something is left out, and tests leave it out.
#pragma once

#include <kiln/device/cuda/compile/compile.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace nvrtc_test {

class library {
 public:
  static const library& instance() {
    static const library opened;
    return opened;
  }
  bool available() const {
    if (nvrtc_ == nullptr) {
      MESSAGE("SKIPPED: no libnvrtc can be opened here");
    } else if (nvrtc_->file.find("kiln_stand_in_compiled") != nullptr) {
      MESSAGE("SKIPPED: it compiles by NVRTC, in whose place is the stand-in");
    } else {
      return true;
    }
    return false;
  }
  /// The cubin of `text` for sm_`architecture`, made as fast as NVRTC can: for who asks whether a text compiles.
  kiln::cuda::compile_result compile(const std::string& text, int architecture) const {
    std::vector<const char*> fast;
    if (nvrtc_->major >= 13) fast.push_back("--Ofast-compile=max");
    return kiln::cuda::detail::compile_text(*nvrtc_, request(text, architecture), "sm_", fast);
  }
  /// The PTX of `text`, as a device gets it; empty if it does not compile.
  std::string ptx(const std::string& text, int architecture) const {
    return kiln::cuda::detail::compile_text(*nvrtc_, request(text, architecture), "compute_").image;
  }

 private:
  static kiln::cuda::compile_request request(const std::string& text, int architecture) {
    return {text, "kernels", architecture, {}, {}};
  }
  const kiln::cuda::nvrtc_functions* nvrtc_ = kiln::cuda::find_nvrtc();
};

}  // namespace nvrtc_test
