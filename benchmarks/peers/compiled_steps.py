#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Training steps of benchmarks/run_time/models.cpp and mnist_step.cpp in PyTorch from Python, eager and compiled, and of
the two perceptrons in jax.jit, beside kiln's programs: processor time of a step, all peers in turn, one thread.

    python3 benchmarks/peers/compiled_steps.py torch [--rounds 9] [--kiln BUILD/bench_models --mnist BUILD/bench_mnist_step]
    python3 benchmarks/peers/compiled_steps.py jax ...

Needs torch or jax. torch.compile needs a C++ compiler. Prints a line for each step and peer: the shortest and the
median time of the rounds in microseconds.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def torch_steps():
    """(name, peer) -> a function that makes one step."""
    import torch
    from torch import nn
    from torch.nn import functional as f

    torch.set_num_threads(1)

    def relu3(x):
        return torch.where(x < 0, 0, torch.where(x < 1, x * x * x / 3, x - 2.0 / 3))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(784, 256), nn.Linear(256, 10)

        def forward(self, x, y):
            return f.cross_entropy(self.fc2(torch.relu(self.fc1(x))), y)

    class Knossos(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(784, 256), nn.Linear(256, 128)
            self.fc3, self.fc4 = nn.Linear(128, 64), nn.Linear(64, 10)
            self.norm2, self.norm3 = nn.BatchNorm1d(128), nn.BatchNorm1d(64)

        def forward(self, x, y):
            h2 = f.dropout(relu3(self.norm2(self.fc2(relu3(self.fc1(x))))), 0.3)
            return f.nll_loss(torch.log_softmax(self.fc4(relu3(self.norm3(self.fc3(h2)))), 1), y)

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
            self.fc1, self.fc2 = nn.Linear(3136, 128), nn.Linear(128, 10)

        def forward(self, x, y):
            h = f.max_pool2d(torch.relu(self.conv1(x)), 2)
            h = f.max_pool2d(torch.relu(self.conv2(h)), 2).flatten(1)
            return f.cross_entropy(self.fc2(torch.relu(self.fc1(h))), y)

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.fc = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

        def forward(self, x, y):
            return f.cross_entropy(self.fc(self.lstm(x)[0][:, -1]), y)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)

        def forward(self, x, y):
            return f.mse_loss(self.layer(x), torch.zeros_like(x))

    shapes = {"mnist_mlp": (Mlp, (64, 784)), "knossos": (Knossos, (64, 784)), "cnn": (Cnn, (64, 1, 28, 28)),
              "lstm": (Lstm, (32, 32, 64)), "block": (Block, (8, 128, 128))}
    for name, (make, shape) in shapes.items():
        for peer in ("torch eager", "torch.compile"):
            torch.manual_seed(1)
            x, y = torch.rand(shape), torch.arange(shape[0]) * 7 % 10
            net = make()
            if name == "mnist_mlp":
                optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
            else:
                optimizer = torch.optim.Adam(net.parameters(), 0.003)
            loss_of = torch.compile(net) if peer == "torch.compile" else net

            def step(loss_of=loss_of, optimizer=optimizer, x=x, y=y):
                optimizer.zero_grad()
                loss = loss_of(x, y)
                loss.backward()
                optimizer.step()
                return loss.item()

            yield name, peer, step


