#!/usr/bin/env python3
"""What the simulator must show: collectives beside their closed forms, and what presets move.

usage: must_show.py [--binary build/shardsim]

The expected times come from formulas that are written here anew, and from a table of figures worked
out by hand that the formulas must round to. Sources: JAX Scaling Book, chapters 3 (sharded matrices)
and 5 (training), in their exact form for N devices; W1 is the bandwidth of one directed link.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

V = 64 * 2**20  # bytes
W1 = 100e9  # bytes/s in one direction
TOLERANCE = 1e-6  # relative, against closed forms
SAME = 1e-9  # relative, folded against full
FIGURES = ["--bandwidth", "100GB/s", "--latency", "0", "--bytes", "64MiB"]
GRAINS = {"folded": [], "full": ["--full"], "fluid": ["--grain", "fluid"]}

# topology, kind, algorithm (None: the program's choice), microseconds to 4 decimals.
TABLE = [
    ("ring-oneway:8", "all-gather", None, 587.2026),
    ("ring-oneway:8", "reduce-scatter", None, 587.2026),
    ("ring-oneway:8", "all-reduce", None, 1174.4051),
    ("ring-oneway:8", "all-to-all", None, 293.6013),
    ("ring:8", "all-gather", None, 293.6013),
    ("ring:8", "reduce-scatter", None, 293.6013),
    ("ring:8", "all-reduce", None, 587.2026),
    ("ring:8", "all-to-all", None, 83.8861),
    ("ring:8", "all-gather", "ring-whole", 335.5443),
    ("ring:7", "all-gather", None, 287.6094),
    ("ring:7", "reduce-scatter", None, 287.6094),
    ("ring:7", "all-reduce", None, 575.2188),
    ("ring:7", "all-to-all", None, 82.1741),
    ("switch:8", "all-gather", None, 587.2026),
    ("switch:8", "reduce-scatter", None, 587.2026),
    ("switch:8", "all-reduce", None, 1174.4051),
    ("switch:8", "all-to-all", None, 73.4003),
    ("line:8", "all-gather", None, 587.2026),
    ("line:8", "all-to-all", None, 167.7722),
    ("mesh:4x4", "all-gather", None, 314.5728),
    ("mesh:4x4", "all-to-all", None, 41.9430),
    ("torus:4x4", "all-gather", None, 157.2864),
    ("torus:4x4", "reduce-scatter", None, 157.2864),
    ("torus:4x4", "all-reduce", None, 314.5728),
    ("torus:4x4", "all-to-all", None, 20.9715),
    ("torus:4x4", "all-gather", "axis-by-axis", 314.5728),
    ("torus:8x4", "all-gather", None, 162.5293),
    ("torus:8x4", "reduce-scatter", None, 162.5293),
    ("torus:8x4", "all-reduce", None, 325.0586),
    ("torus:8x4", "all-to-all", None, 20.9715),
    ("torus:4x4x4", "all-gather", None, 110.1005),
    ("torus:4x4x4", "reduce-scatter", None, 110.1005),
    ("torus:4x4x4", "all-reduce", None, 220.2010),
    ("torus:4x4x4", "all-to-all", None, 5.2429),
    ("ring:4", "all-to-all", None, 83.8861),
    ("ring:16", "all-gather", None, 314.5728),
    ("torus:3x3", "all-gather", None, 149.1308),
    ("torus:3x3", "all-to-all", None, 24.8551),
    ("torus:16x4", "all-gather", None, 165.1507),
    ("torus:6x4x4", "all-gather", None, 110.6830),
    ("switch:8", "all-reduce", "in-network", 671.0886),
]

# 64 bytes with 1 us a hop: topology, algorithm, hops, microseconds to 5 decimals.
SMALL = [
    ("ring-oneway:8", "ring-oneway", 7, 7.00056),
    ("ring:8", "ring-whole", 4, 4.00032),
    ("ring:8", "ring", 7, 7.00028),
    ("switch:8", "direct", 1, 1.00056),
]

# Networks and sizes as ASTRA-sim's analytical backend is given them: 50 GB/s each way, 500 ns a hop,
# 1 GiB, for an all-to-all the buffer of every device. Milliseconds of the bound.
ASTRA_FIGURES = ["--bandwidth", "50GB/s", "--latency", "500ns"]
ASTRA = [
    ("ring:64", "all-reduce", 21.4748 * 63 / 64),
    ("ring:64", "all-gather", 10.7374 * 63 / 64),
    ("ring:256", "all-to-all", 687.19),
    ("torus:8x8", "all-reduce", 10.7374 * 63 / 64),
    ("torus:8x8", "all-to-all", 21.4748),
    ("torus:16x16x16", "all-reduce", 7.1583 * 4095 / 4096),
    ("torus:16x16x16", "all-to-all", 42.9497),
]

# Without latency, 64 pieces where an algorithm cuts: topology, kind, algorithm, time in units of
# V/W1, microseconds to 4 decimals. Chains: (P + N-2)/P, twice on a switch; the other direction of a
# ring takes half. Trees and doubling: Thakur, Rabenseifner, Gropp 2005; Sanders, Speck, Traeff 2009.
MORE = [
    ("ring-oneway:8", "broadcast", "chain", 70 / 64, 734.0032),
    ("ring-oneway:8", "reduce", "chain", 70 / 64, 734.0032),
    ("ring:8", "broadcast", "chain", 70 / 128, 367.0016),
    ("ring:8", "all-reduce", "chain", 77 / 64, 807.4035),  # as on a line: to one end and back
    ("torus:4x2", "all-reduce", "chain", 77 / 64, 807.4035),
    ("line:8", "all-reduce", "chain", 77 / 64, 807.4035),
    ("mesh:4x4", "all-gather", "snake", 15 / 32, 314.5728),
    ("switch:8", "all-reduce", "chain", 140 / 64, 1468.0064),
    ("switch:8", "broadcast", "binomial-tree", 3, 2013.2659),
    ("switch:8", "reduce", "binomial-tree", 3, 2013.2659),
    ("switch:8", "scatter", "binomial-tree", 7 / 8, 587.2026),
    ("switch:6", "gather", "binomial-tree", 5 / 6, 559.2405),
    ("switch:8", "all-gather", "recursive-doubling", 7 / 8, 587.2026),
    ("switch:8", "all-reduce", "recursive-doubling", 3, 2013.2659),
    ("switch:6", "all-reduce", "recursive-doubling", 4, 2684.3546),
    ("switch:8", "all-reduce", "halving-doubling", 14 / 8, 1174.4051),
    ("switch:6", "all-reduce", "halving-doubling", 2 + 6 / 4, 2348.8102),
    ("switch:8", "scatter", "direct", 7 / 8, 587.2026),
    ("ring:8", "scatter", "direct", 3.5 / 8, 293.6013),
    ("torus:4x4", "gather", "direct", 6 / 16, 251.6582),
    ("torus:3x3", "all-gather", "snake", 8 / 18, 298.2616),
    ("torus:4x4", "all-gather", "snake", 15 / 32, 314.5728),
]
# Latency 1 us, 64 B where there are bytes: topology, kind, options, microseconds.
LATENCY = [
    ("switch:8", "all-gather", ["--window", "1"], 7.00056),
    ("switch:8", "all-gather", ["--window", "3"], 3.00056),
    ("switch:8", "all-to-all", ["--window", "1"], 7.00007),
    ("switch:8", "barrier", [], 3.0),
    ("ring:8", "barrier", [], 4.0),
    ("torus:4x4", "barrier", [], 6.0),
]


OPEN = ("line", "mesh")  # axes do not wrap


def two_way(size):
    """Load factor f(A) of all-to-all on a two-way ring of A devices; ties are split."""
    return size if size % 2 == 0 else (size * size - 1) / size


def gather_share(network, sizes, algorithm):
    """Time of an all-gather in units of V/W1."""
    count = math.prod(sizes)
    if network in ("ring-oneway", "switch"):
        return (count - 1) / count
    if algorithm == "ring-whole":  # whole shards, half of them each way
        return (count // 2) / count
    axes = 1 if algorithm == "axis-by-axis" else len(sizes)
    ways = 1 if network in OPEN else 2  # the corner of a mesh receives over one link of an axis
    return (count - 1) / (ways * axes * count)


def all_to_all_share(network, sizes):
    """Time of an all-to-all in units of V/W1: the load of the busiest link."""
    count = math.prod(sizes)
    if network == "ring-oneway":
        return (count - 1) / (2 * count)
    if network == "switch":
        return (count - 1) / count**2
    if network in OPEN:  # (N/2)^2 pairs of V/N^2 over the N/A links in the middle
        return max((size // 2) * ((size + 1) // 2) / size for size in sizes) / count
    return max(two_way(size) for size in sizes) / (8 * count)


def closed_form(topology, kind, algorithm):
    """Seconds."""
    network, shape = topology.split(":")
    sizes = [int(size) for size in shape.split("x")]
    if algorithm == "in-network":  # V up and V down at once
        return V / W1
    if kind == "all-to-all":
        return all_to_all_share(network, sizes) * V / W1
    passes = 2 if kind == "all-reduce" else 1
    return passes * gather_share(network, sizes, algorithm) * V / W1


class Report:
    """Prints rows of expected and got, and remembers what is wrong."""

    def __init__(self):
        self.wrong = []
        self.rows = 0

    def row(self, what, expected, got, tolerance, unit):
        self.rows += 1
        error = abs(got - expected) / abs(expected)
        fine = error <= tolerance  # false for NaN
        print(f"{what:<52} {expected:>13.6f} {got:>13.6f} {unit:<4} {error:8.1e}  "
              f"{'ok' if fine else 'WRONG'}")
        if not fine:
            self.wrong.append(f"{what}: expected {expected:.6f} {unit}, got {got:.6f}")

    def holds(self, what, condition, found):
        self.rows += 1
        print(f"{what:<52} {'ok' if condition else 'WRONG'}")
        if not condition:
            self.wrong.append(f"{what}: {found}")

    def failed(self, what, reason):
        self.rows += 1
        print(f"{what:<52} FAILED")
        self.wrong.append(f"{what}: {reason}")

    def verdict(self):
        """The exit status, after a summary."""
        print(f"\n{self.rows} rows, {len(self.wrong)} wrong")
        for line in self.wrong:
            print(f"  {line}")
        return 1 if self.wrong else 0


def ask(binary, arguments):
    """The JSON that shardsim prints. Raises RuntimeError with its message when it prints none."""
    done = subprocess.run([binary, *arguments, "--format", "json"], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        first = (done.stderr.strip() or "no message").splitlines()[0]
        raise RuntimeError(f"exit {done.returncode}: {first}")
    return json.loads(done.stdout)


def guarded(report, what, check, *arguments):
    """Runs a check; a binary that refuses or a missing key fails that check only."""
    try:
        check(report, *arguments)
    except (RuntimeError, ValueError, KeyError, IndexError, ZeroDivisionError,
            subprocess.TimeoutExpired) as error:
        report.failed(what, f"{type(error).__name__}: {error}")


def check_collective(report, what, arguments, expected, binary):
    report.row(what, expected * 1e6, ask(binary, arguments)["time_s"] * 1e6, TOLERANCE, "us")


def check_table(report, binary):
    for topology, kind, algorithm, microseconds in TABLE:
        expected = closed_form(topology, kind, algorithm)
        name = f"{topology} {kind}" + (f" {algorithm}" if algorithm else "")
        if f"{expected * 1e6:.4f}" != f"{microseconds:.4f}":
            report.failed(name, f"the formula gives {expected * 1e6:.4f}, the table {microseconds:.4f}")
        chosen = ["--algorithm", algorithm] if algorithm else []
        for grain, options in GRAINS.items():
            arguments = ["collective", kind, "--topology", topology, *FIGURES, *chosen, *options]
            what = f"{name}, {grain}"
            guarded(report, what, check_collective, what, arguments, expected, binary)


def check_small(report, binary):
    """Latency of every hop, and the bytes that the busiest device takes in."""
    for topology, algorithm, hops, microseconds in SMALL:
        expected = hops * 1e-6 + gather_share(topology.split(":")[0], [8], algorithm) * 64 / W1
        what = f"{topology} all-gather {algorithm}, 64 bytes"
        if f"{expected * 1e6:.5f}" != f"{microseconds:.5f}":
            report.failed(what, f"the formula gives {expected * 1e6:.5f}, the table {microseconds}")
        for grain, options in GRAINS.items():
            arguments = ["collective", "all-gather", "--topology", topology, "--bandwidth", "100GB/s",
                         "--latency", "1us", "--bytes", "64B", "--algorithm", algorithm, *options]
            guarded(report, what, check_collective, f"{what}, {grain}", arguments, expected, binary)


def check_bound(report, binary, topology, kind, table):
    """Never below the bound, and within 2 % above it."""
    sizes = [int(size) for size in topology.split(":")[1].split("x")]
    count = math.prod(sizes)
    share = all_to_all_share("ring", sizes) * count if kind == "all-to-all" else (
        gather_share("ring", sizes, None) * (2 if kind == "all-reduce" else 1))
    bound = share * 2**30 / 50e9
    what = f"{topology} {kind}, 50 GB/s, 500 ns a hop"
    if abs(bound * 1e3 / table - 1) > 1e-5:  # the table has five digits
        report.failed(what, f"the formula gives {bound * 1e3:.5f} ms, the table {table:.5f}")
    size = ["--bytes-per-rank" if kind == "all-to-all" else "--bytes", "1GiB"]
    found = ask(binary, ["collective", kind, "--topology", topology, *ASTRA_FIGURES, *size])["time_s"]
    report.row(what, bound * 1e3, found * 1e3, 0.02, "ms")
    report.holds(f"{what}: not below", found >= bound, f"{found} s, bound {bound} s")


def check_in_network(report, binary):
    """A switch that adds makes an all-reduce 2(N-1)/N times as fast, and an all-gather not at all."""
    gather = ["collective", "all-gather", "--topology", "switch:8", *FIGURES]
    reduce = ["collective", "all-reduce", "--topology", "switch:8", *FIGURES]
    named = ask(binary, [*reduce, "--algorithm", "in-network"])
    report.row("switch:8 all-reduce: gain of in-network", 2 * 7 / 8,
               ask(binary, reduce)["time_s"] / named["time_s"], TOLERANCE, "")
    report.holds("switch:8 in-network: the assumption is said",
                 any("the switch reduces" in line for line in named["assumptions"]),
                 named["assumptions"])
    switch = "{kind: switch, size: 8, link: {bandwidth: 100 GB/s}, in_network: %s}"
    for declared, algorithm, unit in (("true", "in-network", 1), ("false", "direct", 2 * 7 / 8)):
        summary = run(binary, "megatron-ring8", ["--set", f"cluster.topology={switch % declared}",
                                                 "--set", "mesh={X: [n]}"])
        found = summary["collectives"]
        report.holds(f"in_network: {declared}: {algorithm} all-reduces",
                     [c["algorithm"] for c in found] == [algorithm] * 4, found)
        report.holds(f"in_network: {declared}: what is assumed of the switch",
                     any("the switch reduces" in line for line in summary["assumptions"])
                     == (declared == "true"), summary["assumptions"])
        report.row(f"in_network: {declared}: all-reduces together", 4 * unit * V / W1 * 1e6,
                   sum(c["time_s"] for c in found) * 1e6, TOLERANCE, "us")
    try:
        ask(binary, [*gather, "--algorithm", "in-network"])
        report.failed("switch:8 all-gather in-network", "it was not refused")
    except RuntimeError as refusal:
        report.holds("switch:8 all-gather in-network: refused, gains nothing",
                     "gains nothing" in str(refusal), str(refusal))
def check_more(report, binary):
    for topology, kind, algorithm, share, microseconds in MORE:
        expected = share * V / W1
        name = f"{topology} {kind} {algorithm}"
        if f"{expected * 1e6:.4f}" != f"{microseconds:.4f}":
            report.failed(name, f"the formula gives {expected * 1e6:.4f}, the table {microseconds:.4f}")
        for grain, options in GRAINS.items():
            arguments = ["collective", kind, "--topology", topology, *FIGURES, "--algorithm",
                         algorithm, *options]
            what = f"{name}, {grain}"
            guarded(report, what, check_collective, what, arguments, expected, binary)
    for topology, kind, chosen, microseconds in LATENCY:
        size = [] if kind == "barrier" else ["--bytes", "64B"]
        arguments = ["collective", kind, "--topology", topology, "--bandwidth", "100GB/s",
                     "--latency", "1us", *size, *chosen, "--full"]
        what = f"{topology} {kind} {' '.join(chosen)}, latency"
        guarded(report, what, check_collective, what, arguments, microseconds * 1e-6, binary)


def check_contention(report, kind, beside, topology, binary):
    arguments = ["collective", kind, "--beside", beside, "--topology", topology, *FIGURES]
    folded = ask(binary, arguments)["collectives"]
    full = ask(binary, [*arguments, "--full"])["collectives"]
    if len(folded) != 2 or len(full) != 2:
        raise RuntimeError(f"two collectives expected, got {len(folded)} and {len(full)}")
    for one, other in zip(folded, full):
        what = f"{topology} {kind} beside {beside}: {one['kind']}"
        report.row(what, other["time_s"] * 1e6, one["time_s"] * 1e6, SAME, "us")
    # Together they cannot be as fast as alone: the links are shared.
    alone = max(closed_form(topology, k, None) for k in (kind, beside))
    slowest = max(c["time_s"] for c in full)
    report.holds(f"{topology} {kind} beside {beside}: slower than alone", slowest > alone * 1.01,
                 f"alone {alone * 1e6:.4f} us, together {slowest * 1e6:.4f} us")


def run(binary, name, options=()):
    with tempfile.TemporaryDirectory() as folder:
        return ask(binary, ["run", f"configs/runs/{name}.yaml", "--out", folder, *options])


def check_megatron(report, binary):
    """Tensor parallelism on one layer: two all-reduces forward, two backward (Shoeybi et al. 2019)."""
    collectives = run(binary, "megatron-ring8")["collectives"]
    kinds = [c["kind"] for c in collectives]
    report.holds("megatron-ring8: exactly 4 all-reduces", kinds == ["all-reduce"] * 4, kinds)
    expected = 4 * (7 / 8) * 2 * V / W1  # each of 64 MiB on a one-way ring of 8
    if f"{expected * 1e6:.4f}" != "4697.6205":
        report.failed("megatron-ring8", f"the formula gives {expected * 1e6:.4f} us")
    report.row("megatron-ring8: all-reduces together", expected * 1e6,
               sum(c["time_s"] for c in collectives) * 1e6, TOLERANCE, "us")


def of_weights(collective):
    return collective["tensor"].startswith(("W", "dW"))


def wire_bytes(collectives):
    """Bytes on the wire in units of (N-1)/N: an all-reduce moves its array twice."""
    return sum(c["count"] * c["bytes"] * (2 if c["kind"] == "all-reduce" else 1)
               for c in collectives)


def check_fsdp_over_dp(report, binary):
    """ZeRO-3 gathers weights twice and scatters gradients once: 3V against 2V (ZeRO, section 7)."""
    weights = {}
    for name, kinds in (("fsdp", {"all-gather", "reduce-scatter"}), ("dp", {"all-reduce"})):
        collectives = run(binary, f"{name}-ring8")["collectives"]
        weights[name] = [c for c in collectives if of_weights(c)]
        found = {c["kind"] for c in weights[name]}
        report.holds(f"{name}-ring8: kinds of collectives on weights", found == kinds, found)
    report.row("fsdp-ring8 / dp-ring8: wire bytes", 1.5,
               wire_bytes(weights["fsdp"]) / wire_bytes(weights["dp"]), TOLERANCE, "")
    report.row("fsdp-ring8 / dp-ring8: time of communication", 1.5,
               sum(c["time_s"] for c in weights["fsdp"]) / sum(c["time_s"] for c in weights["dp"]),
               TOLERANCE, "")


def weights_of(binary, sharding, *settings):
    options = [word for setting in (f"sharding={sharding}", *settings) for word in ("--set", setting)]
    return wire_bytes(c for c in run(binary, "fsdp-ring8", options)["collectives"] if of_weights(c))


def check_bytes_over_dp(report, binary):
    """p bytes a weight, g bytes a gradient: (2p+g)/(2g) for fsdp, (p+g)/(2g) when weights are kept."""
    for p, g, gradients in ((2, 2, "bf16"), (2, 4, "fp32")):
        precision = f"precision={{gradients: {gradients}}}"
        dp = weights_of(binary, "{dp: X}", precision)
        for preset, expected in (("fsdp", (2 * p + g) / (2 * g)), ("zero3", (2 * p + g) / (2 * g)),
                                 ("shard_grad_op", (p + g) / (2 * g)), ("zero1", (p + g) / (2 * g)),
                                 ("zero2", (p + g) / (2 * g))):
            report.row(f"{preset} / dp: wire bytes, {gradients} gradients", expected,
                       weights_of(binary, f"{{{preset}: X}}", precision) / dp, TOLERANCE, "")


def check_microbatches(report, binary):
    """M micro-batches: weights are gathered 2M times, gradients scattered M times or once."""
    for m in (1, 2, 4):
        batch = (f"batch.global={8 * m}", "batch.micro=1")
        dp = weights_of(binary, "{dp: X}", *batch)
        for sharding, expected in (("{fsdp: X}", 3 * m / 2),
                                   ("{fsdp: X, no_sync: true}", (2 * m + 1) / 2),
                                   ("{zero2: X}", (m + 1) / 2), ("{zero1: X}", 1),
                                   ("{dp: X, sync: true}", m)):
            report.row(f"{sharding} / dp: bytes, M = {m}", expected,
                       weights_of(binary, sharding, *batch) / dp, TOLERANCE, "")


def check_layer(report, binary, what, name, options, count, microseconds):
    """Collectives of activations: how many of which kind, and their time together."""
    summary = run(binary, name, [word for option in options for word in ("--set", option)])
    moved = [c for c in summary["collectives"] if not of_weights(c)]
    kinds = {kind: sum(c["kind"] == kind for c in moved) for kind in {c["kind"] for c in moved}}
    report.holds(f"{what}: collectives", kinds == count, kinds)
    report.row(f"{what}: time of them", microseconds, sum(c["time_s"] for c in moved) * 1e6,
               TOLERANCE, "us")


def check_layers(report, binary):
    """One layer with V = 64 MiB on a one-way ring of 8: V/W1 * 7/8 is one unit."""
    unit = 7 / 8 * V / W1 * 1e6
    def reduces(n):
        return {"all-reduce": n}

    def both(gathers):
        return {"all-gather": gathers, "reduce-scatter": 4}

    for what, name, options, count, units in (
            ("serial layer", "megatron-ring8", [], reduces(4), 8),
            ("full recomputation", "megatron-ring8", ["recompute=full"], reduces(6), 12),
            ("selective recomputation", "megatron-ring8", ["recompute=selective"], reduces(4), 8),
            ("sp", "megatron-ring8", ["sharding={tp: X, sp: true}"], both(4), 8),
            ("sp, gathered again", "megatron-ring8",
             ["sharding={tp: X, sp: true, regather: true}"], both(6), 10),
            ("parallel layer", "parallel-ring8", [], reduces(2), 4),
            ("column then row", "mlp-column-row", [], reduces(2), 4),
            ("row then column, F/D = 3.5", "mlp-row-column", [], reduces(2), 4 * 3.5)):
        guarded(report, what, check_layer, binary, what, name, options, count, units * unit)
        if what == "sp, gathered again" and f"{units * unit:.4f}" != "5872.0256":
            report.failed(what, f"the formula gives {units * unit:.4f} us")


def check_activations_together(report, binary):
    """`run` adds up collectives of activations apart from those of weights: the norms' gradients."""
    for sharding, known in (("{tp: X}", "4 of activations 4697.6205 us\n"),
                            ("{tp: X, sp: true}", "8 of activations 4697.6205 us, 2 of weights"),
                            ("{tp: X, sp: true, regather: true}",
                             "10 of activations 5872.0256 us, 2 of weights")):
        with tempfile.TemporaryDirectory() as folder:
            text = subprocess.run([binary, "run", "configs/runs/megatron-ring8.yaml", "--set",
                                   f"sharding={sharding}", "--out", folder], capture_output=True,
                                  text=True, timeout=60, check=True).stdout
        report.holds(f"{sharding}: {known.strip()}", f"collectives  {known}" in text, text[:800])


