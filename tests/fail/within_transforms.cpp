// expect: index_select has no meaning within vmap and jvp yet: take the elements before
// expect: gather has no meaning within vmap and jvp yet: take the elements before, or multiply by one_hot
// expect: scatter, scatter_add and index_add have no meaning within vmap and jvp yet: multiply by
// expect: cat and stack have no meaning within vmap and jvp yet: let the function give one part
// expect: conv2d takes a batch itself: call it on the whole batch, not within vmap
// expect: max_pool2d takes a batch itself: call it on the whole batch, not within vmap
// expect: avg_pool2d takes a batch itself: call it on the whole batch, not within vmap
// expect: batch_norm takes a batch itself: call it on the whole batch, not within vmap
// expect: argmax and argmin have no meaning within vmap and jvp yet: call them with an axis on the whole batch
// expect: nothing is written in place within vmap and jvp: name the new values, x = x + 1, or choose
// expect: nonzero has no meaning within vmap and jvp, where members would have different numbers of rows: call it
// expect: x[mask] and x[indices] have no meaning within vmap and jvp: choose with where(mask, x, 0), or
// expect: one_hot has no meaning within vmap and jvp yet: call it on the whole batch before, or
// expect: diag has no meaning within vmap and jvp: diagonal(x) reads one there, and x * eye
// expect: checkpoint has no meaning within vmap and jvp: call f itself there, or checkpoint around them
// SPDX-License-Identifier: BSL-1.0
// Functions that vmap and jvp do not have.
#include <kiln/autograd/checkpoint.hpp>
#include <kiln/kiln.hpp>
#include <kiln/transform.hpp>

using namespace kiln;

void within(Tensor<float> a, Tensor<std::int64_t> i, Tensor<float> w) {
#ifdef EXPECT_ERROR
  vmap([&](const auto& x) { return index_select(x, 0, i); })(a);
  jvp([&](const auto& x) { return gather(x, 0, i); }, a, a);
  vmap([&](const auto& x) { return index_add(x, 0, i, x); })(a);
  vmap([&](const auto& x) { return cat({x, x}); })(a);
  vmap([&](const auto& x) { return conv2d(x, w); })(a);
  vmap([&](const auto& x) { return max_pool2d(x, 2); })(a);
  vmap([&](const auto& x) { return avg_pool2d(x, 2); })(a);
  vmap([&](const auto& x) { return batch_norm(x, w, w); })(a);
  vmap([&](const auto& x) { return argmax(x); })(a);
  jvp([&](auto x) { return x *= 2; }, a, a);
  vmap([&](auto x) { return x.select(0, 0) = x; })(a);
  vmap([&](const auto& x) { return nonzero(x); })(a);
  vmap([&](const auto& x) { return x[x > 0]; })(a);
  vmap([&](const auto& x) { return one_hot(x, 3); })(i);
  vmap([&](const auto& x) { return diag(x); })(a);
  vmap([&](const auto& x) { return checkpoint([](const auto& y) { return y * 2; }, x); })(a);
#else
  vmap([&](const auto& x) { return x * 2; })(index_select(a, 0, i).eval());
  (void)grad(a, a), (void)w;
#endif
}
