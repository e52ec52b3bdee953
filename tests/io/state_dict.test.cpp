// SPDX-License-Identifier: BSL-1.0
// state_dict and load_state_dict: a module that PyTorch saved, and everything that may not fit, at once.
#include <kiln/io/safetensors.hpp>
#include <kiln/io/state_dict.hpp>

#include <support/array_values.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>
#include <kiln/nn/layers/activation.hpp>
#include <kiln/nn/layers/batch_norm.hpp>
#include <kiln/nn/layers/linear.hpp>
#include <kiln/nn/layers/sequential.hpp>

using namespace kiln;
using kiln_tests::made_array;
using kiln_tests::made_file;

namespace {
struct pair_of_layers {
  nn::Linear<> first{3, 2}, second{2, 2};
};
std::vector<std::string> names_of(const io::tensor_map& all) {
  std::vector<std::string> names;
  for (const auto& [name, values] : all) names.push_back(name);
  return names;
}
}  // namespace

TEST_CASE("load_state_dict: a network that PyTorch saved computes what PyTorch computed") {
  nn::Sequential net{nn::Linear{3, 2}, nn::ReLU{}, nn::BatchNorm1d{2}, nn::Linear{2, 1, {.bias = false}}};
  const io::load_report report = io::load_state_dict(net, io::read_safetensors(made_file("module.safetensors")));
  CHECK(report.missing.empty());
  CHECK(report.unexpected.empty());
  nn::eval(net);
  const Tensor<float> y = net(Tensor<float>{{1, -2, 0.5}, {4, 3, -1}});
  CHECK(y(0, 0) == doctest::Approx(2.8125).epsilon(1e-6));  // what make_files.py printed
  CHECK(y(1, 0) == doctest::Approx(5.343737602233887).epsilon(1e-6));
  const io::tensor_map state = io::state_dict(net), stored = io::read_safetensors(made_file("module.safetensors"));
  CHECK(names_of(state) == names_of(stored));
  for (const auto& [name, values] : stored) {
    CHECK(state.at(name).sizes() == values.sizes());
    CHECK(std::memcmp(state.at(name).data(), values.data(), values.bytes()) == 0);
  }
}

TEST_CASE("state_dict: shares elements with the module, and has a shared tensor once") {
  pair_of_layers net;
  io::tensor_map state = io::state_dict(net);
  CHECK(names_of(state) == std::vector<std::string>{"first.bias", "first.weight", "second.bias", "second.weight"});
  state.at("first.bias").as<float>().fill_(5);
  CHECK(net.first.bias(1) == 5);
  net.second.bias = net.first.bias;
  state = io::state_dict(net);
  CHECK(state.size() == 3);
  // Either name will do.
  state["second.bias"] = made_array(dtype::float32, {2});
  state.erase("first.bias");
  io::load_state_dict(net, state);
  CHECK(net.first.bias(0) == -1.5f);
}

TEST_CASE("load_state_dict: all that does not fit is listed at once, and the module stays as it was") {
  pair_of_layers net;
  io::tensor_map state = io::state_dict(net);
  state.erase("first.bias");
  state.erase("second.bias");
  state["third.bias"] = made_array(dtype::float32, {2});
  state["first.weight"] = made_array(dtype::float32, {3, 2});
  state["second.weight"] = made_array(dtype::float64, {2, 2});
  std::string text;
  try {
    io::load_state_dict(net, state);
  } catch (const value_error& e) {
    text = e.what();
  }
  for (const char* part : {"missing: first.bias, second.bias\n", "unexpected: third.bias\n",
                           "first.weight: the module has shape [2, 3], the file [3, 2]",
                           "second.weight: the module has float32, the file float64 (.convert = true rounds it)"}) {
    CAPTURE(text);
    CHECK(text.find(part) != text.npos);
  }
  state["first.weight"] = made_array(dtype::float32, {2, 3});
  CHECK_THROWS_AS(io::load_state_dict(net, state, {.strict = false}), value_error);
  CHECK(net.first.weight(0, 0) != -1.5f);
  const io::load_report report = io::load_state_dict(net, state, {.strict = false, .convert = true});
  CHECK(report.missing == std::vector<std::string>{"first.bias", "second.bias"});
  CHECK(report.unexpected == std::vector<std::string>{"third.bias"});
  CHECK(net.first.weight(0, 0) == -1.5f);
  CHECK(net.second.weight(1, 1) == 0.75f);
  state["second.weight"] = made_array(dtype::int32, {2, 2});
  CHECK_THROWS_AS(io::load_state_dict(net, state, {.strict = false, .convert = true}), value_error);
}

TEST_CASE("load_state_dict: graphs that were recorded before know that their values have changed") {
  nn::Linear<> layer{3, 2};
  const auto kept = layer(Tensor<float>{{1, 2, 3}});
  const Tensor<float> y = square(layer.weight).eval();
  io::load_state_dict(
      layer, io::tensor_map{{"weight", made_array(dtype::float32, {2, 3})}, {"bias", made_array(dtype::float32, {2})}});
  CHECK(layer.weight(1, 2) == 2.25f);
  CHECK_THROWS_AS(backward(sum(y)), graph_error);
}
