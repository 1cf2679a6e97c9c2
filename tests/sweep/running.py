"""The tests of a file, each in a folder of its own, and what became of them."""
import argparse
import pathlib
import tempfile
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    return str(pathlib.Path(options.binary).resolve()), options.names


def run_tests(found, names, *given):
    """Calls test_NAME(*given, folder) for all names, or those named; returns how many failed."""
    failed = 0
    for name, test in found.items():
        if not name.startswith("test_") or (names and name[5:] not in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            began = time.time()
            try:
                test(*given, pathlib.Path(folder))
                print(f"{name[5:]}: passed, {time.time() - began:.1f} s", flush=True)
            except Exception as error:  # noqa: BLE001  (every failure is told, with what was seen)
                failed += 1
                print(f"{name[5:]}: FAILED: {type(error).__name__}: {error}", flush=True)
    return failed
