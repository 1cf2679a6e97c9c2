#!/usr/bin/env python3
"""The pictures of README.md, made anew from configs/: docs/NAME.svg and docs/NAME.png.

    docs/pictures.py [--binary build/shardsim] [--check]

--check makes the SVGs only and compares them with those in docs/ (exit 1 where they differ). PNGs are drawn by rsvg-convert
(Debian: librsvg2-bin) with whatever sans-serif font there is, so their bytes may differ from one machine to another.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from small_png import small_png

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PICTURES = {
    "schedules": "schedule gpipe 1f1b interleaved zb-h1 dualpipe --stages 8 --microbatches 20 --group 10 --forward 1ms "
                 "--backward 2ms --cost-per stage",
    "layer": "run configs/runs/llama3-70b-v5p-64.yaml --out {out}",
    "prefetch": "run configs/runs/fsdp-prefetch-4-layers.yaml --compare overlap",
}


def make_svg(binary, name, path):
    with tempfile.TemporaryDirectory() as out:
        words = PICTURES[name].format(out=out).split()
        done = subprocess.run([binary, *words, "--svg", path], cwd=ROOT, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"docs/pictures.py: {' '.join(words)}: exit status {done.returncode}\n{done.stderr}")


def check(binary):
    different = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in PICTURES:
            path = pathlib.Path(scratch) / f"{name}.svg"
            make_svg(binary, name, path)
            if path.read_bytes() != (DOCS / path.name).read_bytes():
                different.append(path.name)
    if different:
        sys.exit(f"docs/: {', '.join(different)} are not what the program draws; run docs/pictures.py, and look at them")
    print(f"{len(PICTURES)} pictures are as the program draws them")


def make(binary):
    for name in PICTURES:
        svg, png = DOCS / f"{name}.svg", DOCS / f"{name}.png"
        make_svg(binary, name, svg)
        try:
            drawn = subprocess.run(["rsvg-convert", svg], check=True, capture_output=True).stdout
        except FileNotFoundError:
            sys.exit("docs/pictures.py: rsvg-convert is missing (Debian: apt-get install librsvg2-bin)")
        png.write_bytes(small_png(drawn))
        print(f"docs/{svg.name}: {svg.stat().st_size} bytes, docs/{png.name}: {png.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "build" / "shardsim", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    binary = args.binary.resolve()
    check(binary) if args.check else make(binary)


if __name__ == "__main__":
    main()
