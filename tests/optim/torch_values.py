#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes torch_values.hpp, what PyTorch's optimizers and schedulers give in double: torch_values.py > torch_values.hpp

Run by hand, with torch 2.15.0 from PyPI. Lion and Lamb, which PyTorch lacks, are written here from their papers
(arXiv 2302.06675, algorithm 2; arXiv 1904.00962, algorithm 2, with Adam's bias correction).
"""
import math
import textwrap
import warnings

import torch

torch.set_default_dtype(torch.float64)
warnings.simplefilter("ignore")
STEPS, LOOK = 60, (1, 10, 60)


def parameters():
    w = torch.arange(6.0).reshape(2, 3) / 4 - 0.6
    return [w.requires_grad_(), torch.tensor([0.7, -1.1, 0.2]).requires_grad_(), torch.tensor([1.5]).requires_grad_()]


def loss_of(ps, t):
    """A sum over the elements of each tensor; the last one is left out in every third step.

    The term in t keeps gradients from vanishing: what is divided by their size would be noise.
    """
    total = 0.0
    for k, p in enumerate(ps):
        if k == 2 and t % 3 == 2:
            continue
        total = total + ((0.5 + 0.5 * k) * (p - 0.3) ** 2 + 0.4 * torch.cos(3 * p) + 0.5 * math.sin(t + k) * p).sum()
    return total


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (b1, b2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                c = b1 * m + (1 - b1) * p.grad
                p.sub_(lr * (torch.sign(c) + decay * p))
                m.copy_(b2 * m + (1 - b2) * p.grad)


class Lamb(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (b1, b2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                s["step"] = t = s.get("step", 0) + 1
                m = s.setdefault("exp_avg", torch.zeros_like(p))
                v = s.setdefault("exp_avg_sq", torch.zeros_like(p))
                m.copy_(b1 * m + (1 - b1) * p.grad)
                v.copy_(b2 * v + (1 - b2) * p.grad ** 2)
                u = m / (1 - b1 ** t) / ((v / (1 - b2 ** t)).sqrt() + group["eps"]) + decay * p
                weight, update = p.norm().item(), u.norm().item()
                p.sub_(lr * (weight / update if weight > 0 and update > 0 else 1.0) * u)


O = torch.optim
CASES = {
    "sgd": lambda p: O.SGD(p, lr=0.05),
    "sgd_momentum": lambda p: O.SGD(p, lr=0.02, momentum=0.9),
    "sgd_dampening": lambda p: O.SGD(p, lr=0.02, momentum=0.9, dampening=0.3, weight_decay=0.1),
    "sgd_nesterov": lambda p: O.SGD(p, lr=0.02, momentum=0.8, nesterov=True, weight_decay=0.05),
    "sgd_maximize": lambda p: O.SGD(p, lr=0.005, maximize=True),
    "adam": lambda p: O.Adam(p, lr=0.05),
    "adam_decay": lambda p: O.Adam(p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1),
    "adam_amsgrad": lambda p: O.Adam(p, lr=0.1, betas=(0.7, 0.9), amsgrad=True),
    "adam_maximize": lambda p: O.Adam(p, maximize=True),
    "adamw": lambda p: O.AdamW(p, lr=0.05),
    "adamw_amsgrad": lambda p: O.AdamW(p, lr=0.1, betas=(0.7, 0.9), weight_decay=0.2, amsgrad=True),
    "rmsprop": lambda p: O.RMSprop(p),
    "rmsprop_centered": lambda p: O.RMSprop(p, lr=0.01, alpha=0.9, centered=True),
    "rmsprop_momentum": lambda p: O.RMSprop(p, lr=0.01, alpha=0.9, momentum=0.6, weight_decay=0.1),
    "rmsprop_both": lambda p: O.RMSprop(p, lr=0.005, alpha=0.8, momentum=0.6, centered=True, eps=1e-6),
    "adagrad": lambda p: O.Adagrad(p, lr=0.1),
    "adagrad_decay": lambda p: O.Adagrad(p, lr=0.2, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.3),
    "adadelta": lambda p: O.Adadelta(p),
    "adadelta_decay": lambda p: O.Adadelta(p, lr=0.5, rho=0.8, weight_decay=0.1),
    "adamax": lambda p: O.Adamax(p, lr=0.02),
    "adamax_decay": lambda p: O.Adamax(p, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1),
    "nadam": lambda p: O.NAdam(p, lr=0.02),
    "nadam_decay": lambda p: O.NAdam(p, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1, momentum_decay=0.01),
    "nadam_decoupled": lambda p: O.NAdam(p, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: O.RAdam(p, lr=0.05),
    "radam_decay": lambda p: O.RAdam(p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1),
    "radam_decoupled": lambda p: O.RAdam(p, lr=0.05, weight_decay=0.1, decoupled_weight_decay=True),
    "lion": lambda p: Lion(p, lr=0.01),
    "lion_decay": lambda p: Lion(p, lr=0.01, betas=(0.95, 0.98), weight_decay=0.1),
    "lamb": lambda p: Lamb(p, lr=0.02),
    "lamb_decay": lambda p: Lamb(p, lr=0.02, betas=(0.8, 0.95), weight_decay=0.1),
}


def flat(ps):
    return [x for p in ps for x in p.detach().flatten().tolist()]


def run(make):
    ps = parameters()
    opt, rows = make(ps), []
    for t in range(STEPS):
        opt.zero_grad()
        loss_of(ps, t).backward()
        opt.step()
        if t + 1 in LOOK:
            rows.append(flat(ps))
    return rows


LBFGS = {
    "lbfgs": dict(lr=0.1, history_size=5),
    "lbfgs_wolfe": dict(lr=1, line_search_fn="strong_wolfe"),
    "lbfgs_short": dict(lr=1, max_iter=3, history_size=2, line_search_fn="strong_wolfe"),
}


def run_lbfgs(options):
    x, y = torch.tensor([-1.2, 0.8]).requires_grad_(), torch.tensor([[1.0]]).requires_grad_()
    opt, rows = torch.optim.LBFGS([x, y], **options), []

    def closure():
        opt.zero_grad()
        a, b, c = x[0], x[1], y[0, 0]
        value = (1 - a) ** 2 + 20 * (b - a * a) ** 2 + (c - b) ** 2 + 0.1 * c ** 4
        value.backward()
        return value
    for t in range(8):
        first = opt.step(closure).item()
        if t + 1 in (1, 3, 8):
            rows.append([first, *flat([x, y])])
    return rows


S = torch.optim.lr_scheduler
SCHEDULERS = {
    "step_lr": lambda o: S.StepLR(o, 4, 0.5),
    "multi_step_lr": lambda o: S.MultiStepLR(o, [3, 7, 7, 20], 0.3),
    "exponential_lr": lambda o: S.ExponentialLR(o, 0.9),
    "constant_lr": lambda o: S.ConstantLR(o, 0.25, 6),
    "linear_lr": lambda o: S.LinearLR(o, 0.1, 1.0, 8),
    "polynomial_lr": lambda o: S.PolynomialLR(o, 12, 2.0),
    "cosine_annealing_lr": lambda o: S.CosineAnnealingLR(o, 7, 0.01),
    "lambda_lr": lambda o: S.LambdaLR(o, lambda t: 1 / (1 + t)),
    "one_cycle_lr": lambda o: S.OneCycleLR(o, 0.5, total_steps=25),
    "one_cycle_three": lambda o: S.OneCycleLR(o, 0.5, total_steps=25, pct_start=0.4, anneal_strategy="linear",
                                              three_phase=True, div_factor=10, final_div_factor=100),
    "sequential_lr": lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.2, 1.0, 5), S.ExponentialLR(o, 0.8)], [5]),
    "sequential_three": lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 3), S.StepLR(o, 2, 0.5),
                                                     S.CosineAnnealingLR(o, 10)], [4, 12]),
    "chained_scheduler": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)]),
}


def run_scheduler(make):
    groups = [{"params": [torch.zeros(1)], "lr": 0.2}, {"params": [torch.zeros(1)], "lr": 0.05}]
    opt = torch.optim.SGD(groups, lr=1, momentum=0.9)
    scheduler, rows = make(opt), []
    for t in range(25):
        rows.append([opt.param_groups[0]["lr"], opt.param_groups[1]["lr"], opt.param_groups[0]["momentum"]])
        opt.step()
        if t < 24:
            scheduler.step()
    return rows


PLATEAU = {
    "plateau": dict(factor=0.5, patience=2, threshold=1e-2),
    "plateau_max": dict(mode="max", factor=0.1, patience=1, cooldown=2, threshold=0.05, threshold_mode="abs", min_lr=1e-3),
}


def plateau_metric(t):
    return 1 / (1 + t) + 0.05 * math.sin(5 * t)


def run_plateau(options):
    opt = torch.optim.SGD([torch.zeros(1)], lr=0.2)
    scheduler, rows = S.ReduceLROnPlateau(opt, **options), []
    for t in range(30):
        scheduler.step(plateau_metric(t))
        rows.append([opt.param_groups[0]["lr"]])
    return rows


def written(name, rows):
    numbers = textwrap.fill(", ".join(repr(x) for row in rows for x in row), 116, initial_indent="    ",
                            subsequent_indent="    ", break_on_hyphens=False)
    return f"inline constexpr double {name}[] = {{\n{numbers}}};\n"


if __name__ == "__main__":
    print("// SPDX-License-Identifier: BSL-1.0")
    print(f"// Made by torch_values.py with torch {torch.__version__.split('+')[0]}; what the rows are stands there.")
    print("#pragma once\n\nnamespace torch_values {\n\n// clang-format off")
    for name, make in CASES.items():
        print(written(name, run(make)))
    for name, options in LBFGS.items():
        print(written(name, run_lbfgs(options)))
    for name, make in SCHEDULERS.items():
        print(written(name, run_scheduler(make)))
    for name, options in PLATEAU.items():
        print(written(name, run_plateau(options)))
    print("// clang-format on\n\n}  // namespace torch_values")
