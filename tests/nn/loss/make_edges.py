#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes tests/nn/loss/edges.hpp with PyTorch, in double: losses where they have kinks, limits and infinite derivatives.

tests/nn/loss/make_edges.py > tests/nn/loss/edges.hpp

Of each: the sum of the losses, its gradient by the first operand, and along ones the derivative of that gradient.
"""
import math
import textwrap

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
T = torch.tensor
inf = math.inf
bce_t = T([0, 1, 1, 0, 0.25, 1])
rows, same = T([[1.0, 2.0, -1.0], [0.5, 0.5, 3.0]]), T([[1.0, 2.0, -1.0], [0.5, 0.5, 3.0]])
other = T([[2.0, 2.0, -3.0], [0.5, 1.5, 2.0]])
far = T([[0.0, 1.0, 1.0], [2.5, 0.25, 3.5]])
axes = T([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
turned = T([[0.0, 1.0], [0.0, 1.0], [4.0, 3.0]])


def triplet(p, positive=other, negative=far, **more):
    return lambda x: F.triplet_margin_loss(x, positive, negative, p=p, reduction="none", **more)


cases = {
    "bce": ([0, 1, 0, 1, 0.5, 1e-14], lambda x: F.binary_cross_entropy(x, bce_t, reduction="none"), False),
    "huber": ([1, 2, 3, 3.5, -4], lambda x: F.huber_loss(x, T([1, 2, 2.0, 3, 3]), delta=1.0, reduction="none"), True),
    "huber_inf": ([1, 2, 9], lambda x: F.huber_loss(x, T([1, 2.5, 2]), delta=inf, reduction="none"), False),
    "smooth_l1": ([1, 2, 3, 3.5, -4], lambda x: F.smooth_l1_loss(x, T([1, 2, 2.0, 3, 3]), beta=1.0, reduction="none"), True),
    "gaussian": ([1, 2, 3], lambda x: F.gaussian_nll_loss(x, T([1.0, 3, 3]), T([inf, 0.0, 1e-9]), reduction="none"), False),
    "gaussian_variance": ([inf, 0, 1e-9, 2], lambda x: F.gaussian_nll_loss(T([1.0, 3, 3, 1]), T([2.0, 3, 4, 5]), x, reduction="none"), False),
    "hinge": ([1, 0.5, 2, -1], lambda x: F.hinge_embedding_loss(x, T([-1.0, -1, -1, 1]), reduction="none"), False),
    "ranking": ([1, 2, 3], lambda x: F.margin_ranking_loss(x, T([1.0, 1, 4]), T([1.0, 1, 1]), reduction="none"), False),
    "cosine": (axes.flatten().tolist(), lambda x: F.cosine_embedding_loss(x.reshape(3, 2), turned, T([-1.0, 1, -1]), margin=0.0, reduction="none"), False),
    "multi_margin": ([1, 2, 3, 2, 1, 0], lambda x: F.multi_margin_loss(x.reshape(2, 3), T([1, 0]), reduction="none"), False),
    "multi_margin_2": ([1, 2, 3, 2, 1, 0], lambda x: F.multi_margin_loss(x.reshape(2, 3), T([1, 0]), p=2, reduction="none"), False),
}
for name, p in {"1": 1.0, "2": 2.0, "3": 3.0, "half": 0.5, "inf": inf}.items():
    flat = rows.flatten().tolist()
    cases[f"triplet_{name}"] = (flat, lambda x, p=p: triplet(p, margin=20.0)(x.reshape(2, 3)), False)
    cases[f"triplet_{name}_equal"] = (flat, lambda x, p=p: triplet(p, positive=same, eps=0.0, margin=20.0)(x.reshape(2, 3)), False)
    # One further than the other by the margin.
    along = T([[1.0, 0.0, 0.0]])
    cases[f"triplet_{name}_kink"] = ([0, 0, 0], lambda x, p=p: triplet(p, positive=along, negative=2 * along, eps=0.0)(x.reshape(1, 3)), False)


def listed(numbers):
    text = "{" + ", ".join("inf" if v == inf else "-inf" if v == -inf else repr(v) for v in numbers) + "}"
    return textwrap.fill(text, 108, subsequent_indent=" " * 9)


print("// SPDX-License-Identifier: BSL-1.0\n// Made by make_edges.py with PyTorch", torch.__version__.split("+")[0] + ".")
print("#pragma once\n\n#include <limits>\n#include <map>\n#include <string>\n#include <vector>\n\nnamespace test {\n")
print("struct edge_values {\n  std::vector<double> x;\n  double value;\n  std::vector<double> gradient, second;\n};\n")
print("inline const std::map<std::string, edge_values>& edges() {")
print("  constexpr double inf = std::numeric_limits<double>::infinity();")
print("  // clang-format off\n  static const std::map<std::string, edge_values> all{")
for name, (start, loss, twice) in cases.items():
    x = T([float(v) for v in start], requires_grad=True)
    total = loss(x).sum()
    gradient, = torch.autograd.grad(total, x, create_graph=twice)
    second = torch.autograd.grad(gradient.sum(), x)[0].tolist() if twice else []
    print(f'      {{"{name}",\n       {{{listed(x.tolist())},\n        {listed([total.item()])[1:-1]},\n'
          f'        {listed(gradient.tolist())},\n        {listed(second)}}}}},')
print("  };\n  // clang-format on\n  return all;\n}\n\n}  // namespace test")
