#!/usr/bin/env python3
"""The whole formula ledger is right: `validate --out` ends with status 0, every row as recorded.
usage: validate.py --binary build/shardsim"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    binary = pathlib.Path(parser.parse_args().binary).resolve()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([binary, "validate", "--rows", "tests/ledger/good.yaml", "--out", folder], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"exit {done.returncode}\n{done.stderr}{done.stdout[-4000:]}")
            return 1
        result = json.loads((pathlib.Path(folder) / "ledger.json").read_text())
    print(f"{len(result['rows'])} rows, {result['commands']} commands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