def check_recompute_mfu(report, binary):
    """Model FLOPs do not count what is repeated: MFU falls exactly as the step grows."""
    plain = run(binary, "megatron-ring8")
    full = run(binary, "megatron-ring8", ["--set", "recompute=full"])
    report.row("full recomputation: mfu * step", plain["mfu"] * plain["step_time_s"] * 1e6,
               full["mfu"] * full["step_time_s"] * 1e6, SAME, "us")


def check_key_value_copies(report, binary):
    """8 key/value heads over tp = 16: two more all-reduces, of their weights' gradients."""
    options = ["--set", "cluster.topology=switch:16", "--set", "cluster.topology.link={bandwidth: 100 GB/s}",
               "--set", "mesh={X: [n]}"]
    for grain in ([], ["--full"]):
        moved = run(binary, "megatron-ring8", options + grain)["collectives"]
        extra = [c for c in moved if of_weights(c)]
        report.holds("tp = 16, 8 key/value heads: extra all-reduces",
                     sorted(c["tensor"] for c in extra) == ["dWk", "dWv"] and len(moved) == 6,
                     [c["tensor"] for c in moved])
        # One head of [D, 1, 128] in bf16, between two devices on the switch: 2 * (2-1)/2 * V/W1.
        report.row("tp = 16, 8 key/value heads: time of one", 4096 * 128 * 2 / W1 * 1e6,
                   extra[0]["time_s"] * 1e6, TOLERANCE, "us")


