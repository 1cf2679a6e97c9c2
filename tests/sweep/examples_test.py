#!/usr/bin/env python3
"""Every sweep of configs/sweeps, made smaller, is carried out, and shows what its head asks.

    tests/sweep/examples_test.py --binary build/shardsim [NAME…]     all of them, or those named
"""
import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "configs" / "sweeps"
SAMPLE = "\nsample: {points: 12, seed: 1}\n"


def close(a, b, within):
    return abs(a - b) <= within * max(abs(a), abs(b))


def check_layouts(rows):
    """Replayed points have all their figures; no utilisation is above one."""
    replayed = [r for r in rows if r["status"] == "ok"]
    assert len(rows) == 12 and replayed, [(r["status"], r["reason"]) for r in rows]
    for row in replayed:
        assert 0 < row["mfu"] <= 1 and row["mfu"] <= row["hfu"] * (1 + 1e-12), row
        assert row["fits_memory"] == 1, row
        parts = row["compute_s"] + row["exposed_comm_s"] + row["bubble_s"] + row["rest_s"]
        assert close(parts, row["step_time_s"], 1e-9), row


def best(rows, **where):
    """The tp of the shortest step."""
    chosen = [r for r in rows if r["status"] == "ok" and all(r["axis_" + k] == v for k, v in where.items())]
    return min(chosen, key=lambda r: r["step_time_s"])["axis_tp"]


def check_reach(rows):
    """Where NVLink joins more GPUs, tensor parallelism reaches further."""
    assert all(r["status"] == "ok" for r in rows) and len(rows) == 14, rows
    assert best(rows, node=8) < best(rows, node=64), (best(rows, node=8), best(rows, node=64))


def none_failed(rows):
    assert all(r["status"] != "failed" for r in rows), [r["reason"] for r in rows if r["status"] == "failed"]


def check_bandwidth(rows):
    """Faster links never cost; the fewer tokens, the more tp pays."""
    lines = {}
    for row in rows:
        assert row["status"] == "ok", row
        lines.setdefault((row["axis_tp"], row["axis_length"]), []).append(
            (row["axis_bandwidth_bytes_per_s"], row["step_time_s"]))
    assert len(lines) == 12, lines.keys()
    for line in lines.values():
        times = [step for _, step in sorted(line)]
        assert len(times) == 9 and times == sorted(times, reverse=True), line
    for bandwidth in (25e9, 900e9):
        few, many = (best(rows, length=n, bandwidth_bytes_per_s=bandwidth) for n in (512, 8192))
        assert few > many, (bandwidth, few, many)


def check_all_to_all(rows):
    """Every device sends (n - 1)/n of its V/n bytes through its own port; forward and backward."""
    assert len(rows) == 42, len(rows)
    for row in rows:
        n, volume = row["axis_n"], 1024 * row["axis_rows"]
        expected = 2 * (1e-6 + volume / n * (n - 1) / n / 450e9)
        # 1e-6 relative: SimGrid's precision of times.
        assert row["status"] == "ok" and close(row["comm_s"], expected, 1e-6), (n, volume, row, expected)


def check_schedules(rows):
    """Zero bubble beats 1F1B, by less where there is less work on gradients of weights."""
    step = {(r["axis_length"], r["axis_kind"]): r["step_time_s"] for r in rows if r["status"] == "ok"}
    assert len(step) == 3 * 7, [(r["axis_kind"], r["reason"]) for r in rows if r["status"] != "ok"]
    gains = [1 - step[n, "zb-h1"] / step[n, "1f1b"] for n in (4096, 32768, 131072)]
    assert gains[0] > gains[1] > gains[2] > 0, gains
    for length in (4096, 32768, 131072):
        assert step[length, "zb-h2"] <= step[length, "zb-h1"], length


# By file: what is replaced, what is added, what must show.
REDUCED = {
    "all-to-all": ({}, "", check_all_to_all),
    "llama3-70b-h100": ({"  model: llama3-70b\n": "  model: llama3-70b\n  layers: 8\n",
                         "chips: 64..1024": "chips: 64..128"}, SAMPLE, check_layouts),
    "llama3-70b-v5p": ({"  model: llama3-70b\n": "  model: llama3-70b\n  layers: 2\n",
                        "chips: 64..1024": "chips: 64..128"}, SAMPLE, check_layouts),
    "schedules": ({"layers: 32": "layers: 8", "values: [2, 4, 8]": "values: [4]",
                   "values: [8, 16, 32]": "values: [8]"}, "", check_schedules),
    "tp-link-bandwidth": ({}, "", check_bandwidth),
    "tp-reach-nvl72-hgx": ({}, "", check_reach),
}


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def rows_of(binary, name, folder):
    replaced, added, _ = REDUCED[name]
    text = (FOLDER / f"{name}.yaml").read_text()
    for old, new in replaced.items():
        assert text.count(old) == 1, (name, old)
        text = text.replace(old, new)
    path, db = pathlib.Path(folder) / f"{name}.yaml", pathlib.Path(folder) / "sweep.db"
    path.write_text(text + added)
    for words in ([path, "--db", db, "--quiet"], ["export", db, "--csv"]):
        done = subprocess.run([binary, "sweep", *map(str, words)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, (done.returncode, done.stderr)
    return [{key: number(value) for key, value in row.items()} for row in csv.DictReader(done.stdout.splitlines())]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    names = {path.stem for path in FOLDER.glob("*.yaml")}
    if names != set(REDUCED):
        sys.exit(f"examples_test.py: expected a row of REDUCED for every file, differ: {names ^ set(REDUCED)}")
    failed = 0
    for name in args.names or sorted(names):
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = rows_of(str(pathlib.Path(args.binary).resolve()), name, folder)
                none_failed(rows)
                REDUCED[name][2](rows)
                print(f"{name}: passed", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"{name}: FAILED: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
