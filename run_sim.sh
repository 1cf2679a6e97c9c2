#!/usr/bin/env bash
# Installs what is missing (Debian 12 packages), builds what is stale, then runs.
#
#   ./run_sim.sh               the headline tour
#   ./run_sim.sh test          every test
#   ./run_sim.sh bench [ARGS]  the benchmarks (ARGS go to Google Benchmark)
#   ./run_sim.sh ARGS          shardsim ARGS, from the working directory you are in
#
# Its own words go to stderr, so that the output of shardsim can be piped.
set -eu

root=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
build=$root/build
logs=$build/log

say() { printf 'run_sim.sh: %s\n' "$*" >&2; }

# fail LOG WHAT: the end of the log, where the rest is, exit 1.
fail() {
  tail -n 30 "$1" >&2
  say "$2; the whole log: $1"
  exit 1
}

package_missing() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" != installed ]
}

# need_tool COMMAND PACKAGE; need_library PACKAGE: append to $missing.
need_tool() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need_library() { if package_missing "$1"; then missing="$missing $1"; fi; }

# what to install for: run, test or bench
install_missing() {
  command -v dpkg-query >/dev/null 2>&1 || return 0  # no Debian: CMake says what it cannot find
  missing=
  need_tool g++ g++
  need_tool cmake cmake
  need_tool ninja ninja-build
  need_tool python3 python3
  need_tool esbuild esbuild
  for library in libsimgrid-dev libboost-graph-dev libyaml-cpp-dev libfmt-dev libcli11-dev \
    nlohmann-json3-dev doctest-dev libsqlite3-dev zlib1g-dev libmimalloc-dev node-d3; do
    need_library "$library"
  done
  if [ "$1" = test ]; then
    need_tool chromium chromium
    need_tool chromedriver chromium-driver
    need_library python3-selenium
  fi
  if [ "$1" = bench ]; then need_library libbenchmark-dev; fi
  if [ "$1" = test ]; then need_tool rsvg-convert librsvg2-bin; fi
  [ -n "$missing" ] || return 0

  say "installing$missing"
  # shellcheck disable=SC2086  # a list of words, by design
  apt_get "$logs/apt.txt" install $missing || fail "$logs/apt.txt" "apt-get failed"
}

# apt_get LOG COMMAND PACKAGE...: its exit status
apt_get() {
  local log=$1 command=$2
  shift 2
  local as_root=
  if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null 2>&1; then
      say "packages are missing and there is no sudo; as root: apt-get $command $*"
      exit 1
    fi
  fi
  { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get "$command" -y --no-install-recommends "$@"; } >"$log" 2>&1 </dev/null
}

# Slurm, for the test of sweeps on it. Its packages make a user and a key, which not every root file
# system lets them: then they are removed again, and that test is skipped.
install_slurm() {
  command -v dpkg-query >/dev/null 2>&1 || return 0
  missing=
  need_tool slurmctld slurmctld
  need_tool slurmd slurmd
  need_tool sbatch slurm-client
  need_tool munged munge
  [ -n "$missing" ] || return 0
  say "installing$missing"
  # shellcheck disable=SC2086  # a list of words, by design
  if ! apt_get "$logs/apt-slurm.txt" install $missing; then
    apt_get "$logs/apt-slurm-purge.txt" purge $missing || true
    say "Slurm cannot be installed here, its test is skipped; the whole log: $logs/apt-slurm.txt"
  fi
}

# Configures when there is no build.ninja, when options are given, or when the checkout has moved.
configure() {
  local fresh=
  if [ -f "$build/CMakeCache.txt" ] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    fresh=--fresh
  fi
  if [ -f "$build/build.ninja" ] && [ -z "$fresh" ] && [ $# -eq 0 ]; then return 0; fi
  (cd "$root" && cmake --preset release $fresh "$@") >"$logs/configure.txt" 2>&1 ||
    { rm -f "$build/build.ninja"; fail "$logs/configure.txt" "configuring failed"; }
}

# build_target TARGET
build_target() {
  if ninja -C "$build" -n "$1" 2>/dev/null | grep -q 'no work to do'; then return 0; fi
  say "building (from scratch this takes a few minutes)"
  cmake --build "$build" --target "$1" -- -j "$(nproc)" >"$logs/build.txt" 2>&1 ||
    fail "$logs/build.txt" "building failed"
}

main() {
  local purpose=run
  case "${1-}" in test | bench) purpose=$1 ;; esac
  mkdir -p "$logs"
  exec 9>"$build/.lock"  # one run at a time installs and builds
  flock 9
  install_missing "$purpose"
  if [ "$purpose" = test ]; then install_slurm; fi
  case $purpose in
    test)
      if [ $# -gt 1 ]; then
        say "test takes no arguments; single tests: ctest --test-dir $build -R NAME"
        exit 2
      fi
      configure
      build_target all
      exec 9>&-
      say "testing"
      exec ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)"
      ;;
    bench)
      shift
      configure -DSHARDSIM_BENCH=ON
      build_target shardsim_bench
      exec 9>&-
      exec "$build/shardsim_bench" "$@"
      ;;
    run)
      configure
      build_target shardsim
      exec 9>&-
      if [ $# -eq 0 ]; then set -- tour; fi
      exec "$build/shardsim" "$@"
      ;;
  esac
}

main "$@"
