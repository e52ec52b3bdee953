// SPDX-License-Identifier: BSL-1.0
// .safetensors files: those of PyTorch and NumPy, ours, and broken ones. interchange.py reads ours by Python.
#include <kiln/io/safetensors.hpp>

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

std::vector<dtype> all_types() {
  return {dtype::boolean, dtype::uint8,   dtype::int8,     dtype::int16,   dtype::int32,
          dtype::int64,   dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64};
}
void check_all(const io::tensor_map& all, bool bfloat16_too) {
  CHECK(all.size() == (bfloat16_too ? 13 : 12));
  for (const dtype type : all_types())
    if (type != dtype::bfloat16 || bfloat16_too) check_made(all.at(std::string(name(type))), type, {2, 3});
  check_made(all.at("scalar"), dtype::float32, {});
  check_made(all.at("empty"), dtype::float32, {2, 0, 3});
  check_made(all.at("fortran"), dtype::int16, {2, 3, 4});
}
std::string file_of(const std::string& json, std::size_t bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i) & 0xff);
  return file + json + std::string(bytes, '\1');
}
std::string error_of(const std::filesystem::path& path) {
  std::string texts[2];
  for (const bool mapped : {true, false}) {
    try {
      mapped ? io::map_safetensors(path) : io::read_safetensors(path);
    } catch (const io_error& e) {
      texts[mapped] = e.what();
    }
  }
  CHECK(texts[0].empty() == texts[1].empty());
  return texts[0];
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("read_safetensors: what PyTorch and NumPy wrote, of every type, read and mapped") {
  check_all(io::read_safetensors(made_file("torch.safetensors")), true);
  check_all(io::map_safetensors(made_file("torch.safetensors")), true);
  io::text_map texts;
  check_all(io::read_safetensors(made_file("numpy.safetensors"), &texts), false);
  CHECK(texts == io::text_map{{"format", "np"}, {"said", "\u00e4 \"quoted\""}});
  check_all(io::map_safetensors(made_file("numpy.safetensors"), &texts), false);
}

TEST_CASE("write_safetensors: what is read again, of every type, with texts, and none at all") {
  const scratch_directory dir;
  const auto path = dir.path() / "x.safetensors";
  io::tensor_map all = io::read_safetensors(made_file("torch.safetensors"));
  const io::text_map texts{{"a\n", "b\\"}, {"", "\u00e4"}};
  io::write_safetensors(path, all, texts);
  io::text_map back;
  check_all(io::read_safetensors(path, &back), true);
  CHECK(back == texts);
  for (const auto& [name, a] : io::map_safetensors(path))
    if (a.numel() > 0) CHECK(a.state()->memory->foreign);  // no copy: each is at a multiple of its width
  io::write_safetensors(path, {});
  CHECK(io::read_safetensors(path).empty());
  const Tensor<float> m{{1, 2, 3}, {4, 5, 6}};
  io::write_safetensors(path, {{"m", m.t()}});
  CHECK(io::read_safetensors(path).at("m").as<float>()(2, 0) == 3);
  CHECK_THROWS_WITH_AS(io::write_safetensors(path, {{"\xff", m}}), doctest::Contains("is not UTF-8"), value_error);
  CHECK_THROWS_AS(io::write_safetensors(path, {{"__metadata__", m}}), value_error);
  CHECK_THROWS_AS(io::write_safetensors(path, {{"nothing", io::array()}}), value_error);
  CHECK(io::read_safetensors(path).at("m").as<float>()(2, 0) == 3);
}

TEST_CASE("map_safetensors: writing to it changes nothing in the file") {
  const scratch_directory dir;
  const auto path = dir.path() / "x.safetensors";
  io::write_safetensors(path, {{"x", made_array(dtype::float32, {4})}});
  io::map_safetensors(path).at("x").as<float>().fill_(3);
  check_made(io::read_safetensors(path).at("x"), dtype::float32, {4});
}

TEST_CASE("read_safetensors: every length of a cut file is an error, and every byte changed no crash") {
  const scratch_directory dir;
  const std::string whole = kiln_tests::slurp(made_file("torch.safetensors"));
  for (std::size_t keep = 0; keep < whole.size(); ++keep) {
    CAPTURE(keep);
    CHECK_FALSE(error_of(dir.write("cut", whole.substr(0, keep))).empty());
  }
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x05);
    error_of(dir.write("damaged", damaged));
  }
  CHECK(has(error_of(dir.write("long", whole + "x")), "places tensors in"));
}

TEST_CASE("read_safetensors: headers that lie") {
  const scratch_directory dir;
  const auto with = [&](const std::string& json, std::size_t bytes = 8) {
    return error_of(dir.write("x", file_of(json, bytes)));
  };
  const auto tensor = [](const std::string& offsets, const std::string& shape = "[2]",
                         const std::string& type = "F32") {
    return "{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
  };
  CHECK(with("{\"a\":" + tensor("[0,8]") + "}") == "");
  CHECK(with("{\"a\":" + tensor("[0,8]") + "}   ") == "");
  CHECK(has(with("{\"a\":" + tensor("[0,12]", "[3]") + "}"), "outside of the file"));
  CHECK(has(with("{\"a\":" + tensor("[8,0]") + "}"), "outside of the file"));
  CHECK(has(with("{\"a\":" + tensor("[0,18446744073709551615]") + "}"), "outside of the file"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]") + ",\"b\":" + tensor("[4,8]", "[1]") + "}"), "no gap or overlap"));
  CHECK(has(with("{\"a\":" + tensor("[4,8]", "[1]") + "}"), "no gap or overlap"));
  CHECK(has(with("{\"a\":" + tensor("[0,4]", "[1]") + "}"), "and there are 8"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[3]") + "}"), "are not those of float32 of shape [3]"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[4611686018427387904,4611686018427387904]") + "}"), "are not those"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[-2]") + "}"), "negative"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[2.0]") + "}"), "not whole"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[1,1,1,1,1,1,1,1,2]") + "}"), "more than 8 axes"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[[2]]") + "}"), "a list where none belongs"));
  CHECK(has(with("{\"a\":" + tensor("[0,8,8]") + "}"), "more than two"));
  CHECK(has(with("{\"a\":" + tensor("[0]") + "}"), "not two"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]", "[1]", "C64") + "}"), "is of C64, which kiln has not"));
  CHECK(has(with("{\"a\":" + tensor("[0,8]") + ",\"a\":" + tensor("[0,8]") + "}"), "'a' twice"));
  CHECK(has(with("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}"), "lacks"));
  CHECK(has(with("{\"a\":7}"), "a number where none belongs"));
  CHECK(has(with("{\"a\":null}"), "a null"));
  CHECK(has(with("{\"a\":\"b\"}"), "a text"));
  CHECK(has(with("{\"a\":{\"dtype\":{}}}"), "nests deeper"));
  CHECK(has(with("{\"__metadata__\":{\"a\":1}}"), "a number where none belongs"));
  CHECK(has(with("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0), "twice"));
  CHECK(has(with("[]"), "does not begin with a {"));
  CHECK(has(with("{"), "is no JSON"));
  CHECK(has(with("{} x", 0), "is no JSON"));
  CHECK(with("{}", 0) == "");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  CHECK(has(with(deep), "nests deeper"));
  CHECK(has(with("{\"a\":" + std::string(100000, '[')), "a list where none belongs"));
  CHECK(has(error_of(dir.write("x", std::string(8, '\x7f') + "{}")), "announces a header of"));
  CHECK(has(error_of(dir.write("x", "1234567")), "has 7 bytes"));
  CHECK(has(error_of(dir.path() / "absent"), "there is no file"));
}
