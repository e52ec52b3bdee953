// SPDX-License-Identifier: BSL-1.0
// How a flat buffer is cut into buckets, and when they go: the gradients of a pass are the mean of all ranks' in every
// way that a pass can come by its parameters. The means are known in closed form.
#include <kiln/distributed/reducer.hpp>

#include <kiln/distributed/collectives.hpp>
#include <kiln/distributed/data_parallel.hpp>
#include <kiln/kiln.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

using namespace kiln;

namespace {

using parallel = distributed::DistributedDataParallel<float, Cpu>;

// Three parameters, of which each is a bucket of its own with .bucket_cap_mb = 0.
struct three {
  std::vector<Tensor<float>> w{ones<float>({16}), ones<float>({40}), ones<float>({3})};
  three() {
    for (Tensor<float>& p : w) p.requires_grad();
  }
};
float mine() {
  return static_cast<float>(distributed::rank() + 1);
}
float mean_of_ranks() {
  return static_cast<float>(distributed::world_size() + 1) / 2;
}
bool is_all(const Tensor<float>& x, float value) {
  for (const float v : x.span())
    if (v != value) return false;
  return true;
}
bool many() {
  return distributed::world_size() > 1;
}

}  // namespace

TEST_CASE("buckets are cut from the end, of as many bytes as asked for") {
  std::vector<ref<tensor_state>> tensors;
  for (const std::int64_t n : {100, 16, 16, 1, 64}) tensors.push_back(new_tensor(dtype::float32, {n}));
  const optim::detail::flat_layout layout(tensors);  // 112 16 16 16 64
  const auto cut = [&](std::int64_t bytes) {
    std::vector<int> firsts;
    int last = 5;
    for (const auto& b : distributed::detail::cut_buckets(layout, 4, bytes)) {
      CHECK(b.last == last);
      firsts.push_back(last = b.first);
    }
    return firsts;
  };
  CHECK(cut(0) == std::vector{4, 3, 2, 1, 0});
  CHECK(cut(4 * 64) == std::vector{4, 0});
  CHECK(cut(4 * 80) == std::vector{3, 0});
  CHECK(cut(1 << 20) == std::vector{0});
}

TEST_CASE("gradients become means, and those that are complete go while the pass goes on") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0}, distributed::world());
  CHECK(all.bucket_count() == (many() ? 3 : 0));
  for (int i = 0; i < 3; ++i) {
    for (Tensor<float>& p : net.w) p.zero_grad();
    // One node for each, the last parameter's first.
    const Tensor<float> a = net.w[0] * mine(), b = sum(a) + sum(net.w[1] * (2 * mine())),
                        c = sum(net.w[2] * (3 * mine()));
    backward(b + c);
    for (std::size_t k = 0; k < 3; ++k) CHECK(is_all(net.w[k].grad(), static_cast<float>(k + 1) * mean_of_ranks()));
    CHECK(all.early_buckets() == all.bucket_count());
  }
}

TEST_CASE("with .overlap = false all goes after the pass") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0, .overlap = false}, distributed::world());
  backward(sum(net.w[0] * mine()) + sum(net.w[1] * mine()) + sum(net.w[2] * mine()));
  CHECK(all.early_buckets() == 0);
  for (const Tensor<float>& p : net.w) CHECK(is_all(p.grad(), mean_of_ranks()));
}

TEST_CASE("what one rank has a gradient of, all have; what none has, nobody") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0}, distributed::world());
  if (distributed::rank() == 0)
    backward(sum(net.w[0] * 2.0f) + sum(net.w[1] * 4.0f));
  else
    backward(sum(net.w[0] * 2.0f));
  CHECK(is_all(net.w[0].grad(), 2));
  CHECK(is_all(net.w[1].grad(), 4 / static_cast<float>(distributed::world_size())));
  CHECK_FALSE(net.w[2].has_grad());
}

TEST_CASE("several passes for one step: under no_sync, or each for itself") {
  three net;
  parallel all(net.w, {}, {}, distributed::world());
  {
    const auto own = all.no_sync();
    backward(sum(net.w[0] * mine()));
    CHECK(is_all(net.w[0].grad(), mine()));
  }
  backward(sum(net.w[0] * mine()) + sum(net.w[1] * mine()));
  CHECK(is_all(net.w[0].grad(), 2 * mean_of_ranks()));
  CHECK(is_all(net.w[1].grad(), mean_of_ranks()));
  backward(sum(net.w[0] * mine()) + sum(net.w[2] * mine()));  // added to the means
  CHECK(is_all(net.w[0].grad(), 3 * mean_of_ranks()));
  CHECK(is_all(net.w[1].grad(), mean_of_ranks()));
  CHECK(is_all(net.w[2].grad(), mean_of_ranks()));
}

