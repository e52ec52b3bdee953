// SPDX-License-Identifier: BSL-1.0
// A stand-in for libnvrtc: compiles CUDA text with the host compiler for the emulator. Its "cubin" is a shared object,
// which the stand-in for the driver loads. KILN_LIBNVRTC names the built file.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "collected_texts.hpp"
#include "module.hpp"
#include "stand_in_state.hpp"

namespace {

struct program {
  std::string text, log, object;
  bool is_ptx = false;  // the option names a virtual architecture: no machine code then
  std::vector<emulate::named_text> headers;
};

enum result : int { success = 0, invalid_input = 3, invalid_program = 4, invalid_option = 5, compilation = 6 };

constexpr int architectures[] = {75, 80, 86, 89, 90, 100, 120};

// Options that only the real compiler understands are passed over, but an unknown architecture is refused as there.
bool known_architecture(std::string_view option) {
  for (const std::string_view start : {"-arch=sm_", "--gpu-architecture=sm_", "-arch=compute_"}) {
    if (!option.starts_with(start)) continue;
    const int number = std::atoi(std::string(option.substr(start.size())).c_str());
    for (const int known : architectures)
      if (known == number) return true;
    return false;
  }
  return true;
}

int give(const std::string& text, char* place) {
  std::memcpy(place, text.c_str(), text.size() + 1);
  return success;
}

std::atomic<long> compiled = 0, at_once = 0, most_at_once = 0;  // it is used on several threads

// For as long as a text is compiled.
struct compiling {
  compiling() {
    const long now = ++at_once;
    for (long most = most_at_once; most < now && !most_at_once.compare_exchange_weak(most, now);) {
    }
  }
  ~compiling() { --at_once; }
};

using kiln::cuda::stand_in::shared_without_permission;
using kiln::cuda::stand_in::state;

bool runs_kernels() {
  const std::lock_guard lock(state::instance().mutex);
  return state::instance().runs_kernels();
}

// An image that names the text, for the fake driver to read.
result keep_text(program& made) {
  auto& all = state::instance();
  const std::lock_guard lock(all.mutex);
  made.object = std::string(kiln::cuda::stand_in::kept_text_mark) + std::to_string(all.texts.size());
  made.object.resize(sizeof(ElfW(Ehdr)), ' ');  // no image is shorter
  auto headers = all.texts.empty() || *all.texts.back().headers != made.headers
                     ? std::make_shared<const std::vector<emulate::named_text>>(made.headers)
                     : all.texts.back().headers;
  all.texts.push_back({made.text, std::move(headers)});
  return success;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// How many texts were compiled so far.
long kiln_stand_in_compiled() {
  return compiled;
}

/// The most texts that were compiled at the same time since the last call.
long kiln_stand_in_compiled_at_once() {
  return most_at_once.exchange(0);
}

const char* nvrtcGetErrorString(int code) {
  switch (code) {
    case success:
      return "NVRTC_SUCCESS";
    case invalid_option:
      return "NVRTC_ERROR_INVALID_OPTION";
    case compilation:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR_INVALID_INPUT";
  }
}
int nvrtcVersion(int* major, int* minor) {
  const char* named = std::getenv("KILN_STAND_IN_nvrtc");
  *major = named != nullptr ? std::atoi(named) : 13;
  *minor = 0;
  return success;
}
int nvrtcGetNumSupportedArchs(int* count) {
  return *count = static_cast<int>(std::size(architectures)), success;
}
int nvrtcGetSupportedArchs(int* all) {
  return std::memcpy(all, architectures, sizeof architectures), success;
}

int nvrtcCreateProgram(program** made, const char* text, const char*, int count, const char* const* texts,
                       const char* const* names) {
  *made = new program;
  (*made)->text = text;
  for (int i = 0; i < count; ++i) (*made)->headers.push_back({names[i], texts[i]});
  return success;
}
int nvrtcDestroyProgram(program** made) {
  delete *made;
  *made = nullptr;
  return success;
}
int nvrtcCompileProgram(program* made, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    made->is_ptx |= std::string_view(options[i]).starts_with("-arch=compute_");
    if (known_architecture(options[i])) continue;
    made->log = std::string("nvrtc: error: invalid value for --gpu-architecture: ") + options[i];
    return invalid_option;
  }
  ++compiled;
  const compiling now;
  const bool clusters = made->text.find("__cluster_dims__") != made->text.npos;
  for (int i = 0; i < count; ++i)
    for (const char* old : {"_75", "_80", "_86", "_89"})
      if (clusters && std::string_view(options[i]).ends_with(old)) {
        made->log = "error: __cluster_dims__ is not supported for this GPU architecture";
        return compilation;
      }
  const auto names = emulate::kernels_of(made->text);
  const auto too_much = [made](std::size_t shared) {
    if (shared <= shared_without_permission) return false;
    made->log = "ptxas error: uses too much shared data (" + std::to_string(shared) + " bytes, " +
                std::to_string(shared_without_permission) + " max)";
    return true;
  };
  try {
    for (const std::string& name : names) {
      const long declared = emulate::declared_shared_of(made->text, name, made->headers);
      if (declared < 0 && !runs_kernels())
        throw emulate::failure("without a compiler it is not known how much shared memory " + name + " declares");
      if (declared > 0 && too_much(static_cast<std::size_t>(declared))) return compilation;
    }
    if (!runs_kernels()) return keep_text(*made);
    made->object = emulate::compile(made->text, made->headers);
    // What the compiler gave a single kernel must be what its text declares, but for gaps between the arrays.
    if (names.size() == 1) {
      const std::size_t shared = emulate::module(made->object, true).shared_bytes();
      const long declared = emulate::declared_shared_of(made->text, names[0], made->headers);
      constexpr std::size_t gaps = 256;
      if (too_much(shared)) return compilation;
      if (declared >= 0 &&
          (shared > static_cast<std::size_t>(declared) + gaps || shared + gaps < static_cast<std::size_t>(declared)))
        throw emulate::failure("the fake driver reads " + std::to_string(declared) + " bytes of shared memory in " +
                               names[0] + ", and the compiler made " + std::to_string(shared));
    }
  } catch (const std::exception& caught) {
    made->log = caught.what();
    return compilation;
  }
  emulate::collect_text(made->text);
  return success;
}
int nvrtcGetProgramLogSize(program* made, std::size_t* size) {
  return *size = made->log.size() + 1, success;
}
int nvrtcGetProgramLog(program* made, char* place) {
  return give(made->log, place);
}
int nvrtcGetPTXSize(program* made, std::size_t* size) {
  return *size = made->object.size() + 1, success;
}
int nvrtcGetPTX(program* made, char* place) {
  std::memcpy(place, made->object.data(), made->object.size());
  return place[made->object.size()] = 0, success;
}
int nvrtcGetCUBINSize(program* made, std::size_t* size) {
  return *size = made->is_ptx ? 0 : made->object.size(), success;
}
int nvrtcGetCUBIN(program* made, char* place) {
  std::memcpy(place, made->object.data(), made->object.size());
  return success;
}

}  // extern "C"
#pragma GCC visibility pop
