// SPDX-License-Identifier: BSL-1.0
// Programs through both executors, bit for bit: every op in every type, maps, rows, gradients, over all counts and any
// layout. What the compiled one computes is held against foreign oracles elsewhere; drawn tapes that only the
// interpreter can run are held against loops in double in tests/device/cuda/fuzz.test.cpp.
#include <kiln/autograd/node.hpp>
#include <kiln/device/cpu/drivers.hpp>
#include <kiln/expr/formula.hpp>
#include <kiln/kiln.hpp>
#ifndef KILN_COMPILED
#include <kiln/device/cpu/interpreter.hpp>
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace kiln;

namespace {

// The interpreter takes as long to compile as all else here: from the library where there is one.
#ifdef KILN_COMPILED
using cpu::drivers::interpret;
#else
using cpu::interpret;
#endif

std::mt19937 engine(7);
std::int64_t draw(std::int64_t below) {
  return static_cast<std::int64_t>(engine() % static_cast<std::uint32_t>(below));
}

// Memory of a type with values of all kinds, special ones among them.
std::vector<char> memory(dtype type, std::int64_t n, bool special) {
  std::vector<char> out(static_cast<std::size_t>(n) * size_of(type));
  visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    T* const p = reinterpret_cast<T*>(out.data());
    using C = compute_t<T>;
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(draw(4000)) / 1000 - 2;
      if constexpr (std::is_same_v<T, bool>)
        p[i] = draw(2) == 1;
      else if constexpr (std::is_integral_v<T>)
        p[i] = draw(2) ? static_cast<T>(draw(7) + 1) : static_cast<T>(static_cast<T>(engine()) | 1);  // never zero
      else
        p[i] = static_cast<T>(static_cast<C>(x));
      if constexpr (!std::is_integral_v<T>)
        if (special && draw(5) == 0) {
          using limits = std::numeric_limits<C>;
          const C some[] = {limits::infinity(),
                            -limits::infinity(),
                            limits::quiet_NaN(),
                            C(0),
                            -C(0),
                            limits::max(),
                            limits::denorm_min(),
                            C(1e-20),
                            C(-3e9),
                            C(80)};
          p[i] = static_cast<T>(some[draw(10)]);
        }
    }
  });
  return out;
}

template <class Program>
struct both {
  static constexpr const cpu::compiled& compiled = cpu::compiler<Program>::program;
  static const cpu::compiled& interpreted() {
    static const auto kept = interpret(view(Program::tape), Program::stores.data(), Program::reduction_rooted);
    return *kept;
  }
};

// The types of a program's leaves by slot.
template <class Program>
std::vector<dtype> leaf_types() {
  std::vector<dtype> types(static_cast<std::size_t>(both<Program>::compiled.slots), dtype::float32);
  for (int i = 0; i < Program::tape.size(); ++i)
    if (Program::tape[i].code == opcode::leaf)
      types[static_cast<std::size_t>(Program::tape[i].slot)] = Program::tape[i].type;
  return types;
}

// A NaN may have either sign: which operand's a processor hands on depends on the order it is given them in.
bool same(dtype type, const std::vector<char>& a, const std::vector<char>& b) {
  if (a == b) return true;
  bool all = true;
  visit_dtype(type, [&]<class T>(std::type_identity<T>) {
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
      T x, y;
      std::memcpy(&x, a.data() + at, sizeof(T));
      std::memcpy(&y, b.data() + at, sizeof(T));
      bool equal = std::memcmp(a.data() + at, b.data() + at, sizeof(T)) == 0;
      if constexpr (is_floating(dtype_of<T>))
        equal |= std::isnan(static_cast<compute_t<T>>(x)) && std::isnan(static_cast<compute_t<T>>(y));
      all &= equal;
    }
  });
  return all;
}

// One kernel on one strip, single values in any place.
template <class Program>
void check_strips(const std::string& what, bool special) {
  const cpu::compiled &c = both<Program>::compiled, &n = both<Program>::interpreted();
  const auto types = leaf_types<Program>();
  std::vector<std::vector<char>> leaves;
  for (const dtype t : types) leaves.push_back(memory(t, 3000, special));
  const std::uint64_t scalars[] = {cpu::to_bits(1.25), cpu::to_bits(-0.5)};
  for (std::int64_t count = 1; count < 3000; count += count < 70 ? 1 : 311) {
    std::vector<const void*> in;
    std::vector<std::int64_t> step;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      const std::int64_t first = draw(3000 - count + 1);
      in.push_back(leaves[k].data() + static_cast<std::size_t>(first) * size_of(types[k]));
      step.push_back(draw(4) != 0);
    }
    std::vector<std::vector<char>> out[2];
    const std::vector<char> add(static_cast<std::size_t>(c.results), draw(4) == 0);
    for (int r = 0; r < c.results; ++r)
      out[0].push_back(memory(Program::stores[static_cast<std::size_t>(r)], 3000, false));
    out[1] = out[0];
    const bool none = c.results > 1 && draw(3) == 0;  // nobody asks for the first result
    for (int k = 0; k < 2; ++k) {
      std::vector<void*> to;
      for (auto& o : out[k]) to.push_back(o.data());
      if (none) to[0] = nullptr;
      const cpu::compiled& program = k ? n : c;
      program.map({.in = in.data(),
                   .step = step.data(),
                   .out = to.data(),
                   .add = reinterpret_cast<const bool*>(add.data()),
                   .scalars = scalars,
                   .count = count,
                   .program = &program});
    }
    for (std::size_t r = 0; r < out[0].size(); ++r)
      if (!same(Program::stores[r], out[0][r], out[1][r]))
        FAIL_CHECK(what, ", ", count, " elements, result ", r, "\n", listing(view(Program::tape), op_rules_table));
  }
}

