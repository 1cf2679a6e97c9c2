#!/usr/bin/env python3
"""Sweeps from outside: what is planned, stored, resumed, merged, dropped and refused.

    tests/sweep/sweep_test.py --binary build/shardsim [NAME…]     all tests, or those named
"""
import contextlib
import csv
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import running

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
binary = None

BASE = """\
base:
  cluster: {chip: h100-sxm, topology: {kind: switch, axes: {n: 8}, link: {bandwidth: 450 GB/s, latency: 1 us}}}
  model: llama3-8b
  layers: 4
  batch: {global: 32, micro: 1, length: 2048}
"""
AXES = """\
axes:
  parallel.tp: 1..8 step x2
  parallel.pp: [1, 2, 4]
  parallel.dp: 1..8 step x2
  batch.micro: [1, 2, 4]
  recompute: [none, full]
where: tp * pp * dp == 8
"""
SEARCH = "search: {objective: step_time, constraints: fits_memory, top: 3}\n"


def sweep(*words, limit=None, check=0, cwd=ROOT):
    done = subprocess.run([binary, "sweep", *map(str, words)], cwd=cwd, capture_output=True, text=True,
                          timeout=300, preexec_fn=limit)
    if check is not None:
        assert done.returncode == check, (done.returncode, done.stdout, done.stderr)
    return done


def file_in(folder, text, name="s.yaml"):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    return path


def rows(db):
    """Every row as exported: what two ways of doing a sweep must agree on, to the letter."""
    return sweep("export", db, "--csv").stdout


def table(db):
    return list(csv.DictReader(rows(db).splitlines()))


def yamls(db):
    with sqlite3.connect(db) as connection:
        return dict(connection.execute("SELECT point, run_yaml FROM points"))


def test_plan(folder):
    """Counted by hand: 96 x 3 / 2 candidates; of 48 (tp, pp, dp), 9 have the product 8."""
    plan = json.loads(sweep(file_in(folder, BASE + AXES), "--plan", "--format", "json").stdout)
    assert plan["candidates"] == 4 * 3 * 4 * 3 * 2, plan
    layouts = [(tp, pp, dp) for tp in (1, 2, 4, 8) for pp in (1, 2, 4) for dp in (1, 2, 4, 8)
               if tp * pp * dp == 8]
    assert plan["points"] == len(layouts) * 6, plan
    assert plan["left_out"] == [{"rule": "tp * pp * dp == 8",
                                 "candidates": plan["candidates"] - plan["points"]}], plan
    assert plan["looked_at"] == plan["points"], plan
    assert plan["replays"] == plan["points"] and plan["estimate_s"] > 0 and not plan["screened"], plan


def test_plan_of_a_search(folder):
    """Screened points cannot all meet the constraints; of the others those with the lowest floors are replayed."""
    text = BASE.replace("layers: 4", "layers: 32") + AXES + SEARCH.replace("fits_memory", "[memory_floor_bytes < 30 GB]")
    path = file_in(folder, text)
    plan = json.loads(sweep(path, "--plan", "--format", "json").stdout)
    sweep(path, "--db", pathlib.Path(folder) / "a.db", "--jobs", 2)
    got = table(pathlib.Path(folder) / "a.db")
    unfit = sum(r["status"] == "infeasible" for r in got)
    assert 0 < unfit < len(got) and plan["screened"] == len(got) and plan["unfit"] == unfit, (plan, unfit)
    assert 3 <= plan["replays"] < len(got) - unfit, (plan, unfit)
    printed = sweep(path, "--plan").stdout
    assert f"of {len(got)} points screened, {unfit} cannot meet the constraints\n" in printed, printed


def test_columns_have_units(folder):
    text = BASE + ("axes:\n  parallel.tp: [8]\n"
                   "  cluster.topology.link.bandwidth: 100 GB/s..400 GB/s step x2\n")
    db = pathlib.Path(folder) / "a.db"
    sweep(file_in(folder, text), "--db", db, "--jobs", 1)
    got = table(db)
    assert [float(r["axis_bandwidth_bytes_per_s"]) for r in got] == [100e9, 200e9, 400e9], got
    steps = [float(r["step_time_s"]) for r in got]
    assert steps == sorted(steps, reverse=True) and len(set(steps)) == 3, steps


def test_point_reruns_alone(folder):
    """The run of a row gives the row's figures, to the last digit."""
    db = pathlib.Path(folder) / "a.db"
    sweep(file_in(folder, BASE + AXES), "--db", db, "--jobs", 2)
    done = [r for r in table(db) if r["status"] == "ok"]
    assert len(done) > 20, len(done)
    keys = {"step_time_s": "step_time_s", "compute_s": "compute_s", "exposed_comm_s": "exposed_comm_s",
            "bubble_s": "bubble_s", "mfu": "mfu", "peak_memory_bytes": "peak_memory_bytes",
            "tokens_per_s": "tokens_per_s"}
    for row in done[::5]:
        run = sweep("export", db, "--point", row["point"]).stdout
        path = file_in(folder, run, "run.yaml")
        alone = json.loads(subprocess.run([binary, "run", path, "--format", "json", "--out", folder], cwd="/",
                                          capture_output=True, text=True, check=True).stdout)
        for column, key in keys.items():
            assert float(row[column]) == alone[key], (row["point"], column, row[column], alone[key])
        assert run == yamls(db)[int(row["point"])]


