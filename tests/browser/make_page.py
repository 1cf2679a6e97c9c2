"""Pages from nothing: PageData of any size, and the pages that show it.

usage: make_page.py OUT.html [--slices N] [--ranks N] [--schedule NAME] [--runs N] [--hostile]

The data follow the columns of sim/report/columns.h; tests compare what a page shows with what was
put into it here.
"""
import argparse
import base64
import json
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))
import bundle  # noqa: E402

DIFFERENCES = {"begin", "at", "from", "to", "origin", "cause"}
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script>",
    "\"quotes' & &amp;",
    "line\u2028separator\u0007",
]
KINDS = [
    ("forward", "compute"),
    ("backward", "compute"),
    ("backward input", "compute"),
    ("backward weight", "compute"),
    ("optimizer", "compute"),
    ("all-gather", "communication"),
    ("reduce-scatter", "communication"),
    ("pipeline transfer", "transfer"),
]
OF_CODE = {"F": 0, "B": 1, "I": 2, "W": 3, "O": 4}


def varint(value):
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def zigzag(value):
    return 2 * value if value >= 0 else -2 * value - 1


def column(values, differences=False):
    made, before = bytearray(), 0
    for value in values:
        if differences:
            step, before = value - before, value
            value = zigzag(step)
        made += varint(value)
    return base64.b64encode(bytes(made)).decode()


def columns(rows, names):
    """`rows`: dicts; a name that is missing is 0."""
    made = {"count": len(rows)}
    for name in names:
        made[name] = column([row.get(name, 0) for row in rows], name in DIFFERENCES)
    return made


class Texts:
    def __init__(self):
        self.list, self.index = [], {}

    def __call__(self, text):
        if text not in self.index:
            self.index[text] = len(self.list)
            self.list.append(text)
        return self.index[text]


SLICE = "track begin length origin microbatch stage chunk cause critical".split()
ORIGIN = "name kind layer bytes links".split()
CELL = ("rank begin length code microbatch chunk stage "
        "second_code second_microbatch second_chunk second_stage").split()


class RunBuilder:
    """Rows are added in any order; `data` sorts them and gives indices."""

    def __init__(self, name, kind="run", tick_s=1e-6):
        self.name, self.kind, self.tick_s = name, kind, tick_s
        self.texts = Texts()
        self.ranks, self.tracks, self.slices, self.origins = [], [], [], []
        self.origin_index, self.arrows, self.bubbles, self.cells = {}, [], [], []
        self.memory, self.links, self.summary, self.left_out = [], [], {}, 0

    def origin(self, name, kind, layer=-1, size=0, links=None):
        key = (name, kind, layer, size, links)
        if key not in self.origin_index:
            self.origin_index[key] = len(self.origins)
            self.origins.append({"name": self.texts(name), "kind": kind, "layer": layer + 1,
                                 "bytes": size, "links": self.texts(links) + 1 if links else 0})
        return self.origin_index[key]

    def slice(self, **row):
        self.slices.append(row)
        return row

    def end(self):
        return max((one["begin"] + one["length"] for one in self.slices + self.cells), default=0)

    def data(self):
        self.slices.sort(key=lambda one: (one["track"], one["begin"]))
        index = {id(one): i for i, one in enumerate(self.slices)}
        for one in self.slices + self.bubbles:
            one["cause"] = index[id(one["cause"])] + 1 if one.get("cause") else 0
        arrows = [{"from": index[id(a)], "to": index[id(b)]} for a, b in self.arrows]
        for rows in (self.bubbles, self.cells):
            rows.sort(key=lambda one: (one["rank"], one["begin"]))
        return {
            "name": self.name, "kind": self.kind, "command": f"shardsim run {self.name}",
            "summary": self.summary, "step_s": self.end() * self.tick_s, "tick_s": self.tick_s,
            "slices_left_out": self.left_out, "texts": self.texts.list,
            "kinds": [{"name": name, "group": group} for name, group in KINDS],
            "ranks": self.ranks, "tracks": self.tracks, "origins": columns(self.origins, ORIGIN),
            "slices": columns(self.slices, SLICE), "arrows": columns(arrows, ["from", "to"]),
            "bubbles": columns(self.bubbles, ["rank", "begin", "length", "text", "cause"]),
            "cells": columns(self.cells, CELL),
            "memory": self.memory, "links": self.links, "links_left_out": 0,
        }


