#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""scripts/gpu over programs that only say they passed or failed: what it says at the end, and its exit status."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

project = Path(__file__).resolve().parents[2]
# A program of tests: a file named bad fails, one named gone is not in it, any other has three cases; with BROKEN none
# passes.
TESTS = """[ -z "${BROKEN:-}" ] || { echo "sync=${KILN_SYNC:-}"; exit 1; }
case "$*" in
  *bad.test*) echo '[doctest] test cases: 2 | 1 passed | 1 failed | 9 skipped'; exit 1 ;;
  *gone.test*) echo '[doctest] test cases: 0 | 0 passed | 0 failed | 9 skipped' ;;
  *) echo 'x.hpp:5: MESSAGE: SKIPPED: there is one GPU'
     echo '[doctest] test cases: 3 | 3 passed | 0 failed | 8 skipped' ;;
esac"""
BENCHMARKS = """echo 'map/kiln/iterations:3/manual_time_median  2 us  2 us  5'
[ -z "${WRONG:-}" ] || echo 'sum/kiln ERROR OCCURRED'"""
# A python3 that has PyTorch, and no other library.
PYTHON = """case "$*" in
  *"'torch'"*) ;;
  -c*) exit 1 ;;
  *) echo 'map/torch: 1.5e+03 us'; [ -z "${WRONG:-}" ] || { echo 'map/torch_compile: Error: no'; exit 1; } ;;
esac"""


