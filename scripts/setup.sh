# SPDX-License-Identifier: BSL-1.0
# Sourced by the scripts beside it. Finds the project, installs what is missing where it may, and holds the few
# functions they share. On a bare Debian 12 `require` leaves a machine that can build and test everything.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '\n== %s\n' "$*"; }
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# timed "what it is" command...: says what starts, and how long it took.
timed() {
  local what=$1 start=$SECONDS status=0
  shift
  say "$what"
  "$@" || status=$?
  printf -- '-- %s: %d s\n' "$what" $((SECONDS - start))
  return $status
}

# version_of COMMAND: what it says of itself, such as 3.25.1.
version_of() { "$1" --version 2>/dev/null | sed 's/([^)]*)//g' | grep -oE '[0-9]+(\.[0-9]+)+' | head -n 1; }

# at_least OLDEST VERSION
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# builds PROGRAM COMPILER FLAG...: compiles and links the text of a program, and runs it if $then_run says so. $probe_log
# is what the compiler or the program said.
builds() {
  local program=$1 compiler=$2 folder status=0
  shift 2
  folder=$(mktemp -d)
  printf '%s\n' "$program" >"$folder/probe.cpp"
  if ! probe_log=$("$compiler" -std=c++20 "$folder/probe.cpp" -o "$folder/probe" "$@" 2>&1); then
    status=1
  elif [ -n "${then_run:-}" ] && ! probe_log=$("$folder/probe" 2>&1); then
    status=1
  fi
  rm -rf "$folder"
  return $status
}

# has_header HEADER: whether g++ finds it.
has_header() { builds $'#if !__has_include(<'"$1"$'>)\n#error not found\n#endif' g++ -fsyntax-only; }

# has_library HEADER PACKAGE...: whether CMake's find_package, with these words, finds a library. Without CMake: whether
# its header is where scripts that build without CMake look for it.
has_library() {
  local header=$1 folder status=0
  shift
  if ! command -v cmake >/dev/null; then [ -e "/usr/include/$header" ] && return 0 || return 1; fi
  folder=$(mktemp -d)
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(probe LANGUAGES CXX)\nfind_package(%s REQUIRED)\n' "$*" \
    >"$folder/CMakeLists.txt"
  probe_log=$(cmake -G Ninja -S "$folder" -B "$folder/build" -DCMAKE_CXX_COMPILER=g++ 2>&1) || status=1
  rm -rf "$folder"
  return $status
}

# The package that holds clang's sanitizers and fuzzer. Only recommendations bring it along with clang.
clang_runtime() {
  local version
  version=$(version_of clang++) || true
  echo "libclang-rt-${version:+${version%%.*}-}dev"
}

# is_there PACKAGE: whether this machine has what the builds need of a package of Debian's, wherever it is from.
is_there() {
  local program='int main() {}'
  probe_log=""
  case $1 in
    g++ | g++-aarch64-linux-gnu) builds "$program" "$(command_of "$1")" ;;
    clang) builds "$program" clang++ ;;
    libclang-rt-*dev)
      builds "$program" clang++ -fsanitize=address,undefined && builds "$program" clang++ -fsanitize=thread &&
        builds 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' clang++ \
          -fsanitize=fuzzer
      ;;
    libtsan*) builds "$program" g++ -fsanitize=thread ;;
    libeigen3-dev) has_library eigen3/Eigen/Core Eigen3 CONFIG ;;
    doctest-dev) has_library doctest/doctest.h doctest ;;
    libbenchmark-dev) has_library benchmark/benchmark.h benchmark ;;
    zlib1g-dev) builds $'#include <zlib.h>\nint main() { return zlibVersion() == nullptr; }' g++ -lz ;;
    libcli11-dev) has_header CLI/CLI.hpp ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
    libopenmpi-dev) builds $'#include <mpi.h>\nint main() { return MPI_Finalize(); }' mpicxx ;;
    python3) python3 -c "import json, subprocess, tempfile, unittest" >/dev/null 2>&1 ;;  # python3-minimal has few
    *) "$(command_of "$1")" --version >/dev/null 2>&1 ;;
  esac
}

# What a package's command is called.
command_of() {
  case $1 in
    clang) echo clang++ ;;
    g++-aarch64-linux-gnu) echo aarch64-linux-gnu-g++ ;;
    ninja-build) echo ninja ;;
    openmpi-bin) echo mpirun ;;
    gnuplot-nox) echo gnuplot ;;
    qemu-user) echo qemu-aarch64 ;;
    g++ | cmake | python3 | doxygen) echo "$1" ;;
    *) die "scripts/setup.sh: no probe for the package $1" ;;
  esac
}

