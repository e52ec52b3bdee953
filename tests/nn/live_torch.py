#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""kiln's layers, losses and loss curves beside the PyTorch that is installed, on other inputs than those of the stored
values: live_torch.py layers=PROGRAM loss=PROGRAM loss_curves=PROGRAM [--shift X]

The scripts that made the stored values make new ones, of waves that begin X further on, and the tests of these folders
run once more with them in place of the stored ones (tests/support/live_torch.hpp). So each layer, each loss and each
optimizer that they have is compared, to the same 1e-12. One value that is wrong must be noticed, too. Ends with 77
where PyTorch is not installed for this Python, nor for the one that KILN_TEST_PYTHON names.
"""
import contextlib
import io
import os
import runpy
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAKERS = {"layers": "layers/make_values.py", "loss": "loss/make_values.py", "loss_curves": "loss_curves.py"}
FILES = {"layers": "*tests/nn/layers/*", "loss": "*tests/nn/loss/*", "loss_curves": "*tests/nn/loss_curves.test.cpp"}


def made(kind, shift):
    out, arguments = io.StringIO(), sys.argv
    sys.argv = [MAKERS[kind], "--live", str(shift)]
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            runpy.run_path(str(HERE / MAKERS[kind]))
    finally:
        sys.argv = arguments
    return out.getvalue()


def run(program, kind, shift, values, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(values)
        file.flush()
        environment = dict(os.environ, KILN_TEST_LIVE_SHIFT=str(shift), KILN_TEST_LIVE_VALUES=file.name)
        command = [program, f"--source-file={FILES[kind]}", "--no-intro=true", *options]
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def with_one_wrong(values):
    lines = values.splitlines()
    name, first, *rest = lines[0].split()
    lines[0] = " ".join([name, repr(float(first) + 1e-9), *rest])
    return "\n".join(lines) + "\n"


def main(arguments):
    shift, programs = 0.7310585786300049, {}
    while arguments:
        argument = arguments.pop(0)
        if argument == "--shift":
            shift = float(arguments.pop(0))
        else:
            kind, _, program = argument.partition("=")
            programs[kind] = program
    try:
        import torch
    except ImportError:
        own = os.environ.pop("KILN_TEST_PYTHON", None)
        if own:
            os.execvp(own, [own, *sys.argv])
        print("skipped: PyTorch is not installed, so nothing was compared with it as it runs, only with its stored "
              "values (pip install torch, or name a Python that has it: KILN_TEST_PYTHON=...)")
        return 77
    failed = False
    for kind, program in programs.items():
        values = made(kind, shift)
        result = run(program, kind, shift, values)
        ran = "test cases: 0 |" not in " ".join(result.stdout.split())
        print(f"{kind}: {len(values.splitlines())} lines of values by PyTorch {torch.__version__}, shift {shift}: "
              f"{'agrees' if result.returncode == 0 and ran else 'FAILED'}", flush=True)
        if result.returncode != 0 or not ran:
            failed = True
            print(result.stdout)
        elif run(program, kind, shift, with_one_wrong(values), "--abort-after=1").returncode == 0:
            failed = True
            print(f"{kind}: a value that is off by 1e-9 was not noticed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
