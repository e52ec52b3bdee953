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

# What each package brings that we can look for: a command, or a file when it starts with a slash.
probe_of() {
  case $1 in
    g++) echo g++ ;;
    clang) echo clang++ ;;
    cmake) echo cmake ;;
    ninja-build) echo ninja ;;
    python3) echo python3 ;;
    libeigen3-dev) echo /usr/include/eigen3/Eigen/Core ;;
    doctest-dev) echo /usr/include/doctest/doctest.h ;;
    zlib1g-dev) echo /usr/include/zlib.h ;;
    libcli11-dev) echo /usr/include/CLI/CLI.hpp ;;
    nlohmann-json3-dev) echo /usr/include/nlohmann/json.hpp ;;
    libopenmpi-dev) echo mpicxx ;;
    openmpi-bin) echo mpirun ;;
    libbenchmark-dev) echo /usr/include/benchmark/benchmark.h ;;
    gnuplot-nox) echo gnuplot ;;
    doxygen) echo doxygen ;;
    g++-aarch64-linux-gnu) echo aarch64-linux-gnu-g++ ;;
    qemu-user) echo qemu-aarch64 ;;
    *) die "scripts/setup.sh: no probe for the package $1" ;;
  esac
}

is_there() {
  local probe
  probe=$(probe_of "$1")
  case $probe in
    /*) [ -e "$probe" ] ;;
    *) command -v "$probe" >/dev/null ;;
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
  log=$(mktemp)
  # shellcheck disable=SC2086  # the prefix is one or several words
  if $prefix DEBIAN_FRONTEND=noninteractive apt-get update >"$log" 2>&1 &&
    $prefix DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
}

# require package...: afterwards all of them are there, or the script has ended saying what to type.
require() {
  local lacking
  lacking=$(missing "$@")
  lacking=${lacking% }
  if [ -n "$lacking" ]; then
    # shellcheck disable=SC2086  # a list of words
    if apt_prefix >/dev/null; then timed "installing $lacking" install $lacking || true; fi
    # shellcheck disable=SC2086
    lacking=$(missing $lacking)
  fi
  [ -z "$lacking" ] || die "Missing packages. On Debian or Ubuntu run this, then start again:

    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${lacking% }"
  local version
  version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\.[0-9]*\).*/\1/p')
  [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" = 3.25 ] || die "CMake 3.25 or newer is needed, found $version"
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
