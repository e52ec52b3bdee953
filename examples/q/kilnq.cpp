// SPDX-License-Identifier: BSL-1.0
#include <kiln/k.hpp>

extern "C" [[gnu::visibility("default")]] kiln::k::object fns(kiln::k::object x) {
  return kiln::k::fns(x);
}
