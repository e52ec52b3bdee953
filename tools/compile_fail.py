#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that mistakes are refused with sentences: tools/compile_fail.py [--precompiled HEADER] FILE COMPILER FLAG...

FILE starts with `// expect: sentence`, one such line for each mistake in it. It is compiled twice, syntax only: as it
stands it must build (else any broken header would pass for a refusal), with -DEXPECT_ERROR it must fail and print each
sentence, in 15 lines for each at most, or as many as `// expect in 30 lines: sentence` allows. What clang++ shows under
its messages (source, carets) and above them (who included whom) is not counted. A line `// with: FLAG...` after them adds
flags to the second time. Exits 1 with the compiler's words when anything goes otherwise.

HEADER has been compiled beforehand and holds kiln/tensor/tensor.hpp: files that begin with an include of that layer or
one above it start from there, unless they bring flags.
"""
import re
import subprocess
import sys
from pathlib import Path

usual = 15
expect_line = re.compile(r"// expect(?: in (\d+) lines)?: *(\S.*)")
# Nothing may stand above it that changes what it says.
starts_with_tensors = re.compile(r"(?:(?!#).*\n)*#include <kiln/(?:tensor|autograd|transform|nn|optim|io|data|kiln)[./]")


def compiled(file, command):
    result = subprocess.run([*command, "-fsyntax-only", str(file)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return result.returncode == 0, result.stdout


def expectations(text):
    """The sentences, the lines allowed for all of them, and the flags of the second time."""
    sentences, allowed, flags = [], 0, []
    for line in text.splitlines():
        if found := expect_line.match(line):
            sentences.append(found[2].strip())
            allowed += int(found[1] or usual)
        else:
            flags = line.removeprefix("// with:").split() if line.startswith("// with:") else []
            break
    return sentences, allowed, flags


def check(file, command, precompiled=None):
    """None when all is well, else what is not."""
    text = Path(file).read_text()
    sentences, allowed, flags = expectations(text)
    if precompiled and not flags and starts_with_tensors.match(text):
        command = [*command, "-include", precompiled]
    if not sentences:
        return f"{file}:1: the first line is not `// expect: sentence`"
    built, words = compiled(file, command)
    if not built:
        return f"{file}: does not build even without the mistake:\n{words}"
    terse = ["-fno-caret-diagnostics"] if "clang" in Path(command[0]).name else []
    built, words = compiled(file, [*command, *flags, *terse, "-DEXPECT_ERROR"])
    if built:
        return f"{file}: the mistake compiles"
    for sentence in sentences:
        if sentence not in words:
            return f"{file}: refused, but without the sentence `{sentence}`:\n{words}"
    lines = sum(not (terse and line.startswith("In file included from")) for line in words.splitlines())
    if lines > allowed:
        return f"{file}: refused in {lines} lines, where {allowed} are allowed:\n{words}"
    print(f"refused in {lines} lines:", *sentences, sep="\n")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    precompiled = None
    if arguments[:1] == ["--precompiled"]:
        precompiled, arguments = arguments[1], arguments[2:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    sys.exit(check(arguments[0], arguments[1:], precompiled))
