#!/usr/bin/env python3
"""The command line as users and scripts meet it. usage: cli_test.py [--binary build/shardsim]

Exit statuses, messages with the nearest legal name, JSON that parses, directories that cannot be
written, Ctrl-C, width of tables.
"""
import argparse
import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = "configs/runs/fsdp-ring8.yaml"
RING = ["--topology", "ring:8", "--bandwidth", "100GB/s", "--latency", "0", "--bytes", "64MiB"]
ALL_TO_ALL = ["collective", "all-to-all", *RING]
SWEEP = ["collective", "all-reduce", *RING[:4], "--latency", "1us", "--sweep-bytes", "1KiB:16MiB"]
WIDEST = 100  # columns
LEDGER = ["validate", "--rows", "tests/ledger/good.yaml"]
SIZES = ["--mesh", "X=4,Y=2", "--dims", "I=64,J=64,K=64"]
PLANE = ["--mesh", "X=4,Y=2", "--dims", "I=64,J=64"]
EIGHT = ["--mesh", "A=2,B=2,C=2,D=2,E=2,F=2,G=2,H=2", "--bandwidth", "100GB/s", "--dims"]
SHUFFLED = "C[I_{HGFEDCBA},K] = P[I,J_{ABCDEFGH}] * Q[J,K_{BCDEFGHA}]"
EXPLAINED = [
    ["explain", "A[I_XY, J]", *PLANE],
    ["explain", "A[I, J]{U_X} -> A[I_Y, J_X]", *PLANE, "--bandwidth", "100GB/s"],
    ["explain", "C[I_X, K] = A[I_X, J] * B[J_Y, K_X]", *SIZES, "--pass", "both"],
    ["explain", "C[I,K] = A[I,J_X] * B[J_Y,K]", *SIZES, "--bandwidth", "100GB/s"],
    ["explain", "C[I,K] = A[I,J_X] * B[J_Y,K]", *SIZES, "--chip", "tpu-v5p"],
    ["explain", "Q[I,N_X,H] = reshape(Qf[I,M_X])", "--mesh", "X=4", "--dims", "I=2,M=64,N=4,H=16"],
    ["explain", "tests/bad/batch-dims.yaml", "--set", "on_ambiguity=choose"],
    ["explain", "A[I_{data,fsdp}, J]", "--mesh", "data=4,fsdp=2,pipeline=3", "--dims", "I=64,J=7"],
    ["explain", "configs/runs/llama3-70b-v5p-64.yaml"],
    ["explain", "configs/runs/mlp-by-hand.yaml"],
    ["explain", RUN, "--set", "batch.length=4096", "--pass", "backward", "--statement", "Attn"],
]



FSDP = "configs/runs/fsdp-prefetch-4-layers.yaml"


def pipeline(stages=4, microbatches=8):
    return ["--stages", str(stages), "--microbatches", str(microbatches), *COSTS]


COSTS = ["--forward", "1ms", "--backward", "2ms"]
PIPELINE = pipeline()

