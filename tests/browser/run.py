#!/usr/bin/python3
"""Pages in headless Chromium. usage: run.py [--binary build/shardsim] [NAME …]

NAME: a test, a class or a module as unittest names them. Figures of speed are
printed. Needs chromium, chromium-driver and python3-selenium (Debian's, for Debian's Python).
"""
import argparse
import importlib.util
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

NEEDED = {"chromium": "chromium", "chromedriver": "chromium-driver"}  # command: Debian package

MODULES = ["palette_test", "pages_test", "navigation_test", "controls_test", "keyboard_test",
           "looks_test", "program_test", "sweep_test", "speed_test"]


def missing_packages():
    missing = [package for command, package in NEEDED.items() if shutil.which(command) is None]
    return missing + ([] if importlib.util.find_spec("selenium") else ["python3-selenium"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if missing_packages():
        sys.exit(f"run.py: missing packages: {' '.join(missing_packages())}")
    import browser  # needs selenium
    suite = unittest.defaultTestLoader.loadTestsFromNames(args.names or MODULES)
    unittest.TestCase.browser = browser.Browser()
    unittest.TestCase.binary = args.binary
    try:
        result = unittest.TextTestRunner(stream=sys.stdout).run(suite)
    finally:
        unittest.TestCase.browser.close()
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
