// SPDX-License-Identifier: BSL-1.0
// Graphs over the stand-in: recorded work is done by replays only, and what a graph cannot hold is an error.
#include <kiln/device/cuda/run/graph.hpp>

#include <kiln/device/cuda/memory/memory_copy.hpp>
#include <kiln/device/cuda/memory/memory_pinned.hpp>

#include <cuda_emulator/stand_in.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <utility>

using kiln::Cuda;
using kiln::ref;
using kiln::storage;
using kiln::cuda::capture;
using kiln::cuda::current_stream;
using kiln::cuda::new_storage;
using kiln::cuda::read_value;

namespace {

constexpr std::size_t size = std::size_t{3} << 20;

}  // namespace

TEST_CASE("a captured copy is done by each replay, without waiting") {
  const auto& device = emulate::stand_in();
  const ref<storage> in = new_storage(size), out = new_storage(size);
  const auto& own = current_stream(Cuda{0});
  kiln::cuda::fill_bytes(in->data, 1, size, own);
  int runs = 0;
  const auto graph = capture([&] {
    ++runs;
    const ref<storage> between = new_storage(size);  // memory of the graph's pool
    kiln::cuda::copy_on_device(between->data, in->data, size, current_stream(Cuda{0}));
    kiln::cuda::copy_on_device(out->data, between->data, size, current_stream(Cuda{0}));
    if (runs == 1) current_stream(Cuda{0}).synchronize();  // the warm-up is after the fill, whatever runs first
  });
  CHECK(runs == 2);
  CHECK(read_value<unsigned char>(out->data, own) == 1);  // of the warm-up
  device.reset();
  for (const unsigned char value : std::initializer_list<unsigned char>{7, 8}) {
    kiln::cuda::fill_bytes(in->data, value, size, own);
    graph.replay();
    if (device.emulated()) CHECK(device.count("cuStreamSynchronize") == 0);
    CHECK(read_value<unsigned char>(out->data, own) == value);
    device.reset();
  }
}

TEST_CASE("memory of a graph's pool is not handed out while the graph lives, and goes back after") {
  emulate::stand_in();
  kiln::cuda::empty_cache();
  const auto before = kiln::cuda::memory_stats();
  const void* place = nullptr;
  {
    const auto graph = capture([&] {
      const ref<storage> inside = new_storage(size);
      place = inside->data;
      kiln::cuda::fill_bytes(inside->data, 1, size, current_stream(Cuda{0}));
    });
    for (int i = 0; i < 4; ++i) CHECK(new_storage(size)->data != place);
    kiln::cuda::empty_cache();
    CHECK(kiln::cuda::memory_stats().cached > before.cached);
    CHECK_NOTHROW(graph.replay());
    current_stream(Cuda{0}).synchronize();
  }
  kiln::cuda::empty_cache();
  CHECK(kiln::cuda::memory_stats().cached == before.cached);
}

TEST_CASE("a result of the captured work outlives the graph") {
  emulate::stand_in();
  ref<storage> result;
  {
    const auto graph = capture([&] {
      result = nullptr;
      result = new_storage(size);
      kiln::cuda::fill_bytes(result->data, 9, size, current_stream(Cuda{0}));
    });
    graph.replay();
  }
  CHECK(read_value<unsigned char>(result->data, current_stream(Cuda{0})) == 9);
  result = nullptr;
  kiln::cuda::empty_cache();
  CHECK(kiln::cuda::memory_stats().cached == 0);
}

TEST_CASE("a capture that would ask the driver for memory is an error with the way out") {
  emulate::stand_in();
  auto grows = [n = std::size_t{0}]() mutable { (void)new_storage(8 * size * ++n); };
  CHECK_THROWS_WITH_AS(capture(grows), doctest::Contains("would have to be asked of the driver"), kiln::device_error);
  CHECK_THROWS_WITH_AS(capture([] { (void)new_storage(size); }, Cuda{0}, 0), doctest::Contains("warm_ups"),
                       kiln::device_error);
  CHECK_NOTHROW((void)new_storage(size));  // the next call works
  CHECK_NOTHROW((void)capture([] { (void)new_storage(size); }));
}

TEST_CASE("what waits for the device cannot be captured") {
  const auto& device = emulate::stand_in();
  const ref<storage> memory = new_storage(16);
  const auto runs_second = [](auto work) {
    return [work, first = true]() mutable {
      if (!std::exchange(first, false)) work();
    };
  };
  CHECK_THROWS_WITH_AS(capture(runs_second([&] { (void)read_value<int>(memory->data, current_stream(Cuda{0})); })),
                       doctest::Contains("read_value: not possible while a graph is captured"), kiln::device_error);
  CHECK_THROWS_WITH_AS(capture(runs_second([] { current_stream(Cuda{0}).synchronize(); })),
                       doctest::Contains("stream.synchronize: not possible"), kiln::device_error);
  CHECK_THROWS_WITH_AS(capture(runs_second([] { kiln::cuda::empty_cache(); })), doctest::Contains("empty_cache"),
                       kiln::device_error);
  CHECK_THROWS_WITH_AS(capture(runs_second([] { (void)capture([] {}); })), doctest::Contains("capture: not possible"),
                       kiln::device_error);
  CHECK_THROWS_AS(capture([] {}, Cuda{0}, -1), kiln::value_error);
  const int found = read_value<int>(memory->data, current_stream(Cuda{0}));  // reading works again
  if (device.emulated()) CHECK(found == -1);                                 // which fills new memory with ones
}

