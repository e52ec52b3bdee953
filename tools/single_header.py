#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes kiln and all that it includes of its own as one file: tools/single_header.py INCLUDE OUT [HEADER...]

HEADERs are the umbrellas to be in it, by default kiln/kiln.hpp; `kiln/nn.hpp kiln/optim.hpp` behind it add models and
optimizers. A header stands where it is first included, between a guard of its own in place of #pragma once. What is
included only behind a condition (the interpreter, backends that a build names) stands there, and again where it is
included without. It is for headers alone, so that parts which kiln::compiled would bring are in it without condition.
Includes of other libraries stay where they are.
"""
import re
import sys
from pathlib import Path

include_line = re.compile(r'^[ \t]*#[ \t]*include[ \t]*<(kiln/[^>]+)>.*$')
guard_line = re.compile(r"^#pragma once\b.*$")


def amalgam(root, wanted):
    root = Path(root)
    done = set()  # what stands in the text without a condition around it
    out = []

    def put(header, behind, stack):
        if header in done or header in stack:
            return
        if not behind:
            done.add(header)
        guard = "KILN_SINGLE_" + re.sub(r"\W", "_", header).upper()
        out.append(f"#ifndef {guard}\n#define {guard}")
        conditions = []  # of this header: "holds" for one that always does here, which becomes "not" behind its #else
        for line in (root / header).read_text().splitlines():
            word = next(iter(re.findall(r"^\s*#\s*(if|else|endif)", line)), "")
            if word == "if":
                conditions.append("holds" if re.match(r"#ifndef KILN_COMPILED\b", line) else "open")
            elif word == "else" and conditions[-1] == "holds":
                conditions[-1] = "not"
                continue
            left = conditions.pop() if word == "endif" else conditions[-1] if word == "if" else "open"
            if left != "open" or "not" in conditions:
                continue
            if found := include_line.match(line):
                put(found[1], behind or "open" in conditions, stack | {header})
            elif not guard_line.match(line) and not line.startswith("// SPDX"):
                out.append(line)
        out.append(f"#endif  // {header}")

    for header in wanted:
        if not (root / header).exists():
            sys.exit(f"single_header: there is no {root / header}")
        put(header, 0, frozenset())
    licence = "// SPDX-License-Identifier: BSL-1.0\n"
    head = f"// {', '.join(wanted)}, with all that they include, written by tools/single_header.py.\n#pragma once\n"
    head += '#ifdef KILN_COMPILED\n#error "this one file is kiln by headers alone: leave KILN_COMPILED and its library out"\n#endif\n'
    return licence + head + re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = amalgam(sys.argv[1], sys.argv[3:] or ["kiln/kiln.hpp"])
    Path(sys.argv[2]).write_text(text)
    print(f"{sys.argv[2]}: {len(text) // 1024} KiB, {text.count(chr(10))} lines")
