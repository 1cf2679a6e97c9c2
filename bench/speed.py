#!/usr/bin/env python3
"""CPU seconds and memory of whole shardsim runs, against limits.

    bench/speed.py [--binary build/shardsim] [--repeat 5]

CPU is user + system of the process and the children it waited for, the median of the repeats; memory
is the largest resident set of any of them, the largest of the repeats. Exit status 1 when a limit is
exceeded or a run fails.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = "--bandwidth 100GB/s --latency 0 --bytes 64MiB"
RING_1024 = ("collective all-reduce --topology ring-oneway:1024 --bandwidth 50GB/s --latency 1us "
             "--bytes 256MiB")
# command line, limit in CPU seconds, limit in MiB or None
CASES = [
    (f"collective all-reduce --topology torus:16x16x16 {LINK}", 0.05, None),
    (f"collective all-to-all --topology ring:256 {LINK} --full", 1.5, None),
    (f"collective all-gather --topology ring:256 {LINK} --full", 0.3, None),
    (f"collective all-reduce --topology torus:8x8x8 {LINK} --full", 0.5, None),
    (f"collective all-reduce --topology torus:16x16x16 {LINK} --full", 8, None),
    (f"collective all-to-all --topology torus:16x16 {LINK} --full", 1, None),
    ("collective all-reduce --topology torus:16x16 --bandwidth 100GB/s --latency 1us "
     "--sweep-bytes 1KiB:1GiB", 0.15, None),
    (f"collective all-to-all --topology switch:16384 {LINK} --grain fluid", 0.05, 64),
    (f"collective all-gather --topology switch:16384 {LINK} --grain fluid", 0.05, 64),
    (f"collective all-to-all --topology ring:16384 {LINK} --grain fluid", 0.1, 100),
    (f"collective broadcast --topology ring:16384 {LINK} --grain fluid", 0.1, 100),
    (f"collective all-reduce --topology torus:32x32x16 {LINK} --grain fluid", 0.1, 100),
    (f"collective all-gather --topology line:16384 {LINK} --grain fluid", 0.5, 100),
    (f"collective broadcast --topology torus:32x32x16 {LINK} --grain fluid", 0.1, 100),
    (f"collective reduce --topology torus:32x32x16 {LINK} --grain fluid", 0.1, 100),
    (f"collective broadcast --topology switch:16384 {LINK} --grain fluid", 0.1, 100),
    (f"{RING_1024} --full --engine ideal", 0.6, None),
    (f"{RING_1024} --full", 2.5, None),
    (RING_1024, 0.05, None),
    ("collective all-to-all --topology bench/torus-16x16-slow-cable.yaml --bytes 64MiB --full", 1,
     None),
    ("collective all-to-all --topology fat-tree-256-2to1 --bytes 64MiB --full", 2, None),
    ("explain bench/llama3-405b-512.yaml", 0.1, None),
    ("validate --rows tests/ledger/good.yaml --out {out}", 30, None),
    ("collective all-to-all --topology bench/fat-tree-256-eight-spines.yaml --bytes 64MiB", 2, None),
    ("run configs/runs/llama3-70b-v5p-64.yaml --out {out}", 0.1, None),
    # The whole step of 405B on 16,384 chips, every op of every layer; one layer on 1,024 chips in full.
    ("run configs/runs/llama3-405b-h100-16384.yaml --out {out}", 2, 300),
    ("run configs/runs/llama3-70b-v5p-64.yaml --set 'cluster.topology.axes={x: 8, y: 16, z: 8}' "
     "--set batch.global=1024 --full --out {out}", 10, None),
    # 10,824 layouts of Llama 3 70B, screened and proven: a minute on two cores.
    ("sweep bench/llama3-70b-10824.yaml --jobs 2 --db {out}/sweep.db", 120, 300),
]


def measure(command):
    """(CPU seconds, resident MiB) of one run; raises CalledProcessError when it fails."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def run_once(binary, text):
    with tempfile.TemporaryDirectory() as out:
        return measure([binary, *shlex.split(text.replace("{out}", out))])


def run_case(binary, text, repeat):
    runs = [run_once(binary, text) for _ in range(repeat)]
    return statistics.median(cpu for cpu, _ in runs), max(memory for _, memory in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    binary = str(pathlib.Path(args.binary).resolve())

    slow = 0
    print(f"{'CPU s':>8} {'limit':>7} {'MiB':>7} {'limit':>6}  verdict  command")
    for text, cpu_limit, memory_limit in CASES:
        try:
            cpu, memory = run_case(binary, text, args.repeat)
        except (OSError, subprocess.CalledProcessError) as error:
            slow += 1
            print(f"{'-':>8} {cpu_limit:>7} {'-':>7} {memory_limit or '-':>6}  FAILED   {text}: {error}")
            continue
        over = cpu > cpu_limit or (memory_limit is not None and memory > memory_limit)
        slow += over
        print(f"{cpu:8.3f} {cpu_limit:>7} {memory:7.1f} {memory_limit or '-':>6}  "
              f"{'OVER    ' if over else 'ok      '} {text}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
