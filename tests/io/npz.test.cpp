// SPDX-License-Identifier: BSL-1.0
// .npz files: NumPy's own, ours, and broken ones. interchange.py reads ours by NumPy.
#include <kiln/io/npz.hpp>

#include <support/array_values.hpp>
#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using kiln_tests::check_made;
using kiln_tests::made_array;
using kiln_tests::made_file;
using kiln_tests::scratch_directory;

namespace {

void check_all(const io::tensor_map& all) {
  CHECK(all.size() == 12);
  for (const dtype type : {dtype::boolean, dtype::uint8, dtype::int8, dtype::int16, dtype::int32, dtype::int64,
                           dtype::float16, dtype::float32, dtype::float64})
    check_made(all.at(std::string(name(type))), type, {2, 3});
  check_made(all.at("scalar"), dtype::float32, {});
  check_made(all.at("empty"), dtype::float32, {2, 0, 3});
  check_made(all.at("fortran"), dtype::int16, {2, 3, 4});
}
/// The text of the error; empty if there is none. Whatever it is, it is no crash.
std::string error_of(const std::filesystem::path& path) {
  std::string texts[2];
  for (const bool mapped : {true, false}) {
    try {
      mapped ? io::map_npz(path) : io::read_npz(path);
    } catch (const io_error& e) {
      texts[mapped] = e.what();
    }
  }
  return texts[0];
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("read_npz: what NumPy wrote, stored and deflated, read and mapped") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    check_all(io::read_npz(made_file(name)));
    check_all(io::map_npz(made_file(name)));
  }
  const io::tensor_map unnamed = io::read_npz(made_file("unnamed.npz"));
  check_made(unnamed.at("arr_0"), dtype::float32, {3});
  check_made(unnamed.at("arr_1"), dtype::int64, {2});
}

TEST_CASE("write_npz: what is read again, stored and deflated, and none at all") {
  const scratch_directory dir;
  const io::tensor_map all = io::read_npz(made_file("stored.npz"));
  for (const bool compressed : {false, true}) {
    io::write_npz(dir.path() / "x.npz", all, {.compressed = compressed});
    check_all(io::read_npz(dir.path() / "x.npz"));
    check_all(io::map_npz(dir.path() / "x.npz"));
    io::write_npz(dir.path() / "none.npz", {}, {.compressed = compressed});
    CHECK(io::read_npz(dir.path() / "none.npz").empty());
  }
  std::string random(100000, '\0');  // that deflates to several blocks
  for (std::size_t i = 0; i < random.size(); ++i) random[i] = static_cast<char>(i * i * 7 % 253 + i % 5);
  const Tensor<std::uint8_t> bytes = from_blob(reinterpret_cast<std::uint8_t*>(random.data()), {100000});
  io::write_npz(dir.path() / "x.npz", {{"bytes", bytes}}, {.compressed = true});
  const Tensor<std::uint8_t> back = io::read_npz(dir.path() / "x.npz").at("bytes").as<std::uint8_t>();
  CHECK(std::memcmp(back.data(), random.data(), random.size()) == 0);
  CHECK_THROWS_AS(io::write_npz(dir.path() / "y.npz", {{"b", made_array(dtype::bfloat16, {2})}}), dtype_error);
  CHECK_FALSE(std::filesystem::exists(dir.path() / "y.npz"));
}

TEST_CASE("map_npz: what write_npz stored is not copied") {
  const scratch_directory dir;
  io::write_npz(dir.path() / "x.npz", {{"a", made_array(dtype::float64, {5})}, {"bc", made_array(dtype::int16, {3})}});
  for (const auto& [name, a] : io::map_npz(dir.path() / "x.npz")) CHECK(a.state()->memory->foreign);
}

TEST_CASE("read_npz: every length of a cut file, and every byte changed, is an error or reads the same") {
  const scratch_directory dir;
  for (const char* name : {"unnamed.npz", "deflated.npz"}) {
    const std::string whole = kiln_tests::slurp(made_file(name));
    for (std::size_t keep = 0; keep < whole.size(); keep += 1 + keep / 300) {
      CAPTURE(keep);
      CHECK_FALSE(error_of(dir.write("cut.npz", whole.substr(0, keep))).empty());
    }
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
      error_of(dir.write("damaged.npz", damaged));
    }
  }
  std::string damaged = kiln_tests::slurp(made_file("unnamed.npz"));
  const std::size_t element = damaged.find("(3,)") + 70;
  damaged[element] = static_cast<char>(damaged[element] ^ 1);
  CHECK_FALSE(error_of(dir.write("damaged.npz", damaged)).empty());
  CHECK(has(error_of(dir.write("text.npz", "no archive at all")), "no end of a ZIP archive"));
  CHECK(has(error_of(dir.path() / "absent.npz"), "there is no file"));
}

TEST_CASE("read_npz: what inflates to more than may be is an error before it does") {
  const scratch_directory dir;
  io::write_npz(dir.path() / "zeros.npz", {{"z", zeros<float>({1 << 18})}}, {.compressed = true});
  CHECK(std::filesystem::file_size(dir.path() / "zeros.npz") < 4000);
  CHECK(io::read_npz(dir.path() / "zeros.npz").at("z").numel() == 1 << 18);
  CHECK_THROWS_WITH_AS(io::read_npz(dir.path() / "zeros.npz", {.most_inflated = 1 << 20}),
                       doctest::Contains("inflates to 1048704 bytes, more than the 1048576"), io_error);
  // A directory that says so of few bytes.
  std::string lies = kiln_tests::slurp(dir.path() / "zeros.npz");
  const std::size_t entry = lies.find("PK\1\2");
  lies.replace(entry + 24, 4, std::string("\0\0\0\x7f", 4));
  CHECK(has(error_of(dir.write("lies.npz", lies)), "packed ones cannot hold"));
  // Two entries of one place.
  io::write_npz(dir.path() / "two.npz", {{"a", zeros<float>({16})}, {"b", zeros<float>({16})}});
  std::string two = kiln_tests::slurp(dir.path() / "two.npz");
  const std::size_t first = two.find("PK\1\2"), second = two.find("PK\1\2", first + 4);
  two.replace(second + 42, 4, std::string(4, '\0'));
  CHECK(has(error_of(dir.write("overlap.npz", two)), "in one place"));
}
