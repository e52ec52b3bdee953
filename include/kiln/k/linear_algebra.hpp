// SPDX-License-Identifier: BSL-1.0
// Products of matrices and vectors, triangles, diagonals; softmax and the linear layer as functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/norms.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/shape.hpp>

namespace kiln::k::linear_algebra {

/// The product of two operands; names other than matmul ask for numbers of dimensions.
inline object product(std::string_view name, object x) {
  arguments given(name, x, 2, 3);
  const output out = given.take_output();
  given.none_left(2);
  operand a = given.read_at(0), b = given.read_at(1);
  const auto expect = [&](int left, int right) {
    if (a.value.dim() != left || b.value.dim() != right)
      throw shape_error(message("expects ", left, " and ", right, " dimensions, given sizes ", a.value.sizes(), " and ",
                                b.value.sizes()));
  };
  tensor result;
  if (name == "bmm") {
    expect(3, 3);
    result = dynamic::bmm(a.value, b.value);
  } else if (name == "dot") {
    expect(1, 1);
    result = dynamic::dot(a.value, b.value);
  } else if (name == "outer") {
    expect(1, 1);
    result = dynamic::call("mul", {dynamic::unsqueeze(a.value, 1), b.value});
  } else {
    if (name == "mv") expect(2, 1);
    if (name != "mv" && name != "matmul") expect(2, 2);
    if (name == "mmt") b.value = dynamic::transpose(b.value, 0, 1);
    if (name == "mtm") a.value = dynamic::transpose(a.value, 0, 1);
    result = dynamic::matmul(a.value, b.value);
  }
  return respond(std::move(result), a.handle || b.handle, out);
}

/// addmm, addmv, addr, addbmm and baddbmm: beta * c + alpha * product; addbmm sums the products of its stacks.
inline object added(std::string_view name, object x) {
  arguments given(name, x, 3, 6);
  const output out = given.take_output();
  given.none_left(5);
  const operand c = given.operand_at(0), a = given.operand_at(1), b = given.operand_at(2);
  tensor product;
  if (name == "addr")
    product = dynamic::call("mul", {dynamic::unsqueeze(a.value, 1), b.value});
  else
    product = name.ends_with("bmm") ? dynamic::bmm(a.value, b.value) : dynamic::matmul(a.value, b.value);
  if (name == "addbmm") product = dynamic::reduce("sum", product, {0});
  tensor base = c.value;
  if (given.size() > 3) base = dynamic::call("mul", {base, dynamic::scalar(given.number_at(3))});
  if (given.size() > 4) product = dynamic::call("mul", {product, dynamic::scalar(given.number_at(4))});
  return respond(dynamic::call("add", {base, product}), c.handle || a.handle || b.handle, out);
}

inline object triangle(std::string_view name, object x) {
  arguments given(name, x, 1, 3, long_trailing | output_trailing);
  const output out = given.take_output();
  const std::int64_t offset = given.take_long().value_or(0);
  given.none_left(1);
  const operand found = given.operand_at(0);
  return respond(name == "triu" ? dynamic::triu(found.value, offset) : dynamic::tril(found.value, offset), found.handle,
                 out);
}

/// The square matrix with these elements on a diagonal and 0 elsewhere.
inline tensor matrix_of_diagonal(const tensor& elements, std::int64_t offset) {
  const std::int64_t n = elements.numel(), beside = std::abs(offset);
  if (beside > (1 << 20)) throw value_error(message("a diagonal ", beside, " beside the first"));
  const dtype type = elements.type();
  tensor whole = dynamic::call("mul", {dynamic::eye(n, -1, type), dynamic::reshape(elements, longs{n})});
  if (offset == 0) return whole;
  // A diagonal above the first one starts behind columns of zeros and ends above rows of them; below it is the
  // converse.
  const int first = offset > 0 ? 1 : 0, then = 1 - first;
  const auto zeros = [&](int axis) {
    longs sizes{whole.size(0), whole.size(1)};
    sizes[static_cast<std::size_t>(axis)] = beside;
    return dynamic::zeros(dims(sizes), type);
  };
  whole = dynamic::cat(std::vector<tensor>{zeros(first), whole}, first);
  return dynamic::cat(std::vector<tensor>{whole, zeros(then)}, then);
}

inline object diagonal(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, long_trailing);
  const operand found = given.operand_at(0);
  const std::int64_t offset = given.size() == 2 ? given.long_at(1) : 0;
  if (name == "diagflat" || (name == "diag" && found.value.dim() == 1))
    return respond(matrix_of_diagonal(found.value, offset), found.handle);
  return respond(dynamic::diagonal(found.value, offset), found.handle);
}

