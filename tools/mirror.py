#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that tests mirror headers: tools/mirror.py PROJECT

Each include/kiln/X.hpp has its tests/X.test.cpp, which tests X_impl.hpp too, the second part of X.hpp. tests/unmirrored.txt lists the exceptions, one "X.hpp: reason" a line;
one that is no longer needed, or gives no reason, is a breach too. Prints one line per breach and exits 1 if any.
"""
import sys
from pathlib import Path


def exceptions_of(project):
    file = Path(project) / "tests/unmirrored.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    parted = (line.partition(":") for line in lines if line.strip() and not line.startswith("#"))
    return {header.strip(): reason.strip() for header, _, reason in parted}


def check(project):
    project = Path(project)
    headers = {file.relative_to(project / "include/kiln") for file in project.glob("include/kiln/**/*.hpp")
               if not file.name.endswith("_impl.hpp")}
    bare = {str(header) for header in headers if not (project / "tests" / header.with_suffix(".test.cpp")).exists()}
    exceptions = exceptions_of(project)
    breaches = [] if headers else [f"{project}/include/kiln: no headers"]
    breaches += [f"include/kiln/{header}: tests/{header.removesuffix('.hpp')}.test.cpp is missing"
                 for header in sorted(bare - exceptions.keys())]
    breaches += [f"tests/unmirrored.txt: {header} needs no exception" for header in sorted(exceptions.keys() - bare)]
    breaches += [f"tests/unmirrored.txt: {header} gives no reason" for header, why in exceptions.items() if not why]
    return breaches


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = check(sys.argv[1])
    print("\n".join(result) or "mirror: every header has its test")
    sys.exit(bool(result))
