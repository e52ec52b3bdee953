// SPDX-License-Identifier: BSL-1.0
// Printing. The texts are what PyTorch 2 prints for the same tensors (torch.set_printoptions at its defaults), with its
// "torch." left off element types and brackets for parentheses in sizes.
#include <kiln/tensor/print.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <sstream>
#include <string>

#include <kiln/autograd/backward.hpp>
#include <kiln/tensor/creation.hpp>

using namespace kiln;

namespace {
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();
}

TEST_CASE("whole numbers of a floating type end in a point") {
  CHECK(to_string(Tensor<float>{{1, 2}, {3, -4}}) == "tensor([[ 1.,  2.],\n        [ 3., -4.]])");
  CHECK(to_string(zeros({3})) == "tensor([0., 0., 0.])");
}

TEST_CASE("fractions have four digits and line up") {
  CHECK(to_string(Tensor<float>{{0.5f, 2}, {3, -10.25f}}) ==
        "tensor([[  0.5000,   2.0000],\n        [  3.0000, -10.2500]])");
  CHECK(to_string(Tensor<float>{0.00012345f, 0.01f}) == "tensor([0.0001, 0.0100])");
}

TEST_CASE("values that differ widely are written with powers of ten") {
  CHECK(to_string(Tensor<float>{1e-5f, 1}) == "tensor([1.0000e-05, 1.0000e+00])");
  CHECK(to_string(Tensor<float>{1, 2000}) == "tensor([1.0000e+00, 2.0000e+03])");
  CHECK(to_string(Tensor<float>{2, 2000}) == "tensor([   2., 2000.])");
  CHECK(to_string(Tensor<float>{3e8f}) == "tensor([3.0000e+08])");
  CHECK(to_string(Tensor<float>{0, 5e-5f}) == "tensor([0.0000e+00, 5.0000e-05])");
}

TEST_CASE("nan and infinities line up, which PyTorch leaves out beside short numbers") {
  CHECK(to_string(Tensor<float>{{1, not_a_number}, {infinity, 2}}) == "tensor([[ 1., nan],\n        [inf,  2.]])");
  CHECK(to_string(Tensor<float>{1.5f, not_a_number, -infinity}) == "tensor([1.5000,    nan,   -inf])");
}

TEST_CASE("integers and bool") {
  CHECK(to_string(Tensor<std::int64_t>{{1, -20}, {300, 4}}) == "tensor([[  1, -20],\n        [300,   4]])");
  CHECK(to_string(Tensor<bool>{true, false}) == "tensor([ True, False])");
  CHECK(to_string(Tensor<std::int64_t>{std::numeric_limits<std::int64_t>::max()}) == "tensor([9223372036854775807])");
}

TEST_CASE("a type that the values do not show is named") {
  CHECK(to_string(Tensor<double>{1, 2}) == "tensor([1., 2.], dtype=float64)");
  CHECK(to_string(Tensor<std::uint8_t>{1, 200}) == "tensor([  1, 200], dtype=uint8)");
  CHECK(to_string(Tensor<std::int32_t>{7}) == "tensor([7], dtype=int32)");
  CHECK(to_string(cast<half>(Tensor<float>{0.1f})) == "tensor([0.1000], dtype=float16)");
  CHECK(to_string(cast<bfloat16>(Tensor<float>{0.1f})) == "tensor([0.1001], dtype=bfloat16)");
}

TEST_CASE("numbers without axes") {
  CHECK(to_string(Tensor<float>(3.0f)) == "tensor(3.)");
  CHECK(to_string(Tensor<float>(3.14159f)) == "tensor(3.1416)");
  CHECK(to_string(Tensor<std::int64_t>(3)) == "tensor(3)");
  CHECK(to_string(Tensor<bool>(true)) == "tensor(True)");
}

TEST_CASE("empty tensors show their shape unless it is plain") {
  CHECK(to_string(empty({0})) == "tensor([])");
  CHECK(to_string(empty({2, 0})) == "tensor([], size=[2, 0])");
  CHECK(to_string(empty<std::int64_t>({0})) == "tensor([], dtype=int64)");
  CHECK(to_string(Tensor<float>()) == "tensor(undefined)");
}

TEST_CASE("more axes are set apart by empty lines") {
  CHECK(to_string(arange(8).reshape({2, 2, 2})) ==
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
  CHECK(to_string(arange(2).reshape({2, 1, 1, 1})) == "tensor([[[[0]]],\n\n\n        [[[1]]]])");
}

TEST_CASE("long rows are broken at eighty columns") {
  CHECK(to_string(arange(30)) ==
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
}

TEST_CASE("beyond a thousand elements the middle is left out") {
  CHECK(to_string(arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(to_string(arange(1000)).find("...") == std::string::npos);
  CHECK(to_string(arange(2000).reshape({40, 50})) ==
        "tensor([[   0,    1,    2,  ...,   47,   48,   49],\n"
        "        [  50,   51,   52,  ...,   97,   98,   99],\n"
        "        [ 100,  101,  102,  ...,  147,  148,  149],\n"
        "        ...,\n"
        "        [1850, 1851, 1852,  ..., 1897, 1898, 1899],\n"
        "        [1900, 1901, 1902,  ..., 1947, 1948, 1949],\n"
        "        [1950, 1951, 1952,  ..., 1997, 1998, 1999]])");
  // Only what is shown decides on the width and the digits.
  auto x = zeros({2000});
  x.data()[1000] = 1e-7f;
  CHECK(to_string(x) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])");
}

TEST_CASE("gradients are noted, on a line of their own if need be") {
  Tensor<float> w{1, 2};
  w.requires_grad();
  CHECK(to_string(w) == "tensor([1., 2.], requires_grad=True)");
  CHECK(to_string(w * 2) == "tensor([2., 4.], requires_grad=True)");
  Tensor<double> wide = cast<double>(arange(1000000, 1000008));
  wide.requires_grad();
  CHECK(to_string(wide) ==
        "tensor([1000000., 1000001., 1000002., 1000003., 1000004., 1000005., 1000006.,\n"
        "        1000007.], dtype=float64, requires_grad=True)");
}

TEST_CASE("views and expressions print, streams take them") {
  const Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  std::ostringstream out;
  out << x.t() << '\n' << x.slice(1, 0, 3, 2) + 0.5f;
  CHECK(out.str() ==
        "tensor([[1., 4.],\n        [2., 5.],\n        [3., 6.]])\n"
        "tensor([[1.5000, 3.5000],\n        [4.5000, 6.5000]])");
  CHECK(to_string(x.select(0, 0).expand({2, 3})) == "tensor([[1., 2., 3.],\n        [1., 2., 3.]])");
}