def superpod(folder, nodes, units=1):
    """NVSwitch of 8 at 450 GB/s inside rails at 50 GB/s a GPU, under spines if of several units; latency 0."""
    path = pathlib.Path(folder) / f"superpod-{nodes}-{units}.yaml"
    spine = f"  - {{name: spine, kind: switch, size: {units}, oversubscription: 1}}\n" if units > 1 else ""
    path.write_text("levels:\n"
                    "  - {name: nvlink, kind: switch, size: 8, bandwidth: 450 GB/s}\n"
                    f"  - {{name: ib, kind: rails, size: {nodes // units}, bandwidth: 50 GB/s}}\n{spine}")
    return ["--topology", str(path), "--bytes", "64MiB"]


def check_superpod(report, binary):
    """H100 SuperPod: all-gather of 32 nodes, pipelined and phased; all-to-all over M nodes.

    A rail brings (M-1)/M * V/8 into each GPU, NVLink then 7/8 * V. Pipelined, the slower of the two
    hides the other (JAX Scaling Book ch. 12: 400 * 32/31 GB/s); phased, one follows the other.
    """
    node, nvlink, nodes = 400e9, 450e9, 32
    rail, inside = (nodes - 1) / nodes / node, 7 / 8 / nvlink  # seconds per byte of V
    with tempfile.TemporaryDirectory() as folder:
        for algorithm, per_byte, known in (("hierarchical-pipelined", max(rail, inside), 412.9),
                                           ("hierarchical", rail + inside, 229.0)):
            if f"{1e-9 / per_byte:.1f}" != f"{known:.1f}":
                report.failed("SuperPod", f"the formula gives {1e-9 / per_byte:.1f}, known {known}")
            for grain, options in GRAINS.items():
                got = ask(binary, ["collective", "all-gather", *superpod(folder, nodes),
                                   "--algorithm", algorithm, *options])
                report.row(f"SuperPod of 32 all-gather V/t, {algorithm}, {grain}", 1e-9 / per_byte,
                           V / got["time_s"] * 1e-9, TOLERANCE, "GB/s")
        for nodes, units in ((2, 1), (4, 1), (32, 1), (4, 2), (8, 4)):
            for options in ([], ["--full"]):
                got = ask(binary, ["collective", "all-to-all", *superpod(folder, nodes, units), *options])
                report.row(f"SuperPod of {nodes} in {units} all-to-all {' '.join(options)}",
                           V * (nodes - 1) / nodes**2 / node * 1e6, got["time_s"] * 1e6, TOLERANCE,
                           "us")


