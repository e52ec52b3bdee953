#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures what other libraries need for the contests of benchmarks/gpu.

    peers.py LIBRARY CASES OUT.json [--seconds N] [--device cpu]

LIBRARY is torch (eager, then torch.compile), jax (jit) or cupy; CASES is a file with the names of the contests, one a
line, as the program of the benchmarks lists them, or - for standard input. Each result is checked first, against NumPy
in float64. Then it runs in batches of some milliseconds between two events (JAX has none: between two readings of the
host's clock, all done at the second); the median of several batches goes to OUT.json, in Google Benchmark's form. After
N seconds it stops, and says what it left out. Exit status 1: a result is wrong or the library failed; 3: it is not
there.
"""
import argparse
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
SIZES = [784, 256, 128, 64, 10]  # of the network in mlp.cpp
ROWS = ("softmax", "layer_norm", "rms_norm", "logsumexp")


class Torch:
    """One vocabulary for the work below; what is missing in a library is None."""

    def __init__(self, device):
        import torch
        self.torch, self.name, self.version = torch, "torch", torch.__version__
        self.device = device or "cuda"
        if self.device == "cuda" and not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        self.relu, self.tanh, self.sum = torch.relu, torch.tanh, torch.sum
        self.softmax = lambda x: torch.softmax(x, 1)
        self.layer_norm = lambda x: torch.nn.functional.layer_norm(x, x.shape[1:])
        self.rms_norm = lambda x: torch.nn.functional.rms_norm(x, x.shape[1:], eps=1e-6)
        self.logsumexp = lambda x: torch.logsumexp(x, 1)
        self.turned = lambda x: x.t().contiguous()
        self.attention = lambda causal: lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal)
        self.rows_of = torch.nn.functional.embedding

    def array(self, values, dtype):
        return self.torch.from_numpy(values).to(self.device).to(getattr(self.torch, dtype))

    def host(self, x):
        return x.detach().double().cpu().numpy()

    def tf32(self, on):
        self.torch.backends.cuda.matmul.allow_tf32 = on

    def variants(self):
        def compiled(f):
            self.torch._dynamo.reset()  # else a function that met eight shapes runs uncompiled, without a word
            return self.torch.compile(f, dynamic=False)
        return [("torch", lambda f: f), ("torch_compile", compiled)]

    def product(self, a, b, bias):
        return a @ b if bias is None else self.torch.addmm(bias, a, b)

    def with_gradients(self, f, inputs, g):
        """The gradients of the sum, or with `g` those of each element."""
        for x in inputs:
            x.requires_grad_()

        def run():
            y = f(*inputs)
            grads = self.torch.autograd.grad(y.sum() if g is None else y, inputs, g)
            return (y, *grads)
        return run

    def step(self, wrap, x, target, parameters, rate):
        torch = self.torch
        for p in parameters:
            p.requires_grad_()

        def loss_of(*p):
            h = x
            for i in range(4):
                h = torch.addmm(p[2 * i + 1], h, p[2 * i])
                h = torch.relu(h) if i < 3 else h
            return -(torch.log_softmax(h, 1) * target).sum(1).mean()
        compiled = wrap(loss_of)

        def run():
            loss = compiled(*parameters)
            grads = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                torch._foreach_add_(parameters, grads, alpha=-rate)
            return (loss,)
        return run

    def seconds(self, run, batch, clock):
        torch = self.torch
        if self.device == "cuda" and clock == "device":
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(batch):
                run()
            end.record()
            end.synchronize()
            return start.elapsed_time(end) * 1e-3 / batch
        return host_seconds(run, batch, clock, lambda result: self.device == "cuda" and torch.cuda.synchronize())


class Jax:
    attention = None  # its own takes another order of the axes

    def __init__(self, device):
        import jax
        import jax.numpy as jnp
        self.jax, self.jnp, self.name, self.version = jax, jnp, "jax", jax.__version__
        if (device or "gpu") == "gpu" and jax.default_backend() != "gpu":
            raise ImportError("jax sees no GPU")
        self.relu, self.tanh, self.sum = jax.nn.relu, jnp.tanh, jnp.sum
        self.softmax = lambda x: jax.nn.softmax(x, 1)
        self.layer_norm = lambda x: (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(x.var(1, keepdims=True) + 1e-5)
        self.rms_norm = lambda x: x * jax.lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-6)
        self.logsumexp = lambda x: jax.nn.logsumexp(x, 1)
        self.turned = lambda x: x.T * 1
        self.rows_of = lambda index, table: jnp.take(table, index, axis=0)
        self.precision = "highest"

    def array(self, values, dtype):
        return self.jnp.asarray(values).astype(dtype)

    def host(self, x):
        import numpy
        return numpy.asarray(x.astype("float32")).astype("float64")

    def tf32(self, on):
        self.precision = "tensorfloat32" if on else "highest"

    def variants(self):
        return [("jax", self.jax.jit)]

    def product(self, a, b, bias):
        y = self.jnp.matmul(a, b, precision=self.precision if a.dtype == "float32" else None)
        return y if bias is None else y + bias

    def with_gradients(self, f, inputs, g):
        def both(*x):
            y, back = self.jax.vjp(f, *x)
            return (y, *back(self.jnp.ones_like(y) if g is None else g))
        jitted = self.jax.jit(both)
        return lambda: jitted(*inputs)

    def step(self, wrap, x, target, parameters, rate):
        def loss_of(p):
            h = x
            for i in range(4):
                h = self.jnp.matmul(h, p[2 * i], precision="highest") + p[2 * i + 1]
                h = self.relu(h) if i < 3 else h
            return -(self.jax.nn.log_softmax(h, 1) * target).sum(1).mean()

        def update(p):
            loss, grads = self.jax.value_and_grad(loss_of)(p)
            return loss, [v - rate * g for v, g in zip(p, grads)]
        jitted, state = self.jax.jit(update, donate_argnums=0), [parameters]

        def run():
            loss, state[0] = jitted(state[0])
            return (loss,)
        return run

    def seconds(self, run, batch, clock):
        return host_seconds(run, batch, clock, lambda result: self.jax.block_until_ready(result))


class Cupy:
    step = with_gradients = attention = None

    def __init__(self, device):
        import cupy
        if cupy.cuda.runtime.getDeviceCount() == 0:
            raise ImportError("cupy sees no GPU")
        self.cupy, self.name, self.version = cupy, "cupy", cupy.__version__
        self.tanh, self.sum = cupy.tanh, cupy.sum
        self.relu = lambda x: cupy.maximum(x, 0)
        self.softmax = lambda x: (lambda e: e / e.sum(1, keepdims=True))(cupy.exp(x - x.max(1, keepdims=True)))
        self.layer_norm = lambda x: (x - x.mean(1, keepdims=True)) / cupy.sqrt(x.var(1, keepdims=True) + 1e-5)
        self.rms_norm = lambda x: x / cupy.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
        self.logsumexp = lambda x: cupy.log(cupy.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1)
        self.turned = lambda x: cupy.ascontiguousarray(x.T)
        self.rows_of = lambda index, table: table[index]

    def array(self, values, dtype):
        return self.cupy.asarray(values).astype(dtype)

    def host(self, x):
        return self.cupy.asnumpy(x).astype("float64")

    def tf32(self, on):  # it multiplies in float32, unless an environment variable says otherwise
        pass

    def variants(self):
        return [("cupy", lambda f: f)]

    def product(self, a, b, bias):
        y = a @ b
        return y if bias is None else y + bias

    def seconds(self, run, batch, clock):
        cupy = self.cupy
        if clock != "device":
            return host_seconds(run, batch, clock, lambda result: cupy.cuda.Device().synchronize())
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        for _ in range(batch):
            run()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(start, end) * 1e-3 / batch


def host_seconds(run, batch, clock, wait):
    result, start = None, time.perf_counter()
    for _ in range(batch):
        result = run()
    if clock != "call":
        wait(result)
    end = time.perf_counter()
    wait(result)
    return (end - start) / batch


def far(got, wanted, limit):
    import numpy
    scale = max(float(numpy.abs(wanted).max()), 1e-30)
    worst = float(numpy.abs(got - wanted).max()) / scale
    return "" if worst <= limit else f"wrong: an error of {worst:.3g} against float64"


class Case:
    """One contest: inputs on the device, how to make what runs, and the check of its results."""

    def __init__(self, lib, contest):
        import numpy as np
        self.np, self.lib, self.parts, self.contest = np, lib, contest.split("/"), contest
        self.kind, self.clock = self.parts[0], "device"
        self.draw = np.random.default_rng(5)

    drawn = None  # a million and some normal numbers, repeated where more are wanted: drawing takes longer than measuring

    def normal(self, dtype, *shape):
        np = self.np
        if Case.drawn is None:
            Case.drawn = np.random.default_rng(7).standard_normal(1_000_003, dtype="float32")
        return self.lib.array(np.resize(np.roll(Case.drawn, -int(self.draw.integers(1_000_003))), shape), dtype)

    def some(self, x, count=60_000):
        flat = x.reshape(-1)
        return self.lib.host(flat[:: max(1, flat.shape[0] // count) | 1])

    def make(self, wrap):
        """(run, wrong): run() gives a tuple of results; wrong(results) says what is not right, or nothing."""
        np, lib, parts = self.np, self.lib, self.parts
        if self.kind in ("map", "multiply_add", "map_gradient"):
            return self.make_map(wrap, parts[1], int(parts[2]))
        if self.kind == "launch":
            self.clock = "call"
            return self.make_map(wrap, "float32", int(parts[2]))
        if self.kind in ROWS:
            rows, columns = map(int, parts[2].split("x"))
            return self.make_rows(wrap, parts[1], rows, columns, parts[3] == "both")
        if self.kind == "mlp":
            return self.make_network(wrap)
        if self.kind == "attention":
            return self.make_attention(wrap, parts[1], tuple(map(int, parts[2].split("x"))), parts[3] == "causal",
                                       parts[4] == "both")
        if self.kind == "embedding":
            return self.make_embedding(wrap, int(parts[2]), parts[3] == "skewed", parts[4] == "both")
        if self.kind == "chain":
            return self.make_chain(wrap, int(parts[2]))
        if self.kind == "product":
            return self.make_product(wrap, parts[1], *map(int, parts[2].split("x")), len(parts) > 3)
        n = int(parts[2].split("x")[0])
        a, b = self.normal("float32", n, n), self.normal("float32", n, n)
        if self.kind == "sum":
            axis = {"all": None, "rows": 1, "columns": 0}[parts[3]]
            f = wrap((lambda x: lib.sum(x)) if axis is None else (lambda x: lib.sum(x, axis)))
            return lambda: (f(a),), lambda out: far(lib.host(out[0]), lib.host(a).sum(axis), 1e-4)
        if self.kind == "transpose":
            f = wrap(lib.turned)
            return lambda: (f(a),), lambda out: far(lib.host(out[0]), lib.host(a).T, 1e-6)
        f = wrap(lambda x, y: x.T + y)
        return lambda: (f(a, b),), lambda out: far(lib.host(out[0]), lib.host(a).T + lib.host(b), 1e-6)

    def make_map(self, wrap, dtype, n):
        np, lib = self.np, self.lib
        a, b, c = (self.normal(dtype, n) for _ in range(3))
        limit = 2e-5 if dtype == "float32" else 1.5e-2
        forms = {
            "multiply_add": (lambda a, b, c: a * b + c, lambda a, b, c: a * b + c),
            "add": (lambda a, b, c: a + b, lambda a, b, c: a + b),
            "gradient": (lambda a: a * a, None),
            "chain": (lambda a, b, c: lib.relu(a * b + a) - 0.5 * lib.tanh(b),
                      lambda a, b, c: np.maximum(a * b + a, 0) - 0.5 * np.tanh(b)),
            "map": (lambda a, b, c: lib.relu(a * b + c) - 0.5 * lib.tanh(a),
                    lambda a, b, c: np.maximum(a * b + c, 0) - 0.5 * np.tanh(a)),
        }
        name = self.parts[1] if self.kind == "launch" else "map" if self.kind == "map_gradient" else self.kind
        f, exact = forms[name]
        if name == "gradient":
            run = lib.with_gradients(wrap(f), [a], None)
            return run, lambda out: far(self.some(out[1]), 2 * self.some(a), limit)
        if self.kind != "map_gradient":
            f = wrap(f)
            return lambda: (f(a, b, c),), lambda out: far(self.some(out[0]), exact(*map(self.some, (a, b, c))), limit)

        def wrong(out):
            x, y, z = map(self.some, (a, b, c))
            on = (x * y + z > 0).astype("float64")
            wanted = (on * y - 0.5 / np.cosh(x) ** 2, on * x, on)
            clear = np.abs(x * y + z) > (1e-4 if dtype == "float32" else 0.1)  # of relu's kink, where rounding decides
            return "".join(far(self.some(got)[clear], want[clear], limit) for got, want in zip(out[1:], wanted))
        return lib.with_gradients(wrap(f), [a, b, c], None), wrong

    def make_rows(self, wrap, dtype, rows, columns, both):
        np, lib = self.np, self.lib
        x, limit = self.normal(dtype, rows, columns), 2e-5 if dtype == "float32" else 1.5e-2
        f = wrap(getattr(lib, self.kind))
        step = max(1, rows // 16)
        few = lambda t: lib.host(t[::step])

        def norm(v, eps, centred):
            v = v - v.mean(1, keepdims=True) if centred else v
            by = 1 / np.sqrt((v * v).mean(1, keepdims=True) + eps)
            return v * by, by

        def exact(v, g):
            if self.kind == "logsumexp":
                y = np.log(np.exp(v).sum(1))
                return y, None if g is None else g[:, None] * np.exp(v - y[:, None])
            if self.kind == "softmax":
                y = np.exp(v)
                y /= y.sum(1, keepdims=True)
                return y, None if g is None else y * (g - (y * g).sum(1, keepdims=True))
            centred = self.kind == "layer_norm"
            y, by = norm(v, 1e-5 if centred else 1e-6, centred)
            if g is None:
                return y, None
            return y, by * (g - (g.mean(1, keepdims=True) if centred else 0) - y * (g * y).mean(1, keepdims=True))
        if not both:
            return lambda: (f(x),), lambda out: far(few(out[0]), exact(few(x), None)[0], limit)
        g = self.normal(dtype, *([rows] if self.kind == "logsumexp" else [rows, columns]))

        def wrong(out):
            y, slope = exact(few(x), few(g))
            return far(few(out[0]), y, limit) + far(few(out[1]), slope, 2 * limit)
        return lib.with_gradients(f, [x], g), wrong

    def make_embedding(self, wrap, rows, skewed, both):
        np, lib = self.np, self.lib
        n, columns = 500 if os.environ.get("KILN_BENCH_TINY") else 65536, 128
        drawn = self.draw.random(n)
        at = np.minimum((np.exp(drawn * np.log(rows)) - 1 if skewed else drawn * rows).astype("int64"), rows - 1)
        index, table = lib.array(at, "int64"), self.normal("float32", rows, columns)
        by = self.normal("float32", n, columns)
        if not both:
            f = wrap(lambda table, index: lib.rows_of(index, table))
            return (lambda: (f(table, index),),
                    lambda out: far(lib.host(out[0][:, ::16]), lib.host(table[:, ::16])[at], 0))

        def wrong(out):
            wanted = np.zeros((rows, 8))
            np.add.at(wanted, at, lib.host(by[:, ::16]))
            return far(lib.host(out[1][:, ::16]), wanted, 2e-5)
        return lib.with_gradients(wrap(lambda table: lib.sum(lib.rows_of(index, table) * by)), [table], None), wrong

    def make_chain(self, wrap, n, length=64):
        lib = self.lib
        by, f, start = self.normal("float32", n), wrap(lambda x, y: x + y), wrap(lambda y: y * 0)

        def run():
            x = start(by)
            for _ in range(length - 1):
                x = f(x, by)
            return (x,)
        return run, lambda out: far(lib.host(out[0]), (length - 1) * lib.host(by), 2e-5)

    def make_product(self, wrap, dtype, m, k, n, with_bias):
        lib = self.lib
        element = "float32" if dtype == "tf32" else dtype
        lib.tf32(dtype == "tf32")
        a, b = self.normal(element, m, k), self.normal(element, k, n)
        bias = self.normal(element, n) if with_bias else None
        limit = {"float32": 2e-5, "tf32": 2e-3}.get(dtype, 1.5e-2)
        f = wrap(lib.product)

        def wrong(out):
            rows, columns = max(1, m // 7), max(1, n // 7)
            wanted = lib.host(a[::rows]) @ lib.host(b[:, ::columns])
            if bias is not None:
                wanted = wanted + lib.host(bias[::columns])
            return far(lib.host(out[0][::rows, ::columns]), wanted, limit)
        return lambda: (f(a, b, bias),), wrong

    def make_attention(self, wrap, dtype, shape, causal, both):
        np, lib = self.np, self.lib
        q, k, v, g = (self.normal(dtype, *shape) for _ in range(4))
        f, limit = wrap(lib.attention(causal)), 1.5e-2
        last = lambda x: lib.host(x[-1, -1])  # the last head of the last batch, by definition

        def wrong(out):
            a, b, c, d = map(last, (q, k, v, g))
            by = 1 / np.sqrt(shape[-1])
            weights = a @ b.T * by
            if causal:
                weights[np.triu_indices(shape[2], 1)] = -np.inf
            weights = np.exp(weights - weights.max(1, keepdims=True))
            weights /= weights.sum(1, keepdims=True)
            y = weights @ c
            if not both:
                return far(last(out[0]), y, limit)
            slopes = weights * (d @ c.T - (y * d).sum(1, keepdims=True)) * by
            wanted = (y, slopes @ b, slopes.T @ a, weights.T @ d)
            return "".join(far(last(got), want, 2 * limit) for got, want in zip(out, wanted))
        return lib.with_gradients(f, [q, k, v], g) if both else lambda: (f(q, k, v),), wrong

    def make_network(self, wrap):
        np, lib = self.np, self.lib
        self.clock = "whole"
        lib.tf32(False)
        x = self.draw.random((64, SIZES[0]), dtype="float32")
        target = np.eye(SIZES[-1], dtype="float32")[self.draw.integers(0, SIZES[-1], 64)]
        start = []
        for rows, columns in zip(SIZES, SIZES[1:]):
            start.append(self.draw.standard_normal((rows, columns), dtype="float32") * np.float32(np.sqrt(2 / rows)))
            start.append(np.zeros(columns, dtype="float32"))

        def wrong(out):  # the loss of the first step
            h = x.astype("float64")
            for i in range(4):
                h = h @ start[2 * i].astype("float64") + start[2 * i + 1]
                h = np.maximum(h, 0) if i < 3 else h
            logs = h - np.log(np.exp(h).sum(1, keepdims=True))
            return far(lib.host(out[0]), -(logs * target).sum(1).mean(), 1e-4)
        arrays = [lib.array(v.copy(), "float32") for v in start]
        return lib.step(wrap, lib.array(x, "float32"), lib.array(target, "float32"), arrays, 0.05), wrong


def measure(case, wrap, repetitions, least):
    run, wrong = case.make(wrap)
    error = wrong(run())
    if error:
        return {"error_occurred": True, "error_message": error}
    once = max(case.lib.seconds(run, 3, case.clock), 1e-7)
    batch = min(400, max(1, int(least / once)))
    case.lib.seconds(run, batch, case.clock)
    times = [case.lib.seconds(run, batch, case.clock) * 1e6 for _ in range(repetitions)]
    return {"aggregate_name": "median", "repetitions": repetitions, "time_unit": "us",
            "real_time": statistics.median(times), "cpu_time": statistics.median(times)}


def is_for(lib, variant, contest):
    kind = contest.split("/")[0]
    # The network is measured once, under mlp/eager, and the chain under chain/stream.
    if kind == "compile" or contest.startswith(("mlp/graph", "chain/graph")):
        return False
    if kind == "attention" and lib.attention is None:
        return False
    if lib.with_gradients is None and ("gradient" in contest or contest.endswith("/both") or kind == "mlp" or
                                       "bfloat16" in contest or "tf32" in contest):
        return False
    return not (kind == "launch" and variant == "torch_compile")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["torch", "jax", "cupy"])
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--device", default="")
    parser.add_argument("--compiled-first", action="store_true", help="torch.compile before eager, for short budgets")
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        lib = {"torch": Torch, "jax": Jax, "cupy": Cupy}[options.library](options.device)
    except Exception as problem:  # whatever a broken installation throws
        print(f"peers.py: {options.library} was not found: {problem}")
        return 3
    with sys.stdin if options.cases == "-" else open(options.cases) as lines:
        contests = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
    found, left_out = [], []
    least = 1e-5 if os.environ.get("KILN_BENCH_TINY") else 4e-3

    def save():
        with open(options.out, "w") as out:
            json.dump({"context": {lib.name: lib.version, "left_out": left_out}, "benchmarks": found}, out, indent=1)
    for variant, wrap in reversed(lib.variants()) if options.compiled_first else lib.variants():
        for contest in contests:
            if not is_for(lib, variant, contest):
                continue
            name = f"{contest}/{variant}"
            if time.perf_counter() - start > options.seconds:
                left_out.append(name)
                continue
            try:
                result = measure(Case(lib, contest), wrap, options.repetitions, least)
            except Exception as problem:
                result = {"error_occurred": True, "error_message": f"{type(problem).__name__}: {problem}"[:300]}
            found.append({"name": name, "run_name": name, **result})
            text = result.get("error_message") or f"{result['real_time']:.5g} us"
            print(f"{name}: {text.splitlines()[0]}", flush=True)
            save()
    save()
    if left_out:
        print(f"peers.py: out of time, left out: {' '.join(left_out)}")
    failed = [entry["name"] for entry in found if "error_message" in entry]
    if failed:
        print(f"peers.py: without a figure: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
