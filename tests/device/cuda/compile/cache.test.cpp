// SPDX-License-Identifier: BSL-1.0
// Each kernel is made once; failures say everything and are not remembered. The compiler is a counter.
#include <kiln/device/cuda/compile/cache.hpp>

#include "device/cuda/cache_folder.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace kiln;
using cuda::compile_request;
using cuda_cache_test::folder;

namespace {
compile_request request_for(const std::string& text) {
  return {.text = text, .name = "kiln_map_1", .architecture = 90, .options = "-std=c++20", .compiler = "NVRTC 13.0"};
}
struct counting {
  std::atomic<int> calls{0};
  cuda::compile_result operator()(const compile_request& r) {
    ++calls;
    return {true, "image of " + r.text, ""};
  }
};
}  // namespace

TEST_CASE("cache: the second request comes from memory, one of another process from disk") {
  const folder here;
  counting compiler;
  const auto call = [&](const compile_request& r) { return compiler(r); };
  cuda::compile_cache one({here.path(), 1 << 20, {}}), two({here.path(), 1 << 20, {}});
  CHECK(*one.get(request_for("a"), call) == "image of a");
  CHECK(*one.get(request_for("a"), call) == "image of a");
  CHECK(compiler.calls == 1);
  CHECK(*two.get(request_for("a"), call) == "image of a");
  CHECK(compiler.calls == 1);
  CHECK(one.counts().from_memory == 1);
  CHECK(two.counts().from_disk == 1);
  one.forget();
  one.get(request_for("a"), call);
  CHECK(one.counts().from_disk == 1);
}

TEST_CASE("cache: without a folder nothing is kept beyond the process") {
  counting compiler;
  const auto call = [&](const compile_request& r) { return compiler(r); };
  cuda::compile_cache one({{}, 1 << 20, {}});
  one.get(request_for("a"), call);
  one.get(request_for("a"), call);
  cuda::compile_cache({{}, 1 << 20, {}}).get(request_for("a"), call);
  CHECK(compiler.calls == 2);
}

TEST_CASE("cache: sixteen threads that ask at once wait for one compilation") {
  counting compiler;
  cuda::compile_cache cache({{}, 1 << 20, {}});
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      right += *cache.get(request_for("slow"), [&](const compile_request& r) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return compiler(r);
      }) == "image of slow";
    });
  for (std::thread& t : threads) t.join();
  CHECK(compiler.calls == 1);
  CHECK(right == 16);
}

TEST_CASE("cache: a text that does not compile is an error with the log and numbered lines, and is tried again") {
  cuda::compile_cache cache({{}, 1 << 20, {}});
  const auto bad = [](const compile_request&) { return cuda::compile_result{false, "", "kernels.cu(2): error: no"}; };
  try {
    cache.get(request_for("first line\nsecond line\n"), bad);
    FAIL("no error");
  } catch (const device_error& e) {
    const std::string what = e.what();
    CHECK(what.find("NVRTC 13.0 does not compile the kernel kiln_map_1 for sm_90") != std::string::npos);
    CHECK(what.find("kernels.cu(2): error: no") != std::string::npos);
    CHECK(what.find("   2  second line\n") != std::string::npos);
  }
  counting compiler;
  cache.get(request_for("first line\nsecond line\n"), [&](const compile_request& r) { return compiler(r); });
  CHECK(compiler.calls == 1);
  CHECK(cache.counts().failed == 1);
}

TEST_CASE("cache: an exception of the compiler reaches all who wait") {
  cuda::compile_cache cache({{}, 1 << 20, {}});
  std::vector<std::thread> threads;
  std::atomic<int> caught{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      try {
        cache.get(request_for("x"), [](const compile_request&) -> cuda::compile_result {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          throw device_error("no NVRTC");
        });
      } catch (const device_error&) {
        ++caught;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(caught == 4);
}

TEST_CASE("cache: texts and images are dumped where asked, also those that do not compile") {
  const folder here;
  cuda::compile_cache cache({{}, 1 << 20, here.path() / "dump"});
  counting compiler;
  cache.get(request_for("text"), [&](const compile_request& r) { return compiler(r); });
  CHECK(here.read("dump/kiln_map_1_sm90.cu") == "text");
  CHECK(here.read("dump/kiln_map_1_sm90.cubin") == "image of text");
  CHECK_THROWS_AS(cache.get(request_for("bad"), [](const compile_request&) { return cuda::compile_result{}; }),
                  device_error);
  CHECK(here.read("dump/kiln_map_1_sm90.cu") == "bad");
}

TEST_CASE("cache: an image from disk that does not load is removed there and compiled anew, once") {
  const folder here;
  const cuda::disk_cache disk({here.path(), 1 << 20, {}});
  const compile_request request = request_for("a");
  REQUIRE(disk.write(cuda::key_of(request), "checks, but is no code"));
  counting compiler;
  const auto call = [&](const compile_request& r) { return compiler(r); };
  cuda::compile_cache cache({here.path(), 1 << 20, {}});
  const cuda::kernel_image bad = cache.get(request, call);
  REQUIRE(*bad == "checks, but is no code");
  const cuda::kernel_image good = cache.get_anew(request, call, bad);
  REQUIRE(good != nullptr);
  CHECK(*good == "image of a");
  CHECK(disk.read(cuda::key_of(request)) == "image of a");
  CHECK(cache.get_anew(request, call, bad) == good);      // another thread that met the same
  CHECK(cache.get_anew(request, call, good) == nullptr);  // what was compiled here would be the same again
  CHECK(compiler.calls == 1);
}