# Arguments, exit status, what the messages must contain.
REFUSED = [
    (["colective", "all-to-all"], 2, ['"colective"', '"collective"']),
    (["collective", "all-to-al", *RING], 2, ['"all-to-al"', "all-to-all"]),
    ([*ALL_TO_ALL, "--algoritm", "x"], 2, ["--algoritm", "--algorithm"]),
    (["collective", "all-gather", *RING, "--algorithm", "ring-hole"], 2,
     ['"ring-hole"', "ring-whole"]),
    (["collective", "all-gather", "--topology", "rinf:8", "--bandwidth", "100GB/s", "--latency",
      "0", "--bytes", "64MiB"], 2, ["rinf", "ring"]),
    (["collective", "all-gather", "--topology", "", *RING[2:]], 2,
     ["--topology: expected a value, found an empty text", "a short name such as ring:8"]),
    (["collective", "all-gather", *RING, "--mesh", ""], 2,
     ["--mesh: expected a value, found an empty text", "e.g. X=4,Y=4"]),
    (["collective", "all-gather", "--topology", "hgx-h100-y2", "--bytes", "64MiB"], 2,
     ['"hgx-h100-y2"', "hgx-h100-x2"]),
    (["collective", "all-gather", "--topology", "ring:8", "--bytes", "64MiB"], 2,
     ["--topology", "--bandwidth"]),
    (["collective", "all-gather", "--topology", "tpu-slice:4x32", "--chip", "tpu-v5e", "--bytes",
      "64MiB"], 2, ["at most 16 chips along an axis of tpu-v5e, found 32", "wraps at 16 only"]),
    (["collective", "all-gather", *RING, "--mesh", "X=4,Y=4", "--over", "Y"], 2,
     ["--mesh", "4 x 4 = 16"]),
    (["collective", "all-gather", *RING, "--mesh", "X=1,Y=8", "--over", "X"], 2,
     ["--over:1:1", "2 or more devices, found X of 1 device"]),
    (["collective", "all-gather", *RING, "--mesh", "X=4,Y=2", "--over", "Z"], 2,
     ["--over", '"Z"', "X, Y"]),
    (["collective", "all-gather", "--topology", "hgx-h100-x2", "--bytes", "64MiB", "--mesh",
      "X=4,Y=4", "--over", "nvlink"], 2, ["--over:1:1", "nvlink is of the network", "X, Y"]),
    (["collective", "all-gather", *RING, "--chip", "h100-sxn"], 2, ["--chip:1:1", '"h100-sxm"']),
    (["collective", "all-gather", "--topology", "ring:8", "--bandwidth", "100", "--latency", "0",
      "--bytes", "64MiB"], 2, ["--bandwidth", "unit"]),
    (["collective", "all-gather", "--topology", "ring:8", "--bandwidth", "100GB/s", "--latency",
      "0", "--bytes", "-1MiB"], 2, ["--bytes"]),
    (["collective", "all-gather", "--topology", "ring:08", "--bandwidth", "100GB/s", "--latency",
      "0", "--bytes", "64MiB"], 2, ["--topology"]),
    ([*ALL_TO_ALL, "--grain", "fluit"], 2, ['"fluit"', "fluid"]),
    ([*ALL_TO_ALL, "--engine", "simgrit"], 2, ['"simgrit"', "simgrid"]),
    ([*ALL_TO_ALL, "--format", "jsn"], 2, ['"jsn"', "json"]),
    ([*ALL_TO_ALL, "--beside", "all-gathr"], 2, ['"all-gathr"', "all-gather"]),
    (["collective", "all-gather", *RING, "--sweep-bytes", "1KiB:1GiB"], 2,
     ["--bytes and --sweep-bytes"]),
    (["collective", "all-gather", *RING[:-2], "--bytes-per-rank", "1KiB", "--sweep-bytes",
      "1KiB:1GiB"], 2, ["--bytes-per-rank and --sweep-bytes"]),
    (["collective", "all-gather", *RING[:-2]], 2, ["--sweep-bytes", "found none"]),
    ([*SWEEP[:-1], "1GiB:1KiB"], 2, ["--sweep-bytes:1:6", "1 GiB", "\n       ^~~~"]),
    ([*SWEEP[:-1], "1KiB:1MiB:1"], 2, ["--sweep-bytes:1:11"]),
    ([*SWEEP[:-1], "1KiB-1MiB"], 2, ["START:END", "for example 1KiB:1GiB"]),
    ([*SWEEP, "--beside", "all-gather"], 2, ["--beside"]),
    ([*SWEEP, "--format", "cvs"], 2, ['"cvs"', '"csv"']),
    ([*ALL_TO_ALL, "--format", "csv"], 2, ['"csv"']),
    ([*SWEEP[:2], "--topology", "ring:16384", *SWEEP[4:], "--full"], 2,
     ["million operations", "leave out --full"]),
    (["collective", "all-gather", *RING, "--algorithm", "in-network"], 2, ["gains nothing"]),
    (["collective", "broadcast", *RING, "--root", "8"], 2, ["--root", "0 to 7", "7 is nearest"]),
    (["collective", "gather", *RING, "--root", "-1"], 2, ["--root", "0 to 7", "0 is nearest"]),
    ([*ALL_TO_ALL, "--root", "1"], 2, ["--root", "broadcast, reduce, gather or scatter"]),
    (["collective", "broadcast", *RING, "--pieces", "0"], 2, ["--pieces:1:1", "from 1"]),
    (["collective", "all-gather", *RING[:-1], "64XiB", "--algorithm", "ringg"], 2,
     ["--bytes:1:1", "no unit \"XiB\"", "--algorithm:1:1", "did you mean \"ring\"?"]),
    (["collective", "all-gather", *RING, "--root", "3"], 2, ["--root:1:1", "found it with all-gather"]),
    (["collective", "broadcast", *RING, "--pieces", "-3"], 2, ["--pieces:1:1", "from 1"]),
    (["collective", "broadcast", *RING, "--pieces", "1000000000"], 2,
     ["--pieces:1:1", "from 1 to 1000000", "found \"1000000000\""]),
    (["collective", "broadcast", *RING, "--pieces", "1000000"], 2,
     ["--pieces:1:1", "12 million operations"]),
    (["collective", "collective-permute", *RING, "--shift", "99999999999"], 2,
     ["--shift:1:1", "found \"99999999999\""]),
    (["collective", "all-gather", *RING, "--algorithm", "ring", "--pieces", "4"], 2,
     ["ring cannot do", "pieces"]),
    (["collective", "all-gather", *RING, "--window", "0"], 2, ["--window:1:1", "from 1"]),
    (["collective", "all-gather", *RING, "--algorithm", "ring", "--window", "2"], 2,
     ["ring cannot do", "window"]),
    ([*ALL_TO_ALL, "--algorithm", "direct", "--window", "2"], 2, ["direct cannot do", "switch"]),
    (["collective", "all-reduce", *RING, "--algorithm", "halving-doubling"], 2,
     ["halving-doubling cannot do", "switch"]),
    (["collective", "barrier", *RING], 2, ["--bytes", "no bytes"]),
    (["collective", "all-gather", "--topology", "switch:8", *RING[2:], "--window", "99"], 2,
     ["--window:1:1", "7 other ranks"]),
    (["collective", "all-gather", "--topology", "fat-tree-8-two-spines", *RING[2:]], 2,
     ["--bandwidth:1:1", "every link of the graph"]),
    (["schedule", "dualpip", *PIPELINE], 2, ['"dualpip"', '"dualpipe"']),
    (["schedule", *PIPELINE], 2, ["schedule: expected a schedule or file:PATH, found none"]),
    (["schedule", "dualpipe", *pipeline(stages=3)], 2,
     ["dualpipe: expected an even number of ranks, found 3"]),
    (["schedule", "dualpipe", *pipeline(microbatches=6)], 2,
     ["dualpipe: expected at least 8 micro-batches, two for every rank, found 6"]),
    (["schedule", "interleaved-1f1b", *pipeline(microbatches=7)], 2,
     ["expected a number of micro-batches that is a multiple of 4 (p), found 7"]),
    (["schedule", "1f1b", *PIPELINE, "--chunks", "2"], 2,
     ["--chunks:1:1: expected 1 chunk per rank with 1f1b, found 2"]),
    (["schedule", "dualpipe", *PIPELINE, "--overlapped", "1ms"], 2,
     ["--overlapped:1:1: expected at least 2 ms, the longer of forward and backward, found 1 ms"]),
    (["schedule", "1f1b", *PIPELINE, "--overlapped", "9ms"], 2, ["--overlapped", "dualpipe"]),
    (["schedule", "v-half", *PIPELINE, "--memory-limit", "0.5"], 2,
     ["--memory-limit:1:1: expected room for at least 1 micro-batch, found 0.5"]),
    (["schedule", "1f1b", *PIPELINE, "--memory-limit", "8"], 2, ["--memory-limit"]),
    (["schedule", "1f1b", *PIPELINE, "--group", "4"], 2, ["--group", "interleaved-1f1b"]),
    (["schedule", "1f1b", "zbv", *PIPELINE], 2, ["--cost-per", "1 and 2 chunks"]),
    (["schedule", "zbv", *PIPELINE, "--p2p-mode", "blocking"], 2, ["groups of transfers", "1f1b"]),
    (["schedule", "1f1b", *PIPELINE, "--backward-input", "1ms"], 2, ["--backward", "found both"]),
    (["schedule", "1f1b", "gpipe", *PIPELINE, "--export", "x"], 2, ["--export", "found 2"]),
    (["schedule", "1f1b", "--forward", "1ms"], 2, ["--stages", "--microbatches", "--backward"]),
    (["schedule", "1f1b", *pipeline(4096, 1000000)], 2,
     ["at most 6000000"]),
    (["schedule", "file:tests/bad/parts/nosuch.txt", *PIPELINE], 2, ["nosuch.txt", "no such file"]),
    (["schedule", "1f1b", "gpipe", "1f1b", *PIPELINE], 2, ["1f1b", "named twice"]),
    (["phases", "tests/bad/parts/phases-cycle.yaml"], 2,
     ["phases-cycle.yaml:3:5: ", "a cycle: layer waits for scatter waits for next waits for layer"]),
    (["phases", "tests/bad/parts/phases-values.yaml"], 2,
     ["2:43: time: ", "3:5: missing key \"stream\"", "3:20: unknown key \"strem\"",
      'did you mean "stream"?', "4:55: after: expected a list", "5:5: expected a phase"]),
    (["phases", "tests/bad/parts/phases-names.yaml"], 2,
     ["3:5: two phases are called", 'found "gathr"', 'did you mean "gather"?']),
    (["phases", "tests/bad/parts/nosuch.yaml"], 2, ["nosuch.yaml", "no such file"]),
    (["schedule", "file:tests/bad/parts/schedule-cycle.txt", *COSTS], 2,
     ["schedule-cycle.txt:3:6: expected an order that can run, found a deadlock: B0.0 on rank 0 waits "
      "for B0.1 on rank 1 waits for F1.1 on rank 1 waits for F1.0 on rank 0 waits for B0.0 on rank 0"]),
    (["schedule", "file:tests/bad/parts/schedule-works.yaml", *COSTS], 2,
     ["schedule-works.yaml:3:5: expected B0.0, or I0.0 and W0.0, on rank 0, found none"]),
    (["list", "chps"], 2, ['"chps"', "chips"]),
    (["example", "fsdp-ring9"], 2, ['"fsdp-ring9"', "fsdp-ring8"]),
    (["run", "no/such/file.yaml"], 2, ["no/such/file.yaml"]),
    (["run", "configs/runs/fsdp-ring9.yaml"], 2, ["fsdp-ring8.yaml"]),
    (["run", "configs"], 2, ["configs", "directory"]),
    (["run", RUN, "--set", "layrs=1"], 2, ['"layrs"', "layers"]),
    (["run", "configs/runs/gpt3-175b-a100-1024.yaml", "--set",
      "cluster.topology.levels.nvlnk.bandwidth=25 GB/s"], 2, ['"nvlnk"', 'did you mean "nvlink"?']),
    (["run", RUN, "--set", "layers=0"], 2, ["layers"]),
    (["tornado", RUN, "--by", "10"], 2, ["--by:1:1: expected a share up to 99 % such as 10%", '"10"']),
    (["tornado", RUN, "--by", "100%"], 2, ["--by:1:1", '"100%"']),
    (["tornado", RUN, "--by", "-5%", "--engine", "simgrit"], 2, ["--by:1:1", '"simgrid"']),
    (["tornado", RUN, "--set", "layrs=1"], 2, ['"layrs"', "layers"]),
    (["sweep", "report", "no/such.db", "--html", "x.html"], 2, ["no/such.db: no such file"]),
    (["sweep", "report", "no/such.db"], 2, ["--html is required"]),
    (["sweep", "report", RUN, "--html", "x.html"], 2, ["expected the database of a sweep"]),
    (["run"], 2, ["file is required"]),
    (["explain"], 2, ["what is required"]),
    (["explain", " ", *SIZES], 2, ["found nothing", "'A[I_X, J]'"]),
    (["explain", "A[I_X,J", *SIZES], 2, ["array:1:8", 'expected "," or "]"', "\n         ^"]),
    (["explain", "A[I_Z,J]", *SIZES], 2, ["array:1:5", '"Z"', "one of X, Y"]),
    (["explain", "A[I_X,Q]", *SIZES], 2, ["array:1:7", '"Q"', "no size"]),
    (["explain", "A[I_X,J_X]", *SIZES], 2, ["array:1:9", "cuts both I and J"]),
    (["explain", "C[I,K] = A[I_X,J] ** B[J,K]", *SIZES], 2, ["statement:1:20", '"*"']),
    (["explain", "C = A[I_X,J] * B[J,K]", *SIZES], 2, ["the dims of C are never written"]),
    (["explain", "H = gelu(A[I,J]{U_X})", *SIZES], 2, ["partial sum over X", "without {U}"]),
    (["explain", "C = A[I,J_X] * B[J_X,K]", *SIZES], 2,
     ["C[I, K] to all-reduce it, C[I_X, K] or C[I, K_X] to reduce-scatter it, or C[I, K]{U_X}"]),
    (["explain", "C[I,K]{U_X} -> C", *SIZES], 2,
     ["array:1:16", "C[I_X, K] or C[I, K_X] to reduce-scatter it"]),
    (["explain", "C[I,J,K] = A[I_X,J] * B[I_Y,K]", *SIZES], 2,
     ["batch dim I cut alike", "A[I_X, J] and B[I_Y, K]", "on_ambiguity: choose"]),
    (["explain", "C[I,J] = A[I,I] * B[I,J]", *SIZES], 2, ["statement:1:14", "I appears twice in A"]),
    (["explain", "Q[I,N,H] = reshape(Qf[I,J_X])", "--mesh", "X=8", "--dims", "I=64,J=64,N=4,H=16"], 2,
     ["J = 64 of Qf becomes N = 4 times H = 16", "8 does not divide N = 4", "write Qf[I, J]",
      "first of 4"]),
    (["explain", "H = gulu(A[I,J])", *SIZES], 2, ["statement:1:5", '"gulu"', '"gelu"']),
    (["explain", "A[I_X,J] -> B[J,I]", *SIZES], 2, ["array:1:13", "expected A", "[J, I]"]),
    (["explain", "A[I,J] -> A[I,J]{U_X}", *SIZES], 2, ["array:1:11", "partial sums over X"]),
    (["explain", "H[I,J]{U_X} = A[I,J]{U_X} + B[I,J]", *PLANE], 2, ["count B once for every"]),
    (["explain", "C[I,K] = A[I,J] * A[J,K]", *SIZES], 2,
     ["statement:1:19", "A is written [J, K] here and [I, J] before", "a name of its own"]),
    (["explain", "C[I,K] = A[I,J] * A[I,J]", *SIZES], 2, ["index K of C is in no operand"]),
    (["explain", "A[I_X,J]", *PLANE, "--chip", "tpu-v5e"], 2, ["expected no --chip for an array"]),
    (["run", FSDP, "--compare", "overlop", "--out", "x"], 2,
     ['--compare:1:1: expected overlap, found "overlop"', "did you mean", "no --out with --compare"]),
    (["run", FSDP, "--compare", "overlap", "--tokens", "1e9", "--what-if"], 2,
     ["no --tokens with --compare", "no --what-if with --compare"]),
    (["run", FSDP, "--tokens", "many"], 2, ['expected a number of tokens such as 15e12, found "many"']),
    (["run", FSDP, "--tokens", "-1"], 2, ["expected a number of tokens"]),
    (["run", FSDP, "--tokens", "1e9"], 2, ["--tokens: expected a batch of sequences, found none"]),
    (["run", "configs/runs/fsdp-ring8.yaml", "--tokens", "1e9"], 2,
     ["expected a run of all 32 layers of llama3-8b, found 1"]),
    (["explain", "C = A[I,J] + B[I,J]", *PLANE, "--chip", "tpu-v5"], 2,
     ['"tpu-v5"', "did you mean tpu-v5"]),
    (["explain", "C = A[I,J] + B[I,J]", *PLANE, "--dtype", "fp32", "--chip", "tpu-v5e"], 2,
     ["--dtype:1:1", "no peak for fp32", "bf16 or int8"]),
    (["explain", "A[I_X,J]", *SIZES], 2, ["--dims:1:11", "found K", "one of I, J"]),
    (["explain", "Ax[Iq_X] -> Ax[Iq]", "--mesh", "X=4", "--dims", "Iq=64,Ip=32"], 2,
     ["--dims:1:7", "found Ip", 'did you mean "Iq"']),
    (["explain", "C[I,K] = A[I,J] * B[J,K]", *SIZES[:-1], "I=64,J=64,K=64,Q=8"], 2,
     ["--dims:1:16", "found Q", "one of I, J, K"]),
    (["explain", "A[I]"], 2, ["no --mesh", "no --dims", "--mesh X=4"]),
    (["explain", "A[I]", "--mesh", "X=0,X=2,=3", "--dims", "I=07"], 2,
     ["--mesh:1:1", "--mesh:1:5", "X is given twice", "--mesh:1:9", "--dims:1:1"]),
    (["explain", "A[I]", *SIZES, "--dtype", "bf17"], 2, ['"bf17"', '"bf16"']),
    (["explain", "A[I]", *SIZES, "--bandwidth", "1GB/s", "--pass", "forward"], 2,
     ["no --bandwidth for an array", "no --pass for an array"]),
    (["explain", "A[I] -> A[I_X]", *SIZES, "--latency", "1us"], 2, ["--bandwidth"]),
    (["explain", "A[I] -> A[I_X]", *SIZES, "--topology", "torus:4x4"], 2,
     ["16 devices", "4 x 2 = 8"]),
    (["explain", RUN, "--mesh", "X=8"], 2, ["no --mesh for a run file"]),
    (["explain", RUN, "--statement", "Atn"], 2, ['"Atn"', '"Attn"']),
    (["explain", RUN, "--pass", "forwards"], 2, ['"forwards"', '"forward"']),
    (["explain", "configs/runs/fsdp-ring9.yaml"], 2, ["fsdp-ring8.yaml"]),
    (["explain", "fsdp-ring9"], 2, ["expected a run from configs/runs or a path", 'did you mean "fsdp-ring8"?']),
    (["run", "llama3-405b"], 2, ["run:1:1", "did you mean llama3-405b-h100-16384?"]),
    (["check", "nothing-like-it"], 2, ["see: shardsim list runs"]),
    (["check", "config/runs/dp-ring8.yml"], 2, ["no such file", "did you mean dp-ring8?"]),
    (["check", "configs/"], 2, ["expected a file, found a directory"]),
    (["sweep", "schedule", "--plan"], 2, ["a sweep from configs/sweeps or a path", "did you mean schedules?"]),
    (["run", "configs/sweeps/all-to-all.yaml"], 2,
     ["all-to-all.yaml:4:1: expected a run, found a sweep", "shardsim sweep configs/sweeps/all-to-all.yaml"]),
    (["check", "all-to-all"], 2, ["it is a sweep: shardsim sweep all-to-all"]),
    (["sweep", RUN, "--plan"], 2, ["expected a sweep, found a run", f"shardsim run {RUN}"]),
    (["sweep", "fsdp-ring8"], 2, ["it is a run: shardsim run fsdp-ring8"]),
    (["example", "nothing-like-it"], 2, ["see: shardsim list runs, shardsim list sweeps"]),
    (["phases", "deepseek"], 2, ["did you mean deepseek-v3-cell?"]),
    ([*LEDGER, "--only", "T-gathr,T-many, T-"], 2, ["--only:1:1", '"T-gathr"', '"T-gather"', "--only:1:16"]),
    (["validate", "--rows", "tests/ledger/god.yaml"], 2, ["no such file", "good.yaml"]),
    ([*LEDGER, "--format", "csv"], 2, ['"csv"', "text, json"]),
    ([*LEDGER, "--only", "T-never", "--out", "/proc/x"], 1, ["/proc/x"]),
    (["collective", "all-gather", "--topology", "switch:65", *RING[2:], "--check"], 2,
     ["--topology:1:1", "at most 64 devices with --check, found 65"]),
]

