# SPDX-License-Identifier: BSL-1.0
# `cmake --install`: headers, the package for find_package(kiln), and kiln.pc for pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS kiln kiln_precompiled EXPORT kiln-targets FILE_SET HEADERS FILE_SET second_parts)
if(TARGET kiln_compiled)
  install(TARGETS kiln_compiled EXPORT kiln-targets)
else()
  # Header-only, so 32- and 64-bit installs are the same.
  set(any_processor ARCH_INDEPENDENT)
endif()
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/kiln)
install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION ${package_dir})
configure_package_config_file(cmake/kiln-config.cmake.in kiln-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break its callers.
write_basic_package_version_file(kiln-config-version.cmake COMPATIBILITY SameMinorVersion ${any_processor})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kiln-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/kiln-config-version.cmake
              cmake/kiln_bundle.cmake cmake/bundle_main.cpp
        DESTINATION ${package_dir})
configure_file(cmake/kiln.pc.in kiln.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kiln.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# `cpack -G DEB` in a build directory makes libkiln-dev; without the compiled library it fits every processor.
set(CPACK_PACKAGE_NAME libkiln-dev)
set(CPACK_PACKAGE_CONTACT "the authors of kiln <kiln@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_CURRENT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:12)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libeigen3-dev, libopenmpi-dev, zlib1g-dev, cmake")
if(NOT TARGET kiln_compiled)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
endif()
if(PROJECT_IS_TOP_LEVEL)
  include(CPack)
endif()
