// SPDX-License-Identifier: BSL-1.0
// A chain of 64 small kernels, each of which needs what the one before it has made: what the device loses between two
// kernels. Queued one by one, and as a graph. KILN_PDL=0 shows it without programmatic dependent launch.
#include "measure.hpp"

using namespace measure;

namespace {

constexpr int length = 64;

struct chain {
  on_device<float> x, by;
  explicit chain(std::int64_t n) : x(zeros<float, Cuda>({n})), by(randn<float, Cuda>({n})) {}
  void run() {
    x = by * 0.0f;
    for (int i = 1; i < length; ++i) x = x + by;
  }
  std::string wrong() const {
    std::vector<double> wanted = values_of(by);
    for (double& v : wanted) v *= length - 1;
    return difference(values_of(x), wanted, tolerance<float>());
  }
};

[[maybe_unused]] const bool entered = [] {
  const std::int64_t n = sized(4096, 100);
  enter("chain/stream/" + std::to_string(n), "kiln", [n] {
    auto x = std::make_shared<chain>(n);
    work made;
    made.run = [x] { x->run(); };
    made.wrong = [x] { return x->wrong(); };
    return made;
  });
  enter("chain/graph/" + std::to_string(n), "kiln", [n] {
    auto x = std::make_shared<chain>(n);
    auto recorded = std::make_shared<cuda::graph>(cuda::capture([x] { x->run(); }));
    work made;
    made.run = [recorded] { recorded->replay(); };
    made.wrong = [x] { return x->wrong(); };
    return made;
  });
  return true;
}();

}  // namespace
