// SPDX-License-Identifier: BSL-1.0
// The definitions of driver_module.hpp.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>

#include <kiln/device/cuda/driver/driver_module.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::atomic<bool>& waits_after_launch() {
  static std::atomic<bool> waits = environment("KILN_SYNC") == "1";
  return waits;
}

KILN_INLINE std::atomic<bool>& launches_early() {
  static std::atomic<bool> early = environment("KILN_PDL") != "0";
  return early;
}

}  // namespace detail

// Of an ELF file, what its header says of its two tables, and what these say of its parts. (Sizes inside the parts are
// the driver's to check, against a checksum of ours.)
KILN_INLINE void check_image(std::string_view image) {
  const auto within = [&](std::uint64_t begin, std::uint64_t size) {
    return begin <= image.size() && size <= image.size() - begin;
  };
  const auto read = [&]<class Part>(Part& part, std::uint64_t begin) {
    std::memcpy(&part, image.data() + begin, sizeof(Part));
  };
  const auto fail = [&](const char* what) {
    throw bad_image(message("loading a kernel: an image of ", image.size(), " bytes ", what,
                            "; it was cut off or damaged: compile it again"));
  };
  Elf64_Ehdr head;
  if (image.size() < sizeof(head)) fail("is too short for any machine code");
  read(head, 0);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return;  // the driver says what it thinks of that
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB) fail("is ELF of another machine");
  if (head.e_shnum > 0 && head.e_shentsize != sizeof(Elf64_Shdr)) fail("has sections of a size that ELF has not");
  if (head.e_phnum > 0 && head.e_phentsize != sizeof(Elf64_Phdr)) fail("has segments of a size that ELF has not");
  if (!within(head.e_shoff, std::uint64_t{head.e_shnum} * sizeof(Elf64_Shdr))) fail("ends before its sections' table");
  if (!within(head.e_phoff, std::uint64_t{head.e_phnum} * sizeof(Elf64_Phdr))) fail("ends before its segments' table");
  for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    read(section, head.e_shoff + i * sizeof(section));
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL && !within(section.sh_offset, section.sh_size))
      fail("ends within one of its sections");
  }
  for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    read(segment, head.e_phoff + i * sizeof(segment));
    if (!within(segment.p_offset, segment.p_filesz)) fail("ends within one of its segments");
  }
  if (head.e_shnum > 0 && head.e_shstrndx >= head.e_shnum && head.e_shstrndx != SHN_UNDEF)
    fail("names a section that it has not");
}

KILN_INLINE void set_launch_waits(bool on) {
  detail::waits_after_launch() = on;
}

KILN_INLINE void set_dependent_launch(bool on) {
  detail::launches_early() = on;
}

KILN_INLINE bool dependent_launch() {
  return detail::launches_early();
}

}  // namespace kiln::cuda