def check_search(folder, text, search, top, score):
    """Screened and exhaustive agree on the best; what is dropped by proof is indeed worse. Returns how
    many points there are and how many were dropped."""
    everything, searched = pathlib.Path(folder) / "e.db", pathlib.Path(folder) / "s.db"
    sweep(file_in(folder, text + search.replace("}", ", screen: false}")), "--db", everything, "--jobs", 2)
    sweep(file_in(folder, text + search), "--db", searched, "--jobs", 2)
    full = {r["point"]: r for r in table(everything)}
    some = {r["point"]: r for r in table(searched)}
    assert full.keys() == some.keys()
    order = sorted((r for r in full.values() if r["status"] == "ok"), key=score)
    dropped = [p for p, r in some.items() if r["status"] == "dropped by proof"]
    assert dropped, "nothing was dropped: the test tests nothing"
    for best in order[:top]:
        got = some[best["point"]]
        assert got["status"] == "ok" and got["step_time_s"] == best["step_time_s"], (got, best)
    last = score(order[top - 1])
    for point in dropped:
        assert full[point]["status"] != "ok" or score(full[point]) > last, full[point]
    for point, row in some.items():
        if row["bound_s"] and full[point]["step_time_s"]:
            # Two engines: 1e-9 relative, as they round differently.
            assert float(row["bound_s"]) <= float(full[point]["step_time_s"]) * (1 + 1e-9), (row, full[point])
        if row["memory_floor_bytes"] and full[point]["peak_memory_bytes"]:
            assert float(row["memory_floor_bytes"]) <= float(full[point]["peak_memory_bytes"]) * (1 + 1e-12)
    return len(full), len(dropped)


def test_search_never_drops_the_optimum(folder):
    check_search(folder, BASE + AXES, SEARCH, 3, lambda r: float(r["step_time_s"]))


def test_two_thousand_points(folder):
    """The same at length: 2,025 points of 9 layouts, whose best are not the shortest."""
    text = BASE.replace("global: 32", "global: 8") + AXES.replace("[none, full]", "[none, selective, full]").replace(
        "where:", "  batch.length: 256..6400 step 256\nwhere:") + "grain: fluid\n"
    search = "search: {objective: tokens_per_s_per_chip, constraints: fits_memory, top: 10}\n"
    points, dropped = check_search(folder, text, search, 10, lambda r: -float(r["tokens_per_s_per_chip"]))
    assert points == 2025 and dropped > 500, (points, dropped)


