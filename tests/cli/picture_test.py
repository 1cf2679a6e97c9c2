#!/usr/bin/env python3
"""Pictures and what a terminal shows. usage: picture_test.py [--binary build/shardsim]

SVGs as viewers read them (XML, boxes inside, the times and figures of the JSON, hostile names as text, the same bytes twice,
bounded size), rsvg-convert where it is installed, text in the width of a terminal, colour and progress only where they belong.
"""
import argparse
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
KINDS = ["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "dualpipe"]
COSTS = ["--stages", "8", "--microbatches", "20", "--forward", "1ms", "--backward", "2ms", "--cost-per", "stage"]
FIVE = [*KINDS, *COSTS, "--group", "10"]
HOSTILE = "<script>alert(1)</script> & \"quotes\" 'and' ]]> \u2028 é"
RUN = "configs/runs/megatron-ring8.yaml"
faults = []


def expect(condition, what):
    if not condition:
        faults.append(what)
        print(f"picture_test: {what}", file=sys.stderr)


def run(binary, *words, **options):
    return subprocess.run([binary, *map(str, words)], cwd=ROOT, text=True, capture_output=True, **options)


def svg_of(binary, scratch, *words):
    """The parsed picture, its bytes, and what the command printed."""
    path = scratch / "picture.svg"
    done = run(binary, *words, "--svg", path)
    expect(done.returncode == 0, f"{words}: exit status {done.returncode}: {done.stderr}")
    data = path.read_bytes()
    return ElementTree.fromstring(data), data, done.stdout


def texts(root):
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def boxes(root):
    """Every box of every path that has a colour: x, width."""
    for path in root.iter(f"{SVG}path"):
        if path.get("fill") in (None, "none"):
            continue
        for x, width in re.findall(r"M([\d.]+) 0h([\d.]+)v", path.get("d")):
            yield float(x), float(width)


def check_schedules(binary, scratch):
    root, data, _ = svg_of(binary, scratch, "schedule", *FIVE)
    again = svg_of(binary, scratch, "schedule", *FIVE)[1]
    expect(data == again, "the same schedules draw other bytes")
    said = texts(root)
    result = json.loads(run(binary, "schedule", *FIVE, "--format", "json").stdout)
    for kind, schedule in zip(KINDS, result["schedules"]):
        bubble = f"bubble {100 * schedule['makespan_bubble']:.2f} %"
        expect(any(bubble in text for text in said), f"{kind}: no caption with \"{bubble}\"")
        expect(kind in said, f"{kind}: no title")
    width = float(root.get("width"))
    drawn = list(boxes(root))
    # 8 ranks: gpipe and 1f1b 2 works a micro-batch, interleaved twice as many, zb-h1 3, dualpipe at least 2.
    expect(len(drawn) >= 8 * 20 * (2 + 2 + 4 + 3 + 2), f"only {len(drawn)} boxes of five schedules")
    expect(all(0 <= x and x + w <= width for x, w in drawn), "a box beyond the picture")
    for ink in ("#136fec", "#016573", "#36521f"):
        expect(any(path.get("fill") == ink for path in root.iter(f"{SVG}path")), f"nothing drawn in {ink}")
    expect(any(path.get("stroke") == "#000000" for path in root.iter(f"{SVG}path")), "overlapped cells have no frame")
    expect(len(data) < 300_000, f"five schedules take {len(data)} bytes")
    # The longest schedule ends at the right end of the axis.
    longest = max(schedule["makespan_s"] for schedule in result["schedules"])
    right = max(x + w for x, w in drawn)
    left = min(x for x, _ in drawn)
    ticks = {text: float(node.get("x")) for node in root.iter(f"{SVG}text") for text in ["".join(node.itertext())]
             if re.fullmatch(r"[\d.]+ ms", text)}
    tick = max(ticks, key=lambda text: float(text.split()[0]))
    at = left + (right - left) * float(tick.split()[0]) / (1e3 * longest)
    expect(abs(at - ticks[tick]) < 2, f"\"{tick}\" stands at {ticks[tick]}, not at {at:.1f}")


def check_large(binary, scratch):
    root, data, _ = svg_of(binary, scratch, "schedule", "1f1b", "--stages", 128, "--microbatches", 2000, "--forward", "1ms",
                           "--backward", "2ms")
    said = " ".join(texts(root))
    expect("narrower than a pixel" in said, "merged boxes are not said")
    expect("64 ranks" in said, "ranks left out are not said")
    expect(len(data) < 3_000_000, f"a large schedule takes {len(data)} bytes")


def check_run(binary, scratch):
    out = scratch / "out"
    root, data, _ = svg_of(binary, scratch, "run", RUN, "--out", out)
    said = texts(root)
    summary = json.loads((out / "summary.json").read_text())
    expect(summary["name"] in said, "the picture has no title")
    expect("compute" in said, "the picture has no row of computes")
    for kind in ("forward", "backward", "all-reduce"):
        expect(kind in said, f"the legend has no {kind}")
    expect(svg_of(binary, scratch, "run", RUN, "--out", out)[1] == data, "the same run draws other bytes")
    both, _, _ = svg_of(binary, scratch, "run", "configs/runs/fsdp-prefetch-4-layers.yaml", "--compare", "overlap")
    expect("nothing overlapped" in texts(both) and "as configured" in texts(both), "--compare: not both runs")


def check_hostile(binary, scratch):
    spec = scratch / "hostile.yaml"
    text = (ROOT / RUN).read_text()
    spec.write_text(re.sub(r"(?m)^name:.*$", lambda _: "name: " + json.dumps(HOSTILE), text) if "\nname:" in "\n" + text
                    else "name: " + json.dumps(HOSTILE) + "\n" + text)
    root, data, _ = svg_of(binary, scratch, "run", spec, "--out", scratch / "out")
    expect(b"<script" not in data, "a name became a tag")
    expect(any("<script>alert(1)</script> & \"quotes\" 'and' ]]>" in text for text in texts(root)), "a name is not shown as it is")
    order = scratch / "a<b>&.txt"
    done = run(binary, "schedule", "1f1b", *COSTS, "--export", order)
    expect(done.returncode == 0, done.stderr)
    root, _, _ = svg_of(binary, scratch, "schedule", f"file:{order}", "--forward", "1ms", "--backward", "2ms")
    expect(any(text.endswith("a<b>&.txt") or "a<b>&" in text for text in texts(root)), "a file's name is not shown as it is")


def check_refused(binary, scratch):
    for words, what in [
        (["run", RUN, "--out", scratch / "out", "--svg", "/dev/null/x.svg"], 1),
        (["run", RUN, "--out", scratch / "out", "--gantt", "--format", "json"], 2),
        (["run", RUN, "--compare", "overlap", "--gantt"], 2),
        (["schedule", "1f1b", *COSTS, "--svg", "/dev/null/x.svg"], 1),
    ]:
        done = run(binary, *words)
        expect(done.returncode == what, f"{words}: exit status {done.returncode}, not {what}")
        expect(done.stderr.strip() != "", f"{words}: no message")


def check_rendered(binary, scratch):
    if shutil.which("rsvg-convert") is None:
        print("rsvg-convert is not installed: pictures are not rendered")
        return
    svg_of(binary, scratch, "schedule", *FIVE)
    png = scratch / "picture.png"
    done = subprocess.run(["rsvg-convert", scratch / "picture.svg", "-o", png], capture_output=True, text=True)
    expect(done.returncode == 0 and done.stderr == "", f"rsvg-convert: {done.stderr}")
    expect(png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n", "rsvg-convert made no PNG")


def on_terminal(binary, words, columns, **variables):
    """Standard output of a command on a terminal, and standard error, which is another one."""
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **variables}
    environment.pop("NO_COLOR", None) if "NO_COLOR" not in variables else None
    outer, inner = pty.openpty()
    errors, error_side = pty.openpty()
    process = subprocess.Popen([binary, *map(str, words)], cwd=ROOT, stdout=inner, stderr=error_side, env=environment)
    os.close(inner)
    os.close(error_side)
    read = {outer: b"", errors: b""}
    waiting = [outer, errors]
    while waiting:
        for one in select.select(waiting, [], [])[0]:
            try:
                some = os.read(one, 65536)
            except OSError:  # the other side is closed
                some = b""
            if not some:
                waiting.remove(one)
            read[one] += some
    process.wait()
    os.close(outer)
    os.close(errors)
    return read[outer].decode().replace("\r\n", "\n"), read[errors].decode()


def has_terminals():
    """Not every container has /dev/pts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        print(f"what is printed on a terminal is not tested here: {error}")
        return False
    return True


def plain(text):
    return re.sub(r"\033\[[0-9;]*m", "", text)


def rows(text):
    """The rows of the Gantt chart: nothing but letters and dots behind a name."""
    return [line for line in plain(text).splitlines() if re.fullmatch(r"  \S.*? [A-Za-z.·]{20,}", line)]


def check_terminal(binary, scratch):
    words = ["run", RUN, "--out", scratch / "out"]
    for columns in (60, 100, 180):
        shown, _ = on_terminal(binary, words, columns)
        lines = rows(shown)
        expect(len(lines) >= 2, f"{columns} columns: {len(lines)} rows")
        expect(all(len(line) == columns for line in lines), f"{columns} columns: rows of {set(map(len, lines))}")
    expect("\033[" in shown, "no colour on a terminal")
    expect("·" in shown, "no UTF-8 where the locale has it")
    shown, _ = on_terminal(binary, words, 100, NO_COLOR="1", LC_ALL="C")
    expect("\033" not in shown, "NO_COLOR is coloured")
    expect(all("·" not in row for row in rows(shown)), "UTF-8 in the C locale")
    shown, _ = on_terminal(binary, [*words, "--quiet"], 100)
    expect(rows(shown) == [] and "next:" not in shown and "wrote" not in shown, "--quiet prints more than the result")
    shown, _ = on_terminal(binary, ["schedule", "1f1b", *COSTS], 140)
    expect("\033[" in shown, "schedules have no colour on a terminal")
    piped = run(binary, *words)
    expect(rows(piped.stdout) == [], "a timeline although nobody looks")
    asked = run(binary, *words, "--gantt", env={**os.environ, "COLUMNS": "50"})
    expect(len(rows(asked.stdout)) >= 2 and "\033" not in asked.stdout, "--gantt into a pipe")
    expect(all(len(row) == 100 for row in rows(asked.stdout)), "a pipe is not 100 columns wide")
    expect(asked.stderr == "" and piped.stderr == "", "something on standard error")


# A replay of some seconds.
LONG = ["collective", "all-gather", "--topology", "ring:1664", "--bandwidth", "100GB/s", "--bytes", "1GiB", "--full"]


def check_progress(binary):
    _, errors = on_terminal(binary, LONG, 100)
    found = re.search(r"([\d,]+) operations replayed of ([\d,]+), [\d.,]+/s, (\d+ s|\d+ min|[\d.]+ h) left", errors)
    expect(found is not None, f"no progress: {errors!r}")
    if found:
        done, total = (int(number.replace(",", "")) for number in found.group(1, 2))
        expect(0 < done < total, f"progress is out of order: {found[0]}")
        expect(errors.endswith("\r\033[K"), "the line stays")
    expect(on_terminal(binary, [*LONG, "--quiet"], 100)[1] == "", "--quiet says how far it is")
    expect(run(binary, *LONG).stderr == "", "progress although nobody looks")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=ROOT / "build" / "shardsim", type=pathlib.Path)
    binary = parser.parse_args().binary.resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        check_schedules(binary, scratch)
        check_large(binary, scratch)
        check_run(binary, scratch)
        check_hostile(binary, scratch)
        check_refused(binary, scratch)
        check_rendered(binary, scratch)
        if has_terminals():
            check_terminal(binary, scratch)
            check_progress(binary)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
