#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What kiln costs to compile and to ship: seconds of g++ for every program of this folder and for the example mnist_mlp,
with the headers alone and with the library kiln::compiled and a precompiled header, peak memory, and the size and start
of a stripped mnist_mlp. Prints Markdown. The gate is elsewhere: the test compile_cost counts what repeats exactly.

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
BASE = [os.environ.get("CXX", "g++"), "-std=c++20", "-march=native", f"-I{ROOT}/include", "-isystem",
        os.environ.get("EIGEN", "/usr/include/eigen3")]
COMMAND = [*BASE, "-O2"]
# What a user chooses: flags, and whether <kiln/kiln.hpp> is precompiled.
MODES = {"headers": (COMMAND, False),
         "compiled, precompiled": ([*COMMAND, "-DKILN_COMPILED"], True),
         "the same, -O0 -g, interpreted": ([*BASE, "-O0", "-g", "-DKILN_COMPILED", "-DKILN_INTERPRET"], True)}
MNIST = ROOT / "examples/mnist_mlp/main.cpp"
# Seconds, by program and mode; the last mode has one for all.
TARGETS = {"deep_1": (2.5, 1.2, 1.5), "backward": (4.0, 2.5, 1.5), "chain_50": (None, None, 1.5),
           "mnist_mlp": (7.0, 4.0, 1.5)}


def compile_once(command, file):
    """(seconds of processor time, which a busy machine stretches least; peak MB) of one compilation."""
    child = subprocess.Popen([*command, "-c", str(file), "-o", os.devnull])
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"seconds.py: {file} does not compile")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def precompiled(command, folder, number):
    """The flags that use <kiln/kiln.hpp>, precompiled in a folder."""
    header = Path(folder) / f"all_{number}.hpp"
    header.write_text("#include <kiln/kiln.hpp>\n")
    subprocess.run([*command, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)
    return ["-include", str(header)]


def deploy():
    """(MB, ms from start to exit of --help) of a stripped mnist_mlp."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/mnist_mlp"
        subprocess.run([*COMMAND, *map(str, MNIST.parent.glob("*.cpp")),
                        *map(str, MNIST.parent.parent.glob("support/*.cpp")), "-o", program, "-s", "-lz", "-pthread"], check=True)
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
    with tempfile.TemporaryDirectory() as folder:
        commands = {mode: [*flags, *(precompiled(flags, folder, i) if pre else [])]
                    for i, (mode, (flags, pre)) in enumerate(MODES.items())}
        found = {(name, mode): [] for name in files for mode in MODES}
        for _ in range(rounds):
            for name, file in files.items():
                for mode, command in commands.items():
                    if name != "eigen_only" or mode == "headers":
                        found[name, mode].append(compile_once(command, file))
    seconds = {at: statistics.median(s for s, _ in runs) for at, runs in found.items() if runs}
    memory = {at: statistics.median(mb for _, mb in runs) for at, runs in found.items() if runs}

    def cell(name, mode, target):
        if (name, mode) not in seconds:
            return ""
        value = f"{seconds[name, mode]:.2f}"
        return value if target is None else f"{value} ({target})" if seconds[name, mode] <= target else f"**{value}** ({target})"

    print(f"| program | {' | '.join(MODES)} | peak MB, headers |\n|---|{'---|' * len(MODES)}---|")
    for name in files:
        targets = TARGETS.get(name, (None,) * len(MODES))
        cells = [cell(name, mode, target) for mode, target in zip(MODES, targets)]
        print(f"| {name} | {' | '.join(cells)} | {memory[name, 'headers']:.0f} |")
    umbrella = seconds["umbrella", "headers"] - seconds["eigen_only", "headers"]
    chain = seconds["chain_50", "headers"] - seconds["deep_1", "headers"]
    print(f"\n`kiln.hpp` costs {umbrella:.2f} s over Eigen/Core (target 0.5); 50 operations {chain:.2f} s over one "
          "(target 0.5).")
    if MNIST.exists():
        size, start = deploy()
        print(f"\n`mnist_mlp`, stripped: {size:.2f} MB (target 3), starts in {start:.1f} ms (target 10).")


if __name__ == "__main__":
    main()
