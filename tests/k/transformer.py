#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Prints what tests/k/sessions/transformer.q expects, by torch: python3 tests/k/transformer.py"""
import math

import torch

torch.set_printoptions(precision=7, sci_mode=False)
m = torch.nn.Transformer(4, 2, 1, 2, 8, 0.0).double().eval()
named = dict(m.named_parameters())




for i, name in enumerate(sorted(named)):
    p = named[name]
    with torch.no_grad():
        p.copy_((0.5 * torch.sin(i + 0.7 * torch.arange(p.numel(), dtype=torch.float64))).reshape(p.shape))
src = torch.cos(torch.arange(24, dtype=torch.float64)).reshape(3, 2, 4)
tgt = torch.sin(torch.arange(16, dtype=torch.float64)).reshape(2, 2, 4).requires_grad_()
mask = torch.triu(torch.full((2, 2), -math.inf, dtype=torch.float64), 1)
print(m(src, tgt).detach().flatten())
y = m(src, tgt, tgt_mask=mask)
print(y.detach().flatten())
(y * torch.arange(16).reshape(2, 2, 4)).sum().backward()
print(tgt.grad.flatten())