TEST_CASE("a block that another stream uses and that is freed while a graph is captured comes back after") {
  emulate::stand_in();
  kiln::cuda::empty_cache();
  const kiln::cuda::stream other = kiln::cuda::stream::create(Cuda{0});
  ref<storage> used = new_storage(size);
  const void* const place = used->data;
  kiln::cuda::record_use(*used, other);
  const auto graph = capture([&, first = true]() mutable {
    if (!std::exchange(first, false)) used = nullptr;
  });
  other.synchronize();
  (void)new_storage(1);  // its mark is made
  other.synchronize();
  CHECK(new_storage(size)->data == place);
}

TEST_CASE("a graph that ends and memory that is freed while another is captured ask the driver for nothing") {
  if (emulate::skip_on_gpu("it counts calls of the driver")) return;
  const auto& device = emulate::stand_in();
  kiln::cuda::graph old = capture([] { (void)new_storage(size); });
  kiln::cuda::set_memory_caching(false);
  ref<storage> exact = new_storage(size);
  kiln::cuda::set_memory_caching(true);
  long long frees = -1;
  const auto graph = capture([&, first = true]() mutable {
    if (std::exchange(first, false)) return;
    frees = device.count("cuMemFree_v2");
    old = kiln::cuda::graph();
    exact = nullptr;
    frees = device.count("cuMemFree_v2") - frees;
  });
  CHECK(frees == 0);
  const long long before = device.count("cuMemFree_v2");
  (void)new_storage(1);
  CHECK(device.count("cuMemFree_v2") == before + 2);
}

TEST_CASE("work after a capture that failed comes after its warm-ups") {
  emulate::stand_in();
  const auto& own = current_stream(Cuda{0});
  const ref<storage> place = new_storage(1);
  CHECK_THROWS_AS(capture([&, first = true]() mutable {
                    if (!std::exchange(first, false)) own.synchronize();
                    kiln::cuda::fill_bytes(place->data, 3, 1, current_stream(Cuda{0}));
                  }),
                  kiln::device_error);
  CHECK(read_value<unsigned char>(place->data, own) == 3);
}

TEST_CASE("replays in two streams draw one after the other, each its own numbers") {
  emulate::stand_in();
  const auto first = kiln::cuda::stream::create(Cuda{0}), second = kiln::cuda::stream::create(Cuda{0});
  const ref<storage> seen = new_storage(24);
  auto* const offsets = static_cast<std::uint64_t*>(seen->data);
  const auto& own = current_stream(Cuda{0});
  kiln::cuda::fill_bytes(seen->data, 0, 24, own);
  own.synchronize();
  // Keeps the offset that a kernel would read, and those of the replays before.
  const auto graph = kiln::cuda::capture(
      [&] {
        kiln::default_generator().take(8);
        const auto& here = current_stream(Cuda{0});
        kiln::cuda::copy_on_device(offsets + 2, offsets + 1, 8, here);
        kiln::cuda::copy_on_device(offsets + 1, offsets, 8, here);
        kiln::cuda::copy_on_device(offsets, kiln::cuda::draw_offset(Cuda{0}), 8, here);
      },
      Cuda{0}, 0);
  graph.replay(first);
  graph.replay(second);
  second.synchronize();
  first.synchronize();
  const auto last = kiln::cuda::read_value<std::uint64_t>(offsets, own),
             before = kiln::cuda::read_value<std::uint64_t>(offsets + 1, own);
  CHECK(last == before + 8);
}

TEST_CASE("an empty graph and a stream of another device are errors") {
  emulate::stand_in();
  kiln::cuda::graph none;
  CHECK_THROWS_WITH_AS(none.replay(), doctest::Contains("nothing was captured"), kiln::device_error);
  kiln::cuda::graph some = capture([] {});
  if (!emulate::lacks_second_device())
    CHECK_THROWS_WITH_AS(some.replay(current_stream(Cuda{1})), doctest::Contains("a graph of device 0"),
                         kiln::device_error);
  none = std::move(some);
  CHECK_NOTHROW(none.replay());
}

TEST_CASE("a copy from or to the host is refused while a graph is captured: a replay would repeat the address") {
  emulate::stand_in();
  const ref<storage> block = new_storage(size);
  const ref<storage> pinned = kiln::cuda::new_pinned_storage(64);
  char own[64] = {};
  for (char* const place : {own, static_cast<char*>(pinned->data)}) {
    CHECK_THROWS_WITH_AS(
        capture([&] { kiln::cuda::copy_to_device(block->data, place, 64, current_stream(Cuda{0})); }, {}, 0),
        doctest::Contains("copy_to_device: not possible while a graph is captured"), kiln::device_error);
    CHECK_THROWS_WITH_AS(
        capture([&] { kiln::cuda::copy_to_host(place, block->data, 64, current_stream(Cuda{0})); }, {}, 0),
        doctest::Contains("copy_to_host: not possible while a graph is captured"), kiln::device_error);
  }
  CHECK_NOTHROW(kiln::cuda::copy_to_device(block->data, own, 64, current_stream(Cuda{0})));
}

TEST_CASE("a graph ends in the context of its device, whichever is current") {
  if (emulate::lacks_second_device()) return;
  const auto& device = emulate::stand_in();
  const ref<storage> block = new_storage(64, current_stream(Cuda{1}));
  {
    const auto graph = capture([&] { kiln::cuda::fill_bytes(block->data, 0, 64, current_stream(Cuda{1})); }, Cuda{1});
    kiln::cuda::driver().context_set_current(kiln::cuda::context_of(Cuda{0}));
  }
  if (device.emulated()) CHECK(device.count("cuGraphExecDestroy") == 1);
  if (device.emulated()) CHECK(device.wrong_contexts() == 0);
}