/// Sums over products along dimensions of x and y: (x;y;n), the last n of x and the first n of y, or (x;y;dims;dims).
inline object tensordot(std::string_view name, object x) {
  const arguments given(name, x, 2, 4);
  const operand a = given.operand_at(0), b = given.operand_at(1);
  longs of_a, of_b;
  if (given.size() == 4) {
    of_a = given.longs_at(2);
    of_b = given.longs_at(3);
  } else {
    const std::int64_t n = given.size() == 3 ? given.long_at(2) : 2;
    if (n < 0 || n > a.value.dim() || n > b.value.dim())
      throw shape_error(
          message("cannot sum over ", n, " dimensions of sizes ", a.value.sizes(), " and ", b.value.sizes()));
    for (std::int64_t i = 0; i < n; ++i) {
      of_a.push_back(a.value.dim() - n + i);
      of_b.push_back(i);
    }
  }
  if (of_a.size() != of_b.size())
    throw shape_error(message(of_a.size(), " dimensions of the first for ", of_b.size(), " of the second"));
  const bool nothing = a.value.numel() == 0 || b.value.numel() == 0;  // other sizes may then be any
  std::int64_t inner = 1;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    of_a[i] = normalize_axis(of_a[i], a.value.dim(), "tensordot");
    of_b[i] = normalize_axis(of_b[i], b.value.dim(), "tensordot");
    if (a.value.size(of_a[i]) != b.value.size(of_b[i]))
      throw shape_error(message("dimension ", of_a[i], " of sizes ", a.value.sizes(), " does not fit dimension ",
                                of_b[i], " of sizes ", b.value.sizes()));
    if (!nothing) inner *= a.value.size(of_a[i]);
  }
  // As one product of matrices: what is summed over goes last on the left and first on the right.
  longs sizes;
  const auto turned = [&](const tensor& t, const longs& summed, bool last) {
    longs order, kept;
    for (int i = 0; i < t.dim(); ++i)
      if (std::ranges::find(summed, i) == summed.end()) kept.push_back(i);
    std::int64_t outer = 1;
    for (std::int64_t axis : kept) {
      sizes.push_back(t.size(axis));
      if (!nothing) outer *= t.size(axis);
    }
    if (nothing) return t;
    order = last ? kept : summed;
    order.insert(order.end(), (last ? summed : kept).begin(), (last ? summed : kept).end());
    return dynamic::reshape(dynamic::permute(t, dims(order)), last ? longs{outer, inner} : longs{inner, outer});
  };
  const tensor left = turned(a.value, of_a, true), right = turned(b.value, of_b, false);
  if (nothing) return respond(dynamic::zeros(dims(sizes), a.value.type()), a.handle || b.handle);
  return respond(dynamic::reshape(dynamic::matmul(left, right), dims(sizes)), a.handle || b.handle);
}

/// The product of several matrices, in the order of multiplications that takes the fewest operations (dynamic
/// programming over where the last product splits them: Cormen et al., Introduction to Algorithms, 15.2).
inline object multidot(std::string_view, object x) {
  bool handle = false;
  std::vector<tensor> all = shape::parts(x, handle);
  const std::size_t n = all.size();
  if (n < 2) throw value_error(message("expects 2 matrices or more, given ", n));
  // A vector in front is a row, one at the end a column.
  const bool row = all.front().dim() == 1, column = all.back().dim() == 1;
  if (row) all.front() = dynamic::unsqueeze(all.front(), 0);
  if (column) all.back() = dynamic::unsqueeze(all.back(), 1);
  for (std::size_t i = 0; i < n; ++i)
    if (all[i].dim() != 2 || (i > 0 && all[i - 1].size(1) != all[i].size(0)))
      throw shape_error(message("matrix ", i + 1, " of sizes ", all[i].sizes(), " does not fit",
                                i > 0 ? message(" that before it, of sizes ", all[i - 1].sizes()) : std::string()));
  struct part {
    double cost = 0;
    std::size_t split = 0;
  };
  std::vector<part> best(n * n);
  for (std::size_t length = 1; length < n; ++length)
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      best[i * n + j].cost = infinite_float;
      for (std::size_t k = i; k < j; ++k) {
        const double cost = best[i * n + k].cost + best[(k + 1) * n + j].cost +
                            static_cast<double>(all[i].size(0)) * static_cast<double>(all[k].size(1)) *
                                static_cast<double>(all[j].size(1));
        if (cost < best[i * n + j].cost) best[i * n + j] = {cost, k};
      }
    }
  const auto product = [&](const auto& self, std::size_t i, std::size_t j) -> tensor {
    if (i == j) return all[i];
    const std::size_t k = best[i * n + j].split;
    return dynamic::matmul(self(self, i, k), self(self, k + 1, j));
  };
  tensor result = product(product, 0, n - 1);
  if (column) result = dynamic::squeeze(result, 1);
  if (row) result = dynamic::squeeze(result, 0);
  return respond(std::move(result), handle);
}

