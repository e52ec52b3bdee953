// SPDX-License-Identifier: BSL-1.0
// Expressions on the device EigenCpu beside the same expressions written in Eigen by hand, and beside Cpu:
//   combine   y = a * b + c - 0.5 d                     4 Ki, 256 Ki and 16 Mi elements
//   smooth    y = max(a * b + c, 0) - 0.5 tanh(a)
//   row       y = a * b + r, r one value                 4 Ki, 256 Ki and 16 Mi
//   softmax   of the rows of [2048, 1024]
// kiln runs on one thread, as Eigen's array expressions do.
#include "../peers/contest.hpp"

#include <kiln/eigen.hpp>

#include <string>

#include "../peers/kiln.hpp"

namespace {

using contest::buffer;
using contest::enter;
using contest::random;
using map = Eigen::Map<const Eigen::ArrayXf>;
using map_out = Eigen::Map<Eigen::ArrayXf>;

template <class Device>
kiln::Tensor<float, Device> on(const char* name, std::size_t n) {
  return peers::tensor(random(name, n), {n}).template to<Device>();
}
template <class Device, class F>
void enter_kiln(const std::string& work, const char* peer, std::size_t n, F f) {
  enter(work, peer, n, [=] {
    return [f, a = on<Device>("a", n), b = on<Device>("b", n), c = on<Device>("c", n), d = on<Device>("d", n),
            r = on<Device>("c", n).select(0, 0), y = peers::result({n}).template to<Device>()]() mutable {
      y = f(a, b, c, d, r);
      return y.data();
    };
  });
}

template <class Hand, class F>
void contest_of(const std::string& name, std::size_t n, Hand hand, F f) {
  const std::string work = "eigen_cpu/" + name + "/" + std::to_string(n);
  enter(work, "eigen", n, [=] {
    const auto size = static_cast<Eigen::Index>(n);
    const map a(random("a", n), size), b(random("b", n), size), c(random("c", n), size), d(random("d", n), size);
    float* y = buffer("y", n);
    return [=] {
      hand(map_out(y, size), a, b, c, d);
      return y;
    };
  });
  enter_kiln<kiln::EigenCpu>(work, "kiln", n, f);
  enter_kiln<kiln::Cpu>(work, "kiln_cpu", n, f);
}

void all_of(std::size_t n) {
  contest_of(
      "combine", n, [](auto y, auto& a, auto& b, auto& c, auto& d) { y = a * b + c - 0.5F * d; },
      [](auto& a, auto& b, auto& c, auto& d, auto&) { return a * b + c - 0.5F * d; });
  contest_of(
      "smooth", n, [](auto y, auto& a, auto& b, auto& c, auto&) { y = (a * b + c).max(0.0F) - 0.5F * a.tanh(); },
      [](auto& a, auto& b, auto& c, auto&, auto&) { return maximum(a * b + c, 0.0F) - 0.5F * tanh(a); });
  contest_of(
      "row", n, [](auto y, auto& a, auto& b, auto& c, auto&) { y = a * b + c.coeff(0); },
      [](auto& a, auto& b, auto&, auto&, auto& r) { return a * b + r; });
}

const bool entered = [] {
  for (const std::size_t n : {std::size_t{4} << 10, std::size_t{256} << 10, std::size_t{16} << 20}) all_of(n);
  const std::size_t n = std::size_t{2} << 20;
  const std::string work = "eigen_cpu/softmax/2048x1024";
  enter(work, "eigen", n, [=] {
    using rows = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::Map<const rows> x(random("a", n), 2048, 1024);
    float* y = buffer("y", n);
    return [=] {
      Eigen::Map<rows> to(y, 2048, 1024);
      for (Eigen::Index i = 0; i < x.rows(); ++i) {
        to.row(i) = (x.row(i) - x.row(i).maxCoeff()).exp();
        to.row(i) *= 1 / to.row(i).sum();
      }
      return y;
    };
  });
  enter(work, "kiln", n, [=] {
    return [x = peers::tensor(random("a", n), {2048, 1024}).to<kiln::EigenCpu>(),
            y = peers::result({2048, 1024}).to<kiln::EigenCpu>()]() mutable {
      y = softmax(x, 1);
      return y.data();
    };
  });
  return true;
}();

}  // namespace