// ---- every op in every type ---------------------------------------------------------------------------------

template <class Op, class T>
constexpr bool computed_in() {
  if constexpr (Op::composite || Op::reduces || Op::name == "cast")
    return false;
  else
    return Op::accepts(dtype_of<T>) && Op::common(dtype_of<T>) == dtype_of<T>;
}
template <class List, class T>
struct ops_in;
template <class... Ops, class T>
struct ops_in<op_list<Ops...>, T> {
  static constexpr int count = (int{computed_in<Ops, T>()} + ...);
  // Pushes the ops that come at places [first, first + n).
  static constexpr void push(program& p, int first, int n) {
    auto leaf = [&](int slot, dtype type) {
      return static_cast<std::int16_t>(
          p.push({.code = opcode::leaf, .type = type, .slot = static_cast<std::int16_t>(slot)}));
    };
    const std::int16_t x[] = {leaf(0, dtype_of<T>), leaf(1, dtype_of<T>), leaf(2, dtype_of<T>)};
    const std::int16_t truth = leaf(3, dtype::boolean);
    int place = 0;
    auto one = [&]<class Op>(std::type_identity<Op>) {
      if constexpr (computed_in<Op, T>()) {
        if (place >= first && place < first + n) {
          instruction now{.code = opcode_of(Op::name), .type = Op::result(dtype_of<T>), .a = x[0]};
          if (Op::arity > 1) now.b = x[1];
          if (Op::arity > 2) now.c = x[2];
          if (Op::name == "where") now.a = truth;
          p.add_result(p.push(now));
        }
        ++place;
      }
    };
    (one(std::type_identity<Ops>{}), ...);
  }
};
// A wider type beside them makes steps of fewer elements than a register of T holds.
template <class T, int First, bool Narrow>
struct op_program {
  static constexpr auto tape = finished([](program& p) {
    ops_in<all_ops, T>::push(p, First, 12);
    if (Narrow) p.add_result(p.push({.code = opcode::leaf, .type = dtype::float64, .slot = 4}));
  });
  static constexpr bool reduction_rooted = false;
  static constexpr auto stores = [] {
    std::array<dtype, static_cast<std::size_t>(tape.result_count())> types{};
    for (int r = 0; r < tape.result_count(); ++r) types[static_cast<std::size_t>(r)] = tape[tape.result(r)].type;
    return types;
  }();
};
template <class T, bool Narrow = false, int First = 0>
void check_ops() {
  check_strips<op_program<T, First, Narrow>>(std::string(name(dtype_of<T>)), true);
  if constexpr (First + 12 < ops_in<all_ops, T>::count) check_ops<T, Narrow, First + 12>();
}

// Every type to every other.
template <class From>
struct cast_program {
  static constexpr auto tape = finished([](program& p) {
    const auto x = static_cast<std::int16_t>(p.push({.code = opcode::leaf, .type = dtype_of<From>, .slot = 0}));
    for (int to = 0; to < dtype_count; ++to)
      p.add_result(p.push({.code = opcode_of("cast"), .type = static_cast<dtype>(to), .a = x}));
  });
  static constexpr bool reduction_rooted = false;
  static constexpr auto stores = [] {
    std::array<dtype, dtype_count> types{};
    for (int to = 0; to < dtype_count; ++to) types[static_cast<std::size_t>(to)] = static_cast<dtype>(to);
    return types;
  }();
};

}  // namespace

