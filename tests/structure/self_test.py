#!/usr/bin/env python3
"""Feeds structure.py small trees, each with one fault, and expects exactly that complaint."""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import structure  # noqa: E402  (after the switch above, so that no __pycache__ appears in the tree)

# A tree without a fault; each case below changes one file of it (None deletes it).
GOOD = {
    "CMakeLists.txt": """
add_library(shardsim_lib STATIC  # sim/not/there.cpp in a comment counts for nothing
  sim/base/units.cpp
  sim/command/command_line.cpp
  sim/ir/order.cpp
  sim/spec/fields.cpp
)
add_executable(shardsim sim/main.cpp)
set(SHARDSIM_UNIT_TESTS tests/unit/units_test.cpp)
add_executable(shardsim_bench bench/door_bench.cpp)
""",
    "sim/base/units.h": "#include <string_view>\n",
    "sim/base/units.cpp": '#include "base/units.h"\n#include <fmt/format.h>\n',
    "sim/ir/order.h": '#include "base/units.h"\nstruct Later;\nstruct Order {};\n',
    "sim/ir/order.cpp": '#include "ir/order.h"\n#include <boost/graph/topological_sort.hpp>\n',
    "sim/spec/fields.h": "#include <string>\n",
    "sim/spec/fields.cpp": '#include "spec/fields.h"\n#include <yaml-cpp/yaml.h>\n',
    "sim/command/command_line.cpp": "#include <CLI/CLI.hpp>\n",
    "sim/main.cpp": '#include "ir/order.h"\n',
    "tests/unit/units_test.cpp": '#include <doctest/doctest.h>\n#include "base/units.h"\n',
    "bench/door_bench.cpp": '#include <benchmark/benchmark.h>\n#include "ir/order.h"\n',
}

# Check, file, its faulty content, the complaint.
BAD = [
    ("layers", "sim/base/units.cpp", '\n#include "ir/order.h"\n',
     "sim/base/units.cpp:2: including ir/order.h goes up"),
    ("layers", "sim/ir/order.cpp", '#  include "spec/fields.h"\n',
     "sim/ir/order.cpp:1: including spec/fields.h sees a sibling"),
    ("layers", "sim/main.cpp", '#include "order.h"\n',
     'sim/main.cpp:1: "order.h" is no file of sim/'),
    ("layers", "sim/extra/new.cpp", "", "sim/extra/new.cpp: its folder has no layer"),
    ("doors", "sim/main.cpp", "#include <yaml-cpp/yaml.h>\n",
     "sim/main.cpp:1: yaml-cpp/yaml.h belongs in spec/fields.cpp only"),
    ("doors", "sim/base/units.cpp", "#include <boost/graph/adjacency_list.hpp>\n",
     "sim/base/units.cpp:1: boost/graph/adjacency_list.hpp belongs in "
     "ir/order.cpp and plan/graph_paths.cpp and plan/graph_cut.cpp only"),
    ("doors", "sim/ir/order.cpp", "#include <simgrid/s4u.hpp>\n",
     "sim/ir/order.cpp:1: simgrid/s4u.hpp belongs in replay/simgrid.cpp only"),
    ("doors", "sim/main.cpp", '#include "nlohmann/json.hpp"\n',
     "sim/main.cpp:1: nlohmann/json.hpp belongs in report/json.cpp only"),
    ("doors", "sim/base/units.cpp", "#include <CLI/CLI.hpp>\n",
     "sim/base/units.cpp:1: CLI/CLI.hpp belongs in command/command_line.cpp only"),
    ("doors", "sim/main.cpp", "#include <sqlite3.h>\n",
     "sim/main.cpp:1: sqlite3.h belongs in sweep/store.cpp only"),
    ("doors", "sim/main.cpp", "#include <doctest/doctest.h>\n",
     "sim/main.cpp:1: doctest/doctest.h belongs in tests/unit only"),
    ("doors", "tests/unit/units_test.cpp", "#include <simgrid/s4u.hpp>\n",
     "tests/unit/units_test.cpp:1: simgrid/s4u.hpp belongs in replay/simgrid.cpp only"),
    ("doors", "sim/base/units.h", "#include <fmt/format.h>\n",
     "sim/base/units.h:1: a header includes std and our headers only, not fmt/format.h"),
    ("lists", "sim/base/extra.cpp", "", "CMakeLists.txt: sim/base/extra.cpp is there, but not listed"),
    ("lists", "tests/unit/extra_test.cpp", "",
     "CMakeLists.txt: tests/unit/extra_test.cpp is there, but not listed"),
    ("lists", "sim/ir/order.cpp", None, "CMakeLists.txt: sim/ir/order.cpp is listed, but not there"),
    ("lists", "CMakeLists.txt", GOOD["CMakeLists.txt"] + "set(more sim/main.cpp)\n",
     "CMakeLists.txt: sim/main.cpp is listed twice"),
    ("types", "sim/spec/fields.h", "#include <string>\nstruct Later;\nenum class Order : int { one };\n",
     "sim/spec/fields.h:3: Order is defined in sim/ir/order.h, too"),
]


def complaints(check, changes):
    """What a check says about the good tree with some files changed."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, content in {**GOOD, **changes}.items():
            if content is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
        return structure.CHECKS[check](root)


def main():
    cases = [(check, {}, []) for check in structure.CHECKS]
    cases += [(check, {name: content}, [expected]) for check, name, content, expected in BAD]
    failed = 0
    for check, changes, expected in cases:
        got = complaints(check, changes)
        if got != expected:
            failed += 1
            print(f"{check}, {list(changes)}:\n  expected {expected}\n  got      {got}")
    print(f"{len(cases)} trees, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
