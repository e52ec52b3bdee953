// SPDX-License-Identifier: BSL-1.0
// Dynamic tensors on the device Cuda, over the stand-in: what they compute against plain loops in double, what becomes
// of one tape, and what they refuse.
#include <kiln/dynamic.hpp>
#include <kiln/dynamic/cuda.hpp>
#include <kiln/tensor/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <dynamic/values.hpp>

using namespace kiln::dynamic;
using namespace test;
using kiln::dtype;

namespace {

constexpr device gpu{device_kind::cuda};

std::vector<double> numbers(int n, double phase) {
  std::vector<double> all;
  for (int i = 0; i < n; ++i) all.push_back(static_cast<double>(static_cast<float>(std::sin(i * 0.7 + phase) * 1.5)));
  return all;
}
tensor some(const kiln::dims& sizes, double phase, dtype type = dtype::float32) {
  return made(sizes, numbers(static_cast<int>(kiln::count(sizes)), phase), type).to(gpu);
}
std::vector<double> back(const tensor& x) {
  CHECK(x.device() == gpu);
  return values(x.to(device_kind::cpu));
}

}  // namespace

TEST_CASE("to a GPU and back, with gradients") {
  emulate::stand_in();
  REQUIRE(cuda_devices() >= 1);
  tensor x = made({2, 3}, {1, 2, 3, 4, 5, 6});
  x.requires_grad_();
  const tensor there = transpose(x, 0, 1).to(gpu);
  CHECK(there.device() == gpu);
  CHECK(name(there.device()) == "cuda:0");
  CHECK(there.sizes() == kiln::dims{3, 2});
  CHECK(back(there) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(there.to(gpu).cell() == there.cell());
  reduce("sum", call("mul", {there, there})).to(device_kind::cpu).backward();
  CHECK(x.grad().device() == device_kind::cpu);
  CHECK(values(x.grad()) == std::vector<double>{2, 4, 6, 8, 10, 12});
  // What C++ has there is the same tensor.
  CHECK(there.as<float, kiln::Cuda>().sizes() == kiln::dims{3, 2});
  CHECK(tensor(there.as<float, kiln::Cuda>()).device() == gpu);
  for (const dtype type : {dtype::boolean, dtype::uint8, dtype::int16, dtype::int64, dtype::float16, dtype::float64})
    CHECK(back(made({3}, {1, 0, 1}, type).to(gpu)) == std::vector<double>{1, 0, 1});
  CHECK(back(zeros({2}, dtype::int32, gpu)) == std::vector<double>{0, 0});
  CHECK(made({}, {2.5}).to(gpu).item() == 2.5);
  CHECK(back(scalar(3.0).to(gpu)) == std::vector<double>{3});
}

TEST_CASE("a chain on a GPU is one tape, forward and backward") {
  emulate::stand_in();
  const std::vector<double> a = numbers(15, 0), b = numbers(5, 1);
  tensor x = some({3, 5}, 0), w = some({5}, 1);
  x.requires_grad_(), w.requires_grad_();
  reset_statistics();
  const tensor y = call("mul", {call("tanh", {call("add", {call("mul", {x, w}), scalar(0.5)})}), x});
  CHECK(y.is_lazy());
  CHECK(y.device() == gpu);
  std::vector<double> expected, dx(15), dw(5);
  for (int i = 0; i < 15; ++i) {
    const auto at = static_cast<std::size_t>(i), of = static_cast<std::size_t>(i % 5);
    const double t = std::tanh(a[at] * b[of] + 0.5), inner = (1 - t * t) * a[at];
    expected.push_back(t * a[at]);
    dx[at] = t + inner * b[of];
    dw[of] += inner * a[at];
  }
  CHECK(near(back(y), expected));
  CHECK(statistics().evaluations == 1);
  reduce("sum", y).backward();
  CHECK(x.grad().device() == gpu);
  CHECK(near(back(x.grad()), dx));
  CHECK(near(back(w.grad()), dw));
  // The same form with other numbers is no new program.
  const std::int64_t before = statistics().programs;
  const tensor again = call("mul", {call("tanh", {call("add", {call("mul", {w, x}), scalar(0.25)})}), x});
  again.eval();
  call("mul", {call("tanh", {call("add", {call("mul", {w, x}), scalar(0.75)})}), x}).eval();
  CHECK(statistics().programs <= before + 1);
}

TEST_CASE("reductions and row programs on a GPU") {
  emulate::stand_in();
  const std::vector<double> a = numbers(12, 0.3);
  tensor x = some({3, 4}, 0.3);
  x.requires_grad_();
  std::vector<double> rows(3), columns(4), largest(3, -1e9), soft(12), centred(12);
  for (std::size_t i = 0; i < 12; ++i) {
    rows[i / 4] += a[i], columns[i % 4] += a[i];
    largest[i / 4] = std::max(largest[i / 4], a[i]);
  }
  for (std::size_t r = 0; r < 3; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < 4; ++c) sum += std::exp(a[r * 4 + c]);
    for (std::size_t c = 0; c < 4; ++c) {
      soft[r * 4 + c] = std::exp(a[r * 4 + c]) / sum;
      centred[r * 4 + c] = a[r * 4 + c] - rows[r] / 4;
    }
  }
  CHECK(near(back(reduce("sum", x, {1})), rows));
  CHECK(near(back(reduce("sum", x, {0})), columns));
  CHECK(near(back(reduce("max", x, {1})), largest));
  CHECK(near(back(softmax(x)), soft));
  CHECK(near(back(call("sub", {x, reduce("mean", x, {1}, true)})), centred));
  CHECK(near({reduce("mean", x).item()}, {(rows[0] + rows[1] + rows[2]) / 12}));
  // d/dx of sum(max(x)): one where the largest is.
  reduce("sum", reduce("max", x, {1})).backward();
  const std::vector<double> gradient = back(x.grad());
  for (std::size_t i = 0; i < 12; ++i) CHECK(gradient[i] == (a[i] == largest[i / 4] ? 1.0 : 0.0));
  CHECK_THROWS_AS(reduce("max", zeros({2, 0}, dtype::float32, gpu), {1}).eval(), kiln::value_error);
}

