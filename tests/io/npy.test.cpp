// SPDX-License-Identifier: BSL-1.0
// .npy files: NumPy's own, ours, and broken ones. interchange.py reads ours by NumPy.
#include <kiln/io/npy.hpp>

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

std::vector<dtype> numpy_types() {
  return {dtype::boolean, dtype::uint8,   dtype::int8,    dtype::int16,  dtype::int32,
          dtype::int64,   dtype::float16, dtype::float32, dtype::float64};
}
/// A file of version 1 with this dictionary, and `bytes` elements.
std::string file_of(const std::string& dictionary, std::size_t bytes, char version = 1) {
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return text + dictionary + std::string(bytes, '\1');
}
std::string error_of(const std::filesystem::path& path) {
  for (const bool mapped : {true, false}) {
    try {
      mapped ? io::map_npy(path) : io::read_npy(path);
      return "";
    } catch (const io_error& e) {
      if (!mapped) return e.what();
    }
  }
  return "";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("read_npy: what NumPy wrote, of every type and byte order, read and mapped") {
  for (const dtype type : numpy_types())
    for (const bool big : {false, true}) {
      if (big && size_of(type) == 1) continue;
      const auto path = made_file(std::string(name(type)) + (big ? "_big.npy" : ".npy"));
      CAPTURE(path.string());
      check_made(io::read_npy(path), type, {2, 3});
      check_made(io::map_npy(path), type, {2, 3});
    }
}

TEST_CASE("read_npy: 0-d, empty, Fortran's order, other versions of the format") {
  for (const auto read : {+[](const std::filesystem::path& p) { return io::read_npy(p); },
                          +[](const std::filesystem::path& p) { return io::map_npy(p); }}) {
    check_made(read(made_file("scalar.npy")), dtype::float32, {});
    check_made(read(made_file("empty.npy")), dtype::float32, {2, 0, 3});
    check_made(read(made_file("fortran.npy")), dtype::int16, {2, 3, 4});
    check_made(read(made_file("fortran_big.npy")), dtype::float64, {3, 2});
    check_made(read(made_file("version_2.npy")), dtype::int32, {5});
    check_made(read(made_file("version_3.npy")), dtype::int32, {5});
  }
}

TEST_CASE("read_npy: elements that kiln has not are named") {
  CHECK(has(error_of(made_file("complex.npy")), "holds elements of type '<c8'"));
  CHECK(has(error_of(made_file("uint16.npy")), "holds elements of type '<u2'"));
  CHECK(has(error_of(made_file("object.npy")), "holds Python objects"));
  CHECK(has(error_of(made_file("record.npy")), "records with several fields"));
  CHECK_THROWS_WITH_AS(io::read_npy<double>(made_file("float32.npy")), doctest::Contains("no tensor of float64"),
                       dtype_error);
}

TEST_CASE("write_npy: the bytes that NumPy writes, of every type") {
  const scratch_directory dir;
  for (const dtype type : numpy_types()) {
    CAPTURE(name(type));
    io::write_npy(dir.path() / "x.npy", made_array(type, {2, 3}));
    CHECK(kiln_tests::slurp(dir.path() / "x.npy") == kiln_tests::slurp(made_file(std::string(name(type)) + ".npy")));
  }
  io::write_npy(dir.path() / "x.npy", made_array(dtype::float32, {}));
  CHECK(kiln_tests::slurp(dir.path() / "x.npy") == kiln_tests::slurp(made_file("scalar.npy")));
  io::write_npy(dir.path() / "x.npy", made_array(dtype::float32, {2, 0, 3}));
  CHECK(kiln_tests::slurp(dir.path() / "x.npy") == kiln_tests::slurp(made_file("empty.npy")));
  CHECK_THROWS_WITH_AS(io::write_npy(dir.path() / "x.npy", made_array(dtype::bfloat16, {2})),
                       doctest::Contains("NumPy has no bfloat16"), dtype_error);
  CHECK(kiln_tests::slurp(dir.path() / "x.npy") == kiln_tests::slurp(made_file("empty.npy")));
}

TEST_CASE("write_npy: a view is written as its elements stand in it, and tensors go in by themselves") {
  const scratch_directory dir;
  const Tensor<float> m{{1, 2, 3}, {4, 5, 6}};
  io::write_npy(dir.path() / "x.npy", m.t());
  const Tensor<float> back = io::read_npy<float>(dir.path() / "x.npy");
  CHECK(back.sizes() == dims{3, 2});
  CHECK(std::vector<float>(back.span().begin(), back.span().end()) == std::vector<float>{1, 4, 2, 5, 3, 6});
  io::write_npy(dir.path() / "x.npy", m.slice(1, 0, 3, 2).expand({2, 2, 2}));
  const Tensor<float> wide = io::read_npy<float>(dir.path() / "x.npy");
  CHECK(std::vector<float>(wide.span().begin(), wide.span().end()) == std::vector<float>{1, 3, 4, 6, 1, 3, 4, 6});
}

TEST_CASE("map_npy: writing to it changes nothing in the file, which may end while it is used") {
  const scratch_directory dir;
  io::write_npy(dir.path() / "x.npy", made_array(dtype::float32, {4}));
  Tensor<float> x = io::map_npy<float>(dir.path() / "x.npy");
  std::filesystem::remove(dir.path() / "x.npy");
  x += 1.0f;
  CHECK(x(3) == 1.75f);
  io::write_npy(dir.path() / "x.npy", made_array(dtype::float32, {4}));
  io::map_npy<float>(dir.path() / "x.npy").fill_(7);
  check_made(io::read_npy(dir.path() / "x.npy"), dtype::float32, {4});
}

TEST_CASE("read_npy: every length of a cut file is an error, and so is a longer one") {
  const scratch_directory dir;
  const std::string whole = kiln_tests::slurp(made_file("int32.npy"));
  for (std::size_t keep = 0; keep < whole.size(); ++keep) {
    CAPTURE(keep);
    CHECK_FALSE(error_of(dir.write("cut.npy", whole.substr(0, keep))).empty());
  }
  CHECK(has(error_of(dir.write("cut.npy", whole.substr(0, whole.size() - 1))), "has 23 bytes of elements"));
  CHECK(has(error_of(dir.write("long.npy", whole + "x")), "has 25 bytes of elements"));
}

TEST_CASE("read_npy: headers that lie") {
  const scratch_directory dir;
  const auto with = [&](const std::string& dictionary, std::size_t bytes = 8, char format = 1) {
    return error_of(dir.write("x.npy", file_of(dictionary, bytes, format)));
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  CHECK(with(good) == "");
  CHECK(with("{\"shape\":(2),'fortran_order':False ,\n 'descr' : \"<f4\" , }") == "");
  CHECK(with("{'descr': '|u1', 'fortran_order': True, 'shape': (2L, 4L)}", 8, 2) == "");
  CHECK(has(with(good, 8, 4), "of version 4.0"));
  CHECK(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"), "announces an array"));
  CHECK(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}"), "2^63 - 1"));
  CHECK(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"), "no number"));
  CHECK(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}"), "more than 8 axes"));
  CHECK(with("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9223372036854775807)}", 0) ==
        "");
  CHECK(has(with("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}"), "neither True nor False"));
  CHECK(has(with("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"), "more than once"));
  CHECK(has(with("{'descr': '<f4', 'fortran_order': False}"), "lacks one of the keys"));
  CHECK(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x"), "goes on"));
  CHECK(has(with("{'descr': '<f4"), "does not end"));
  CHECK(has(with("{'descr': f4}"), "has no text"));
  CHECK(has(with("{'descr': '', 'fortran_order': False, 'shape': (2,)}"), "lacks one"));
  CHECK(has(with(std::string(5000, '{')), "has no text"));
  std::string vast("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12);
  CHECK(has(error_of(dir.write("x.npy", vast + std::string(64, ' '))), "announces a header of 2147483647 bytes"));
  // As long a header as is read, which is longer than what is read at first.
  CHECK(with(good + std::string(20000, ' ')) == "");
}

TEST_CASE("read_npy: bools that are no 0 or 1 are true") {
  const scratch_directory dir;
  std::string bytes = kiln_tests::slurp(made_file("bool.npy"));
  bytes[bytes.size() - 6] = '\x7f';
  const Tensor<bool> x = io::read_npy<bool>(dir.write("x.npy", bytes));
  CHECK(static_cast<int>(*reinterpret_cast<const std::uint8_t*>(x.data())) == 1);
}
