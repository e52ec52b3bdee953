// SPDX-License-Identifier: BSL-1.0
// Ranges for profilers: a library of the test's own sees the formulas of what runs, and nothing where nobody asked.
#include <kiln/device/cuda/run/ranges.hpp>

#include <kiln/device/cuda/run/execute.hpp>

#include <cuda_emulator/stand_in.hpp>

#include "device/cuda/one_op.hpp"
#include "support/child.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

using namespace kiln;

namespace {

// What NVTX would be: writes each call behind the others into a file.
struct own_library {
  std::string base = "/tmp/kiln_nvtx_test_" + std::to_string(::getpid());
  own_library() {
    std::ofstream(base + ".c")
        << "#include <stdio.h>\nstatic void say(const char* a, const char* b) { FILE* f = fopen(\"" << base
        << ".txt\", \"a\"); fprintf(f, \"%s%s;\", a, b); fclose(f); }\n"
        << "int nvtxRangePushA(const char* name) { say(\"push \", name); return 0; }\n"
        << "int nvtxRangePop(void) { say(\"pop\", \"\"); return 0; }\n";
    const std::string build = emulate::host_compiler() + " -x c -shared -fPIC '" + base + ".c' -o '" + base + ".so'";
    REQUIRE(std::system(build.c_str()) == 0);
    ::setenv("KILN_LIBNVTX", (base + ".so").c_str(), 1);
  }
  ~own_library() {
    for (const char* end : {".c", ".so", ".txt"}) std::remove((base + end).c_str());
    ::unsetenv("KILN_LIBNVTX");
    ::unsetenv("KILN_NVTX");
  }
  std::string heard() const { return emulate::read_file(base + ".txt"); }
};

}  // namespace

TEST_CASE("ranges: off unless asked for; then a profiler sees them nested, and a library that is missing is named") {
  // Each in a process of its own: the variable is read once.
  const own_library nvtx;
  CHECK(support::run_in_child([] {
          const cuda::profiler_range range("x0 + x1");
          return cuda::profiling() ? 1 : 0;
        }) == 0);
  CHECK(nvtx.heard().empty());
  ::setenv("KILN_NVTX", "1", 1);
  CHECK(support::run_in_child([] {
          const cuda::profiler_range outer("relu(x0)");
          const cuda::profiler_range nobody("");
          const cuda::profiler_range inner("x0 + x1");
          return cuda::profiling() ? 0 : 1;
        }) == 0);
  CHECK(nvtx.heard() == "push relu(x0);push x0 + x1;pop;pop;");
  // An evaluation stands under its formula.
  CHECK(support::run_in_child([] {
          emulate::stand_in();
          program tape;
          for (const op_rules& op : op_table<all_ops>::rules)
            if (op.name == "add") one_op::write(op, dtype::float32, tape);
          cuda::task job = one_op::contiguous(tape, 64);
          const ref<storage> memory = cuda::new_storage(256);
          cuda::fill_bytes(memory->data, 0, 256, cuda::current_stream({}));
          for (auto& x : job.leaves) x.data = memory->data;
          job.results[0].data = memory->data;
          cuda::launch_table table;
          cuda::execute(table, job, {});
          cuda::synchronize({});
          return 0;
        }) == 0);
  CHECK(nvtx.heard().ends_with(";push x0 + x1;pop;"));
  ::setenv("KILN_LIBNVTX", "/nowhere/libnvtx.so", 1);
  CHECK(support::run_in_child([] {
          try {
            const cuda::profiler_range range("x0");
          } catch (const device_error& caught) {
            return std::string(caught.what()).find("KILN_LIBNVTX names /nowhere/libnvtx.so") != std::string::npos ? 0
                                                                                                                  : 2;
          }
          return 1;
        }) == 0);
}
