#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes tests/nn/loss/values.hpp with PyTorch, in double: for each loss its value and its gradient by the input.

tests/nn/loss/make_values.py > tests/nn/loss/values.hpp    (tests/nn/live_torch.py calls it with --live SHIFT)

Inputs are x[i] = sin(1.7 i + 0.3) and t[i] = cos(2.3 i + 0.9), reshaped to (4, 5), so no input needs to be stored.
"""
import sys

import torch
import torch.nn.functional as F

LIVE = sys.argv[1:2] == ["--live"]  # waves that begin elsewhere, and lines of a name and numbers
SHIFT = float(sys.argv[2]) if LIVE else 0.0
torch.set_default_dtype(torch.float64)
i = torch.arange(20.0)
x0, t, z = (torch.sin(1.7 * i + 0.3 + SHIFT).reshape(4, 5), torch.cos(2.3 * i + 0.9 + SHIFT).reshape(4, 5),
            torch.sin(0.7 * i + 2 + SHIFT).reshape(4, 5))
labels, one_left_out = torch.tensor([1, 4, 0, 3]), torch.tensor([1, -100, 0, 3])
weight = torch.tensor([0.5, 1.0, 2.0, 0.25, 1.5])
signs, row_signs = torch.where(t > 0, 1.0, -1.0), torch.tensor([1.0, -1.0, -1.0, 1.0])
p, q = torch.softmax(t, 1), (t + 1) / 2
unit = lambda x: torch.sigmoid(x)
images = torch.sin(0.9 * torch.arange(24.0) + 0.1)

losses = {}
for r in ("mean", "sum", "none"):
    losses |= {
        f"mse_{r}": lambda x, r=r: F.mse_loss(x, t, reduction=r),
        f"l1_{r}": lambda x, r=r: F.l1_loss(x, t, reduction=r),
        f"cross_entropy_{r}": lambda x, r=r: F.cross_entropy(x, labels, reduction=r),
    }
losses |= {
    "smooth_l1": lambda x: F.smooth_l1_loss(x, t, beta=0.7),
    "smooth_l1_0": lambda x: F.smooth_l1_loss(x, t, beta=0.0),
    "huber": lambda x: F.huber_loss(x, t, delta=0.6),
    "poisson": lambda x: F.poisson_nll_loss(x, t + 2, full=True),
    "poisson_rate": lambda x: F.poisson_nll_loss(x + 2, t + 2, log_input=False),
    "gaussian": lambda x: F.gaussian_nll_loss(x, t, q + 0.1, full=True),
    "gaussian_variance": lambda x: F.gaussian_nll_loss(t, z, x.abs(), eps=0.3),
    "bce": lambda x: F.binary_cross_entropy(unit(x), q),
    "bce_with_logits": lambda x: F.binary_cross_entropy_with_logits(x * 30, q),
    "bce_pos_weight": lambda x: F.binary_cross_entropy_with_logits(x, q, pos_weight=weight),
    "kl_div": lambda x: F.kl_div(torch.log_softmax(x, 1), p, reduction="mean"),
    "kl_div_log_batchmean": lambda x: F.kl_div(torch.log_softmax(x, 1), torch.log(p), reduction="batchmean",
                                               log_target=True),
    "multilabel": lambda x: F.multilabel_soft_margin_loss(x, q),
    "nll": lambda x: F.nll_loss(torch.log_softmax(x, 1), labels, weight=weight),
    "cross_entropy_all": lambda x: F.cross_entropy(x, one_left_out, weight=weight, label_smoothing=0.2),
    "cross_entropy_probabilities": lambda x: F.cross_entropy(x, p, weight=weight, label_smoothing=0.1),
    "cross_entropy_images": lambda x: F.cross_entropy(x.reshape(2, 2, 5), torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0]])),
    "cosine": lambda x: F.cosine_embedding_loss(x, t, row_signs, margin=0.1),
    "hinge": lambda x: F.hinge_embedding_loss(x, signs),
    "ranking": lambda x: F.margin_ranking_loss(x, t, signs, margin=0.2),
    "triplet": lambda x: F.triplet_margin_loss(x, t, z, swap=True),
    "triplet_3": lambda x: F.triplet_margin_loss(x, t, z, p=3, margin=2.0),
    "multi_margin": lambda x: F.multi_margin_loss(x, labels),
    "multi_margin_2": lambda x: F.multi_margin_loss(x, labels, p=2, margin=0.5),
}

HEADER = f"""// SPDX-License-Identifier: BSL-1.0
// Losses and their gradients as PyTorch {torch.__version__.split('+')[0]} has them; tests/nn/loss/make_values.py made it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace test {{

/// The sum of a loss's values, and the gradient of that by the input.
struct loss_values {{
  double value;
  std::vector<double> gradient;
}};
inline const std::map<std::string, loss_values> known_losses{{"""


def show(name, x, y):
    y.backward()
    if LIVE:
        print(name, repr(y.item()))
        print(f"{name}.gradient", *map(repr, x.grad.flatten().tolist()))
        return
    rows = ", ".join(repr(v) for v in x.grad.flatten().tolist())
    print(f'    {{"{name}", {{{y.item()!r}, {{{rows}}}}}}},')


if not LIVE:
    print(HEADER)
for name, f in losses.items():
    x = x0.clone().requires_grad_()
    show(name, x, f(x).sum())
if not LIVE:
    print("""};
/// ctc_loss of log_softmax of sin(1.7 i + 0.3) as (7, 3, 5): value, and gradient by the scores.
inline const std::map<std::string, loss_values> known_ctc{""")
scores = torch.sin(1.7 * torch.arange(105.0) + 0.3 + SHIFT).reshape(7, 3, 5)
targets, lengths = torch.tensor([[1, 2, 2, 4], [3, 1, 0, 0], [4, 4, 4, 2]]), (torch.tensor([7, 5, 6]), torch.tensor([4, 2, 3]))
joined = torch.tensor([1, 2, 2, 4, 3, 1, 4, 4, 4])
short = torch.tensor([4, 5, 6])
ctc = {
    "mean": lambda x: F.ctc_loss(x, targets, *lengths),
    "sum": lambda x: F.ctc_loss(x, joined, *lengths, reduction="sum"),
    "none": lambda x: F.ctc_loss(x, targets, *lengths, reduction="none"),
    "zero_infinity": lambda x: F.ctc_loss(x, targets, short, lengths[1], zero_infinity=True),
    "blank": lambda x: F.ctc_loss(x, joined - 1, *lengths, blank=4),
    "nothing": lambda x: F.ctc_loss(x, targets, lengths[0], torch.tensor([0, 1, 0]), reduction="sum"),
}
for name, f in ctc.items():
    x = scores.clone().requires_grad_()
    show("ctc_" * LIVE + name, x, f(torch.log_softmax(x, 2)).sum())
if not LIVE:
    print("};\n\n}  // namespace test")