class gpu_script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("gpu", "setup.sh"):
            self.write(f"scripts/{name}", (project / "scripts" / name).read_text())
        for name, text in (("tests", TESTS), ("benchmarks", BENCHMARKS)):
            self.write(f"build-gpu/bin/{name}", "#!/bin/sh\n" + text)
        self.write("python/python3", "#!/bin/sh\n" + PYTHON)
        self.write("tests/emulated.hpp", "#include <cuda_emulator/stand_in.hpp>\n")
        for folder in ("include", "src", "benchmarks/gpu"):
            (self.root / folder).mkdir(parents=True)
        self.source("gpu/maps")
        self.source("gpu/running")
        self.source("tensor/cuda")

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def source(self, name):
        self.write(f"tests/{name}.test.cpp", '#include "emulated.hpp"\n')

    def run_script(self, *arguments, out="out", **variables):
        names = ("KILN_GPU_STEPS", "KILN_GPU_SECONDS", "KILN_GPU_STAND_IN", "OUT")
        rest = {key: value for key, value in os.environ.items() if key not in names}
        python = f"/nowhere/python3:{self.root}/python/python3"
        ran = subprocess.run([self.root / "scripts/gpu", *arguments, "--out", self.root / out], text=True,
                             cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={**rest, "CXX": "/nowhere/g++", "KILN_GPU_PYTHON": python, **variables})
        return ran.returncode, ran.stdout

    def steps(self, half=""):
        lines = (self.root / f"out/gpu-steps{half}.txt").read_text().splitlines()
        return {line.split()[0]: line for line in lines}

    def test_what_passes_is_counted_and_named(self):
        status, words = self.run_script("run", KILN_GPU_STEPS="smoke tests benchmarks")
        self.assertEqual(status, 0, words)
        steps = self.steps()
        self.assertRegex(steps["smoke"], r"passed .* 3 cases passed, 0 failed; 1 left out")
        self.assertRegex(steps["tests"], r"passed .* 9 cases passed, 0 failed; 3 left out$")
        self.assertRegex(steps["benchmarks"], r"passed .* 13 figures, 0 errors$")
        self.assertIn("memcheck     not asked for", steps["memcheck"])
        self.assertIn(f"{self.root}/out/gpu-log.txt", words)
        self.assertRegex(words, r" 3 SKIPPED: there is one GPU")

    def test_a_file_that_fails_or_is_not_there_is_named_and_later_steps_run(self):
        self.source("tensor/bad")
        self.source("tensor/gone")
        status, words = self.run_script("run", KILN_GPU_STEPS="tests benchmarks", WRONG="1")
        self.assertEqual(status, 1, words)
        steps = self.steps()
        self.assertRegex(steps["tests"],
                         r"FAILED .* 10 cases passed, 1 failed; .*failed:( tests/tensor/(bad|gone)\.test\.cpp){2}$")
        self.assertRegex(steps["benchmarks"], r"FAILED .* 13 figures, 13 errors$")

    def test_a_peer_that_has_no_figure_fails_and_one_that_is_not_there_does_not(self):
        for wrong, wanted, state in (("", 0, r"passed .* 1 figures, 0 errors$"), ("1", 1, r"FAILED .* 1 errors$")):
            status, words = self.run_script("peers", KILN_GPU_STEPS="torch jax", WRONG=wrong)
            self.assertEqual(status, wanted, words)
            self.assertRegex(self.steps("-peers")["torch"], state)
            self.assertIn("not there", self.steps("-peers")["jax"])

    def test_the_libraries_of_the_system_stay_where_ours_are_added(self):
        self.write("build-gpu/bin/benchmarks", """#!/bin/sh
case ":${LD_LIBRARY_PATH:-}:" in *:"$PWD/build-gpu/lib/fallback":*) ;; *) echo 'no libstdc++'; exit 1 ;; esac
echo "the folders are $LD_LIBRARY_PATH"
""")
        for before, after in (("/opt/nvidia/lib:/opt/more", ":/opt/nvidia/lib:/opt/more"), ("", "")):
            self.run_script("run", KILN_GPU_STEPS="benchmarks", LD_LIBRARY_PATH=before)
            self.assertIn(f"the folders are {self.root}/build-gpu/lib/fallback{after}\n",
                          (self.root / "out/gpu-log.txt").read_text())

    def test_a_step_without_time_says_so_and_fails(self):
        status, words = self.run_script("run", KILN_GPU_SECONDS="0", KILN_GPU_STEPS="tests")
        self.assertEqual(status, 1, words)
        self.assertIn("no time left", self.steps()["tests"])

    def test_once_does_all_in_one_call_and_leaves_few_files(self):
        status, words = self.run_script("once", KILN_GPU_STEPS="smoke tests benchmarks torch")
        self.assertEqual(status, 0, words)
        steps = self.steps("-once")
        self.assertEqual([name for name, line in steps.items() if " passed " in line],
                         ["smoke", "tests", "benchmarks", "torch"])
        files = [file.name for file in (self.root / "out").iterdir()]
        self.assertLessEqual(len(files), 8)
        self.assertIn("gpu-raw-once.tar.gz", files)

    def test_once_does_only_the_steps_that_are_asked_for(self):
        status, words = self.run_script("once", KILN_GPU_STEPS="torch")
        self.assertEqual(status, 0, words)
        self.assertIn("passed", self.steps("-once")["torch"])

    def test_once_stops_if_the_first_kernels_fail_twice(self):
        status, words = self.run_script("once", BROKEN="1")
        self.assertEqual(status, 1, words)
        self.assertEqual(list(self.steps("-once")), ["smoke", "why", "total"])
        self.assertIn("sync=1", words)

    def test_without_what_was_prepared_it_ends_at_once_with_a_sentence(self):
        shutil.rmtree(self.root / "build-gpu")
        status, words = self.run_script("once")
        self.assertEqual(status, 1, words)
        self.assertIn("run scripts/gpu prepare", words)

    def test_merge_joins_the_archives_of_several_calls(self):
        for name, time in (("map", 2), ("sum", 3)):
            raw = self.root / name
            raw.mkdir()
            (raw / f"benchmarks_{name}.json").write_text(json.dumps(
                {"context": {"device": "GPU"}, "benchmarks": [
                    {"name": f"{name}/kiln_median", "run_name": f"{name}/kiln", "aggregate_name": "median",
                     "repetitions": 5, "time_unit": "us", "real_time": time, "cpu_time": time}]}))
            subprocess.run(["tar", "-czf", f"{raw}.tar.gz", "-C", raw, "."], check=True)
        for folder in ("benchmarks/gpu", "benchmarks/peers"):
            shutil.copytree(project / folder, self.root / folder, dirs_exist_ok=True)
        ran = subprocess.run([self.root / "scripts/gpu", "merge", "joined", "map.tar.gz", "sum.tar.gz"], text=True,
                             cwd=self.root, stdout=subprocess.PIPE, check=True)
        results = json.loads((self.root / ran.stdout.strip()).read_text())["results"]
        self.assertEqual({name: entry["real_us"] for name, entry in results.items()}, {"map/kiln": 2, "sum/kiln": 3})


if __name__ == "__main__":
    unittest.main()
