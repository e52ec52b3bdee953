// SPDX-License-Identifier: BSL-1.0
// What the program learns with: digits squeezed through 16 numbers and drawn again from them; and the picture that
// shows how well.
#pragma once

#include "../support/digits.hpp"
#include "../support/load_digits.hpp"
#include "../support/train_digits.hpp"

#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/loss/distribution.hpp>
#include <kiln/optim/adam.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace autoencoder {

using kiln::Tensor;

/// 784 pixels -> 128 -> 16 numbers -> 128 -> 784 pixels, as the logits of their ink.
template <class D>
struct Autoencoder {
  kiln::nn::Linear<float, D> in{784, 128}, code{128, 16}, wide{16, 128}, out{128, 784};
  auto operator()(const Tensor<float, D>& x) const { return out(relu(wide(code(relu(in(x)))))); }
};

/// Writes digits, a row of them and below it what the model makes of them, as a grey picture (PGM, which every viewer
/// of pictures knows). Throws kiln::io_error if the file cannot be written.
inline void write_pairs(const Tensor<float>& digits, const Tensor<float>& drawn, const std::string& file) {
  const std::int64_t n = digits.size(0);
  std::ofstream picture(file, std::ios::binary);
  picture.imbue(std::locale::classic());
  picture << "P5\n" << n * 28 << " 56\n255\n";
  for (const Tensor<float>& row : {digits, drawn})
    for (std::int64_t y = 0; y < 28; ++y)
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t x = 0; x < 28; ++x)
          picture.put(static_cast<char>(255 - static_cast<int>(255 * row.data()[i * 784 + y * 28 + x])));
  if (!picture.flush())
    throw kiln::io_error("cannot write " + file + ": name another place with --picture, or '' for no pictures");
}

template <class D>
void run(const support::options& with) {
  Autoencoder<D> net;
  kiln::optim::Adam opt(kiln::nn::parameters(net), {.lr = with.learning_rate});
  const mnist::digit_data data = with.data.empty() ? mnist::draw_digits(with.seed) : mnist::load_digits(with.data);
  std::cout << "data: " << data.origin << " (" << data.train.size() << " train, " << data.test.size() << " test)\n";
  const auto train = support::tensors_of(data.train), test = support::tensors_of(data.test);
  kiln::data::DataLoader batches(train, {.batch_size = with.batch, .shuffle = true, .seed = with.seed});
  const auto pixels = support::on<D>(std::get<0>(test.tensors()));
  const auto judged = [&] {
    const kiln::no_grad quiet;
    return Tensor<float, D>(kiln::nn::binary_cross_entropy_with_logits(net(pixels), pixels)).template item<double>();
  };

  support::progress show(with.epochs, data.train.size());
  support::learning_curve curve{{"training_loss", "test_loss"}};
  support::run_state state(with, net, opt);
  for (const std::int64_t epoch : state.epochs(curve, show)) {
    batches.set_epoch(static_cast<std::uint64_t>(epoch));
    show.begin_epoch();
    for (const auto& [x, y] : batches) {
      const Tensor<float, D> images = support::on<D>(x);
      const Tensor<float, D> loss = kiln::nn::binary_cross_entropy_with_logits(net(images), images);
      opt.zero_grad();
      backward(loss);
      opt.step();
      show.step(loss.template item<double>(), static_cast<std::size_t>(y.numel()));
    }
    const double seconds = show.seconds(), reached = judged();
    curve.add({show.mean_loss(), reached});
    show.end_epoch("test loss", reached, seconds);
    state.keep(epoch + 1);
  }
  if (!with.picture.empty()) {
    const kiln::no_grad quiet;
    std::cout << support::draw_curve(curve, with.picture) << '\n';
    const auto some = pixels.slice(0, 0, std::min<std::int64_t>(16, pixels.size(0)));
    const Tensor<float, D> drawn = sigmoid(net(Tensor<float, D>(some)));
    const std::string file = std::filesystem::path(with.picture).replace_extension(".digits.pgm").string();
    write_pairs(some.to(kiln::Cpu{}).contiguous(), drawn.to(kiln::Cpu{}), file);
    std::cout << "digits and what became of them: " << file << '\n';
  }
  std::printf("test_loss=%.4f\n", judged());
}

/// In cuda.cpp, so that each file compiles kernels for one device.
void run_on_cuda(const support::options& with);

}  // namespace autoencoder
