#!/usr/bin/env python3
"""What `explain` must show: cases, the prices of plans taken and not taken, reshards, layouts.

usage: must_explain.py [--binary build/shardsim]

Like must_show.py beside it: expected figures come from formulas that are written here anew. Sources:
JAX Scaling Book, chapter 3 (cases, collectives, changes of layout); ZeRO, Rajbhandari et al. 2020.
"""
import argparse
import math
import sys

from must_show import SAME, TOLERANCE, V, W1, Report, ask, guarded


def explain(binary, argument, mesh, dims, topology, *options):
    return ask(binary, ["explain", argument, "--mesh", mesh, "--dims", dims, "--topology", topology,
                        "--bandwidth", "100GB/s", *options])


def plan_of(plans, text):
    """The listed plan with this text."""
    found = [p for p in plans if p["text"] == text]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} plans \"{text}\" among {[p['text'] for p in plans]}")
    return found[0]


def check_gather_or_slice(report, binary):
    """A 64 MiB cut on the contracted dim, C 16 MiB, one-way ring of 8 (Scaling Book ch. 3, case 2)."""
    for out, text, v, passes, microseconds in (
            ("[I, K]", "all-gather A over X", V, 1, 587.2026),
            ("[I, K]", "slice B over X; then all-reduce C over X", V / 4, 2, 293.6013),
            ("[I_X, K]", "slice B over X; then reduce-scatter C over X", V / 4, 1, 146.8006)):
        expected = passes * 7 / 8 * v / W1 * 1e6
        if f"{expected:.4f}" != f"{microseconds:.4f}":
            report.failed(text, f"the formula gives {expected:.4f}")
        plans = explain(binary, f"C{out} = A[I, J_X] * B[J, K]", "X=8", "I=16384,J=2048,K=512",
                        "ring-oneway:8")["steps"][0]["plans"]
        report.row(f"case 2: {text}", expected, plan_of(plans, text)["communication_s"] * 1e6,
                   TOLERANCE, "us")
        report.holds(f"case 2: {text}, taken or not", (plans[0]["text"] == text) == (v < V), plans[0])


def check_clash(report, binary):
    """I_X and K_X, A and B 64 MiB, C 8 MiB, ring of 8: both by all-to-all, C reduce-scattered."""
    size = {"I": 2048, "J": 16384, "K": 2048}
    step = explain(binary, "C[I_X, K] = A[I_X, J] * B[J, K_X]", "X=8",
                   ",".join(f"{d}={n}" for d, n in size.items()), "ring:8")["steps"][0]
    report.holds("[I_X, J] * [J, K_X] is case 4", [c["case"] for c in step["cases"]] == [4], step["cases"])
    ring = 7 / 16 * V / W1  # two-way
    flops = 2 * math.prod(size.values())
    for text, expected, share in (
            ("all-to-all A over X to J, all-to-all B over X to J; then reduce-scatter C over X",
             2 * V / (8 * W1) + ring / 8, 8),
            ("all-gather B over X", ring, 8),
            ("multiply the diagonal blocks over X", 0, 64)):
        plan = plan_of(step["plans"], text)
        if expected:
            report.row(f"case 4: {text[:40]}", expected * 1e6, plan["communication_s"] * 1e6, TOLERANCE, "us")
        report.row(f"case 4: {text[:40]}, FLOPs of one", flops / share, plan["flops_per_device"], SAME, "")
    report.holds("case 4: 204.4723 us taken", step["plans"][0]["verdict"] == "taken" and
                 f"{step['plans'][0]['communication_s'] * 1e6:.4f}" == "204.4723", step["plans"][0])
    diagonal = plan_of(step["plans"], "multiply the diagonal blocks over X")
    report.holds("case 4: the diagonal moves nothing and is refused", diagonal["bytes"] == 0 and
                 diagonal["verdict"].startswith("is refused: computes 1/8 of C"), diagonal)


def check_two_axes(report, binary):
    """J_X in A and J_Y in B: one gather alone is no plan; the cheapest legal one is taken."""
    plans = explain(binary, "C[I, K] = A[I, J_X] * B[J_Y, K]", "X=4,Y=4", "I=1024,J=1024,K=1024",
                    "torus:4x4")["steps"][0]["plans"]
    single = ("all-gather A over X", "all-gather B over Y")
    report.holds("J_X, J_Y: no single gather among the plans",
                 not any(p["text"] in single for p in plans), plans)
    legal = [p["communication_s"] for p in plans if not p["verdict"].startswith("is refused")]
    report.holds("J_X, J_Y: the cheapest plan is taken",
                 plans[0]["verdict"] == "taken" and len(legal) > 2 and
                 plans[0]["communication_s"] == min(legal), plans)


# Scaling Book notation: from, to; sixteenths of V/W one mesh axis at a time, and in any way (an
# all-to-all over both axes costs 1/16).
RESHARDS = [("[I_{XY}, J]", "[I_X, J]", 3, 3), ("[I_{XY}, J]", "[I_Y, J]", 6, 5),
            ("[I_{XY}, J]", "[I_{YX}, J]", 3, 3), ("[I_X, J_Y]", "[I_Y, J_X]", 3, 3),
            ("[I_X, J]", "[I_Y, J]", 6, 5), ("[I_X, J]", "[I, J_X]", 4, 4),
            ("[I_X, J]", "[I, J_Y]", 3, 3), ("[I_X, J_Y]", "[I, J_{YX}]", 1, 1),
            ("[I_X, J_Y]", "[I, J_{XY}]", 4, 2), ("[I_{XY}, J]", "[I, J_{XY}]", 5, 1),
            ("[I_X, J]", "[I, J]", 12, 7.5)]


