#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks that every header compiles alone: tools/headers_alone.py INCLUDE COMPILER FLAG...

Two questions, since each by itself takes few compiles:
- Does a header include what it uses of our own? All are parts of one module of clang's (the compiler, if it is one, else
  clang++), in which a part sees what it includes and no more, beside a module of whatever comes from outside.
- Does it bring what it uses from outside? Headers are compiled behind each other, each only behind those that bring no
  file from outside which it would not bring itself; what most have in common is read once, as a precompiled header.
  clang++ reads these too, in less than g++'s time. The compiler named reads what asks for the compiler as well.
First and second parts (*_impl.hpp) are compiled as the library's: what a second part brings must not be needed by the
first. That both together are in order is tests/link's to say. What needs a library that is not installed is left out: a
header that asks `#if !__has_include(<mpi.h>)`, and what includes it. Exits 1 with the compiler's words when a header
fails, 77 where there is no clang++.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

directive = re.compile(r'^[ \t]*#[ \t]*(if\w*|endif|include)\b[ \t]*(.*)', re.M)
skipped = 77


def includes(text):
    """What a header includes for certain, and what behind a condition; without second parts, which are not compiled."""
    conditions, certain, perhaps = [], [], []
    for word, rest in directive.findall(text):
        if word == "endif":
            conditions and conditions.pop()
        elif word != "include":
            conditions.append((word, rest))
        elif ("ifndef", "KILN_COMPILED") not in conditions:
            (perhaps if conditions else certain).append(re.split(r'[<">]', rest)[1])
    return certain, perhaps


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
    """As few as can be, and of those the ones whose last headers come last in the list: a matching of each with one that
    brings it, by augmenting paths (Kuhn)."""
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


def files_of(name, command):
    """The files that a header from outside brings; None if it is not there."""
    result = subprocess.run([*command, "-M", "-x", "c++", "-"], input=f"#include <{name}>\n", text=True, capture_output=True)
    return None if result.returncode else {os.path.realpath(f) for f in result.stdout.split()[1:] if f not in ("\\", "-")}


def words_of(command):
    """None if it compiles, else what the compiler says."""
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.stdout if result.returncode else None


no_instances = "#include <no_instances.hpp>\n"


def words_of_end(command, end):
    """The same for what ends by asking for a file that is not there: after a fatal error clang makes no instances of
    templates, which take half the time and need no header of their own."""
    words = words_of(command) or f"clang++ took no notice of {end}"
    errors = re.findall(r"^.* error: .*$", words, re.M)
    return None if len(errors) == 1 and errors[0].startswith(f"{end}:") else words


def one_module(headers, outside, root, command, folder):
    """Headers that lack one of our own, in words. Every part starts with all that comes from outside."""
    copy = Path(folder) / "module"
    shutil.copytree(root, copy)
    for header in headers:
        (copy / header).write_text("#include <all_from_outside.hpp>\n#line 1\n" + (root / header).read_text())
    (copy / "all_from_outside.hpp").write_text("#pragma once\n" + "".join(f"#include <{name}>\n" for name in outside))
    (copy / "end.hpp").write_text(no_instances)
    parts = "".join(f'  module "{re.sub(r"[^a-zA-Z0-9]", "_", h)}" {{ header "{copy / h}" export * }}\n'
                    for h in [*headers, "end.hpp"])
    (copy / "module.modulemap").write_text(
        f'module outside [system] {{ header "{copy}/all_from_outside.hpp" export * }}\nmodule ours {{\n{parts}}}\n')
    return words_of_end([*command, f"-I{copy}", "-fmodules", f"-fmodules-cache-path={folder}/cache", "-fmodule-name=ours",
                         "-Xclang", "-fmodules-local-submodule-visibility", "-x", "c++", "-Xclang", "-emit-module", "-c",
                         f"{copy}/module.modulemap", "-o", f"{folder}/ours.pcm"], f"{copy}/end.hpp:1")


