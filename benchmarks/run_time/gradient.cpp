// SPDX-License-Identifier: BSL-1.0
// Gradients for every leaf, in cache, beside hand-written packet loops and libtorch:
//   map   sum(relu(a * b + c) - 0.5 tanh(a)): value, then the gradients for a, b and c       4 Ki and 256 Ki elements
//   gelu  sum(gelu(x * w + b)):               value and the gradients for x, w and b         256 Ki
// The peer "hand" does value and gradients in one loop; "hand_twice" in two, as a value that is asked for before anyone
// knows that a gradient will be has to be.
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"
#include "../peers/torch.hpp"

#include <string>

#if __has_include(<kiln/kiln.hpp>)
#include "../peers/kiln.hpp"
#endif

namespace {

namespace ei = Eigen::internal;
using contest::buffer;
using contest::enter;
using contest::random;
using hand::all;
using hand::load;
using hand::packet;

/// The three leaves, the three gradients, and the value of what is summed.
struct problem {
  const float *a, *b, *c;
  float *ga, *gb, *gc, *value;
  std::size_t n;
};

problem make(std::size_t n) {
  return {random("a", n),  random("b", n),  random("c", n),     buffer("ga", n),
          buffer("gb", n), buffer("gc", n), buffer("value", 1), n};
}

struct map_rule {
  static packet value(packet a, packet b, packet c) {
    return ei::psub(ei::pmax(ei::pmadd(a, b, c), all(0)), ei::pmul(all(0.5F), ei::ptanh(a)));
  }
  /// Writes the three gradients at i and returns the value.
  static packet gradient(const problem& p, std::size_t i) {
    const packet a = load(p.a + i), b = load(p.b + i), z = ei::pmadd(a, b, load(p.c + i)), t = ei::ptanh(a);
    const packet on = ei::pselect(ei::pcmp_lt(all(0), z), all(1), all(0));
    // d/da = on * b - 0.5 (1 - t^2)
    hand::store(p.ga + i, ei::pmadd(on, b, ei::pmul(all(0.5F), ei::psub(ei::pmul(t, t), all(1)))));
    hand::store(p.gb + i, ei::pmul(on, a));
    hand::store(p.gc + i, on);
    return ei::psub(ei::pmul(on, z), ei::pmul(all(0.5F), t));
  }
};

struct gelu_rule {
  static packet half_tail(packet z) {  // the normal distribution function
    return ei::pmadd(all(0.5F), ei::perf(ei::pmul(z, all(0.70710678F))), all(0.5F));
  }
  static packet value(packet x, packet w, packet b) {
    const packet z = ei::pmadd(x, w, b);
    return ei::pmul(z, half_tail(z));
  }
  static packet gradient(const problem& p, std::size_t i) {
    const packet x = load(p.a + i), w = load(p.b + i), z = ei::pmadd(x, w, load(p.c + i)), tail = half_tail(z);
    const packet bell = ei::pmul(all(0.39894228F), ei::pexp(ei::pmul(all(-0.5F), ei::pmul(z, z))));
    const packet g = ei::pmadd(z, bell, tail);
    hand::store(p.ga + i, ei::pmul(g, w));
    hand::store(p.gb + i, ei::pmul(g, x));
    hand::store(p.gc + i, g);
    return ei::pmul(z, tail);
  }
};

/// Sums f(i) over the packets of [0, n) in four running sums.
template <class F>
float total(std::size_t n, F f) {
  packet part[4] = {all(0), all(0), all(0), all(0)};
  for (std::size_t i = 0; i < n; i += 4 * hand::width)
    for (std::size_t k = 0; k < 4; ++k) part[k] = ei::padd(part[k], f(i + k * hand::width));
  return ei::predux(ei::padd(ei::padd(part[0], part[1]), ei::padd(part[2], part[3])));
}

template <class Rule>
void hand_contests(const std::string& work, std::size_t n) {
  enter(work, "hand", n, [n] {
    return [p = make(n)] {
      *p.value = total(p.n, [&](std::size_t i) { return Rule::gradient(p, i); });
      return static_cast<const float*>(p.ga);
    };
  });
  enter(work, "hand_twice", n, [n] {
    return [p = make(n)] {
      *p.value = total(p.n, [&](std::size_t i) { return Rule::value(load(p.a + i), load(p.b + i), load(p.c + i)); });
      benchmark::ClobberMemory();
      for (std::size_t i = 0; i < p.n; i += hand::width) Rule::gradient(p, i);
      return static_cast<const float*>(p.ga);
    };
  });
}

#if __has_include(<kiln/kiln.hpp>)
template <class F>
void kiln_contest(const std::string& work, std::size_t n, F f) {
  enter(work, "kiln", n, [=] {
    auto a = peers::tensor(random("a", n), {n}), b = peers::tensor(random("b", n), {n});
    auto c = peers::tensor(random("c", n), {n});
    for (auto* leaf : {&a, &b, &c}) leaf->requires_grad();
    return [=]() mutable {
      for (auto* leaf : {&a, &b, &c}) leaf->zero_grad();
      kiln::Tensor<float> loss = sum(f(a, b, c));
      backward(loss);
      return peers::data(a.grad());
    };
  });
}
#endif

[[maybe_unused]] const bool registered = [] {
  constexpr std::size_t small = 4 * 1024, large = 256 * 1024;
  for (const std::size_t n : {small, large}) {
    const std::string work = "gradient/map/" + std::to_string(n);
    hand_contests<map_rule>(work, n);
    if (peers::torch_found())
      enter(work, "torch", n,
            [n] { return peers::torch_map_gradient(random("a", n), random("b", n), random("c", n), n); });
#if __has_include(<kiln/kiln.hpp>)
    kiln_contest(work, n, [](const auto& a, const auto& b, const auto& c) { return relu(a * b + c) - 0.5F * tanh(a); });
#endif
  }
  const std::string work = "gradient/gelu/" + std::to_string(large);
  hand_contests<gelu_rule>(work, large);
  if (peers::torch_found())
    enter(work, "torch", large,
          [] { return peers::torch_gelu_gradient(random("a", large), random("b", large), random("c", large), large); });
#if __has_include(<kiln/kiln.hpp>)
  kiln_contest(work, large, [](const auto& x, const auto& w, const auto& b) { return gelu(x * w + b); });
#endif
  return true;
}();

}  // namespace