def check_parts(report, binary):
    """Groups that are parts of a ring of 16, all at once: a line of 4 neighbours, and strided rings."""
    ring = ["collective", "all-gather", "--topology", "ring:16", "--mesh", "X=4,Y=4", *FIGURES]
    for axis, share in (("Y", 3 / 4),       # a line: its end receives 3/4 of V over one link
                        ("X", 3 / 4 * 2)):  # both ways, 4 rings of 4 hops share each link
        for options in ([], ["--full"]):
            report.row(f"ring:16 all-gather over {axis} of X=4,Y=4 {' '.join(options)}",
                       share * V / W1 * 1e6,
                       ask(binary, [*ring, "--over", axis, *options])["time_s"] * 1e6, TOLERANCE,
                       "us")


def check_million(report, binary):
    """A million devices, each replayed, are refused at once, with an estimate."""
    done = subprocess.run([binary, "collective", "all-gather", "--topology", "ring:1000000", *FIGURES,
                           "--full"], capture_output=True, text=True, timeout=20, check=False)
    report.holds("a million devices in --full: refused with an estimate",
                 done.returncode == 2 and "iB)" in done.stderr and "million operations" in done.stderr,
                 done.stderr)


def check_phases(report, binary):
    """DeepSeek-V3's profiled cell: forty phases on two streams (measured from end to end: 129.0 ms)."""
    cell = ask(binary, ["phases", "configs/phases/deepseek-v3-cell.yaml"])
    compute = next(s for s in cell["streams"] if s["stream"] == "compute")
    # The sum of the compute phases, and what they wait; by an evaluator of its own.
    report.row("DeepSeek-V3 cell, end to end", 121.806, cell["makespan_s"] * 1e3, TOLERANCE, "ms")
    report.row("DeepSeek-V3 cell, compute waits", 3.613, compute["waiting_s"] * 1e3, TOLERANCE, "ms")


