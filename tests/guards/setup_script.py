#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""scripts/setup.sh on machines that lack something: a PATH of fake tools. Each run ends in a line that can be typed."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

project = Path(__file__).resolve().parents[2]
TOOLS = "bash chmod sh env cat dirname grep head mkdir mktemp nproc printf rm sed sort tail tr touch".split()
# A compiler: it says its version, refuses what stands in $FAKES/refused, and leaves a program that ends with $FAKES/ends.
COMPILER = """[ "$1" != --version ] || {{ echo "{name} (Some 1.0) {version}"; exit 0; }}
while read -r word; do
  case " $* " in *"$word"*) echo "ld: cannot find $word" >&2; exit 1 ;; esac
done <"$FAKES/refused"
while [ $# -gt 0 ]; do
  [ "$1" != -o ] || {{ printf '#!/bin/sh\\n%s\\n' "$(cat "$FAKES/ends")" >"$2"; chmod 755 "$2"; }}
  shift
done"""
CMAKE = """[ "$1" != --version ] || echo "cmake version {version}"
[ "$1" != -G ] || ! grep -qf "$FAKES/refused" "$4/CMakeLists.txt" """
# Records what it is asked for; to install is to have everything, if $FAKES/network is there.
APT = """echo "$*" >>"$FAKES/asked"
case "$*" in
  *install*) [ -e "$FAKES/network" ] || { echo 'E: Temporary failure resolving'; exit 100; }
             : >"$FAKES/refused" ;;
esac"""
ALL = "g++ clang $(clang_runtime) cmake ninja-build libeigen3-dev zlib1g-dev libcli11-dev python3"