# missing package...: those of them that are not there.
missing() {
  local package
  for package in "$@"; do is_there "$package" || printf '%s ' "$package"; done
}

# May we install? Prints the prefix to put before apt-get (nothing for root).
apt_prefix() {
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" = 0 ]; then
    echo env
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    echo "sudo -n env"
  else
    return 1
  fi
}

# install package...: quiet unless it fails; a stale package list is refreshed first.
install() {
  local prefix log
  prefix=$(apt_prefix) || return 1
  prefix+=" DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20"
  prefix+=" -o DPkg::Lock::Timeout=120"
  log=$(mktemp)
  # A source that cannot be reached need not be one of ours.
  # shellcheck disable=SC2086  # the prefix is several words
  $prefix update >"$log" 2>&1 || true
  # shellcheck disable=SC2086
  if $prefix install -y --no-install-recommends "$@" >>"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
}

# as_root COMMAND...: the line to type that runs these commands with the rights that they need.
as_root() {
  local line prefix=""
  if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then prefix="sudo "; fi
  line=$(printf " && $prefix%s" "$@")
  line=${line# && }
  if [ "$(id -u)" = 0 ] || [ -n "$prefix" ]; then echo "$line"; else echo "su -c '$line'"; fi
}
install_line() { as_root "apt-get update" "apt-get install -y --no-install-recommends $*"; }

# refuse_old package...: ends if one of them is there and too old: the system's package would be no newer.
refuse_old() {
  local package command oldest version newer remedy
  for package in "$@"; do
    case $package in
      g++) oldest=12 ;;
      clang) oldest=14 ;;
      cmake) oldest=3.25 ;;
      python3) oldest=3.9 ;;
      *) continue ;;
    esac
    command=$(command_of "$package")
    version=$(version_of "$command") || continue
    if [ -z "$version" ] || at_least $oldest "$version"; then continue; fi
    newer=$package-$oldest
    [ "$package" != python3 ] || newer=python$oldest
    remedy="mkdir -p ~/.local/bin && ln -sf \"\$(command -v ${newer/#clang-/clang++-})\" ~/.local/bin/$command"
    command -v "${newer/#clang-/clang++-}" >/dev/null || remedy="$(install_line "$newer") && $remedy"
    [ "$package" != cmake ] || remedy="python3 -m pip install --user cmake"
    remedy+=" && export PATH=~/.local/bin:\$PATH"
    die "$command $oldest or newer is needed, and $(command -v "$command") is $version. Run this, then start again:

    $remedy"
  done
}

# require package...: afterwards all of them are there, or the script has ended saying what to type.
require() {
  local lacking may_install=false installed=false package
  refuse_old "$@"
  lacking=$(missing "$@")
  lacking=${lacking% }
  [ -n "$lacking" ] || return 0
  if apt_prefix >/dev/null; then
    may_install=true
    # shellcheck disable=SC2086  # a list of words
    if timed "installing $lacking" install $lacking; then installed=true; fi
    refuse_old "$@"
    # shellcheck disable=SC2086
    lacking=$(missing $lacking)
    lacking=${lacking% }
    [ -n "$lacking" ] || return 0
  fi
  if $installed; then
    for package in $lacking; do
      is_there "$package" || printf '%s was installed and does not work: %s\n' "$package" "$(head -n 5 <<<"$probe_log")" >&2
    done
    die "Mend that, then start again; it may help to type

    $(install_line --reinstall "$lacking")"
  elif $may_install; then
    die "apt-get could not install packages: its last words are above. When the package sources can be reached, run this,
then start again:

    $(install_line "$lacking")"
  elif command -v apt-get >/dev/null; then
    die "Missing packages. Run this, or have it run by who may, then start again:

    $(install_line "$lacking")"
  fi
  die "Missing packages, by Debian's names: $lacking
Install what this system calls them, then start again."
}

# must_start BUILD COMPILER FLAG...: ends unless a program that is compiled so starts, which sanitizers may not.
must_start() {
  local build=$1
  shift
  then_run=true builds 'int main() {}' "$@" || die "$(head -n 3 <<<"$probe_log")

A program that \`$*\` compiled does not run here, so the build $build cannot be tested. Usually the kernel places
memory where the sanitizer does not expect it; a container may also forbid ptrace. Run this, then start again:

    $(as_root "sysctl vm.mmap_rnd_bits=28")      (in a container: start it with --cap-add=SYS_PTRACE)"
}

# prefer package...: nice to have; goes on without.
prefer() {
  local lacking
  lacking=$(missing "$@")
  [ -n "$lacking" ] || return 0
  # shellcheck disable=SC2086
  if apt_prefix >/dev/null && timed "installing $lacking" install $lacking; then return 0; fi
  echo "-- going on without ${lacking% }"
}
