#!/usr/bin/env python3
"""Pages as files: what run, schedule --html and compare write. usage: page_test.py [--binary build/shardsim]

Hostile names stay text, the same command gives the same bytes, links lead to files that are there, what
was written is read back, and what is no output is refused with its place. (tests/browser/ opens them.)
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AHEAD = ["run", "configs/runs/fsdp-prefetch-4-layers.yaml"]
LATE = [*AHEAD, "--set", "overlap.fsdp_prefetch=0"]
SCHEDULES = ["--stages", "4", "--microbatches", "8", "--forward", "1ms", "--backward", "2ms", "--cost-per", "stage"]
HOSTILE = "<script>alert(1)</script><!--\"'&\u2028]]>"
OPENS = '<script type="application/json" id="data">'

binary = str(ROOT / "build" / "shardsim")
wrong = []


def expect(condition, message):
    if not condition:
        wrong.append(message)


def shardsim(*arguments, status=0):
    done = subprocess.run([binary, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != status:
        wrong.append(f"{shlex.join(map(str, arguments))}: exit status {done.returncode}, not {status}\n{done.stderr}")
    return done


def data_of(page):
    text = page.read_text()
    at = text.index(OPENS) + len(OPENS)
    return json.loads(text[at:text.index("</script>", at)])


def check_outputs(folder):
    ahead = folder / "ahead"
    shardsim(*AHEAD, "--out", ahead)
    names = sorted(p.name for p in ahead.iterdir())
    expect(names == ["index.html", "summary.json", "timeline.html", "trace.json"], f"files: {names}")
    before = {p.name: p.read_bytes() for p in ahead.iterdir()}
    shardsim(*AHEAD, "--out", ahead)
    expect(before == {p.name: p.read_bytes() for p in ahead.iterdir()}, "other bytes the second time")
    links = re.findall(r'href="([^"#:]+)"', (ahead / "index.html").read_text())
    expect(sorted(links) == ["summary.json", "timeline.html", "trace.json"], f"links of the index: {links}")
    page, summary = data_of(ahead / "timeline.html"), json.loads((ahead / "summary.json").read_text())
    run = page["runs"][0]
    expect({**summary, "collectives": summary["collectives"][:50]} == run["summary"],
           "the page's summary is not summary.json's")
    expect(run["step_s"] == summary["step_time_s"], "the page's step is another")
    expect(run["slices"]["count"] > 10 and run["bubbles"]["count"] > 0, "the page shows nothing")
    command = shlex.split(page["command"])
    expect(command == ["shardsim", *AHEAD, "--out", "out"], f"command: {command}")
    elsewhere = folder / "elsewhere"
    shardsim(*command[1:-1], elsewhere)
    expect(before == {p.name: p.read_bytes() for p in elsewhere.iterdir()}, "other bytes in another place")


def check_hostile(folder):
    """In names, in shell words, and as text on every page."""
    out = folder / "it's \"<b>\" & co"
    shardsim(*AHEAD, "--set", f"name={json.dumps(HOSTILE)}", "--out", out)
    harmless = folder / "harmless"
    shardsim(*AHEAD, "--set", "name=harmless", "--out", harmless)
    for name in ("timeline.html", "index.html"):
        text, plain = (out / name).read_text(), (harmless / name).read_text()
        for tag in ("<script", "</script", "<!--", "<b>"):
            expect(text.count(tag) == plain.count(tag), f"{name}: {tag} {text.count(tag)} times")
        expect("alert(1)" in text, f"{name} has lost the name")
    run = data_of(out / "timeline.html")["runs"][0]
    expect(run["name"] == HOSTILE, f"name: {run['name']!r}")
    expect(shlex.split(run["command"])[4] == f"name={json.dumps(HOSTILE)}", f"command: {run['command']}")
    expect(json.loads((out / "summary.json").read_text())["name"] == HOSTILE, "summary.json: another name")
    page = folder / "hostile.html"
    shardsim("compare", out, harmless, "--out", page)
    expect(page.read_text().count("<!--") == 0, "compare: a comment")
    expect([r["name"] for r in data_of(page)["runs"]] == [HOSTILE, "harmless"], "compare: other names")


def check_schedules(folder):
    one, six, seven = folder / "one.html", folder / "six.html", folder / "seven.html"
    kinds = ["gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zbv", "dualpipe"]
    shardsim("schedule", "1f1b", *SCHEDULES, "--html", one)
    expect(data_of(one)["page"] == "timeline", "one schedule is no timeline")
    shardsim("schedule", "1f1b", "--format", "json", *SCHEDULES, "--svg", folder / "one.svg", "--html", one)
    command = shlex.split(data_of(one)["command"])
    expect(not {"--format", "json"} & set(command), f"a command with what is for the terminal: {command}")
    expect(command[-4:] == ["--svg", "picture.svg", "--html", "page.html"], f"command: {command}")
    shardsim("schedule", *kinds, *SCHEDULES, "--html", six)
    page = data_of(six)
    expect(page["page"] == "compare" and [r["name"] for r in page["runs"]] == kinds, "six schedules side by side")
    for run in page["runs"]:
        expect(run["cells"]["count"] > 0 and run["kind"] == "schedule", f"{run['name']} has no cells")
        expect(run["step_s"] == run["summary"]["makespan_s"], f"{run['name']}: another makespan")
    done = shardsim("schedule", *kinds, "chimera", *SCHEDULES, "--html", seven, status=2)
    expect("at most 6 schedules on a page, found 7" in done.stderr, done.stderr)
    expect(not seven.exists(), "a page in spite of an error")


def check_compare(folder):
    ahead, late = folder / "ahead", folder / "late"
    shardsim(*LATE, "--out", late)
    done = shardsim("compare", ahead, late)
    expect(max(map(len, done.stdout.split("\n"))) <= 100, "compare: a line of more than 100 columns")
    for line in done.stdout.split("\n"):
        expect("e+" not in line and "-0.0 points" not in line, f"compare: {line}")
    page = folder / "both.html"
    result = json.loads(shardsim("compare", ahead, late, folder / "one.html", "--format", "json", "--out", page).stdout)
    steps = [json.loads((p / "summary.json").read_text())["step_time_s"] for p in (ahead, late)]
    step = next(f for f in result["figures"] if f["key"] == "step_time_s")
    expect(step["values"][:2] == steps, f"steps: {step}")
    expect(abs(step["differences"][1] - (steps[1] / steps[0] - 1)) < 1e-12, f"differences: {step}")
    expect(step["differences"][1] != 0, "no difference to see")
    expect(len({r["name"] for r in result["runs"]}) == 3, f"names that are alike: {result['runs']}")
    again = data_of(page)
    expect(again["page"] == "compare", "not a page that compares")
    for run, source in zip(again["runs"], (ahead / "timeline.html", late / "timeline.html", folder / "one.html")):
        first = data_of(source)["runs"][0]
        expect({**first, "name": run["name"]} == run, f"{source.name} has changed on its way")


def check_refusals(folder):
    ahead, page = folder / "ahead", folder / "one.html"
    text = (ahead / "timeline.html").read_text()
    at = text.index(OPENS) + len(OPENS)
    made = {
        "cut.html": (text[:at + 2000], ["cut.html: ", "found the end of the file: it is cut off"]),
        "other.html": (text.replace("shardsim-page-1", "shardsim-page-9"),
                       ['found "shardsim-page-9"', "run it again"]),
        "json.html": (text[:at] + "{]" + text[at:], ["json.html:", 'expected JSON, found "]"', "^"]),
        "deep.html": (text[:at] + "[" * 100000 + text[at:], ["at most 64 levels, found more"]),
        "empty.html": ("", ["found no data in it"]),
        "index.html": (text.replace('"tracks":[{', '"tracks":[],"x":[{', 1), ["runs[0].slices.track below 0"]),
        "rows.html": (re.sub(r'"slices":{"count":\d+', '"slices":{"count":3', text), ["expected 3 rows of"]),
    }
    for name, (content, words) in made.items():
        (folder / name).write_text(content)
        done = shardsim("compare", ahead, folder / name, status=2)
        for word in words:
            expect(word in done.stderr, f"{name}: {word} is not in\n{done.stderr}")
        expect("Traceback" not in done.stderr and len(done.stderr) < 2000, f"{name}: {done.stderr[:2000]}")
    (folder / "empty").mkdir()
    for arguments, words in (
            ([ahead], ["expected 2 to 6 runs, found 1"]),
            ([ahead] * 7, ["expected 2 to 6 runs, found 7"]),
            ([ahead, folder / "empty"], ["no timeline.html", "--out"]),
            ([ahead, folder / "nowhere"], ["nowhere", "found none"]),
            ([folder / "empty", folder / "nowhere"], ["no timeline.html", "nowhere"]),
            ([ahead, page, "--format", "jsn"], ['"json"'])):
        done = shardsim("compare", *arguments, status=2)
        for word in words:
            expect(word in done.stderr, f"compare {arguments}: {word} is not in\n{done.stderr}")


def main():
    global binary
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=binary)
    binary = str(pathlib.Path(parser.parse_args().binary).resolve())
    with tempfile.TemporaryDirectory() as name:
        for check in (check_outputs, check_hostile, check_schedules, check_compare, check_refusals):
            check(pathlib.Path(name))
    print("\n".join(wrong) if wrong else "pages as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