TEST_CASE("products on a GPU, with their gradients") {
  emulate::stand_in();
  const std::vector<double> a = numbers(6, 0), b = numbers(8, 1), c = numbers(4, 2);
  tensor x = some({3, 2}, 0), w = some({4, 2}, 1), bias = some({4}, 2);
  x.requires_grad_(), w.requires_grad_(), bias.requires_grad_();
  std::vector<double> expected(12), dx(6), dw(8);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      expected[i * 4 + j] = c[j];
      for (std::size_t k = 0; k < 2; ++k) {
        expected[i * 4 + j] += a[i * 2 + k] * b[j * 2 + k];
        dx[i * 2 + k] += b[j * 2 + k];
        dw[j * 2 + k] += a[i * 2 + k];
      }
    }
  const tensor y = linear(x, w, bias);
  CHECK(near(back(y), expected));
  reduce("sum", y).backward();
  CHECK(near(back(x.grad()), dx));
  CHECK(near(back(w.grad()), dw));
  CHECK(back(bias.grad()) == std::vector<double>{3, 3, 3, 3});
  CHECK(near(back(matmul(x, transpose(w, 0, 1))), back(linear(x, w))));
}

TEST_CASE("views, joins, indexing and writing in place on a GPU") {
  emulate::stand_in();
  tensor x = made({2, 3}, {1, 7, 3, 9, 5, 9}).to(gpu);
  x.requires_grad_();
  const tensor index = made({3}, {2, 0, 2}, dtype::int64).to(gpu);
  reduce("sum", index_select(x, 1, index)).backward();
  CHECK(back(x.grad()) == std::vector<double>{1, 0, 2, 1, 0, 2});
  const tensor plain = x.detach();
  CHECK(back(select(plain, 0, 1)) == std::vector<double>{9, 5, 9});
  CHECK(back(transpose(plain, 0, 1).contiguous()) == std::vector<double>{1, 9, 7, 5, 3, 9});
  const tensor both[] = {plain, plain};
  CHECK(back(cat(both, 1)) == std::vector<double>{1, 7, 3, 1, 7, 3, 9, 5, 9, 9, 5, 9});
  CHECK(back(tril(plain)) == std::vector<double>{1, 0, 0, 9, 5, 0});
  CHECK(back(flip(plain)) == std::vector<double>{9, 5, 9, 3, 7, 1});
  const std::int64_t one = 1;
  CHECK(back(argmax(plain, {&one, 1})) == std::vector<double>{1, 0});
  CHECK(argmax(plain).item_int64() == 3);
  CHECK(argmin(plain, {&one, 1}, true).sizes() == kiln::dims{2, 1});
  CHECK(back(gather(plain, 1, made({2, 1}, {2, 1}, dtype::int64).to(gpu))) == std::vector<double>{3, 5});
  CHECK(back(scatter_add(zeros({3}, dtype::float32, gpu), 0, made({3}, {1, 1, 2}, dtype::int64).to(gpu),
                         made({3}, {1, 2, 3}).to(gpu))) == std::vector<double>{0, 3, 3});
  CHECK(back(masked_select(plain, call("gt", {plain, scalar(4)}))) == std::vector<double>{7, 9, 5, 9});
  CHECK(back(one_hot(made({2}, {1, 0}, dtype::int64).to(gpu), 2)) == std::vector<double>{0, 1, 1, 0});
  tensor y = plain.clone();
  y.eval();
  select(y, 0, 0).assign_(made({3}, {0, 1, 2}).to(gpu));
  CHECK(back(y) == std::vector<double>{0, 1, 2, 9, 5, 9});
  CHECK(back(y.fill_(4)) == std::vector<double>{4, 4, 4, 4, 4, 4});
}

