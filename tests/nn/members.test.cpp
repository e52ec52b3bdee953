// SPDX-License-Identifier: BSL-1.0
// Members of classes: how many, which, by which names, with both compilers.
#include <kiln/nn/members.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace kiln;

namespace outer {
template <class T, int N>
struct templated {
  T first{};
  const int second_one = N;
  std::optional<std::vector<T>> o3;
  std::unique_ptr<T> p;
  std::array<T, 2> pair{};
  Tensor<T> t;
};
struct needs_values {
  struct no_default {
    explicit no_default(int) {}
  } first;
  int value;
};
template <class F>
struct holder {
  F held;
};
struct empty {};
}  // namespace outer

namespace {
std::string names_of(auto& x) {
  std::string all;
  nn::detail::each_member(x, [&](std::string_view name, auto&) { (all += name) += ' '; });
  return all;
}
struct in_anonymous {
  outer::empty nested;
  outer::templated<double, 1> x;
};
class listed {
 public:
  explicit listed(int a) : a_(a) {}
  static auto members(auto& self) { return std::tuple{nn::named("a", self.a_)}; }

 private:
  int a_;
};
}  // namespace

TEST_CASE("members: their number and names") {
  outer::templated<double, 3> x;
  CHECK(names_of(x) == "first second_one o3 p pair t ");
  const in_anonymous y;
  CHECK(names_of(y) == "nested x ");
  struct local {
    int alpha = 0, b_2 = 0;
  } z;
  CHECK(names_of(z) == "alpha b_2 ");
  outer::empty none;
  CHECK(names_of(none).empty());
  listed own(3);
  CHECK(names_of(own) == "a ");
  CHECK(nn::detail::member_count<outer::needs_values> == 2);
}

TEST_CASE("members: what is called with them are the members themselves") {
  outer::templated<float, 3> x;
  nn::detail::each_member(x, [&](std::string_view name, auto& each) {
    if (name == "first") CHECK(static_cast<const void*>(&each) == &x.first);
    if (name == "t") CHECK(static_cast<const void*>(&each) == &x.t);
  });
}

TEST_CASE("members: names of classes") {
  CHECK(nn::detail::short_name<outer::templated<double, 1>>() == "templated");
  CHECK(nn::detail::short_name<in_anonymous>() == "in_anonymous");
  CHECK(nn::detail::short_name<int>() == "int");
  struct local {};
  CHECK(nn::detail::short_name<local>() == "local");
  auto f = [] {};
  CHECK(nn::detail::short_name<decltype(f)>() == "Lambda");
  CHECK(nn::detail::short_name<outer::holder<decltype(f)>>() == "holder");
}
