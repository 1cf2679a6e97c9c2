#!/usr/bin/env python3
"""Writes a C++ source that defines what SimGrid takes from ns-3. usage: ns3_standins.py LIBSIMGRID OUT.cc

Debian links SimGrid with ns-3 for one network model, which shardsim never chooses; to load the eight
libraries and those that they bring costs five times what SimGrid costs. In a library made of this source
every function of ns-3 does nothing and every table is empty: enough for the global variables of
SimGrid, and for nothing else. Prints the names of the libraries to stand in for, with a semicolon
between (a list of CMake); none when SimGrid was linked without ns-3.
"""
import pathlib
import re
import subprocess
import sys

TABLES = ("_ZTV", "_ZTI", "_ZTT", "_ZTS")  # vtable, type_info, VTT, its name: data
TABLE_BYTES = 4096  # no vtable of ns-3 is as long


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    simgrid, out = sys.argv[1:]
    needed = (re.search(r"\(NEEDED\).*\[(libns3[^]]*)\]", line) for line in lines_of("readelf", "-d", simgrid))
    undefined = (line.split()[-1].split("@")[0] for line in lines_of("nm", "-D", "--undefined-only", simgrid))
    text = ['extern "C" {', "void* shardsim_ns3_nothing() { return nullptr; }",
            f"char shardsim_ns3_table[{TABLE_BYTES}];", "}"]
    for symbol in sorted(symbol for symbol in undefined if re.match(r"_Z\w*3ns3", symbol)):
        target = "table" if symbol.startswith(TABLES) else "nothing"
        text.append(f'asm(".globl {symbol}\\n.set {symbol}, shardsim_ns3_{target}");')
    pathlib.Path(out).write_text("\n".join(text) + "\n")
    print(";".join(match.group(1) for match in needed if match), end="")


if __name__ == "__main__":
    main()
