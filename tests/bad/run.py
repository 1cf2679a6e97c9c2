#!/usr/bin/env python3
"""Bad input: what `shardsim check FILE` prints on stderr, to the letter, and exit status 2.

    tests/bad/run.py --binary build/shardsim [NAME…]     compare (all cases, or those named)
    tests/bad/run.py --binary build/shardsim --accept NAME…   write NAME.expected from what it prints

A case is NAME.yaml beside NAME.expected; those of ledger/ (named ledger/NAME) are rows for `shardsim validate`, those of
sweep/ files for `shardsim sweep --plan`. Files that git should not hold (10 MB, binary, an alias bomb)
are made here, and run under limits of time and memory. Runs from the root of the source tree, since
messages name files relative to it.
"""
import argparse
import difflib
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent.relative_to(ROOT)
SECONDS = 10
MEMORY = 512 * 2**20  # bytes of address space; loading takes far less


limited_memory = True  # off for the address sanitizer, whose shadow is terabytes of address space


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if limited_memory:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def arguments(path):
    """A replay needs more address space than the limit: only reading rows is limited."""
    if "sweep" in path.parent.name:
        return ["sweep", str(path), "--plan"], True
    if "ledger" not in path.parent.name:
        return ["check", str(path)], True
    return ["validate", "--only", "BAD", "--rows", str(path)], path.stem != "values"


def check(binary, path, limits=True):
    words, limited = arguments(path)
    done = subprocess.run([binary, *words], cwd=ROOT, capture_output=True, timeout=6 * SECONDS,
                          preexec_fn=limit if limits and limited else None)
    return done.returncode, done.stderr.decode("utf-8", errors="replace"), done.stdout


def verdict(status, printed, out, expected):
    """What is wrong with one case, as text; empty: nothing."""
    wrong = ""
    if status != 2:
        wrong += f"  exit status {status}, expected 2\n"
    if out:
        wrong += f"  printed on stdout: {out[:200]!r}\n"
    if printed != expected:
        wrong += "".join(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True),
                                              "expected", "printed"))
    return wrong


def alias_bomb():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefghij", "bcdefghijk"):
        lines.append(f"{name}: &{name} [" + ", ".join([f"*{before}"] * 9) + "]")
    return ("\n".join(lines) + "\n").encode()


MAP = ("expected a map with name, cluster, mesh, model, layer, dims, layers, batch, precision, "
       "sharding, tensors, on_ambiguity, idle_axes, collectives, recompute, attention, notes, "
       "parallel, schedule, overlap, optimizer, dropout, memory_limit or ends")


def ledger_row(claim):
    return ("rows:\n  - id: BAD\n    statement: s\n    source: s\n"
            "    figures: {t: {command: list chips, take: \"count([*])\"}}\n    simulated: t\n"
            f"    verdict: holds\n    claim: {claim}\n").encode()


LEDGER = "expected a map with rows alone, found"


def made_ledgers():
    """The same for rows."""
    deep = "at most 64 parentheses and signs inside each other"
    return [
        ("empty.yaml", b"", f"FILE: {LEDGER} an empty file\n"),
        ("parentheses.yaml", ledger_row("(" * 9000 + "1"),
         f"FILE:8:76: expected {deep}\n  …" + "(" * 99 + "…\n" + " " * 53 + "^\n"),
        ("long.yaml", ledger_row("1" + " + 1" * 250000),
         "FILE:8:12: expected a formula of at most 10000 characters, found 1000001\n  "
         + "    claim: 1" + " + 1" * 22 + "…\n" + " " * 13 + "^\n"),
        ("names.yaml", ledger_row("t\n    where: {" + ", ".join(f"a{i}: 1" for i in range(40000)) + "}"),
         "FILE:9:5: where: expected at most 100 names, found 40000\n      where: {"
         + ", ".join(f"a{i}: 1" for i in range(14))[:88] + "…\n      ^~~~~\n"),
        ("points.yaml", ledger_row("t\n    points:\n" + "      - {}\n" * 40000),
         "FILE:10:7: points: expected at most 1000 in a row, found 40000\n        - {}\n        ^\n"),
        ("big.yaml", ledger_row("1" + " + 1" * 300000),
         "FILE: expected a file of at most 1 MiB, found one of 1.145 MiB\n"),
    ]


