#!/usr/bin/env python3
"""Activation memory of Korthikanti et al. 2022 (arXiv 2205.05198) beside the replayed one.

usage: korthikanti_memory.py [--binary build/shardsim] [--all]

Published are the paper's formulas, evaluated: figure 7 as shares of tensor parallelism alone, and
figure 1 in GiB of the first stage, with weights, fp32 gradients and Adam (18 bytes a parameter).
What one layer leaves for the backward pass is the difference of the peaks of two runs, of two layers
and of one; it must be the share of figure 7 to half a point (the published shares also count what
is outside the layers). The peak of the whole first stage must not be below figure 1, which leaves
out what a pass needs while it runs, and not more than 10 % above. Without --all: 22B and 175B.
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
GIB = 2**30
# Table 3 of the paper: heads, hidden, layers, pipeline ranks, chunks of a rank, micro-batch. TP is 8,
# sequences have 2048 tokens.
MODELS = {"22B": (64, 6144, 48, 1, 1, 4), "175B": (96, 12288, 96, 8, 3, 1), "530B": (128, 20480, 105, 35, 3, 1),
          "1T": (160, 25600, 128, 64, 1, 1)}
MODES = {"none": [], "seq": ["sharding.sp=true", "sharding.regather=true"], "sel": ["recompute=selective"],
         "seqsel": ["sharding.sp=true", "sharding.regather=true", "recompute=selective"], "full": ["recompute=full"]}
MODEL = """layers: {layers}
dims: {{D: {hidden}, F: {ffn}, N: {heads}, K: {heads}, H: {head}, V: 51200}}
block: gpt
"""
RUN = """name: {name}
cluster:
  chip: a100-80gb-sxm
  topology:
    levels:
      - {{name: nvlink, kind: switch, size: 8, latency: 1 us}}
{rails}
mesh: {{{mesh}T: 8, order: row-major}}
model: {model}
batch: {{global: {sequences}, micro: {micro}, length: 2048}}
precision: {{gradients: fp32}}
sharding: {{tp: T}}
ends: false
attention: scores
dropout: true
{schedule}
"""
RAILS = "      - {{name: ib, kind: rails, size: {ranks}, bandwidth: 25 GB/s, latency: 5 us}}"
WORST_SHARE = 0.5
WORST_PEAK = 0.1
QUICK = ("22B", "175B")


def write_run(name, folder, ranks):
    heads, hidden, layers, _, chunks, micro = MODELS[name]
    model = pathlib.Path(folder) / f"{name}.yaml"
    model.write_text(MODEL.format(layers=layers, hidden=hidden, ffn=4 * hidden, heads=heads, head=hidden // heads),
                     encoding="utf-8")
    kind = "{kind: 1f1b, axis: P}" if chunks == 1 else f"{{kind: interleaved-1f1b, axis: P, chunks: {chunks}}}"
    path = pathlib.Path(folder) / f"run-{name}-{ranks}.yaml"
    # Two rounds of micro-batches reach the state that all others keep.
    path.write_text(RUN.format(name=name, model=model, micro=micro, sequences=micro * (2 * ranks if ranks > 1 else 1),
                               rails=RAILS.format(ranks=ranks) if ranks > 1 else "",
                               mesh=f"P: {ranks}, " if ranks > 1 else "",
                               schedule=f"schedule: {kind}" if ranks > 1 else ""), encoding="utf-8")
    return path


def memory(binary, path, changes, folder):
    command = [binary, "run", str(path), "--format", "json", "--out", str(pathlib.Path(folder) / "out")]
    for change in changes:
        command += ["--set", change]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)["stages"][0]["memory"]


def table(name, everything):
    with open(HERE / "data" / name, encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return [row for row in rows if everything or row["model"] in QUICK]


def shares(binary, folder, everything):
    print("what a layer leaves, % of tensor parallelism alone (figure 7): published / replayed")
    worst = 0.0
    for row in table("korthikanti2022_act_fraction.csv", everything):
        path = write_run(row["model"], folder, 1)
        left = {}
        for mode, changes in MODES.items():
            two, one = (memory(binary, path, changes + [f"layers={n}"], folder)["activations_bytes"] for n in (2, 1))
            left[mode] = two - one
        cells = []
        for mode, bytes_left in left.items():
            share = 100 * bytes_left / left["none"]
            worst = max(worst, abs(share - float(row[mode])))
            cells.append(f"{mode} {float(row[mode]):6.2f} / {share:6.2f}")
        print(f"  {row['model']:<5} " + "   ".join(cells))
    print(f"  largest difference {worst:.2f} points (at most {WORST_SHARE})")
    return worst <= WORST_SHARE


def peaks(binary, folder, everything):
    print("first stage, GiB (figure 1): published / replayed peak, and weights, gradients, optimizer state")
    good = True
    for row in table("korthikanti2022_memory.csv", everything):
        path = write_run(row["model"], folder, MODELS[row["model"]][3])
        found = memory(binary, path, MODES[row["mode"]], folder)
        peak = found["activations_bytes"] / GIB
        held = sum(found[kind + "_bytes"] for kind in ("weights", "gradients", "optimizer")) / GIB
        published, held_is = float(row["activations_GiB"]), float(row["params_opt_GiB"])
        over = peak / published - 1
        good = good and -1e-9 <= over <= WORST_PEAK
        print(f"  {row['model']:<5} {row['mode']:<7} activations {published:7.2f} / {peak:7.2f} ({100 * over:+.1f} %)   "
              f"held {held_is:6.2f} / {held:6.2f} ({100 * (held / held_is - 1):+.1f} %)")
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first = shares(options.binary, folder, options.all)
        second = peaks(options.binary, folder, options.all)
    return 0 if first and second else 1


if __name__ == "__main__":
    sys.exit(main())
