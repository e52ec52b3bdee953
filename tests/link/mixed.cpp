// SPDX-License-Identifier: BSL-1.0
// Two units of one program that are compiled for different instruction sets: both must be right, in either order of
// linking.
#include <cstdio>

int narrow();
int wide();

int main() {
  const int in_narrow = narrow(), in_wide = wide();
  std::printf("wrong elements: %d in the unit for x86-64, %d in the one for more\n", in_narrow, in_wide);
  return in_narrow + in_wide == 0 ? 0 : 1;
}
