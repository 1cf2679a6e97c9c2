#!/usr/bin/env python3
"""Whole outputs against files: tests/golden/NAME.txt, and the examples of README.md.

    tests/golden/run.py [--binary build/shardsim] [--accept]

--accept writes the files anew (and the README's examples); read the difference before committing.
"""
import argparse
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests" / "golden"
LINK = "--bandwidth 100GB/s --latency 1us --bytes 64MiB"
CASES = {
    "collective-ring": f"collective all-gather --topology ring:8 {LINK}",
    "collective-torus-json": f"collective all-reduce --topology torus:8x4 {LINK} --format json",
    "collective-beside": f"collective all-to-all --beside all-gather --topology ring:8 {LINK}",
    "collective-over": f"collective all-gather --topology torus:4x4x4 --over z,x {LINK}",
    "collective-degraded": "collective all-gather --topology torus-4x4-degraded --bytes 64MiB",
    "collective-missing": "collective all-reduce --topology tests/golden/ring-8-missing.yaml "
                          "--algorithm chain --bytes 64MiB",
    "collective-graph": "collective all-gather --topology fat-tree-8-two-spines --bytes 64MiB",
    "collective-terms": "collective broadcast --topology hgx-h100-x2 --bytes 64MiB",
    "collective-terms-torus": f"collective all-reduce --topology torus:8x4 {LINK}",
    "collective-terms-all-to-all": "collective all-to-all --topology hgx-h100-x2 --bytes 64MiB",
    "run-one-device": "run configs/runs/llama3-8b-h100-x1.yaml --out {out}",
    "collective-sweep": "collective all-gather --topology torus:6x4x4 --bandwidth 100GB/s "
                        "--latency 1us --sweep-bytes 1KiB:1GiB:4",
    "collective-sweep-csv": "collective all-to-all --topology ring:8 --bandwidth 100GB/s "
                            "--latency 1us --sweep-bytes 1KiB:1MiB:32 --format csv",
    "collective-sweep-json": "collective all-reduce --topology switch:8 --bandwidth 450GB/s --latency "
                             "1us --algorithm in-network --sweep-bytes 1KiB:1MiB:32 --format json",
    "collective-broadcast": f"collective broadcast --topology switch:8 --root 3 {LINK}",
    "collective-window": f"collective all-to-all --topology switch:8 --window 2 {LINK}",
    "collective-padded": "collective all-to-all --topology ring:7 --bandwidth 100GB/s --bytes 64MiB",
    "collective-barrier": "collective barrier --topology torus:4x4 --bandwidth 100GB/s --latency 1us",
    "collective-levels": "collective all-reduce --topology dgx-h100-superpod --mesh X=16,Y=16 --over X "
                         "--bytes 64MiB",
    "explain-levels": "explain 'C[I_X, K] = A[I_X, J_Y] * B[J_Y, K]' --mesh X=2,Y=8 --topology hgx-h100-x2 "
                      "--dims I=4096,J=8192,K=1024",
    "run-levels": "run configs/runs/levels-2x8-h100.yaml --out {out}",
    "list-topologies": "list topologies",
    "explain-array": "explain 'A[I_XY, J]' --mesh X=2,Y=2 --dims I=1024,J=4096",
    "explain-array-padded": "explain 'A[I_YX, J]{U_Z}' --mesh X=2,Y=2,Z=3 --dims I=1023,J=6 "
                            "--dtype fp32 --device-order innermost-first",
    "explain-case-3": "explain 'C[I_X, K] = A[I, J_X] * B[J_X, K]' --mesh X=4,Y=2 "
                      "--dims I=4096,J=8192,K=1024 --bandwidth 100GB/s",
    "explain-case-2": "explain 'C[I, K] = A[I, J_X] * B[J, K]' --mesh X=4 "
                      "--dims I=4096,J=8192,K=1024 --pass both",
    "explain-switch-json": "explain 'C[I_X, K] = A[I_X, J] * B[J, K_X]' --mesh X=8 --format json "
                           "--dims I=4096,J=8192,K=1024 --topology switch:8 --bandwidth 450GB/s",
    "explain-reshard": "explain 'A[I_X, J] -> A[I, J_X]' --mesh X=4,Y=2 --dims I=4096,J=8192 "
                       "--bandwidth 100GB/s --latency 1us",
    "explain-reshape": "explain 'Q[B, T, N_XY, H] = reshape(Qf[B, T, M_X])' --mesh X=4,Y=2 "
                       "--dims B=8,T=128,N=8,H=64,M=512 --pass both",
    "explain-mlp-by-hand": "explain configs/runs/mlp-by-hand.yaml",
    "explain-llama3-70b": "explain configs/runs/llama3-70b-v5p-64.yaml",
    "check": "check configs/runs/llama3-70b-v5p-64.yaml",
    "run-megatron": "run configs/runs/megatron-ring8.yaml --out {out}",
    "run-llama3-70b": "run configs/runs/llama3-70b-v5p-64.yaml --out {out}",
    "run-compare": "run configs/runs/fsdp-prefetch-4-layers.yaml --compare overlap",
    "run-pipeline": "run configs/runs/levels-2x8-h100.yaml --set mesh='{P: ib, Y: nvlink}' --set model=llama3-8b "
                    "--set layers=4 --set sharding='{tp: Y, sp: true}' --set batch='{global: 8, micro: 1, length: 4096}' "
                    "--set schedule='{kind: 1f1b, axis: P}' --set recompute=selective --set ends=true --out {out}",
    "run-order-mismatch": "run configs/runs/order-mismatch-torus4x4.yaml --out {out}",
    "schedule-dualpipe": "schedule dualpipe --stages 8 --microbatches 20 --forward 1ms --backward-input 1ms "
                         "--backward-weight 1ms --overlapped 3ms --p2p 10us",
    "schedule-compare": "schedule 1f1b interleaved zb-h2 zbv --stages 4 --microbatches 8 --forward 1ms "
                        "--backward 2ms --cost-per stage",
    "schedule-blocking": "schedule 1f1b --stages 3 --microbatches 6 --forward 1ms --backward 2ms --p2p 100us "
                         "--p2p-mode blocking",
    "schedule-json": "schedule v-half --stages 2 --microbatches 4 --forward 1ms --backward 2ms --format json",
    "list-schedules": "list schedules",
    "list-presets": "list presets",
    "list-collectives": "list collectives",
    "list-fields": "list fields",
    "example": "example dp-ring8",
    "run-mlp-by-hand": "run configs/runs/mlp-by-hand.yaml --out {out}",
}