LISTS = ["chips", "topologies", "models", "collectives", "schedules", "presets", "runs", "sweeps", "fields", "reports"]
TABLES = [
    ["list"],
    *[["list", table] for table in LISTS],
    ALL_TO_ALL,
    [*ALL_TO_ALL, "--full", "--beside", "all-gather"],
    SWEEP,
    ["collective", "all-reduce", "--topology", "torus:4x4x4", "--bandwidth", "100GB/s", "--latency",
     "1us", "--bytes", "64MiB"],
    ["tour"],
    *EXPLAINED,
    [*LEDGER, "--list"],
    ["--help"],
]
JSON = [
    ALL_TO_ALL,
    [*ALL_TO_ALL, "--beside", "all-gather"],
    SWEEP,
    ["list"],
    *[["list", table] for table in LISTS],
    *EXPLAINED,
    [*LEDGER, "--only", "T-gather,T-later"],
]


class Shardsim:
    def __init__(self, binary):
        self.binary = str(pathlib.Path(binary).resolve())

    def __call__(self, arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT, **options}
        return subprocess.run([self.binary, *arguments], text=True, encoding="utf-8", timeout=120,
                              check=False, **options)


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def expect_status(done, status):
    expect(done.returncode == status,
           f"exit {done.returncode}, expected {status}\n{(done.stderr or '')[-1500:]}")


