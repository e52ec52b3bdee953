// SPDX-License-Identifier: BSL-1.0
// Drawn programs with views of views, writes in place through and under them, masks, several losses and assignments of
// several results at once, of few elements and of many, tensors that occur up to five times in one expression: values,
// first and second derivatives against tests/support/plain_program.hpp. KILN_FUZZ sets how many; the number of the
// first wrong one is printed. tools/torch_oracle.py runs the same programs with PyTorch. KILN_FUZZ_BITS names a file
// for the bits of all results, which tests/compiled/modes.cmake compares between the ways of building.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <kiln/autograd/create_graph.hpp>
#include <kiln/kiln.hpp>
#include <support/plain_program.hpp>

using namespace kiln;
using test::plain_tensor;
using test::second_order;

namespace {

using Doubles = Tensor<double>;

// Numbers that are the same everywhere.
struct numbers {
  std::uint64_t state;
  std::size_t below(std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  }
  double real() { return static_cast<double>(below(4001)) / 1000 - 2; }
};

struct variable {
  Doubles x;
  plain_tensor plain;
  bool writable = true;
};

// A program while it is drawn: what kiln made, what the oracle says, and the same in PyTorch's words.
struct drawn_program {
  numbers d;
  std::vector<variable> all;
  std::ostringstream text;

  explicit drawn_program(std::uint64_t seed) : d{seed * 1000003u + 17} { d.below(2); }

  variable& any() { return all[d.below(all.size())]; }
  std::string name(const variable& v) const { return message("v", static_cast<int>(&v - all.data())); }
  variable* alike(const variable& to) {
    std::vector<variable*> fit;
    for (variable& v : all)
      if (v.plain.like(to.plain)) fit.push_back(&v);
    return fit.empty() ? nullptr : fit[d.below(fit.size())];
  }
  variable* writable_one() {
    std::vector<variable*> fit;
    for (variable& v : all)
      if (v.writable) fit.push_back(&v);
    return fit.empty() ? nullptr : fit[d.below(fit.size())];
  }
  void add(Doubles x, plain_tensor plain, bool writable, const std::string& words) {
    text << "v" << all.size() << " = " << words << "\n";
    all.push_back({std::move(x), std::move(plain), writable});
  }

  // A tensor of drawn elements, and the words for PyTorch's; with a history if `learned`, else to be written into.
  void drawn(std::size_t rows, std::size_t columns, bool learned) {
    plain_tensor p(rows, columns);
    Doubles x = zeros<double>({rows, columns});
    std::string list;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double value = d.real();
      p.at(i) = {value, 0, 0, 0};
      x.data()[i] = value;
      list += message(i ? ", " : "", value);
    }
    if (learned) x.requires_grad();
    text << "v" << all.size() << " = torch.tensor([" << list << "], dtype=torch.float64).reshape(" << rows << ", "
         << columns << ")" << (learned ? ".requires_grad_()" : "") << "\n";
    all.push_back({x, p, !learned});
  }

  // Few elements, a vector or two of them, and many.
  void leaf() {
    static constexpr std::size_t sizes[][2] = {{2, 2}, {2, 3}, {3, 2},  {3, 3}, {1, 3},  {2, 2},   {3, 3},
                                               {4, 4}, {4, 4}, {2, 20}, {8, 5}, {40, 1}, {20, 50}, {2, 500}};
    const auto& size = sizes[d.below(std::size(sizes))];
    drawn(size[0], size[1], true);
  }

  // A tensor without a history, until something writes one into it.
  void constant(const variable& like) { drawn(like.plain.rows, like.plain.columns, false); }

