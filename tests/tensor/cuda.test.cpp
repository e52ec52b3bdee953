// SPDX-License-Identifier: BSL-1.0
// Tensor<T, Cuda> whole, over the stand-in: what it computes against plain double loops, what it asks of the driver,
// and what it says when something is wrong.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

using namespace kiln;

namespace {

template <class T>
using on_gpu = Tensor<T, Cuda>;

std::vector<double> values_of(const Tensor<float>& x) {
  const Tensor<float> packed = x.clone();
  return {packed.span().begin(), packed.span().end()};
}
template <class T>
std::vector<double> values_of(const on_gpu<T>& x) {
  std::vector<double> out;
  const auto here = x.to(Cpu{});
  for (const T v : here.span()) out.push_back(static_cast<double>(v));
  return out;
}
double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return 1e300;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    most = d <= most ? most : d;  // a nan stays
  }
  return most;
}
// Values that differ everywhere, as a tensor of the host and as doubles.
Tensor<float> some(const dims& sizes, double phase) {
  Tensor<float> x = empty<float>(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data()[i] = static_cast<float>(std::sin(static_cast<double>(i) * 0.7 + phase) * 1.5);
  return x;
}

}  // namespace

TEST_CASE("tensors are made on the device, go to it and come back") {
  emulate::stand_in();
  CHECK(to_string(on_gpu<float>{{1, 2}, {3, 4}}) == "tensor([[1., 2.],\n        [3., 4.]])");
  CHECK(on_gpu<double>(2.5).item() == 2.5);
  CHECK(values_of(full<bfloat16, Cuda>({3}, 1.5)) == std::vector<double>{1.5, 1.5, 1.5});
  CHECK(values_of(zeros<std::int64_t, Cuda>({2})) == std::vector<double>{0, 0});
  CHECK(values_of(arange<float, Cuda>(1, 4)) == std::vector<double>{1, 2, 3});
  CHECK(values_of(eye<std::int32_t, Cuda>(2)) == std::vector<double>{1, 0, 0, 1});
  CHECK(values_of(full_like(ones<std::uint8_t, Cuda>({2}), 7)) == std::vector<double>{7, 7});
  const Tensor<float> x = some({4, 5}, 0);
  const auto there = x.to<Cuda>();
  CHECK(there.device() == Cuda{0});
  CHECK(values_of(there.t().to<Cpu>()) == values_of(x.t()));
  CHECK(there(1, -1) == x(1, 4));
  CHECK(there.to(Cuda{0}).state() == there.state());
  CHECK(rand<float, Cuda>({0, 3}).sizes() == dims{0, 3});
  if (emulate::lacks_second_device()) return;
  const auto other = there.to(Cuda{1});
  CHECK(other.device() == Cuda{1});
  CHECK(values_of(other) == values_of(x));
}

TEST_CASE("draws are those of the processor, for one seed") {
  emulate::stand_in();
  manual_seed(5);
  const auto uniform = rand({1001}), normal = randn({1001});
  const auto whole = randint(-3, 9, {1001});
  const auto order = randperm(50);
  manual_seed(5);
  CHECK(values_of(rand<float, Cuda>({1001})) == values_of(uniform));
  CHECK(furthest(values_of(randn<float, Cuda>({1001})), values_of(normal)) < 1e-5);
  CHECK(values_of(randint<std::int64_t, Cuda>(-3, 9, {1001})) ==
        std::vector<double>(whole.span().begin(), whole.span().end()));
  CHECK(values_of(randperm<Cuda>(50)) == std::vector<double>(order.span().begin(), order.span().end()));
}

TEST_CASE("expressions run as one kernel each, and wait for nothing") {
  const auto& device = emulate::stand_in();
  const Tensor<float> a = some({6, 40}, 1), b = some({40}, 2);
  const auto x = a.to<Cuda>(), w = b.to<Cuda>();
  on_gpu<float> y;
  std::vector<double> want;
  for (int i = 0; i < 240; ++i) want.push_back(std::max(0.0, double{a.data()[i]} * b.data()[i % 40] + 0.25));
  for (int i = 0; i < 3; ++i) {
    cuda::synchronize({});
    device.reset();
    y = relu(x * w + 0.25f);
    if (device.emulated()) {
      CHECK(device.count("cuLaunchKernel") == 1);
      CHECK(device.count("cuStreamSynchronize") == 0);
      CHECK(device.count("cuModuleLoadData") == (i == 0 ? 1 : 0));
      if (i == 2) CHECK(device.count("cuMemAlloc_v2") == 0);
    }
    CHECK(furthest(values_of(y), want) < 1e-6);
  }
  // Another layout of the same expression: planned anew, right as well.
  y = relu(x.slice(1, 1, 40, 3) * w.slice(0, 0, 13) + 0.25f);
  want.clear();
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 13; ++c) want.push_back(std::max(0.0, double{a(r, 1 + 3 * c)} * b(c) + 0.25));
  CHECK(furthest(values_of(y), want) < 1e-6);
  // In place, and onto a part of what is read.
  on_gpu<float> z = a.to<Cuda>();
  z += x;
  z.select(0, 0).copy_(z.select(0, 1));
  want.clear();
  for (int i = 0; i < 240; ++i) want.push_back(2 * double{a.data()[i < 40 ? i + 40 : i]});
  CHECK(furthest(values_of(z), want) < 1e-6);
}

