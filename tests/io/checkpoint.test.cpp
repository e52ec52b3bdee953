// SPDX-License-Identifier: BSL-1.0
// Checkpoints: a run that was saved and resumed has the bits of one that was not stopped, with every kind of part; and
// whatever stops the saving, the checkpoint before it loads.
#include <kiln/io/checkpoint.hpp>

#include <support/child.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/dropout.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>
#include <kiln/optim.hpp>

using namespace kiln;
using kiln_tests::scratch_directory;
using kiln_tests::slurp;

namespace {

/// What a step of training learns from: the same in each step of this number.
Tensor<float> inputs(std::int64_t step) {
  generator from(static_cast<std::uint64_t>(step) + 100);
  return randn<float>({6, 4}, from);
}

/// A network with everything that has a state, an optimizer, and whatever else of it `Run` adds.
template <class Optimizer, class Options>
struct run {
  nn::Sequential<nn::Linear<>, nn::BatchNorm1d<>, nn::ReLU, nn::Dropout, nn::Linear<>> net{
      nn::Linear<>{4, 5}, nn::BatchNorm1d<>{5}, nn::ReLU{}, nn::Dropout{0.3}, nn::Linear<>{5, 1}};
  Optimizer opt;
  optim::StepLR decay{opt, 3, 0.5};
  optim::ExponentialMovingAverage<float> average{nn::parameters(net), {.decay = 0.7}};
  double best = 1e9;

  explicit run(const Options& o) : opt(nn::parameters(net), o) {}
  void steps(std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      opt.zero_grad();
      const Tensor<float> loss = mean(square(net(inputs(i)) - 1.0f));
      backward(loss);
      opt.step();
      average.update();
      decay.step();
      best = std::min(best, static_cast<double>(loss.item()));
    }
  }
  auto parts() { return std::tie(net, opt, decay, average, best); }
  std::string bits() {
    std::string all;
    for (const auto& [name, values] : io::state_dict(net)) {
      const io::array flat = values.contiguous();
      all.append(flat.data(), flat.bytes());
    }
    for (int i = 0; i < 6; ++i) {
      const auto a = average.average(i).contiguous();
      all.append(reinterpret_cast<const char*>(a.data()), static_cast<std::size_t>(a.numel()) * 4);
    }
    all.append(reinterpret_cast<const char*>(&best), 8);
    return all + std::to_string(opt.lr()) + " " + std::to_string(decay.last_epoch());
  }
};

template <class Optimizer, class Options>
void resumes_bit_for_bit(const Options& options) {
  const scratch_directory dir;
  const auto path = dir.path() / "run.safetensors";
  std::string wanted;
  {
    manual_seed(7);
    run<Optimizer, Options> whole(options);
    whole.steps(0, 5);
    std::apply([&](auto&... each) { io::save_checkpoint(path, 5, each...); }, whole.parts());
    whole.steps(5, 10);
    wanted = whole.bits();
  }
  manual_seed(1234);  // another beginning, all of which the checkpoint replaces
  run<Optimizer, Options> resumed(options);
  resumed.steps(0, 2);
  manual_seed(99);
  const std::int64_t step =
      std::apply([&](auto&... each) { return io::load_checkpoint(path, each...); }, resumed.parts());
  CHECK(step == 5);
  resumed.steps(step, 10);
  CHECK(resumed.bits() == wanted);
}

}  // namespace

TEST_CASE("checkpoint: SGD with momentum goes on bit for bit") {
  resumes_bit_for_bit<optim::SGD<float>, optim::sgd_options>({.lr = 0.1, .momentum = 0.9});
}
TEST_CASE("checkpoint: Adam with AMSGrad goes on bit for bit") {
  resumes_bit_for_bit<optim::Adam<float>, optim::adam_options>({.lr = 0.05, .weight_decay = 0.01, .amsgrad = true});
}
TEST_CASE("checkpoint: NAdam, whose steps have a product, goes on bit for bit") {
  resumes_bit_for_bit<optim::NAdam<float>, optim::nadam_options>({.lr = 0.05});
}

