// SPDX-License-Identifier: BSL-1.0
// Random draws by the session's generator: new values for tensors in place, arrays of them, draws by probability.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kiln/k/arguments.hpp>
#include <kiln/k/autograd.hpp>
#include <kiln/k/registry.hpp>
#include <kiln/k/session.hpp>
#include <kiln/k/tensors.hpp>
#include <kiln/k/text.hpp>

namespace kiln::k::draws {

/// A distribution by its name, with what its two numbers are where a call leaves them out.
struct distribution {
  std::string_view name;
  double a, b;
  double (*draw)(generator& from, double a, double b);
};

inline constexpr auto distributions = std::to_array<distribution>({
    {"normal", 0, 1, [](generator& g, double a, double b) { return a + b * g.normal(); }},
    {"uniform", 0, 1, [](generator& g, double a, double b) { return a + (b - a) * g.uniform53(); }},
    {"lognormal", 1, 2, [](generator& g, double a, double b) { return std::exp(a + b * g.normal()); }},
    {"exponential", 1, 0, [](generator& g, double a, double) { return -std::log1p(-g.uniform53()) / a; }},
    {"cauchy", 0, 1,
     [](generator& g, double a, double b) { return a + b * std::tan(std::numbers::pi * (g.uniform53() - 0.5)); }},
    {"geometric", 0.5, 0,
     [](generator& g, double p, double) { return std::floor(std::log1p(-g.uniform53()) / std::log1p(-p)) + 1; }},
});

/// Values of these sizes and this type, drawn one after the other.
template <class Draw>
tensor values(const dims& sizes, dtype type, Draw draw) {
  return tensors::drawn<double>(sizes, draw).to(type);
}

/// New values for a tensor, which all that share it see; its history is not asked.
inline void renew(tensor t, const tensor& value) {
  settle();
  const no_grad quiet;
  t.assign_(value.to(t.device()));
}

/// The tensors that a call sets, by name where names are given, and how many arguments said which.
struct targets {
  std::vector<tensor> values;
  std::size_t next = 1;
};
inline targets targets_of(const arguments& given) {
  targets found;
  held* what = find_held(given[0]);
  tensor_list all;
  if (auto* t = dynamic_cast<held_tensor*>(what))
    all.values.push_back(t->value);
  else if (auto* list = dynamic_cast<held_list*>(what))
    all = *list->list;
  else if (auto* owner = dynamic_cast<parameter_owner*>(what))
    all = owner->parameters();
  else
    given.refuse(0, "a tensor, vector, dict or module");
  found.values = all.values;
  if (given.size() < 2) return found;
  const auto names = given[1]->type == mixed_type ? std::nullopt : read_symbols(given[1]);
  if (!names || all.names.empty()) return found;
  found.values.clear();
  for (const std::string& name : *names) {
    const auto place = all.find(name);
    if (!place) throw value_error(message("no parameter `", name));
    found.values.push_back(all.values[*place]);
  }
  found.next = 2;
  return found;
}

/// normal, uniform and others: (handle[;names][;a;b]) in place, or (array[;a;b]) as an array.
inline object draw(std::string_view name, object x) {
  const arguments given(name, x, 1, 4, number_trailing | symbol_trailing);
  const distribution* row = std::ranges::find(distributions, name, &distribution::name);
  const auto numbers = [&](std::size_t first) {
    const double a = given.size() > first ? given.number_at(first) : row->a;
    const double b = given.size() > first + 1 ? given.number_at(first + 1) : row->b;
    if (name == "exponential" && !(a > 0)) throw value_error(message("a rate of ", a, " is not above 0"));
    if (name == "geometric" && !(a > 0 && a < 1))
      throw value_error(message("a probability of ", a, " is not inside 0 to 1"));
    if ((name == "normal" || name == "lognormal") && !(b >= 0))
      throw value_error(message("a deviation of ", b, " is negative"));
    return std::pair(a, b);
  };
  generator& from = session().random;
  if (!find_held(given[0])) {
    const operand like = given.operand_at(0);
    const dtype type = is_floating(like.value.type()) ? like.value.type() : dtype::float32;
    const auto [a, b] = numbers(1);
    return to_value(values(like.value.sizes(), type, [&, a = a, b = b] { return row->draw(from, a, b); }));
  }
  const targets to = targets_of(given);
  const auto [a, b] = numbers(to.next);
  for (const tensor& t : to.values)
    if (!is_floating(t.type())) throw dtype_error(message("expects floating elements, given ", symbol_of(t.type())));
  for (const tensor& t : to.values)
    renew(t, values(t.sizes(), t.type(), [&, a = a, b = b] { return row->draw(from, a, b); }));
  return make_null();
}

/// The factor that keeps the variance behind a function.
inline double gain_of(std::string_view function, double slope) {
  if (function == "tanh") return 5.0 / 3;
  if (function == "relu") return std::sqrt(2.0);
  if (function == "leakyrelu") return std::sqrt(2 / (1 + slope * slope));
  if (function == "selu") return 0.75;
  for (std::string_view one : {"linear", "conv1d", "conv2d", "conv3d", "sigmoid"})
    if (one == function) return 1;
  throw value_error(message("no gain for `", function,
                            ", expected one of linear conv1d conv2d conv3d sigmoid tanh relu "
                            "leakyrelu selu"));
}

inline object gain(std::string_view name, object x) {
  if (x->type == symbol_type) throw value_error("expects one function");
  const arguments given(name, x, 1, 2, number_trailing);
  const auto function = read_symbol(given[0]);
  if (!function) given.refuse(0, "a symbol");
  return kf(gain_of(*function, given.size() > 1 ? given.number_at(1) : 0.01));
}

/// Inputs and outputs of a weight.
inline std::pair<double, double> fans(const tensor& t) {
  if (t.dim() < 2) throw shape_error(message("expects 2 dimensions or more, given sizes ", t.sizes()));
  const double field = static_cast<double>(t.numel()) / static_cast<double>(t.sizes()[0] * t.sizes()[1]);
  return {static_cast<double>(t.sizes()[1]) * field, static_cast<double>(t.sizes()[0]) * field};
}

/// xnormal and xuniform by the mean of inputs and outputs, knormal and kuniform by inputs.
inline object scaled(std::string_view name, object x) {
  const arguments given(name, x, 1, 5, number_trailing | symbol_trailing);
  targets to = targets_of(given);
  double number = name[0] == 'x' ? 1 : 0;
  std::string_view function = "leakyrelu";
  bool outputs = false;
  for (std::size_t i = to.next; i < given.size(); ++i) {
    if (const auto word = read_symbol(given[i]); word && name[0] == 'k') {
      if (*word == "fanin" || *word == "fanout")
        outputs = *word == "fanout";
      else
        function = *word;
    } else {
      number = given.number_at(i);
    }
  }
  generator& from = session().random;
  for (const tensor& t : to.values) {
    fans(t);
    if (!is_floating(t.type())) throw dtype_error(message("expects floating elements, given ", symbol_of(t.type())));
  }
  for (const tensor& t : to.values) {
    const auto [in, out] = fans(t);
    const double deviation =
        name[0] == 'x' ? number * std::sqrt(2 / (in + out)) : gain_of(function, number) / std::sqrt(outputs ? out : in);
    const bool normal = name.ends_with("normal");
    const double bound = std::sqrt(3.0) * deviation;
    renew(t, values(t.sizes(), t.type(),
                    [&] { return normal ? deviation * from.normal() : bound * (2 * from.uniform53() - 1); }));
  }
  return make_null();
}

/// random (x[;low;high]): integers of a range, by default all that the type counts exactly; snormal
/// (x[;sparsity;deviation]): normal numbers with so large a part of each column 0; orthogonal (x[;gain]): rows or
/// columns that are orthonormal, by Gram-Schmidt of normal numbers; dirac x: what a convolution gives its inputs back
/// with. In place.
inline object filled(std::string_view name, object x) {
  const arguments given(name, x, 1, 4, number_trailing | symbol_trailing);
  const targets to = targets_of(given);
  generator& from = session().random;
  const bool whole = name == "random";
  const double first = whole || given.size() <= to.next ? (name == "orthogonal" ? 1 : 0.1) : given.number_at(to.next);
  const double second = whole || given.size() <= to.next + 1 ? 0.01 : given.number_at(to.next + 1);
  for (const tensor& t : to.values) {
    if (!whole && !is_floating(t.type()))
      throw dtype_error(message("expects floating elements, given ", symbol_of(t.type())));
    if (name == "snormal" && (t.dim() != 2 || !(first >= 0 && first <= 1)))
      throw value_error(message("expects a matrix and a part from 0 to 1, given sizes ", t.sizes(), " and ", first));
    if (name == "orthogonal" && t.dim() < 2)
      throw shape_error(message("expects 2 dimensions or more, given sizes ", t.sizes()));
    if (name == "dirac" && (t.dim() < 3 || t.dim() > 5))
      throw shape_error(message("expects 3 to 5 dimensions, given sizes ", t.sizes()));
  }
  for (const tensor& t : to.values) {
    if (whole) {
      const bool most = given.size() <= to.next;
      const std::int64_t low = given.size() > to.next + 1 ? given.long_at(to.next) : 0;
      std::int64_t high = most ? 0 : given.long_at(given.size() - 1);
      if (most)
        high = t.type() == dtype::boolean    ? 2
               : t.type() == dtype::float32  ? (std::int64_t{1} << 24) + 1
               : t.type() == dtype::float16  ? (std::int64_t{1} << 11) + 1
               : t.type() == dtype::bfloat16 ? (std::int64_t{1} << 8) + 1
               : t.type() == dtype::uint8    ? 256
               : t.type() == dtype::int8     ? 128
               : t.type() == dtype::int16    ? 1 << 15
               : t.type() == dtype::int32    ? std::int64_t{1} << 31
                                             : std::int64_t{1} << 53;
      renew(t, tensors::randint(low, high, t.sizes(), t.type()));
      continue;
    }
    std::vector<double> numbers(static_cast<std::size_t>(t.numel()));
    const std::int64_t rows = t.size(0), columns = rows ? t.numel() / rows : 0;
    const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
      return numbers[static_cast<std::size_t>(i * columns + j)];
    };
    if (name == "snormal") {
      for (double& each : numbers) each = second * from.normal();
      const auto zeros = static_cast<std::int64_t>(std::ceil(first * static_cast<double>(rows)));
      std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
      for (std::int64_t j = 0; j < columns; ++j) {
        std::iota(order.begin(), order.end(), 0);
        for (std::int64_t i = 0; i < zeros; ++i) {
          std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i + from.below(rows - i))]);
          at(order[static_cast<std::size_t>(i)], j) = 0;
        }
      }
    } else if (name == "orthogonal") {
      const bool wide = columns > rows;
      const std::int64_t n = wide ? rows : columns, length = wide ? columns : rows;
      const auto of = [&](std::int64_t v, std::int64_t i) -> double& { return wide ? at(v, i) : at(i, v); };
      for (std::int64_t v = 0; v < n; ++v) {
        double size = 0;
        do {
          for (std::int64_t i = 0; i < length; ++i) of(v, i) = from.normal();
          for (int twice = 0; twice < 2; ++twice)  // once loses what rounding leaves of the others
            for (std::int64_t u = 0; u < v; ++u) {
              double along = 0;
              for (std::int64_t i = 0; i < length; ++i) along += of(u, i) * of(v, i);
              for (std::int64_t i = 0; i < length; ++i) of(v, i) -= along * of(u, i);
            }
          size = 0;
          for (std::int64_t i = 0; i < length; ++i) size += of(v, i) * of(v, i);
        } while (!(size > 1e-20));
        for (std::int64_t i = 0; i < length; ++i) of(v, i) /= std::sqrt(size);
      }
      for (double& each : numbers) each *= first;
    } else {  // dirac
      const std::int64_t inputs = t.size(1), field = inputs ? columns / inputs : 0;
      std::int64_t middle = 0;
      for (int axis = 2; axis < t.dim(); ++axis) middle = middle * t.size(axis) + t.size(axis) / 2;
      for (std::int64_t d = 0; d < std::min(rows, inputs); ++d) at(d, d * field + middle) = 1;
    }
    std::size_t next = 0;
    renew(t, values(t.sizes(), t.type(), [&] { return numbers[next++]; }));
  }
  return make_null();
}

