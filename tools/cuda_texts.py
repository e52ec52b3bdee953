#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compiles the CUDA texts that tests collected with NVRTC, without a GPU: tools/cuda_texts.py TEXTS PROJECT [--all]

TEXTS/*.cu are written by the tests of the device Cuda (KILN_CUDA_TEXTS, tests/cuda_emulator/collected_texts.hpp), which
run them on the emulator. Each text is compiled for one of sm_80, sm_90, sm_100 and sm_120, chosen by its hash, and one
that leaves the assembler nothing to refuse only to PTX, which takes a quarter of the time; with --all each is compiled to
machine code for each of the four that NVRTC knows. Texts with clusters are for sm_90 and newer. NVRTC must accept each
without a warning, but for a coordinate that a printed text does not read.
The folder KILN_NVRTC_CACHE, else TEXTS_known, remembers what was accepted, by the hash of the text, of the headers that it
includes, of the options and of NVRTC's version, so only what changed is compiled. Texts with the same includes are
compiled together, which parses their headers once; if NVRTC refuses them, one by one.
Prints one line per refused text and exits 1 if there is any. Exits 77 without NVRTC, or 1 if KILN_TEST_NVRTC says that
there is one.
"""
import hashlib
import os
import re
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_char_p, c_int, c_void_p
from pathlib import Path

import cuda_lint

architectures = [80, 90, 100, 120]
most_together, most_bytes = 48, 400_000
include = re.compile(r'^#include [<"](kernels/\w+\.cuh)[>"]', re.M)
kernel = re.compile(r'extern "C" __global__ void(?:\s+__\w+__\([^)]*\))*\s+(\w+)\(([^)]*)\)')
# A kernel's parameters may take 4096 bytes, each 8 at most: fewer than these fit.
most_parameters = 256


class Text:
    """A file, the headers that it includes at first hand, and for which architectures it is."""

    def __init__(self, file, known):
        self.name, self.words = file.name, file.read_text()
        self.includes = tuple(sorted(set(include.findall(self.words))))
        found = kernel.findall(self.words)
        self.kernels = [name for name, _ in found]
        self.parameters = max((words.count(",") + 1 for _, words in found), default=0)
        self.hash = hashlib.sha256(self.words.encode()).hexdigest()
        self.architectures = [a for a in known if a >= 90 or "__cluster_dims__" not in self.words]

    def turn(self):
        """The target that this text is compiled for in its turn."""
        architecture = self.architectures[int(self.hash, 16) % len(self.architectures)]
        return f"compute_{architecture}" if self.is_plain() else f"sm_{architecture}"

    def is_plain(self):
        """Whether the assembler has nothing to refuse: it counts shared memory and parameters, and reads inline PTX. The
        inline PTX of headers is assembled with the texts that are not plain."""
        return self.is_printed() and self.parameters < most_parameters and not re.search("__shared__|\\basm\\b", self.words)

    def is_printed(self):
        """Whether it is a text of kiln's printers: its names are in kiln's namespace, and those of kernels its own."""
        return "namespace kiln::kernels {" in self.words and bool(self.kernels)


class Headers:
    """Hashes of what a text includes, directly or not."""

    def __init__(self, project):
        self.project, self.known = Path(project), {}

    def all_of(self, names):
        found, left = set(), list(names)
        while left:
            name = left.pop()
            if name in found:
                continue
            found.add(name)
            if name not in self.known:
                self.known[name] = (self.project / name).read_text()
            left += include.findall(self.known[name])
        return found

    def hash_of(self, names):
        words = "".join(name + self.known[name] for name in sorted(self.all_of(names)))
        return hashlib.sha256(words.encode()).hexdigest()


class Compiler:
    """NVRTC with the options of kiln::cuda::compile_options, as fast as it can."""

    def __init__(self, nvrtc, project):
        self.nvrtc, self.project = nvrtc, project
        major, minor = (int(part) for part in nvrtc.name.split()[-1].split("."))
        self.options = ["-std=c++20", "--diag-suppress=177"] + ["--minimal"] * ((major, minor) >= (12, 4))
        self.options += ["--Ofast-compile=max"] * (major >= 13)

    def architectures(self):
        count = c_int()
        self.nvrtc.api.nvrtcGetNumSupportedArchs(byref(count))
        known = (c_int * count.value)()
        self.nvrtc.api.nvrtcGetSupportedArchs(known)
        return [architecture for architecture in architectures if architecture in list(known)]

    def refusal(self, words, name, target):
        """What NVRTC says of a text: empty if it is right."""
        api, program = self.nvrtc.api, c_void_p()
        options = self.options + [f"-arch={target}", f"--include-path={self.project}"]
        api.nvrtcCreateProgram(byref(program), words.encode(), name.encode(), 0, None, None)
        failed = api.nvrtcCompileProgram(program, len(options),
                                         (c_char_p * len(options))(*(option.encode() for option in options)))
        log = self.nvrtc.text_of(program, api.nvrtcGetProgramLogSize, api.nvrtcGetProgramLog)
        api.nvrtcDestroyProgram(byref(program))
        return log.rstrip(b"\0").decode().strip() or (f"error {failed}" if failed else "")


def groups_of(cases):
    """Lists of (text, target) that can be compiled together, the largest first."""
    alike, groups = defaultdict(list), []
    for text, target in cases:
        alike[target, text.includes if text.is_printed() else text.hash].append((text, target))
    for members in alike.values():
        open_group, size, names = [], 0, set()
        for case in members:
            text = case[0]
            if open_group and (len(open_group) == most_together or size + len(text.words) > most_bytes
                               or names & set(text.kernels)):
                groups.append(open_group)
                open_group, size, names = [], 0, set()
            open_group.append(case)
            size += len(text.words)
            names |= set(text.kernels)
        groups.append(open_group)
    return sorted(groups, key=lambda group: -sum(len(text.words) for text, _ in group))


def check(folder, project, every):
    compiler = cuda_lint.find_compiler()
    if not isinstance(compiler, cuda_lint.Nvrtc):
        installed = os.environ.get("KILN_TEST_NVRTC")
        print(f"NVRTC is installed ({installed}), but was not opened" if installed else
              "SKIPPED: no NVRTC is here (KILN_LIBNVRTC names one), so only the host's compiler saw these texts")
        sys.exit(1 if installed else 77)
    nvrtc = Compiler(compiler, project)
    texts = [Text(file, nvrtc.architectures()) for file in sorted(Path(folder).glob("*.cu"))]
    known = Path(os.environ.get("KILN_NVRTC_CACHE") or f"{folder}_known")
    known.mkdir(parents=True, exist_ok=True)
    headers = Headers(project)

    def entry_of(text, target):
        what = [compiler.name, *nvrtc.options, target, text.hash, headers.hash_of(text.includes)]
        return known / hashlib.sha256("\n".join(what).encode()).hexdigest()

    cases = [(text, target) for text in texts
             for target in ([f"sm_{a}" for a in text.architectures] if every else [text.turn()])]
    entries = {case: entry_of(*case) for case in cases}
    wanted = [case for case in cases if not entries[case].exists()]

    def refused(group):
        """(case, what NVRTC says) for each case of a group that it refuses."""
        together = "\n".join(text.words for text, _ in group)
        if len(group) > 1 and not nvrtc.refusal(together, group[0][0].name, group[0][1]):
            bad = {}
        else:
            said = {case: nvrtc.refusal(case[0].words, case[0].name, case[1]) for case in group}
            bad = {case: words for case, words in said.items() if words}
        for case in group:
            if case not in bad:
                entries[case].touch()
        return bad

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = {case: words for found in pool.map(refused, groups_of(wanted)) for case, words in found.items()}
    breaches = [f"{folder}/{text.name}, {target}: {words[:600]}" for (text, target), words in bad.items()]
    return breaches, f"{len(texts)} texts by {compiler.name}, {len(wanted)} compiled, {len(cases) - len(wanted)} known"


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    found, what = check(*arguments, "--all" in sys.argv)
    print("\n".join(found) or "every text is accepted")
    print(f"cuda_texts: {what}, {time.process_time():.0f} s of CPU")
    sys.exit(bool(found))