TEST_CASE("checkpoint: master weights of a half type, its generator and scaler go on bit for bit") {
  const scratch_directory dir;
  const auto path = dir.path() / "run.safetensors";
  struct half_run {
    nn::Linear<bfloat16> net{4, 3};
    optim::AdamW<bfloat16> opt{nn::parameters(net), {.lr = 0.01}};
    optim::GradScaler scaler{{.init_scale = 8, .growth_interval = 3}};
    generator noise{5};
    void steps(int from, int to) {
      for (int i = from; i < to; ++i) {
        opt.zero_grad();
        backward(scaler.scale(mean(square(net(randn<bfloat16>({6, 4}, noise))))));
        scaler.step(opt);
        scaler.update();
      }
    }
    std::string bits() {
      const auto w = net.weight.contiguous();
      return std::string(reinterpret_cast<const char*>(w.data()), static_cast<std::size_t>(w.numel()) * 2) +
             std::to_string(scaler.get_scale()) + std::to_string(noise.position());
    }
  };
  half_run whole, resumed;
  whole.steps(0, 5);
  io::save_checkpoint(path, 5, whole.net, whole.opt, whole.scaler, whole.noise);
  whole.steps(5, 10);
  io::load_checkpoint(path, resumed.net, resumed.opt, resumed.scaler, resumed.noise);
  resumed.steps(5, 10);
  CHECK(resumed.bits() == whole.bits());
}

TEST_CASE("checkpoint: schedulers of schedulers, plateaus and L-BFGS go on as they would have") {
  const scratch_directory dir;
  const auto path = dir.path() / "run.safetensors";
  struct rates {
    Tensor<float> w = Tensor<float>{1, 2, 3}.requires_grad();
    optim::SGD<float> opt{{w}, {.lr = 1}};
    optim::LinearLR warm{opt, 0.25, 1, 3};
    optim::ExponentialLR fall{opt, 0.5};
    optim::SequentialLR all{{&warm, &fall}, {3}};
    optim::SGD<float> other{{Tensor<float>{1}.requires_grad()}, {.lr = 1}};
    optim::ReduceLROnPlateau plateau{other, {.patience = 2}};
    Tensor<double> x = Tensor<double>{-1.2, 1}.requires_grad();
    optim::LBFGS<double> newton{{x}, {.lr = 0.5, .max_iter = 2}};
    void step() {
      all.step();
      plateau.step(1.0);
      newton.step([&] {
        const auto a = x.select(0, 0), b = x.select(0, 1);
        Tensor<double> loss = 100.0 * square(b - square(a)) + square(1.0 - a);
        backward(loss);
        return loss.item();
      });
    }
    std::vector<double> state() { return {opt.lr(), other.lr(), x(0), x(1), static_cast<double>(newton.iterations())}; }
  };
  for (const int before : {0, 2, 5}) {
    CAPTURE(before);
    rates whole, resumed;
    for (int i = 0; i < before; ++i) whole.step();
    io::save_checkpoint(path, before, whole.opt, whole.all, whole.other, whole.plateau, whole.newton, whole.x);
    for (int i = 0; i < 4; ++i) resumed.step();
    io::load_checkpoint(path, resumed.opt, resumed.all, resumed.other, resumed.plateau, resumed.newton, resumed.x);
    CHECK(resumed.state() == whole.state());
    for (int i = 0; i < 4; ++i) whole.step(), resumed.step();
    CHECK(resumed.state() == whole.state());
  }
}

TEST_CASE("checkpoint: cut off anywhere while it is written, the one before loads") {
  const scratch_directory dir;
  const auto path = dir.path() / "run.safetensors";
  nn::Linear<> net{3, 2};
  io::save_checkpoint(path, 1, net);
  const std::string whole = slurp(path);
  for (std::size_t most = 0; most < whole.size(); most += 16) {
    CAPTURE(most);
    const int status = kiln::support::run_in_child([&]() -> int {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{most, most};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 77;
      try {
        io::save_checkpoint(path, 2, net);
      } catch (const io_error&) {
        return 0;
      }
      return 1;
    });
    REQUIRE(status == 0);
    REQUIRE(slurp(path) == whole);
  }
  CHECK(io::load_checkpoint(path, net) == 1);
  // A file that was cut off all the same, by a disk that lied, is an error at every length.
  for (std::size_t keep = 0; keep < whole.size(); ++keep)
    REQUIRE_THROWS_AS(io::load_checkpoint(dir.write("cut.safetensors", whole.substr(0, keep)), net), io_error);
}

