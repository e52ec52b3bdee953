// SPDX-License-Identifier: BSL-1.0
// Kernels are found in bundles by text and architecture; damage is never code, and is told.
#include <kiln/device/cuda/compile/bundle.hpp>

#include "device/cuda/cache_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace kiln::cuda;
using kiln::device_error;
using kiln::cuda::detail::file_part;

namespace {

// Two kernels in one image for sm_80, one of them and another for sm_89.
std::string some_bundle() {
  return bundle_bytes({{80, {bundle_key("a", 80), bundle_key("b", 80)}, "a and b for 80"},
                       {89, {bundle_key("b", 89)}, "b for 89"},
                       {89, {bundle_key("c", 89)}, "c for 89"}});
}

struct bundle_in_file {
  cuda_cache_test::folder folder;
  std::string path = folder.path() / "bundle";
  explicit bundle_in_file(const std::string& bytes) { write(bytes); }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  file_part part() const { return *file_part::whole(path); }
};

std::string found(const bundle_list& in, const std::string& text, int architecture) {
  const kernel_image image = in.find(text, architecture);
  return image ? *image : "none";
}

}  // namespace

TEST_CASE("bundle: what was put in comes out, for its architecture or a higher minor version of it") {
  const bundle_in_file file(some_bundle());
  bundle_list list;
  list.add(file.part());
  CHECK(found(list, "a", 80) == "a and b for 80");
  CHECK(list.find("a", 80) == list.find("b", 80));
  CHECK(found(list, "b", 86) == "a and b for 80");  // 89 is above
  CHECK(found(list, "b", 89) == "b for 89");
  CHECK(found(list, "a", 89) == "a and b for 80");
  CHECK(found(list, "c", 89) == "c for 89");
  CHECK(found(list, "c", 86) == "none");
  CHECK(found(list, "a", 75) == "none");
  CHECK(found(list, "a", 90) == "none");
  CHECK(found(list, "d", 89) == "none");
  CHECK(list.state().find("has 4 kernels, for sm_80, 89") != std::string::npos);
}

TEST_CASE("bundle: 90 is not of the major version of 100, nor 100 of that of 103's predecessors") {
  const bundle_in_file file(bundle_bytes({{90, {bundle_key("a", 90)}, "90"}, {100, {bundle_key("a", 100)}, "100"}}));
  bundle_list list;
  list.add(file.part());
  CHECK(found(list, "a", 103) == "100");
  CHECK(found(list, "a", 100) == "100");
  CHECK(found(list, "a", 120) == "none");
  CHECK(found(list, "a", 90) == "90");
}

TEST_CASE("bundle: any byte that is changed, and any end that is missing, gives no kernel or the right one") {
  const std::string good = some_bundle();
  std::vector<std::string> wrong;
  for (std::size_t at = 0; at < good.size(); ++at) {
    wrong.push_back(good);
    wrong.back()[at] = static_cast<char>(wrong.back()[at] ^ 0x41);
    wrong.push_back(good.substr(0, at));
  }
  const bundle_in_file file(good);
  for (const std::string& bytes : wrong) {
    file.write(bytes);
    bundle_list list;
    list.add(file.part());
    bool faulty = list.empty();
    for (const char* text : {"a", "b", "c"}) {
      const std::string image = found(list, text, 89);
      const std::string right = text[0] == 'a' ? "a and b for 80" : text[0] == 'b' ? "b for 89" : "c for 89";
      // Where the image for 89 does not check, that for 80 is as good.
      const bool taken = image == right || (text[0] == 'b' && image == "a and b for 80");
      CHECK((taken || image == "none"));
      faulty |= image != right;
    }
    CHECK(faulty);
    CHECK(list.state().find(file.path) != std::string::npos);
    CHECK(list.state().find("kiln_bundle again") != std::string::npos);
  }
}

TEST_CASE("bundle: tables of absurd length are refused before they are read") {
  std::string bytes = some_bundle();
  for (const std::size_t at : {16u, 24u})
    for (const std::uint64_t n : {std::uint64_t{1} << 40, ~std::uint64_t{0}, (~std::uint64_t{0}) / 24 + 2}) {
      std::string wrong = bytes;
      wrong.replace(at, sizeof n, reinterpret_cast<const char*>(&n), sizeof n);
      const bundle_in_file file(wrong);
      CHECK_THROWS_WITH_AS(bundle{file.part()}, doctest::Contains("ends within its tables"), device_error);
    }
}

TEST_CASE("bundle: a list without any says so") {
  CHECK(bundle_list().state() == "this program has no bundle");
  CHECK(bundle_list().find("a", 80) == nullptr);
}
