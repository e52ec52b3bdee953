// SPDX-License-Identifier: BSL-1.0
// What a second thread brings: a compute-bound map (1 Mi elements), softmax on [4096, 1024] and a 1024 x 1024 product,
// each on one thread, on two, and on two while another process spins on the other core ("busy"). Names are
// threads/work/peer_1, peer_2, peer_busy. On a machine with more than two cores, run under taskset with two of them.
#include "../peers/busy_core.hpp"
#include "../peers/contest.hpp"
#include "../peers/torch.hpp"

#include <memory>
#include <string>

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

using contest::enter;
using contest::random;

constexpr std::size_t n = std::size_t{1} << 20, rows = 4096, cols = 1024, side = 1024;

/// Enters `peer` three times; `prepare(threads)` sets the number of threads and gives the callable.
template <class Prepare>
void enter_thrice(const std::string& work, const std::string& peer, std::size_t count, Prepare prepare) {
  enter("threads/" + work, peer + "_1", count, [=] { return prepare(1); });
  enter("threads/" + work, peer + "_2", count, [=] { return prepare(2); });
  enter("threads/" + work, peer + "_busy", count, [=] {
    return [body = prepare(2), neighbour = std::make_shared<peers::busy_core>()]() mutable { return body(); };
  });
}

void torch_contests() {
  const auto with = [](int threads, peers::step step) {
    peers::torch_threads(threads);
    return step;
  };
  enter_thrice("map", "torch", n, [=](int threads) {
    return with(threads, peers::torch_map(random("a", n), random("b", n), random("c", n), n));
  });
  enter_thrice("softmax", "torch", rows * cols,
               [=](int threads) { return with(threads, peers::torch_softmax(random("x", rows * cols), rows, cols)); });
  enter_thrice("product", "torch", side * side, [=](int threads) {
    return with(threads, peers::torch_matmul(random("a", side * side), random("b", side * side), side, side, side));
  });
}

#if __has_include(<kiln/kiln.hpp>)
void kiln_contests() {
  enter_thrice("map", "kiln", n, [](int threads) {
    kiln::cpu::set_num_threads(threads);
    return [a = peers::tensor(random("a", n), {n}), b = peers::tensor(random("b", n), {n}),
            c = peers::tensor(random("c", n), {n}), y = peers::result({n})]() mutable {
      y = relu(a * b + c) - 0.5F * tanh(a);
      return peers::data(y);
    };
  });
  enter_thrice("softmax", "kiln", rows * cols, [](int threads) {
    kiln::cpu::set_num_threads(threads);
    return [x = peers::tensor(random("x", rows * cols), {rows, cols}), y = peers::result({rows, cols})]() mutable {
      y = softmax(x, -1);
      return peers::data(y);
    };
  });
  enter_thrice("product", "kiln", side * side, [](int threads) {
    kiln::cpu::set_num_threads(threads);
    return [a = peers::tensor(random("a", side * side), {side, side}),
            b = peers::tensor(random("b", side * side), {side, side}), y = peers::result({side, side})]() mutable {
      y = matmul(a, b);
      return peers::data(y);
    };
  });
}
#endif

[[maybe_unused]] const bool registered = [] {
#if __has_include(<kiln/kiln.hpp>)
  kiln_contests();
#endif
  if (peers::torch_found()) torch_contests();
  return true;
}();

}  // namespace
