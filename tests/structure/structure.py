#!/usr/bin/env python3
"""Holds the folders to their rules. usage: structure.py layers|doors|lists|types [ROOT]

  layers  an include goes down or stays in its folder; folders of one layer never see each other
  doors   each heavy dependency is included in one or two files; headers include std and ours only
  lists   CMakeLists.txt names every source of sim/, tests/unit/ and bench/, once
  types   a name of a type is defined in one header: the linker takes one of two destructors for both

Prints what is wrong, one line each, and exits 1 if there is anything.
"""
import pathlib
import re
import sys

# Folder of sim/ to layer; main.cpp is above all.
LAYERS = {"base": 0, "spec": 1, "ir": 1, "plan": 2, "replay": 2, "report": 2, "ledger": 3, "sweep": 3,
          "command": 4}
MAIN = 5

# Start of an included path, and the only files of sim/ that may include it.
DOORS = {
    "yaml-cpp/": ["spec/fields.cpp"],
    "boost/": ["ir/order.cpp", "plan/graph_paths.cpp", "plan/graph_cut.cpp"],
    "simgrid/": ["replay/simgrid.cpp"],
    "xbt/": ["replay/simgrid.cpp"],
    "nlohmann/": ["report/json.cpp"],
    "CLI/": ["command/command_line.cpp"],
    "sqlite3": ["sweep/store.cpp"],
    "zlib.h": ["base/gzip.cpp"],
    "mimalloc.h": ["base/allocation.cpp"],
    "doctest/": [],
    "benchmark/": [],
}
# What tests and benchmarks are written with, and where.
HARNESSES = {"doctest/": "tests/unit", "benchmark/": "bench"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def sources(root, folder):
    return sorted(p for p in (root / folder).rglob("*") if p.suffix in (".h", ".cpp"))


def includes(path):
    """Every (line, quoted, included path) of a file."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        found = INCLUDE.match(line)
        if found:
            yield number, found[1] == '"', found[2]


def layer_of(relative):
    """Layer of a path below sim/; None for a folder nobody has placed."""
    return MAIN if relative == "main.cpp" else LAYERS.get(relative.split("/")[0])


def check_layers(root):
    wrong = []
    for path in sources(root, "sim"):
        mine = path.relative_to(root / "sim").as_posix()
        if layer_of(mine) is None:
            wrong.append(f"sim/{mine}: its folder has no layer")
            continue
        for number, quoted, target in includes(path):
            where = f"sim/{mine}:{number}"
            if not quoted:
                continue
            if not (root / "sim" / target).is_file():
                wrong.append(f"{where}: \"{target}\" is no file of sim/")
            elif layer_of(target) is None:
                wrong.append(f"{where}: the folder of {target} has no layer")
            elif target.split("/")[0] != mine.split("/")[0] and layer_of(target) >= layer_of(mine):
                way = "goes up" if layer_of(target) > layer_of(mine) else "sees a sibling"
                wrong.append(f"{where}: including {target} {way}")
    return wrong


def check_doors(root):
    wrong = []
    for folder in ("sim", "tests/unit", "bench"):
        for path in sources(root, folder):
            mine = path.relative_to(root / folder).as_posix()
            for number, quoted, target in includes(path):
                where = f"{folder}/{mine}:{number}"
                door = next((d for d in DOORS if target.startswith(d)), None)
                if door and HARNESSES.get(door) != folder:
                    if folder != "sim" or mine not in DOORS[door]:
                        allowed = " and ".join(DOORS[door]) or HARNESSES[door]
                        wrong.append(f"{where}: {target} belongs in {allowed} only")
                if folder == "sim" and path.suffix == ".h" and not quoted and not re.fullmatch(r"[a-z_]+", target):
                    wrong.append(f"{where}: a header includes std and our headers only, not {target}")
    return wrong


def listed_sources(text):
    """Every .cpp listed in CMakeLists.txt: comments and properties of single files left out."""
    text = re.sub(r"#.*|set_source_files_properties\([^)]*\)", "", text)
    return re.findall(r"[\w./-]+\.cpp", text)


def check_lists(root):
    listed = listed_sources((root / "CMakeLists.txt").read_text())
    present = [p.relative_to(root).as_posix() for folder in ("sim", "tests/unit", "bench")
               for p in sources(root, folder) if p.suffix == ".cpp"]
    wrong = [f"CMakeLists.txt: {name} is there, but not listed"
             for name in present if name not in listed]
    wrong += [f"CMakeLists.txt: {name} is listed, but not there"
              for name in sorted(set(listed)) if name not in present]
    wrong += [f"CMakeLists.txt: {name} is listed twice"
              for name in sorted(set(listed)) if listed.count(name) > 1]
    return wrong


TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)[^;]*\{")


def check_types(root):
    wrong, defined = [], {}
    for path in sources(root, "sim"):
        if path.suffix != ".h":
            continue
        mine = path.relative_to(root / "sim").as_posix()
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            found = TYPE.match(line)
            if found and defined.setdefault(found[1], mine) != mine:
                wrong.append(f"sim/{mine}:{number}: {found[1]} is defined in sim/{defined[found[1]]}, too")
    return wrong


CHECKS = {"layers": check_layers, "doors": check_doors, "lists": check_lists, "types": check_types}


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[0] not in CHECKS:
        print(__doc__)
        return 2
    here = pathlib.Path(__file__).resolve().parents[2]
    root = pathlib.Path(arguments[1]) if len(arguments) == 2 else here
    if not sources(root, "sim"):
        print(f"{root}: no sources in sim/")
        return 1
    wrong = CHECKS[arguments[0]](root)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
