#!/usr/bin/env python3
"""Measured all-reduces beside simulated ones: NCCL on A100 clusters.

usage: measured.py [--binary build/shardsim] [--all]

One row for each measurement of at least 64 MiB (--all: every size from 1 MiB), and the mean error of
all. Bandwidth efficiency and latency are those of two levels, from
configs/topologies/azure-nd-a100-v4-x16-measured.yaml; nothing is fitted to a row. Below 64 MiB the library
is bound by what is not modelled (launches, protocols, trees across nodes); those rows are for reading.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOPOLOGY = ROOT / "configs" / "topologies" / "azure-nd-a100-v4-x16-measured.yaml"
LARGE = 64 * 2**20
WORST_MEAN = 0.15


def measurements():
    with open(HERE / "data" / "nccl_allreduce_a100.csv", encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(int(r["gpus"]), int(r["bytes"]), float(r["time_us"])) for r in rows]


def simulated_us(binary, gpus, sizes, folder):
    """Microseconds by size: one node is a switch, several are rings through all ranks."""
    text = TOPOLOGY.read_text(encoding="utf-8")
    nodes = gpus // 8
    if "size: 16" not in text:
        raise RuntimeError(f"{TOPOLOGY} has no level of size 16")
    path = pathlib.Path(folder) / f"nodes{nodes}.yaml"
    arguments = ["--algorithm", "node-rings"]
    if nodes == 1:
        text = "\n".join(line for line in text.split("\n") if "size: 16" not in line)
        arguments = ["--algorithm", "ring-oneway"]
    path.write_text(text.replace("size: 16", f"size: {nodes}"), encoding="utf-8")
    found = {}
    for size in sizes:
        done = subprocess.run([binary, "collective", "all-reduce", "--topology", str(path), "--bytes",
                               f"{size}B", "--grain", "fluid", "--format", "json", *arguments],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        found[size] = json.loads(done.stdout)["time_s"] * 1e6
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    rows = [row for row in measurements() if options.all or row[1] >= LARGE]
    print(f"{'GPUs':>5} {'MiB':>7} {'measured us':>12} {'simulated us':>13} {'busbw GB/s':>11} "
          f"{'simulated':>10} {'error':>7}")
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for gpus in sorted({row[0] for row in rows}):
            here = [row for row in rows if row[0] == gpus]
            found = simulated_us(options.binary, gpus, [size for _, size, _ in here], folder)
            for _, size, measured in here:
                bus = 2 * (gpus - 1) / gpus * size / 1e3
                error = found[size] / measured - 1
                if size >= LARGE:
                    errors.append(abs(error))
                print(f"{gpus:>5} {size / 2**20:>7.0f} {measured:>12.1f} {found[size]:>13.1f} "
                      f"{bus / measured:>11.1f} {bus / found[size]:>10.1f} {error:>+7.1%}")
    mean = sum(errors) / len(errors)
    print(f"\n{len(errors)} rows of 64 MiB and more: mean error {mean:.1%}, worst {max(errors):.1%} "
          f"(limit of the mean {WORST_MEAN:.0%})")
    return 0 if mean <= WORST_MEAN else 3


if __name__ == "__main__":
    sys.exit(main())
