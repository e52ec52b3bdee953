#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""PyTorch beside kiln: tools/torch_oracle.py FILE runs the drawn programs that tests/autograd/fuzz.test.cpp wrote there,

    KILN_FUZZ=1000 KILN_FUZZ_PROGRAMS=programs.txt build/release/tests/test_autograd -tc="fuzz*"

and compares loss, first and second derivative with kiln's. Exits 1 if one differs, 77 with a sentence without PyTorch.
PyTorch refuses some programs that kiln runs, whose views keep no values for a backward pass or which write a tensor with
a view of itself; those are counted.
"""
import math
import sys

skipped = 77


def weight(i):
    return 0.3 + 0.7 * math.sin(1.0 + 2.0 * i)


def weighted(torch, x, first):
    w = torch.tensor([weight(first + i) for i in range(x.numel())], dtype=torch.float64).reshape(x.shape)
    return (x * w).sum()


def run(torch, lines, leaves, results):
    names = {"torch": torch}
    for line in lines:
        exec(line, names)
    tensors = [names[f"v{i}"] for i in range(sum(1 for n in names if n[0] == "v" and n[1:].isdigit()))]
    loss = sum(weighted(torch, x, 7 * k) for k, x in enumerate(tensors[len(tensors) - results:]))
    inputs = tensors[:leaves]

    def along(y, first):
        slopes = torch.autograd.grad(y, inputs, create_graph=True, allow_unused=True)
        total = torch.zeros((), dtype=torch.float64)
        for x, slope in zip(inputs, slopes):
            if slope is not None:
                total = total + weighted(torch, slope, first)
            first += x.numel()
        return total

    if not loss.requires_grad:
        return loss.item(), 0.0, 0.0
    first = along(loss, 0)
    return loss.item(), first.item(), along(first, 50).item() if first.requires_grad else 0.0


def main(path):
    try:
        import torch
    except ImportError:
        print("torch_oracle: PyTorch is not installed (pip install torch): nothing was compared")
        return skipped
    lines, compared, refused, wrong = [], 0, 0, 0
    leaves = results = 0
    want = ()
    for line in open(path):
        word, *rest = line.split()
        if word == "results":
            leaves, results = int(rest[0]), int(rest[2])
        elif word == "values":
            want = tuple(float(x) for x in rest)
        elif word != "end":
            lines.append(line.strip())
        else:
            try:
                got = run(torch, lines, leaves, results)
                compared += 1
                if any(abs(a - b) > 1e-9 * (1 + abs(b)) for a, b in zip(got, want)):
                    wrong += 1
                    print("differs:", "kiln", want, "torch", got, *lines, sep="\n  ")
            except RuntimeError as error:
                # The second: writes of what overlaps, which kiln reads first. The third: what got a history through a view.
                known = ("modified by an inplace operation", "refer to a single memory location",
                         "leaf Variable that requires grad is being used in an in-place operation")
                if not any(words in str(error) for words in known):
                    raise
                refused += 1
            lines = []
    print(f"{compared} programs compared, {wrong} differ; {refused} refused by PyTorch, which kiln runs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