TEST_CASE("interpreter: every op in float") {
  check_ops<float>();
}
TEST_CASE("interpreter: every op in float, beside a double") {
  check_ops<float, true>();
}
TEST_CASE("interpreter: every op in double") {
  check_ops<double>();
}
TEST_CASE("interpreter: every op in integers and bool") {
  check_ops<bool>();
  check_ops<std::uint8_t>();
  check_ops<std::int8_t, true>();
  check_ops<std::int16_t>();
  check_ops<std::int32_t>();
  check_ops<std::int64_t>();
}
TEST_CASE("interpreter: every type becomes every other") {
  check_strips<cast_program<float>>("float", false);
  check_strips<cast_program<double>>("double", false);
  check_strips<cast_program<half>>("half", true);
  check_strips<cast_program<bfloat16>>("bfloat16", true);
  check_strips<cast_program<bool>>("bool", false);
  check_strips<cast_program<std::uint8_t>>("uint8", false);
  check_strips<cast_program<std::int64_t>>("int64", false);
}

// ---- whole tasks --------------------------------------------------------------------------------------------

namespace {

struct drawn_layout {
  dims strides;
  std::int64_t reserved = 1;
};
drawn_layout layout_over(const dims& domain, std::uint32_t kept, bool dense) {
  drawn_layout l{dims::filled(domain.rank(), 0), 1};
  const bool turned = !dense && draw(4) == 0;
  std::int64_t next = dense || draw(4) ? 1 : 2;
  for (int k = 0; k < domain.rank(); ++k) {
    const int d = turned ? k : domain.rank() - 1 - k;
    if (!(kept >> d & 1)) continue;
    l.strides[d] = next;
    next *= domain[d];
  }
  l.reserved = next + 8;
  return l;
}

// A task over a drawn domain with drawn layouts, run by both.
template <class Program, bool Gradient = false>
void check_tasks(const std::string& what, int rounds = 60) {
  const cpu::compiled &c = both<Program>::compiled, &n = both<Program>::interpreted();
  REQUIRE(c.passes == n.passes);
  REQUIRE(c.kept == n.kept);
  REQUIRE(c.slots == n.slots);
  REQUIRE(c.cost == n.cost);
  REQUIRE(c.pass_length == n.pass_length);
  const auto types = leaf_types<Program>();
  for (int round = 0; round < rounds; ++round) {
    dims domain;
    const std::int64_t rank = 1 + draw(3);
    for (std::int64_t d = 0; d < rank; ++d) domain.push_back(1 + draw(draw(3) == 0 ? 70 : 9));
    if (draw(8) == 0) domain[static_cast<int>(draw(rank))] = 700 + draw(60);
    if (draw(12) == 0) domain = {40000 + draw(1000)};
    const int all = (1 << domain.rank()) - 1;
    const std::uint32_t reduced = c.reductions ? 1u << draw(domain.rank()) : 0;
    std::vector<std::vector<char>> leaves;
    std::vector<cpu::operand_view> in;
    for (std::size_t k = 0; k < types.size(); ++k) {
      std::uint32_t kept = draw(3) ? static_cast<std::uint32_t>(all) : static_cast<std::uint32_t>(draw(all + 1));
      bool drawn = false;
      for (int i = 0; i < Program::tape.size(); ++i)
        if (Program::tape[i].code == opcode::leaf && Program::tape[i].slot == static_cast<int>(k)) {
          if (kind_of(Program::tape[i]) == leaf_kind::row) kept &= ~reduced;
          drawn |= is_drawn(kind_of(Program::tape[i]));
        }
      const drawn_layout l = layout_over(domain, kept, false);
      leaves.push_back(memory(types[k], l.reserved, false));
      const void* const data = drawn ? reinterpret_cast<const void*>(static_cast<std::uintptr_t>(random_places))
                                     : static_cast<const void*>(leaves.back().data());
      in.push_back({data, l.strides, size_of(types[k])});
    }
    std::vector<std::vector<char>> out[2];
    std::vector<cpu::result_view> views;
    for (int r = 0; r < c.results; ++r) {
      const dtype type = Program::stores[static_cast<std::size_t>(r)];
      std::uint32_t kept = static_cast<std::uint32_t>(all);
      if (c.reduction_rooted) kept &= ~reduced;
      if (Gradient && draw(3) == 0) kept = static_cast<std::uint32_t>(draw(all + 1));  // an operand that was broadcast
      // Sums over an operand's axes go to dense memory.
      const drawn_layout l = layout_over(domain, kept, Gradient && kept != static_cast<std::uint32_t>(all));
      out[0].push_back(memory(type, l.reserved, false));
      const bool adds = Gradient && draw(2) == 0, asked = c.results == 1 || draw(4) != 0;
      views.push_back({asked && Program::tape.result(r) >= 0 ? out[0].back().data() : nullptr, l.strides, type, adds});
    }
    out[1] = out[0];
    // As many as the longest of the expressions has.
    const std::uint64_t scalars[] = {cpu::to_bits(0.75), cpu::to_bits(1.5),  cpu::to_bits(-0.25), cpu::to_bits(2.0),
                                     cpu::to_bits(0.5),  cpu::to_bits(-1.0), cpu::to_bits(3.0),   cpu::to_bits(0.125)};
    for (int k = 0; k < 2; ++k) {
      auto operands = in;
      auto results = views;
      for (std::size_t r = 0; r < results.size(); ++r)
        if (results[r].data) results[r].data = out[k][r].data();
      cpu::task job{.program = k ? &n : &c,
                    .domain = domain,
                    .reduced_axes = reduced,
                    .in = operands.data(),
                    .out = results.data(),
                    .scalars = scalars};
      c.reductions ? cpu::drivers::run_rows(job) : cpu::drivers::run_map(job);
    }
    for (std::size_t r = 0; r < out[0].size(); ++r)
      if (!same(Program::stores[r], out[0][r], out[1][r])) {
        FAIL_CHECK(what, ", domain ", message(domain), ", reduced ", reduced, ", result ", r, "\n",
                   listing(view(Program::tape), op_rules_table));
        return;
      }
  }
}

using F = Tensor<float>;
using D = Tensor<double>;
using H = Tensor<half>;
using I = Tensor<std::int32_t>;
using Q = Tensor<std::int8_t>;

// The values of an expression, and its gradients.
template <class E>
void check(const E&, const std::string& what) {
  const int threads = num_threads();
  set_num_threads(1);
  check_tasks<detail::value_program<E>>(what);
  if constexpr (is_floating(dtype_of<typename E::value_type>))
    check_tasks<detail::gradient_program<E>, true>(what + ", gradients");
  set_num_threads(threads);
}

}  // namespace

