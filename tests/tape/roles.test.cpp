// SPDX-License-Identifier: BSL-1.0
// Which kernel of a row program computes what: softmax, layer norm and plain reductions, written out.
#include <kiln/tape/roles.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "sheet.hpp"

using namespace kiln;

namespace {

// The roles of one kernel, an instruction a letter: . none, 1 once, * each, < read back.
std::string letters(const std::vector<role>& roles) {
  std::string out;
  for (role r : roles) out += r == role::none ? '.' : r == role::once ? '1' : r == role::each ? '*' : '<';
  return out;
}

template <const auto& Tape, bool RowRoot>
struct plan {
  static constexpr int size = Tape.size();
  struct all_facts : tape_facts {
    std::array<value_facts, static_cast<std::size_t>(size)> values{};
  };
  static constexpr all_facts facts = [] {
    all_facts f;
    static_cast<tape_facts&>(f) = find_facts(view(Tape), op_rules_table, f.values.data());
    find_kept(view(Tape), f, op_rules_table, RowRoot, f.values.data());
    return f;
  }();
  static std::vector<int> kept() {
    std::vector<int> out;
    for (const value_facts& v : facts.values) out.push_back(v.kept);
    return out;
  }
  static std::string in(kernel_kind kind, int pass = 0) {
    std::vector<role> roles(static_cast<std::size_t>(size));
    find_roles(view(Tape), facts, facts.values.data(), kind, pass, RowRoot, roles.data());
    return letters(roles);
  }
};

constexpr symbol leaf_on(program& out, int slot) {
  return {&out, out.push({.code = opcode::leaf, .slot = static_cast<std::int16_t>(slot)})};
}

constexpr auto map_tape = finished([](program& out) {
  const symbol n{&out, out.push({.code = opcode::scalar, .slot = 0})};  // %0
  const symbol two = n * n;                                             // %1
  const symbol x = leaf_on(out, 0);                                     // %2
  out.add_result((x * two).id);                                         // %3
});
constexpr auto softmax_tape = finished([](program& out) {
  const symbol x = leaf_on(out, 0);  // %0
  const symbol top = row_max(x);     // %1
  const symbol d = x - top;          // %2
  const symbol e = exp(d);           // %3
  const symbol total = row_sum(e);   // %4
  out.add_result((e / total).id);    // %5
});
constexpr auto centred_tape = finished([](program& out) {
  const symbol x = leaf_on(out, 0);                                     // %0
  const symbol total = row_sum(x);                                      // %1
  const symbol r{&out, out.push({.code = opcode::scalar, .slot = 0})};  // %2
  const symbol mean = total * r;                                        // %3
  const symbol d = x - mean;                                            // %4
  const symbol squares = d * d;                                         // %5
  const symbol spread = row_sum(squares);                               // %6
  out.add_result((d * spread).id);                                      // %7
});
constexpr auto norm_tape = finished([](program& out) {
  const symbol x = leaf_on(out, 0);       // %0
  const symbol squares = x * x;           // %1
  const symbol total = row_sum(squares);  // %2
  out.add_result(sqrt(total).id);         // %3
});

}  // namespace

TEST_CASE("roles: a tape without reductions is one kernel; numbers are computed once") {
  using p = plan<map_tape, false>;
  CHECK(p::facts.reductions == 0);
  CHECK(p::facts.last_phase == 0);
  CHECK(p::facts.passes(false) == 0);
  CHECK(p::in(kernel_kind::map) == "11**");
}

TEST_CASE("roles: softmax is three passes; the exponential is kept by the second and read back by the third") {
  using p = plan<softmax_tape, false>;
  CHECK(p::facts.reductions == 2);
  CHECK(p::facts.passes(false) == 3);
  CHECK(p::facts.values[1].reduction == 0);
  CHECK(p::facts.values[4].phase == 2);
  CHECK(p::facts.last_phase == 2);
  CHECK(p::in(kernel_kind::pass, 0) == "*.....");
  CHECK(p::in(kernel_kind::pass, 1) == "*1**..");
  CHECK(p::kept() == std::vector<int>{-1, -1, -1, 1, -1, -1});
  CHECK(p::in(kernel_kind::pass, 2) == "...<1*");
}

TEST_CASE("roles: what is cheap is computed again in every pass") {
  using p = plan<centred_tape, false>;
  CHECK(p::facts.last_phase == 2);
  CHECK(p::kept() == std::vector<int>(8, -1));
  CHECK(p::in(kernel_kind::pass, 0) == "*.......");
  CHECK(p::in(kernel_kind::pass, 1) == "*111**..");
  CHECK(p::in(kernel_kind::pass, 2) == "*111*.1*");
}

TEST_CASE("roles: a result per row is computed over rows, after the passes") {
  using p = plan<norm_tape, true>;
  CHECK(p::facts.last_phase == 1);
  CHECK(p::in(kernel_kind::pass, 0) == "**..");
  CHECK(p::in(kernel_kind::rows) == "..**");
  CHECK(p::in(kernel_kind::operands) == "**..");
}

TEST_CASE("roles: who knows that a leaf stands still along the row says so") {
  std::array<value_facts, 6> values{};
  const tape_facts f =
      find_facts(view(softmax_tape), op_rules_table, values.data(), [](const instruction&) { return level::row; });
  CHECK(f.last_phase == 2);
  CHECK((values[3].at == level::row));
}

TEST_CASE("roles: a product that one sum takes is joined to it, one that several take is not") {
  static constexpr auto t = finished([](program& out) {
    const symbol x = leaf_on(out, 0), y = leaf_on(out, 1);  // %0, %1
    const symbol once = x * y;                              // %2
    const symbol added = once + x;                          // %3
    const symbol twice = x * x;                             // %4
    const symbol less = twice - y;                          // %5
    const symbol both = twice + less;                       // %6
    out.add_result(added.id);
    out.add_result(both.id);
  });
  std::vector<value_facts> values(7);
  std::vector<role> roles(7);
  const tape_facts f = find_facts(view(t), op_rules_table, values.data());
  find_roles(view(t), f, values.data(), kernel_kind::map, 0, false, roles.data());
  join_products(view(t), f, op_rules_table, values.data(), kernel_kind::map, 0, false, roles.data());
  CHECK((roles[2] == role::joined));
  CHECK((roles[3] == role::each));
  CHECK((roles[4] == role::each));
  CHECK((roles[5] == role::each));

  const tape_facts g = find_facts(view(norm_tape), op_rules_table, values.data());
  find_roles(view(norm_tape), g, values.data(), kernel_kind::pass, 0, true, roles.data());
  join_products(view(norm_tape), g, op_rules_table, values.data(), kernel_kind::pass, 0, true, roles.data());
  CHECK((roles[1] == role::joined));  // the sum of squares adds each as it is multiplied
}
