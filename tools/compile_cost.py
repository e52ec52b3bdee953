#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The gate on compile cost: counts template instantiations and bytes of machine code, which repeat exactly, in place of
seconds, which don't.

tools/compile_cost.py check BASELINE FOLDER CLANG FLAG...     compares with BASELINE; exits 1 if a file costs 3 % more
tools/compile_cost.py update BASELINE FOLDER CLANG FLAG...    writes BASELINE anew
tools/compile_cost.py empty FILE COMPILER FLAG...             exits 1 if FILE, which only includes, emits code to speak of

FOLDER holds the programs. Those named deep_N (an expression of N ops) must also grow in a straight line: the step from the
second to the third may be 10 % above that from the first to the second. The counts belong to one compiler, Eigen and
standard library; with others the comparison is skipped (status 77), the straight line is not.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

counted = ("Total InstantiateClass", "Total InstantiateFunction")
weighed = ("backward", "chain_50", "deep_1")
allowed = 1.03
bent = 1.10
skipped = 77
most_of_nothing = 1024  # bytes: what registers a handler of forks


def versions(command):
    """What the counts depend on besides our own code."""
    source = "#include <Eigen/Core>\nEIGEN_WORLD_VERSION EIGEN_MAJOR_VERSION EIGEN_MINOR_VERSION _GLIBCXX_RELEASE\n"
    result = subprocess.run([*command, "-E", "-P", "-x", "c++", "-"], input=source, text=True, capture_output=True,
                            check=True)
    compiler = subprocess.run([command[0], "--version"], text=True, capture_output=True, check=True).stdout
    return f"{compiler.splitlines()[0]}; Eigen and libstdc++ {result.stdout.strip().splitlines()[-1]}"


def instantiations(file, command):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "unit.o"
        subprocess.run([*command, "-O0", "-ftime-trace", "-ftime-trace-granularity=0", "-c", str(file), "-o", str(target)],
                       check=True)
        events = json.loads(target.with_suffix(".json").read_text())["traceEvents"]
    return sum(event["args"]["count"] for event in events if event["name"] in counted)


def emitted_bytes(file, command):
    """Machine code and constants of a file."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "unit.o"
        subprocess.run([*command, "-O2", "-c", str(file), "-o", str(target)], check=True)
        sizes = subprocess.run(["size", str(target)], check=True, text=True, capture_output=True).stdout
    return int(sizes.splitlines()[1].split()[0])


def not_straight(counts):
    """What is wrong with the growth over deep_N, in words; None if nothing is or there are fewer than three."""
    points = sorted((int(found[1]), count) for name, count in counts.items() if (found := re.match(r"deep_(\d+)", name)))
    if len(points) < 3:
        return None
    (a, at_a), (b, at_b), (c, at_c) = points[:3]
    first, second = (at_b - at_a) / (b - a), (at_c - at_b) / (c - b)
    if second > bent * first:
        return f"cost per op grows with depth: {first:.0f} instantiations from {a} to {b} ops, {second:.0f} from {b} to {c}"


def compare(counts, baseline):
    """One line per file; those that cost too much, or are in one list only, come with !."""
    for name in sorted(counts.keys() | baseline.keys()):
        now, then = counts.get(name), baseline.get(name)
        if now is None or then is None:
            yield f"! {name}: {then} -> {now}: run tools/compile_cost.py update"
        else:
            yield f"{'!' if now > allowed * then else ' '} {name}: {then} -> {now} ({now / then - 1:+.1%})"


def empty(file, *command):
    """A sentence if a file that only includes emits code; else None."""
    found = emitted_bytes(file, command)
    if found > most_of_nothing:
        return (f"{Path(file).name} emits {found} bytes where {most_of_nothing} are allowed: a static object, or a class "
                "whose first virtual function that is not inline in it (its key function) is defined in a header")
    return None


def main(mode, baseline_file, folder, *command):
    files = sorted(Path(folder).glob("*.cpp"))
    counts = {file.name: instantiations(file, command) for file in files}
    one_processor = [*command, "-march=x86-64-v3"]  # so that they repeat everywhere
    sizes = {file.name: emitted_bytes(file, one_processor) for file in files if file.stem in weighed}
    current = {"measured with": versions(command), "instantiations": counts, "bytes": sizes}
    if mode == "update":
        Path(baseline_file).write_text(json.dumps(current, indent=2) + "\n")
        return print(json.dumps(current, indent=2))
    complaint = not_straight(counts)
    if complaint:
        return complaint
    if not Path(baseline_file).exists():
        print(f"not compared: no {baseline_file}; tools/compile_cost.py update writes it")
        return skipped
    baseline = json.loads(Path(baseline_file).read_text())
    if baseline["measured with"] != current["measured with"]:
        print(f"not compared: the baseline is of {baseline['measured with']}, this is {current['measured with']}")
        return skipped
    lines = ["instantiations", *compare(counts, baseline["instantiations"])]
    lines += ["bytes of machine code", *compare(sizes, baseline["bytes"])]
    print("\n".join(lines))
    return int(any(line.startswith("!") for line in lines))


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("check", "update", "empty"):
        sys.exit(__doc__)
    if sys.argv[1] == "empty":
        sys.exit(empty(*sys.argv[2:]))
    sys.exit(main(*sys.argv[1:]))