def made_cases():
    """(file name, content, expected text with FILE for the path)."""
    bomb = alias_bomb()
    fifth = bomb.decode().splitlines()[4]
    return [
        ("empty.yaml", b"", f"FILE: {MAP}, found an empty file\n"),
        ("comments.yaml", b"# nothing\n\n", f"FILE: {MAP}, found an empty file\n"),
        ("big.yaml", b"name: x\n" * (10 * 2**20 // 8),
         "FILE: expected a file of at most 1 MiB, found one of 10 MiB\n"),
        ("binary.yaml", b"name: \x00\x01\x02\n",
         "FILE:1:7: expected text in UTF-8, found byte 0x00\n"
         "  name: \\x00\\x01\\x02\n        ^~~~\n"),
        ("utf16.yaml", "name: x\n".encode("utf-16-le"),
         "FILE:1:2: expected text in UTF-8, found byte 0x00\n"
         "  n\\x00a\\x00m\\x00e\\x00:\\x00 \\x00x\\x00\n   ^~~~\n"),
        ("bomb.yaml", bomb, "FILE:5:4: expected at most 100000 values, counting each alias in full\n"
         f"  {fifth}\n     ^\n"),
        ("deep.yaml", b"[" * 2**20, "FILE:1:33: expected at most 64 lists and maps inside each "
         "other\n  " + "[" * 100 + "…\n" + " " * 34 + "^\n"),
        ("wide.yaml", b"[" + b"a, " * 2**18 + b"]",
         "FILE:1:300002: expected at most 100000 values, counting each alias in full\n"
         "  …" + ", a" * 33 + "…\n" + " " * 53 + "^\n"),
        ("cycle.yaml", b"name: &a [*a]\n",
         "FILE:1:11: this alias refers to a value it is part of\n"
         "  name: &a [*a]\n            ^\n"),
    ]


def compare_made(binary):
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "ledger").mkdir()
        cases = [(pathlib.Path(folder) / name, content, text)
                 for name, content, text in made_cases()]
        cases += [(pathlib.Path(folder) / "ledger" / name, content, text)
                  for name, content, text in made_ledgers()]
        for path, content, _ in cases:
            path.write_bytes(content)
        directory = pathlib.Path(folder) / "folder.yaml"
        directory.mkdir()
        cases.append((directory, None, "FILE: expected a file, found a directory\n"))
        cases.append((pathlib.Path(folder) / "empti.yaml", None,
                      f"FILE: no such file\n  did you mean {folder}/empty.yaml?\n"))
        for path, _, text in cases:
            status, printed, out = check(binary, path)
            wrong = verdict(status, printed, out, text.replace("FILE", str(path)))
            if wrong:
                failures += 1
                print(f"FAILED made case {path.name}\n{wrong}")
    return failures, len(cases)


def compare_kept(binary, names):
    failures = 0
    for name in names:
        expected = ROOT / HERE / f"{name}.expected"
        if not expected.exists():
            print(f"FAILED {name}: there is no {name}.expected")
            failures += 1
            continue
        status, printed, out = check(binary, HERE / f"{name}.yaml")
        wrong = verdict(status, printed, out, expected.read_text(encoding="utf-8"))
        if wrong:
            failures += 1
            print(f"FAILED {name}\n{wrong}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--no-memory-limit", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    global limited_memory
    limited_memory = not args.no_memory_limit
    binary = str(pathlib.Path(args.binary).resolve())
    if args.accept:
        if not args.names:
            parser.error("--accept needs the names of cases: read what is written")
        for name in args.names:
            status, printed, _ = check(binary, HERE / f"{name}.yaml")
            if status != 2:
                sys.exit(f"{name}: exit status {status}, nothing written")
            (ROOT / HERE / f"{name}.expected").write_text(printed, encoding="utf-8")
        return
    names = args.names or sorted(str(p.relative_to(ROOT / HERE).with_suffix(""))
                                 for folder in (ROOT / HERE, ROOT / HERE / "ledger", ROOT / HERE / "sweep")
                                 for p in folder.glob("*.yaml"))
    failures = compare_kept(binary, names)
    made = 0
    if not args.names:
        made_failures, made = compare_made(binary)
        failures += made_failures
    print(f"{len(names) + made} cases, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