def output(binary, arguments):
    """Standard output of a run that must succeed; the output directory is written as OUT."""
    out = ROOT / "reports" / "out" / "golden"
    words = shlex.split(arguments.replace("{out}", str(out)))
    done = subprocess.run([binary, *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit status {done.returncode}\n{done.stderr}"
    return done.stdout.replace(str(out), "OUT")


def readme_examples(binary, text):
    """README.md with the output below every line `    $ ./run_sim.sh …` as the program prints it now."""
    lines = text.split("\n")
    result = []
    i = 0
    examples = 0
    while i < len(lines):
        result.append(lines[i])
        i += 1
        if not result[-1].startswith("    $ ./run_sim.sh "):
            continue
        examples += 1
        shown = output(binary, result[-1].removeprefix("    $ ./run_sim.sh "))
        result += [("    " + line).rstrip() for line in shown.rstrip("\n").split("\n")]
        while i < len(lines) and (lines[i].startswith("    ") or (lines[i] == "" and lines[i + 1].startswith("    "))):
            i += 1
    return "\n".join(result), examples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    parser.add_argument("--accept", action="store_true")
    args = parser.parse_args()
    binary = str(pathlib.Path(args.binary).resolve())
    wrong = []
    pairs = [(HERE / f"{name}.txt", output(binary, arguments)) for name, arguments in CASES.items()]
    readme = ROOT / "README.md"
    text, examples = readme_examples(binary, readme.read_text())
    if examples < 2:
        wrong.append("README.md has lost its examples")
    pairs.append((readme, text))
    for path, now in pairs:
        if args.accept:
            path.write_text(now)
        elif not path.exists() or path.read_text() != now:
            wrong.append(f"{path.relative_to(ROOT)} differs from what the program prints")
            old = path.read_text().split("\n") if path.exists() else []
            for a, b in zip(old, now.split("\n")):
                if a != b:
                    wrong.append(f"  - {a}\n  + {b}")
                    break
    extra = {p.stem for p in HERE.glob("*.txt")} - set(CASES)
    wrong += [f"tests/golden/{name}.txt belongs to no case" for name in sorted(extra)]
    print("\n".join(wrong) if wrong else f"{len(pairs)} outputs as recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
