#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes derivatives.hpp beside it: every differentiable op at points over its domain, its value, first and second
partial derivatives, by mpmath (pip install mpmath). An op's formula stands here as a textbook has it."""
import pathlib
import textwrap

import mpmath as mp

mp.mp.dps = 900
inf = float("inf")
wide = [-17.3, -6.2, -2.6, -1.3, -0.7, -0.3, -1e-3, -1e-8, 1e-8, 1e-3, 0.3, 0.7, 1.3, 2.6, 6.2, 17.3]
far = wide + [-1e150, -1e-150, 1e-150, 1e150]
tails = wide + [0.0, -300, -40, -0.05, 0.05, 40, 300]
huge = [-1e200, -1e80, 1e80, 1e200]
above = [1e-300, 1e-150, 1e-8, 1e-3, 0.3, 0.7, 1.3, 2.6, 6.2, 17.3, 1e8, 1e150]
inside = [-0.999, -0.7, -0.3, -1e-8, 1e-8, 1e-3, 0.3, 0.7, 0.999]
edge = inside + [0.0, -1 + 1e-9, 1 - 1e-9]
zero = [0.0]
half = mp.mpf(1) / 2
root2 = mp.sqrt(2)
phi = lambda x: half * mp.erfc(-x / root2)
logistic = lambda x: 1 / (1 + mp.exp(-x))
cut = lambda x, low, high: max(low, min(x, high))
selu_a, selu_s = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")

