// SPDX-License-Identifier: BSL-1.0
// The definitions of cache_disk.hpp.
#pragma once

#include <kiln/device/cuda/cache_disk.hpp>

namespace kiln::cuda {

namespace detail {

KILN_INLINE std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

KILN_INLINE std::uint64_t bytes_of(const std::string& text) {
  std::size_t at = 0;
  std::uint64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value < (std::uint64_t{1} << 50); ++at)
    value = 10 * value + static_cast<std::uint64_t>(text[at] - '0');
  const std::string unit = text.substr(at);
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (at == 0 || shift < 0)
    throw value_error(
        message("KILN_CACHE_SIZE is \"", text, "\": give a number of bytes, or one with K, M or G behind it"));
  return value << shift;
}

}  // namespace detail

}  // namespace kiln::cuda

namespace kiln::cuda {

KILN_INLINE cache_settings settings_from_environment() {
  cache_settings s;
  s.dump = detail::variable("KILN_DUMP");
  if (const std::string size = detail::variable("KILN_CACHE_SIZE"); !size.empty())
    s.most_bytes = detail::bytes_of(size);
  if (detail::variable("KILN_CACHE") == "0") return s;
  if (const std::string folder = detail::variable("KILN_CACHE_DIR"); !folder.empty())
    s.folder = folder;
  else if (const std::string cache = detail::variable("XDG_CACHE_HOME"); !cache.empty())
    s.folder = std::filesystem::path(cache) / "kiln";
  else if (const std::string home = detail::variable("HOME"); !home.empty())
    s.folder = std::filesystem::path(home) / ".cache" / "kiln";
  return s;
}

}  // namespace kiln::cuda
