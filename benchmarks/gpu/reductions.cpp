// SPDX-License-Identifier: BSL-1.0
// Sums of 256 MiB over everything, each row and each column; and reads whose fast axis is another operand's slow one.
#include "measure.hpp"

using namespace measure;

namespace {

const std::int64_t n = sized(8192, 64);

on_device<float> drawn() {
  return rand<float, Cuda>({n, n});
}

template <class Function>
void enter_sum(const std::string& over, Function function, int kept) {
  const std::string contest = "sum/float32/" + std::to_string(n) + "x" + std::to_string(n) + "/" + over;
  const double bytes = static_cast<double>(n * n + (kept < 0 ? 1 : n)) * 4;
  enter(contest, "kiln", [=] {
    const on_device<float> x = drawn();
    auto y = std::make_shared<on_device<float>>();
    work made;
    made.run = [=] { *y = function(x); };
    made.wrong = [=] {
      const std::vector<double> values = values_of(x);
      std::vector<double> sums(static_cast<std::size_t>(kept < 0 ? 1 : n));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        sums[static_cast<std::size_t>(kept < 0 ? 0 : kept == 0 ? at / n : at % n)] += values[i];
      }
      return difference(values_of(*y), sums, 1e-5);
    };
    made.bytes = bytes;
    return made;
  });
  enter_copy(contest, bytes);
}

void enter_transposed() {
  const std::string sizes = "/float32/" + std::to_string(n) + "x" + std::to_string(n);
  const double one = static_cast<double>(n * n) * 4;
  const auto check = [](const on_device<float>& turned, const on_device<float>& y, const on_device<float>* other) {
    const auto want = values_of(turned), got = values_of(y);
    std::vector<double> sums = other != nullptr ? values_of(*other) : std::vector<double>(got.size());
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t c = 0; c < n; ++c)
        sums[static_cast<std::size_t>(r * n + c)] += want[static_cast<std::size_t>(c * n + r)];
    return difference(got, sums, 1e-6);
  };
  enter("transpose" + sizes, "kiln", [=] {
    const on_device<float> a = drawn();
    auto y = std::make_shared<on_device<float>>();
    work made;
    made.run = [=] { *y = a.t() * 1.0f; };
    made.wrong = [=] { return check(a, *y, nullptr); };
    made.bytes = 2 * one;
    return made;
  });
  enter_copy("transpose" + sizes, 2 * one);
  enter("transpose_add" + sizes, "kiln", [=] {
    const on_device<float> a = drawn(), b = drawn();
    auto y = std::make_shared<on_device<float>>();
    work made;
    made.run = [=] { *y = a.t() + b; };
    made.wrong = [=] { return check(a, *y, &b); };
    made.bytes = 3 * one;
    return made;
  });
  enter_copy("transpose_add" + sizes, 3 * one);
}

[[maybe_unused]] const bool entered = [] {
  enter_sum(
      "all", [](const auto& x) { return sum(x); }, -1);
  enter_sum(
      "rows", [](const auto& x) { return sum(x, 1); }, 0);
  enter_sum(
      "columns", [](const auto& x) { return sum(x, 0); }, 1);
  enter_transposed();
  return true;
}();

}  // namespace
