#!/usr/bin/env python3
"""trace.json as viewers read it. usage: trace_test.py [--binary build/shardsim]

Every event has the fields of its kind, pairs and arrows have both ends, slices of one thread do not
overlap, counters go on, every process and thread has a name, and an arrow's ends lie in slices.
"""
import argparse
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMON = {"ph": str, "name": str, "pid": int}
TIMED = {**COMMON, "ts": (int, float)}
THREADED = {**TIMED, "tid": int}
FIELDS = {
    "X": {**THREADED, "dur": (int, float)},
    "M": {**COMMON, "tid": int, "args": dict},
    "C": {**TIMED, "args": dict},
    "b": {**THREADED, "cat": str, "id": int},
    "e": {**THREADED, "cat": str, "id": int},
    "s": {**THREADED, "cat": str, "id": int},
    "f": {**THREADED, "cat": str, "id": int, "bp": str},
}
RUNS = {
    "one rank": ["run", "configs/runs/fsdp-ring8.yaml"],
    "two classes": ["run", "configs/runs/levels-2x8-h100.yaml"],
    "a pipeline": ["run", "configs/runs/levels-2x8-h100.yaml", "--set", "mesh={P: ib, Y: nvlink}", "--set",
                   "model=llama3-8b", "--set", "layers=4", "--set", "sharding={tp: Y, sp: true}", "--set",
                   "batch={global: 8, micro: 1, length: 4096}", "--set", "schedule={kind: 1f1b, axis: P}", "--set",
                   "ends=true"],
    "schedules": ["schedule", "1f1b", "dualpipe", "--stages", "4", "--microbatches", "8", "--forward", "1ms",
                  "--backward", "2ms", "--p2p", "300us"],
    "phases": ["phases", "configs/phases/deepseek-v3-cell.yaml"],
}
NEEDS_ARROWS = {"a pipeline", "schedules"}


def faults_of_fields(event):
    fields = FIELDS.get(event.get("ph"))
    if fields is None:
        return [f"an event of unknown kind: {event}"]
    wrong = [f"{event}: expected {key}" for key, kind in fields.items()
             if not isinstance(event.get(key), kind) or isinstance(event.get(key), bool)]
    extra = set(event) - set(fields) - {"args"}
    wrong += [f"{event}: {key} is no field of its kind" for key in sorted(extra)]
    if not wrong and ("ts" in fields and event["ts"] < 0 or event.get("dur", 0) < 0):
        wrong.append(f"{event}: a time below 0")
    return wrong


def faults_of_threads(slices):
    """Slices of one thread follow each other; rounding to a double of microseconds is allowed."""
    wrong = []
    for thread, events in slices.items():
        events.sort(key=lambda e: (e["ts"], e["dur"]))
        for before, event in zip(events, events[1:]):
            if event["ts"] < before["ts"] + before["dur"] - 1e-9 * (1 + event["ts"]):
                wrong.append(f"thread {thread}: {event['name']} at {event['ts']} overlaps {before['name']}")
    return wrong


def faults_of_pairs(events, first, last):
    ends = {ph: collections.Counter(e["id"] for e in events if e["ph"] == ph) for ph in (first, last)}
    wrong = [f"{ph} {number} is there {times} times" for ph in ends for number, times in ends[ph].items() if times > 1]
    wrong += [f"{first} and {last}: {number} has one end" for number in sorted(set(ends[first]) ^ set(ends[last]))]
    return wrong


def faults_of_arrows(events, slices):
    wrong = []
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    for event in events:
        if event["ph"] in "sf":
            at = (event["pid"], event["tid"])
            if not any(s["ts"] <= event["ts"] <= s["ts"] + s["dur"] for s in slices[at]):
                wrong.append(f"{event}: its end lies in no slice")
        if event["ph"] == "f" and event["ts"] < starts.get(event["id"], event)["ts"]:
            wrong.append(f"{event}: an arrow goes back in time")
    return wrong


def faults(trace, arrows):
    events = trace["traceEvents"]
    wrong = [fault for event in events for fault in faults_of_fields(event)]
    if wrong:
        return wrong
    slices = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(event)
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    wrong += [f"thread {thread} has no name" for thread in sorted(set(slices) - named)]
    wrong += faults_of_threads(slices)
    wrong += faults_of_pairs(events, "b", "e") + faults_of_pairs(events, "s", "f")
    wrong += faults_of_arrows(events, slices)
    if arrows and not any(e["ph"] == "s" for e in events):
        wrong.append("expected arrows between ranks, found none")
    return wrong


def read(folder):
    packed = folder / "trace.json.gz"
    return json.loads(gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "trace.json").read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    binary = str(pathlib.Path(parser.parse_args().binary).resolve())
    wrong = []
    for name, arguments in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([binary, *arguments, "--out", folder], cwd=ROOT, capture_output=True, text=True,
                                  check=False)
            if done.returncode != 0:
                wrong.append(f"{name}: exit status {done.returncode}\n{done.stderr}")
                continue
            wrong += [f"{name}: {fault}" for fault in faults(read(pathlib.Path(folder)), name in NEEDS_ARROWS)[:10]]
    print("\n".join(wrong) if wrong else f"{len(RUNS)} traces as viewers read them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
