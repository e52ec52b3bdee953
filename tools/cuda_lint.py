#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles CUDA texts and looks at the machine code: tools/cuda_lint.py TEXTS PROJECT [ARCHITECTURE...]

For each kernel of TEXTS/*.cu and each architecture: no spills, and no stack but for the return from a call; static shared
memory that a kernel may declare; registers that leave room for half of a multiprocessor's threads (row programs, which
hold their row in registers, excepted), and for all threads in transposes, six of eight blocks in columns; in maps no instruction that waits for a load of 16 bytes between those of one
step: they are to be under way together; and in reductions of everything four such loads at once, in transposes two.
Needs nvcc and cuobjdump, from PATH, the usual folder of the toolkit, or KILN_CUDA_TOOLS=DIR:DIR; exits 77 without them.
Prints one line per breach and exits 1 if there is any.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

architectures = ["sm_80", "sm_90", "sm_100"]
most_shared, most_stack = 49152, 16
most_registers = {"kiln_transpose_": 32, "kiln_columns_": 40}
least_together = {"kiln_reduce_all_": 4, "kiln_transpose_": 2}
threads_of_a_multiprocessor, registers_of_a_multiprocessor = 2048, 65536

line = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
wide_load = re.compile(r"^(?:@!?\w+ )?LDG\.E\.(?:\w+\.)*(128)(?:\.\w+)*\s+R(\d+)")


def tool(name):
    folders = os.environ.get("KILN_CUDA_TOOLS", "").split(":") + ["/usr/local/cuda/bin"]
    return shutil.which(name) or next((found for folder in folders if folder and
                                       (found := shutil.which(name, path=folder))), None)


def together(instructions):
    """The most wide loads that are under way before an instruction reads what one of them brings."""
    most, loaded, count = 0, set(), 0
    for _, text in instructions:
        load = wide_load.match(text)
        if load:
            loaded |= set(range(int(load[2]), int(load[2]) + int(load[1]) // 32))
            count += 1
            most = max(most, count)
            continue
        parts = text.split(None, 1)
        read = parts[1].split(",", 1)[1] if len(parts) > 1 and "," in parts[1] else ""
        if loaded & {int(r) for r in re.findall(r"\bR(\d+)\b", read)}:
            loaded, count = set(), 0
    return most


def waits_between_loads(instructions):
    """Instructions that read what a wide load brings before the next wide load of the same straight run of code is
    under way: (load, reader, next load)."""
    loaded, reader = {}, None  # register -> the load that writes it
    for _, text in instructions:
        load = wide_load.match(text)
        if load:
            if reader:
                yield reader[0], reader[1], text
            first, count = int(load[2]), int(load[1]) // 32
            reader = None
            loaded.update({register: text for register in range(first, first + count)})
            continue
        body = text.split(None, 1)
        operands = body[1] if len(body) > 1 else ""
        # A jump ends the step, unless it is one over a load: those are what keeps loads apart.
        if re.match(r"(?:@!?\w+ )?(EXIT|RET|BAR)", text):
            loaded, reader = {}, None
            continue
        parts = operands.split(",", 1)
        read = {int(r) for r in re.findall(r"\bR(\d+)\b", parts[1] if len(parts) > 1 else "")}
        waited = [loaded[register] for register in read if register in loaded]
        if waited and reader is None:
            reader = (waited[0], text)
        written = re.match(r"(?:P\w+, )?R(\d+)", operands)
        if written:
            loaded.pop(int(written[1]), None)
        if re.match(r"(?:@!?\w+ )?STG", text):  # results go out: the step is over
            loaded, reader = {}, None


def breaches_of(cubin, cuobjdump, allowed):
    usage = subprocess.run([cuobjdump, "-res-usage", cubin], capture_output=True, text=True, check=True)
    for name, numbers in re.findall(r"Function (\w+):\s*\n\s*(.*)", usage.stdout + usage.stderr):
        facts = {key: int(value) for key, value in re.findall(r"(\w+):(\d+)", numbers)}
        if facts.get("STACK", 0) > most_stack or facts.get("LOCAL", 0):
            yield f"{name}: {facts.get('STACK', 0)} bytes of stack, {facts.get('LOCAL', 0)} of spills"
        if facts.get("SHARED", 0) > most_shared:
            yield f"{name}: {facts['SHARED']} bytes of shared memory, more than {most_shared}"
        for kind, most in most_registers.items():
            if name.startswith(kind) and facts.get("REG", 1) > most:
                yield f"{name}: {facts['REG']} registers, more than {most}: fewer blocks run at once"
        threads = registers_of_a_multiprocessor // max(facts.get("REG", 1), 1)
        if threads < threads_of_a_multiprocessor // 2 and not allowed:
            yield f"{name}: {facts['REG']} registers leave room for {threads} of {threads_of_a_multiprocessor} threads"
    code = subprocess.run([cuobjdump, "-sass", cubin], capture_output=True, text=True, check=True).stdout
    for function in code.split("Function : ")[1:]:
        name = function.split(None, 1)[0]
        instructions = line.findall(function)
        for kind, least in least_together.items():
            if name.startswith(kind) and together(instructions) < least:
                yield f"{name}: {together(instructions)} loads of 16 bytes under way together, not {least}"
        if not name.startswith("kiln_map_"):
            continue
        for load, reader, following in waits_between_loads(instructions):
            yield f"{name}: `{reader}` waits for `{load}` before `{following}` is under way"
            break


def check(texts, project, chosen):
    nvcc, cuobjdump = tool("nvcc"), tool("cuobjdump")
    if not nvcc or not cuobjdump:
        print("SKIPPED: nvcc or cuobjdump is not here")
        sys.exit(77)
    files = sorted(Path(texts).glob("*.cu"))
    breaches = [] if files else [f"{texts}: no texts"]
    # Row programs hold their row in registers, and say so in their launch bounds.
    holds_rows = re.compile(r"(warp|block)_per_row")
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            for architecture in chosen:
                cubin = f"{folder}/{file.stem}.{architecture}.cubin"
                made = subprocess.run([nvcc, f"-arch={architecture}", "-cubin", "-std=c++17", f"-I{project}", str(file),
                                       "-o", cubin], capture_output=True, text=True)
                if made.returncode:
                    breaches.append(f"{file.name}, {architecture}: does not compile: {made.stderr.strip()[:300]}")
                    continue
                allowed = bool(holds_rows.search(file.read_text()))
                breaches += [f"{file.name}, {architecture}: {words}" for words in breaches_of(cubin, cuobjdump, allowed)]
    return breaches, len(files)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    found, count = check(sys.argv[1], sys.argv[2], sys.argv[3:] or architectures)
    print("\n".join(found) or f"cuda_lint: {count} texts as they should be")
    sys.exit(bool(found))
