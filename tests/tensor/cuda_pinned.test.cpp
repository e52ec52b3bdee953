// SPDX-License-Identifier: BSL-1.0
// Tensors and pinned memory: the device reads and writes it when its stream comes to the copy. What users see is as if
// it did so at once.
#include <kiln/cuda.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <kiln/data/cuda.hpp>
#include <kiln/dynamic/cuda.hpp>
#include <kiln/dynamic/tensor.hpp>
#include <kiln/io/dlpack.hpp>

#include <cstdint>
#include <tuple>
#include <vector>

using namespace kiln;

namespace {

template <class T>
using on_gpu = Tensor<T, Cuda>;

/// Pinned memory of the program's own, which kiln has not made. Its owner overwrites it when it comes back.
struct pinned_by_others {
  cuda::device_scope scope{Cuda{0}};
  float* data = nullptr;
  pinned_by_others() {
    void* start = nullptr;
    cuda::check(cuda::driver().host_memory_allocate(&start, 3 * sizeof(float), 0), "cuMemHostAlloc");
    data = static_cast<float*>(start);
    for (int i = 0; i < 3; ++i) data[i] = static_cast<float>(i + 1);
  }
  pinned_by_others(const pinned_by_others&) = delete;
  pinned_by_others& operator=(const pinned_by_others&) = delete;
  ~pinned_by_others() { cuda::driver().host_memory_free(data); }
  void overwrite() {
    for (int i = 0; i < 3; ++i) data[i] = -1;
  }
};

/// A tensor as a loader with pin_memory gives it.
Tensor<float> pinned(const Tensor<float>& values) {
  return Tensor<float>(data::detail::copied_to_pinned(*values.state()));
}

std::vector<float> values_of(const on_gpu<float>& x) {
  const Tensor<float> here = x.to<Cpu>();
  return {here.span().begin(), here.span().end()};
}

}  // namespace

TEST_CASE("elements are in pinned memory when to_host returns") {
  emulate::stand_in();
  const ref<storage> to = cuda::new_pinned_storage(3 * sizeof(float));
  auto* const found = static_cast<float*>(to->data);
  const on_gpu<float> x{1, 2, 3};
  dynamic::tensor(on_gpu<float>(x * 2.0f)).to_host(found);
  CHECK(std::vector<float>(found, found + 3) == std::vector<float>{2, 4, 6});
}

TEST_CASE("what a kernel found wrong is thrown by the to_host that reads its result, in pinned memory too") {
  emulate::stand_in();
  const ref<storage> to = cuda::new_pinned_storage(3 * sizeof(std::int32_t));
  const on_gpu<std::int32_t> x{1, 2, 3}, zero{1, 0, 1};
  const dynamic::tensor y(on_gpu<std::int32_t>(remainder(x, zero)));
  CHECK_THROWS_WITH_AS(y.to_host(to->data), doctest::Contains("division of an integer by zero"), value_error);
}

TEST_CASE("a pinned tensor that gets other values after it was copied to a GPU had its old ones there") {
  emulate::stand_in();
  SUBCASE("as the result of an expression") {
    Tensor<float> x = pinned({1, 2, 3});
    const Tensor<float> y{4, 5, 6};
    const on_gpu<float> there = x.to<Cuda>();
    x = y * 10.0f;  // into memory of x's, if nobody else has that
    CHECK(values_of(there) == std::vector<float>{1, 2, 3});
  }
  SUBCASE("in place") {
    Tensor<float> x = pinned({1, 2, 3});
    const on_gpu<float> there = x.to<Cuda>();
    x += 1.0f;
    CHECK(values_of(there) == std::vector<float>{1, 2, 3});
    CHECK(x(0) == 2);
  }
  SUBCASE("in place, through a view") {
    Tensor<float> x = pinned({1, 2, 3});
    const on_gpu<float> there = x.to<Cuda>();
    x[{slice(0, 2)}].fill_(5);
    CHECK(values_of(there) == std::vector<float>{1, 2, 3});
  }
  SUBCASE("with another one") {
    Tensor<float> x = pinned({1, 2, 3}), y = pinned({4, 5, 6});
    const on_gpu<float> there = x.to<Cuda>();
    const no_grad quiet;
    assign(std::tie(x, y), y * 2.0f, x * 3.0f);
    CHECK(values_of(there) == std::vector<float>{1, 2, 3});
  }
}

TEST_CASE("a copy from pinned memory of a loader's does not wait, and the memory is not used again before it is done") {
  if (emulate::skip_on_gpu("a GPU may have done the work before this looks")) return;
  const auto& device = emulate::stand_in();
  Tensor<float> x = pinned({1, 2, 3});
  const void* const place = x.data();
  const on_gpu<float> there = x.to<Cuda>();
  CHECK(device.count("cuStreamSynchronize") == 0);
  x = Tensor<float>();
  CHECK(pinned({7, 8, 9}).data() != place);
  CHECK(values_of(there) == std::vector<float>{1, 2, 3});
}

TEST_CASE("memory that others have pinned is read before to() returns, as its owner may take it back") {
  emulate::stand_in();
  pinned_by_others memory;
  SUBCASE("from_blob") {
    const on_gpu<float> there = from_blob(memory.data, {3}).to<Cuda>();
    memory.overwrite();
    CHECK(values_of(there) == std::vector<float>{1, 2, 3});
  }
  SUBCASE("DLPack, whose deleter is called by then") {
    std::int64_t shape[1] = {3};
    io::dlpack::managed_tensor managed{};
    managed.dl_tensor = {memory.data,
                         {io::dlpack::device_type::cuda_host, 0},
                         1,
                         {io::dlpack::type_code::floating, 32, 1},
                         shape,
                         nullptr,
                         0};
    managed.manager_ctx = &memory;
    managed.deleter = [](io::dlpack::managed_tensor* m) {
      static_cast<pinned_by_others*>(m->manager_ctx)->overwrite();
    };
    const on_gpu<float> there = io::from_dlpack<float>(&managed).to<Cuda>();
    CHECK(memory.data[0] == -1);
    CHECK(values_of(there) == std::vector<float>{1, 2, 3});
  }
}
