#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that the tests which docs/promises.md names are there: tools/promises.py PROJECT

Each item of a list is a sentence, followed by at least one `*file: test*`: a test case of a doctest file, or a test that a
CMakeLists.txt adds. Prints one line per promise without a test, and per test that is not there; exits 1 if there is any.
"""
import re
import sys
from pathlib import Path


def names_in(file):
    text = file.read_text()
    if file.name == "CMakeLists.txt":
        return set(re.findall(r"add_test\(\s*NAME\s+(\S+)", text))
    # A name may be cut into literals, which the compiler joins.
    found = re.findall(r'TEST_CASE(?:_TEMPLATE)?\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', text)
    return {"".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)) for literals in found}


def check(project):
    page = Path(project) / "docs/promises.md"
    breaches, known = [], {}
    items = re.split(r"^- ", page.read_text(), flags=re.M)[1:]
    for item in items:
        item = re.split(r"\n(?=#)", item)[0]
        sentence = " ".join(item.split("*")[0].split())
        tests = re.findall(r"\*([^*:]+): ([^*]+)\*", item)
        if not tests:
            breaches.append(f"no test holds: {sentence}")
        for name, test in tests:
            file = Path(project) / name
            if name not in known:
                known[name] = names_in(file) if file.is_file() else set()
            if " ".join(test.split()) not in known[name]:
                breaches.append(f"{name} has no test `{' '.join(test.split())}`, which is to hold: {sentence}")
    return breaches if items else [f"{page}: no promises"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    result = check(sys.argv[1])
    print("\n".join(result) or "promises: each has its test")
    sys.exit(bool(result))