def settings(*pairs):
    return [word for pair in pairs for word in ("--set", pair)]


def pass_end(summary, name):
    return next(p["end_s"] for p in summary["passes"] if p["pass"] == name)


def check_prefetch(report, binary):
    """Four layers of T_m = 1 ms and T_c = 0.5 ms forward: the first gather is all that is exposed."""
    for depth, milliseconds in ((1, 4.5), (2, 4.5), (0, 6)):
        summary = run(binary, "fsdp-prefetch-4-layers",
                      settings(f"overlap.fsdp_prefetch={depth}"))
        report.row(f"FSDP forward of 4 layers, {depth} gathered ahead", milliseconds,
                   pass_end(summary, "forward") * 1e3, SAME, "ms")


def check_tiles(report, binary):
    """Two stages in n tiles: max(T_m, T_c) + min(T_m, T_c)/n."""
    for tiles in (0, 2, 8):
        summary = run(binary, "collective-matmul-ring8",
                      settings(f"overlap.collective_matmul={tiles}"))
        report.row(f"product and reduce-scatter of 1 ms each, {tiles} tiles", 1 + 1 / max(tiles, 1),
                   pass_end(summary, "forward") * 1e3, SAME, "ms")


def step_of_layers(binary, sharding, devices, bandwidth, layers):
    overlap = "{fsdp_prefetch: 1, gradients: true}" if "fsdp" in sharding else "{gradients: true}"
    return run(binary, "fsdp-prefetch-4-layers", settings(
        f"sharding={sharding}", f"overlap={overlap}", f"dims.B={250 * devices}",
        f"cluster.topology.axes.x={devices}",
        f"cluster.topology.link.bandwidth={bandwidth} GB/s",
        f"layers={layers}"))["step_time_s"]