def check_reshards(report, binary):
    """4 x 4 torus, permutations in dimension order. V/W = 160 us, so that the text of the
    alternatives is exact, too."""
    unit = 2 * 4000 * 4000 / (2 * W1) / 16 * 1e6
    for start, end, single, anyhow in RESHARDS:
        what = f"A{start} -> A{end}"
        shown = explain(binary, what, "X=4,Y=4", "I=4000,J=4000", "torus:4x4")
        prices = [m["collective"]["price_s"] for m in shown["moves"] if m["collective"]]
        report.row(what, anyhow * unit, sum(prices) * 1e6, TOLERANCE, "us")
        others = [a for a in shown["alternatives"] if a.startswith("one mesh axis at a time")]
        if single == anyhow:
            continue
        report.row(f"{what}, one axis at a time", single * unit,
                   float(others[0].rsplit(": ", 1)[1].split()[0]), SAME, "us")


def check_layout_bytes(report, binary):
    """bf16[1024, 4096] on 2 x 2 devices: bytes of all devices together."""
    for layout, total in (("[I, J]", 33554432), ("[I_X, J]", 16777216), ("[I_X, J_Y]", 8388608),
                          ("[I_{XY}, J]", 8388608)):
        shown = ask(binary, ["explain", f"A{layout}", "--mesh", "X=2,Y=2", "--dims", "I=1024,J=4096"])
        report.row(f"bf16{layout}: bytes over the mesh", total, shown["array"]["bytes_over_mesh"], SAME, "B")


def check_adjoints(report, binary):
    """Backward: nothing more for the row layer's all-reduce, one all-reduce for the column layer."""
    for what, statement, forward, backward in (
            ("row layer", "Out[B, D] = H[B, F_X] * W[F_X, D]", ["Out"], []),
            ("column layer", "H[B, F_X] = In[B, D] * W[D, F_X]", [], ["dIn"])):
        steps = explain(binary, statement, "X=4", "B=64,D=64,F=64", "ring:4", "--pass", "both")["steps"]
        for name, expected in (("forward", forward), ("backward", backward)):
            found = [(c["kind"], c["tensor"]) for s in steps if s["pass"] == name
                     for c in s["before"] + s["after"]]
            report.holds(f"{what}: {name} collectives", found == [("all-reduce", t) for t in expected], found)


def check_optimizer_layouts(report, binary):
    """ZeRO stages differ in what is cut: optimizer state; gradients, too; weights, too."""
    for preset, cut in (("dp", ()), ("zero1", ("optimizer",)), ("zero2", ("gradient", "optimizer")),
                        ("zero3", ("stored", "gradient", "optimizer"))):
        shown = ask(binary, ["explain", "configs/runs/fsdp-ring8.yaml", "--set", f"sharding={{{preset}: X}}"])
        row = [r for r in shown["layouts"] if r["tensor"] == "Win"][0]
        found = tuple(k for k in ("stored", "gradient", "optimizer") if row[k].startswith("[D_X, F]"))
        report.holds(f"{preset}: cut over X", found == cut, row)


def check_warnings(report, binary):
    """An array that is gathered whole and cut again is said with its bytes; so are plans that tie."""
    # 20 rows in 16 blocks are padded to 2 each; blocks with padding cannot change places.
    shown = explain(binary, "A[I_{XY}] -> A[I_{YX}]", "X=4,Y=4", "I=20", "torus:4x4")
    moved = [m["collective"]["bytes"] for m in shown["moves"] if m["collective"]]
    report.holds("gathered whole and cut again: said, with bytes", moved == [64] and any(
        n == "A: I is gathered whole over X, Y (64 B) and cut again over Y, X: [I_{XY}] -> [I_{YX}]"
        for n in shown["notes"]), (moved, shown["notes"]))
    tie = ["explain", "tests/bad/plan-tie.yaml", "--set"]
    notes = ask(binary, [*tie, "on_ambiguity=choose"])["notes"]
    report.holds("on_ambiguity: choose says which plan", any("both cost" in n for n in notes), notes)
    try:
        ask(binary, [*tie, "on_ambiguity=error"])
        report.failed("on_ambiguity: error", "the tie is not refused")
    except RuntimeError as refused:
        report.holds("on_ambiguity: error refuses", "expected one cheapest plan" in str(refused), refused)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="build/shardsim")
    binary = parser.parse_args().binary
    report = Report()
    guarded(report, "case 2", check_gather_or_slice, binary)
    guarded(report, "case 4", check_clash, binary)
    guarded(report, "contracted dims on two axes", check_two_axes, binary)
    guarded(report, "reshards", check_reshards, binary)
    guarded(report, "bytes of layouts", check_layout_bytes, binary)
    guarded(report, "adjoints", check_adjoints, binary)
    guarded(report, "ZeRO stages", check_optimizer_layouts, binary)
    guarded(report, "warnings", check_warnings, binary)
    return report.verdict()


if __name__ == "__main__":
    sys.exit(main())
