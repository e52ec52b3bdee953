// SPDX-License-Identifier: BSL-1.0
#include <kiln/k/tensors.hpp>

#include <kiln/k/attributes.hpp>
#include <kiln/k/settings.hpp>

#include "k/support.hpp"

using namespace k_test;

namespace {
const library q{k::offer_objects, k::offer_attributes, k::offer_tensors, k::offer_settings};
std::string name_of(const owned& x) {
  REQUIRE(x.get());
  return x.get()->type == -k::symbol_type ? x.get()->symbol : "no symbol";
}
}  // namespace

TEST_CASE("tensor takes a value and gives it back") {
  const no_leak watch;
  const owned t = q("tensor", floats({1, 2, 3}));
  CHECK(name_of(q("dtype", t)) == "double");
  CHECK(near(q("size", t), {3}));
  CHECK(near(q("tensor", t), {1, 2, 3}));
  CHECK(near(q("tensor", list(copy(t), number(1))), {2}));
  CHECK(q("tensor", list(copy(t), number(-1))).get()->floating == 3);
  CHECK(near(q("tensor", list(copy(t), longs({2, 0}))), {3, 1}));
  CHECK(q.error_of("tensor", list(copy(t), longs({0, -1}))) == "tensor: index -1 is not in 0 to 2");
  CHECK(q.error_of("tensor", list(copy(t), number(3))) == "tensor: index 3 is not in 0 to 2");
  q("free", t);
  const owned m = q("tensor", list(floats({1, 2}), floats({3, 4})));
  CHECK(near(q("tensor", list(copy(m), number(1), number(0))), {1, 3}));
  q("free", m);
  const owned atom = q("tensor", number(2.5));
  CHECK(q("tensor", atom).get()->type == -k::float_type);
  q("free", atom);
}

TEST_CASE("options stand after the value, in any order") {
  const no_leak watch;
  const owned t = q("tensor", list(floats({1, 2, 3}), symbols({"grad", "float", "cpu"})));
  CHECK(name_of(q("dtype", t)) == "float");
  CHECK(name_of(q("gradient", t)) == "grad");
  CHECK(name_of(q("device", t)) == "cpu");
  q("free", t);
  CHECK(q.error_of("tensor", list(floats({1}), symbol("flaot"))) == "unrecognized tensor option: `flaot");
  CHECK(q.error_of("tensor", list(floats({1}), symbol("cuda"))).find("no CUDA device") != std::string::npos);
  CHECK(q.error_of("tensor", list(floats({1}), symbol("sparse"))).find("tensor: kiln has no `sparse") == 0);
  const owned out = q("tensor", floats({0}));
  CHECK(k::is_null(q("tensor", list(longs({4, 5}), copy(out))).get()));
  CHECK(near(q("return", out), {4, 5}));
}

TEST_CASE("a call without arguments makes an undefined tensor") {
  const no_leak watch;
  const owned t = q("tensor", null());
  CHECK(q("defined", t).get()->byte == 0);
  CHECK(k::is_null(q("tensor", t).get()));
  CHECK(k::is_null(q("dtype", t).get()));
  q("free", t);
}

TEST_CASE("modes make tensors of sizes") {
  const no_leak watch;
  const auto made = [](const owned& x) {
    const owned t = q("tensor", x);
    REQUIRE_MESSAGE(t.get(), q.error);
    return q("return", t);
  };
  const owned zeros = made(list(symbol("zeros"), longs({2, 2})));
  CHECK(near(zeros, {0, 0, 0, 0}));
  CHECK(k::items<k::object>(zeros.get())[0]->type == k::real_type);
  CHECK(near(made(list(symbol("ones"), number(2), symbol("long"))), {1, 1}));
  CHECK(near(made(list(symbol("full"), number(2), number(1.5))), {1.5, 1.5}));
  CHECK(near(made(list(symbol("arange"), number(3))), {0, 1, 2}));
  CHECK(near(made(list(symbol("arange"), number(1), number(2), number(0.25))), {1, 1.25, 1.5, 1.75}));
  CHECK(near(made(list(symbol("range"), number(1), number(3))), {1, 2, 3}));
  CHECK(near(made(list(symbol("linspace"), number(0), number(1), number(3))), {0, 0.5, 1}));
  CHECK(near(made(list(symbol("logspace"), number(0), number(2), number(3))), {1, 10, 100}, 1e-5));
  CHECK(near(made(list(symbol("eye"), number(2))), {1, 0, 0, 1}));
  auto perm = doubles(made(list(symbol("randperm"), number(50))));
  std::sort(perm.begin(), perm.end());
  for (int i = 0; i < 50; ++i) CHECK(perm[static_cast<std::size_t>(i)] == i);
  for (double x : doubles(made(list(symbol("randint"), number(-2), number(3), number(100))))) CHECK((x >= -2 && x < 3));
  CHECK(q.error_of("tensor", list(symbol("randm"), number(3))) == "unrecognized tensor creation mode: randm");
  CHECK(q.error_of("tensor", list(symbol("rand"), floats({3}))).find("sizes are a long") != std::string::npos);
  CHECK(q.error_of("tensor", list(symbol("rand"), number(-1))) == "tensor: a size of -1 is negative");
  CHECK(q.error_of("tensor", list(symbol("randn"), longs({1LL << 40, 1LL << 40}))).find("memory") != std::string::npos);
}

