// expect: kiln: mm, bmm and mv are matmul(a, b)
// expect: kiln: x.add_(y), sub_, mul_ and div_ are x += y, x -= y, x *= y and x /= y
// expect: kiln: x.add(y), sub, mul and div are x + y, x - y, x * y and x / y
// expect: kiln: x.T is x.t(), or transpose(x, 0, 1)
// expect: kiln: x.cpu() is x.to<Cpu>()
// expect: kiln: x.cuda() is x.to<Cuda>(), or x.to(Cuda{1}): #include <kiln/cuda.hpp>
// expect: kiln: x.numpy() is x.span(), the elements in memory, or x.data()
// expect: kiln: x.requires_grad_() is x.requires_grad()
// expect: kiln: x.masked_fill_(mask, value) is x[mask] = value
// expect: kiln: x.index_add_(axis, index, y) is x = index_add(x, axis, index, y); so of scatter_add_
// expect: kiln: amax and amin are max(x, axes) and min(x, axes), whose gradient equal elements share
// expect: kiln: x.view_as(y) is x.view(y.sizes()), x.expand_as(y) x.expand(y.sizes())
// expect: kiln: the shape of x is x.shape(), or x.sizes()
// expect: kiln: the number of elements of x is x.numel()
// expect: clamp takes two bounds, clamp(x, low, high): with one, write maximum(x, low) or minimum(x, high)
// expect: size(axis) is the size along one axis, sizes() are all of them, numel() is the number of elements
// expect: x.to<...>() takes a device, x.to<Cuda>() (from kiln/cuda.hpp), or an element type, x.to<double>()
// SPDX-License-Identifier: BSL-1.0
// What PyTorch and NumPy spell otherwise.
#include <kiln/kiln.hpp>

using namespace kiln;

void names(Tensor<float> a, Tensor<float> b) {
#ifdef EXPECT_ERROR
  auto product = mm(a, b);
  a.add_(b);
  auto sum = a.add(b);
  auto turned = a.T();
  auto here = a.cpu();
  auto there = a.cuda();
  auto memory = a.numpy();
  auto sizes = shape(a);
  auto elements = numel(a);
  auto limited = clamp(a, b);
  for (int i = 0; i < a.size(); ++i) b = a;
  auto moved = a.to("cuda");
  const Tensor<std::int64_t> index{0};
  a.requires_grad_();
  b.masked_fill_(a > 0, 1);
  b.index_add_(0, index, a);
  auto largest = amax(a, 0);
  auto wide = a.expand_as(b);
#else
  auto product = matmul(a, b);
  a += b;
  auto sum = a + b;
  auto turned = a.t();
  auto here = a.to<Cpu>();
  auto there = a.to<double>();
  auto memory = a.span();
  auto sizes = a.shape();
  auto elements = a.numel();
  auto limited = clamp(a, 0, b);
  for (int i = 0; i < a.size(0); ++i) b = a;
  auto moved = a.to(double{});
  const Tensor<std::int64_t> index{0};
  a.requires_grad();
  b[a > 0] = 1;
  b = index_add(b, 0, index, a);
  auto largest = max(a, 0);
  auto wide = a.expand(b.sizes());
#endif
  (void)product, (void)sum, (void)turned, (void)here, (void)there, (void)memory, (void)sizes, (void)elements;
  (void)limited, (void)moved, (void)largest, (void)wide;
}
