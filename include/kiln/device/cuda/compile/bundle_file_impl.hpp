// SPDX-License-Identifier: BSL-1.0
// The definitions of bundle_file.hpp.
#pragma once

#include <kiln/device/cuda/compile/bundle_file.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE cache_key checksum_of(std::string_view bytes) {
  hasher sum;
  sum.add(bytes);
  return sum.key();
}

KILN_INLINE cache_key checksum_of(const std::vector<bundle_entry>& entries, const std::vector<bundle_image>& images) {
  hasher sum;
  sum.add(std::string_view(reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(bundle_entry)));
  sum.add(std::string_view(reinterpret_cast<const char*>(images.data()), images.size() * sizeof(bundle_image)));
  return sum.key();
}

KILN_INLINE std::optional<file_part> bundle_section_of(const std::string& path) {
  const std::optional<file_part> file = file_part::whole(path);
  ElfW(Ehdr) head;
  if (!file || !file->read(&head, 0, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_shentsize != sizeof(ElfW(Shdr)))
    return std::nullopt;
  const auto sections = file->table<ElfW(Shdr)>(head.e_shoff, head.e_shnum);
  if (!sections || head.e_shstrndx >= sections->size()) return std::nullopt;
  const ElfW(Shdr)& of_names = (*sections)[head.e_shstrndx];
  const auto names = file->table<char>(of_names.sh_offset, of_names.sh_size);
  if (!names) return std::nullopt;
  const std::string_view all(names->data(), names->size());
  for (const ElfW(Shdr) & section : *sections) {
    if (section.sh_name >= all.size()) continue;
    const std::string_view rest = all.substr(section.sh_name);
    if (rest.substr(0, rest.find('\0')) == bundle_section) return file->part(section.sh_offset, section.sh_size);
  }
  return std::nullopt;
}

}  // namespace detail

KILN_INLINE cache_key bundle_key(const std::string& text, int architecture) {
  return key_of(compile_request{.text = text, .architecture = architecture});
}

KILN_INLINE std::string bundle_bytes(const std::vector<bundle_part>& parts) {
  std::vector<detail::bundle_entry> entries;
  std::vector<detail::bundle_image> images;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    images.push_back({0, parts[k].image.size(), static_cast<std::uint64_t>(parts[k].architecture),
                      detail::checksum_of(parts[k].image)});
    for (const cache_key& key : parts[k].keys) entries.push_back({key, k});
  }
  std::sort(entries.begin(), entries.end(),
            [](const detail::bundle_entry& a, const detail::bundle_entry& b) { return a.key < b.key; });
  detail::bundle_header head;
  std::copy(detail::bundle_magic.begin(), detail::bundle_magic.end(), head.magic);
  head.format = bundle_format;
  head.entries = entries.size();
  head.images = images.size();
  std::uint64_t next = sizeof head + entries.size() * sizeof entries[0] + images.size() * sizeof images[0];
  for (detail::bundle_image& image : images) {
    image.offset = next;
    next += image.size;
  }
  head.checksum = detail::checksum_of(entries, images);
  std::string bytes;
  const auto add = [&bytes](const void* from, std::size_t size) { bytes.append(static_cast<const char*>(from), size); };
  add(&head, sizeof head);
  add(entries.data(), entries.size() * sizeof(detail::bundle_entry));
  add(images.data(), images.size() * sizeof(detail::bundle_image));
  for (const bundle_part& part : parts) bytes += part.image;
  return bytes;
}

}  // namespace kiln::cuda
