// SPDX-License-Identifier: BSL-1.0
// Tensors that hold nothing and have huge axes: products of sizes and strides overflow unless they are looked after,
// which the sanitizer sees. Results that would hold something, and can't, are errors.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include <kiln/autograd/backward.hpp>
#include <kiln/expr/reductions.hpp>
#include <kiln/nn/functional/attention.hpp>
#include <kiln/nn/functional/batch_norm.hpp>
#include <kiln/nn/functional/conv2d.hpp>
#include <kiln/nn/functional/pool2d.hpp>
#include <kiln/ops/all.hpp>
#include <kiln/tensor/argmax.hpp>
#include <kiln/tensor/assign.hpp>
#include <kiln/tensor/equal.hpp>
#include <kiln/tensor/indexing.hpp>
#include <kiln/tensor/join.hpp>
#include <kiln/tensor/mask.hpp>
#include <kiln/tensor/masked_elements.hpp>
#include <kiln/tensor/one_hot.hpp>
#include <kiln/tensor/print.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/random.hpp>
#include <kiln/tensor/split.hpp>

using namespace kiln;

namespace {
constexpr std::int64_t huge = std::int64_t{1} << 62;
const dims shapes[] = {{huge, huge, 0}, {0, huge, huge}, {huge, 0, huge}};
Tensor<float> leaf(const dims& sizes) {
  Tensor<float> t = zeros<float>(sizes);
  t.requires_grad();
  return t;
}
}  // namespace

TEST_CASE("nothing: maps and their gradients, over huge axes") {
  for (const dims& s : shapes)
    for (int axis = 0; axis < 3; ++axis) {
      dims of_b = s;
      of_b[axis] = 1;
      if (!holds_nothing(of_b)) continue;
      const Tensor<float> x = leaf(s), b = leaf(of_b), one = leaf({1, 1, 1});
      const Tensor<float> y = x * b + one;
      CHECK(y.sizes() == s);
      backward(y, zeros<float>(s));
      CHECK(b.grad().sizes() == of_b);
      CHECK(one.grad().item() == 0);
    }
}

TEST_CASE("nothing: views, copies, text") {
  for (const dims& s : shapes) {
    Tensor<float> x = leaf(s);
    const Tensor<float> turned = transpose(x, 0, 2).clone();
    CHECK(turned.sizes() == dims{s[2], s[1], s[0]});
    backward(turned, zeros<float>(turned.sizes()));
    CHECK(x.grad().numel() == 0);
    const Tensor<float> plain = x.detach();
    CHECK(plain.slice(1, 0, huge, huge).numel() == 0);
    CHECK(plain.reshape({0, huge, 3}).sizes() == dims{0, huge, 3});
    CHECK(zeros<float>({1, 1, 0}).expand({huge, huge, 0}).clone().numel() == 0);
    CHECK_FALSE(to_string(plain).empty());
    CHECK(kiln::equal(plain, plain.clone()));
    CHECK(masked_select(plain, plain > 0.0f).numel() == 0);
  }
}

TEST_CASE("nothing: reductions along huge axes, rows of nothing, more rows than there can be") {
  for (const dims& s : shapes)
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      dims left = s;
      left.erase(static_cast<int>(axis));
      const Tensor<float> x = leaf(s);
      if (holds_nothing(left)) {
        const Tensor<float> total = sum(x, axis);
        CHECK(total.sizes() == left);
        backward(total, zeros<float>(left));
        CHECK(Tensor<float>(softmax(x, axis)).sizes() == s);
        CHECK(argmax(x.detach(), axis).sizes() == left);
      } else {
        CHECK_THROWS_AS(Tensor<float>(sum(x, axis)), shape_error);
        CHECK(Tensor<float>(softmax(x, axis)).sizes() == s);
      }
    }
  CHECK(Tensor<float>(sum(zeros<float>(shapes[0]))).item() == 0);
}