def check_refusals(shardsim):
    """Wrong input: status 2 (the machine: 1), nothing on stdout, the nearest name in the message."""
    wrong = []
    for arguments, status, words in REFUSED:
        done = shardsim(arguments)
        missing = [word for word in words if word not in done.stderr]
        if done.returncode != status or missing or done.stdout:
            wrong.append(f"{' '.join(arguments)}: exit {done.returncode} (expected {status}), "
                         f"missing {missing}, stdout {done.stdout[:80]!r}, stderr {done.stderr!r}")
    expect(not wrong, "\n".join(wrong))


def check_all_problems_at_once(shardsim):
    done = shardsim(["collective", "all-gathr", "--topology", "rinf:8", "--bandwidth", "100",
                     "--latency", "0", "--bytes", "64"])
    expect_status(done, 2)
    for word in ("all-gathr", "rinf", "--bandwidth", "--bytes"):
        expect(word in done.stderr, f"{word} is not named in\n{done.stderr}")


def check_tables(shardsim):
    """Every table comes out, on stdout alone, in lines of at most 100 characters."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for arguments in [*TABLES, ["run", RUN, "--out", folder]]:
            done = shardsim(arguments)
            wide = [line for line in done.stdout.splitlines() if len(line) > WIDEST]
            if done.returncode != 0 or not done.stdout.strip() or done.stderr:
                wrong.append(f"{arguments}: exit {done.returncode}, stderr {done.stderr[:200]!r}")
            if wide:
                wrong.append(f"{arguments}: {len(wide)} lines over {WIDEST} columns: {wide[0]!r}")
    expect(not wrong, "\n".join(wrong))


def check_lists_hold_the_folders(shardsim):
    for table, folder in (("chips", "configs/chips"), ("models", "models"), ("runs", "configs/runs"),
                          ("sweeps", "configs/sweeps")):
        text = shardsim(["list", table]).stdout
        names = [path.stem for path in (ROOT / folder).glob("*.yaml")]
        missing = [name for name in names if not re.search(rf"^\s*{re.escape(name)}\b", text, re.M)]
        expect(names and not missing, f"list {table} lacks {missing}")


def check_list_says_what_it_lists(shardsim):
    text = shardsim(["list"]).stdout
    missing = [table for table in [*LISTS, "schema"] if not re.search(rf"^{table}\b", text, re.M)]
    expect(not missing, f"list lacks {missing}")


def check_examples_are_the_files(shardsim):
    for folder in ("runs", "sweeps"):
        for path in (ROOT / "configs" / folder).glob("*.yaml"):
            expect(shardsim(["example", path.stem]).stdout == path.read_text(), f"example {path.stem}")


def check_json(shardsim):
    """--format json prints one document, without NaN, and nothing else."""
    def refuse(constant):
        raise ValueError(f"{constant} in JSON")

    for arguments in JSON:
        done = shardsim([*arguments, "--format", "json"])
        expect_status(done, 0)
        json.loads(done.stdout, parse_constant=refuse)


def check_collective_keys(shardsim):
    result = json.loads(shardsim([*ALL_TO_ALL, "--format", "json"]).stdout)
    for key in ("kind", "algorithm", "devices", "bytes", "time_s", "analytic_s", "formula",
                "bandwidth_convention"):
        expect(key in result, f"collective --format json lacks {key}")
    expect(result["devices"] == 8 and result["bytes"] == 64 * 2**20, "devices or bytes are off")


def check_sweep(shardsim):
    """CSV and JSON hold the same rows, each what the collective alone takes at that size."""
    done = shardsim([*SWEEP, "--format", "csv"])
    expect_status(done, 0)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    points = json.loads(shardsim([*SWEEP, "--format", "json"]).stdout)["points"]
    expect(len(rows) == len(points) == 15, f"{len(rows)} rows, {len(points)} points")
    for row, point in zip(rows, points):
        expect(list(row) == list(point) == ["bytes", "time_s", "analytic_s", "algorithm", "algbw",
                                            "busbw", "crossover", "nccl_bytes", "textbook_s"],
               list(row))
        for key in ("bytes", "time_s", "analytic_s", "algbw", "busbw", "nccl_bytes",
                    "textbook_s"):
            expect(float(row[key]) == point[key], f"{key}: {row[key]} and {point[key]}")
        alone = json.loads(shardsim([*SWEEP[:-2], "--bytes", f"{row['bytes']}B", "--format",
                                     "json"]).stdout)
        expect(alone["algorithm"] == row["algorithm"], f"{row} and {alone['algorithm']}")
        expect(abs(alone["time_s"] / point["time_s"] - 1) < 1e-9, f"{row} and {alone['time_s']}")
        busbw = point["bytes"] / point["time_s"] / 1e9 * 2 * 7 / 8
        expect(abs(busbw / point["busbw"] - 1) < 1e-12, f"busbw {point['busbw']}, not {busbw}")
    marked = [row["crossover"] for row in rows if row["crossover"]]
    expect(marked == ["ring instead of ring-whole"], marked)


UNITS_S = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def check_fractions_of_bytes(shardsim):
    """Pieces of less than a byte are said to be that, asked for or not; those of a byte are not."""
    for words, pieces in ((["--bytes", "10B", "--pieces", "100"], 100), (["--bytes", "100B", "--pieces", "100"], None),
                          (["--bytes", "10B"], 64), (["--sweep-bytes", "60B:240B"], 64)):
        done = shardsim(["collective", "all-reduce", *RING[:-2], "--algorithm", "chain", *words])
        expect_status(done, 0)
        size = "60 B" if "--sweep-bytes" in words else "10 B"
        said = " ".join(done.stdout.split())
        text = f"chain cuts V = {size} into P = {pieces} pieces, each less than a byte: they are sent as fractions"
        expect(said.count("less than a byte") == (pieces is not None) and (pieces is None or text in said), done.stdout)
    for size, fractions in (("63B", True), ("64B", False), ("65B", False)):  # the last is padded
        done = shardsim(["collective", "all-to-all", *RING[:-1], size])
        expect_status(done, 0)
        said = "V = 63 B in 8 x 8 blocks, each less than a byte: they are sent as fractions"
        expect((said in " ".join(done.stdout.split())) == fractions, done.stdout)


def check_sweep_says_why(shardsim):
    """The best ten, and how the parts of the winner's step differ from the next one's: as exported."""
    with tempfile.TemporaryDirectory() as folder:
        db = str(pathlib.Path(folder) / "s.db")
        said = shardsim(["sweep", "configs/sweeps/tp-link-bandwidth.yaml", "--db", db, "--quiet"])
        expect_status(said, 0)
        rows = list(csv.DictReader(shardsim(["sweep", "export", db, "--csv"]).stdout.splitlines()))
    best = sorted((row for row in rows if row["status"] == "ok"),
                  key=lambda row: (float(row["step_time_s"]), int(row["point"])))
    head, *table = said.stdout.split("best by ")[1].split("\n\n")[0].splitlines()
    numbers = [line.split()[0] for line in table[1:]]  # a line each, whatever its width
    expect(numbers == [row["point"] for row in best[:10]], f"the best ten: {numbers}")
    expect(all(line.endswith("iB") for line in table[1:]), f"memory comes last: {table}")
    axes = [column for column in rows[0] if column.startswith("axis_")]
    for column in axes:
        name = column.removeprefix("axis_").removesuffix("_bytes_per_s")
        values = {row[column] for row in best[:10]}
        expect((name in table[0].split()) == (len(values) > 1), f"{name} is {values}: {head}\n{table[0]}")
        if len(values) == 1:
            value = values.pop()
            text = f"{float(value) / 1e9:.4g} GB/s" if column.endswith("_s") else value
            expect(f"{name} {text}" in head.split(": ")[1].split(", "), f"{name} is {value}: {head}")
    expect(head.startswith("step_time; all of them: ") and table[0].split()[0] == "point", head)
    why = re.search(r"^why: point (\d+) takes (\S+) (\S+) less than point (\d+): (.*); it has (.*)$", said.stdout, re.M)
    expect(why is not None, f"no reason: {said.stdout}")
    winner, second = best[:2]
    expect([why[1], why[4]] == [winner["point"], second["point"]], why[0])
    parts = dict(re.findall(r"(computing|exposed communication) ([+-]\S+ \S+)", why[5].replace(",", " ,")))
    gain = float(second["step_time_s"]) - float(winner["step_time_s"])
    figures = [("gain", f"{why[2]} {why[3]}", gain)]
    for name, column in (("computing", "compute_s"), ("exposed communication", "exposed_comm_s")):
        change = float(winner[column]) - float(second[column])
        if change != 0:
            figures.append((name, parts[name], change))
    expect(len(figures) > 1, why[0])
    for name, text, expected in figures:
        number, unit = text.split()
        found = float(number) * UNITS_S[unit]  # printed with four digits
        expect(abs(found - expected) <= 1e-3 * abs(expected), f"{name}: {text}, expected {expected} s")
    changed = [column for column in rows[0] if column.startswith("axis_") and winner[column] != second[column]]
    expect(len(changed) == why[6].count(" instead of "), f"{changed}: {why[6]}")


def tornado_figures(shardsim, *words):
    done = shardsim(["tornado", *words, "--format", "json"])
    expect_status(done, 0)
    result = json.loads(done.stdout)
    return result["base"]["step_time_s"], {one["figure"]: one for one in result["figures"]}


def check_tornado(shardsim):
    """Most effect first; a figure 20 % less never makes the step more than 1 / 0.8 as long."""
    base, figures = tornado_figures(shardsim, "configs/runs/levels-2x8-h100.yaml", "--by", "20%")
    swings = [one["swing_s"] for one in figures.values()]
    expect(swings == sorted(swings, reverse=True) and swings[0] > 0, f"order: {swings}")
    expect(sorted(figures) == ["chip peak bf16", "ib bandwidth", "ib latency", "memory bandwidth", "memory size",
                               "nvlink bandwidth", "nvlink latency"], f"figures: {sorted(figures)}")
    for name, one in figures.items():
        less, more = one["less"]["step_time_s"], one["more"]["step_time_s"]
        rounding = 1e-9 * base
        expect(base / 1.2 - rounding <= min(less, more), f"{name}: {less}, {base}, {more}")
        expect(max(less, more) <= base / 0.8 + rounding, f"{name}: {less}, {base}, {more}")
        if name.endswith("latency"):
            less, more = more, less
        expect(less >= base - rounding and base >= more - rounding, f"{name}: {less}, {base}, {more}")
        expect(abs(one["swing_s"] - abs(less - more)) <= 1e-12 * base, f"{name}: {one}")
    size = figures["memory size"]
    expect(size["swing_s"] == 0 and
           abs(size["more"]["memory_left_bytes"] - size["less"]["memory_left_bytes"] - 0.4 * 80e9) < 1, f"{size}")


def check_tornado_says_what_no_longer_fits(shardsim):
    """A layer that takes 3.1 GiB fits 80 GB, not a hundredth of that."""
    done = shardsim(["tornado", "configs/runs/levels-2x8-h100.yaml", "--by", "99%", "--engine", "ideal"])
    expect_status(done, 0)
    expect("\nless of memory size: the run no longer fits\n" in done.stdout, done.stdout)


def check_tornado_is_a_run(shardsim):
    """A changed figure is the run with that figure written so: of the chip, of a link, an efficiency."""
    run = "configs/runs/megatron-ring8.yaml"

    def step(*sets):
        done = shardsim(["run", run, "--format", "json", *(word for one in sets for word in ("--set", one))])
        expect_status(done, 0)
        return json.loads(done.stdout)["step_time_s"]

    chip = (ROOT / "configs/chips/h100-sxm.yaml").read_text()
    with tempfile.TemporaryDirectory() as folder:
        def changed(number, old, new):
            expect(old in chip, f"{old} is no figure of the chip")
            path = pathlib.Path(folder) / f"{number}.yaml"
            path.write_text(chip.replace(old, new))
            return f"cluster.chip={path}"

        measured = "cluster.variant=measured"
        _, nominal = tornado_figures(shardsim, run, "--by", "20%")
        base, varied = tornado_figures(shardsim, run, "--by", "20%", "--set", measured)
        rows = [
            (nominal, "link bandwidth", "less", step("cluster.topology.link.bandwidth=80 GB/s")),
            (nominal, "chip peak bf16", "more", step(changed(1, "bf16: 989 TFLOP/s", "bf16: 1186.8 TFLOP/s"))),
            (nominal, "memory bandwidth", "less", step(changed(2, "bandwidth: 3350 GB/s", "bandwidth: 2680 GB/s"))),
            (varied, "compute efficiency", "less",
             step(changed(3, "compute: 0.8028", "compute: 0.64224"), measured)),
            (varied, "memory efficiency", "more", base),  # it is 1, the most there is
        ]
        for figures, name, way, expected in rows:
            found = figures[name][way]["step_time_s"]
            expect(abs(found - expected) <= 1e-12 * expected, f"{name}, {way}: {found}, expected {expected}")


def check_explain_bytes(shardsim):
    """bf16[1024, 4096] on 2 x 2: bytes of a device and of all four; I_XY and I_YX are not the same."""
    expected = {"A[I,J]": (8388608, 33554432), "A[I_X,J]": (4194304, 16777216),
                "A[I_X,J_Y]": (2097152, 8388608), "A[I_XY,J]": (2097152, 8388608),
                "A[I_YX,J]": (2097152, 8388608)}
    blocks = {}
    for array, (per_device, over_mesh) in expected.items():
        done = shardsim(["explain", array, "--mesh", "X=2,Y=2", "--dims", "I=1024,J=4096",
                         "--dtype", "bf16", "--format", "json"])
        expect_status(done, 0)
        result = json.loads(done.stdout)["array"]
        found = (result["bytes_per_device"], result["bytes_over_mesh"])
        expect(found == (per_device, over_mesh), f"{array}: {found}")
        expect(result["bytes_array"] == 8388608, f"{array}: {result['bytes_array']}")
        blocks[array] = [row["block"] for row in result["blocks_of_devices"]]
    expect(blocks["A[I_XY,J]"] == [0, 1, 2, 3] and blocks["A[I_YX,J]"] == [0, 2, 1, 3], str(blocks))


def check_explain_uneven_blocks(shardsim):
    """Dims that do not divide are cut axis by axis, in text and JSON."""
    expected = {("X=2,Y=4", 10): ["0..1", "2..3", "4..4", "", "5..6", "7..8", "9..9", ""],
                ("X=3,Y=2", 7): ["0..1", "2..2", "3..4", "5..5", "6..6", ""]}
    for (mesh, size), rows in expected.items():
        words = ["explain", "A[I_XY,J]", "--mesh", mesh, "--dims", f"I={size},J=8"]
        done = shardsim(words)
        expect_status(done, 0)
        lines = [line for line in done.stdout.splitlines() if line.endswith(", J 0..7")]
        texts = [f"I {row}" if row else "I nothing (padding)" for row in rows]
        expect(len(lines) == len(texts), done.stdout)
        for d, (line, text) in enumerate(zip(lines, texts)):
            expect(line.split()[0] == str(d) and line.endswith(f"  {text}, J 0..7"), line)
        done = shardsim([*words, "--format", "json"])
        expect_status(done, 0)
        array = json.loads(done.stdout)["array"]
        expect(array["dims"][0]["local_size"] == 2, array["dims"][0])
        for d, (block, row) in enumerate(zip(array["blocks_of_devices"], rows, strict=True)):
            first, count = block["first_row_per_dim"][0], block["rows_per_dim"][0]
            found = f"{first}..{first + count - 1}" if count else ""
            expect(block["device"] == d and block["block"] == d and found == row, block)


def check_eight_axes(shardsim):
    """Searches are bounded (minutes otherwise: the time-out of a command), and hear an interrupt."""
    for subject, dims in ((SHUFFLED, "I=4096,J=4096,K=4096"),
                          ("A[I_{ABCDEFGH},J] -> A[I,J_{HGFEDCBA}]", "I=4096,J=4096")):
        expect_status(shardsim(["explain", subject, *EIGHT, dims]), 0)
    large = EIGHT[1].replace("=2", "=4", 6)
    arguments = ["explain", SHUFFLED, "--mesh", large, *EIGHT[2:], "I=65536,J=65536,K=65536"]
    for sent in (signal.SIGINT, signal.SIGTERM):
        interrupt(shardsim, arguments, 0.3, os.kill, sent)


def check_one_cause_is_one_problem(shardsim):
    """What follows from a mistake is not reported beside it."""
    for statement, sizes in (("H[I,J]{U_X} = A[I,J]{U_X} + B[I,J]", PLANE),
                             ("C[I,K] = A[I,J] * A[J,K]", SIZES)):
        done = shardsim(["explain", statement, *sizes])
        expect_status(done, 2)
        expect(done.stderr.count("statement:1:") == 1, f"more than one problem:\n{done.stderr}")
    done = shardsim(["schedule", "1f1b", *PIPELINE, "--chunks", "0"])
    expect_status(done, 2)
    expect(done.stderr.count("--chunks:1:1:") == 1, f"more than one problem:\n{done.stderr}")


def check_bubble_of_no_time(shardsim):
    """A share of no time is not a number."""
    free = ["schedule", "1f1b", "--stages", "2", "--microbatches", "2", "--forward", "0",
            "--backward", "0"]
    done = shardsim(free)
    expect_status(done, 0)
    for words in ("bubble n/a", "there is none: no cost is given"):
        expect(words in done.stdout, f"{words} is not said in\n{done.stdout}")
    result = json.loads(shardsim([*free, "--format", "json"]).stdout)
    expect(result["makespan_bubble"] is None and result["span_bubble"] is None, "a bubble")


def check_summary_keys(shardsim):
    with tempfile.TemporaryDirectory() as folder:
        done = shardsim(["run", RUN, "--out", folder, "--format", "json"])
        expect_status(done, 0)
        printed = json.loads(done.stdout)
        written = json.loads((pathlib.Path(folder) / "summary.json").read_text())
        trace = json.loads((pathlib.Path(folder) / "trace.json").read_text())
    for key in ("schema", "name", "step_time_s", "compute_s", "comm_s", "exposed_comm_s",
                "bubble_fraction", "mfu", "tokens_per_s", "peak_memory_bytes", "fits_memory",
                "classes", "collectives", "stages", "assumptions"):
        expect(key in printed, f"summary lacks {key}")
    expect(printed == written, "summary.json differs from what --format json prints")
    expect(trace["traceEvents"], "trace.json has no events")


HOSTILE = {"group": "=1+2, \"x\"\n<script>alert(1)</script>", "name": "-few,\nmore"}


def hostile_rows(folder):
    """The good rows, the first one with texts that a CSV file must put in quotes."""
    text = (ROOT / LEDGER[-1]).read_text()
    first, rest = text.split("\n  - id: T-all-to-all\n")
    for key, value in HOSTILE.items():
        first = re.sub(rf"{key}: [^,}}\n]+", lambda _: f"{key}: {json.dumps(value)}", first, count=1)
    path = pathlib.Path(folder) / "rows.yaml"
    path.write_text(f"{first}\n  - id: T-all-to-all\n{rest}")
    return path


def check_ledger(shardsim):
    """Rows as recorded: status 0 and their files, the same twice; a wrong record: status 3, files all the same."""
    only = ["--only", "T-gather,T-all-to-all,T-printed,T-again,T-never"]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other, \
            tempfile.TemporaryDirectory() as third:
        ledger = [*LEDGER[:-1], hostile_rows(third)]
        for folder in (one, other):
            done = shardsim([*ledger, *only, "--out", folder, "--format", "json"])
            expect_status(done, 0)
        first, second = ({p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}
                         for folder in (one, other))
        expect(sorted(first) == ["ledger.csv", "ledger.json", "ledger.md"], sorted(first))
        expect(first == second, "two evaluations differ")
        result = json.loads(done.stdout)
        expect(json.loads(first["ledger.json"]) == result, "ledger.json is not what is printed")
        rows = list(csv.DictReader(io.StringIO(first["ledger.csv"].decode(), newline=""), strict=True))
        expect([rows[0]["group"], rows[0]["point"]] == list(HOSTILE.values()), f"texts have changed: {rows[0]}")
        expect(len(rows) == 3 + 2 + 1 + 3 + 1, f"{len(rows)} lines")
        verdicts = {row["id"]: row["verdict"] for row in result["rows"]}
        expect(verdicts == {"T-gather": "holds if", "T-all-to-all": "imprecise", "T-printed": "holds",
                            "T-again": "holds if", "T-never": "not simulated"}, verdicts)
    for figure in result["rows"][0]["points"][0]["figures"]:  # a command line as it is printed
        done = subprocess.run(figure["command"].replace("shardsim", shardsim.binary, 1) + " --format json",
                              shell=True, cwd=ROOT, capture_output=True, check=True)
        expect(json.loads(done.stdout)["time_s"] == figure["value"], figure)
    text = (ROOT / "tests/ledger/good.yaml").read_text()
    for old, new, failure in (("verdict: imprecise", "verdict: wrong", 'recorded is "wrong"'),
                              ("exact: V/(8*W1)", "exact: V/(8*W1)*(1 + 2e-9)", "the exact formula says"),
                              ("    differs: the printed figure is asymptotic\n", "", "the book prints"),
                              ("book: 150 us", "book: 131.25 us", "the printed figure agrees")):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.yaml"
            expect(text.count(old) == 1, old)
            path.write_text(text.replace(old, new))
            done = shardsim(["validate", "--rows", str(path), "--only", "T-all-to-all,T-printed", "--out", folder])
            expect_status(done, 3)
            expect(failure in " ".join(done.stdout.split()), f"{failure} is not told: {done.stdout}")
            expect((pathlib.Path(folder) / "ledger.md").read_text().count("FAILED") >= 2, "ledger.md hides it")
    elsewhere = subprocess.run([shardsim.binary, "validate", "--rows", str(ROOT / "tests/ledger/algorithms.yaml"),
                                "--only", "T-permutation"], cwd="/", capture_output=True, check=False)
    expect_status(elsewhere, 0)


def check_regime(shardsim):
    with tempfile.TemporaryDirectory() as folder:
        done = shardsim(["validate", "--regime", "--out", folder])
        expect_status(done, 0)
        expect(max(len(line) for line in done.stdout.splitlines()) <= WIDEST, "lines that are too wide")
        files = {p.name: p.read_text() for p in pathlib.Path(folder).iterdir()}
    expect(sorted(files) == ["regime.csv", "regime.txt"], sorted(files))
    rows = list(csv.DictReader(io.StringIO(files["regime.csv"])))
    expect(len(rows) == 4 * 3 * 10 * 13, f"{len(rows)} points")
    for row in rows:
        simulated, book = float(row["simulated_s"]), float(row["textbook_s"])
        within = 1 / 1.05 <= simulated / book <= 1 / 0.95
        expect(within == (row["within_5_percent"] == "1"), row)


def check_plan_check(shardsim):
    for arguments in ([*ALL_TO_ALL, "--check"], ["run", RUN, "--check", "--out", "/tmp"]):
        with tempfile.TemporaryDirectory() as folder:
            arguments = [folder if word == "/tmp" else word for word in arguments]
            done = shardsim([*arguments, "--format", "json"])
            expect_status(done, 0)
            expect(json.loads(done.stdout)["delivers"] is True, "no word of --check")
            expect("played on sets" in shardsim(arguments).stdout, "no word of --check in the text")


def check_same_bytes(shardsim):
    """The same input gives the same output, byte for byte."""
    def files(folder):
        expect_status(shardsim(["run", RUN, "--out", folder]), 0)
        return {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}

    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first, second = files(one), files(other)
    expect(first and first == second, "two runs of one file differ")


def check_example_runs(shardsim):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "example.yaml"
        path.write_text(shardsim(["example"]).stdout)
        expect_status(shardsim(["check", str(path)]), 0)
        expect_status(shardsim(["run", str(path), "--out", folder]), 0)
        for run in sorted((ROOT / "configs/runs").glob("*.yaml")):
            expect(shardsim(["example", run.stem]).stdout == run.read_text(), f"example {run.stem}")


def check_other_directory(shardsim):
    """Chips and models are found, and relative paths mean what they mean, from anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / RUN, folder)
        done = shardsim(["run", pathlib.Path(RUN).name, "--out", "out"], cwd=folder)
        expect_status(done, 0)
        expect((pathlib.Path(folder) / "out" / "summary.json").is_file(), "out/summary.json missing")


