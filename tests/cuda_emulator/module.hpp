// SPDX-License-Identifier: BSL-1.0
// CUDA text, compiled by the host compiler into a shared object and run with every access checked. The stand-in NVRTC
// makes its "cubins" with compile(), tests that have text make a module of it.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "block.hpp"
#include "fake_driver/declared_shared.hpp"
#include "host_compiler.hpp"
#include "object_cache.hpp"

namespace emulate {
inline namespace KILN_EMULATOR_SWITCH {

/// A file `name` of the text's own folder, found by `#include "name"` in it.
struct named_text {
  std::string name, text;
  bool operator==(const named_text&) const = default;
};

namespace detail {

// No run time of a sanitizer: hooks.hpp answers.
inline std::string check_options() {
  return " -fsanitize=thread,alignment,bounds,null,shift,integer-divide-by-zero";
}

}  // namespace detail

/// The names of the kernels in a text: what follows `extern "C" __global__` up to its parameters.
inline std::vector<std::string> kernels_of(std::string_view text) {
  constexpr std::string_view mark = "__global__", bounds = "__launch_bounds__", clusters = "__cluster_dims__";
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::vector<std::string> names;
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) {
    auto open = text.find('(', at);
    while (open != text.npos && (text.substr(0, open).ends_with(bounds) || text.substr(0, open).ends_with(clusters)))
      open = text.find('(', text.find(')', open));
    if (open == text.npos) break;
    auto end = open;
    while (end > at && !is_name(text[end - 1])) --end;
    auto begin = end;
    while (begin > at && is_name(text[begin - 1])) --begin;
    const auto line = text.substr(0, at).find_last_of("\n");
    const auto before = text.substr(line == text.npos ? 0 : line + 1, at - (line == text.npos ? 0 : line + 1));
    if (before.find("//") == before.npos) names.emplace_back(text.substr(begin, end - begin));
  }
  return names;
}

/// The first number of an attribute of a kernel; `without` if it has none. Of `__launch_bounds__`, how many threads a
/// block may have; of `__cluster_dims__`, how many blocks a cluster has.
inline int attribute_of(std::string_view text, const std::string& kernel, const std::string& attribute, int without) {
  const auto name = text.find(" " + kernel + "(");
  if (name == text.npos) return without;
  const auto start = text.rfind("__global__", name), found = text.find(attribute + "(", start == text.npos ? 0 : start);
  if (found == text.npos || found > name) return without;
  return std::atoi(std::string(text.substr(found + attribute.size() + 1)).c_str());
}

/// For each parameter of a kernel 'r' if it is a `const T* __restrict__`, which is read through a cache that does not
/// learn of what the kernel writes; else '.'.
inline std::string read_only_parameters(std::string_view text, const std::string& kernel) {
  const auto name = text.find(" " + kernel + "(");
  std::string all, parameter;
  if (name == text.npos) return all;
  int depth = 0;
  for (auto at = name + kernel.size() + 2; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == ')')) {
      const auto is = [&](std::string_view part) { return parameter.find(part) != parameter.npos; };
      if (!parameter.empty()) all += is("const ") && is("*") && is("__restrict__") ? 'r' : '.';
      parameter.clear();
      if (c == ')') break;
      continue;
    }
    depth += c == '(' || c == '<' ? 1 : c == ')' || c == '>' ? -1 : 0;
    parameter += c;
  }
  return all;
}

/// CUDA's `extern __shared__ T name[];` as a host compiler can say it: a pointer to the launch's dynamic shared memory.
inline std::string with_dynamic_shared(std::string text) {
  constexpr std::string_view mark = "extern __shared__ ";
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at)) {
    const auto bracket = text.find("[]", at), end = text.find(';', at);
    if (bracket == text.npos || end == text.npos || bracket > end) {
      at += mark.size();
      continue;
    }
    auto name = bracket;
    while (std::isalnum(static_cast<unsigned char>(text[name - 1])) != 0 || text[name - 1] == '_') --name;
    std::string type = text.substr(at + mark.size(), name - at - mark.size());
    for (const std::string_view alignment : {"__align__(", "alignas("}) {
      if (const auto start = type.find(alignment); start != type.npos)
        type.erase(start, type.find(')', start) + 1 - start);
    }
    const std::string places = text.substr(name, bracket - name);
    text.replace(at, end - at,
                 type + "* const " + places + " = static_cast<" + type + "*>(emulator::dynamic_shared())");
  }
  return text;
}

