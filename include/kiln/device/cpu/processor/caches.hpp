// SPDX-License-Identifier: BSL-1.0
// The sizes of the processor's data caches, asked of the system once. Nothing here depends on the instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__unix__)
#include <unistd.h>
#endif

#include <kiln/device/cpu/processor/system_limits.hpp>

namespace kiln::cpu {

/// Bytes of data that each level of cache holds. The first two belong to a core; the third may be shared, and is the
/// second's where there is none.
struct cache_sizes {
  std::int64_t level1, level2, level3;
};

namespace process {

/// The bytes that a text like "48K" or "2M" stands for, 0 if it stands for none.
[[gnu::cold]] inline std::int64_t parse_cache_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::int64_t count = static_cast<std::int64_t>(number_or(text, 0));
  const char unit = digits == text.size() ? ' ' : text[digits];
  return unit == 'K' ? count << 10 : unit == 'M' ? count << 20 : unit == 'G' ? count << 30 : count;
}

/// What Linux says of one processor's data caches in the files below `folder`; 0 for what it does not say.
[[gnu::cold]] inline cache_sizes read_cache_files(std::string_view folder) {
  cache_sizes found{0, 0, 0};
  for (char index[] = "/index0"; index[6] < '8'; ++index[6]) {
    const std::uint64_t level = number_or(short_file({folder, index, "/level"}).text(), 0);
    if (level == 0) break;
    if (short_file({folder, index, "/type"}).text().starts_with("Instruction")) continue;
    (level == 1   ? found.level1
     : level == 2 ? found.level2
                  : found.level3) = parse_cache_size(short_file({folder, index, "/size"}).text());
  }
  return found;
}

/// Sizes that can be relied on: what is missing or beyond belief becomes that of a common processor.
[[gnu::cold]] inline cache_sizes plausible(cache_sizes asked) {
  const auto within = [](std::int64_t size, std::int64_t low, std::int64_t high, std::int64_t standard) {
    return size <= 0 ? standard : std::clamp(size, low, high);
  };
  constexpr std::int64_t kilo = 1024;
  cache_sizes out{};
  out.level1 = within(asked.level1, 8 * kilo, 1024 * kilo, 32 * kilo);
  out.level2 = within(asked.level2, 128 * kilo, 32 * kilo * kilo, 512 * kilo);
  out.level3 = std::max(out.level2, asked.level3);
  return out;
}

[[gnu::cold]] inline cache_sizes ask_cache_sizes() {
  cache_sizes asked{0, 0, 0};
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
  asked = {::sysconf(_SC_LEVEL1_DCACHE_SIZE), ::sysconf(_SC_LEVEL2_CACHE_SIZE), ::sysconf(_SC_LEVEL3_CACHE_SIZE)};
#endif
#if defined(__linux__)
  // glibc asks the processor itself, which is possible on x86 alone.
  if (asked.level1 <= 0 || asked.level2 <= 0) asked = read_cache_files("/sys/devices/system/cpu/cpu0/cache");
#endif
#if defined(__APPLE__)
  const auto ask = [](const char* name) {
    std::int64_t size = 0;
    std::size_t workspace = sizeof(size);
    return ::sysctlbyname(name, &size, &workspace, nullptr, 0) == 0 ? size : 0;
  };
  asked = {ask("hw.perflevel0.l1dcachesize"), ask("hw.perflevel0.l2cachesize"), ask("hw.l3cachesize")};
  if (asked.level1 <= 0) asked = {ask("hw.l1dcachesize"), ask("hw.l2cachesize"), ask("hw.l3cachesize")};
#endif
  return plausible(asked);
}

}  // namespace process

/// The caches of the processor that the program runs on; sizes of a common one where the system does not say.
inline const cache_sizes& caches() {
  static const cache_sizes found = process::ask_cache_sizes();
  return found;
}

}  // namespace kiln::cpu
