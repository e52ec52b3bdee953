// SPDX-License-Identifier: BSL-1.0
// Tensors and Eigen's objects: the same memory or a copy, row- and column-major, with strides. Eigen is the oracle.
#include <kiln/tensor/eigen.hpp>

#include <doctest/doctest.h>

#include <Eigen/Core>

#include <kiln/autograd/backward.hpp>
#include <kiln/tensor/products.hpp>
#include <kiln/tensor/views.hpp>

using namespace kiln;

TEST_CASE("eigen_matrix sees a tensor's elements, whatever its strides, and writes them") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  auto m = eigen_matrix(x);
  CHECK(m.data() == x.data());
  CHECK((m.rows() == 2 && m.cols() == 3));
  CHECK(m(1, 0) == 4);
  m(0, 2) = 30;
  CHECK(x(0, 2) == 30);
  CHECK(eigen_matrix(x.t())(2, 0) == 30);
  CHECK(eigen_matrix(x.slice(1, 0, 3, 2))(1, 1) == 6);
  CHECK(eigen_matrix(x.select(0, 1)).rows() == 3);
  CHECK(eigen_matrix(x.select(0, 1).expand({4, 3}))(3, 2) == 6);
  CHECK(eigen_vector(x.select(1, 1)).sum() == 7);
  CHECK(eigen_matrix(empty({0, 3})).cols() == 3);
}

TEST_CASE("Eigen computes on tensors") {
  const Tensor<double> a{{1, 2}, {3, 4}}, b{{5, 6}, {7, 8}};
  auto c = empty<double>({2, 2});
  eigen_matrix(c) = eigen_matrix(a) * eigen_matrix(b);
  const Tensor<double> own = matmul(a, b);
  CHECK((eigen_matrix(c).array() == eigen_matrix(own).array()).all());
}

TEST_CASE("other ranks are refused") {
  CHECK_THROWS_WITH_AS(eigen_matrix(empty({1, 2, 3})),
                       "eigen_matrix: a tensor of shape [1, 2, 3] is no matrix: reshape it to two axes", shape_error);
  CHECK_THROWS_AS(eigen_matrix(Tensor<float>(1.0f)), shape_error);
  CHECK_THROWS_AS(eigen_vector(empty({2, 3})), shape_error);
}

TEST_CASE("from_eigen copies expressions") {
  Eigen::MatrixXf m = Eigen::MatrixXf::Random(3, 4);
  const auto x = from_eigen(2 * m.transpose());
  CHECK(x.sizes() == dims{4, 3});
  CHECK((eigen_matrix(x) - 2 * m.transpose()).norm() == 0);
  const float before = x(1, 2);
  m.setZero();
  CHECK(x(1, 2) == before);
  const Eigen::Vector3d v(1, 2, 3);
  static_assert(std::is_same_v<decltype(from_eigen(v)), Tensor<double>>);
  CHECK(from_eigen(v + v)(2) == 6);
  CHECK(from_eigen(v.transpose()).sizes() == dims{3});
  CHECK(from_eigen(Eigen::ArrayXXi::Constant(2, 2, 7))(1, 1) == 7);
  CHECK(from_eigen(Eigen::MatrixXf(0, 3)).sizes() == dims{0, 3});
}

TEST_CASE("from_blob looks at an Eigen object's elements") {
  Eigen::MatrixXf columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  Tensor<float> x = from_blob(columns);
  CHECK(x.data() == columns.data());
  CHECK(x.sizes() == dims{2, 3});
  CHECK(x(1, 0) == 4);
  x *= 2;
  CHECK(columns(1, 2) == 12);
  Eigen::Matrix<double, 2, 3, Eigen::RowMajor> rows = columns.cast<double>();
  CHECK(from_blob(rows).contiguous_layout());
  CHECK(from_blob(rows)(1, 0) == 8);
  auto block = columns.block(0, 1, 2, 2);
  CHECK(from_blob(block)(1, 0) == 10);
  Eigen::VectorXf v(2);
  v << 1, 2;
  CHECK(from_blob(v).sizes() == dims{2});
  auto row = columns.row(1);
  CHECK(from_blob(row)(2) == 12);
  Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<2>> every_second(columns.data(), 3);
  CHECK(from_blob(every_second)(2) == 6);
}
