// SPDX-License-Identifier: BSL-1.0
// What a program of another version of the headers asks of the library.
#include <kiln/device/cpu/drivers.hpp>

int main() {
  return kiln::cpu::drivers::chosen<0, 0, 9>().run_map == nullptr;
}