  // Several results: two tensors without a history, or views of them, overwritten at once, each from the old values of
  // both and of whatever else is there.
  void assign_two() {
    std::vector<variable*> fit;
    for (variable& v : all)
      if (v.writable && !v.x.needs_grad()) fit.push_back(&v);
    if (fit.empty()) return;
    variable &a = *fit[d.below(fit.size())], &b = *fit[d.below(fit.size())];
    if (a.plain.memory == b.plain.memory) return;
    const variable third = *alike(a);
    auto still = [](const second_order& x) { return second_order{x.value, 0, 0, 0}; };
    const plain_tensor pa = a.plain.made([&](std::size_t i) { return still(a.plain.at(i)); }),
                       pb = b.plain.made([&](std::size_t i) { return still(b.plain.at(i)); }),
                       pc = a.plain.made([&](std::size_t i) { return still(third.plain.at(i)); });
    const std::string m = name_of(a), v = name_of(b), t = name_of(third);
    const Doubles c = third.x.detach();
    if (d.below(3) == 0 && pa.like(pb)) {
      assign(std::tie(a.x, b.x), b.x, a.x);
      a.plain.write(pb), b.plain.write(pa);
      text << "k = " << m << ".clone(), " << v << ".clone()\n" << m << ".copy_(k[1])\n" << v << ".copy_(k[0])\n";
    } else if (pa.like(pb)) {
      assign(std::tie(a.x, b.x), a.x * 0.75 + 0.25 * c, b.x * 0.5 + a.x * c);
      b.plain.write(pb.made([&](std::size_t i) { return 0.5 * pb.at(i) + pa.at(i) * pc.at(i); }));
      a.plain.write(pa.made([&](std::size_t i) { return 0.75 * pa.at(i) + 0.25 * pc.at(i); }));
      text << "k = (" << m << " * 0.75 + 0.25 * " << t << ").detach(), (" << v << " * 0.5 + " << m << " * " << t
           << ").detach()\n"
           << m << ".copy_(k[0])\n"
           << v << ".copy_(k[1])\n";
    } else {  // of two shapes: kernels of their own, and one that reduces
      second_order total;
      for (std::size_t i = 0; i < pa.size(); ++i) total = total + pa.at(i);
      assign(std::tie(a.x, b.x), tanh(a.x), b.x * 0.5 + sum(a.x) * 0.125);
      a.plain.write(pa.made([&](std::size_t i) { return tanh(pa.at(i)); }));
      b.plain.write(pb.made([&](std::size_t i) { return 0.5 * pb.at(i) + 0.125 * total; }));
      text << "k = torch.tanh(" << m << "), " << v << " * 0.5 + " << m << ".sum() * 0.125\n"
           << m << ".copy_(k[0])\n"
           << v << ".copy_(k[1])\n";
    }
  }

