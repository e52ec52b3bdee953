# SPDX-License-Identifier: BSL-1.0
# kiln_own: what our own tests, examples and benchmarks are compiled with. Never on the interface of kiln::kiln, so no
# consumer inherits a warning flag or a processor choice from us.
add_library(kiln_own INTERFACE)
target_link_libraries(kiln_own INTERFACE kiln::kiln)
target_compile_options(kiln_own INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror)
if(KILN_NATIVE)
  target_compile_options(kiln_own INTERFACE -march=native)
endif()