unary = {
    "clone": (lambda x: x, far), "stop_gradient": (None, wide), "floor": (mp.floor, wide), "ceil": (mp.ceil, wide),
    "round": (mp.nint, wide), "trunc": (lambda x: mp.floor(abs(x)) * mp.sign(x), wide), "sign": (mp.sign, far),
    "root": (mp.sqrt, above),
    "neg": (lambda x: -x, far), "square": (lambda x: x * x, far + zero), "sqrt": (mp.sqrt, above),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), above), "reciprocal": (lambda x: 1 / x, far),
    "abs": (abs, far), "exp": (mp.exp, wide + zero + [-700, 700]), "exp2": (lambda x: mp.mpf(2) ** x, wide + zero),
    "expm1": (mp.expm1, tails), "sigmoid": (logistic, tails + [-700, 700]),
    "log": (mp.log, above), "log2": (lambda x: mp.log(x) / mp.log(2), above),
    "log10": (lambda x: mp.log(x) / mp.log(10), above), "log1p": (mp.log1p, edge + above),
    "sin": (mp.sin, wide + zero), "cos": (mp.cos, wide + zero), "tan": (mp.tan, wide + zero),
    "asin": (mp.asin, edge), "acos": (mp.acos, edge), "atan": (mp.atan, tails + huge),
    "sinh": (mp.sinh, wide + zero), "cosh": (mp.cosh, wide + zero), "tanh": (mp.tanh, tails),
    "asinh": (mp.asinh, tails + huge), "acosh": (mp.acosh, [1 + 1e-9, 1.001, 1.3, 2.6, 17.3, 1e8, 1e80, 1e200]),
    "atanh": (mp.atanh, edge), "erf": (mp.erf, tails), "erfc": (mp.erfc, tails + [25.0]),
    "gaussian": (lambda x: mp.exp(-x * x / 2), tails + [-30, 30]), "ndtr": (phi, tails + [-30, 30]),
    "lgamma": (lambda x: mp.re(mp.loggamma(x)), [1e-8, 0.3, 0.7, 1.3, 2.6, 17.3, 1e8]),
    "digamma": (mp.digamma, [1e-8, 0.3, 0.7, 1.3, 2.6, 17.3, 1e8, -0.3, -1.3, -6.2]),
    "relu": (lambda x: max(x, 0), far), "silu": (lambda x: x * logistic(x), tails + [-700, 700]),
    "gelu": (lambda x: x * phi(x), tails + [-30, 30]),
    "gelu_tanh": (lambda x: x * logistic(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x ** 3)),
                  tails + [-9.3, -19.5, 9.3]),
    "mish": (lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), tails + [-700, 700]),
    "softsign": (lambda x: x / (1 + abs(x)), wide + huge), "logsigmoid": (lambda x: mp.log(logistic(x)), tails + [-700, 700]),
    "tanhshrink": (lambda x: x - mp.tanh(x), wide + [-40, 40, 300, -0.45, 0.05, 0.09, 0.12, 0.2]), "relu6": (lambda x: cut(x, 0, 6), wide),
    "hardsigmoid": (lambda x: cut(x + 3, 0, 6) / 6, wide), "hardswish": (lambda x: x * cut(x + 3, 0, 6) / 6, wide),
    "selu": (lambda x: selu_s * (x if x > 0 else selu_a * mp.expm1(x)), wide + [-300, -40]),
}
numbers = {  # with numbers beside the operand
    "leaky_relu": (lambda x, p: x if x > 0 else p * x, wide, (0.25,)),
    "elu": (lambda x, p: x if x > 0 else p * mp.expm1(x), wide + [-300, -40], (1.5,)),
    "celu": (lambda x, p: x if x > 0 else p * mp.expm1(x / p), wide + [-300, -40], (1.5,)),
    "softshrink": (lambda x, p: x - p if x > p else x + p if x < -p else mp.mpf(0), wide, (0.5,)),
    "hardshrink": (lambda x, p: x if abs(x) > p else mp.mpf(0), wide, (0.5,)),
    "softplus": (lambda x, p, q: x if x * p > q else mp.log1p(mp.exp(x * p)) / p, tails, (1.5, 40.0)),
    "hardtanh": (lambda x, p, q: cut(x, p, q), wide, (-1.0, 2.0)),
    "threshold": (lambda x, p, q: x if x > p else mp.mpf(q), wide, (0.5, 7.0)),
    "clamp": (lambda x, p, q: cut(x, p, q), wide, (-1.0, 2.0)),
}
pairs = [(0.3, 0.7), (1.3, 2.6), (-1.3, 2.6), (-0.3, -6.2), (17.3, 0.7), (1e-8, 1.3), (2.6, -0.7), (1e100, 1e-100)]
points = pairs + [(0.7, -17.3), (-17.3, 1e-5), (1e-5, 17.3), (1e-100, 1e100), (1e200, -1e200), (-1e-140, 1e-140)]
positive = [(0.3, 0.7), (1.3, 2.6), (17.3, -0.7), (1e-8, 1.3), (2.6, -6.2), (6.2, 17.3)]
floor_mod = lambda a, b: a - mp.floor(a / b) * b
trunc_mod = lambda a, b: a - (mp.floor(abs(a / b)) * mp.sign(a / b)) * b
binary = {
    "add": (lambda a, b: a + b, pairs), "sub": (lambda a, b: a - b, pairs), "mul": (lambda a, b: a * b, pairs),
    "div": (lambda a, b: a / b, pairs), "pow": (lambda a, b: a ** b, positive),
    "hypot": (lambda a, b: mp.sqrt(a * a + b * b), points), "atan2": (lambda a, b: mp.atan2(a, b), points),
    "fmod": (trunc_mod, pairs[:7]), "remainder": (floor_mod, pairs[:7]),
    "minimum": (lambda a, b: min(a, b), pairs), "maximum": (lambda a, b: max(a, b), pairs),
    "polygamma": (lambda n, x: mp.psi(int(n), x),
                  [(n, x) for n in (0.0, 1.0, 2.0, 5.0) for x in (1e-8, 0.3, 2.6, 17.3, -1.3)] + [(1.0, 1e8)]),
}
still = {"polygamma": (0,), "where": (0,)}  # operands without a gradient
ternary = {"where": (lambda c, a, b: a if c else b, [(1.0, 2.0, 3.0), (0.0, 2.0, 3.0), (-0.5, 1e150, -1.0)]),
           "lerp": (lambda a, b, w: a + w * (b - a), [(0.3, 0.7, 0.25), (-1.3, 2.6, 0.999), (17.3, 1e-8, 0.0), (1.0, 3.0, 1.5)])}
n = [0.7, -1.3, 2.6, 0.3]  # a row
apart = [1000.7, 998.7, 1002.6, 1000.3]
weights = [mp.mpf(w) for w in (0.3, -0.8, 1.1, 0.5)]
exps = lambda x: sum(mp.exp(v) for v in x)
mean = lambda x: sum(x) / len(x)
weighted = lambda x: sum(w * v for w, v in zip(weights, x))
squares = lambda x: sum((v - mean(x)) ** 2 for v in x)
rows = {  # sums of what comes out, each with its weight; with the numbers beside the row
    "sum": (lambda *x: sum(x), [n]),
    "prod": (lambda *x: x[0] * x[1] * x[2] * x[3], [n, [0.0, 2.0, 3.0, -0.5], [0.0, 0.0, 3.0, -0.5], [0.0, 0.0, 0.0, -0.5]]),
    "max": (lambda *x: max(x), [n]), "min": (lambda *x: min(x), [n]),
    "logsumexp": (lambda *x: mp.log(exps(x)), [n, [700.0, 710.0, -5.0, 705.0], [0.0, 40.0, -40.0, 1.0]]),
    "softmax": (lambda *x: weighted([mp.exp(v) for v in x]) / exps(x), [n, [700.0, 700.5, 699.0, 701.0], [0.0, 40.0, -40.0, 1.0]]),
    "log_softmax": (lambda *x: weighted([v - mp.log(exps(x)) for v in x]),
                    [n, [700.0, 700.5, 699.0, 701.0], [0.0, 40.0, -40.0, 1.0]]),
    "squared_deviation": (lambda *x: squares(x), [n, apart], (4.0,)),
    "standard_deviation": (lambda *x: mp.sqrt(squares(x) / 3), [n, apart, [v * 1e200 for v in n]], (4.0, 3.0)),
    "layer_norm": (lambda *x: weighted([v - mean(x) for v in x]) / mp.sqrt(squares(x) / 4 + mp.mpf(1e-5)),
                   [n, apart, [1e-3, 2e-3, -1e-3, 5e-4]], (4.0, 1e-5)),
    "rms_norm": (lambda *x: weighted(x) / mp.sqrt(sum(v * v for v in x) / 4 + mp.mpf(1e-6)),
                 [n, apart, [1e-3, 2e-3, -1e-3, 5e-4]], (4.0, 1e-6)),
}


