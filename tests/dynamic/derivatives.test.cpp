// SPDX-License-Identifier: BSL-1.0
// Every op in double against values by mpmath (derivatives.py), and at infinities, nans and zeros against PyTorch's
// (derivatives_at_edges.py, which says where those are not what they should be): its value, first and second
// derivatives as the interpreter runs them, to 1e-12 in parts of themselves, and its tangent by the tape that forward
// mode makes of it, run in the standard library's functions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <dynamic/derivatives.hpp>
#include <dynamic/derivatives_at_edges.hpp>
#include <dynamic/values.hpp>
#include <kiln/autograd/grad.hpp>
#include <kiln/dynamic/op_facts.hpp>
#include <kiln/kiln.hpp>
#include <kiln/tape/tangent.hpp>
#include <tape/in_reals.hpp>
#include <tape/sheet.hpp>

namespace dyn = kiln::dynamic;
using namespace kiln;
using Doubles = Tensor<double>;
using stored::op_values;

namespace {

// How far an op may be off besides 1e-12 of itself: a rounding of 1 where a derivative is the difference of what
// arrives at an element and what arrives at the row on the whole, as in PyTorch.
double off_one(std::string_view op, int order) {
  return (op == "softmax" && order > 0) || (op == "logsumexp" && order == 2) ? 4e-16 : 0;
}

struct judge {
  const op_values& op;
  std::string name = op.name;
  void see(int order, const char* what, std::size_t line, double got, double want) {
    const double allowed = 1e-12 * std::abs(want) + off_one(op.name, order) + 4e-308;
    const bool overflow = std::abs(got) > 1.7e308 && std::abs(want) > 1.7e308 && got * want > 0;
    if (got == want || (std::isnan(got) && std::isnan(want)) || overflow || std::abs(got - want) <= allowed) return;
    std::string at = message(op.lines[line][0]);
    for (int i = 1; i < op.operands; ++i) at += message(", ", op.lines[line][static_cast<std::size_t>(i)]);
    FAIL_CHECK(name, ", ", std::string(what), " at ", at, ": ", got, ", not ", want);
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
  const dyn::tensor& rows = operands[0];
  const std::int64_t last[] = {-1};
  if (name == "standard_deviation") return dyn::stddev(rows, last, false, 1).as<double>();
  if (name == "squared_deviation") return dyn::var(rows, last, false, op.operands - 1).as<double>();  // divided by 1
  const bool each = name == "softmax" || name == "log_softmax" || name == "layer_norm" || name == "rms_norm";
  if (!each) return dyn::reduce(name, rows, last).as<double>();
  const double eps = op.numbers == 2 ? op.lines[0].at(5) : 0;
  const dyn::tensor y = name == "softmax"       ? dyn::softmax(rows)
                        : name == "log_softmax" ? dyn::log_softmax(rows)
                        : name == "layer_norm"  ? dyn::layer_norm(rows, last, eps)
                                                : dyn::rms_norm(rows, last, eps);
  const Doubles w{stored::weights[0], stored::weights[1], stored::weights[2], stored::weights[3]};
  return Doubles(sum(y.as<double>() * w, -1));
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
    double want = 0;  // what does not move is multiplied by nothing, be it a nan
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

TEST_CASE("derivatives: every op's at infinities, nans and zeros") {
  for (const op_values& op : stored::derivatives_at_edges()) {
    check_reverse(op);
    check_tangent(op);
  }
}

// (With two zeros and more, they are among what docs/derivatives.md says is missing.)
TEST_CASE("derivatives: the third of products with at most one zero") {
  for (const std::vector<double>& row : {std::vector<double>{0, 2, 3, 4}, {2, 3, 0, 5}, {2, 3, 4, 5}})
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) {
        Doubles x = tensor_of(row);
        x.requires_grad();
        const Doubles first = grad(Doubles(prod(x)), x, {.create_graph = true});
        const Doubles second = grad(Doubles(first.select(0, static_cast<std::int64_t>(i))), x, {.create_graph = true});
        const Doubles third = grad(Doubles(second.select(0, static_cast<std::int64_t>(j))), x, {.allow_unused = true});
        for (std::size_t k = 0; k < 4; ++k) {
          const bool all = i != j && j != k && i != k;
          CHECK_MESSAGE(third.data()[k] == doctest::Approx(all ? row[6 - i - j - k] : 0).epsilon(1e-12), row[0], ", ",
                        row[1], ", ", row[2], ", ", row[3], ": by ", i, ", ", j, ", ", k);
        }
      }
}

TEST_CASE("derivatives: no op is left out") {
  std::set<std::string_view> known;
  for (const op_values& op : stored::derivatives()) {
    known.insert(op.name);
    CHECK_MESSAGE(static_cast<bool>(op_rules_table.find(opcode_of(op.name))), op.name, " is not in ops/all.hpp");
  }
  // By addresses and to other types: tests/tape/tangent, tests/autograd/indexing, tests/ops/cast.
  for (const std::string_view elsewhere : {"cast", "take", "checked_index"}) CHECK(known.insert(elsewhere).second);
  for (const op_rules& op : op_table<all_ops>::rules) {
    const bool bits = !op.accepts(dtype::float64) || !is_floating(op.result(op.common(dtype::float64)));
    if (!bits) CHECK_MESSAGE(known.count(op.name) == 1, op.name, ": add it to derivatives.py");
  }
}