TEST_CASE("nothing: products, joins, indexing, windows, random numbers") {
  const Tensor<float> wide = leaf({0, huge}), tall = leaf({huge, 0});
  const Tensor<float> y = matmul(wide, tall);
  CHECK(y.sizes() == dims{0, 0});
  backward(y, zeros<float>({0, 0}));
  CHECK(wide.grad().sizes() == dims{0, huge});
  CHECK_THROWS_AS(Tensor<float>(matmul(tall, wide)), shape_error);
  // As many empty matrices as there are take no time, with their gradients.
  const Tensor<float> stack = leaf({huge, 0, 2}), weights = leaf({2, 3});
  const Tensor<float> none = matmul(stack, weights);
  CHECK(none.sizes() == dims{huge, 0, 3});
  backward(none, zeros<float>(none.sizes()));
  CHECK(stack.grad().sizes() == dims{huge, 0, 2});
  for (std::int64_t i = 0; i < 6; ++i) CHECK(weights.grad()(i / 3, i % 3) == 0);
  CHECK(matmul(zeros<float>({huge, 2, 0}), zeros<float>({huge, 0, 0})).sizes() == dims{huge, 2, 0});

  const Tensor<float> part = zeros<float>({huge / 2, 0, 7});
  CHECK(cat({part, part}, 1).sizes() == dims{huge / 2, 0, 7});
  CHECK_THROWS_WITH_AS(cat({zeros<float>(shapes[0]), zeros<float>(shapes[0])}, 0), doctest::Contains("63 bits"),
                       shape_error);
  const Tensor<std::int64_t> first{0, 0};
  CHECK(Tensor<float>(index_select(zeros<float>({huge, huge, 0}), 0, first)).sizes() == dims{2, huge, 0});
  CHECK(one_hot(zeros<std::int64_t>({huge, 0}), huge).sizes() == dims{huge, 0, huge});

  CHECK(conv2d(zeros<float>({0, 2, 5, 5}), zeros<float>({3, 2, 3, 3})).sizes() == dims{0, 3, 3, 3});
  const Tensor<float> images = leaf({0, 2, huge, huge}), kernels = leaf({3, 2, 3, 3}), channels = leaf({2});
  const Tensor<float> seen = conv2d(images, kernels);
  CHECK(seen.sizes() == dims{0, 3, huge - 2, huge - 2});
  CHECK_THROWS_AS(backward(seen, zeros<float>(seen.sizes())), shape_error);  // room for patches of such images
  for (const bool training : {false, true}) {
    const Tensor<float> normal = batch_norm(images, zeros<float>({2}), ones<float>({2}), channels, channels,
                                            batch_norm_options{.training = training});
    backward(normal, zeros<float>(normal.sizes()));
    CHECK(channels.grad()(1) == 0);
  }
  const Tensor<float> best = avg_pool2d(images, 2);
  backward(best, zeros<float>(best.sizes()));
  CHECK(max_pool2d(images, 2).sizes() == best.sizes());
  CHECK(max_pool2d(zeros<float>({0, huge, 4, 4}), 2).sizes() == dims{0, huge, 2, 2});
  CHECK(rand({huge, huge, 0}).numel() == 0);
  CHECK(randn({huge, 0, huge}).numel() == 0);
  CHECK(randint(10, {0, huge, huge}).numel() == 0);
}

TEST_CASE("nothing: pieces that no memory holds are an error, not a loop without end") {
  const Tensor<float> x = zeros<float>({std::numeric_limits<std::int64_t>::max(), 0});
  CHECK_THROWS_AS(split(x, 1), memory_error);
  CHECK_THROWS_AS(chunk(x, huge), memory_error);
  CHECK(split(x, huge).size() == 2);
}

TEST_CASE("nothing: a write into an expanded view without elements leaves the tensor as it is") {
  for (const dims& sizes : {dims{0, 5}, dims{0, 0, 5}, dims{0, 1, 5}}) {
    Tensor<float> x{1, 2, 3, 4, 5};
    Tensor<float> view = x.expand(sizes), other = ones<float>({5}).expand(sizes);
    view += 1.0f;
    view *= other;
    view.fill_(3);
    view.copy_(other * 2 + view);
    view.copy_(softmax(other, -1));
    view.copy_(sum(ones<float>({1, 5}).expand(sizes), -1, true));
    view[view > 0] = 9.0f;
    assign(std::tie(view, other), other, view);
    for (int i = 0; i < 5; ++i) CHECK(x(i) == static_cast<float>(i + 1));
  }
  Tensor<float> one{4};
  Tensor<float> rows = one.expand({0});
  rows.copy_(sum(zeros<float>({0, 3}), 1));
  CHECK(one(0) == 4);
}

TEST_CASE("nothing: attention over huge stacks, queries, widths") {
  for (const dims& s : {dims{huge, huge, 0, 4, 4}, dims{0, huge, huge, huge}, dims{huge, 0, huge}}) {
    const Tensor<float> q = leaf(s), y = scaled_dot_product_attention(q, q, q);
    CHECK(y.sizes() == s);
    backward(sum(y));
    CHECK(q.grad().sizes() == s);
  }
  // Scores that there would be are too many.
  CHECK_THROWS_AS(scaled_dot_product_attention(leaf({huge, huge, 0}), leaf({huge, huge, 0}), leaf({huge, huge, 0})),
                  kiln::error);
  // Without queries, keys have gradients all the same.
  const Tensor<float> k = leaf({2, 4, 3});
  backward(sum(scaled_dot_product_attention(zeros<float>({2, 0, 3}), k, k)));
  CHECK(sum(k.grad()).item() == 0);
}