  // A new tensor.
  void compute() {
    const variable a = any();
    const std::string n = name_of(a);
    const plain_tensor& p = a.plain;
    switch (d.below(12)) {
      case 0:
        return add(sin(a.x) * a.x, p.made([&](std::size_t i) { return sin(p.at(i)) * p.at(i); }), true,
                   "torch.sin(" + n + ") * " + n);
      case 1:
        return add(tanh(a.x) + 0.5, p.made([&](std::size_t i) {
          return tanh(p.at(i)) + second_order{0.5, 0, 0, 0};
        }),
                   true, "torch.tanh(" + n + ") + 0.5");
      case 2:
        return add(exp(tanh(a.x)), p.made([&](std::size_t i) { return exp(tanh(p.at(i))); }), true,
                   "torch.exp(torch.tanh(" + n + "))");
      case 3:
        return add(a.x * 0.5, p.made([&](std::size_t i) { return 0.5 * p.at(i); }), true, n + " * 0.5");
      case 4: {
        const variable b = *alike(a);
        return add(tanh(a.x) * b.x, p.made([&](std::size_t i) { return tanh(p.at(i)) * b.plain.at(i); }), true,
                   "torch.tanh(" + n + ") * " + name_of(b));
      }
      case 5: {
        const variable b = *alike(a);
        return add(a.x / (b.x * b.x + 1), p.made([&](std::size_t i) {
          return p.at(i) * reciprocal(b.plain.at(i) * b.plain.at(i) + second_order{1, 0, 0, 0});
        }),
                   true, n + " / (" + name_of(b) + " * " + name_of(b) + " + 1)");
      }
      case 6:  // one value per row, and back to its elements
        return add(a.x - mean(a.x * a.x, -1, true), p.made([&](std::size_t i) {
          const std::size_t row = i / p.columns;
          second_order sum;
          for (std::size_t c = 0; c < p.columns; ++c) sum = sum + p.at(row, c) * p.at(row, c);
          return p.at(i) - (1.0 / static_cast<double>(p.columns)) * sum;
        }),
                   true, n + " - (" + n + " * " + n + ").mean(-1, True)");
      case 7:
        return add(exp(sin(a.x + a.x)), p.made([&](std::size_t i) { return exp(sin(p.at(i) + p.at(i))); }), true,
                   "torch.exp(torch.sin(" + n + " + " + n + "))");
      case 8:
        return add(tanh(a.x + a.x + a.x), p.made([&](std::size_t i) { return tanh(p.at(i) + p.at(i) + p.at(i)); }),
                   true, "torch.tanh(" + n + " + " + n + " + " + n + ")");
      case 9:
        return add(tanh(a.x + a.x) * (a.x + a.x),
                   p.made([&](std::size_t i) { return tanh(p.at(i) + p.at(i)) * (p.at(i) + p.at(i)); }), true,
                   "torch.tanh(" + n + " + " + n + ") * (" + n + " + " + n + ")");
      case 10: {
        const variable b = *alike(a);
        const std::string m = name_of(b);
        return add(sin(a.x + b.x + a.x + a.x + b.x + a.x + a.x), p.made([&](std::size_t i) {
          return sin(p.at(i) + b.plain.at(i) + p.at(i) + p.at(i) + b.plain.at(i) + p.at(i) + p.at(i));
        }),
                   true, "torch.sin(5 * " + n + " + 2 * " + m + ")");
      }
      default: {
        if (p.flat || p.rows > 20) return;
        plain_tensor product(p.rows, p.rows);
        for (std::size_t i = 0; i < p.rows; ++i)
          for (std::size_t j = 0; j < p.rows; ++j)
            for (std::size_t k = 0; k < p.columns; ++k)
              product.at(i, j) = product.at(i, j) + 0.25 * (p.at(i, k) * p.at(j, k));
        return add(matmul(a.x, transpose(a.x)) * 0.25, product, true, n + " @ " + n + ".t() * 0.25");
      }
    }
  }

  // A view, often of a view.
  void look() {
    const variable a = any();
    const std::string n = name_of(a);
    const plain_tensor& p = a.plain;
    if (p.flat) {
      if (p.size() < 2) return;
      plain_tensor part = p.seen(1, p.size() - 1, [](std::size_t, std::size_t j) { return j + 1; });
      part.flat = true;
      return add(a.x.slice(0, 1), part, a.writable, n + "[1:]");
    }
    switch (d.below(4)) {
      case 0:
        return add(transpose(a.x),
                   p.seen(p.columns, p.rows, [&](std::size_t i, std::size_t j) { return j * p.columns + i; }),
                   a.writable, n + ".t()");
      case 1: {
        const std::size_t row = d.below(p.rows);
        plain_tensor one = p.seen(1, p.columns, [&](std::size_t, std::size_t j) { return row * p.columns + j; });
        one.flat = true;
        return add(a.x[row], one, a.writable, n + "[" + std::to_string(row) + "]");
      }
      case 2:
        if (p.columns < 2) return;
        return add(a.x[{slice(), slice(1)}],
                   p.seen(p.rows, p.columns - 1, [&](std::size_t i, std::size_t j) { return i * p.columns + j + 1; }),
                   a.writable, n + "[:, 1:]");
      default:
        return add(
            a.x[{slice(0, to_end, 2)}],
            p.seen((p.rows + 1) / 2, p.columns, [&](std::size_t i, std::size_t j) { return 2 * i * p.columns + j; }),
            a.writable, n + "[::2]");
    }
  }

