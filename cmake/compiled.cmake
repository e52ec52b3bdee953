# SPDX-License-Identifier: BSL-1.0
# kiln::compiled: link it in place of kiln::kiln, and what is no template of the user's types comes from a library that is
# built once (for x86-64-v2, v3 and v4, of which the processor's best is chosen when a program starts).
# kiln::precompiled: either of the two, with <kiln/kiln.hpp> as a precompiled header of the target that links it.
add_library(kiln_precompiled INTERFACE)
add_library(kiln::precompiled ALIAS kiln_precompiled)
set_target_properties(kiln_precompiled PROPERTIES EXPORT_NAME precompiled)
target_precompile_headers(kiln_precompiled INTERFACE <kiln/kiln.hpp>)

if(KILN_BUILD_COMPILED)
  add_library(kiln_compiled STATIC src/cuda.cpp src/dispatch.cpp src/dynamic.cpp src/dynamic_cuda.cpp src/io.cpp
                             src/models.cpp src/state.cpp)
  add_library(kiln::compiled ALIAS kiln_compiled)
  set_target_properties(kiln_compiled PROPERTIES EXPORT_NAME compiled OUTPUT_NAME kiln CXX_EXTENSIONS OFF
                        POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(kiln_compiled PUBLIC kiln ${CMAKE_DL_LIBS})
  target_compile_definitions(kiln_compiled PUBLIC KILN_COMPILED)
  set_source_files_properties(src/dynamic.cpp src/dynamic_cuda.cpp PROPERTIES
                              COMPILE_OPTIONS "${KILN_COMPILED_OPTIONS};${KILN_COMPILED_ONCE_OPTIONS}")
  set_source_files_properties(src/cuda.cpp src/io.cpp src/models.cpp src/state.cpp PROPERTIES
                              COMPILE_OPTIONS "${KILN_COMPILED_ONCE_OPTIONS}")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(levels ${KILN_COMPILED_LEVELS})
    # One bit for each level that dispatch.cpp may choose.
    set(mask 0)
    set(known x86-64-v2 x86-64-v3 x86-64-v4)
    set(bits 1 2 4)
    foreach(level bit IN ZIP_LISTS known bits)
      if(level IN_LIST levels)
        math(EXPR mask "${mask} + ${bit}")
      endif()
    endforeach()
    set_source_files_properties(src/dispatch.cpp PROPERTIES COMPILE_DEFINITIONS KILN_VERSION_LEVELS=${mask})
  else()
    set(levels native)
  endif()
  foreach(level IN LISTS levels)
    add_library(kiln_${level} OBJECT src/prebuilt.cpp src/processor.cpp)
    set_target_properties(kiln_${level} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(kiln_${level} PRIVATE kiln)
    target_compile_definitions(kiln_${level} PRIVATE KILN_COMPILED)
    target_compile_options(kiln_${level} PRIVATE -march=${level} ${KILN_COMPILED_OPTIONS})
    target_sources(kiln_compiled PRIVATE $<TARGET_OBJECTS:kiln_${level}>)
  endforeach()
endif()
