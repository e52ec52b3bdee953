#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes derivatives_at_edges.hpp beside it: ops at infinities, nans, zeros and 1e300, with first and second derivatives,
as PyTorch 2.15 computes them in double (pip install torch). Where PyTorch's are not what they should be, `others` says
what is, and why."""
import pathlib
import textwrap

import torch as t
import torch.nn.functional as F

inf, nan = float("inf"), float("nan")
line = [-inf, -1e300, -0.0, 0.0, 1e300, inf, nan]
unary = {name: (getattr(t, name), ()) for name in (
    "neg square sqrt rsqrt reciprocal abs floor ceil round trunc sign exp exp2 expm1 sigmoid log log2 log10 log1p sin cos "
    "tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc lgamma digamma relu clone").split()}
unary |= {name: (getattr(F, name), ()) for name in
          "silu gelu mish softsign logsigmoid tanhshrink relu6 hardsigmoid hardswish selu".split()}
unary |= {"gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), ()), "stop_gradient": (t.detach, ()),
          "root": (lambda x: t.sqrt(x), ()), "ndtr": (t.special.ndtr, ()),
          "gaussian": (lambda x: t.exp(-x * x / 2), ()), "leaky_relu": (F.leaky_relu, (0.25,)), "elu": (F.elu, (1.5,)),
          "celu": (F.celu, (1.5,)), "softshrink": (F.softshrink, (0.5,)), "hardshrink": (F.hardshrink, (0.5,)),
          "softplus": (F.softplus, (1.5, 20.0)), "hardtanh": (F.hardtanh, (-1.0, 2.0)),
          "threshold": (F.threshold, (0.5, 7.0)), "clamp": (t.clamp, (-1.0, 2.0))}
binary = {name: getattr(t, name) for name in "add sub mul div pow hypot atan2 fmod remainder minimum maximum".split()}
ternary = {"where": (lambda c, a, b: t.where(c != 0, a, b),
                     [(1, inf, 2), (1, nan, 2), (0, inf, 2), (0, 2, nan), (nan, 2, 3), (inf, 2, 3)]),
           "lerp": (t.lerp, [(inf, 1, 0.5), (1, inf, 0.25), (nan, 1, 0.5), (1, 2, nan), (1, 2, inf)])}
rows = {name: (getattr(t.Tensor, {"max": "amax", "min": "amin"}.get(name, name)), ()) for name in
        "sum prod max min logsumexp softmax log_softmax".split()}
rows |= {"layer_norm": (lambda x, _: F.layer_norm(x, (4,)), (4.0, 1e-5)),
         "rms_norm": (lambda x, _: F.rms_norm(x, (4,), eps=1e-6), (4.0, 1e-6))}
row_points = [[inf, 1, 2, 3], [-inf, 1, 2, 3], [nan, 1, 2, 3], [-inf] * 4, [inf, inf, 1, 2], [inf, -inf, 1, 2], [0] * 4,
              [0, inf, 1, 2], [0, nan, 1, 2], [0, 0, inf, 2], [0, 0, 0, 2], [1, 1, 0, 2]]
weights = t.tensor([0.3, -0.8, 1.1, 0.5], dtype=t.float64)


def others(name, at, found):
    """What is right where PyTorch's value, first or second derivatives are not; `found` is changed."""
    x, (value, first, second) = at[0], found
    far = abs(x) >= 1e300
    # Limits, of which PyTorch makes 0 * inf or inf - inf.
    if far and name in ("atan", "asinh", "softsign", "gelu_tanh", "mish") or name == "gelu" and abs(x) == 1e300 or \
            x == inf and name in ("acosh", "digamma"):
        second[0] = 0.0
    if far and name in ("gaussian", "ndtr"):
        first[0] = second[0] = 0.0
    if far and name in ("gelu_tanh", "mish", "softsign"):
        first[0] = float(x > 0 and name != "softsign")
    if name == "hypot" and sum(abs(v) == inf for v in at) == 1 and not any(v != v for v in at):
        first[:] = [(v > 0) - (v < 0.0) if abs(v) == inf else 0.0 for v in at]
        second[:] = [0.0, 0.0]
    if name == "pow" and at[0] == 0:
        second[:] = {0: [0.0, 0.0], 1.5: [inf, 0.0], inf: [nan, 0.0]}.get(at[1], second)
    if name == "pow" and at == (inf, 0):
        second[:] = [0.0, -inf]
    if name in ("asinh", "acosh") and abs(x) == 1e300:
        first[0] = 1e-300 if x > 0 or name == "asinh" else first[0]  # PyTorch squares it
    if name == "hardsigmoid" and x == 0:
        first[0] = 1 / 6  # PyTorch's was rounded to float
    # No derivative where there is no value; PyTorch's formula goes on.
    if (name, x) in (("acosh", -inf), ("acosh", -1e300), ("digamma", -inf)):
        first[0] = second[0] = nan
    if name in ("sign", "abs") and x != x:
        value[0], first[0] = nan, 0.0 if name == "sign" else nan
    # By convention: the side of the exponential, at the kink of the derivative; 0 at the origin and where nothing is.
    if x == 0 and name in ("elu", "celu", "selu"):
        second[0] = 0.3 * {"elu": 1.5, "celu": 1 / 1.5, "selu": 1.7580993408473768599}[name]
    if name == "atan2" and at == (0, 0):
        second[:] = [0.0, 0.0]
    if name == "root" and x == 0:
        first[0] = second[0] = 0.0
    if name == "logsumexp" and at[0] == at[1] == -inf:
        first[:] = [0.0] * 4
    # Second derivatives of products with infinite elements: some of them would be finite.
    if name == "prod" and inf in map(abs, at):
        second[:] = second if sum(abs(v) == inf for v in at) == 2 else [nan] * 4


