// SPDX-License-Identifier: BSL-1.0
// Quotas of processors, read from files like those of the kernel in a folder of the test's own.
#include <doctest/doctest.h>

#include <cstdint>

#if defined(__linux__)
#include <sched.h>
#endif

#include <kiln/device/cpu/processor/system_limits.hpp>

#include "support/system_files.hpp"

using namespace kiln::cpu::process;

using kiln::support::system_files;

TEST_CASE("limits: the quota of version 2 is the least of the own group's and its parents', rounded up") {
  const system_files files;
  CHECK(processor_quota(files.root()) == 0);  // no files at all
  files.write("/proc/self/cgroup", "0::/user.slice/job\n");
  CHECK(processor_quota(files.root()) == 0);
  files.write("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  CHECK(processor_quota(files.root()) == 0);
  files.write("/sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000\n");
  CHECK(processor_quota(files.root()) == 3);
  files.write("/sys/fs/cgroup/user.slice/cpu.max", "60000 50000\n");
  CHECK(processor_quota(files.root()) == 2);
  files.write("/sys/fs/cgroup/cpu.max", "20000 100000\n");
  CHECK(processor_quota(files.root()) == 1);
  CHECK(usable_processors(files.root()) == 1);
}

TEST_CASE("limits: version 1, mounted alone or with another controller, in or outside of a container") {
  {
    const system_files files;
    files.write("/proc/self/cgroup", "4:memory:/a\n3:cpuset:/\n1:cpu:/docker/abc\n0::/\n");
    files.write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "-1\n");
    files.write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
    CHECK(processor_quota(files.root()) == 0);
    files.write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "400000\n");
    CHECK(processor_quota(files.root()) == 4);
    files.write("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");  // another controller's
    CHECK(processor_quota(files.root()) == 4);
  }
  {
    const system_files files;
    files.write("/proc/self/cgroup", "2:cpu,cpuacct:/system.slice/docker-1.scope\n");
    files.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "500000\n");  // the innermost ones are not to be seen
    files.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    CHECK(processor_quota(files.root()) == 5);
  }
}

TEST_CASE("limits: a path that leads out of the namespace, and files of nonsense, are no quota") {
  const system_files files;
  files.write("/proc/self/cgroup", "nonsense\n0::/../../other\n:\n");
  CHECK(processor_quota(files.root()) == 0);
  files.write("/sys/fs/cgroup/cpu.max", "many 0\n");
  CHECK(processor_quota(files.root()) == 0);
  files.write("/sys/fs/cgroup/cpu.max", "100000 0\n");
  CHECK(processor_quota(files.root()) == 0);
  files.write("/sys/fs/cgroup/cpu.max", "700000 100000");
  CHECK(processor_quota(files.root()) == 7);
}

TEST_CASE("limits: memory is the machine's, or less by the own control group or one above it") {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  {
    const system_files files;
    CHECK(limits_of_memory(files.root()).most > 0);  // without files, what else the system says
    files.write("/proc/meminfo", "MemTotal:        1048576 kB\nMemFree:  1 kB\nMemAvailable:     524288 kB\n");
    CHECK(limits_of_memory(files.root()).most == 1024 * mib);
    CHECK(limits_of_memory(files.root()).available == 512 * mib);
    files.write("/proc/self/cgroup", "0::/a/b\n");
    files.write("/sys/fs/cgroup/a/b/memory.max", "max\n");
    files.write("/sys/fs/cgroup/a/b/memory.high", "max\n");
    CHECK(limits_of_memory(files.root()).most == 1024 * mib);
    files.write("/sys/fs/cgroup/a/memory.max", "314572800\n");  // 300 MiB
    files.write("/sys/fs/cgroup/a/memory.current", "209715200\n");
    files.write("/sys/fs/cgroup/a/memory.stat", "anon 104857600\nfile 99\ninactive_file 52428800\nactive_file 5\n");
    CHECK(limits_of_memory(files.root()).most == 300 * mib);
    CHECK(limits_of_memory(files.root()).available == 150 * mib);
    files.write("/sys/fs/cgroup/a/b/memory.high", "104857600\n");
    files.write("/sys/fs/cgroup/a/b/memory.current", "115343360\n");  // above it
    CHECK(limits_of_memory(files.root()).most == 100 * mib);
    CHECK(limits_of_memory(files.root()).available == 0);
  }
  {
    const system_files files;
    files.write("/proc/meminfo", "MemTotal:        1048576 kB\nMemAvailable:     524288 kB\n");
    files.write("/proc/self/cgroup", "4:memory:/docker/x\n0::/\n");
    files.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    files.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
    CHECK(limits_of_memory(files.root()).most == 1024 * mib);
    files.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n");
    files.write("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 10485760\n");
    CHECK(limits_of_memory(files.root()).most == 200 * mib);
    CHECK(limits_of_memory(files.root()).available == 110 * mib);
  }
}

#if defined(__linux__)
TEST_CASE("limits: a thread bound to one processor can use one") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(processors_of_affinity() == CPU_COUNT(&before));
  std::size_t first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(processors_of_affinity() == 1);
  CHECK(usable_processors() == 1);
  CHECK(::sched_setaffinity(0, sizeof before, &before) == 0);
}
#endif