def repeated(pattern, count):
    """A column of `count` values that repeat, without a loop over all of them."""
    piece = b"".join(map(varint, pattern))
    whole, rest = divmod(count, len(pattern))
    return piece * whole + b"".join(map(varint, pattern[:rest]))


def bulk_run(count, tracks=40):
    """`count` slices on `tracks` tracks, abutting but for some gaps: what a large run looks like."""
    lengths = [300, 120, 700, 80, 40, 260, 900, 20]
    gaps = [0, 0, 50, 0, 0, 0, 400, 0]
    steps = [a + b for a, b in zip(lengths, gaps)]
    shares = [count // tracks + (1 if t < count % tracks else 0) for t in range(tracks)]
    track, begin, length, origin, at, of = b"", b"", b"", b"", 0, 0
    longest = 0
    for number, share in enumerate(shares):
        if share == 0:
            continue
        ends = sum(steps) * ((share - 1) // 8) + sum(steps[:(share - 1) % 8])
        last = (share - 1) % 8
        longest = max(longest, ends + lengths[last])
        track += varint(number) * share
        begin += varint(zigzag(-at))
        begin += repeated([2 * step for step in steps], share - 1)
        at = ends
        length += repeated(lengths, share)
        moves = [zigzag((i + 1) % 8 - i) for i in range(8)]
        origin += varint(zigzag(-of)) + repeated(moves, share - 1)
        of = last
    run = RunBuilder(f"{count} slices", tick_s=1e-9)
    run.ranks = [{"label": f"rank {r}", "devices": 8} for r in range((tracks + 3) // 4)]
    streams = ["compute", "T", "D", "pipeline"]
    run.tracks = [{"rank": t // 4, "label": f"rank {t // 4}", "stream": streams[t % 4]}
                  for t in range(tracks)]
    for i in range(8):
        run.origin(f"op {i} of a layer", i)
    data = run.data()

    def encoded(raw):
        return base64.b64encode(raw).decode()

    data["slices"] = {
        "count": count, "track": encoded(track), "begin": encoded(begin), "length": encoded(length),
        "origin": encoded(origin), "microbatch": encoded(repeated([1, 1, 2, 2, 3, 4], count)),
        "stage": encoded(repeated([0], count)), "chunk": encoded(repeated([0], count)),
        "cause": encoded(repeated([0], count)), "critical": encoded(repeated([1, 0, 0, 0], count))}
    data["step_s"] = longest * 1e-9
    return data


def memory_of(rank, end, limit, points=200):
    at = [end * i // points for i in range(points)]
    activations = [(i * 37 % 97) * (1 << 24) for i in range(points)]
    return {"rank": rank, "label": f"rank {rank}", "limit_bytes": limit,
            "kinds": ["weights", "gradients", "optimizer", "activations"],
            "at": column(at, True),
            "bytes": [column([1 << 30] * points), column([1 << 29] * points),
                      column([1 << 30] * points), column(activations)]}


def link_of(name, end, points=300):
    at = [end * i // points for i in range(points)]
    return {"name": name, "bandwidth_bytes_per_s": 50e9, "at": column(at, True),
            "rate": column([(i * 131) % 1001 if i % 3 else 0 for i in range(points)])}


def page_html(page, data, title, static="", page_parts={}):
    """The page as the program writes it, but for its tables."""
    if page not in page_parts:
        page_parts[page] = bundle.page_parts("esbuild", page)
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    static = static or f"<h1>{escaped(title)}</h1><p>The tables of the run stand here.</p>"
    slots = {"title": escaped(title), "content": static, "data": text}
    return "".join(piece + (slots[slot] if slot else "") for piece, slot in page_parts[page])


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def page_data(page, runs, title):
    return {"schema": "shardsim-page-1", "page": page, "title": title,
            "command": "shardsim run", "runs": runs}


def write_page(path, page, runs, title):
    path = pathlib.Path(path)
    path.write_text(page_html(page, page_data(page, runs, title), title), encoding="utf-8")
    return path