TEST_CASE("rows, columns and all of a tensor reduce as plain loops do") {
  emulate::stand_in();
  const Tensor<float> a = some({7, 33}, 3);
  const auto x = a.to<Cuda>();
  std::vector<double> soft(231), columns(33, -1e30);
  double total = 0;
  for (int r = 0; r < 7; ++r) {
    double sum = 0;
    for (int c = 0; c < 33; ++c) sum += std::exp(double{a(r, c)});
    for (int c = 0; c < 33; ++c) {
      soft[static_cast<std::size_t>(r * 33 + c)] = std::exp(double{a(r, c)}) / sum;
      columns[static_cast<std::size_t>(c)] = std::max(columns[static_cast<std::size_t>(c)], double{a(r, c)});
      total += a(r, c);
    }
  }
  CHECK(furthest(values_of(on_gpu<float>(softmax(x, 1))), soft) < 1e-6);
  CHECK(furthest(values_of(on_gpu<float>(max(x, 0))), columns) == 0);
  CHECK(on_gpu<float>(sum(x)).item() == doctest::Approx(total).epsilon(1e-5));
  CHECK(on_gpu<float>(sum(zeros<float, Cuda>({0, 3}))).item() == 0);
  // Reductions over different axes: more than one kernel.
  double spread = 0;
  for (int r = 0; r < 7; ++r) {
    double row = -1e30;
    for (int c = 0; c < 33; ++c) row = std::max(row, double{a(r, c)});
    spread += row / 7;
  }
  CHECK(on_gpu<float>(mean(max(x, 1))).item() == doctest::Approx(spread).epsilon(1e-5));

  on_gpu<float> odd{{1, NAN, 3}, {5, 2, 5}};
  CHECK(values_of(argmax(odd, 1)) == std::vector<double>{1, 0});
  CHECK(values_of(argmin(odd, 0)) == std::vector<double>{0, 0, 0});
  CHECK(argmax(on_gpu<std::int32_t>{3, 9, 9, 1}).item() == 1);
  CHECK(values_of(one_hot(on_gpu<std::int64_t>{2, 0}, 3)) == std::vector<double>{0, 0, 1, 1, 0, 0});
  CHECK_THROWS_WITH_AS(one_hot(on_gpu<std::int64_t>{2, -1}), doctest::Contains("label -1"), value_error);
  CHECK(values_of(cat({odd, odd}, 1)).size() == 12);
}

TEST_CASE("few long rows, which are cut into parts and a rest, are summed at other addresses too") {
  emulate::stand_in();
  constexpr std::int64_t n = 33001;
  const Tensor<float> a = some({2, n}, 5);
  for (const std::int64_t first : {0, 1}) {
    const Tensor<float> rows = cat({a.slice(0, first, 2), a.slice(0, 0, first)}, 0);
    const auto sums = values_of(on_gpu<float>(sum(rows.to<Cuda>(), 1)));
    for (std::int64_t r = 0; r < 2; ++r) {
      double want = 0;
      for (std::int64_t i = 0; i < n; ++i) want += rows(r, i);
      CHECK(sums[static_cast<std::size_t>(r)] == doctest::Approx(want).epsilon(1e-5).scale(100));
    }
  }
}

TEST_CASE("gradients of everything together are those of finite differences") {
  emulate::stand_in();
  const Tensor<float> a = some({5, 8}, 1), b = some({8, 6}, 2), c = some({6}, 3);
  const auto loss = [](const auto& x, const auto& w, const auto& v) {
    return sum(softmax(tanh(matmul(x, w) + v), 1) * reshape(v, {1, 6})) + mean(cat(std::tuple(x, x * x), 0));
  };
  auto x = a.to<Cuda>(), w = b.to<Cuda>(), v = c.to<Cuda>();
  x.requires_grad(), w.requires_grad(), v.requires_grad();
  backward(loss(x, w, v));
  // The same loss in double on the host, changed a little at a time.
  std::vector<Tensor<double>> at{cast<double>(a), cast<double>(b), cast<double>(c)};
  const auto value = [&] { return Tensor<double>(loss(at[0], at[1], at[2])).item(); };
  const std::vector<std::vector<double>> got{values_of(x.grad()), values_of(w.grad()), values_of(v.grad())};
  for (std::size_t k = 0; k < 3; ++k)
    for (std::int64_t i = 0; i < at[k].numel(); ++i) {
      double& place = at[k].data()[i];
      const double before = place, h = 1e-5;
      place = before + h;
      const double up = value();
      place = before - h;
      const double down = value();
      place = before;
      CHECK(got[k][static_cast<std::size_t>(i)] == doctest::Approx((up - down) / (2 * h)).epsilon(2e-4).scale(1e-2));
    }
}