def check_directory_under_a_file(shardsim):
    for place in ("/dev/null/x", "/proc/x"):
        done = shardsim(["run", RUN, "--out", place])
        expect_status(done, 1)
        expect(place in done.stderr, f"{place} is not named in {done.stderr!r}")


def check_full_disk_by_link(shardsim):
    """summary.json leads to /dev/full: the write fails, no other file appears."""
    with tempfile.TemporaryDirectory() as folder:
        link = pathlib.Path(folder) / "summary.json"
        link.symlink_to("/dev/full")
        done = shardsim(["run", RUN, "--out", folder])
        expect_status(done, 1)
        expect("summary.json" in done.stderr, f"the file is not named in {done.stderr!r}")
        left = sorted(p.name for p in pathlib.Path(folder).iterdir())
        expect(left == ["summary.json"], f"left behind: {left}")


def check_full_disk(shardsim):
    """A file system of two pages, in a mount namespace of its own."""
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    mount = 'mount -t tmpfs -o size=8k none "$0" || exit 77'
    with tempfile.TemporaryDirectory() as folder:
        probe = subprocess.run([*unshare, "sh", "-c", mount, folder], capture_output=True,
                               check=False)
        if probe.returncode != 0:
            return "skipped: no mount is permitted here"
        script = f'{mount}; "$1" run "$2" --out "$0"; echo "exit $?"; ls -A "$0"'
        done = subprocess.run([*unshare, "sh", "-c", script, folder, shardsim.binary,
                               str(ROOT / RUN)], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    expect(lines[-1:] == ["exit 1"], f"expected exit 1 and an empty directory: {lines[-4:]}")
    expect("No space left" in done.stderr, f"no reason in {done.stderr!r}")
    return None


def check_unlike_times(shardsim):
    """Cells of 1 ns beside cells of 1,000 s: the picture has no column for each nanosecond."""
    done = shardsim(["schedule", "1f1b", "--stages", "2", "--microbatches", "2", "--forward", "1ns",
                     "--backward", "1000s"])
    expect_status(done, 0)
    assert "in between not shown" in done.stdout, done.stdout


def check_stdout_full(shardsim):
    with open("/dev/full", "w", encoding="utf-8") as full:
        expect_status(shardsim(["list", "chips"], stdout=full), 1)
        expect_status(shardsim([*ALL_TO_ALL, "--format", "json"], stdout=full), 1)


def wait_for_handler(process):
    """Until the process catches SIGINT (bit 1 of SigCgt), so that the test does not race its start."""
    for _ in range(500):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = int(re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.M)[1], 16)
        if caught & 2:
            return
        time.sleep(0.01)
    raise AssertionError("SIGINT is never caught")


