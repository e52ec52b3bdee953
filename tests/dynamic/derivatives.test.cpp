// SPDX-License-Identifier: BSL-1.0
// Every op in double against values by mpmath (derivatives.py): its value, first and second derivatives as the
// interpreter runs them, to 1e-12 in parts of themselves, and its tangent by the tape that forward mode makes of it,
// run in the standard library's functions. (First derivatives at infinities, nans and kinks are
// tests/ops/special_values'.)
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dynamic/derivatives.hpp>
#include <dynamic/values.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/dynamic/op_facts.hpp>
#include <kiln/tape/tangent.hpp>
#include <tape/in_reals.hpp>
#include <tape/sheet.hpp>

namespace dyn = kiln::dynamic;
using namespace kiln;
using Doubles = Tensor<double>;
using stored::op_values;

namespace {

// How far an op may be off besides 1e-12 of itself: a rounding of the 1 that its rule takes a derivative off, as
// PyTorch does (expm1' is y + 1, tanh' 1 - y * y), or its value (x - tanh(x)), or of the two terms whose difference it
// is.
double off_one(std::string_view op, int order) {
  static const std::set<std::string_view> derivatives{"expm1", "sigmoid",    "silu", "mish",
                                                      "tanh",  "logsigmoid", "hypot"};
  return op == "tanhshrink" || (order > 0 && derivatives.count(op) == 1) ? 4e-16 : 0;
}

struct judge {
  const op_values& op;
  std::string name = op.name;
  void see(int order, const char* what, std::size_t line, double got, double want) {
    if (std::isinf(want) || std::isinf(got)) {
      CHECK_MESSAGE((got == want || (std::abs(got) > 1.7e308 && std::abs(want) > 1.7e308 && got * want > 0)), name,
                    ", ", std::string(what), " at ", op.lines[line][0], ": ", got, ", not ", want);
      return;
    }
    const double allowed =
        1e-12 * std::abs(want) + off_one(op.name, order) * std::max(1.0, std::abs(op.lines[line][0])) + 4e-308;
    CHECK_MESSAGE(std::abs(got - want) <= allowed, name, ", ", std::string(what), " at ", op.lines[line][0],
                  op.lines[line].size() > 4 ? message(", ", op.lines[line][1]) : std::string(), ": ", got, ", not ",
                  want);
  }
};

// The elements number `place` of the lines, of which rows have all their operands in one tensor.
std::vector<double> column(const op_values& op, std::size_t place) {
  std::vector<double> all;
  for (const auto& line : op.lines) all.push_back(line[place]);
  return all;
}
Doubles tensor_of(const std::vector<double>& values) {
  Doubles x = zeros<double>({static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), x.data());
  return x;
}
Doubles result_of(const op_values& op, const std::vector<Doubles>& x) {
  std::vector<dyn::tensor> operands(x.begin(), x.end());
  for (int i = 0; i < op.numbers; ++i)
    operands.push_back(dyn::scalar(op.lines[0][static_cast<std::size_t>(op.operands + i)], dtype::float64));
  const std::string_view name = op.name;
  if (!op.row) return dyn::call(name, operands).as<double>();
  if (name == "softmax" || name == "log_softmax") {
    const Doubles y =
        (name == "softmax" ? dyn::softmax(operands[0], -1) : dyn::log_softmax(operands[0], -1)).as<double>();
    const Doubles w{stored::weights[0], stored::weights[1], stored::weights[2], stored::weights[3]};
    return Doubles(sum(y * w, -1));
  }
  return dyn::reduce(name, operands[0], {-1}).as<double>();
}

void check_reverse(const op_values& op) {
  const std::size_t n = static_cast<std::size_t>(op.operands), first = n + static_cast<std::size_t>(op.numbers);
  std::vector<Doubles> x;
  if (op.row) {
    Doubles all = zeros<double>({static_cast<std::int64_t>(op.lines.size()), op.operands});
    for (std::size_t i = 0; i < op.lines.size(); ++i) std::copy_n(op.lines[i].begin(), n, all.data() + i * n);
    x.push_back(all);
  } else {
    for (std::size_t k = 0; k < n; ++k) x.push_back(tensor_of(column(op, k)));
  }
  for (Doubles& each : x) each.requires_grad();
  judge j{op};
  const Doubles y = result_of(op, x);
  REQUIRE(y.numel() == static_cast<std::int64_t>(op.lines.size()));
  for (std::size_t i = 0; i < op.lines.size(); ++i) j.see(0, "value", i, y.data()[i], op.lines[i][first]);
  // Number k of the derivatives of line i.
  auto element = [&](const std::vector<Doubles>& g, std::size_t k, std::size_t i) {
    return op.row ? g[0].data()[i * n + k] : g[k].data()[i];
  };
  if (!y.needs_grad()) return;
  const auto slopes = grad(Doubles(sum(y)), x, {.create_graph = true, .allow_unused = true});
  Doubles total = zeros<double>({});
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    if (op.row)
      total = total +
              sum(slopes[k] * Doubles{stored::weights[0], stored::weights[1], stored::weights[2], stored::weights[3]});
    else
      total = total + sum(slopes[k]) * stored::weights[k];
  }
  for (std::size_t i = 0; i < op.lines.size(); ++i)
    for (std::size_t k = 0; k < n; ++k) j.see(1, "derivative", i, element(slopes, k, i), op.lines[i][first + 1 + k]);
  std::vector<Doubles> second;
  if (total.needs_grad()) second = grad(total, x, {.allow_unused = true});
  for (std::size_t i = 0; i < op.lines.size(); ++i)
    for (std::size_t k = 0; k < n; ++k)
      j.see(2, "second derivative", i, second.empty() ? 0 : element(second, k, i), op.lines[i][first + 1 + n + k]);
}

