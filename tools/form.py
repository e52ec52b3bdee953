#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the outer form of headers and sources: tools/form.py PROJECT

Every C++ file starts with its licence line and stays within 120 columns. Headers say `#pragma once`, define no macro but
KILN_VERSION_* and KILN_INLINE, and have no `using namespace` outside a function. What uses vectors stands in the
namespace named after the instruction set. Streams that write text have the classic locale. A header of more than 400 lines is named, not refused.
Prints one line per breach and exits 1 if there is any.
"""
import re
import sys
from pathlib import Path

licence = "// SPDX-License-Identifier: BSL-1.0"
folders = ("include", "tests", "examples", "benchmarks")
stream = re.compile(r"\bstd::(?:ostringstream|stringstream|ofstream|fstream) +(\w+)(?!.*ios::binary)")
macro = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(?!KILN_(?:VERSION_(?:MAJOR|MINOR|PATCH|ISA)|INLINE)\b)(\w+)")
vectors = re.compile(r"\b(?:lanes<|vector_bytes\b|vector_size\b|_mm\d*_|__m(?:128|256|512))")
# At the start of a line or one scope in: a namespace, not the body of a function, is what users would inherit.
using = re.compile(r"^\s{0,1}using\s+namespace\b")


def check_file(file, name):
    lines = file.read_text().splitlines()
    # The first lines of a file in tests/fail say what its mistakes must be refused with.
    place = 0
    if name.startswith("tests/fail/"):
        said = (number for number, line in enumerate(lines) if not re.match(r"// (expect|with)\b.*:", line))
        place = max(next(said, 0), 1)
    if lines[place:place + 1] != [licence]:
        yield f"{name}:{place + 1}: this line is not `{licence}`"
    for number, line in enumerate(lines, 1):
        if len(line) > 120:
            yield f"{name}:{number}: {len(line)} columns, more than 120"
        if name.startswith("include/"):
            if found := macro.match(line):
                yield f"{name}:{number}: defines the macro {found[1]}; headers define none but KILN_VERSION_* and KILN_INLINE"
            if (found := stream.search(line)) and f"{found[1]}.imbue(std::locale::classic())" not in "".join(lines[number:number + 2]):
                yield f"{name}:{number}: {found[1]} writes numbers as the program's locale does, such as 1.024 for 1024"
            if using.match(line):
                yield f"{name}:{number}: `using namespace` in a header reaches every user"
    text = "\n".join(line.split("//")[0] for line in lines)
    if name.startswith("include/") and vectors.search(text) and "KILN_VERSION_ISA" not in text:
        yield f"{name}:1: uses vectors outside the inline namespace KILN_VERSION_ISA: units compiled with other flags clash"
    if name.startswith("include/") and "#pragma once" not in lines:
        yield f"{name}:1: `#pragma once` is missing"


    if name.startswith("include/") and name != "include/kiln/core/environment.hpp" and re.search(r"\bgetenv\(", text):
        yield f"{name}:1: calls getenv; core/environment.hpp is what leaves setuid programs without an environment"


def check(project):
    project, breaches, count = Path(project), [], 0
    for folder in folders:
        for file in sorted([*project.glob(f"{folder}/**/*.hpp"), *project.glob(f"{folder}/**/*.cpp")]):
            name = str(file.relative_to(project))
            breaches += check_file(file, name)
            count += 1
            length = len(file.read_text().splitlines())
            if name.startswith("include/") and length > 400:
                print(f"note: {name} has {length} lines; about 200 is usual")
    return breaches if count else [f"{project}: no C++ files"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = check(sys.argv[1])
    print("\n".join(result) or "form: as agreed")
    sys.exit(bool(result))
