// SPDX-License-Identifier: BSL-1.0
// What a second process brings: steps of the convolutional network of models/cnn (Adam, 256 images a step, of all
// processes together), by one process and by two of mpirun, one thread each. Started by mpirun with --as-process, this
// program is one of them, and rank 0 says how many seconds its steps took. Needs mpirun, and two cores.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#if __has_include(<mpi.h>)
#include "../peers/cnn.hpp"

#include <kiln/distributed.hpp>
#include <kiln/kiln.hpp>
#include <kiln/nn/module.hpp>
#include <kiln/optim/adam.hpp>

namespace {

using kiln::Tensor;
namespace distributed = kiln::distributed;

constexpr std::int64_t images_a_step = 256, steps = 12;

/// As one of the processes: seconds for the steps, from when all are ready until all are done.
void learn() {
  kiln::set_num_threads(1);
  const std::int64_t mine = images_a_step / distributed::world_size();
  kiln::manual_seed(1);
  peers::cnn net;
  distributed::DistributedDataParallel parallel(net);
  kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = 1e-3});
  const Tensor<float> x = kiln::randn<float>({mine, 1, 28, 28});
  const Tensor<std::int64_t> y = kiln::randint(10, {mine});
  auto step = [&] {
    opt.zero_grad();
    backward(net.loss(x, y));
    opt.step();
  };
  for (int i = 0; i < 3; ++i) step();
  distributed::barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) step();
  distributed::barrier();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (distributed::rank() == 0) std::printf("seconds %.9f\n", seconds.count());
}

/// Seconds that so many processes say they took.
double run(const std::string& self, int processes) {
  const std::string command = "mpirun -np " + std::to_string(processes) + " '" + self + "' --as-process";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  double seconds = 0;
  char line[256];
  while (output && std::fgets(line, sizeof line, output.get()))
    if (std::sscanf(line, "seconds %lf", &seconds) == 1) return seconds;
  throw std::runtime_error(command + " did not say how long it took");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string("--as-process")) {
    const auto processes = distributed::initialize(argc, argv);
    learn();
    return 0;
  }
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);  // containers run as root, which Open MPI asks about
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  for (const int processes : {1, 2})
    benchmark::RegisterBenchmark(("processes/cnn/kiln_" + std::to_string(processes)).c_str(),
                                 [=](benchmark::State& state) {
                                   for (auto _ : state) state.SetIterationTime(run(argv[0], processes) / steps);
                                   state.SetItemsProcessed(state.iterations() * images_a_step);
                                 })
        ->UseManualTime()
        ->Iterations(1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
#else
int main() {
  std::puts("no MPI, so nothing runs as several processes: install it (Debian: libopenmpi-dev openmpi-bin)");
}
#endif