TEST_CASE("a gradient that is kept keeps its values") {
  three net;
  parallel all(net.w, {}, {}, distributed::world());
  backward(sum(net.w[0] * mine()));
  const Tensor<float> kept = net.w[0].grad();
  net.w[0].zero_grad();
  backward(sum(net.w[0] * (10 * mine())));
  CHECK(is_all(kept, mean_of_ranks()));
  CHECK(is_all(net.w[0].grad(), 10 * mean_of_ranks()));
}

TEST_CASE("hooks of the user come first, whenever they were made") {
  three net;
  auto before = net.w[0].on_gradient([](const Tensor<float>& g) { return Tensor<float>(2.0f * g); });
  parallel all(net.w, {}, {}, distributed::world());
  auto after = net.w[1].on_gradient([](const Tensor<float>& g) { return Tensor<float>(3.0f * g); });
  backward(sum(net.w[0] * mine()) + sum(net.w[1] * mine()));
  CHECK(is_all(net.w[0].grad(), 2 * mean_of_ranks()));
  CHECK(is_all(net.w[1].grad(), 3 * mean_of_ranks()));
  before.remove(), after.remove();
}

TEST_CASE("parameters that were frozen for a while are known again") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0}, distributed::world());
  net.w[0].requires_grad(false);
  backward(sum(net.w[0] * mine()) + sum(net.w[1] * mine()));
  CHECK_FALSE(net.w[0].needs_grad());
  net.w[0].requires_grad();
  net.w[1].zero_grad();
  for (int i = 0; i < 2; ++i) {  // at first it comes after the pass
    for (Tensor<float>& p : net.w) p.zero_grad();
    backward(sum(net.w[0] * mine()) + sum(net.w[1] * mine()) + sum(net.w[2] * mine()));
    CHECK(is_all(net.w[0].grad(), mean_of_ranks()));
    CHECK(is_all(net.w[1].grad(), mean_of_ranks()));
    if (many()) CHECK(all.early_buckets() == (i == 0 ? 2 : 3));
  }
}

TEST_CASE("within a checkpoint parameters wait for the end of the pass") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0}, distributed::world());
  Tensor<float> x = full<float>({16}, mine());
  x.requires_grad();
  const Tensor<float> y = checkpoint([&](const Tensor<float>& v) { return Tensor<float>(v * net.w[0]); }, x);
  backward(sum(y) + sum(net.w[1] * mine()));
  CHECK(is_all(net.w[0].grad(), mean_of_ranks()));
  CHECK(is_all(net.w[1].grad(), mean_of_ranks()));
}

TEST_CASE("grad() asks for gradients of this rank") {
  three net;
  parallel all(net.w, {}, {}, distributed::world());
  const auto g = grad(Tensor<float>(sum(net.w[0] * mine())), net.w[0]);
  CHECK(is_all(g, mine()));
  CHECK_FALSE(net.w[0].has_grad());
}

TEST_CASE("a recorded pass is refused; a pass that failed before anything was sent may be run again") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0, .overlap = false}, distributed::world());
  if (many())
    CHECK_THROWS_WITH_AS(backward(Tensor<float>(sum(net.w[0] * net.w[0])), {.create_graph = true}),
                         doctest::Contains("no second derivative"), graph_error);
  Tensor<float> x = ones<float>({16});
  x.requires_grad();
  Tensor<float> y = x * 1.0f;
  auto hook = y.on_gradient([](const Tensor<float>&) { throw std::runtime_error("no"); });
  CHECK_THROWS_AS(backward(sum(y) + sum(net.w[0] * mine())), std::runtime_error);
  for (Tensor<float>& p : net.w) p.zero_grad();
  backward(sum(net.w[0] * mine()));
  CHECK(is_all(net.w[0].grad(), mean_of_ranks()));
}

TEST_CASE("a pass that failed after gradients were sent leaves ranks apart, and the next one says so") {
  three net;
  parallel all(net.w, {}, {.bucket_cap_mb = 0}, distributed::world());
  Tensor<float> y = net.w[0] * 1.0f;
  auto hook = y.on_gradient([](const Tensor<float>&) { throw std::runtime_error("no"); });
  // The last parameter's node is the latest, and its bucket the first.
  const Tensor<float> a = sum(y), b = sum(net.w[2] * mine());
  CHECK_THROWS_AS(backward(a + b), std::runtime_error);
  hook.remove();
  if (many()) CHECK_THROWS_WITH_AS(backward(sum(net.w[0] * mine())), doctest::Contains("last checkpoint"), graph_error);
}
