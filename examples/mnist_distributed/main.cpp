// SPDX-License-Identifier: BSL-1.0
// The network of mnist_mlp on many processes: `mpirun -np 2 mnist_distributed --data DIR`. Each rank takes its own part
// of every batch; --batch is that of all together, so that the curve is that of one process. Rank 0 prints, saves and
// is the one that is judged. The last line of its output is test_accuracy=.
#include "../mnist_mlp/train.hpp"
#include "../support/run.hpp"

#include <kiln/data/sampler.hpp>
#include <kiln/distributed.hpp>

#include <cstdlib>
#include <fstream>

namespace {

using kiln::Tensor;
namespace distributed = kiln::distributed;

void learn(const support::options& with) {
  const int rank = distributed::rank(), ranks = distributed::world_size();
  if (with.batch % ranks != 0)
    throw kiln::value_error(kiln::message("--batch ", with.batch, " does not divide into ", ranks,
                                          " equal parts, and a mean of means would be another loss: try --batch ",
                                          (with.batch / ranks + 1) * ranks));
  mnist::Mlp<kiln::Cpu> net;
  distributed::DistributedDataParallel parallel(net);  // all begin with the weights of rank 0
  kiln::optim::SGD opt(kiln::nn::parameters(net), {.lr = with.learning_rate, .momentum = 0.9});

  const mnist::digit_data data = with.data.empty() ? mnist::draw_digits(with.seed) : mnist::load_digits(with.data);
  const auto train = support::tensors_of(data.train), test = support::tensors_of(data.test);
  kiln::data::DataLoader batches(
      train, kiln::data::DistributedSampler(train.size(), {.num_replicas = ranks, .rank = rank, .seed = with.seed}),
      {.batch_size = with.batch / ranks});
  std::ofstream nowhere;
  std::ostream& out = rank == 0 ? std::cout : nowhere;
  out << "data: " << data.origin << " (" << data.train.size() << " train, " << data.test.size() << " test), " << ranks
      << (ranks == 1 ? " process\n" : " processes\n");

  support::progress show(with.epochs, data.train.size(), out, rank == 0 && support::on_terminal());
  support::learning_curve curve{{"training_loss", "training_accuracy", "test_accuracy"}};
  support::run_state state(with, net, opt);
  for (const std::int64_t epoch : state.epochs(curve, show)) {
    batches.set_epoch(static_cast<std::uint64_t>(epoch));
    show.begin_epoch();
    for (const auto& [x, y] : batches) {
      const Tensor<float> scores = net(x), loss = kiln::nn::cross_entropy(scores, y);
      opt.zero_grad();
      backward(loss);  // and the gradients are the mean of all ranks'
      opt.step();
      Tensor<double> seen{loss.item<double>() / ranks, support::count_right(scores, y), double(y.numel())};
      distributed::all_reduce(seen);
      if (!std::isfinite(seen.data()[0]))
        throw kiln::value_error("the loss is no longer finite; the steps are too large, try a smaller --lr");
      show.step(seen.data()[0], seen.data()[1], static_cast<std::size_t>(seen.data()[2]));
    }
    const double seconds = show.seconds(), reached = support::test_accuracy<kiln::Cpu>(net, test);
    curve.add({show.mean_loss(), show.accuracy(), reached});
    show.end_epoch(reached, seconds);
    if (rank == 0) state.keep(epoch + 1);
  }
  if (!with.picture.empty() && rank == 0) out << support::draw_curve(curve, with.picture) << '\n';
  char line[40];
  std::snprintf(line, sizeof line, "test_accuracy=%.4f\n", support::test_accuracy<kiln::Cpu>(net, test));
  out << line << std::flush;
}

void refuse(const support::options&) {
  throw kiln::device_error(
      "--device cuda: this program computes on the processor; docs/distributed.md shows what GPUs "
      "need");
}

}  // namespace

int main(int argc, char** argv) {
  const auto processes = distributed::initialize(argc, argv);
  support::options with{.threads = 1};
  const support::description program{
      .program = "mnist_distributed",
      .about = "Learns handwritten digits on the processes of mpirun and prints test_accuracy= as its last line.",
      .data_is = "directory with MNIST's IDX files, plain or .gz; without it digits are drawn",
      .batch_is = "digits per step, of all processes together"};
  if (const auto code = support::read_options(argc, argv, program, with)) return *code;
  return support::run("mnist_distributed", with, learn, refuse);
}