  // A write in place, into whatever else looks there.
  void write() {
    variable* const to = writable_one();
    if (!to) return;
    plain_tensor& p = to->plain;
    const variable b = *alike(*to);
    const std::string n = name_of(*to), m = name_of(b);
    switch (d.below(6)) {
      case 0: {
        const plain_tensor sum = p.made([&](std::size_t i) { return p.at(i) + b.plain.at(i); });
        to->x += b.x;
        p.write(sum);
        text << n << " += " << m << "\n";
        return;
      }
      case 1: {
        const plain_tensor values = p.made([&](std::size_t i) { return tanh(b.plain.at(i)); });
        to->x.copy_(tanh(b.x));
        p.write(values);
        text << n << ".copy_(torch.tanh(" << m << "))\n";
        return;
      }
      case 2:
        to->x *= 0.75;
        p.write(p.made([&](std::size_t i) { return 0.75 * p.at(i); }));
        text << n << " *= 0.75\n";
        return;
      case 3: {
        plain_tensor values = p;
        values = p.made([&](std::size_t i) { return p.at(i).value > 0.25 ? second_order{0.25, 0, 0, 0} : p.at(i); });
        to->x[to->x > 0.25] = 0.25;
        p.write(values);
        text << n << "[" << n << " > 0.25] = 0.25\n";
        return;
      }
      case 4: {  // the elements of another tensor where this one's are small
        const plain_tensor values =
            p.made([&](std::size_t i) { return std::abs(p.at(i).value) < 0.5 ? 2.0 * b.plain.at(i) : p.at(i); });
        const Tensor<bool> mask = (abs(to->x) < 0.5).eval();
        const Doubles chosen = b.x[mask] * 2;
        to->x[mask] = chosen;
        p.write(values);
        text << "k = " << n << ".abs() < 0.5\n" << n << "[k] = " << m << "[k] * 2\n";
        return;
      }
      default: {
        if (p.flat) return;
        const std::size_t row = d.below(p.rows);
        for (std::size_t c = 0; c < p.columns; ++c) p.at(row, c) = 0.5 * p.at(row, c);
        to->x[row] *= 0.5;
        text << n << "[" << row << "] *= 0.5\n";
      }
    }
  }

  std::string name_of(const variable& v) const {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].x.state() == v.x.state()) return "v" + std::to_string(i);
    return "?";
  }
};

bool close(double got, double want) {
  return std::abs(got - want) <= 1e-9 * (1 + std::abs(want));
}
double weight(std::size_t i) {
  return 0.3 + 0.7 * std::sin(1.0 + 2.0 * static_cast<double>(i));
}
Doubles weights(const Doubles& like, std::size_t first) {
  Doubles w = zeros<double>(like.sizes());
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.numel()); ++i) w.data()[i] = weight(first + i);
  return w;
}
// The sum of all elements of several tensors, each with its weight.
Doubles weighted(const std::vector<Doubles>& x) {
  Doubles total = zeros<double>({});
  std::size_t first = 0;
  for (const Doubles& one : x) {
    total = total + sum(one * weights(one, first));
    first += 7;
  }
  return total;
}

enum class outcome { right, refused, wrong };

// What all bits of some tensors come to.
struct digest {
  std::uint64_t hash = 14695981039346656037u;
  void take(const Doubles& x) {
    const Doubles dense = x.detach().contiguous();
    for (std::int64_t i = 0; i < dense.numel(); ++i) {
      const double value = std::isnan(dense.data()[i]) ? 0.5 : dense.data()[i];  // any nan for any other
      hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211u;
    }
  }
};

