// SPDX-License-Identifier: BSL-1.0
// The consumer that every way of getting kiln must be able to build: it includes, computes and exits with 0.
#if __has_include(<kiln/kiln.hpp>) || defined(KILN_VERSION_MAJOR)
#ifndef KILN_VERSION_MAJOR  // else it came as one file
#include <kiln/kiln.hpp>
#endif

int main() {
  kiln::Tensor<float> a = kiln::ones<float>({2, 3});
  kiln::Tensor<float> total = kiln::sum(a + 0.5f * a);
  return total.item() == 9.0f ? 0 : 1;
}
#else
#include <kiln/core/version.hpp>

int main() {
  return kiln::version.major_part == KILN_VERSION_MAJOR ? 0 : 1;
}
#endif