def interrupt(shardsim, arguments, delay, send, sent_signal=signal.SIGINT):
    process = subprocess.Popen([shardsim.binary, *arguments], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        wait_for_handler(process)
        time.sleep(delay)
        sent = time.monotonic()
        send(process.pid, sent_signal)
        process.communicate(timeout=60)
        took = time.monotonic() - sent
    finally:
        process.kill()
    expect(process.returncode == 130, f"exit {process.returncode} after {sent_signal.name}, expected 130")
    expect(took < 5, f"it took {took:.1f} s to stop")
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return
    raise AssertionError("a child is still running")


def check_interrupt(shardsim):
    """Ctrl-C (the whole group) and kill -INT (one process), early and late, in planning and replay."""
    long_one = ["collective", "all-reduce", "--topology", "torus:16x16x16", "--bandwidth", "100GB/s",
                "--latency", "1us", "--bytes", "64MiB", "--full"]
    for delay in (0, 0.4, 1.5):
        for send in (os.kill, os.killpg):
            interrupt(shardsim, long_one, delay, send)


def check_interrupted_run_writes_nothing(shardsim):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        arguments = ["run", "configs/runs/llama3-70b-v5p-64.yaml", "--full", "--set", "layers=80",
                     "--out", str(out)]
        interrupt(shardsim, arguments, 0.3, os.killpg)
        left = sorted(p.name for p in out.iterdir()) if out.exists() else []
        expect(not left, f"left behind: {left}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="build/shardsim")
    parser.add_argument("--only", default="", help="part of a check's name")
    options = parser.parse_args()
    shardsim = Shardsim(options.binary)
    checks = [(name, check) for name, check in globals().items()
              if name.startswith("check_") and options.only in name]
    failed = 0
    for name, check in checks:
        try:
            note = check(shardsim)
            print(f"{name}: {note or 'ok'}")
        except (AssertionError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"{name}: FAILED\n  {type(error).__name__}: {error}")
    print(f"{len(checks)} checks, {failed} failed")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
