// SPDX-License-Identifier: BSL-1.0
// What was compiled is found again, and nothing that was made from something else.
#include <cuda_emulator/module.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <string>

using emulate::object_cache;

namespace {

// A folder of its own in KILN_EMULATOR_CACHE, as long as a test takes.
class own_folder {
 public:
  own_folder() {
    if (const char* named = std::getenv("KILN_EMULATOR_CACHE")) before_ = named;
    ::setenv("KILN_EMULATOR_CACHE", folder_.path().c_str(), 1);
  }
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  ~own_folder() { ::setenv("KILN_EMULATOR_CACHE", before_.c_str(), 1); }
  const std::string& path() const { return folder_.path(); }

 private:
  emulate::scratch_folder folder_;
  std::string before_;
};

}  // namespace

TEST_CASE("object_cache: what is kept is found, by its whole source") {
  const own_folder folder;
  const std::string object("\0\n12\nobject", 12);
  CHECK(object_cache("source").find().empty());
  object_cache("source").keep(object);
  CHECK(object_cache("source").find() == object);
  CHECK(object_cache("sourc").find().empty());
  // Another source of the same hash.
  emulate::write_file(folder.path() + "/" + std::to_string(std::hash<std::string>{}("source")), "6\nSourceobject");
  CHECK(object_cache("source").find().empty());
}

TEST_CASE("object_cache: without a folder nothing is kept") {
  const own_folder folder;
  ::setenv("KILN_EMULATOR_CACHE", "", 1);
  object_cache("source").keep("object");
  CHECK(object_cache("source").find().empty());
}

TEST_CASE("object_cache: a kernel is compiled again when its text or a header has changed") {
  const own_folder folder;
  const auto result = [](const std::string& factor, const std::string& header) {
    const emulate::module kernels(
        "#include <added.cuh>\nextern \"C\" __global__ void k(int* y) { *y = " + factor + " + added; }",
        {{"added.cuh", "constexpr int added = " + header + ";\n"}});
    emulate::buffer<int> y(1);
    kernels.launch("k", {.grid = {1}, .block = {1}}, y.data());
    return int{y[0]};
  };
  CHECK(result("1", "10") == 11);
  CHECK(result("1", "10") == 11);
  CHECK(result("2", "10") == 12);
  CHECK(result("2", "20") == 22);
}
