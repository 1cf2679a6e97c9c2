#!/usr/bin/env python3
"""Bundles the pages of reports/template/ into a C++ source. usage: bundle.py OUT.cc [--esbuild PATH]

Each page (timeline, compare, index, sweep) is page.html with one style sheet and one script, minified by
esbuild, which finds d3 where Debian's node-d3 has it. The Content-Security-Policy allows these two
and nothing else: they are named by their hashes. What differs from page to page (@TITLE@, @STATIC@,
@DATA@) the program fills in; sim/report/page_skeleton.h says how. Same input, same bytes out.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys

TEMPLATE = pathlib.Path(__file__).resolve().parent / "template"
PAGES = ["compare", "index", "sweep", "timeline"]
SLOTS = {"@TITLE@": "title", "@STATIC@": "content", "@DATA@": "data"}
LINE = 1000  # bytes of a C++ literal in one line


def esbuild(program, *arguments):
    packages = os.environ.get("SHARDSIM_NODE_PATH", "/usr/share/nodejs")
    done = subprocess.run([program, *arguments, "--minify", "--log-level=error"], capture_output=True, text=True,
                          cwd=TEMPLATE, env={**os.environ, "NODE_PATH": packages}, check=False)
    if done.returncode != 0:
        sys.exit(f"bundle.py: esbuild {' '.join(arguments)}:\n{done.stderr}")
    return done.stdout.strip()


def source_hash(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_parts(program, page):
    """The page as (text, slot after it)."""
    style = esbuild(program, "style.css")
    script = esbuild(program, f"{page}.js", "--bundle", "--format=iife", "--target=es2022", "--charset=ascii")
    for name, text, end in (("style.css", style, "</style"), (f"{page}.js", script, "</script")):
        if end in text or "<!--" in text:
            sys.exit(f"bundle.py: {name}: expected no {end} and no <!-- in what is inlined, found one")
    policy = (f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; "
              "img-src data:; base-uri 'none'; form-action 'none'")
    known = {"@CSP@": policy, "@PAGE@": page, "@STYLE@": style, "@SCRIPT@": script}
    parts = [("", None)]
    for piece in re.split(r"(@[A-Z]+@)", (TEMPLATE / "page.html").read_text()):
        text, slot = parts[-1]
        if piece in SLOTS:
            parts[-1] = (text, SLOTS[piece])
            parts.append(("", None))
        else:
            parts[-1] = (text + known.get(piece, piece), slot)
    found = sorted(slot for _, slot in parts if slot)
    if found != sorted(SLOTS.values()):
        sys.exit(f"bundle.py: page.html: expected {', '.join(SLOTS)} once each, found {', '.join(found)}")
    return parts


def literal(text):
    data = text.encode()
    lines = []
    for at in range(0, len(data), LINE):
        line = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in data[at:at + LINE])
        lines.append(f'"{line}"')
    return "\n    ".join(lines) or '""'


def cpp(pages):
    text = ["// Made by reports/bundle.py; not edited.", "#include <array>", "", '#include "report/page_skeleton.h"', "",
            "namespace shardsim {", "namespace {", ""]
    for page, parts in pages.items():
        text.append(f"constexpr std::array<PagePart, {len(parts)}> k_{page} = {{{{")
        text += [f"    {{{literal(part)},\n     PageSlot::{slot or 'end'}}}," for part, slot in parts]
        text.append("}};")
    text.append(f"constexpr std::array<PageSkeleton, {len(pages)}> kSkeletons = {{{{")
    text += [f'    {{"{page}", k_{page}}},' for page in pages]
    text += ["}};", "", "}  // namespace", "",
             "std::span<const PageSkeleton> page_skeletons() {", "  return kSkeletons;", "}", "",
             "}  // namespace shardsim", ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--esbuild", default="esbuild")
    args = parser.parse_args()
    text = cpp({page: page_parts(args.esbuild, page) for page in PAGES})
    temporary = args.out.with_name(args.out.name + ".tmp")
    temporary.write_text(text)
    temporary.replace(args.out)


if __name__ == "__main__":
    main()
