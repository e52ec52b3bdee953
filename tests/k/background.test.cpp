// SPDX-License-Identifier: BSL-1.0
// Training on a thread of its own: progress comes on the thread that waits for events, and by nothing else.
#include <kiln/k/library.hpp>

#include "k/support.hpp"

#include <chrono>
#include <thread>

using namespace k_test;

namespace {

std::vector<double> told;
std::thread::id told_on;
k::object tell(k::object epoch, k::object loss) {
  CHECK(epoch->long_integer == static_cast<std::int64_t>(told.size()));
  told.push_back(loss->floating);
  told_on = std::this_thread::get_id();
  return k::make_null();
}

owned call(std::string_view name, const owned& x) {
  k_host::clear_error();
  return owned(k::library().call(*k::find_function(name), x.get()));
}
const owned* to_stop = nullptr;
int stops = 0;
k::object stop_it(k::object, k::object) {
  ++stops;
  const owned ended = call("stop", *to_stop);  // the first of these calls to come back has forgotten the run
  k_host::clear_error();
  return k::make_null();
}
owned model_with_data() {
  const owned m = call("module", list(list(symbol("linear"), number(1), number(1))));
  owned o = call("opt", list(symbol("sgd"), copy(m), number(0.01)));
  owned all = call("model", list(copy(m), call("loss", symbol("mse")), std::move(o)));
  const owned rows = list(reals({1}), reals({2}), reals({3}));
  call("train", list(copy(all), copy(rows), copy(rows)));
  return all;
}

}  // namespace

TEST_CASE("progress is delivered when the main thread waits for events") {
  const no_leak watch;
  told.clear();
  const owned m = model_with_data();
  const owned f(k::dl(reinterpret_cast<void*>(&tell), 2));
  REQUIRE(call("background", list(copy(m), number(20), copy(f))).get());
  CHECK(k_host::registered_descriptors() == 1);
  for (int i = 0; i < 2000 && told.size() < 20; ++i) k_host::poll_descriptors(10);
  REQUIRE(told.size() == 20);
  CHECK(told_on == std::this_thread::get_id());
  CHECK(told.back() < told.front());
  // The losses are there afterwards, once.
  CHECK(near(call("wait", m), told));
  CHECK(k_host::registered_descriptors() == 0);
  CHECK(!call("wait", m).get());
  k_host::clear_error();
  k::handles().clear();
}

TEST_CASE("calls take turns with the steps, and freeing a model ends nothing that matters") {
  const no_leak watch;
  {
    const owned m = model_with_data();
    REQUIRE(call("background", list(copy(m), number(100000000))).get());
    for (int i = 0; i < 50; ++i) {
      const owned product = call("mul", list(floats({1, 2}), number(2.0)));
      CHECK(near(product, {2, 4}));
    }
    const owned state = call("progress", m);
    CHECK(k::items<k::object>(k::values_of(state.get()))[0]->byte == 1);
    const owned losses = call("stop", m);
    REQUIRE(losses.get());
    CHECK(losses.get()->count < 100000000);
  }
  k::handles().clear();
}

TEST_CASE("calls from another thread are refused while one trains") {
  const no_leak watch;
  const owned m = model_with_data();
  REQUIRE(call("background", list(copy(m), number(100000000))).get());
  std::string said;
  std::thread([&] {
    const owned result(k::library().call(*k::find_function("version"), nullptr));
    said = k_host::pending_error() ? k_host::pending_error() : "";
    k_host::clear_error();
  }).join();
  CHECK(said == "version: called from a second thread: kiln's functions are for q's main thread");
  CHECK(call("stop", m).get());
  k::handles().clear();
}

TEST_CASE("the function for progress may end the training that it is told of") {
  const no_leak watch;
  const owned m = model_with_data();
  const owned f(k::dl(reinterpret_cast<void*>(&stop_it), 2));
  to_stop = &m;
  stops = 0;
  REQUIRE(call("background", list(copy(m), number(3), copy(f))).get());
  CHECK(call("wait", m).get());
  CHECK(stops == 3);
  CHECK(!call("progress", m).get());
  k_host::clear_error();
  k::handles().clear();
}