TEST_CASE("a gradient crosses devices") {
  emulate::stand_in();
  Tensor<float> x{1, 2, 3};
  x.requires_grad();
  backward(sum(square(x.to<Cuda>())) + sum(x.to<Cuda>()));
  CHECK(values_of(x.grad()) == std::vector<double>{3, 5, 7});
}

TEST_CASE("a training step is captured and replayed without waiting") {
  const auto& device = emulate::stand_in();
  auto x = some({8, 4}, 0).to<Cuda>(), target = some({8, 1}, 1).to<Cuda>();
  auto w = some({4, 1}, 2).to<Cuda>();
  w.requires_grad();
  std::vector<double> want = values_of(w);
  const auto step = [&] {
    w.zero_grad();
    backward(mean(square(matmul(x, w) - target)));
    const no_grad quiet;
    w -= 0.1f * w.grad();
  };
  const auto xs = values_of(x), ts = values_of(target);
  const auto step_by_hand = [&] {
    std::vector<double> gradient(4);
    for (std::size_t r = 0; r < 8; ++r) {
      double miss = -ts[r];
      for (std::size_t k = 0; k < 4; ++k) miss += xs[4 * r + k] * want[k];
      for (std::size_t k = 0; k < 4; ++k) gradient[k] += 2 * miss * xs[4 * r + k] / 8;
    }
    for (std::size_t k = 0; k < 4; ++k) want[k] -= 0.1 * gradient[k];
  };
  const auto graph = cuda::capture(step, {}, 2);
  for (int i = 0; i < 2; ++i) step_by_hand();
  CHECK(furthest(values_of(w), want) < 1e-5);
  cuda::synchronize({});
  device.reset();
  for (int i = 0; i < 5; ++i) graph.replay(), step_by_hand();
  if (device.emulated()) CHECK(device.count("cuStreamSynchronize") + device.count("cuLaunchKernel") == 0);
  CHECK(furthest(values_of(w), want) < 1e-5);
}

TEST_CASE("what goes wrong is said, and the next call works") {
  const auto& device = emulate::stand_in();
  const auto x = ones<float, Cuda>({4});
  if (!emulate::lacks_second_device())
    CHECK_THROWS_WITH_AS(on_gpu<float>(x + ones<float>({4}, Cuda{1})), doctest::Contains(".to(Cuda{0})"), device_error);
  CHECK_THROWS_WITH_AS(ones<float>({4}, Cuda{99}), doctest::Contains("Cuda{99}"), device_error);
  float here = 0;
  CHECK_THROWS_WITH_AS(from_blob<Cuda>(&here, {1}), doctest::Contains("no address of a GPU"), device_error);
  CHECK(values_of(from_blob<Cuda>(x.data(), {2})) == std::vector<double>{1, 1});
  if (device.emulated()) {
    device.set("fail_launch", 1);
    const on_gpu<float> lost = x * 3.0f;
    CHECK_THROWS_WITH_AS(lost.to<Cpu>(), doctest::Contains("kiln_map"), device_error);
    device.reset();  // a real device would need a new process
  }
  CHECK(values_of(on_gpu<float>(x * 3.0f)) == std::vector<double>{3, 3, 3, 3});
  CHECK_THROWS_WITH_AS((empty<float, Cuda>({std::int64_t{1} << 42})), doctest::Contains("has no"), memory_error);
  // Capture of what was never run: it would have to compile.
  CHECK_THROWS_WITH_AS(cuda::capture([&] { on_gpu<float> y = exp(x) - log(x + 3.0f); }, {}, 0),
                       doctest::Contains("capture"), device_error);
  CHECK(on_gpu<float>(exp(x) - log(x + 3.0f))(0) == doctest::Approx(std::exp(1.0) - std::log(4.0)));
  CHECK_THROWS_AS(on_gpu<float>(max(zeros<float, Cuda>({0}))), value_error);
  const on_gpu<std::int32_t> n{7, -7, 5}, by{2, 0, 3};
  on_gpu<std::int32_t> q = remainder(n, by);
  CHECK_THROWS_WITH_AS(q.to<Cpu>(), doctest::Contains("by zero, in remainder(x0, x1) (kernel kiln_map_"), value_error);
  q = remainder(n, maximum(by, 1));
  CHECK(values_of(q) == std::vector<double>{1, 0, 2});
}
