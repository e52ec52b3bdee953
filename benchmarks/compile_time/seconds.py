#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What kiln costs to compile and to ship: seconds and peak memory of g++ -O2 for every program of this folder and for
the example mnist_mlp, and the size and start of a stripped mnist_mlp. Prints Markdown. The gate is elsewhere: the test
compile_cost counts instantiations.

    seconds.py [ROUNDS]     3 rounds unless told, interleaved, medians

Environment: CXX (g++), EIGEN (/usr/include/eigen3).
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMMAND = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", f"-I{ROOT}/include", "-isystem",
           os.environ.get("EIGEN", "/usr/include/eigen3")]
MNIST = ROOT / "examples/mnist_mlp/main.cpp"
# In words, and as a condition on the seconds and the MB by program.
TARGETS = {"umbrella": ("at most 1.0 s over eigen_only, 350 MB",
                        lambda s, mb: s["umbrella"] - s["eigen_only"] <= 1.0 and mb["umbrella"] <= 350),
           "chain_50": ("at most 0.3 s over deep_1", lambda s, mb: s["chain_50"] - s["deep_1"] <= 0.3),
           "mnist_mlp": ("12 s, 1500 MB", lambda s, mb: s["mnist_mlp"] <= 12 and mb["mnist_mlp"] <= 1500)}


def compile_once(file):
    """(seconds of processor time, which a busy machine stretches least; peak MB) of one compilation."""
    child = subprocess.Popen([*COMMAND, "-c", str(file), "-o", os.devnull])
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"seconds.py: {file} does not compile")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def deploy():
    """(MB, ms from start to exit of --help) of a stripped mnist_mlp."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/mnist_mlp"
        subprocess.run([*COMMAND, *map(str, MNIST.parent.glob("*.cpp")), "-o", program, "-s", "-lz", "-pthread"], check=True)
        starts = []
        for _ in range(15):
            begin = time.perf_counter()
            subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL)
            starts.append(time.perf_counter() - begin)
        return os.path.getsize(program) / 1e6, statistics.median(starts) * 1e3


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    files = {file.stem: file for file in sorted(HERE.glob("*.cpp"))}
    if MNIST.exists():
        files["mnist_mlp"] = MNIST
    found = {name: [] for name in files}
    for _ in range(rounds):
        for name, file in files.items():
            found[name].append(compile_once(file))
    seconds = {name: statistics.median(s for s, _ in runs) for name, runs in found.items()}
    memory = {name: statistics.median(mb for _, mb in runs) for name, runs in found.items()}

    print("| program | seconds | peak MB | target | met |\n|---|---|---|---|---|")
    for name in files:
        target, test = TARGETS.get(name, ("", None))
        met = "" if test is None else "yes" if test(seconds, memory) else "**no**"
        print(f"| {name} | {seconds[name]:.2f} | {memory[name]:.0f} | {target} | {met} |")
    if MNIST.exists():
        size, start = deploy()
        print(f"\n`mnist_mlp`, stripped: {size:.2f} MB (target 3), starts in {start:.1f} ms (target 10).")


main()
