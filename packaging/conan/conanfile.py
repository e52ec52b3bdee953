# SPDX-License-Identifier: BSL-1.0
"""Conan 2: `conan create packaging/conan` from the top of the tree. Headers alone by default; `-o "&:compiled=True"` builds
the library that programs compile faster with. Eigen is a dependency only of who exchanges tensors with it."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

top = Path(__file__).parents[2]


class Kiln(ConanFile):
    name = "kiln"
    license = "BSL-1.0"
    description = "Tensors: one fused kernel per expression"
    topics = ("tensor", "autograd", "deep-learning", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {"compiled": [True, False]}
    default_options = {"compiled": False}
    package_type = "static-library"

    def set_version(self):
        text = load(self, top / "include/kiln/core/version.hpp")
        self.version = ".".join(re.findall(r"#define KILN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, src=top, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()  # headers are the same for all compilers

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            KILN_BUILD_TESTS=False, KILN_BUILD_EXAMPLES=False, KILN_INSTALL=True,
            KILN_BUILD_COMPILED=bool(self.options.compiled))
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package brings its own targets, kiln::kiln and kiln::compiled.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("share/cmake/kiln")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = ["lib"] if self.options.compiled else []