// Along the weights, by forward mode's tape.
void check_tangent(const op_values& op) {
  if (op.row) return;  // tests/tape/tangent.test.cpp
  const found_rules rules = op_rules_table.find(opcode_of(op.name));
  REQUIRE(static_cast<bool>(rules));
  sheet s;
  symbol x[3] = {};
  for (int k = 0; k < rules->arity; ++k)
    x[k] = k < op.operands ? s.leaf(k, dtype::float64) : s.number(k - op.operands, dtype::float64);
  s.p.add_result(s.p.push({.code = rules->code,
                           .type = dtype::float64,
                           .a = static_cast<std::int16_t>(x[0].id),
                           .b = static_cast<std::int16_t>(x[1].id),
                           .c = static_cast<std::int16_t>(x[2].id)}));
  program pair;
  tangent(s.p, pair, op_rules_table, op.operands);
  std::vector<in_reals::row<double>> leaves;
  in_reals::row<double> numbers;
  const std::size_t n = static_cast<std::size_t>(op.operands), first = n + static_cast<std::size_t>(op.numbers);
  for (std::size_t k = 0; k < n; ++k) leaves.push_back(column(op, k));
  for (std::size_t k = 0; k < n; ++k) leaves.emplace_back(op.lines.size(), stored::weights[k]);
  for (std::size_t k = n; k < first; ++k) numbers.push_back(op.lines[0][k]);
  const auto got = in_reals::run(pair, leaves, numbers);
  judge j{op};
  for (std::size_t i = 0; i < op.lines.size(); ++i) {
    double want = 0;
    for (std::size_t k = 0; k < n; ++k) want += stored::weights[k] * op.lines[i][first + 1 + k];
    j.see(1, "tangent", i, got[1].empty() ? 0 : got[1][i], want);
  }
}

}  // namespace

TEST_CASE("derivatives: every op's value, gradient, gradient of the gradient and tangent, to 1e-12") {
  for (const op_values& op : stored::derivatives()) {
    check_reverse(op);
    check_tangent(op);
  }
}

TEST_CASE("derivatives: no op with a derivative is left out") {
  std::set<std::string_view> known;
  for (const op_values& op : stored::derivatives()) known.insert(op.name);
  // Those of shapes and choices move values, root and the norms' parts stand in others' formulas or have tests of their
  // own with closed forms (tests/ops).
  for (const std::string_view elsewhere :
       {"cast", "clone", "stop_gradient", "where", "take", "checked_index", "root", "polygamma", "squared_deviation",
        "standard_deviation", "layer_norm", "rms_norm"})
    known.insert(elsewhere);
  for (const op_rules& op : op_table<all_ops>::rules) {
    const bool bits = !op.accepts(dtype::float64) || !is_floating(op.result(op.common(dtype::float64)));
    const bool steps =
        op.name == "floor" || op.name == "ceil" || op.name == "round" || op.name == "trunc" || op.name == "sign";
    if (!bits && !steps) CHECK_MESSAGE(known.count(op.name) == 1, op.name, ": add it to derivatives.py");
  }
}
