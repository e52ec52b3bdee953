// SPDX-License-Identifier: BSL-1.0
// CSV files: fields of every form, columns as numbers and classes, and a sentence with a line for what is none.
#include <kiln/data/csv.hpp>

#include <support/idx_files.hpp>

#include <doctest/doctest.h>

#include <kiln/kiln.hpp>

using namespace kiln;
using data::csv_file;
using data::read_csv;
using kiln_tests::scratch_directory;

namespace {
std::vector<std::string> fields_of(const csv_file& file) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < file.rows(); ++i)
    for (std::size_t k = 0; k < file.columns(); ++k) all.emplace_back(file.field(i, k));
  return all;
}
}  // namespace

TEST_CASE("csv_file: fields, quotes, ends of lines of both kinds, blank lines, no end of the last") {
  const scratch_directory dir;
  const auto fields = [&](const std::string& text, data::csv_options options = {.header = false}) {
    return fields_of(csv_file(dir.write("x.csv", text), options));
  };
  using list = std::vector<std::string>;
  CHECK(fields("a,b\nc,d\n") == list{"a", "b", "c", "d"});
  CHECK(fields("a,b\r\nc,d") == list{"a", "b", "c", "d"});
  CHECK(fields("a,\n,d\n") == list{"a", "", "", "d"});
  CHECK(fields("\"a,\n\"\"b\"\"\",c\n") == list{"a,\n\"b\"", "c"});
  CHECK(fields("\"\",\"\"\r\n") == list{"", ""});
  CHECK(fields("a\n\n\r\nb\n\n") == list{"a", "b"});
  CHECK(fields("\xef\xbb\xbf"
               "a;b,c",
               {.delimiter = ';', .header = false}) == list{"a", "b,c"});
  CHECK(fields("a\rb,c d") == list{"a\rb", "c d"});
  CHECK(fields("") == list{});
  CHECK(fields("\n\n") == list{});
  const csv_file named(dir.write("x.csv", "x,\"y z\"\n\n1,2\n\"3\n\",4\n5,6"));
  CHECK(named.names() == list{"x", "y z"});
  CHECK(named.line_of(0) == 3);
  CHECK(named.line_of(2) == 6);
  CHECK(csv_file(dir.write("x.csv", "x,y\n")).rows() == 0);
}

TEST_CASE("csv_file: what is none, with its line") {
  const scratch_directory dir;
  const auto bad = [&](const std::string& text, const char* part) {
    CHECK_THROWS_WITH_AS(csv_file(dir.write("x.csv", text)), doctest::Contains(part), io_error);
  };
  bad("a,b\n1,2\n\n3\n", "line 4 has 1 fields, and the first has 2");
  bad("a,b\n1,2,3\n", "line 2 has 3 fields");
  bad("a,b\n1,\"2\n3\n", "the quote in line 2 does not end");
  bad("a,b\n1,\"2\"x\n", "line 2 goes on after a quoted field");
  CHECK_THROWS_AS(csv_file(dir.path() / "absent.csv"), io_error);
  CHECK_THROWS_WITH_AS(csv_file(dir.write("x.csv", "a,b"), {.most_bytes = 2}), doctest::Contains("more than the 2"),
                       io_error);
  CHECK_THROWS_AS(csv_file(dir.write("x.csv", "a,b"), {.delimiter = '"'}), value_error);
}

TEST_CASE("read_csv: columns as numbers of every type") {
  const scratch_directory dir;
  const auto table = read_csv(dir.write("x.csv", "a,b,name\n1, 2.5 ,x\n-3,+1e3,y\n"));
  CHECK(table.rows() == 2);
  const Tensor<double> both = table.columns<double>({"b", "a"});
  CHECK(both.sizes() == dims{2, 2});
  CHECK(both(0, 0) == 2.5);
  CHECK(both(1, 0) == 1000);
  CHECK(both(1, 1) == -3);
  CHECK(table.column<std::int8_t>("a")(1) == -3);
  CHECK(table.column<half>("b")(0) == half(2.5f));
  CHECK(table.texts("name") == std::vector<std::string>{"x", "y"});
  CHECK_THROWS_WITH_AS(table.column<int>("b"), doctest::Contains("line 2, column \"b\": \"2.5\" is no int32"),
                       value_error);
  CHECK_THROWS_AS(table.column<std::uint8_t>("a"), value_error);
  CHECK_THROWS_WITH_AS(table.column<float>("name"), doctest::Contains("\"x\" is no float32"), value_error);
  CHECK_THROWS_WITH_AS(table.column<float>("c"), doctest::Contains("no column \"c\", but a, b, name"), value_error);
  const auto holes = read_csv(dir.write("x.csv", "1,\n,2\n"), {.header = false});
  CHECK_THROWS_WITH_AS(holes.column<float>("1"), doctest::Contains("missing"), value_error);
  CHECK(holes.column<float>("1", -1.0f)(0) == -1);
  CHECK(read_csv(dir.write("x.csv", "nan\ninf\n-inf\n"), {.header = false}).column<float>("0")(2) == -INFINITY);
  CHECK_THROWS_AS(read_csv(dir.write("x.csv", "1e999\n"), {.header = false}).column<double>("0"), value_error);
  CHECK(read_csv(dir.write("x.csv", "1\n0\n"), {.header = false}).column<bool>("0")(0));
}

TEST_CASE("csv_dataset: features and classes, numbered in alphabetical order") {
  const scratch_directory dir;
  const auto path = dir.write("iris.csv", "w,species,h\n1,setosa,2\n3,virginica,4\n5,setosa,6\n7,nigra,8\n");
  const auto set = data::csv_dataset(path, "species");
  CHECK(set.size() == 4);
  const auto [x, y] = set.get(1);
  CHECK(x(1) == 4);
  CHECK(y.item() == 2);
  CHECK(read_csv(path).classes("species").names == std::vector<std::string>{"nigra", "setosa", "virginica"});
  CHECK_THROWS_AS(data::csv_dataset(path, "kind"), value_error);
}