/// (x;y[;dim]): the cross products of vectors of 3 along a dimension.
inline object cross(std::string_view name, object x) {
  arguments given(name, x, 2, 4);
  const output out = given.take_output();
  const std::int64_t axis = given.take_long().value_or(-1);
  given.none_left(2);
  const operand a = given.operand_at(0), b = given.operand_at(1);
  const auto turned = [&](const tensor& t, std::int64_t from) {  // the element that comes `from` places later
    if (t.size(axis) != 3) throw shape_error(message("expects 3 elements along a dimension, given sizes ", t.sizes()));
    const std::vector<tensor> parts{dynamic::narrow(t, axis, from, 3 - from), dynamic::narrow(t, axis, 0, from)};
    return dynamic::cat(parts, axis);
  };
  const tensor result = dynamic::call("sub", {dynamic::call("mul", {turned(a.value, 1), turned(b.value, 2)}),
                                              dynamic::call("mul", {turned(a.value, 2), turned(b.value, 1)})});
  return respond(result, a.handle || b.handle, out);
}

inline object trace(std::string_view name, object x) {
  const arguments given(name, x, 1, 1);
  const operand found = given.operand_at(0);
  if (found.value.dim() != 2) throw shape_error(message("expects a matrix, given sizes ", found.value.sizes()));
  return respond(dynamic::reduce("sum", dynamic::diagonal(found.value)), found.handle);
}

/// softmax, logsoftmax and softmin: (x[;dim][;dtype]); without a dimension along the last.
inline object softmax(std::string_view name, object x) {
  arguments given(name, x, 1, 3, long_trailing | symbol_trailing);
  const auto type = given.take_dtype();
  const std::int64_t axis = given.take_long().value_or(-1);
  given.none_left(1);
  const operand found = given.operand_at(0);
  tensor source = type ? found.value.to(*type) : found.value;
  if (!is_floating(source.type())) source = source.to(dtype::float32);
  if (name == "softmin") source = dynamic::call("neg", {source});
  return respond(name == "logsoftmax" ? dynamic::log_softmax(source, axis) : dynamic::softmax(source, axis),
                 found.handle);
}

inline object linear(std::string_view name, object x) {
  const arguments given(name, x, 2, 3);
  const operand a = given.operand_at(0), weight = given.operand_at(1);
  operand bias;
  if (given.size() == 3 && !is_null(given[2])) bias = given.operand_at(2);
  return respond(dynamic::linear(a.value, weight.value, bias.value), a.handle || weight.handle || bias.handle);
}

/// (x;mean;deviation), one each for all or for each channel, the second dimension from the front.
inline object zscore(std::string_view name, object x) {
  const arguments given(name, x, 3, 4);
  const operand a = given.operand_at(0);
  tensor result = norms::standardised(a.value, given.operand_at(1).value, given.operand_at(2).value);
  if (given.size() == 4 && read_flag(given[3]).value_or(false)) {
    auto* target = find_held_as<held_tensor>(given[0]);
    if (!target) throw value_error("in place needs a tensor's handle");
    return respond(std::move(result), true, output{target});
  }
  return respond(std::move(result), a.handle);
}

}  // namespace kiln::k::linear_algebra

namespace kiln::k {

inline void offer_linear_algebra(registry& r) {
  for (std::string_view name : {"matmul", "mm", "mmt", "mtm", "mv", "bmm", "dot", "outer"})
    r.offer(name, linear_algebra::product);
  for (std::string_view name : {"addmm", "addmv", "addr", "addbmm", "baddbmm"}) r.offer(name, linear_algebra::added);
  r.offer("triu", linear_algebra::triangle);
  r.offer("tril", linear_algebra::triangle);
  for (std::string_view name : {"diag", "diagflat", "diagonal"}) r.offer(name, linear_algebra::diagonal);
  r.offer("tensordot", linear_algebra::tensordot);
  r.offer("multidot", linear_algebra::multidot);
  r.offer("Cross", linear_algebra::cross);
  r.offer("trace", linear_algebra::trace);
  r.offer("softmax", linear_algebra::softmax);
  r.offer("logsoftmax", linear_algebra::softmax);
  r.offer("softmin", linear_algebra::softmax);
  r.offer("linear", linear_algebra::linear);
  r.offer("zscore", linear_algebra::zscore);
}

}  // namespace kiln::k
