# SPDX-License-Identifier: BSL-1.0
# cmake -DSOURCE=... -DBINARY=... -DCOMPILER=... -DEIGEN=... -DGENERATOR=... -P debian.cmake: makes the Debian package of
# a clean build directory and unpacks it to BINARY/root.
function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BINARY}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DEigen3_DIR=${EIGEN}
    -DKILN_BUILD_TESTS=OFF -DKILN_BUILD_EXAMPLES=OFF -DKILN_BUILD_COMPILED=OFF)
run(${CMAKE_CPACK_COMMAND} -G DEB --config ${BINARY}/build/CPackConfig.cmake -B ${BINARY})
file(GLOB packages ${BINARY}/libkiln-dev_*_all.deb)
list(LENGTH packages count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "cpack made no libkiln-dev_*_all.deb in ${BINARY}")
endif()
run(dpkg-deb --info ${packages})
run(dpkg-deb -x ${packages} ${BINARY}/root)
