// SPDX-License-Identifier: BSL-1.0
// One step of Adam: optim/large over 1 M parameters in 1000 tensors (16 bytes read and 12 written for each), which
// many a processor has in its last-level cache; optim/huge over 16 M in as many, which none has; optim/small over 4096
// parameters in one tensor, optim/several over 64 tensors of 64. Beside it "memory", the least that any Adam has to do:
// a loop over packets that reads four arrays and writes three; and "hand", Adam as one loop.
#include "../peers/contest.hpp"
#include "../peers/packet.hpp"

#include <cmath>
#include <string>
#include <vector>

#if __has_include(<kiln/optim/adam.hpp>)
#include "../peers/kiln.hpp"

#include <kiln/optim/adam.hpp>
#endif

namespace {

namespace ei = Eigen::internal;
using contest::buffer;
using contest::enter;
using contest::random;
using hand::all;
using hand::load;
using hand::packet;

struct arrays {
  float *w, *m, *v;
  const float* g;
  std::size_t n;
};

void touch(const arrays& a) {
  for (std::size_t i = 0; i < a.n; i += hand::width) {
    const packet g = load(a.g + i);
    hand::store(a.m + i, ei::padd(load(a.m + i), g));
    hand::store(a.v + i, ei::padd(load(a.v + i), g));
    hand::store(a.w + i, ei::padd(load(a.w + i), g));
  }
}

void adam(const arrays& a, int t) {
  const float step = 1e-3F / (1 - std::pow(0.9F, static_cast<float>(t)));
  const float correction = 1 / std::sqrt(1 - std::pow(0.999F, static_cast<float>(t)));
  for (std::size_t i = 0; i < a.n; i += hand::width) {
    const packet g = load(a.g + i), m0 = load(a.m + i);
    const packet m = ei::pmadd(ei::psub(g, m0), all(0.1F), m0);
    const packet v = ei::pmadd(load(a.v + i), all(0.999F), ei::pmul(ei::pmul(g, g), all(0.001F)));
    const packet d = ei::pmadd(ei::psqrt(v), all(correction), all(1e-8F));
    hand::store(a.w + i, ei::psub(load(a.w + i), ei::pdiv(ei::pmul(m, all(step)), d)));
    hand::store(a.m + i, m);
    hand::store(a.v + i, v);
  }
}

void contests(const std::string& work, std::size_t tensors, std::size_t each) {
  const std::size_t n = tensors * each;
  const auto make = [=](const std::string& peer) {
    return arrays{buffer(work + peer + "w", n), buffer(work + peer + "m", n), buffer(work + peer + "v", n),
                  random(work + "g", n), n};
  };
  enter(work, "memory", 0, [=] {
    return [a = make("memory")] {
      touch(a);
      return static_cast<const float*>(a.w);
    };
  });
  enter(work, "hand", 0, [=] {
    return [a = make("hand"), t = 0]() mutable {
      adam(a, ++t);
      return static_cast<const float*>(a.w);
    };
  });
#if __has_include(<kiln/optim/adam.hpp>)
  enter(work, "kiln", 0, [=] {
    std::vector<kiln::Tensor<float>> parameters;
    for (std::size_t i = 0; i < tensors; ++i) {
      parameters.push_back(peers::tensor(random("w", each), {each}));
      parameters.back().requires_grad();
    }
    auto opt = std::make_shared<kiln::optim::Adam<float>>(parameters);
    for (auto& p : parameters) backward(p, peers::tensor(random("g", each), {each}));
    return [opt, parameters] {
      opt->step();
      return peers::data(parameters[0]);
    };
  });
#endif
}

[[maybe_unused]] const bool registered = [] {
  contests("optim/large", 1000, 1008);
  contests("optim/huge", 1000, 16384);
  contests("optim/small", 1, 4096);
  contests("optim/several", 64, 64);
  return true;
}();

}  // namespace