def check_step_over_dp(report, binary):
    """Step time of FSDP over DP, all overlapped: per pass max(math, comm), of every further layer.

    Math is 1 ms forward and 2 ms backward. Weights of V bytes move (N-1)/N * V/W: twice in the
    backward pass of both, and under FSDP once in the forward pass as well. At the threshold V/W is
    1 ms. The first gather and the last reductions are exposed: they come once, whatever the layers.
    """
    book = {(8, 2): 1.1667, (64, 2): 1.1962}  # half the threshold: V/W = 2 ms
    for devices in (8, 64):
        for bandwidth in (2, 4, 8):
            comm = (devices - 1) / devices * 4 / bandwidth  # ms
            each = {"{fsdp: X}": max(1, comm) + max(2, 2 * comm), "{dp: X}": 1 + max(2, 2 * comm)}
            got = {}
            for sharding, expected in each.items():
                steps = [step_of_layers(binary, sharding, devices, bandwidth, n) for n in (8, 12)]
                got[sharding] = (steps[1] - steps[0]) / 4
                what = f"{sharding}, {devices} devices, {bandwidth} GB/s"
                report.row(f"{what}: a layer more", expected, got[sharding] * 1e3, SAME, "ms")
                if comm <= 1:  # the first gather of each pass and the last scatter, or all-reduce
                    once = 3 * comm if "fsdp" in sharding else 2 * comm
                    report.row(f"{what}: exposed once", once,
                               (steps[0] - 8 * got[sharding]) * 1e3, TOLERANCE, "ms")
            ratio = got["{fsdp: X}"] / got["{dp: X}"]
            report.row(f"FSDP over DP, {devices} devices, {bandwidth} GB/s",
                       each["{fsdp: X}"] / each["{dp: X}"], ratio, SAME, "")
            if (devices, bandwidth) in book:
                report.holds(f"FSDP over DP, {devices} devices, half the threshold",
                             f"{ratio:.4f}" == f"{book[devices, bandwidth]:.4f}", f"{ratio:.4f}")