/// Shared memory that a kernel of a text declares; -1 if that cannot be told without a compiler.
inline long declared_shared_of(std::string_view text, const std::string& kernel,
                               const std::vector<named_text>& headers) {
  const auto bytes = declared_shared_bytes(text, kernel, headers);
  return bytes ? static_cast<long>(*bytes) : -1;
}

/// Compiles CUDA text into the bytes of a shared object. Throws failure with the compiler's words if it does not
/// compile. The kernels must be `extern "C" __global__ void`.
inline std::string compile(std::string_view text, const std::vector<named_text>& headers = {}) {
  std::string whole = with_dynamic_shared(std::string(text));
  whole += "\n#pragma GCC visibility push(default)\nextern \"C\" {\n";
  for (const std::string& name : kernels_of(text))
    whole += "extern const emulator::kernel kiln_kernel_" + name + ";\nconst emulator::kernel kiln_kernel_" + name +
             "{&emulator::call<&" + name + ">::run, emulator::call<&" + name + ">::sizes, emulator::call<&" + name +
             ">::count, " + std::to_string(attribute_of(text, name, "__launch_bounds__", 1024)) + ", \"" +
             read_only_parameters(text, name) + "\", " +
             std::to_string(attribute_of(text, name, "__cluster_dims__", 1)) + ", " +
             std::to_string(declared_shared_of(text, name, headers)) + "};\n";
  whole += "KILN_EMULATOR_UNCHECKED emulator::device_view kiln_device_view() { return emulator::view(); }\n}\n";
  // Not optimised: to compile takes longer than to run.
  const std::string command = host_compiler() +
                              " -std=c++20 -O0 -fPIC -shared -nostartfiles -fvisibility=hidden -fwrapv" +
                              " -ffp-contract=off -DKILN_EMULATOR_STANDALONE -nodefaultlibs" + detail::check_options();
  const std::string emulator = folder_of_emulator();
  std::string source = command + whole;
  for (const auto& [name, content] : headers) source += name + content;
  for (const char* name : {"interface.hpp", "device.hpp", "device_math.hpp", "device_mma.hpp", "hooks.hpp"})
    source += read_file(emulator + name);
  const object_cache known(std::move(source));
  if (std::string object = known.find(); !object.empty()) return object;

  const scratch_folder folder;
  for (const auto& [name, content] : headers) folder.write(name, with_dynamic_shared(content));
  folder.write("kernels.cpp", whole);
  const std::string path = folder.path(), log = path + "/log", made = path + "/kernels.so";
  // What it needs of libm and libc is in the program that loads it.
  if (std::system((command + " -I '" + path + "' -include '" + emulator + "device.hpp' -include '" + emulator +
                   "hooks.hpp' '" + path + "/kernels.cpp' -o '" + made + "' > '" + log + "' 2>&1")
                      .c_str()) != 0)
    throw failure("the text does not compile:\n" + read_file(log));
  std::string object = read_file(made);
  known.keep(object);
  return object;
}

/// A loaded shared object of compile().
class module {
 public:
  explicit module(const std::string& object, bool /*is_object*/) { load(object); }
  /// Compiles and loads.
  explicit module(std::string_view text, const std::vector<named_text>& headers = {}) { load(compile(text, headers)); }
  module(const module&) = delete;
  module& operator=(const module&) = delete;
  ~module() { ::dlclose(handle_); }

  /// Null if there is no such kernel.
  const emulator::kernel* find(const std::string& kernel) const {
    return static_cast<const emulator::kernel*>(::dlsym(handle_, ("kiln_kernel_" + kernel).c_str()));
  }

