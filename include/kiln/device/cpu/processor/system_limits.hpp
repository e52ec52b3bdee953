// SPDX-License-Identifier: BSL-1.0
// What the system lets this process have: processors by affinity and quotas, memory by the machine and by control
// groups. The files are below a folder that is "/" but for tests.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string_view>

#if defined(__linux__)
#include <sched.h>
#endif

namespace kiln::cpu::process {

/// The path of a file, from its parts. Of one that is too long for the system as much as still is.
class file_path {
 public:
  [[gnu::cold]] file_path(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.copy(text_ + size, sizeof text_ - 1 - size);
    text_[size] = 0;
  }
  operator const char*() const { return text_; }

 private:
  char text_[4097];
};

/// The beginning of a file, as much as these files can matter; empty if it cannot be read.
class short_file {
 public:
  [[gnu::cold]] explicit short_file(const file_path& path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0) {
      for (std::int64_t more = 1; more > 0 && size_ < sizeof text_ - 1; size_ += static_cast<std::size_t>(more))
        more = std::max<std::int64_t>(::read(file, text_ + size_, sizeof text_ - 1 - size_), 0);
      ::close(file);
    }
    text_[size_] = 0;
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  std::size_t size_ = 0;
  char text_[4097];
};

/// Whether a list with commas has a name.
[[gnu::cold]] inline bool lists(std::string_view names, std::string_view name) {
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

/// What is called with the folder of a control group and whether it is of version 2: any callable, for a function that
/// is compiled once for all.
class group_visitor {
 public:
  template <class F>
  explicit group_visitor(F& f)
      : object_(&f),
        call_([](void* object, const char* folder, bool version2) { (*static_cast<F*>(object))(folder, version2); }) {}
  void operator()(const char* folder, bool version2) const { call_(object_, folder, version2); }

 private:
  void* object_;
  void (*call_)(void*, const char*, bool);
};

/// Calls `visit` with the folder of each control group that this process is in and that `controller` ("memory", "cpu")
/// can limit, from the innermost to the root of what is mounted. Inside a container the innermost ones are often not to
/// be seen; its own limits are then at the root.
[[gnu::cold]] inline void visit_control_groups(std::string_view root, std::string_view controller,
                                               group_visitor visit) {
  const short_file file({root, "/proc/self/cgroup"});  // lines `number:controller,controller:/path`
  const std::string_view groups = file.text();
  for (std::size_t at = 0; at < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', at), groups.size());
    const std::string_view line = groups.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const bool version2 = names.empty();
    if (!version2 && !lists(names, controller)) continue;
    std::string_view own = line.substr(second + 1);
    if (own.find("/..") != std::string_view::npos) own = {};  // outside of what this process's namespace shows
    // Version 1 mounts each controller, or some together, in a folder of that name.
    for (const std::string_view mount :
         {version2 ? std::string_view() : controller, version2 ? std::string_view("unified") : names}) {
      for (std::string_view path = own;;) {
        while (!path.empty() && path.back() == '/') path.remove_suffix(1);
        visit(file_path{root, "/sys/fs/cgroup", mount.empty() ? "" : "/", mount, path}, version2);
        if (path.empty()) break;
        path = path.substr(0, path.find_last_of('/') + 1);
      }
    }
  }
}

/// A number at the start of a text that ends with a zero, or `otherwise` for one without ("max", "-1", nothing).
[[gnu::cold]] inline std::uint64_t number_or(std::string_view text, std::uint64_t otherwise) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return !text.empty() && text[0] >= '0' && text[0] <= '9' ? std::strtoull(text.data(), nullptr, 10) : otherwise;
}
[[gnu::cold]] inline std::uint64_t number_in(const char* folder, std::string_view name, std::uint64_t otherwise) {
  return number_or(short_file({folder, name}).text(), otherwise);
}

/// How many processors the quotas of this process's control groups are worth, rounded up; 0 if there is no quota.
[[gnu::cold]] inline std::uint64_t processor_quota(std::string_view root = "") {
  std::uint64_t least = 0;
  const auto limit = [&](std::uint64_t quota, std::uint64_t period) {
    if (quota == 0 || period == 0) return;
    const std::uint64_t whole = quota / period + (quota % period != 0 ? 1 : 0);
    least = least == 0 ? whole : std::min(least, whole);
  };
  auto quota_of = [&](const char* folder, bool version2) __attribute__((cold)) {
    if (version2) {
      const short_file file({folder, "/cpu.max"});  // "quota period", or "max period"
      const std::string_view both = file.text();
      limit(number_or(both, 0), number_or(both.substr(std::min(both.find(' '), both.size())), 100000));
    } else {
      limit(number_in(folder, "/cpu.cfs_quota_us", 0), number_in(folder, "/cpu.cfs_period_us", 100000));
    }
  };
  visit_control_groups(root, "cpu", group_visitor(quota_of));
  return least;
}

/// How many processors this thread may run on.
[[gnu::cold]] inline int processors_of_affinity() {
#if defined(__linux__)
  for (std::size_t most = 1024; most <= (std::size_t{1} << 20); most *= 2) {  // the kernel refuses too small a set
    cpu_set_t* const set = CPU_ALLOC(most);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(most);
    const int count = ::sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  const long count = ::sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<int>(std::min<long>(count, std::numeric_limits<int>::max())) : 1;
}

/// How many threads can be at work at a time: the least of affinity and quotas, at least one.
[[gnu::cold]] inline int usable_processors(std::string_view root = "") {
  const int processors = processors_of_affinity();
  const std::uint64_t quota = processor_quota(root);
  return quota == 0 ? processors : static_cast<int>(std::min<std::uint64_t>(quota, static_cast<unsigned>(processors)));
}

/// The number after a key at the start of a line, or `otherwise`.
[[gnu::cold]] inline std::uint64_t value_of(std::string_view text, std::string_view key, std::uint64_t otherwise) {
  std::size_t at = text.find(key);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n') at = text.find(key, at + 1);
  return at == std::string_view::npos ? otherwise : number_or(text.substr(at + key.size()), otherwise);
}

/// Bytes of memory: how many this process may have at most, and how many of them nobody uses at the moment.
struct memory_limits {
  std::uint64_t most, available;
};

/// The least of the machine and of the control groups. What the system could drop at once (files that it keeps because
/// they were read) counts as available.
[[gnu::cold]] inline memory_limits limits_of_memory(std::string_view root = "") {
  const short_file file({root, "/proc/meminfo"});
  const std::string_view machine = file.text();
  const std::uint64_t unknown = std::uint64_t{1} << 60, total = value_of(machine, "MemTotal:", unknown / 1024) * 1024;
  memory_limits limits{total, std::min(total, value_of(machine, "MemAvailable:", unknown / 1024) * 1024)};
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  if (const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE); pages > 0 && page > 0) {
    limits.most = std::min(limits.most, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
  }
#endif
  auto limit_of = [&](const char* folder, bool version2) __attribute__((cold)) {
    const std::uint64_t limit =
        version2 ? std::min(number_in(folder, "/memory.max", unknown), number_in(folder, "/memory.high", unknown))
                 : number_in(folder, "/memory.limit_in_bytes", unknown);
    if (limit >= limits.most && limit >= total) return;
    const std::uint64_t used = number_in(folder, version2 ? "/memory.current" : "/memory.usage_in_bytes", 0);
    const std::uint64_t files =
        value_of(short_file({folder, "/memory.stat"}).text(), version2 ? "inactive_file" : "total_inactive_file", 0);
    const std::uint64_t kept = used - std::min(used, files);
    limits.most = std::min(limits.most, limit);
    limits.available = std::min(limits.available, limit - std::min(limit, kept));
  };
  visit_control_groups(root, "memory", group_visitor(limit_of));
  return limits;
}

}  // namespace kiln::cpu::process
