#!/usr/bin/env python3
"""Measured training steps beside simulated ones: GPT of 22B to 1T on A100 (Korthikanti et al. 2022).

usage: korthikanti.py [--binary build/shardsim] [--small]

Table 5 and section 6.3 of the paper (whole steps), then table 4 (one layer). The run files are
configs/runs/korthikanti-*.yaml; each must say what the row of the measurement says. Nothing is fitted:
rates of the chip and of the links are measured by other programs (the sources are in the files).
Beside them is what one fitted constant would say: the TFLOP/s that make the mean error of all rows
smallest, on the model FLOPs of the paper. --small: only steps of less than 100,000 layer passes.

Exit status 3 when the mean error is above its limit, or not below that of the constant.
"""
import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNS = ROOT / "configs" / "runs"
WORST_MEAN = 0.12
WORST_LAYER = 0.12
SMALL = 100_000


def read(name):
    with open(HERE / "data" / name, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def recompute_of(row):
    return row["recompute"].split("(")[0]


def run_file(row):
    copies = f"-dp{row['dp']}" if row["dp"] != "1" else ""
    return RUNS / f"korthikanti-{row['model'].lower()}-{recompute_of(row)}{copies}.yaml"


def require_same(row, text):
    """The run file says what was measured."""
    wanted = [f"model: megatron-{row['model'].lower()}\n", f"global: {row['gbs']},", f"micro: {row['mbs']},",
              f"length: {row['seq']}}}", f"tp: {row['tp']}", f"recompute: {recompute_of(row)}\n"]
    wanted += [f"{axis}: {row[axis]}" for axis in ("pp", "dp") if row[axis] != "1"]
    wanted += ["sp: true"] if row["sequence_parallel"] == "True" else []
    wanted += [f"chunks: {row['interleave']}"] if row["interleave"] != "1" else []
    missing = [want for want in wanted if want not in text]
    if missing or ("sp: true" in text) != (row["sequence_parallel"] == "True"):
        raise RuntimeError(f"{run_file(row)} is not the measured run; expected {missing}")


def simulate(binary, path, *changes):
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "run", str(path), "--format", "json", "--out", out]
        for change in changes:
            command += ["--set", change]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)["step_time_s"]


def model_flops(row):
    """Of one step, all scores counted: section 6.1 of the paper."""
    b, l, s, h, v = (int(row[k]) for k in ("gbs", "layers", "seq", "hidden", "vocab"))
    return 72 * b * l * s * h * h * (1 + s / (6 * h) + v / (12 * h * l))


def passes(row):
    return int(row["layers"]) * int(row["gbs"]) // int(row["mbs"]) // int(row["dp"])


def fitted(rows):
    """Seconds of every row by the one rate whose mean error is smallest, and that rate."""
    ideal = [model_flops(row) / int(row["gpus"]) for row in rows]
    times = [float(row["iter_time_s"]) for row in rows]

    def mean(rate):
        return sum(abs(flops / rate / time - 1) for flops, time in zip(ideal, times)) / len(rows)

    best = min((flops / time for flops, time in zip(ideal, times)), key=mean)  # one row is met exactly
    return [flops / best for flops in ideal], best


def steps(binary, rows):
    by_rate, rate = fitted(rows)
    print(f"{'model':>5} {'GPUs':>5} {'TP PP DP':>9} {'recompute':>10} {'measured s':>11} {'simulated s':>12} "
          f"{'error':>7} {'constant s':>11} {'error':>7}")
    errors, others = [], []
    for row, other in zip(rows, by_rate):
        path = run_file(row)
        require_same(row, path.read_text(encoding="utf-8"))
        time, measured = simulate(binary, path), float(row["iter_time_s"])
        errors.append(time / measured - 1)
        others.append(other / measured - 1)
        layout = " ".join(row[axis] for axis in ("tp", "pp", "dp"))
        print(f"{row['model']:>5} {row['gpus']:>5} {layout:>9} {recompute_of(row):>10} {measured:>11.2f} "
              f"{time:>12.2f} {errors[-1]:>+7.1%} {other:>11.2f} {others[-1]:>+7.1%}")
    mean = sum(map(abs, errors)) / len(errors)
    constant = sum(map(abs, others)) / len(others)
    print(f"{len(rows)} steps: mean error {mean:.1%} (limit {WORST_MEAN:.0%}), worst {max(map(abs, errors)):.1%}; "
          f"one constant of {rate / 1e12:.1f} TFLOP/s, fitted to these rows: {constant:.1%}")
    return mean <= WORST_MEAN and mean < constant


def layers(binary):
    """Table 4: one layer of the 22B model, forward and backward."""
    print(f"\n{'layer of 22B':<28} {'measured ms':>11} {'simulated ms':>13} {'error':>7}")
    errors = []
    for row in read("korthikanti2022_layer_22b.csv"):
        changes = ["layers=1", f"recompute={row['recompute']}",
                   f"parallel.sp={row['sequence_parallel'].lower()}"]
        time = simulate(binary, RUNS / "korthikanti-22b-selective.yaml", *changes) * 1e3
        measured = float(row["total_ms"])
        errors.append(time / measured - 1)
        print(f"{row['experiment']:<28} {measured:>11.1f} {time:>13.2f} {errors[-1]:>+7.1%}")
    mean = sum(map(abs, errors)) / len(errors)
    print(f"{len(errors)} layers: mean error {mean:.1%} (limit {WORST_LAYER:.0%})")
    return mean <= WORST_LAYER


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    rows = [row for row in read("korthikanti2022_megatron_a100.csv")
            if not options.small or passes(row) < SMALL]
    good = steps(options.binary, rows)
    return 0 if layers(options.binary) and good else 3


if __name__ == "__main__":
    sys.exit(main())