TEST_CASE("a model trains on a GPU as on the processor") {
  emulate::stand_in();
  const auto train = [](device where) {
    kiln::manual_seed(3);
    const module net = sequential({make_module("Linear", {{"in_features", 2}, {"out_features", 4}}),
                                   make_module("Tanh"), make_module("LayerNorm", {{"normalized_shape", 4}}),
                                   make_module("Linear", {{"in_features", 4}, {"out_features", 3}})});
    net.to(where);
    const optimizer steps = make_optimizer("SGD", net.parameters(), {{"lr", 0.1}, {"momentum", 0.5}});
    const tensor x = made({5, 2}, numbers(10, 0)).to(where), y = made({5}, {0, 1, 2, 1, 0}, dtype::int64).to(where);
    const loss_function loss = make_loss("ce");
    std::vector<double> all;
    for (int i = 0; i < 3; ++i) {
      const tensor value = loss(net(x), y);
      steps.zero_grad();
      value.backward();
      steps.step();
      all.push_back(value.item());
    }
    net.to(device_kind::cpu);
    for (const tensor& p : net.parameters())
      for (const double each : values(p)) all.push_back(each);
    return all;
  };
  const std::vector<double> here = train(device_kind::cpu), there = train(gpu);
  CHECK(here[2] < here[0]);
  CHECK(near(there, here, 1e-4));
}

TEST_CASE("what dynamic tensors on a GPU refuse") {
  emulate::stand_in();
  const tensor x = some({2}, 0), here = made({2}, {1, 2});
  CHECK(said<kiln::device_error>([&] {
          call("add", {x, here});
        }) == "add: operands are on cuda:0 and cpu: bring them together with to()");
  CHECK(holds(said<kiln::device_error>([&] { matmul(x, here); }), "matmul: operands are on cuda:0 and cpu"));
  CHECK(holds(said<kiln::device_error>([&] { x.data(); }), "are on cuda:0, not in the host's memory"));
  CHECK(holds(said<kiln::device_error>([&] { x.as<float>(); }), "a tensor on cuda:0 is no Tensor of the device Cpu"));
  CHECK(holds(said<kiln::device_error>([&] { here.to({device_kind::cuda, 99}); }), "99"));
  const module lstm = make_module("LSTM", {{"input_size", 2}, {"hidden_size", 2}});
  CHECK(holds(said<kiln::device_error>([&] { lstm.to(gpu); }), "computes on the processor only"));
  const module net = make_module("Linear", {{"in_features", 2}, {"out_features", 2}});
  CHECK_THROWS_AS(net(reshape(x, {1, 2})), kiln::device_error);
  const tensor parts[] = {x, here};
  CHECK(holds(said<kiln::device_error>([&] { cat(parts); }), "cat: parts are on cuda:0 and cpu"));
}