/// Indices drawn by weights, rows by themselves: (probabilities[;n][;replacement]).
inline object multinomial(std::string_view name, object x) {
  arguments given(name, x, 1, 3, long_trailing | flag_trailing);
  const bool replacement = given.take_flag().value_or(false);
  const std::int64_t n = given.take_long().value_or(1);
  given.none_left(1);
  const operand found = given.operand_at(0);
  const int rank = found.value.dim();
  if (rank < 1 || rank > 2) throw shape_error(message("expects 1 or 2 dimensions, given sizes ", found.value.sizes()));
  const std::int64_t columns = found.value.sizes()[rank - 1], rows = rank == 2 ? found.value.sizes()[0] : 1;
  if (n < 1 || (!replacement && n > columns))
    throw value_error(message("cannot draw ", n, " of ", columns, replacement ? "" : " without replacement"));
  const std::vector<double> all = detail::doubles_of(found.value);
  const dims sizes = rank == 2 ? dims{rows, n} : dims{n};
  tensor result = dynamic::zeros(sizes, dtype::int64);  // first, as there may be no memory for it
  auto* to = const_cast<std::int64_t*>(static_cast<const std::int64_t*>(result.data()));
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> weights(all.begin() + r * columns, all.begin() + (r + 1) * columns);
    for (double w : weights)
      if (!(w >= 0) || !std::isfinite(w)) throw value_error(message("a probability of ", w));
    for (std::int64_t i = 0; i < n; ++i) {
      const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      if (!(total > 0)) throw value_error("too few probabilities are above 0");
      double left = session().random.uniform53() * total;
      std::size_t at = 0, last = 0;
      for (; at < weights.size(); ++at) {
        if (weights[at] > 0) last = at;
        if (weights[at] > 0 && left < weights[at]) break;
        left -= weights[at];
      }
      at = std::min(at, last);
      *to++ = static_cast<std::int64_t>(at);
      if (!replacement) weights[at] = 0;
    }
  }
  return respond(std::move(result), found.handle);
}

