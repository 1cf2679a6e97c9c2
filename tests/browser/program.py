"""Pages as the program writes them, each made once."""
import hashlib
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIPELINE = ["configs/runs/levels-2x8-h100.yaml", "--set", "mesh={P: ib, Y: nvlink}", "--set", "model=llama3-8b",
            "--set", "layers=4", "--set", "sharding={tp: Y, sp: true}",
            "--set", "batch={global: 8, micro: 1, length: 4096}", "--set", "schedule={kind: 1f1b, axis: P}",
            "--set", "recompute=selective", "--set", "ends=true"]


def call(test, *arguments):
    if test.binary is None:
        test.skipTest("needs --binary")
    binary = str(test.binary.resolve())
    done = subprocess.run([binary, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    test.assertEqual(done.returncode, 0, done.stderr)


def run(test, *arguments):
    """The output directory of a run."""
    folder = test.browser.folder / hashlib.sha256(repr(arguments).encode()).hexdigest()[:12]
    if not folder.exists():
        call(test, "run", *arguments, "--out", str(folder))
    return folder


def written(test, name, *arguments):
    """The page that a command writes to what follows its last argument."""
    path = test.browser.folder / name
    if not path.exists():
        call(test, *arguments, str(path))
    return path
