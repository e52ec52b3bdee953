# SPDX-License-Identifier: BSL-1.0
# kiln_bundle(target ARCHS 80 90 100): compiles the CUDA kernels that the program may want for these architectures (as
# in sm_90) while it is built, and puts them into the program, which then needs the driver alone. The machine that
# builds needs NVRTC, and no GPU. ENVIRONMENT KILN_LIBNVRTC=/a/file says where it is, if kiln does not find it.
function(kiln_bundle target)
  cmake_parse_arguments(PARSE_ARGV 1 bundle "" "" "ARCHS;ENVIRONMENT")
  if(NOT TARGET ${target})
    message(FATAL_ERROR "kiln_bundle: there is no target ${target}: call it after add_executable(${target} ...)")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL EXECUTABLE)
    message(FATAL_ERROR "kiln_bundle: ${target} is no executable, and only a program can be run to list its kernels; "
                        "for a library, bundle a program that uses it and name the file in KILN_BUNDLE")
  endif()
  if(NOT bundle_ARCHS OR bundle_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_bundle: say for which architectures: kiln_bundle(${target} ARCHS 80 90 100)")
  endif()
  foreach(architecture IN LISTS bundle_ARCHS)
    if(NOT architecture MATCHES "^[0-9]+$")
      message(FATAL_ERROR "kiln_bundle: ${architecture} is no architecture: write 90 for sm_90")
    endif()
  endforeach()
  if(NOT CMAKE_OBJCOPY)
    message(FATAL_ERROR "kiln_bundle: objcopy, which puts the kernels into the program, was not found: install binutils")
  endif()
  list(JOIN bundle_ARCHS "," architectures)
  set(file $<TARGET_FILE:${target}>)
  set(main ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/bundle_main.cpp)
  target_sources(${target} PRIVATE ${main})
  set_source_files_properties(${main} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  # The property, since a caller may have used target_link_libraries with or without its keywords.
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE LINKER:--wrap=main)
  add_custom_command(
    TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E env KILN_BUNDLE_WRITE=${file}.kiln_bundle KILN_BUNDLE_ARCHS=${architectures}
            ${bundle_ENVIRONMENT} ${file}
    COMMAND ${CMAKE_OBJCOPY} --add-section .kiln_bundle=${file}.kiln_bundle
            --set-section-flags .kiln_bundle=noload,readonly ${file}
    COMMENT "Compiling the CUDA kernels of ${target} for ${architectures}"
    VERBATIM)
endfunction()
