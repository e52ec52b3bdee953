// SPDX-License-Identifier: BSL-1.0
// Stands before the main of a program that kiln_bundle was called for (the linker's --wrap=main). While the program is
// built, it is run once to write its bundle; ever after, this calls main.
#include <kiln/device/cuda/compile/bundle_write.hpp>

extern "C" {

int __real_main(int count, char** arguments, char** environment);

int __wrap_main(int count, char** arguments, char** environment);
int __wrap_main(int count, char** arguments, char** environment) {
  int status = 0;
  if (kiln::cuda::write_bundle_if_asked(status)) return status;
  return __real_main(count, arguments, environment);
}

}  // extern "C"
