// SPDX-License-Identifier: BSL-1.0
// Runs that go wrong: rank 1 does what the argument says, and the others must end with an error, in time.
#include <kiln/distributed/mpi.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  try {
    const auto processes =
        kiln::distributed::initialize(argc, argv, {.timeout = std::chrono::milliseconds(way == "late" ? 1000 : 60000)});
    double x = 1;
    if (kiln::distributed::rank() == 1) {
      if (way == "killed") std::raise(SIGKILL);
      if (way == "exits") std::_Exit(3);
      if (way == "throws") throw std::runtime_error("rank 1: no more of this");
      if (way == "late") std::this_thread::sleep_for(std::chrono::seconds(10));
      if (way == "leaves") return 0;
    }
    kiln::distributed::world()
        .start_all_reduce({&x, 1, kiln::dtype::float64, nullptr}, kiln::distributed::reduce_op::sum)
        ->wait();
    kiln::distributed::barrier();
    if (way == "last" && kiln::distributed::rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    std::printf("rank %d is through\n", kiln::distributed::rank());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
