// SPDX-License-Identifier: BSL-1.0
// Everything that a compiled kernel depends on changes its key.
#include <kiln/device/cuda/compile/cache_key.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace kiln::cuda;

TEST_CASE("cache_key: text, architecture, options and compiler each change it, the kernel's name does not") {
  const compile_request r{"text", "name", 90, "-a", "NVRTC 13.0"};
  std::set<std::string> keys{text_of(key_of(r))};
  auto with = [&](auto change) {
    compile_request other = r;
    change(other);
    keys.insert(text_of(key_of(other)));
  };
  with([](auto& x) { x.text = "texu"; });
  with([](auto& x) { x.text = "text "; });
  with([](auto& x) { x.architecture = 80; });
  with([](auto& x) { x.options = ""; });
  with([](auto& x) { x.compiler = "NVRTC 13.1"; });
  with([](auto& x) { x.options = "-aNVRTC 13.0", x.compiler = ""; });
  CHECK(keys.size() == 7);
  with([](auto& x) { x.name = "other"; });
  CHECK(keys.size() == 7);
}

TEST_CASE("cache_key: one changed bit of a long text changes about half of the bits of the key") {
  compile_request r;
  r.text = std::string(4000, 'x');
  const cache_key before = key_of(r);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1999}, std::size_t{3999}}) {
    r.text = std::string(4000, 'x');
    r.text[at] = 'y';
    const cache_key after = key_of(r);
    const int changed = __builtin_popcountll(before.low ^ after.low) + __builtin_popcountll(before.high ^ after.high);
    CHECK(changed > 35);
    CHECK(changed < 95);
  }
  CHECK(text_of(before).size() == 32);
}
