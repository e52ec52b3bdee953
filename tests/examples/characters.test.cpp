// SPDX-License-Identifier: BSL-1.0
// What the programs about characters share: the text in numbers and windows, and a run that is resumed, which ends with
// the weights of one that was not.
#include "../../examples/support/characters.hpp"
#include "../../examples/support/run_state_impl.hpp"

#include <kiln/nn/layers/embedding.hpp>
#include <kiln/optim/adam.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

using kiln::Tensor;
using kiln_tests::scratch_directory;

namespace {

// The next character, guessed from the last one alone.
struct Bigram {
  kiln::nn::Embedding<float> table{5, 5};
  Tensor<float> operator()(const Tensor<std::int64_t>& x) const { return table(x); }
};

const std::string pattern = "abacadabraabacadabraabacadabraabacadabraabacadabraabacadabraabacadabraabacadabra";

std::vector<float> weights_after(const support::options& with, const support::text_data& text) {
  kiln::manual_seed(3);
  Bigram net;
  kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = 0.05});
  support::train_characters<kiln::Cpu>(net, opt, text, 4, with);
  const auto all = net.table.weight.detach().contiguous();
  return {all.data(), all.data() + all.numel()};
}

}  // namespace

TEST_CASE("a text becomes numbers in the order of its characters, and windows of them") {
  const scratch_directory dir;
  const support::text_data text(dir.write("text", pattern).string(), 4);
  CHECK(text.alphabet == "abcdr");
  CHECK(text.numbers.size() == 80);
  CHECK(text.train == 72);
  const auto [x, y] = text.cut(0, 10, 4).tensors();
  REQUIRE(x.sizes() == kiln::dims{2, 4});
  const std::int64_t expected[] = {0, 1, 0, 2, 0, 3, 0, 1, 4};  // abacadabr
  for (int i = 0; i < 8; ++i) {
    CHECK(x.data()[i] == expected[i]);
    CHECK(y.data()[i] == expected[i + 1]);
  }
}

TEST_CASE("a text that is not there or too short is an error that says so") {
  const scratch_directory dir;
  CHECK_THROWS_WITH_AS(support::text_data("/nowhere/text", 4), doctest::Contains("cannot read /nowhere/text"),
                       kiln::io_error);
  CHECK_THROWS_WITH_AS(support::text_data(dir.write("short", "abc").string(), 4), doctest::Contains("3 characters"),
                       kiln::value_error);
}

TEST_CASE("a run of two epochs, and one of one that is resumed for another, give the same weights bit for bit") {
  const scratch_directory dir;
  const support::text_data text(dir.write("text", pattern).string(), 4);
  std::ostringstream out;
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  support::options with;
  with.batch = 5, with.picture = "", with.epochs = 2;
  const std::vector<float> whole = weights_after(with, text);
  with.epochs = 1, with.save = (dir.path() / "run.safetensors").string();
  const std::vector<float> half = weights_after(with, text);
  with.epochs = 2, with.resume = with.save, with.save = "";
  const std::vector<float> resumed = weights_after(with, text);
  std::cout.rdbuf(before);
  CHECK(whole == resumed);
  CHECK(whole != half);
  CHECK(out.str().find("epoch 2/2") != out.str().rfind("epoch 2/2"));  // the first run's and the last one's
}

TEST_CASE("a run that is resumed has the learning rate of its file, or the one that the command line gives") {
  const scratch_directory dir;
  support::options with;
  with.save = (dir.path() / "run.safetensors").string();
  const auto rate_after = [](const support::options& said) {
    Bigram net;
    kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = said.learning_rate});
    support::run_state state(said, net, opt);
    state.keep(1);
    return opt.lr();
  };
  with.learning_rate = 0.25;
  CHECK(rate_after(with) == 0.25);
  with.resume = with.save, with.save = "", with.learning_rate = 0.5;
  CHECK(rate_after(with) == 0.25);
  with.given = {"--resume", "--lr"};
  CHECK(rate_after(with) == 0.5);
}