inline object bernoulli(std::string_view name, object x) {
  arguments given(name, x, 1, 2, output_trailing);
  const output out = given.take_output();
  given.none_left(1);
  const operand found = given.operand_at(0);
  if (!is_floating(found.value.type())) throw dtype_error("expects probabilities, floating elements");
  const std::vector<double> p = detail::doubles_of(found.value);
  for (double each : p)
    if (!(each >= 0 && each <= 1)) throw value_error(message("a probability of ", each, " is not in 0 to 1"));
  std::size_t i = 0;
  return respond(values(found.value.sizes(), found.value.type(),
                        [&] { return session().random.uniform53() < p[i++] ? 1.0 : 0.0; }),
                 found.handle, out);
}

}  // namespace kiln::k::draws

namespace kiln::k {

inline void offer_random(registry& r) {
  for (const draws::distribution& row : draws::distributions) r.offer(row.name, draws::draw);
  for (std::string_view name : {"knormal", "kuniform", "xnormal", "xuniform"}) r.offer(name, draws::scaled);
  for (std::string_view name : {"random", "snormal", "orthogonal", "dirac"}) r.offer(name, draws::filled);
  r.offer("gain", draws::gain);
  r.offer("multinomial", draws::multinomial);
  r.offer("bernoulli", draws::bernoulli);
}

}  // namespace kiln::k
