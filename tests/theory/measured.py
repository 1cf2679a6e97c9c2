#!/usr/bin/env python3
"""Measured all-reduces beside simulated ones: NCCL on A100 clusters.

usage: measured.py [--binary build/shardsim] [--large]

One row for each measurement from 1 MiB on (--large: of at least 64 MiB only), and the mean error of all
and of the large ones. Bandwidth efficiency and latency are those of two levels, from
configs/topologies/azure-nd-a100-v4-x16-measured.yaml; nothing is fitted to a row. Several nodes take
the faster of NCCL's two algorithms, rings or trees, as its tuner does. What is not modelled: the
protocols' own bandwidths, and chunks that are inside a node while others are between nodes.
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
WORST_LARGE = 0.06


def measurements():
    with open(HERE / "data" / "nccl_allreduce_a100.csv", encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(int(r["gpus"]), int(r["bytes"]), float(r["time_us"])) for r in rows]


def simulated_us(binary, gpus, sizes, folder):
    """Microseconds and algorithm by size: one node is a switch, several take NCCL's rings or trees."""
    text = TOPOLOGY.read_text(encoding="utf-8")
    nodes = gpus // 8
    if "size: 16" not in text:
        raise RuntimeError(f"{TOPOLOGY} has no level of size 16")
    path = pathlib.Path(folder) / f"nodes{nodes}.yaml"
    algorithms = ["node-rings", "node-trees"]
    if nodes == 1:
        text = "\n".join(line for line in text.split("\n") if "size: 16" not in line)
        algorithms = ["ring-oneway"]
    path.write_text(text.replace("size: 16", f"size: {nodes}"), encoding="utf-8")
    found = {}
    for algorithm in algorithms:
        done = subprocess.run([binary, "collective", "all-reduce", "--topology", str(path),
                               "--sweep-bytes", f"{min(sizes)}B:{max(sizes)}B:2", "--grain", "fluid",
                               "--format", "json", "--algorithm", algorithm],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        for point in json.loads(done.stdout)["points"]:
            one = (point["time_s"] * 1e6, algorithm)
            size = round(point["bytes"])
            found[size] = min(found.get(size, one), one)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    rows = [row for row in measurements() if not options.large or row[1] >= LARGE]
    print(f"{'GPUs':>5} {'MiB':>7} {'measured us':>12} {'simulated us':>13} {'busbw GB/s':>11} "
          f"{'simulated':>10} {'error':>7}  algorithm")
    errors, large = [], []
    with tempfile.TemporaryDirectory() as folder:
        for gpus in sorted({row[0] for row in rows}):
            here = [row for row in rows if row[0] == gpus]
            found = simulated_us(options.binary, gpus, [size for _, size, _ in here], folder)
            for _, size, measured in here:
                bus = 2 * (gpus - 1) / gpus * size / 1e3
                simulated, algorithm = found[size]
                error = simulated / measured - 1
                errors.append(abs(error))
                if size >= LARGE:
                    large.append(abs(error))
                print(f"{gpus:>5} {size / 2**20:>7.0f} {measured:>12.1f} {simulated:>13.1f} "
                      f"{bus / measured:>11.1f} {bus / simulated:>10.1f} {error:>+7.1%}  {algorithm}")
    print()
    ok = True
    for name, which, limit in [("rows", errors, WORST_MEAN), ("rows of 64 MiB and more", large, WORST_LARGE)]:
        mean = sum(which) / len(which)
        ok = ok and mean <= limit
        print(f"{len(which)} {name}: mean error {mean:.1%}, worst {max(which):.1%} "
              f"(limit of the mean {limit:.0%})")
    return 0 if ok else 3


if __name__ == "__main__":
    sys.exit(main())
