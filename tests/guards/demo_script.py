#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""scripts/demo over a CMake that only says what the real one does: what a user sees first, and what is built.
demo_script.py BUILD also looks into a build directory of ninja's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

project = Path(__file__).resolve().parents[2]
build = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
CMAKE = """echo "cmake $*" >>"$ASKED"
case "$*" in
  *--version*) echo 'cmake version 3.25.1' ;;
  *--preset*) printf 'Preset CMake variables:\\n\\n  KILN_NATIVE="ON"\\n'
              echo 'CMake Warning: Manually-specified variables were not used by the project' >&2
              [ -z "${FAILS:-}" ] || { echo 'CMake Error: no such thing' >&2; exit 1; } ;;
  *--target*) mkdir -p build/demo/examples
              for name in lazy gradient mnist_mlp; do
                printf '#!/bin/sh\\necho "ran %s $*"\\n' $name >build/demo/examples/$name
                chmod 755 build/demo/examples/$name
              done ;;
esac"""


class demo_script(unittest.TestCase):
    def run_script(self, **variables):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "scripts").mkdir()
            (root / "examples").mkdir()
            for name in ("lazy", "gradient", "tensor"):
                (root / f"examples/{name}.cpp").touch()
            for name in ("demo", "setup.sh"):
                shutil.copy(project / "scripts" / name, root / "scripts" / name)
            (root / "bin").mkdir()
            (root / "bin/cmake").write_text("#!/bin/sh\n" + CMAKE)
            (root / "bin/cmake").chmod(0o755)
            # What is there does not matter here.
            setup = root / "scripts/setup.sh"
            setup.write_text(setup.read_text() + "\nrequire() { :; }\nprefer() { :; }\n")
            asked = root / "asked"
            ran = subprocess.run([root / "scripts/demo", "--epochs", "1"], text=True, cwd=root, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT,
                                 env={**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}", "ASKED": str(asked),
                                      **variables})
            return ran.returncode, ran.stdout, asked.read_text()

    def test_what_runs_is_what_is_built_and_nothing_else_is_said(self):
        status, words, asked = self.run_script()
        self.assertEqual(status, 0, words)
        self.assertNotIn("Preset CMake variables", words)
        self.assertNotIn("Warning", words)
        self.assertRegex(asked, r"--target( example_(lazy|gradient|mnist_mlp)){3}\n")
        for name in ("lazy", "gradient", "mnist_mlp --epochs 1"):
            self.assertIn(f"ran {name}", words)

    def test_a_configuration_that_fails_shows_all_that_was_said(self):
        status, words, _ = self.run_script(FAILS="1")
        self.assertNotEqual(status, 0, words)
        for said in ("CMake Error: no such thing", "Preset CMake variables"):
            self.assertIn(said, words)

    @unittest.skipUnless(build and shutil.which("ninja") and (Path(build) / "build.ninja").exists(), "no ninja build")
    def test_no_program_is_built_for_another(self):
        known = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], text=True, check=True,
                               stdout=subprocess.PIPE).stdout
        names = sorted(set(re.findall(r"^(example_\w+): phony", known, flags=re.M)) - {"example_precompiled",
                                                                                       "example_support"})
        for name in names:
            commands = subprocess.run(["ninja", "-C", build, "-t", "commands", name], text=True, check=True,
                                      stdout=subprocess.PIPE).stdout
            others = set(re.findall(r"/(example_\w+)\.dir/", commands)) - {name, "example_precompiled", "example_support"}
            self.assertFalse(others, f"{name} builds {others}")


if __name__ == "__main__":
    unittest.main()
