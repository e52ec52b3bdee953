// SPDX-License-Identifier: BSL-1.0
// Which kernel of a row program computes what: softmax, layer norm and plain reductions, written out.
#include <kiln/tape/roles.hpp>

#include <doctest/doctest.h>

#include <string>

#include "sheet.hpp"

using namespace kiln;

namespace {

// The roles of one kernel, an instruction a letter: . none, 1 once, * each, < read back.
template <int N>
std::string letters(const role_list<N>& roles) {
  std::string out;
  for (role r : roles) out += r == role::none ? '.' : r == role::once ? '1' : r == role::each ? '*' : '<';
  return out;
}

template <const auto& Tape, bool RowRoot>
struct plan {
  static constexpr int size = Tape.size();
  static constexpr tape_facts<size> facts = facts_of<size>(view(Tape), op_rules_table);
  static constexpr auto kept = kept_values<size>(view(Tape), facts, op_rules_table, RowRoot);
  static std::string in(kernel_kind kind, int pass = 0) {
    return letters<size>(roles_in<size>(view(Tape), facts, op_rules_table, kept, kind, pass, RowRoot));
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
  CHECK(p::in(kernel_kind::map) == "11**");
}

TEST_CASE("roles: softmax is three passes; the exponential is kept by the second and read back by the third") {
  using p = plan<softmax_tape, false>;
  CHECK(p::facts.reductions == 2);
  CHECK(p::facts.last_phase == 2);
  CHECK(p::in(kernel_kind::pass, 0) == "*.....");
  CHECK(p::in(kernel_kind::pass, 1) == "*1**..");
  CHECK(p::kept == std::array<std::int16_t, 6>{-1, -1, -1, 1, -1, -1});
  CHECK(p::in(kernel_kind::pass, 2) == "...<1*");
}

TEST_CASE("roles: what is cheap is computed again in every pass") {
  using p = plan<centred_tape, false>;
  CHECK(p::facts.last_phase == 2);
  CHECK(p::kept == std::array<std::int16_t, 8>{-1, -1, -1, -1, -1, -1, -1, -1});
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