def test_same_rows_whoever_works(folder):
    """Jobs, shards, their order, and 20 random kills change nothing."""
    path = file_in(folder, BASE + AXES + SEARCH)
    one = pathlib.Path(folder) / "one.db"
    sweep(path, "--db", one, "--jobs", 1)
    wanted = rows(one)
    many = pathlib.Path(folder) / "many.db"
    sweep(path, "--db", many, "--jobs", 4)
    assert rows(many) == wanted
    for count in (2, 3, 5):
        shards = [pathlib.Path(folder) / f"shard{i}of{count}.db" for i in range(count)]
        for i, db in enumerate(shards):
            sweep(path, "--db", db, "--jobs", 2, "--shard", f"{i}/{count}")
        into = pathlib.Path(folder) / f"merged{count}.db"
        subprocess.run([binary, "merge", into, *shards], capture_output=True, check=True)
        assert rows(into) == wanted, count
    shards = [pathlib.Path(folder) / f"shard{i}of3.db" for i in range(3)]
    merged = pathlib.Path(folder) / "merged.db"
    # Joined bit by bit, which is not the whole sweep at first, and again.
    for given, status in (([shards[2]], 3), ([shards[0], shards[1]], 0), (shards, 0)):
        done = subprocess.run([binary, "merge", merged, *given], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
    assert rows(merged) == wanted
    killed = pathlib.Path(folder) / "killed.db"
    rng = random.Random(1)
    kills = 0
    while kills < 20:
        resume = ["--resume"] if killed.exists() else []
        process = subprocess.Popen([binary, "sweep", path, "--db", killed, "--jobs", "2", "--quiet", *resume],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(timeout=rng.uniform(0.02, 0.25))
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
        error = process.communicate()[1].decode()
        assert process.returncode in (0, -signal.SIGKILL), (process.returncode, error)
        if process.returncode == 0:  # it was faster: once more from the beginning
            assert rows(killed) == wanted
            for file in pathlib.Path(folder).glob("killed.db*"):
                file.unlink()
    sweep(path, "--db", killed, "--jobs", 2, *(["--resume"] if killed.exists() else []))
    assert rows(killed) == wanted


def test_keep_knows_all_shards(folder):
    """The share that is kept is one of all points, whoever replays them, also after a stop."""
    path = file_in(folder, BASE + AXES + SEARCH.replace("top: 3", "top: 20, keep: 15 %"))
    one = pathlib.Path(folder) / "one.db"
    sweep(path, "--db", one, "--jobs", 1)
    wanted = rows(one)
    statuses = [r["status"] for r in csv.DictReader(wanted.splitlines())]
    assert statuses.count("dropped by choice") > 5 and statuses.count("ok") > 2, statuses
    for count in (2, 5):
        shards = [pathlib.Path(folder) / f"shard{i}of{count}.db" for i in range(count)]
        for i, db in enumerate(shards):
            words = [path, "--db", db, "--jobs", 2, "--shard", f"{i}/{count}"]
            sweep(*words)
            with contextlib.closing(sqlite3.connect(db)) as connection, connection:
                connection.execute("DELETE FROM points WHERE point IN (SELECT point FROM points ORDER BY random() LIMIT 3)")
            sweep(*words, "--resume")
            assert stored(db) == len(range(i, len(statuses), count)), "a shard stores its own points"
        into = pathlib.Path(folder) / f"merged{count}.db"
        subprocess.run([binary, "merge", into, *shards], capture_output=True, check=True)
        assert rows(into) == wanted, count


def test_shards_as_documented(folder):
    """The command of the Kubernetes job, once for every index, some of them twice; the README's line of GNU
    parallel; then merge."""
    folder = pathlib.Path(folder)
    path = file_in(folder, BASE + AXES + SEARCH, "sweep.yaml")
    sweep(path, "--db", folder / "one.db", "--jobs", 2)
    wanted = rows(folder / "one.db")
    (folder / "bin").mkdir()
    (folder / "bin/shardsim").symlink_to(binary)
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def merge(command):
        done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert rows(folder / "sweep.db") == wanted, command
        for db in [*folder.glob("shard-*.db"), folder / "sweep.db"]:
            db.unlink()

    job = (ROOT / "configs/sweeps/kubernetes-job.yml").read_text()
    completions = int(re.search(r"completions: (\d+)", job)[1])
    command = re.search(r"command: \[(.*)\]", job)[1].split(", ")
    block = re.search(r"args:\n +- \|\n((?: {14}.*\n)+)", job)[1]
    script = "".join(line[14:] + "\n" for line in block.splitlines()).replace("/data", str(folder))
    for index in [*range(completions), 1, completions - 1]:
        done = subprocess.run([*command, script], env={**env, "JOB_COMPLETION_INDEX": str(index)},
                              capture_output=True, text=True)
        assert done.returncode == 0, (index, done.stderr)
    merge(re.search(r"Job is complete: +(.*)", job)[1].replace("/data", str(folder)))

    readme = (ROOT / "README.md").read_text()
    lines = {name: re.search(rf"^    ({name} .*?)(?:  +#.*)?$", readme, re.M)[1] for name in
             ("seq 0 7 \\|", "parallel shardsim", "shardsim merge sweep.db")}
    tools = {"seq 0 7 \\|": "xargs", "parallel shardsim": "parallel"}
    for name, tool in tools.items():
        if shutil.which(tool) is None:
            print(f"skipped: there is no {tool} here")
            continue
        done = subprocess.run(["sh", "-c", lines[name].replace("FILE", str(path))], cwd=folder, env=env,
                              capture_output=True, text=True)
        assert done.returncode == 0, (name, done.stderr)
        merge(lines["shardsim merge sweep.db"])


def test_nothing_that_can_run(folder):
    path = file_in(folder, BASE + "axes: {parallel.tp: [3, 5]}\n")
    done = sweep(path, "--db", folder / "a.db", "--quiet", check=2)
    assert "2 invalid" in done.stdout and "none of the 2 points can be run" in done.stderr, done
    done = sweep(path, "--db", folder, check=2)
    assert "found a directory" in done.stderr and "--resume" not in done.stderr, done.stderr


def test_levels_of_base_in_formulas(folder):
    text = "base: levels-2x8-h100\naxes: {batch.global: [16, 32]}\nwhere: cluster.topology.levels.ib.bandwidth / %s == global\n"
    for unit, points in (("3.125 GB/s", 1), ("1 GB/s", 0)):
        done = sweep(file_in(folder, text % unit), "--plan", "--format", "json", check=0 if points else 2)
        assert not points or json.loads(done.stdout)["points"] == points, done
        assert points or "all 2 candidates are left out" in done.stderr, done.stderr


def test_why_is_told_by_the_objective(folder):
    """Two points whose order by the objective is not that of their steps."""
    units = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6}
    for number, objective in enumerate(("tokens_per_s_per_chip", "cost_per_token, prices: {h100-sxm: 2.5}")):
        db = folder / f"{number}.db"
        text = BASE + "axes: {batch.global: [8, 32], parallel.dp: [8]}\nsearch: {objective: %s}\n" % objective
        done = sweep(file_in(folder, text), "--db", db, "--quiet")
        winner, second = sorted(table(db), key=lambda r: -float(r["tokens_per_s_per_chip"]))
        assert float(winner["step_time_s"]) > float(second["step_time_s"])
        chip_s = [8 * float(r["step_time_s"]) / float(r["tokens"]) for r in (second, winner)]
        why = re.search(r"why: point (\d+) (takes|costs) (\S+) ([pnu]s of a chip per token|per million tokens) less than "
                        r"point (\d+): ", done.stdout)
        assert why and [why[1], why[5]] == [winner["point"], second["point"]], done.stdout
        found = float(why[3]) * (units[why[4][:2]] if why[2] == "takes" else 1)
        expected = (chip_s[0] - chip_s[1]) * (1 if why[2] == "takes" else 2.5 / 3600 * 1e6)
        assert abs(found - expected) <= 1e-3 * expected, (found, expected)


def test_a_constraint_without_a_value(folder):
    """Told at its place with a point; the rows say it, the others are as they would be, whoever works."""
    folder = pathlib.Path(folder)
    constraints = "[fits_memory, step_time_s / (tp - 2) < 100, memory_floor_bytes / (dp - 8) < 1 PB]"
    path = file_in(folder, BASE + AXES + SEARCH.replace("fits_memory", constraints))
    done = sweep(path, "--db", folder / "one.db", "--jobs", 1, check=2)
    text = path.read_text().splitlines()
    for bad in ("/ (tp - 2)", "/ (dp - 8)"):
        at = text[-1].index(bad) + 1
        assert f"s.yaml:{len(text)}:{at}: division by zero" in done.stderr, done.stderr
    assert "of point" in done.stderr and "tp = 2" in done.stderr, done.stderr
    assert " failed" in done.stdout and "division by zero" in done.stdout, done.stdout
    got = table(folder / "one.db")
    failed = [r for r in got if r["status"] == "failed"]
    assert failed and all("division by zero" in r["reason"] for r in failed), failed
    assert all(r["axis_tp"] == "2" or r["axis_dp"] == "8" for r in failed)
    assert all(r["status"] != "ok" or r["axis_tp"] not in ("2",) for r in got)
    assert any(r["status"] == "ok" for r in got)
    sweep(path, "--db", folder / "many.db", "--jobs", 4, check=2)
    sweep(path, "--db", folder / "many.db", "--jobs", 4, "--resume", check=2)
    assert rows(folder / "many.db") == rows(folder / "one.db")
    shards = [folder / f"{i}.db" for i in range(3)]
    for i, db in enumerate(shards):
        sweep(path, "--db", db, "--jobs", 2, "--shard", f"{i}/3", check=None)
    done = subprocess.run([binary, "merge", folder / "m.db", *shards], capture_output=True, text=True)
    assert done.returncode == 3 and " failed (reasons above)" in done.stderr, (done.returncode, done.stderr)
    assert rows(folder / "m.db") == rows(folder / "one.db")


def test_memory_that_is_lacking_is_told(folder):
    """In the row and in the summary: what is needed, of what."""
    folder = pathlib.Path(folder)
    text = BASE.replace("llama3-8b", "llama3-70b").replace("layers: 4", "layers: 80")
    path = file_in(folder, text + "axes: {parallel.tp: [8], batch.length: [2048, 4096], recompute: [none, full]}\n" + SEARCH)
    printed = sweep(path, "--db", folder / "a.db", "--jobs", 2).stdout
    got = table(folder / "a.db")
    assert [r["status"] for r in got] == ["infeasible"] * 4, got
    gib = 1024**3
    for row in got:
        need = float(row["peak_memory_bytes"] or row["memory_floor_bytes"])
        least = "" if row["peak_memory_bytes"] else "at least "
        assert float(row["memory_limit_bytes"]) == 80e9 and need > 80e9, row
        assert row["reason"] == f"fits_memory: needs {least}{need / gib:.4g} GiB of 74.51 GiB", row
    least = min(float(r["peak_memory_bytes"] or r["memory_floor_bytes"]) for r in got)
    assert re.search(rf"4 infeasible  fits_memory: needs (at least )?{least / gib:.4g} GiB of 74.51 GiB", printed), printed


def test_a_narrow_terminal(folder):
    """The table of the best leaves out parts of the step until it fits, and says which."""
    folder = pathlib.Path(folder)
    path = file_in(folder, BASE + AXES + SEARCH)
    lines = {}
    for columns in (50, 200):
        try:
            mine, terminal = os.openpty()
        except OSError as error:
            print(f"skipped: there are no terminals here: {error}")
            return
        process = subprocess.Popen([binary, "sweep", path, "--db", folder / f"{columns}.db", "--quiet"], stdout=terminal,
                                   env={**os.environ, "COLUMNS": str(columns)})
        os.close(terminal)
        text = b""
        with contextlib.suppress(OSError), open(mine, "rb", buffering=0) as reading:  # it ends with an error
            while piece := reading.read(4096):
                text += piece
        assert process.wait() == 0
        lines[columns] = text.decode().replace("\r", "").split("best by ")[1].split("why:")[0].splitlines()[1:]
    assert all(len(line) <= 50 for line in lines[50] if "wider" not in line), lines[50]
    heads = [set(lines[columns][0].split()) for columns in (200, 50)]
    missing = heads[0] - heads[1]
    assert {"compute", "bubble"} <= missing and {"step", "memory"} <= heads[1], heads
    told = next(line for line in lines[50] if "wider terminal" in line)
    assert set(re.findall(r"compute|bubble|exposed|mfu", told)) == missing, (told, missing)
    assert not any("wider terminal" in line for line in lines[200]) and len(lines[200]) == 5, lines[200]


def test_conflicts_are_told(folder):
    db, other = pathlib.Path(folder) / "a.db", pathlib.Path(folder) / "b.db"
    path = file_in(folder, BASE + "axes: {parallel.tp: [8], recompute: [none, full]}\n")
    for one in (db, other):
        sweep(path, "--db", one, "--jobs", 1)
    with sqlite3.connect(other) as connection:
        connection.execute("UPDATE points SET step_time_s = step_time_s * 1.01 WHERE point = 1")
    into = pathlib.Path(folder) / "m.db"
    done = subprocess.run([binary, "merge", into, db, other], capture_output=True, text=True)
    assert done.returncode == 3 and "1 point with different results" in done.stderr, done
    assert "point 1:" in done.stderr and not into.exists()


def test_a_missing_shard_is_told(folder):
    """The rows there are are merged; the exit status says that it is not the sweep."""
    path = file_in(folder, BASE + "axes: {parallel.tp: [2, 4, 8], recompute: [none, full]}\n")
    shards = [pathlib.Path(folder) / f"{i}.db" for i in range(2)]
    for i, db in enumerate(shards):
        sweep(path, "--db", db, "--jobs", 1, "--shard", f"{i}/2")
    into = pathlib.Path(folder) / "m.db"
    done = subprocess.run([binary, "merge", into, shards[0]], capture_output=True, text=True)
    assert done.returncode == 3 and "of its 6 points 3 are not done" in done.stderr, done
    done = subprocess.run([binary, "merge", into, shards[1]], capture_output=True, text=True)
    assert done.returncode == 0 and len(table(into)) == 6, done


def heavy(folder, extra=""):
    text = BASE.replace("layers: 4", "layers: 32").replace("global: 32", "global: 256")
    return file_in(folder, text + "axes: {parallel.tp: [4], parallel.dp: [2], batch.length: 1024..40960 step 1024}\n" + extra)


def children(pid):
    try:
        return [int(c) for c in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def wait_for(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain for " + what)


def stored(db):
    try:
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM points").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_a_crash_is_a_row(folder):
    db = pathlib.Path(folder) / "a.db"
    process = subprocess.Popen([binary, "sweep", heavy(folder), "--db", db, "--jobs", "2", "--quiet"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: stored(db) > 0, "a row")
    os.kill(children(process.pid)[0], signal.SIGKILL)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 3 and b"1 point failed" in error, (process.returncode, error)
    got = table(db)
    failed = [r for r in got if r["status"] == "failed"]
    assert len(got) == 40 and len(failed) == 1, (len(got), failed)
    assert failed[0]["reason"] == "killed by signal 9 (Killed)", failed
    sweep(heavy(folder), "--db", db, "--resume", "--jobs", 2)  # failed points are tried again
    assert [r["status"] for r in table(db)] == ["ok"] * 40


def test_a_time_out_is_a_row(folder):
    db = pathlib.Path(folder) / "a.db"
    text = heavy(folder).read_text().replace("1024..40960 step 1024", "[1024]")
    done = sweep(file_in(folder, text + "timeout: 1 ms\n"), "--db", db, "--jobs", 1, check=3)
    assert "1 point failed (reasons above); --resume tries again" in done.stderr, done.stderr
    got = table(db)
    assert [(r["status"], r["reason"]) for r in got] == [("failed", "no answer in 1 ms")], got


def test_interrupt(folder):
    db = pathlib.Path(folder) / "a.db"
    process = subprocess.Popen([binary, "sweep", heavy(folder), "--db", db, "--jobs", "2"], start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: stored(db) > 0, "a row")
    workers = children(process.pid)
    assert len(workers) == 2
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130, (process.returncode, error)
    assert b"go on with --resume" in error, error
    assert not any(pathlib.Path(f"/proc/{w}").exists() for w in workers)
    with sqlite3.connect(db) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert 0 < stored(db) < 40
    assert all(r["status"] == "ok" for r in table(db)), "an interrupted point has not failed"


def test_full_disk(folder):
    db = pathlib.Path(folder) / "a.db"

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = sweep(file_in(folder, BASE + AXES), "--db", db, "--jobs", 1, limit=limit, check=1)
    assert "what is stored is whole" in done.stderr, done.stderr
    before = stored(db)
    assert before > 0
    sweep(file_in(folder, BASE + AXES), "--db", db, "--jobs", 2, "--resume")
    fresh = pathlib.Path(folder) / "b.db"
    sweep(file_in(folder, BASE + AXES), "--db", fresh, "--jobs", 2)
    assert rows(db) == rows(fresh)


@contextlib.contextmanager
def disk_of(folder, size):
    """A disk of its own of this size; None where we may not mount one."""
    at = pathlib.Path(folder) / "disk"
    at.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "shardsim-test", at], capture_output=True)
    if done.returncode != 0:
        yield None
        return
    try:
        yield at
    finally:
        on_disk("umount", at)


def on_disk(*words):
    """Workers that were killed may have it open for a moment."""
    wait_for(lambda: subprocess.run(words, capture_output=True).returncode == 0, " ".join(map(str, words)))


def remount(at, options):
    on_disk("mount", "-o", f"remount,{options}", at)


def test_a_disk_fills_up(folder):
    """Told as what it is; with more room the sweep goes on; a disk that may not be written is told, too."""
    path = file_in(folder, BASE + AXES + SEARCH)
    fresh = pathlib.Path(folder) / "fresh.db"
    sweep(path, "--db", fresh, "--jobs", 2)
    with disk_of(folder, "192k") as disk:
        if disk is None:
            print("skipped: mounting needs more rights")
            return
        (disk / "rest").write_bytes(bytes(188 << 10))
        error = sweep(path, "--db", disk / "none.db", check=1).stderr
        assert "none.db: cannot be made: the disk is full" in error, error
        (disk / "rest").unlink()
        assert not [*disk.iterdir()], "nothing is left of a database that could not be made"
        db = disk / "a.db"
        error = sweep(path, "--db", db, "--jobs", 2, check=1).stderr
        assert "the disk is full; what is stored is whole" in error, error
        with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert connection.execute("SELECT count(*) FROM points").fetchone()[0] > 0, "too small a disk"
        remount(disk, "size=8m")
        sweep(path, "--db", db, "--jobs", 2, "--resume")
        assert rows(db) == rows(fresh)
        shutil.copy(db, disk / "copy.db")  # without files beside it that readers could share
        remount(disk, "ro")
        for one in (db, disk / "copy.db"):
            assert rows(one) == rows(fresh), "reading needs no right to write"
        for words in (["--db", db, "--resume"], ["--db", disk / "b.db"]):
            error = sweep(path, *words, check=1).stderr
            assert "Read-only file system" in error, error


def test_databases_that_are_refused(folder):
    folder = pathlib.Path(folder)
    path = file_in(folder, BASE + "axes: {parallel.tp: [8]}\n")
    db = folder / "a.db"
    sweep(path, "--db", db, "--jobs", 1)

    def refused(status, text, *words):
        done = sweep(*words, check=status)
        assert text in done.stderr, done.stderr

    refused(2, "expected no file of this name", path, "--db", db)
    (folder / "text.db").write_text("no database " * 1000)
    refused(2, "no SQLite database", path, "--db", folder / "text.db", "--resume")
    sqlite3.connect(folder / "other.db").execute("CREATE TABLE t(a)")
    refused(2, "another SQLite database", path, "--db", folder / "other.db", "--resume")
    refused(2, "no such file", path, "--db", folder / "none.db", "--resume")
    (folder / "empty.db").touch()
    for words in ([path, "--db", folder / "empty.db", "--resume"], ["export", folder / "empty.db", "--csv"]):
        refused(2, "found an empty file", *words)
    (folder / "folder.db").mkdir()
    refused(2, "found a directory", path, "--db", folder / "folder.db", "--resume")
    for cut, text in ((-1, "torn.db: cut off"), (-4096, "torn.db: database disk image is malformed")):
        (folder / "torn.db").write_bytes(db.read_bytes()[:cut])
        refused(1, text, "export", folder / "torn.db", "--csv")
        refused(1, text, path, "--db", folder / "torn.db", "--resume")
    for into, text in ((folder / "folder.db", "found a directory"), (folder / "empty.db", "found an empty file"),
                       (folder / "text.db", "no SQLite database"), (folder / "none/m.db", "No such file or directory")):
        done = subprocess.run([binary, "merge", into, db], capture_output=True, text=True)
        assert done.returncode in (1, 2) and text in done.stderr, done
    changed = file_in(folder, BASE + "axes: {parallel.tp: [8], recompute: [full]}\n", "t.yaml")
    refused(2, "found one of another", changed, "--db", db, "--resume")
    shutil.copy(db, folder / "old.db")
    with contextlib.closing(sqlite3.connect(folder / "old.db")) as connection, connection:
        connection.execute("UPDATE sweep SET value = '1' WHERE key = 'format'")
    refused(2, 'expected a database of format 2, found "1"', "export", folder / "old.db", "--csv")
    holder = sqlite3.connect(db, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    refused(1, "a.db: locked by another process: wait until the sweep that writes it has ended", path, "--db", db,
            "--resume")
    holder.execute("ROLLBACK")
    refused(2, "expected a shard from 0/4 to 3/4, found 4/4", path, "--shard", "4/4")
    refused(2, "expected a shard such as 0/8", path, "--shard", "2")
    refused(2, "expected one of --csv, --json and --point", "export", db)
    refused(2, "--csv lists the points", "export", db, "--point", "17")
    if os.geteuid() != 0:  # root writes everywhere
        db.chmod(0o444)
        refused(1, "read-only", path, "--db", db, "--resume")


def test_exports(folder):
    db = pathlib.Path(folder) / "a.db"
    sweep(file_in(folder, BASE + AXES + SEARCH), "--db", db, "--jobs", 2)
    from_json = json.loads(sweep("export", db, "--json").stdout)
    from_csv = table(db)
    assert len(from_json) == len(from_csv) == stored(db)
    for a, b in zip(from_json, from_csv):
        assert list(a) == list(b)
        for key, value in a.items():
            assert ("" if value is None else value) == (type(value)(b[key]) if value is not None else b[key]), key


def test_runs_of_points_without_a_replay(folder):
    """A run says what became of its point, and still is a run; a number without a row says why."""
    folder = pathlib.Path(folder)
    axes = BASE.replace("layers: 4", "layers: 32") + AXES
    search = "search: {objective: step_time, constraints: memory_floor_bytes < 30 GB, top: TOP, keep: 15 %}\n"
    said = {"ok": None, "invalid": "is invalid (", "infeasible": "is infeasible (memory_floor_bytes < 30 GB",
            "dropped by proof": "was not replayed, a bound of it is above what the best take: shardsim run",
            "dropped by choice": "was not replayed, it is not among the share of keep: shardsim run"}
    seen = set()
    for top in (2, 20):
        path = file_in(folder, axes + search.replace("TOP", str(top)), f"{top}.yaml")
        db = folder / f"{top}.db"
        sweep(path, "--db", db, "--jobs", 1)
        for status, point in {row["status"]: row["point"] for row in table(db)}.items():
            seen.add(status)
            run = sweep("export", db, "--point", point).stdout
            start = f"# point {point} {said[status]}" if said[status] else "cluster:"
            assert run.startswith(start) and run.endswith(yamls(db)[int(point)]), run
            if status != "invalid":
                subprocess.run([binary, "check", file_in(folder, run, "run.yaml")], check=True, capture_output=True)
    assert {"ok", "infeasible", "dropped by proof", "dropped by choice"} <= seen, seen
    points = {row["point"] for row in table(db)}
    left_out = next(i for i in range(288) if str(i) not in points)
    message = sweep("export", db, "--point", left_out, check=2).stderr
    assert "what where, derive or sample leaves out is no point" in message, message
    shard = folder / "shard.db"
    sweep(path, "--db", shard, "--shard", "0/2", "--jobs", 1)
    other = (points - {row["point"] for row in table(shard)}).pop()
    assert "this is shard 0/2" in sweep("export", shard, "--point", other, check=2).stderr


def test_overrides_or_none(folder):
    """An empty list of overrides is the network as it is."""
    topology = "{kind: torus, axes: {x: 4, y: 2}, link: {bandwidth: 100 GB/s}}"
    base = re.sub(r"\{kind: switch.*\}\}", topology + "}", BASE)
    text = base + ("axes: {parallel.tp: [8], cluster.topology.overrides: [[], [{link: x+, at: {x: 3}, "
                   "bandwidth: 10 GB/s}]]}\n")
    steps = []
    for name, its in (("a", text), ("b", base + "axes: {parallel.tp: [8]}\n")):
        db = pathlib.Path(folder) / f"{name}.db"
        sweep(file_in(folder, its), "--db", db, "--jobs", 1)
        steps.append([float(r["step_time_s"]) for r in table(db)])
    (without, slow), (plain,) = steps
    assert without == plain < slow, steps


def test_a_broken_sbatch(folder):
    """Slurm that fails names the way without it."""
    folder = pathlib.Path(folder)
    path = file_in(folder, BASE + "axes: {parallel.tp: [8]}\n")
    broken = folder / "bin"
    broken.mkdir()

    def told(script):
        (broken / "sbatch").write_text(script)
        (broken / "sbatch").chmod(0o755)
        done = subprocess.run([binary, "sweep", path, "--slurm", "--shards", "1", "--out", folder / "out"],
                              capture_output=True, text=True, env={**os.environ, "PATH": f"{broken}:{os.environ['PATH']}"})
        assert done.returncode == 1 and not done.stdout, done
        assert "without Slurm, --shard i/n does every n-th point" in done.stderr, done.stderr
        return done.stderr

    no_contact = told("#!/bin/sh\necho sbatch: error: no contact >&2\nexit 1\n")
    assert "sbatch: error: no contact\nsbatch ended with status 1: nothing is submitted" in no_contact, no_contact
    assert "ended with status 137" in told("#!/bin/sh\nkill -9 $$\n")
    assert "cannot run sbatch" in told("")
    assert "told no number of a job" in told("#!/bin/sh\necho Job 7 to start at noon\n")


def test_hostile_names(folder):
    """Texts come out of the CSV as they went in, and a table on the terminal keeps its lines."""
    names = ["=1+2", "+a,b", '-"q"', "@two\nlines", "<script>alert(1)</script>", " blanks ", "cr\r", "\x1b[31m"]
    db = pathlib.Path(folder) / "a.db"
    text = f"name: {json.dumps(names[2])}\n{BASE}axes: {{name: {json.dumps(names)}, parallel.tp: [8]}}\n"
    printed = sweep(file_in(folder, text), "--db", db, "--jobs", 1).stdout
    assert "\x1b" not in printed and "@two\\x0Alines" in printed, printed
    exported = subprocess.run([binary, "sweep", "export", db, "--csv"], capture_output=True, check=True).stdout
    read = list(csv.DictReader(io.StringIO(exported.decode(), newline=""), strict=True))
    assert [row["axis_name"] for row in read] == names, read


def test_sample_is_drawn_by_its_seed(folder):
    text = BASE + AXES + "sample: {points: 7, seed: 3}\n"
    drawn = []
    for seed in (3, 3, 4):
        db = pathlib.Path(folder) / f"{len(drawn)}.db"
        sweep(file_in(folder, text.replace("seed: 3", f"seed: {seed}")), "--db", db, "--jobs", 2)
        drawn.append([r["point"] for r in table(db)])
    assert len(drawn[0]) == 7 and drawn[0] == drawn[1] != drawn[2], drawn


def test_plans_of_many_candidates(folder):
    """Counts are printed thousands apart; more points than memory is meant to hold are refused on the way."""
    axes = BASE + "axes: {parallel.tp: [8], batch.length: 1..1000}\nvariables: {a: 1..LAST}\n"
    few = file_in(folder, axes.replace("LAST", "1000") + "where: a * length <= 1200\n")
    printed = sweep(few, "--plan").stdout
    points = sum(1200 // a if a > 1 else 1000 for a in range(1, 1001))
    assert printed.startswith(f"s: {points:,} points of 1,000,000 candidates\n"
                              f"  left out {1_000_000 - points:>13,}  a * length"), printed
    with open(pathlib.Path(folder) / "err", "w+") as err:
        many = file_in(folder, axes.replace("LAST", "100000") + "where: a > 0\n")
        process = subprocess.Popen([binary, "sweep", many, "--plan"], stderr=err, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        err.seek(0)
        assert os.waitstatus_to_exitcode(status) == 2 and "expected at most 50,000,000 points" in err.read()
    assert usage.ru_maxrss <= 800 * 1024, usage  # KiB
    at_once = sweep(file_in(folder, axes.replace("LAST", "100000")), "--plan", check=2).stderr
    assert "expected at most 50,000,000 points, found 100,000,000" in at_once, at_once


def test_a_million_points_are_planned(folder):
    """In at most 500 MiB."""
    text = BASE + ("axes: {parallel.tp: [8], batch.length: 1..1000}\nvariables: {a: 1..1000}\n"
                   "where: a * length > 0\n")

    with open(pathlib.Path(folder) / "out.json", "w") as out:
        process = subprocess.Popen([binary, "sweep", file_in(folder, text), "--plan", "--format", "json"], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    assert json.loads((pathlib.Path(folder) / "out.json").read_text())["points"] == 1_000_000
    assert usage.ru_maxrss <= 500 * 1024, usage  # KiB


def main():
    global binary
    binary, names = running.arguments()
    return 1 if running.run_tests(globals(), names) else 0


if __name__ == "__main__":
    sys.exit(main())