// Runs program number `k`; `file` receives it in PyTorch's words, with kiln's numbers.
outcome run(std::uint64_t k, std::ostream* file, digest& bits) {
  drawn_program p(k);
  p.leaf(), p.leaf();
  const std::size_t leaves = p.all.size();
  p.constant(p.all[0]), p.constant(p.all[1]), p.constant(p.all[0]);
  std::size_t direction = 0;
  for (std::size_t v = 0; v < leaves; ++v)
    for (std::size_t i = 0; i < p.all[v].plain.size(); ++i, ++direction)
      p.all[v].plain.at(i).s = weight(direction), p.all[v].plain.at(i).t = weight(direction + 50);
  try {
    for (std::size_t steps = 4 + p.d.below(10); steps > 0; --steps) {
      const std::size_t kind = p.d.below(6);
      kind < 2 ? p.compute() : kind < 3 ? p.look() : kind < 5 ? p.write() : p.assign_two();
    }
    std::vector<Doubles> results;
    second_order want;
    std::size_t first = 0;
    for (std::size_t v = p.all.size() - std::min<std::size_t>(p.all.size() - leaves, 4); v < p.all.size(); ++v) {
      results.push_back(p.all[v].x);
      bits.take(p.all[v].x);
      for (std::size_t i = 0; i < p.all[v].plain.size(); ++i) want = want + weight(first + i) * p.all[v].plain.at(i);
      first += 7;
    }
    if (results.empty()) return outcome::right;
    const Doubles loss = weighted(results);
    if (!close(loss.item(), want.value)) return outcome::wrong;
    if (!loss.needs_grad()) return want.s == 0 ? outcome::right : outcome::wrong;
    std::vector<Doubles> inputs;
    for (std::size_t v = 0; v < leaves; ++v) inputs.push_back(p.all[v].x);
    double alone = 0;  // the pass that records nothing
    direction = 0;
    for (const Doubles& slope : grad(loss, inputs, {.retain_graph = true, .allow_unused = true})) {
      bits.take(slope);
      alone += sum(slope * weights(slope, direction)).item();
      direction += static_cast<std::size_t>(slope.numel());
    }
    if (!close(alone, want.s)) return outcome::wrong;
    const auto slopes = grad(loss, inputs, {.create_graph = true, .allow_unused = true});
    Doubles along = zeros<double>({});
    direction = 0;
    for (std::size_t v = 0; v < leaves; ++v) {
      bits.take(slopes[v]);
      along = along + sum(slopes[v] * weights(slopes[v], direction));
      direction += p.all[v].plain.size();
    }
    if (!close(along.item(), want.s)) return outcome::wrong;
    double across = 0;
    if (along.needs_grad()) {
      const auto second = grad(along, inputs, {.allow_unused = true});
      direction = 50;
      for (std::size_t v = 0; v < leaves; ++v) {
        bits.take(second[v]);
        across += sum(second[v] * weights(second[v], direction)).item();
        direction += p.all[v].plain.size();
      }
    }
    if (file) {
      file->precision(17);
      *file << p.text.str() << "results " << leaves << " " << p.all.size() << " " << results.size() << "\n"
            << "values " << loss.item() << " " << along.item() << " " << across << "\nend\n";
    }
    return close(across, want.st) ? outcome::right : outcome::wrong;
  } catch (const graph_error& e) {
    // As in PyTorch, a pass refuses where a value that it needs was overwritten.
    if (std::string(e.what()).find("changed in place") == std::string::npos) throw;
    return outcome::refused;
  }
}

}  // namespace

TEST_CASE("fuzz: drawn programs with views, writes in place and second derivatives; KILN_FUZZ sets how many") {
  const char *const asked = std::getenv("KILN_FUZZ"), *const path = std::getenv("KILN_FUZZ_PROGRAMS");
  const std::uint64_t programs = asked ? std::strtoull(asked, nullptr, 10) : 500;
  const char* const bits_path = std::getenv("KILN_FUZZ_BITS");
  std::ofstream file, bits_file;
  if (path) file.open(path);
  if (bits_path) bits_file.open(bits_path);
  std::uint64_t refused = 0, wrong = 0;
  for (std::uint64_t k = 0; k < programs; ++k) {
    digest bits;
    const outcome o = run(k, path ? &file : nullptr, bits);
    if (bits_path) bits_file << k << " " << static_cast<int>(o) << " " << bits.hash << "\n";
    refused += o == outcome::refused;
    wrong += o == outcome::wrong;
    CHECK_MESSAGE(o != outcome::wrong, "program ", k);
    if (wrong == 10) break;
  }
  MESSAGE(programs, " programs, ", refused, " refused");
  CHECK(refused * 2 < programs);  // else nothing much is tested
}