def jax_steps():
    """The same for jax.jit, whose processor threads are kept to one by the caller's affinity."""
    import jax
    import jax.numpy as jnp

    def relu3(x):
        return jnp.where(x < 0, 0, jnp.where(x < 1, x * x * x / 3, x - 2.0 / 3))

    def linear(p, x):
        return x @ p[0].T + p[1]

    def norm(p, x):
        mean, variance = x.mean(0), x.var(0)
        return (x - mean) / jnp.sqrt(variance + 1e-5) * p[0] + p[1]

    def nll(scores, y):
        return -jnp.take_along_axis(jax.nn.log_softmax(scores), y[:, None], 1).mean()

    def weights(key, sizes):
        made = []
        for out, into in sizes:
            key, a, b = jax.random.split(key, 3)
            bound = into ** -0.5
            made.append((jax.random.uniform(a, (out, into), minval=-bound, maxval=bound),
                         jax.random.uniform(b, (out,), minval=-bound, maxval=bound)))
        return made

    key = jax.random.PRNGKey(1)
    x, y = jax.random.uniform(key, (64, 784)), jnp.arange(64) * 7 % 10

    def mlp_loss(p, key):
        return nll(linear(p[1], jax.nn.relu(linear(p[0], x))), y)

    def knossos_loss(p, key):
        h2 = relu3(norm(p[4], linear(p[1], relu3(linear(p[0], x)))))
        h2 = jnp.where(jax.random.uniform(key, h2.shape) < 0.3, 0, h2 / 0.7)
        return nll(linear(p[3], relu3(norm(p[5], linear(p[2], h2)))), y)

    @jax.jit
    def sgd_step(p, momentum, key):
        loss, g = jax.value_and_grad(mlp_loss)(p, key)
        momentum = jax.tree.map(lambda m, d: 0.9 * m + d, momentum, g)
        return jax.tree.map(lambda w, m: w - 0.1 * m, p, momentum), momentum, key, loss

    @jax.jit
    def adam_step(p, state, key):
        m, v, t = state
        key, now = jax.random.split(key)
        loss, g = jax.value_and_grad(knossos_loss)(p, now)
        t = t + 1
        m = jax.tree.map(lambda a, d: 0.9 * a + 0.1 * d, m, g)
        v = jax.tree.map(lambda a, d: 0.999 * a + 0.001 * d * d, v, g)
        p = jax.tree.map(lambda w, a, b: w - 0.003 * (a / (1 - 0.9 ** t)) / (jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8),
                         p, m, v)
        return p, (m, v, t), key, loss

    mlp = weights(key, [(256, 784), (10, 256)])
    net = weights(key, [(256, 784), (128, 256), (64, 128), (10, 64)])
    net += [(jnp.ones(128), jnp.zeros(128)), (jnp.ones(64), jnp.zeros(64))]
    zeros = jax.tree.map(jnp.zeros_like, net)
    for name, one, state in (("mnist_mlp", sgd_step, (mlp, jax.tree.map(jnp.zeros_like, mlp), key)),
                             ("knossos", adam_step, (net, (zeros, zeros, 0.0), key))):
        hold = [state]

        def step(one=one, hold=hold):
            *state, loss = one(*hold[0])
            hold[0] = tuple(state)
            return float(loss)

        yield name, "jax.jit", step


def kiln_time(program, benchmark):
    """Processor time of a step of one of kiln's programs, in microseconds."""
    out = subprocess.run([program, f"--benchmark_filter=^{benchmark}/", "--benchmark_min_time=0.1"], text=True,
                         capture_output=True, check=True).stdout
    found = re.search(r"real_time\s+\S+ \w+\s+(\S+) (\w+)", out)
    return float(found[1]) * {"ns": 1e-3, "us": 1, "ms": 1e3}[found[2]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=("torch", "jax"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kiln", help="the program bench_models")
    parser.add_argument("--mnist", help="the program bench_mnist_step")
    how = parser.parse_args()
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})  # threads of a pool share one core, so that their time is that of one thread
    steps = {}
    for name, peer, step in (torch_steps if how.peer == "torch" else jax_steps)():
        try:
            for _ in range(5):
                step()
            steps[name, peer] = step
        except Exception as error:  # a compiler that is missing costs one row, not the table
            print(f"{name} by {peer}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    for name in {name for name, _ in steps}:
        program, benchmark = (how.mnist, "mnist_step/1/kiln") if name == "mnist_mlp" else (how.kiln, f"models/{name}/1/kiln")
        if program:
            steps[name, "kiln"] = lambda program=program, benchmark=benchmark: kiln_time(program, benchmark)
    times = {key: [] for key in steps}
    for _ in range(how.rounds):
        for key, step in steps.items():
            if key[1] == "kiln":
                times[key].append(step())
                continue
            count, begin = 0, time.process_time()
            while time.process_time() - begin < 0.1:
                step()
                count += 1
            times[key].append((time.process_time() - begin) / count * 1e6)
    for (name, peer), found in sorted(times.items()):
        print(f"{name:12} {peer:14} min {min(found):9.0f} us  median {statistics.median(found):9.0f} us")


if __name__ == "__main__":
    main()