TEST_CASE("a seed draws the numbers that sessions show") {
  const no_leak watch;
  CHECK(k::is_null(q("seed", number(123)).get()));
  const owned t = q("tensor", list(symbol("rand"), longs({2, 3})));
  CHECK(near(q("return", t), {0.296111941, 0.516562283, 0.251670718, 0.68855679, 0.0739724636, 0.866521955}, 1e-8));
  CHECK(q("seed", symbol("cpu")).get()->long_integer == 123);
}

TEST_CASE("a vector takes the handles it is made of, and keeps the tensors") {
  const no_leak watch;
  const owned a = q("tensor", booleans("0101")), b = q("tensor", longs({0, 1, 2}));
  const owned v = q("vector", list(copy(a), q("addref", b)));
  CHECK(q.error_of("ref", a) == "stale pointer");
  CHECK(q("ref", b).get()->long_integer == 2);
  CHECK(q("tensorcount", v).get()->long_integer == 2);
  CHECK(q("bytes", v).get()->long_integer == 28);
  CHECK(near(q("vector", list(copy(v), number(-1))), {0, 1, 2}));
  const owned c = q("tensor", floats({7}));
  CHECK(k::is_null(q("vector", list(copy(v), null(), copy(c))).get()));
  CHECK(q.error_of("tensor", c) == "stale pointer");
  CHECK(k::is_null(q("vector", list(copy(v), number(0), longs({9}))).get()));
  CHECK(near(q("vector", v), {9, 0, 1, 2, 7}));
  const owned more = q("vector", list(longs({1}), longs({2})));
  CHECK(k::is_null(q("vector", list(copy(v), copy(more))).get()));
  CHECK(q.error_of("vector", more) == "stale pointer");
  CHECK(q("tensorcount", v).get()->long_integer == 5);
  CHECK(q.error_of("vector", list(copy(v), copy(v))) == "vector: cannot append a vector to itself");
  q("free", v);
  CHECK(q("ref", b).get()->long_integer == 1);
  q("free", b);
}

TEST_CASE("a failed call takes nothing") {
  const no_leak watch;
  const owned a = q("tensor", floats({1}));
  CHECK(q.error_of("vector", list(copy(a), symbols({"x", "y"}))) == "no torch type found for k: symbol list");
  CHECK(q("mapped", a).get()->byte == 1);
  CHECK(q.error_of("dict", list(symbols({"x", "x"}), list(copy(a), floats({2})))) ==
        "dict: a name stands more than once among the keys");
  CHECK(q("mapped", a).get()->byte == 1);
  q("free", a);
}

TEST_CASE("a dict has names") {
  const no_leak watch;
  const owned matrix = list(longs({0, 1, 2, 3}), longs({4, 5, 6, 7}), longs({8, 9, 10, 11}));
  const owned d =
      q("dict",
        owned(k::make_dictionary(std::vector<std::string>{"a", "b"}, list(booleans("0101"), copy(matrix)).release())));
  CHECK(name_of(q("class", d)) == "dict");
  CHECK(q("elements", d).get()->long_integer == 16);
  CHECK(q("bytes", d).get()->long_integer == 100);
  CHECK(near(q("dict", list(copy(d), symbol("a"))), {0, 1, 0, 1}));
  CHECK(k::is_null(q("dict", list(copy(d), symbols({"c", "a"}), list(floats({1}), floats({2})))).get()));
  const owned all = q("dict", d);
  REQUIRE(all.get()->type == k::dictionary_type);
  CHECK(k::keys_of(all.get())->count == 3);
  const owned sizes = q("dtype", d);
  CHECK(std::string(k::items<const char*>(k::values_of(sizes.get()))[0]) == "double");
  CHECK(q.error_of("dict", list(copy(d), symbol("x"))) == "dict: the dictionary has no `x");
  const owned one = q("tensor", list(copy(d), symbol("b")));
  CHECK(near(q("size", one), {3, 4}));
  q("free", list(copy(d), copy(one)));
}

TEST_CASE("fills and copies") {
  const no_leak watch;
  const owned t = q("tensor", floats({1, 2}));
  const owned other = q("alias", t);
  CHECK(k::is_null(q("fill", list(copy(t), number(3))).get()));
  CHECK(near(q("tensor", other), {3, 3}));
  q("zeros", t);
  CHECK(near(q("return", other), {0, 0}));
  const owned d = q("detach", t);
  const owned s = q("same", t);
  CHECK(near(q("size", s), {2}));
  q("free", list(copy(t), copy(d), copy(s)));
  const owned zeros = q("zeros", longs({2, 3}));
  CHECK(near(q("size", zeros), {2, 3}));
  q("free", zeros);
}

TEST_CASE("to changes what a handle stands for, copyto makes another") {
  const no_leak watch;
  const owned t = q("tensor", longs({4, 5}));
  CHECK(k::is_null(q("to", list(copy(t), symbol("double"))).get()));
  CHECK(name_of(q("dtype", t)) == "double");
  CHECK(q.error_of("to", list(copy(t), symbol("cuda"))).find("to: no CUDA device") == 0);
  const owned c = q("copyto", list(copy(t), symbol("cpu")));
  q("zeros", c);
  CHECK(near(q("return", t), {4, 5}));
  q("free", c);
}