  /// Shared memory that the text declares.
  std::size_t shared_bytes() const { return static_cast<std::size_t>(view_.shared_end - view_.shared_begin); }

  /// Parameters that are read through the read-only cache see device memory as it is at the start of the launch. What
  /// is read there must not be written by the kernel.
  void run(const emulator::kernel& kernel, const shape& how, void** arguments) const {
    std::vector<watched_copy> copies;
    std::vector<void*> addresses(kernel.count), places(arguments, arguments + kernel.count);
    for (std::size_t i = 0; kernel.read_only[i] != 0; ++i) {
      if (kernel.read_only[i] != 'r') continue;
      std::memcpy(&addresses[i], arguments[i], sizeof(void*));
      const watched_block block = watched_memory::instance().block_of(addresses[i]);
      if (block.bytes == 0 || block.bytes > most_copied) continue;
      copies.emplace_back(block);
      addresses[i] = copies.back().at(addresses[i]);
      places[i] = &addresses[i];
    }
    places.push_back(nullptr);
    shape clustered = how;
    clustered.cluster = kernel.cluster;
    emulate::run(view_, kernel.run, clustered, places.data(), constants_);
    for (const watched_copy& copy : copies)
      if (const std::string words = copy.overwritten(); !words.empty()) throw failure(words);
  }

  /// Runs a kernel. The types of the arguments must be exactly those of its parameters: the driver cannot convert
  /// either.
  template <class... Arguments>
  void launch(const std::string& kernel, const shape& how, Arguments... arguments) const {
    const emulator::kernel* found = find(kernel);
    if (found == nullptr) throw failure("the module has no kernel " + kernel);
    if (found->count != sizeof...(arguments)) throw failure("another number of arguments than parameters of " + kernel);
    void* places[] = {static_cast<void*>(&arguments)..., nullptr};
    run(*found, how, places);
  }

 private:
  // Bytes between __bss_start, where the initialized memory ends, and the section of what begins as zeros.
  static std::size_t gap_before_zeros(const std::string& object) {
    const auto read = [&](auto& into, std::size_t at) { std::memcpy(&into, object.data() + at, sizeof into); };
    Elf64_Ehdr head;
    read(head, 0);
    std::size_t end_before = 0;
    for (std::size_t i = 0; i < head.e_shnum; ++i) {
      Elf64_Shdr section;
      read(section, head.e_shoff + i * head.e_shentsize);
      if ((section.sh_flags & SHF_ALLOC) == 0 || (section.sh_flags & SHF_TLS) != 0) continue;
      if (section.sh_type == SHT_NOBITS) return section.sh_addr - end_before;
      end_before = section.sh_addr + section.sh_size;
    }
    return 0;
  }

  static constexpr std::size_t most_copied = std::size_t{4} << 20;

  void load(const std::string& object) {
    const scratch_folder folder;  // a loaded file may be removed
    const std::string path = folder.path() + "/kernels.so";
    write_file(path, object);
    handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw failure(std::string("the module cannot be loaded: ") + ::dlerror());
    view_ = reinterpret_cast<emulator::device_view (*)()>(::dlsym(handle_, "kiln_device_view"))();
    view_.shared_begin += gap_before_zeros(object);
    const auto visit = [](dl_phdr_info* info, std::size_t, void* self) -> int {
      auto& constants = static_cast<module*>(self)->constants_;
      const char* inside = reinterpret_cast<const char*>(static_cast<module*>(self)->view_.host);
      const char *low = nullptr, *high = nullptr;
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const char* begin = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
        if (low == nullptr || begin < low) low = begin;
        if (begin + segment.p_memsz > high) high = begin + segment.p_memsz;
      }
      if (inside < low || inside >= high) return 0;
      constants = {low, high};
      return 1;
    };
    ::dl_iterate_phdr(visit, this);
  }

  void* handle_ = nullptr;
  emulator::device_view view_{};
  image constants_;
};

}  // namespace KILN_EMULATOR_SWITCH
}  // namespace emulate
