#!/usr/bin/env python3
"""Published training steps beside simulated ones: Megatron-LM, Llama 3 405B, torchtitan, MaxText.

usage: published.py [--binary build/shardsim]

Every row is made into a run file from the flags of its measurement; nothing is fitted. A row that the
simulator cannot say, or whose machine is not known, is listed with the reason. Rates of chips are those
of the variants in configs/chips; where a chip has no measured one, its nominal peak stands, and the
simulated step is a lower bound. Prints the table; exit status 3 when a run fails.
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
A100 = ("a100-80gb-sxm", "measured", "300 GB/s", "3.4 us", "25 GB/s, efficiency: 0.63", "4 us")
H100 = ("h100-sxm", "measured", "450 GB/s", "1 us", "50 GB/s", "5 us")
# Slices of the rows: chips to axes, as Google Cloud's docs list them.
SLICES = {("v5e", 256): "16x16", ("v5p", 64): "4x4x4", ("v5p", 128): "4x4x8", ("v5p", 256): "4x8x8",
          ("v5p", 2048): "8x16x16", ("v4", 192): "4x4x12"}
GPT = "gpt"
LLAMA = "llama"


def read(name):
    with open(HERE / "data" / name, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def gpus(system, devices):
    chip, variant, inner, latency, outer, far = system
    levels = [f"{{name: nvlink, kind: switch, size: 8, bandwidth: {inner}, latency: {latency}}}"]
    if devices > 8:
        levels.append(f"{{name: ib, kind: rails, size: {devices // 8}, bandwidth: {outer}, latency: {far}}}")
    return f"cluster: {{chip: {chip}, variant: {variant}, topology: {{levels: [{', '.join(levels)}]}}}}"


def tpus(chip, devices):
    return (f"cluster: {{chip: tpu-{chip}, variant: scaling-book, topology: "
            f"'tpu-slice:{SLICES[chip, devices]}'}}")


def model(block, layers, **dims):
    sizes = ", ".join(f"{name}: {size}" for name, size in dims.items())
    return f"layers: {layers}\ndims: {{{sizes}}}\nblock: {block}\n"


def megatron():
    for r in read("megatron_readme_gpt3_1024a100.csv"):
        h = int(r["hidden"])
        text = model(GPT, r["layers"], D=h, F=4 * h, N=r["heads"], K=r["heads"], H=h // int(r["heads"]),
                     V=r["vocab"])
        run = (f"{gpus(A100, int(r['gpus']))}\nparallel: {{tp: {r['tp']}, pp: {r['pp']}, dp: {r['dp']}}}\n"
               f"schedule: {{p2p: blocking, scatter_gather: true}}\n"
               f"batch: {{global: {r['gbs']}, micro: {r['mbs']}, length: {r['seq']}}}\n"
               "attention: scores\nrecompute: full\n")
        yield f"Megatron-LM {r['model']}, {r['gpus']} A100", float(r["iter_time_s"]), text, run


def llama():
    for r in read("llama3_405b_table4.csv"):
        name = f"Llama 3 405B, {r['gpus']} H100, {r['seq']} tokens"
        # Half of the scores or all: the paper does not say which FLOPs it counts.
        measured = (float(r["iter_time_s_causal"]) + float(r["iter_time_s_full"])) / 2
        # Keys and values are gathered, in 2 * cp pieces (section 3.3.2).
        cp = f", cp: {r['cp']}" if r["cp"] != "1" else ""
        text = model(LLAMA, 126, D=16384, F=53248, N=128, K=8, H=128, V=128256)
        layers = ", ".join(["0"] + ["1"] * 126 + ["0"])
        sequences = int(r["batch_per_dp"]) * int(r["dp"])
        run = (f"{gpus(H100, int(r['gpus']))}\n"
               f"parallel: {{tp: 8, pp: {r['pp']}, dp: {r['dp']}, sp: true, zero: 1{cp}}}\n"
               f"{'sharding: {zigzag: true}' if cp else ''}\n"
               f"schedule: {{kind: interleaved-1f1b, chunks: 8, layers: [{layers}]}}\n"
               f"batch: {{global: {sequences}, micro: 1, length: {r['seq']}}}\n"
               "overlap: {gradients: true, updates: true}\n")
        yield name, measured, text, run


def torchtitan():
    for r in read("torchtitan_llama3_h100_h200.csv"):
        name = f"torchtitan {r['table']} {r['model']}, {r['gpus']} GPUs"
        measured = float(r["iter_time_s_derived"])
        why = ("fp8 products beside bf16 ones are not modelled" if r["float8"] != "0" else
               "weights cut over context-parallel devices, too, are not modelled" if r["cp"] != "1" else
               "recomputation of single operations is not modelled" if "per-op" in r["act_ckpt"] else
               "every other layer is recomputed, which is not modelled" if r["act_ckpt"] != "full" else
               "")
        if why:
            yield name, measured, None, why
            continue
        text = model(LLAMA, r["layers"], D=r["hidden"], F=r["ffn"], N=r["heads"], K=r["kv_heads"],
                     H=int(r["hidden"]) // int(r["heads"]), V=r["vocab"])
        tiles = ", collective_matmul: 8, collective_matmul_form: ring" if r["async_tp"] == "1" else ""
        micro = int(r["local_batch"])
        run = (f"{gpus(H100, int(r['gpus']))}\nparallel: {{tp: {r['tp']}, fsdp: {r['fsdp']}, sp: true}}\n"
               f"batch: {{global: {r['gbs']}, micro: {micro}, length: {r['seq']}}}\nrecompute: full\n"
               f"overlap: {{fsdp_prefetch: 1, gradients: true{tiles}}}\n")
        yield name + (", async TP" if tiles else ""), measured, text, run


def maxtext():
    for r in read("maxtext_tpu_v4_v5e_v5p.csv"):
        name = f"MaxText {r['model']}, {r['chips']} {r['chip']}"
        if not r["emb"] or (r["chip"], int(r["chips"])) not in SLICES or r["slices"] != "1":
            yield name, None, None, "several slices, or dims or slice not published"
            continue
        d, layers, heads, head, ffn, seq, vocab = (int(r[k]) for k in (
            "emb", "layers", "heads", "head_dim", "mlp", "seq", "vocab"))
        # Their count: 6 for each weight and token, and all scores.
        weights = layers * (4 * d * heads * head + 2 * d * ffn) + vocab * d
        flops = (6 * weights + 12 * layers * heads * head * seq) * seq * int(r["gbs"])
        measured = flops / int(r["chips"]) / (float(r["tflops_per_chip"]) * 1e12)
        text = model(GPT, layers, D=d, F=ffn, N=heads, K=heads, H=head, V=vocab)
        tp = f", tp: {r['ici_tp']}, sp: true" if r["ici_tp"] != "1" else ""
        recompute = "full" if r["remat"] == "full" else "selective"
        run = (f"{tpus(r['chip'], int(r['chips']))}\nparallel: {{fsdp: {r['ici_fsdp']}{tp}}}\n"
               f"batch: {{global: {r['gbs']}, length: {seq}}}\nrecompute: {recompute}\n"
               "overlap: {fsdp_prefetch: 1, gradients: true}\n")
        yield name, measured, text, run


def simulate(binary, text, run):
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "model.yaml").write_text(text, encoding="utf-8")
        (here / "run.yaml").write_text(f"model: ./model.yaml\n{run}", encoding="utf-8")
        done = subprocess.run([binary, "run", str(here / "run.yaml"), "--format", "json", "--out",
                               str(here / "out")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)["step_time_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=str(ROOT / "build" / "shardsim"))
    options = parser.parse_args()
    print(f"{'':<54} {'measured s':>11} {'simulated s':>12} {'error':>7}")
    errors, failed, left_out = [], 0, []
    for source in (megatron, llama, torchtitan, maxtext):
        for name, measured, text, run in source():
            if text is None:
                left_out.append(f"{name}: {run}")
                continue
            try:
                time = simulate(options.binary, text, run)
            except RuntimeError as error:
                failed += 1
                print(f"{name:<54} {measured:>11.2f} FAILED\n{error}")
                continue
            errors.append(time / measured - 1)
            print(f"{name:<54} {measured:>11.2f} {time:>12.2f} {errors[-1]:>+7.1%}", flush=True)
    if errors:
        mean = sum(map(abs, errors)) / len(errors)
        print(f"{len(errors)} steps: mean error {mean:.1%}, worst {max(map(abs, errors)):.1%}")
    print(f"\nleft out: {len(left_out)}")
    for reason in sorted({line.split(": ", 1)[1] for line in left_out}):
        print(f"  {sum(line.endswith(reason) for line in left_out):>3}  {reason}")
    return 3 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
