// SPDX-License-Identifier: BSL-1.0
// Work that waits is queued in its order, and before anybody could see that it waited. What warm_up makes of it is
// tested by tests/tensor/cuda_warm_up.test.cpp.
#include <kiln/device/cuda/driver/deferred.hpp>

#include <kiln/device/cuda/driver/event.hpp>
#include <kiln/device/cuda/memory/memory.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace kiln::cuda;
using kiln::Cuda;
using kiln::cuda::detail::defer;
using kiln::cuda::detail::deferred;
using kiln::cuda::detail::run_deferred;

namespace {

/// This thread defers until the end of the scope.
struct deferring {
  std::vector<std::function<void()>> calls;
  deferring() { deferred = &calls; }
  ~deferring() { deferred = nullptr; }
};

}  // namespace

TEST_CASE("deferred: nothing is kept unless the thread defers") {
  CHECK_FALSE(defer([] {}));
  const deferring here;
  bool elsewhere = true;
  std::thread([&] { elsewhere = defer([] {}); }).join();
  CHECK_FALSE(elsewhere);
}

TEST_CASE("deferred: calls are made once, in their order, and what they do themselves is not deferred") {
  const deferring here;
  std::vector<int> made;
  for (int i = 0; i < 3; ++i)
    CHECK(defer([&made, i] {
      made.push_back(i);
      CHECK_FALSE(defer([] {}));
      run_deferred();
    }));
  CHECK(made.empty());
  run_deferred();
  run_deferred();
  CHECK(made == std::vector{0, 1, 2});
  CHECK(defer([&] { throw std::runtime_error("this one"); }));
  CHECK(defer([&] { made.clear(); }));
  CHECK_THROWS_WITH_AS(run_deferred(), "this one", std::runtime_error);
  CHECK(made.size() == 3);
  CHECK(here.calls.empty());
  CHECK(defer([] {}));
}

TEST_CASE("deferred: whoever takes a stream's handle, waits or frees memory finds it queued") {
  emulate::stand_in();
  const stream own = stream::create(Cuda{0}), other = stream::create(Cuda{0});
  const deferring here;
  int made = 0;
  const auto wait = [&] { CHECK(defer([&] { ++made; })); };
  wait();
  static_cast<void>(own.handle());
  CHECK(made == 1);
  wait();
  own.synchronize();
  CHECK(made == 2);
  wait();
  synchronize(Cuda{0});
  CHECK(made == 3);
  wait();
  hold_back(other, own);
  CHECK(made == 4);
  wait();
  empty_cache(Cuda{0});
  CHECK(made == 5);
  // A block that another stream uses too is given back after what waits.
  kiln::ref<kiln::storage> block = new_storage(std::size_t{1} << 20, own);
  record_use(*block, other);
  wait();
  block = nullptr;
  CHECK(made == 5);
  run_deferred();
  CHECK(made == 6);
}