namespace {

/// Lengths at which the shared memory of row programs changes: where a block or a cluster is full, by a vector more or
/// less and by one element, and steps between.
std::vector<std::int64_t> row_lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1024; n < 70'000; n += 4096) all.push_back(n);
  for (std::int64_t n = 73'728; n <= 500'000; n += 16'384) all.push_back(n);
  for (const std::int64_t full :
       {8192, 16'384, 24'576, 32'768, 49'152, 65'536, 98'304, 114'688, 196'608, 229'376, 425'984, 458'752})
    for (const std::int64_t more : {-8, 1, 8}) all.push_back(full + more);
  return all;
}

struct row_function {
  const char* name;
  tensor (*of)(const tensor& x, const tensor& along, const tensor& of_row);
};
constexpr std::int64_t row_axis[] = {1};
constexpr row_function row_functions[] = {
    {"softmax", [](const tensor& x, const tensor&, const tensor&) { return softmax(x, 1); }},
    {"softmax(x + w)",
     [](const tensor& x, const tensor& w, const tensor&) {
       return softmax(call("add", {x, w}), 1);
     }},
    {"softmax * s",
     [](const tensor& x, const tensor&, const tensor& s) {
       return call("mul", {softmax(x, 1), s});
     }},
    {"log_softmax", [](const tensor& x, const tensor&, const tensor&) { return log_softmax(x, 1); }},
    {"logsumexp",
     [](const tensor& x, const tensor&, const tensor&) { return reduce("logsumexp", x, row_axis, false); }},
    {"layer_norm", [](const tensor& x, const tensor&, const tensor&) { return layer_norm(x, row_axis); }},
    {"layer_norm * w",
     [](const tensor& x, const tensor& w, const tensor&) {
       return call("mul", {layer_norm(x, row_axis), w});
     }},
    {"layer_norm * s",
     [](const tensor& x, const tensor&, const tensor& s) {
       return call("mul", {layer_norm(x, row_axis), s});
     }},
};

}  // namespace

TEST_CASE("a driver takes all launches of row programs, whatever the length of the rows") {
  if (emulate::skip_on_gpu("it would compile some hundred texts and run none")) return;
  const auto& device = emulate::stand_in();
  device.set("run_kernels", 0);  // planned, printed, loaded, checked by the fake driver, and not run
  device.set("memory", std::int64_t{80} << 30);
  for (const dtype type : {dtype::float32, dtype::bfloat16, dtype::float16, dtype::float64})
    for (const std::int64_t length : row_lengths())
      for (const row_function& f : row_functions)
        for (const bool backward : {false, true}) {
          tensor x = zeros({8, length}, type, gpu), along = zeros({length}, type, gpu),
                 of_row = zeros({8, 1}, type, gpu);
          if (backward) x.requires_grad_(), along.requires_grad_(), of_row.requires_grad_();
          std::string refusal;
          try {
            const tensor y = f.of(x, along, of_row);
            if (backward)
              y.backward(zeros(y.sizes(), type, gpu));
            else
              y.eval();
          } catch (const std::exception& caught) {
            refusal = caught.what();
          }
          INFO(std::string(f.name), std::string(backward ? ", backward, of " : " of "), std::string(kiln::name(type)),
               ", rows of ", length);
          CHECK(refusal == "");
        }
  CHECK(device.count("cuFuncSetAttribute") > 100);  // kernels that need permission for their shared memory
  kiln::cuda::empty_cache();
  device.reset();
}
