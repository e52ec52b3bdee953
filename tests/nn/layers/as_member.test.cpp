// SPDX-License-Identifier: BSL-1.0
// Every layer as a member of a user's struct, with its sizes in the member's initialiser as torch.nn spells them: the
// first thing that a model is. Numbers of parameters against those of torch.nn's layers, in closed form.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

using namespace kiln;

namespace {

struct Activations {
  nn::ReLU relu;
  nn::ReLU6 relu6;
  nn::SELU selu;
  nn::SiLU silu;
  nn::Mish mish;
  nn::Softsign softsign;
  nn::Sigmoid sigmoid;
  nn::LogSigmoid log_sigmoid;
  nn::Tanh tanh;
  nn::Tanhshrink tanhshrink;
  nn::Hardsigmoid hardsigmoid;
  nn::Hardswish hardswish;
  nn::GELU gelu;
  nn::GELUTanh gelu_tanh;
  nn::LeakyReLU leaky_relu{0.1};
  nn::ELU elu{1.0};
  nn::CELU celu{1.0};
  nn::Softshrink softshrink{0.5};
  nn::Hardshrink hardshrink{0.5};
  nn::Softplus softplus{1.0};
  nn::Hardtanh hardtanh{-1.0, 1.0};
  nn::Threshold threshold{0.1, 20};
  nn::Softmax softmax{1};
  nn::LogSoftmax log_softmax{1};
  nn::Softmin softmin{1};
  nn::GLU glu{1};
};
struct WithPReLU {
  nn::PReLU<float> prelu{3};
};
struct WithLinear {
  nn::Linear<float> linear{5, 7};
};
struct WithBilinear {
  nn::Bilinear<float> bilinear{2, 3, 4};
};
struct WithEmbedding {
  nn::Embedding<float> embedding{10, 3};
};
struct WithAttention {
  nn::MultiheadAttention<float> attention{8, 2};
  nn::PositionalEncoding<float> positions{8};
};
struct WithBatchNorm {
  nn::BatchNorm1d<float> one{4};
  nn::BatchNorm2d<float> two{4};
};
struct WithConv {
  nn::Conv1d<float> one{2, 3, 5};
  nn::Conv2d<float> two{2, 3, 5};
  nn::ConvTranspose2d<float> back{2, 3, 5};
};
struct WithoutParameters {
  nn::Dropout dropout{0.5};
  nn::Dropout2d dropout2d{0.5};
  nn::MaxPool1d max1{2};
  nn::MaxPool2d max2{2};
  nn::AvgPool1d avg1{2};
  nn::AvgPool2d avg2{2};
  nn::AdaptiveAvgPool1d adaptive1{2};
  nn::AdaptiveAvgPool2d adaptive2{2};
  nn::Identity identity;
  nn::Flatten flatten;
  nn::Unflatten unflatten{1, {2, 3}};
  nn::Upsample upsample{2};
};
struct WithLayerNorm {
  nn::LayerNorm<float> one{32};
  nn::LayerNorm<float> two{{4, 8}};
  nn::LayerNorm<float> plain{32, {.elementwise_affine = false}};
};
struct WithRMSNorm {
  nn::RMSNorm<float> one{32};
  nn::RMSNorm<float> two{{4, 8}};
  nn::RMSNorm<float> eps{32, {.eps = 1e-6}};
};
struct WithGroupNorm {
  nn::GroupNorm<float> group{2, 6};
};
struct WithInstanceNorm {
  nn::InstanceNorm1d<float> one{6, {.affine = true}};
  nn::InstanceNorm2d<float> two{6, {.affine = true}};
};
struct WithRecurrent {
  nn::RNN<float> rnn{3, 4};
  nn::LSTM<float> lstm{3, 4};
  nn::GRU<float> gru{3, 4};
};
struct WithEncoderLayer {
  nn::TransformerEncoderLayer<float> layer{8, 2, {.dim_feedforward = 16}};
};
struct WithDecoderLayer {
  nn::TransformerDecoderLayer<float> layer{8, 2, {.dim_feedforward = 16}};
};
struct WithEncoder {
  nn::TransformerEncoder<float> encoder{8, 2, 3, {.dim_feedforward = 16}};
};
struct WithDecoder {
  nn::TransformerDecoder<float> decoder{8, 2, 3, {.dim_feedforward = 16}, true};
};
struct WithTransformer {
  nn::Transformer<float> transformer{8, 2, {1, 2}, {.dim_feedforward = 16}};
};
struct WithResidual {
  nn::Residual<nn::Linear<float>> residual{nn::Linear<float>{5, 5}};
};

template <class M>
std::int64_t parameters_of() {
  M net;
  std::int64_t total = 0;
  for (const auto& p : nn::parameters(net)) total += p.numel();
  return total;
}

}  // namespace

