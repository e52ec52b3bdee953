# SPDX-License-Identifier: BSL-1.0
# kiln_own: what our own tests, examples and benchmarks are compiled with. Never on the interface of kiln::kiln, so no
# consumer inherits a warning flag or a processor choice from us.
option(KILN_WARNINGS_AS_ERRORS "Stop at a warning in our own programs" OFF)
add_library(kiln_own INTERFACE)
target_link_libraries(kiln_own INTERFACE kiln::kiln)
target_compile_options(kiln_own INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                       $<$<BOOL:${KILN_WARNINGS_AS_ERRORS}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 takes the deliberately undefined lanes of its own AVX-512 intrinsics for a mistake of ours (fixed in 13).
  target_compile_options(kiln_own INTERFACE -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
if(KILN_NATIVE)
  target_compile_options(kiln_own INTERFACE -march=native)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ collects garbage from the first 128 MiB on, which takes a sixth of its time for an object that needs 300.
  target_compile_options(kiln_own INTERFACE "SHELL:--param ggc-min-heapsize=1000000")
endif()