def one_base(headers, command, folder):
    """What a precompiled header of some headers is included with, and what they lack from outside, in words."""
    source = Path(folder) / "base.hpp"
    source.write_text("#pragma once\n" + "".join(f"#include <{header}>\n" for header in headers))
    words = words_of([*command, "-x", "c++-header", str(source), "-o", f"{source}.pch"])
    return ["-include-pch", f"{source}.pch"], words


def one_unit(chain, command, folder):
    """Headers of a chain that lack one from outside, in words."""
    source = Path(folder) / (re.sub(r"\W", "_", chain[-1]) + ".cpp")
    source.write_text("".join(f"#include <{header}>\n" for header in chain) + no_instances)
    return words_of_end([*command, "-fsyntax-only", str(source)], f"{source}:{len(chain) + 1}")


def other_words(header, command, folder):
    """What a compiler other than clang says of a header, without instances as well."""
    source = Path(folder) / (re.sub(r"\W", "_", header) + "_alone.cpp")
    source.write_text(f"#include <{header}>\n")
    return words_of([*command, "-fno-implicit-templates", "-fsyntax-only", str(source)])


def main(include, command):
    root = Path(include).resolve()
    text = {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*.hpp"))}
    if not text:
        return f"headers_alone: no headers below {include}"
    clang = command[0] if "clang" in Path(command[0]).name else shutil.which("clang++")
    if not clang:
        print("headers_alone: skipped, since it asks clang++ which header sees which, and there is none")
        return skipped
    certain, perhaps = ({h: includes(t)[i] for h, t in text.items()} for i in (0, 1))
    brought = closures(certain)
    left_out = without(text, brought, command)
    headers = [h for h in text if h not in left_out]
    jobs = int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or os.cpu_count() or 1)
    command = [*command, "-DKILN_COMPILED"]
    others = [h for h in headers if "__clang__" in text[h] or "__GNUC__" in text[h]] if clang != command[0] else []
    own = [*command, f"-I{root}"]
    alone = [clang, *own[1:]]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        outside = sorted({n for h in headers for n in certain[h] + perhaps[h] if n not in text and not (root / n).exists()})
        files = dict(zip(outside, pool.map(lambda name: files_of(name, alone), outside)))
        module = pool.submit(one_module, headers, [n for n in outside if files[n]], root, [clang, *command[1:]], folder)
        # What a header may bring behind a condition is told apart by the header that has the condition.
        brings = {h: set().union(*(files.get(n) or () for k in brought[h] | {h} for n in certain[k]),
                                 ((k, n) for k in brought[h] | {h} for n in perhaps[k])) for h in headers}
        alike = {}  # headers by what they bring
        for header in headers:
            alike.setdefault(frozenset(brings[header]), []).append(header)
        base = max(alike, key=lambda each: len(each) * sum(each <= other for other in alike))
        with_base, base_words = one_base(alike[base], alone, folder)
        over = [each for each in alike if base < each]
        found = []
        for some, flags in (over, with_base), ([each for each in alike if not base <= each], []):
            below = {each: {less for less in some if less < each} for each in some}
            found += [([h for each in chain for h in alike[each]], [*alone, *flags])
                      for chain in chains(sorted(some, key=len, reverse=True), below)]
        found.sort(key=lambda unit: -len(set().union(*(brought[h] for h in unit[0]))))
        units = [] if base_words else list(pool.map(lambda unit: one_unit(*unit, folder), found))
        units += pool.map(lambda header: other_words(header, own, folder), others)
        failures = [words for words in [module.result(), base_words, *units] if words]
    if failures:
        return "\n".join(failures)
    print(f"headers_alone: {len(headers)} headers in a module and {len(found)} units"
          + (f"; left out without their libraries: {', '.join(sorted(left_out))}" if left_out else ""))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.setrecursionlimit(10_000)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
