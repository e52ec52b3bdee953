#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Makes loss_curves.hpp, PyTorch's losses over 200 steps of training in double: loss_curves.py > loss_curves.hpp

(tests/nn/live_torch.py calls it with --live SHIFT: the waves begin elsewhere, and there are 50 steps.)

Run by hand, with torch 2.15.0 from PyPI. Parameters and data are formulas, so that any program can begin where this one
does: element i of parameter k, in the order of names, is 0.4 sin(1.7 i + 0.9 k + 0.3), and 1 more in weights of norms.

Of LBFGS on the transformer block there are the first 50 steps, of two iterations each: weights changed by 1e-15 change
PyTorch's own losses by up to 1e-2 later on, and in all that is stored by 1e-11 at most.
"""
import sys
import textwrap

import torch
from torch import nn

LIVE = sys.argv[1:2] == ["--live"]
SHIFT = float(sys.argv[2]) if LIVE else 0.0
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
STEPS, EACH = 50 if LIVE else 200, 10


def wave(*sizes, by=1.3, at=0.0):
    n = torch.Size(sizes).numel()
    return torch.sin(by * torch.arange(n) + (at + SHIFT)).reshape(sizes)


def begin(net):
    for k, (name, p) in enumerate(sorted(net.named_parameters())):
        with torch.no_grad():
            p.copy_(wave(*p.shape, by=1.7, at=0.9 * k + 0.3) * 0.4 + ("norm" in name and name.endswith("weight")))
    return net


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)
        self.x, self.y = wave(12, 6), torch.arange(12) * 7 % 3

    def loss(self):
        return nn.functional.cross_entropy(self.fc2(torch.tanh(self.norm(self.fc1(self.x)))), self.y)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.fc = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 4, 3), nn.Linear(16, 3)
        self.x, self.y = wave(6, 1, 8, 8, by=0.9), torch.arange(6) * 5 % 3

    def loss(self):
        h = nn.functional.max_pool2d(torch.relu(self.conv1(self.x)), 2)
        return nn.functional.cross_entropy(self.fc(torch.relu(self.conv2(h)).flatten(1)), self.y)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 2)
        self.x, self.y = wave(4, 6, 3), wave(4, 2, by=2.1)

    def loss(self):
        return nn.functional.mse_loss(self.fc(self.lstm(self.x)[0][:, -1]), self.y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0, activation="gelu", batch_first=True)
        self.x, self.y = wave(3, 5, 8), wave(3, 5, 8, by=2.3, at=0.5)

    def loss(self):
        return nn.functional.mse_loss(self.layer(self.x), self.y)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.05),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.003),
    "lbfgs": lambda p: torch.optim.LBFGS(p, lr=1, max_iter=4, history_size=10, line_search_fn="strong_wolfe"),
}


# Steps that look alike to rounding.
BLOCK_LBFGS = lambda p: torch.optim.LBFGS(p, lr=0.5, max_iter=2, history_size=4, line_search_fn="strong_wolfe")


def curve(make, optimizer, steps=STEPS):
    net, losses = begin(make()), []
    opt = optimizer(net.parameters())
    for step in range(steps):
        def closure():
            opt.zero_grad()
            loss = net.loss()
            loss.backward()
            return loss
        loss = opt.step(closure).item()
        if step % EACH == EACH - 1:
            losses.append(loss)
    return losses


def header():
    print("// SPDX-License-Identifier: BSL-1.0")
    print(f"// Made by loss_curves.py with torch {torch.__version__.split('+')[0]}; what the rows are stands there.")
    print("#pragma once\n\nnamespace loss_curves {\n\n// clang-format off")


if not LIVE:
    header()
for model in (Mlp, Cnn, Lstm, Block):
    for name, optimizer in OPTIMIZERS.items():
        short = model is Block and name == "lbfgs"
        losses = curve(model, BLOCK_LBFGS, 30 if LIVE else 50) if short else curve(model, optimizer)
        key = f"{model.__name__.lower()}_{name}"
        if LIVE:
            print(key, *map(repr, losses))
            continue
        text = ", ".join(map(repr, losses))
        body = textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="    ")
        print(f"inline constexpr double {key}[] = {{\n{body}}};\n")
if not LIVE:
    print("// clang-format on\n\n}  // namespace loss_curves")
