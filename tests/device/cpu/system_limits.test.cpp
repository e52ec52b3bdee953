// SPDX-License-Identifier: BSL-1.0
// Quotas of processors, read from files like those of the kernel in a folder of the test's own.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sched.h>
#endif

#include <kiln/device/cpu/system_limits.hpp>

using namespace kiln::cpu::process;

namespace {

// A folder with files, gone with the scope.
class system_files {
 public:
  system_files() {
    std::string name = (std::filesystem::temp_directory_path() / "kiln_limits_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~system_files() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace

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

#if defined(__linux__)
TEST_CASE("limits: a thread bound to one processor can use one") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(processors_of_affinity() == CPU_COUNT(&before));
  int first = 0;
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
