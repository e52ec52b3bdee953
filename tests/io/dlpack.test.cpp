// SPDX-License-Identifier: BSL-1.0
// DLPack: tensors that go out and come in share their elements, live as long as they must, and are refused with words.
#include <kiln/io/dlpack.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using io::from_dlpack;
using io::to_dlpack;

namespace {

/// A tensor of some other library, which counts how often it was let go.
struct foreign {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  std::int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  int deleted = 0;
  io::dlpack::managed_tensor managed{};
  io::dlpack::managed_tensor_versioned versioned{};
  foreign() {
    managed.dl_tensor = {values.data(),
                         {io::dlpack::device_type::cpu, 0},
                         2,
                         {io::dlpack::type_code::floating, 32, 1},
                         shape,
                         strides,
                         0};
    managed.manager_ctx = versioned.manager_ctx = this;
    managed.deleter = [](io::dlpack::managed_tensor* m) { ++static_cast<foreign*>(m->manager_ctx)->deleted; };
    versioned.dl_tensor = managed.dl_tensor;
    versioned.version = {1, 1};
    versioned.deleter = [](io::dlpack::managed_tensor_versioned* m) {
      ++static_cast<foreign*>(m->manager_ctx)->deleted;
    };
  }
};

}  // namespace

TEST_CASE("to_dlpack: type, shape, strides and elements, which live until the deleter is called") {
  Tensor<float> x{{1, 2, 3}, {4, 5, 6}};
  io::dlpack::managed_tensor* lent = to_dlpack(x.t());
  x.fill_(9);
  const float* const data = x.data();
  x = Tensor<float>();
  const io::dlpack::tensor& t = lent->dl_tensor;
  CHECK(t.ndim == 2);
  CHECK(t.shape[0] == 3);
  CHECK(t.strides[0] == 1);
  CHECK(t.strides[1] == 3);
  CHECK(t.dtype.code == io::dlpack::type_code::floating);
  CHECK(t.dtype.bits == 32);
  CHECK(t.dtype.lanes == 1);
  CHECK(t.device.type == io::dlpack::device_type::cpu);
  CHECK(t.data == data);
  CHECK(static_cast<float*>(t.data)[5] == 9);
  lent->deleter(lent);
}

TEST_CASE("to_dlpack: back as every element type, by both versions") {
  const auto both = []<class T>(std::type_identity<T>) {
    const Tensor<T> x = full<T>({2, 2}, 1);
    const Tensor<T> back = from_dlpack<T>(to_dlpack(x)), again = from_dlpack<T>(io::to_dlpack_versioned(x));
    CHECK(back.data() == x.data());
    CHECK(again.data() == x.data());
    CHECK(back.sizes() == dims{2, 2});
  };
  for (const dtype type : {dtype::boolean, dtype::uint8, dtype::int8, dtype::int16, dtype::int32, dtype::int64,
                           dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64})
    visit_dtype(type, both);
  CHECK(from_dlpack<float>(to_dlpack(Tensor<float>(2.0f))).item() == 2);
  CHECK(from_dlpack<float>(to_dlpack(empty<float>({0, 3}))).sizes() == dims{0, 3});
}

TEST_CASE("from_dlpack: elements of another library, let go once and when they are needed no more") {
  for (const bool versioned : {false, true}) {
    foreign other;
    {
      const Tensor<float> x = versioned ? from_dlpack<float>(&other.versioned) : from_dlpack<float>(&other.managed);
      CHECK(x(0, 2) == 5);
      CHECK(x(1, 0) == 2);
      const Tensor<float> row = x.select(0, 1);
      other.values[1] = 7;
      CHECK(row(0) == 7);
      CHECK(other.deleted == 0);
    }
    CHECK(other.deleted == 1);
  }
  foreign plain;
  plain.managed.dl_tensor.strides = nullptr;
  plain.managed.dl_tensor.byte_offset = 8;
  plain.shape[0] = 1;
  CHECK(from_dlpack<float>(&plain.managed)(0, 2) == 5);
}

TEST_CASE("from_dlpack: what is no such tensor is refused, and still its owner's") {
  foreign other;
  CHECK_THROWS_WITH_AS(from_dlpack<double>(&other.managed), doctest::Contains("code 2 with 32 bits"), dtype_error);
  CHECK_THROWS_AS(from_dlpack<std::int32_t>(&other.managed), dtype_error);
  other.managed.dl_tensor.device.type = io::dlpack::device_type::cuda;
  CHECK_THROWS_AS(from_dlpack<float>(&other.managed), device_error);
  other.managed.dl_tensor.device.type = io::dlpack::device_type::cpu;
  other.managed.dl_tensor.ndim = 9;
  CHECK_THROWS_AS(from_dlpack<float>(&other.managed), shape_error);
  other.managed.dl_tensor.ndim = 2;
  other.shape[1] = -1;
  CHECK_THROWS_AS(from_dlpack<float>(&other.managed), shape_error);
  other.shape[1] = 3;
  other.strides[0] = -1;
  CHECK_THROWS_AS(from_dlpack<float>(&other.managed), shape_error);
  other.strides[0] = 1;
  other.managed.dl_tensor.byte_offset = 1;
  CHECK_THROWS_AS(from_dlpack<float>(&other.managed), value_error);
  other.managed.dl_tensor.byte_offset = 0;
  other.managed.dl_tensor.data = nullptr;
  CHECK_THROWS_AS(from_dlpack<float>(&other.managed), value_error);
  other.versioned.version.major = 2;
  CHECK_THROWS_WITH_AS(from_dlpack<float>(&other.versioned), doctest::Contains("version 2"), value_error);
  other.versioned.version.major = 1;
  other.versioned.flags = io::dlpack::read_only;
  CHECK_THROWS_WITH_AS(from_dlpack<float>(&other.versioned), doctest::Contains("may not be written"), value_error);
  CHECK(other.deleted == 0);
  CHECK_THROWS_AS(from_dlpack<float>(static_cast<io::dlpack::managed_tensor*>(nullptr)), value_error);
}
