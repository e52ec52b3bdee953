// SPDX-License-Identifier: BSL-1.0
// Products of matrices and vectors, triangles, diagonals, norms; softmax and the linear layer as functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <kiln/dynamic/creation.hpp>
#include <kiln/dynamic/products.hpp>
#include <kiln/dynamic/shape.hpp>
#include <kiln/k/arguments.hpp>
#include <kiln/k/registry.hpp>

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

/// addmm, addmv and addr: beta * c + alpha * product.
inline object added(std::string_view name, object x) {
  arguments given(name, x, 3, 6);
  const output out = given.take_output();
  given.none_left(5);
  const operand c = given.operand_at(0), a = given.operand_at(1), b = given.operand_at(2);
  tensor product = name == "addr" ? dynamic::call("mul", {dynamic::unsqueeze(a.value, 1), b.value})
                                  : dynamic::matmul(a.value, b.value);
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

inline object diagonal(std::string_view name, object x) {
  const arguments given(name, x, 1, 2, long_trailing);
  const operand found = given.operand_at(0);
  const std::int64_t offset = given.size() == 2 ? given.long_at(1) : 0;
  if (name == "diag" && found.value.dim() == 1) {
    if (offset != 0) throw value_error("a matrix of a diagonal beside the first is not offered; use offset 0");
    const tensor unit = dynamic::eye(found.value.numel(), -1, found.value.type());
    return respond(dynamic::call("mul", {unit, found.value}), found.handle);
  }
  return respond(dynamic::diagonal(found.value, offset), found.handle);
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
  const auto placed = [&](std::size_t i) {
    tensor t = given.operand_at(i).value.to(a.value.type());
    if (t.dim() == 1 && t.numel() > 1 && a.value.dim() >= 3) t = dynamic::reshape(t, longs{t.numel(), 1, 1});
    return t;
  };
  const tensor centred = dynamic::call("sub", {a.value, placed(1)});
  tensor result = dynamic::call("div", {centred, placed(2)});
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
  for (std::string_view name : {"addmm", "addmv", "addr"}) r.offer(name, linear_algebra::added);
  r.offer("triu", linear_algebra::triangle);
  r.offer("tril", linear_algebra::triangle);
  r.offer("diag", linear_algebra::diagonal);
  r.offer("diagonal", linear_algebra::diagonal);
  r.offer("trace", linear_algebra::trace);
  r.offer("softmax", linear_algebra::softmax);
  r.offer("logsoftmax", linear_algebra::softmax);
  r.offer("softmin", linear_algebra::softmax);
  r.offer("linear", linear_algebra::linear);
  r.offer("zscore", linear_algebra::zscore);
}

}  // namespace kiln::k
