#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that every header compiles alone: tools/headers_alone.py INCLUDE COMPILER FLAG...

Headers are compiled in chains, each of which includes the one before: what that one brings, the next would have brought
itself, so that nothing is there which it would lack alone. For the same reason all that bring the header which saves
most start from that one, compiled beforehand. First and second parts (*_impl.hpp) are compiled as the library's, each
alone: what a second part brings must not be needed by the first. That both together are in order is tests/link's to say.
What needs a library that is not installed is left out: a header that asks `#if !__has_include(<mpi.h>)`, and what
includes it. Exits 1 with the compiler's words when a header fails.
"""
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

directive = re.compile(r'^[ \t]*#[ \t]*(if\w*|endif|include)\b[ \t]*(.*)', re.M)


def includes(text):
    """What a header includes for certain: not behind a condition. (Second parts are behind one.)"""
    conditions, found = [], []
    for word, rest in directive.findall(text):
        if word == "endif":
            conditions and conditions.pop()
        elif word != "include":
            conditions.append(rest)
        elif not conditions:
            found.append(re.split(r'[<">]', rest)[1])
    return found


wanted_elsewhere = re.compile(r"^#if !__has_include\(<([^>]+)>\)", re.M)


def without(text, brought, command):
    """Headers that need a file of another library which the compiler does not find, and those that include them."""
    wanted = {header: wanted_elsewhere.findall(t) for header, t in text.items()}
    there = {}
    for file in {name for names in wanted.values() for name in names}:
        result = subprocess.run([*command, "-x", "c++", "-fsyntax-only", "-"], input=f"#include <{file}>\n", text=True,
                                capture_output=True)
        there[file] = result.returncode == 0
    short = {header for header, names in wanted.items() if not all(there[name] for name in names)}
    return short | {header for header in text if brought[header] & short}


def closures(direct):
    """For each header, all that it brings."""
    known = {}

    def brought(header, above):
        if header not in known:
            below = [h for h in direct[header] if h in direct and h not in above]
            known[header] = set(below).union(*(brought(h, above | {header}) for h in below)) - {header}
        return known[header]

    for header in direct:
        brought(header, frozenset())
    return known


def chains(headers, brought):
    """As few as can be: a matching of headers with one that brings them, by augmenting paths (Kuhn)."""
    over = {h: [k for k in headers if h in brought[k] and k not in brought[h]] for h in headers}
    before = {}

    def augment(header, seen):
        for k in over[header]:
            if k in seen:
                continue
            seen.add(k)
            if k not in before or augment(before[k], seen):
                before[k] = header
                return True
        return False

    for header in headers:
        augment(header, set())
    after = {h: k for k, h in before.items()}
    for start in (h for h in headers if h not in before):
        chain = [start]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        yield chain


def groups(headers, brought, size, start=None):
    """Headers by the one they start from, compiled beforehand: (start, headers). What a start brings is not read again by
    those that bring it, so where they are many they are a group of their own, and so on within it and beside it. A start
    costs its own reading and its writing down; a chain of some four headers is one compile."""
    users = {h: [k for k in headers if h in brought[k] and k not in brought[h]] for h in headers}
    volume = {h: sum(size[k] for k in brought[h] | {h}) for h in headers}
    beneath = sum(size[k] for k in brought[start] | {start}) if start else 0
    gain = {h: len(users[h]) / 4 * (volume[h] - beneath) - 1.5 * volume[h] for h in headers}
    best = max(headers, key=gain.get)
    if gain[best] <= 0:
        return [(start, headers)]
    apart = set(users[best])
    rest = [h for h in headers if h not in apart]
    return groups(rest, brought, size, start) + groups(sorted(apart), brought, size, best)


def precompiled(header, command, folder):
    """The options that start a file from a header, or None if that does not compile: then a chain of its own says why."""
    start = Path(folder) / (re.sub(r"\W", "_", header) + "_start.hpp")
    start.write_text(f"#include <{header}>\n")
    result = subprocess.run([*command, "-x", "c++-header", str(start), "-o", f"{start}.gch"], capture_output=True)
    return None if result.returncode else ["-include", str(start)]


def words_about(chain, command, folder):
    """None if it compiles, else what the compiler says."""
    source = Path(folder) / (re.sub(r"\W", "_", chain[-1]) + ".cpp")
    source.write_text("".join(f"#include <{header}>\n" for header in chain))
    result = subprocess.run([*command, "-fsyntax-only", str(source)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return result.stdout if result.returncode else None


def main(include, command):
    root = Path(include)
    text = {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*.hpp"))}
    brought = closures({header: includes(t) for header, t in text.items()})
    left_out = without(text, brought, command)
    headers = [h for h in text if h not in left_out]
    if not headers:
        return f"headers_alone: no headers below {include}"
    jobs = int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or os.cpu_count() or 1)
    # Instances of templates are left out where that can be: they take half the time and need no header of their own.
    command = [*command, f"-I{root}", "-DKILN_COMPILED", "-fno-implicit-templates"]
    size = {h: len(t) for h, t in text.items()}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        found = groups(headers, brought, size)
        starts = list(pool.map(lambda group: group[0] and precompiled(group[0], command, folder), found))
        found = [(chain, [*command, *(options or [])]) for (start, group), options in zip(found, starts)
                 for chain in chains(group, brought)]
        found.sort(key=lambda each: -sum(size[h] for h in brought[each[0][-1]]))
        failures = [w for w in pool.map(lambda each: words_about(*each, folder), found) if w]
    if failures:
        return "\n".join(failures)
    print(f"headers_alone: {len(headers)} headers in {len(found)} compiles, from {sum(map(bool, starts))} common ones"
          + (f"; left out without their libraries: {', '.join(sorted(left_out))}" if left_out else ""))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.setrecursionlimit(10_000)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