class setup_script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "bin").mkdir()
        for name in TOOLS:
            (self.root / "bin" / name).symlink_to(shutil.which(name))
        self.compiler("g++", "12.2.0")
        self.compiler("clang++", "14.0.6")
        self.fake("cmake", CMAKE.format(version="3.25.1"))
        self.fake("python3", "[ \"$1\" != --version ] || echo Python 3.11.2")
        self.fake("ninja", "echo 1.11.1")
        self.fake("apt-get", APT)
        self.file("refused", "")
        self.file("ends", "exit 0")
        self.user(1000)

    def file(self, name, text):
        (self.root / name).write_text(text)

    def fake(self, name, text):
        file = self.root / "bin" / name
        file.write_text("#!/bin/sh\n" + text + "\n")
        file.chmod(0o755)

    def compiler(self, name, version):
        self.fake(name, COMPILER.format(name=name, version=version))

    def user(self, number):
        self.fake("id", f"echo {number}")

    def without(self, *names):
        for name in names:
            (self.root / "bin" / name).unlink()

    def asked(self):
        file = self.root / "asked"
        return file.read_text() if file.exists() else ""

    def run_script(self, words=f"require {ALL}"):
        script = f'source "{project}/scripts/setup.sh"; {words}; echo went on'
        ran = subprocess.run([str(self.root / "bin/bash"), "-c", script], text=True, timeout=60,
                             env={"PATH": str(self.root / "bin"), "HOME": "/home/somebody", "FAKES": str(self.root)},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(ran.returncode == 0, "went on" in ran.stdout, ran.stdout)
        return ran.stdout

    def ends_in(self, line, words=f"require {ALL}"):
        """The script ends, and `line` is the last that it prints or, if words stand below it, the only one to type."""
        said = self.run_script(words)
        self.assertNotIn("went on", said)
        self.assertIn(f"\n    {line}\n", said + "\n")
        return said

    def test_a_machine_that_has_everything_is_asked_for_nothing(self):
        self.assertEqual(self.run_script(), "went on\n")
        self.assertEqual(self.asked(), "")

    def test_clang_without_its_run_time_is_told_its_package(self):
        self.file("refused", "-fsanitize=fuzzer\n")
        line = "apt-get install -y --no-install-recommends libclang-rt-14-dev"
        self.ends_in(f"su -c 'apt-get update && {line}'")
        self.fake("sudo", '[ "$1" != -n ]')
        self.ends_in(f"sudo apt-get update && sudo {line}")
        self.compiler("clang++", "18.1.3")
        self.assertIn(" libclang-rt-18-dev", self.run_script())
        self.without("clang++")
        self.assertIn(" clang libclang-rt-dev", self.run_script())
        self.assertEqual(self.asked(), "")

    def test_who_may_installs_and_goes_on(self):
        self.file("refused", "-fsanitize=address\n")
        self.file("network", "")
        self.user(0)
        self.assertTrue(self.run_script().endswith("went on\n"))
        self.assertRegex(self.asked(), r"update\n.* install -y --no-install-recommends libclang-rt-14-dev\n")

    def test_without_a_network_the_line_is_there_after_what_apt_said(self):
        self.file("refused", "-lz\n")
        self.user(0)
        said = self.ends_in("apt-get update && apt-get install -y --no-install-recommends zlib1g-dev")
        self.assertLess(said.index("Temporary failure resolving"), said.index("When the package sources can be reached"))

    def test_one_broken_source_of_packages_stops_nothing(self):
        self.file("refused", "-lz\n")
        self.file("network", "")
        self.user(0)
        self.fake("apt-get", 'case "$*" in *update*) exit 100 ;; esac\n' + APT)
        self.assertTrue(self.run_script().endswith("went on\n"))

    def test_what_was_installed_and_does_not_work_says_why(self):
        self.file("refused", "-lz\n")
        self.user(0)
        self.fake("apt-get", "exit 0")
        said = self.ends_in("apt-get update && apt-get install -y --no-install-recommends --reinstall zlib1g-dev")
        self.assertIn("zlib1g-dev was installed and does not work: ld: cannot find -lz", said)

    def test_a_system_without_apt_is_told_what_is_missing(self):
        self.file("refused", "-fsanitize=thread\n")
        self.without("apt-get")
        self.assertIn("by Debian's names: libclang-rt-14-dev\nInstall what this system calls them", self.run_script())

    def test_an_older_cmake_is_replaced_without_root(self):
        self.fake("cmake", CMAKE.format(version="3.22.1"))
        said = self.ends_in("python3 -m pip install --user cmake && export PATH=~/.local/bin:$PATH")
        self.assertIn(f"cmake 3.25 or newer is needed, and {self.root}/bin/cmake is 3.22.1.", said)
        self.assertEqual(self.asked(), "")

    def test_an_older_compiler_is_replaced(self):
        self.compiler("g++", "11.4.0")
        link = 'mkdir -p ~/.local/bin && ln -sf "$(command -v g++-12)" ~/.local/bin/g++ && export PATH=~/.local/bin:$PATH'
        self.ends_in("su -c 'apt-get update && apt-get install -y --no-install-recommends g++-12' && " + link)
        self.compiler("g++-12", "12.1.0")
        self.ends_in(link)

    def test_a_library_that_cmake_does_not_find_is_missing(self):
        self.file("refused", "Eigen3\n")
        self.assertIn(" libeigen3-dev'", self.run_script())

    def test_cmake_is_asked_for_by_who_needs_it(self):
        self.without("cmake")
        self.assertEqual(self.run_script("require g++ zlib1g-dev"), "went on\n")
        self.assertIn(" cmake'", self.run_script("require g++ cmake"))

    def test_what_is_only_preferred_is_done_without(self):
        self.assertEqual(self.run_script("prefer gnuplot-nox"), "-- going on without gnuplot-nox\nwent on\n")

    def test_a_sanitizer_whose_programs_do_not_start_says_what_to_change(self):
        self.file("ends", "echo 'FATAL: ThreadSanitizer: unexpected memory mapping'; exit 66")
        said = self.run_script("must_start threads g++ -fsanitize=thread")
        self.assertIn("unexpected memory mapping", said)
        self.assertIn("\n    su -c 'sysctl vm.mmap_rnd_bits=28'", said)


if __name__ == "__main__":
    unittest.main()
