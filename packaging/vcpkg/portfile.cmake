# SPDX-License-Identifier: BSL-1.0
# An overlay port: it builds the tree that it stands in. Without the feature `compiled` there are headers alone.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES compiled KILN_BUILD_COMPILED)
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DKILN_BUILD_TESTS=OFF -DKILN_BUILD_EXAMPLES=OFF -DKILN_INSTALL=ON ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/kiln)
# vcpkg has in share/pkgconfig only what links nothing, and kiln.pc links -pthread.
foreach(part IN ITEMS "" debug/)
  if(EXISTS "${CURRENT_PACKAGES_DIR}/${part}share/pkgconfig")
    file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/${part}lib")
    file(RENAME "${CURRENT_PACKAGES_DIR}/${part}share/pkgconfig" "${CURRENT_PACKAGES_DIR}/${part}lib/pkgconfig")
  endif()
endforeach()
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
if(NOT "compiled" IN_LIST FEATURES)
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug")
endif()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/usage" "find_package(kiln CONFIG REQUIRED)\ntarget_link_libraries(main PRIVATE kiln::kiln)\n")
