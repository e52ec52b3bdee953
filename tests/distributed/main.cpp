// SPDX-License-Identifier: BSL-1.0
// main() of the tests that run as several processes: all of them run the same test cases, in the same order.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <kiln/device/cpu/threads/threads.hpp>
#include <kiln/distributed/mpi.hpp>

int main(int argc, char** argv) {
  const auto processes = kiln::distributed::initialize(argc, argv, {.timeout = std::chrono::seconds(60)});
  kiln::set_num_threads(1);
  doctest::Context context(argc, argv);
  return context.run();
}