TEST_CASE("as_member: every layer in a struct, with the parameters of torch.nn's") {
  CHECK(parameters_of<Activations>() == 0);
  CHECK(parameters_of<WithoutParameters>() == 0);
  CHECK(parameters_of<WithPReLU>() == 3);
  CHECK(parameters_of<WithLinear>() == 5 * 7 + 7);
  CHECK(parameters_of<WithBilinear>() == 2 * 3 * 4 + 4);
  CHECK(parameters_of<WithEmbedding>() == 10 * 3);
  constexpr std::int64_t attention = 3 * 8 * 8 + 3 * 8 + 8 * 8 + 8;
  CHECK(parameters_of<WithAttention>() == attention);
  CHECK(parameters_of<WithBatchNorm>() == 2 * 2 * 4);
  CHECK(parameters_of<WithConv>() == (3 * 2 * 5 + 3) + (3 * 2 * 25 + 3) + (2 * 3 * 25 + 3));
  CHECK(parameters_of<WithLayerNorm>() == 2 * 64);
  CHECK(parameters_of<WithRMSNorm>() == 3 * 32);
  CHECK(parameters_of<WithGroupNorm>() == 2 * 6);
  CHECK(parameters_of<WithInstanceNorm>() == 2 * 2 * 6);
  CHECK(parameters_of<WithRecurrent>() == (1 + 4 + 3) * (4 * 3 + 4 * 4 + 2 * 4));
  constexpr std::int64_t norm = 2 * 8, fed = 8 * 16 + 16 + 16 * 8 + 8;
  constexpr std::int64_t encoder = attention + fed + 2 * norm, decoder = 2 * attention + fed + 3 * norm;
  CHECK(parameters_of<WithEncoderLayer>() == encoder);
  CHECK(parameters_of<WithDecoderLayer>() == decoder);
  CHECK(parameters_of<WithEncoder>() == 3 * encoder);
  CHECK(parameters_of<WithDecoder>() == 3 * decoder + norm);
  CHECK(parameters_of<WithTransformer>() == encoder + norm + 2 * decoder + norm);
  CHECK(parameters_of<WithResidual>() == 5 * 5 + 5);
}

TEST_CASE("as_member: no layer of include/kiln/nn/layers is missing above") {
  auto text_of = [](const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const std::filesystem::path root = KILN_TEST_SOURCE_DIR;
  const std::string here = text_of(root / "tests/nn/layers/as_member.test.cpp");
  int layers = 0;
  for (const auto& file : std::filesystem::directory_iterator(root / "include/kiln/nn/layers")) {
    const std::string text = text_of(file.path());
    static const std::regex layer("\n(?:struct|using) ([A-Z]\\w*)");
    for (std::sregex_iterator at(text.begin(), text.end(), layer), end; at != end; ++at, ++layers)
      CHECK_MESSAGE(here.find("nn::" + (*at)[1].str()) != std::string::npos, (*at)[1].str());
  }
  CHECK(layers > 50);
}
TEST_CASE("as_member: the sizes of LayerNorm and RMSNorm may be one number") {
  CHECK(nn::to_string(nn::LayerNorm<float>{32}) == "LayerNorm((32,), eps=1e-05, elementwise_affine=True)");
  CHECK(nn::to_string(nn::RMSNorm<float>{32}) == "RMSNorm((32,), eps=None, elementwise_affine=True)");
  const std::int64_t width = 5;
  const Tensor<float> x = randn<float>({3, width});
  const Tensor<float> y = nn::LayerNorm<float>{width}(x), z = nn::RMSNorm<float>{width, {.eps = 0.0}}(x);
  for (int i = 0; i < 3; ++i) {
    double mean = 0, squares = 0, norm = 0;
    for (int j = 0; j < width; ++j) {
      mean += static_cast<double>(y(i, j));
      squares += std::pow(y(i, j), 2);
      norm += std::pow(z(i, j), 2);
    }
    CHECK(std::abs(mean) < 1e-5);
    CHECK(squares == doctest::Approx(5).epsilon(1e-3));
    CHECK(norm == doctest::Approx(5).epsilon(1e-5));
  }
  CHECK_THROWS_AS(static_cast<void>(nn::LayerNorm<float>{-3}), shape_error);
}