def number(x):
    x = float(x)
    return "HUGE_VAL" if x == inf else "-HUGE_VAL" if x == -inf else repr(x) if x else "0.0"


def derivative(f, at, *which):
    """By the operands of these numbers, one after the other: central differences with steps of 1e-70, of 900 digits."""
    if not which:
        return f(*at)
    k, *rest = which
    h = (abs(at[k]) or 1) * mp.mpf(10) ** -70
    moved = lambda d: at[:k] + (at[k] + d,) + at[k + 1:]
    above, below = derivative(f, moved(h), *rest), derivative(f, moved(-h), *rest)
    noise = max(abs(above), abs(below)) * mp.mpf(10) ** (-890 if not rest else -520)
    return (above - below) / (2 * h) if abs(above - below) > noise else mp.mpf(0)


def derivatives(f, at, moving):
    """The value, the gradient, and the gradient of the sum of the gradient's elements, each with its weight."""
    exact = tuple(mp.mpf(x) for x in at)
    none = mp.mpf(0)
    values = [f(*exact)] + [derivative(f, exact, i) if on else none for i, on in enumerate(moving)]
    for i, on in enumerate(moving):
        values.append(sum(weights[j] * derivative(f, exact, i, j) for j, too in enumerate(moving) if on and too) + none)
    return values


def line(f, at, moving):
    values = [number(x) for x in ([mp.mpf(at[0]), 0, 0] if f is None else derivatives(f, at, moving))]
    text = "{" + ", ".join([number(x) for x in at] + values) + "}"
    return textwrap.fill(text, 100, subsequent_indent=9 * " ", break_long_words=False, break_on_hyphens=False)


def write():
    out = ["// SPDX-License-Identifier: BSL-1.0",
           "// Ops, their derivatives and second derivatives by mpmath, rounded: made by derivatives.py. A line is the",
           "// operands, the value, the gradient by each, and the gradient of the gradient's sum with weights.",
           "#pragma once", "", "// clang-format off", "#include <cmath>", "#include <vector>", "", "namespace stored {", "", "struct op_values {",
           "  const char* name;", "  int operands, numbers;", "  bool row;", "  std::vector<std::vector<double>> lines;", "};",
           "inline constexpr double weights[] = {" + ", ".join(number(w) for w in weights) + "};", "",
           "inline const std::vector<op_values>& derivatives() {", "  static const std::vector<op_values> all{"]

    def entry(name, f, points, operands, given=0, row=False):
        out.append(f'      {{"{name}", {operands}, {given}, {str(row).lower()},')
        moving = [i not in still.get(name, ()) for i in range(operands)]
        out.append("       {" + ",\n        ".join(line(f, p, moving) for p in points) + "}},")

    for name, (f, points) in unary.items():
        entry(name, f, [(x,) for x in points], 1)
    for name, (f, points, given) in numbers.items():
        entry(name, f, [(x, *given) for x in points], 1, len(given))
    for name, (f, points) in binary.items():
        entry(name, f, points, 2)
    for name, (f, points) in ternary.items():
        entry(name, f, points, 3)
    for name, (f, points, *given) in rows.items():
        given = given[0] if given else ()
        of_row = lambda *x, f=f: f(*x[:4])
        entry(name, of_row, [(*p, *given) for p in points], 4, len(given), True)
    out += ["  };", "  return all;", "}", "", "}  // namespace stored", "// clang-format on", ""]
    (pathlib.Path(__file__).parent / "derivatives.hpp").write_text("\n".join(out))


if __name__ == "__main__":
    write()