TEST_CASE("interpreter: maps and their gradients, in any layout") {
  const F a{1, 2}, b{1, 2}, c{1, 2};
  check(relu(a * b + c), "relu");
  check(gelu(a) * b, "gelu");
  check(where(a < b, tanh(a) * c, a - b * c), "where");
  check(cast<double>(a) * D{1, 2} + H{half(1.0f), half(2.0f)}, "mixed");
  check(H{half(1.0f), half(2.0f)} * H{half(1.0f), half(2.0f)} + 1, "half");
  check(I{1, 2} * I{1, 2} + 3, "int");
  check(Q{1, 2} + Q{1, 2} * Q{1, 2}, "int8");
}
TEST_CASE("interpreter: rows, kept values and their gradients") {
  const F a{1, 2}, b{1, 2}, c{1, 2};
  check(softmax(a * b, -1), "softmax");
  check(layer_norm(a), "layer norm");
  check(a - mean(a * b, -1, true), "centred");
  check(logsumexp(a, -1), "logsumexp");
  check(softmax(H{half(1.0f), half(2.0f)}, -1), "softmax of half");
}
TEST_CASE("interpreter: reductions, in the lanes and order of the compiled kernels") {
  const F a{1, 2}, b{1, 2}, c{1, 2};
  check(sum(a, -1), "sum");
  check(sum(a * b, -1), "sum of products");
  check(sum(a * D{1, 2}, -1), "sum in double");
  check(max(a, -1) + min(b, -1), "extremes");
  check(prod(a, -1), "product");
  check(var(a, -1), "variance");
  check(sum(I{1, 2}, -1), "sum of int");
  check(max(Q{1, 2}, -1), "max of int8");
  check(any(a < b, -1), "any");
  check(sum(exp(a) * tanh(b) + sin(c) * cos(a) - sqrt(abs(b)) + a / (c * c + 1), -1), "a long sum");
}
TEST_CASE("interpreter: random numbers within an expression") {
  check(where(bernoulli(F{1, 2}) == 1.0f, F{1, 2} * 2.0f, 0), "dropout");
}

TEST_CASE("interpreter: a tape that has more than kernels take, or that nobody computes, is refused") {
  program p;
  std::int16_t x = static_cast<std::int16_t>(p.push({.code = opcode::leaf, .slot = 0}));
  for (int i = 1; i < 70; ++i) {
    const auto y = static_cast<std::int16_t>(p.push({.code = opcode::leaf, .slot = static_cast<std::int16_t>(i)}));
    x = static_cast<std::int16_t>(p.push({.code = opcode_of("add"), .a = x, .b = y}));
  }
  const std::int16_t results[] = {x};
  const dtype stores[] = {dtype::float32};
  std::vector<instruction> code;
  for (int i = 0; i < p.size(); ++i) code.push_back(p[i]);
  CHECK_THROWS_WITH_AS(interpret({code.data(), p.size(), results, 1}, stores, false),
                       doctest::Contains("too many tensors"), value_error);
  const instruction whole[] = {{.code = opcode::leaf, .slot = 0}, {.code = opcode_of("gelu"), .a = 0}};
  const std::int16_t last[] = {1};
  CHECK_THROWS_WITH_AS(interpret({whole, 2, last, 1}, stores, false), doctest::Contains("gelu of float32"),
                       value_error);
}