def derivatives(f, at, given, row):
    x = [t.tensor(at, dtype=t.float64, requires_grad=True)] if row else \
        [t.tensor(v, dtype=t.float64, requires_grad=True) for v in at]
    y = f(x[0], -1) if row else f(*x, *given)
    total = y.sum() if y.numel() == 1 else (y * weights).sum()
    nothing = [t.zeros_like(v) for v in x]
    def gradient(of):
        if not of.requires_grad:
            return nothing
        try:
            some = t.autograd.grad(of, x, create_graph=True, allow_unused=True)
        except RuntimeError:  # hardsigmoid has no second derivative there
            return nothing
        return [z if g is None else g for g, z in zip(some, nothing)]
    flat = lambda g: g[0].tolist() if row else [v.item() for v in g]
    first = gradient(total)
    along = (first[0] * weights).sum() if row else sum(g * weights[i] for i, g in enumerate(first))
    return [total.item()], flat(first), flat(gradient(along))


def number(x):
    x = float(x)
    return "NAN" if x != x else "HUGE_VAL" if x == inf else "-HUGE_VAL" if x == -inf else repr(x)


def write():
    out = ["// SPDX-License-Identifier: BSL-1.0",
           "// Ops at infinities, nans and zeros as PyTorch 2.15 has them: made by derivatives_at_edges.py, which says where",
           "// and why something else stands. Lines are those of derivatives.hpp.",
           "#pragma once", "", "// clang-format off", "#include <dynamic/derivatives.hpp>", "", "namespace stored {", "",
           "inline const std::vector<op_values>& derivatives_at_edges() {", "  static const std::vector<op_values> all{"]

    def entry(name, f, points, given=(), row=False):
        lines = []
        for at in points:
            found = derivatives(f, at, given, row)
            others(name, tuple(at), found)
            values = [number(v) for v in [*at, *given, *found[0], *found[1], *found[2]]]
            lines.append(textwrap.fill("{" + ", ".join(values) + "}", 100, subsequent_indent=9 * " ",
                                       break_long_words=False, break_on_hyphens=False))
        out.append(f'      {{"{name}", {len(points[0])}, {len(given)}, {str(row).lower()},')
        out.append("       {" + ",\n        ".join(lines) + "}},")

    for name, (f, given) in unary.items():
        # Large negative numbers are poles of lgamma.
        entry(name, f, [(x,) for x in line if name not in ("lgamma", "digamma") or x != -1e300], given)
    some = [-inf, 0.0, 1.5, inf, nan]
    for name, f in binary.items():
        entry(name, f, [(a, b) for a in some for b in some if (a, b) != (1.5, 1.5)])
    for name, (f, points) in ternary.items():
        entry(name, f, points)
    for name, (f, given) in rows.items():
        entry(name, f, row_points[:-2] if given else row_points, given, True)
    out += ["  };", "  return all;", "}", "", "}  // namespace stored", "// clang-format on", ""]
    (pathlib.Path(__file__).parent / "derivatives_at_edges.hpp").write_text("\n".join(out))


if __name__ == "__main__":
    write()
