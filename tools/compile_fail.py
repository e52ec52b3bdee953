#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that a mistake is refused with a sentence: tools/compile_fail.py FILE COMPILER FLAG...

FILE starts with `// expect: sentence`. It is compiled twice, syntax only: as it stands it must build (else any broken
header would pass for a refusal), with -DEXPECT_ERROR it must fail and print the sentence. Exits 1 with the compiler's
words when either goes otherwise.
"""
import subprocess
import sys
from pathlib import Path


def compiled(file, command):
    result = subprocess.run([*command, "-fsyntax-only", str(file)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return result.returncode == 0, result.stdout


def check(file, command):
    """None when all is well, else what is not."""
    first = Path(file).read_text().partition("\n")[0]
    mark, _, sentence = first.partition("expect:")
    sentence = sentence.strip()
    if mark.strip() != "//" or not sentence:
        return f"{file}:1: the first line is not `// expect: sentence`"
    built, words = compiled(file, command)
    if not built:
        return f"{file}: does not build even without the mistake:\n{words}"
    built, words = compiled(file, [*command, "-DEXPECT_ERROR"])
    if built:
        return f"{file}: the mistake compiles"
    if sentence not in words:
        return f"{file}: refused, but without the sentence `{sentence}`:\n{words}"
    print(f"refused in {len(words.splitlines())} lines: {sentence}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(check(sys.argv[1], sys.argv[2:]))