TEST_CASE("checkpoint: other parts than those that were saved are listed, and nothing is changed") {
  const scratch_directory dir;
  const auto path = dir.path() / "run.safetensors";
  nn::Linear<> net{3, 2}, wider{4, 2};
  optim::SGD<float> opt(nn::parameters(net), {.lr = 0.5});
  optim::SGD<float> wide(nn::parameters(wider), {.lr = 0.25});
  io::save_checkpoint(path, 3, net, opt);
  const float before = wider.weight(0, 0);
  double number = 0;
  std::string text;
  try {
    io::load_checkpoint(path, wider, wide, number);
  } catch (const value_error& e) {
    text = e.what();
  }
  CAPTURE(text);
  CHECK(text.find("model.weight: here float32 of shape [2, 4], in the file float32 of shape [2, 3]") != text.npos);
  CHECK(text.find("number: missing") != text.npos);
  CHECK(wider.weight(0, 0) == before);
  CHECK(wide.lr() == 0.25);
  CHECK_THROWS_WITH_AS(io::load_checkpoint(path, net), doctest::Contains("optimizer.groups.0.options.lr: unexpected"),
                       value_error);
  io::write_safetensors(path, io::state_dict(net));
  CHECK_THROWS_WITH_AS(io::load_checkpoint(path, net), doctest::Contains("is no checkpoint"), io_error);
}

TEST_CASE("checkpoint: numbers that cannot be are listed, and nothing is changed") {
  const scratch_directory dir;
  const auto path = dir.path() / "run.safetensors";
  nn::Linear<> net{3, 2};
  optim::NAdam<float> opt(nn::parameters(net), {.lr = 0.5});
  optim::StepLR decay(opt, 3);
  optim::GradScaler scaler;
  CHECK_THROWS_WITH_AS(io::save_checkpoint(path, -1, net), doctest::Contains("step -1"), value_error);
  backward(sum(net(ones<float>({1, 3}))));
  opt.step();
  io::save_checkpoint(path, 3, net, opt, decay, scaler);
  const std::string whole = slurp(path);
  const float before = net.weight(0, 0);
  const auto spoiled = [&](const char* name, auto value) {
    io::text_map texts;
    io::tensor_map kept = io::read_safetensors(path, &texts);
    REQUIRE(kept.contains(name));
    kept.insert_or_assign(name, io::array(full<decltype(value)>(kept.at(name).sizes(), value)));
    kept.insert_or_assign("model.weight", io::array(zeros<float>({2, 3})));
    io::write_safetensors(path, kept, texts);
    std::string text;
    try {
      io::load_checkpoint(path, net, opt, decay, scaler);
    } catch (const value_error& e) {
      text = e.what();
    }
    CHECK_MESSAGE(text.find(std::string("\n  ") + name + ": in the file ") != text.npos, name, " is not in ", text);
    CHECK(net.weight(0, 0) == before);
    CHECK(opt.steps(net.weight) == 1);
    dir.write("run.safetensors", whole);
  };
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::min()})
    for (const char* name : {"step", "optimizer.groups.0.steps.0", "scheduler.epoch", "gradscaler.good_steps"})
      spoiled(name, bad);
  for (const double bad : {std::nan(""), -1.0, HUGE_VAL})
    for (const char* name : {"optimizer.groups.0.product.1", "gradscaler.scale"}) spoiled(name, bad);
  CHECK(io::load_checkpoint(path, net, opt, decay, scaler) == 3);
  // A list of another length.
  io::text_map texts;
  io::tensor_map kept = io::read_safetensors(path, &texts);
  kept.insert_or_assign("optimizer.initial_lr", io::array(Tensor<double>{0.1, 0.2}));
  io::write_safetensors(path, kept, texts);
  CHECK_THROWS_WITH_AS(io::load_checkpoint(path, net, opt, decay, scaler),
                       doctest::Contains("optimizer.initial_lr: another number of groups"), value_error);
}