def check_llama(report, binary):
    mfu = run(binary, "llama3-70b-v5p-64")["mfu"]
    report.holds("llama3-70b-v5p-64: 0 < mfu < 1", mfu is not None and 0 < mfu < 1, f"mfu {mfu}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="build/shardsim")
    binary = parser.parse_args().binary
    report = Report()
    print(f"{'':<52} {'expected':>13} {'got':>13}      rel.err")
    check_table(report, binary)
    check_small(report, binary)
    check_more(report, binary)
    for topology, kind, milliseconds in ASTRA:
        guarded(report, f"{topology} {kind}", check_bound, binary, topology, kind, milliseconds)
    guarded(report, "in-network", check_in_network, binary)
    for kind, beside, topology in (("all-to-all", "all-gather", "ring:8"),
                                   ("all-reduce", "all-to-all", "torus:4x4"),
                                   ("all-gather", "all-to-all", "switch:8")):
        guarded(report, f"{topology} {kind} beside {beside}", check_contention, kind, beside,
                topology, binary)
    guarded(report, "megatron-ring8", check_megatron, binary)
    guarded(report, "fsdp-ring8 / dp-ring8", check_fsdp_over_dp, binary)
    guarded(report, "bytes over dp", check_bytes_over_dp, binary)
    guarded(report, "micro-batches", check_microbatches, binary)
    guarded(report, "layers", check_layers, binary)
    guarded(report, "collectives together", check_activations_together, binary)
    guarded(report, "mfu of recomputation", check_recompute_mfu, binary)
    guarded(report, "copies of key/value heads", check_key_value_copies, binary)
    guarded(report, "SuperPod", check_superpod, binary)
    guarded(report, "parts of a ring", check_parts, binary)
    guarded(report, "a million devices", check_million, binary)
    guarded(report, "DeepSeek-V3 cell", check_phases, binary)
    guarded(report, "llama3-70b-v5p-64", check_llama, binary)
    guarded(report, "prefetch", check_prefetch, binary)
    guarded(report, "tiles", check_tiles, binary)
    guarded(report, "FSDP over DP, steps", check_step_over_dp, binary)
    return report.verdict()


if __name__ == "__main__":
    sys.exit(main())
