#!/usr/bin/env python3
"""sweep --slurm against a real Slurm of one node, started here and ended here.

    tests/sweep/slurm_test.py --binary build/shardsim [NAME…]     all tests, or those named

munged, slurmctld and slurmd run with keys, sockets, ports and state of their own. Without Slurm or root
(slurmd starts tasks as their users) the test is skipped: exit 77.
"""
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

import running

SWEEP = """\
name: small
base:
  cluster: {chip: h100-sxm, topology: {kind: switch, axes: {n: 8}, link: {bandwidth: 450 GB/s, latency: 1 us}}}
  model: llama3-8b
  layers: 4
  batch: {global: 32, micro: 1, length: 2048}
axes:
  parallel.tp: 1..8 step x2
  parallel.dp: 1..8 step x2
  batch.micro: [1, 2, 4]
where: tp * dp == 8
search: {objective: step_time, constraints: fits_memory, top: 3}
"""
binary = None


def free_ports(count):
    holders = [socket.socket() for _ in range(count)]
    for holder in holders:
        holder.bind(("127.0.0.1", 0))
    ports = [holder.getsockname()[1] for holder in holders]
    for holder in holders:
        holder.close()
    return ports


def wait_for(condition, what, seconds=120):
    for _ in range(seconds * 10):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain for " + what)


class Slurm:
    """One node that is this machine."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)  # munged refuses a folder that others may not enter
        self.started = []
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))

    def write_files(self):
        host = socket.gethostname().split(".")[0]
        control, node = free_ports(2)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        for name in ("spool", "state"):
            (self.folder / name).mkdir()
        at = self.folder
        (at / "slurm.conf").write_text(f"""\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={control}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
CredType=cred/munge
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
""")

    def start(self, *words):
        with open(self.folder / (pathlib.Path(words[0]).name + ".txt"), "w") as log:
            self.started.append(subprocess.Popen(words, env=self.environment, stdout=log, stderr=log))

    def __enter__(self):
        self.write_files()
        at = self.folder
        self.start("munged", "--foreground", "--force", f"--key-file={at}/munge.key", f"--socket={at}/munge.socket",
                   f"--pid-file={at}/munged.pid", f"--log-file={at}/munged.log", f"--seed-file={at}/munge.seed")
        try:
            wait_for((at / "munge.socket").exists, "munged", 20)
            self.start("slurmctld", "-D", "-f", str(at / "slurm.conf"))
            self.start("slurmd", "-D", "-f", str(at / "slurm.conf"))
            wait_for(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"), "an idle node", 60)
        except BaseException:
            for log in at.glob("*.txt"):
                print(f"{log.name}: {log.read_text()[-2000:]}", file=sys.stderr)
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.terminate()
        for process in reversed(self.started):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def ask(self, *words):
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=60).stdout

    def wait_until_empty(self):
        wait_for(lambda: not self.ask("squeue", "--noheader").strip(), "the end of the job")


def shardsim(*words, check=0, env=None):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == check, (done.returncode, done.stdout, done.stderr)
    return done


def submit(slurm, path, out, *words, check=0):
    return shardsim("sweep", path, "--slurm", "--shards", 5, "--out", out, *words, check=check,
                    env=slurm.environment)


def exported(db):
    return shardsim("sweep", "export", db, "--csv").stdout


def test_array_and_merge(slurm, folder):
    """What the shards come to, joined by the command that was printed, is what one sweep comes to."""
    path, out = folder / "s.yaml", folder / "a folder"
    path.write_text(SWEEP)
    told = submit(slurm, path, out, "--", "--comment=two words", "--time=5").stdout
    assert "--array=0-4" in told and "'--comment=two words' --time=5" in told, told
    job = told.split("\njob ")[1].split(",")[0]
    assert job.isdigit() and f"squeue --job {job}" in told, told
    slurm.wait_until_empty()
    logs = sorted(p.name for p in out.glob("*.log"))
    assert logs == [f"shard-{i}-of-5.log" for i in range(5)], (logs, list(out.iterdir()))
    merge = told.split("when it is done: ")[1].strip()
    subprocess.run(merge, shell=True, check=True, capture_output=True, cwd="/")
    shardsim("sweep", path, "--db", folder / "one.db", "--jobs", 2)
    assert exported(out / "sweep.db") == exported(folder / "one.db")
    again = submit(slurm, path, out).stdout
    assert "5 shards: 5 done\nnothing to submit\n" in again, again
    assert not slurm.ask("squeue", "--noheader").strip()


def test_second_submission_finishes(slurm, folder):
    """One database is gone, one is not finished, one has a failed point: these three, no other."""
    path, out = folder / "s.yaml", folder / "out"
    path.write_text(SWEEP)
    submit(slurm, path, out)
    slurm.wait_until_empty()
    shardsim("merge", folder / "first.db", *sorted(out.glob("*.db")))
    (out / "shard-0-of-5.db").unlink()
    with sqlite3.connect(out / "shard-2-of-5.db") as db:
        db.execute("DELETE FROM points WHERE point = (SELECT max(point) FROM points)")
        db.execute("UPDATE sweep SET value = '0' WHERE key = 'finished'")
    with sqlite3.connect(out / "shard-3-of-5.db") as db:
        db.execute("UPDATE points SET status = 'failed', reason = 'killed by signal 9', bound_s = NULL, "
                   "step_time_s = NULL WHERE point = (SELECT max(point) FROM points)")
    before = {i: (out / f"shard-{i}-of-5.db").read_bytes() for i in (1, 4)}
    told = json.loads(submit(slurm, path, out, "--format", "json").stdout)
    assert told["submitted"] == [0, 2, 3] and "--array=0,2-3" in told["command"], told
    slurm.wait_until_empty()
    assert before == {i: (out / f"shard-{i}-of-5.db").read_bytes() for i in (1, 4)}
    subprocess.run(told["merge"], shell=True, check=True, capture_output=True)
    assert exported(out / "sweep.db") == exported(folder / "first.db")


def test_killed_tasks_are_resumed(slurm, folder):
    """scancel in the middle; the second submission resumes what was begun."""
    path, out = folder / "s.yaml", folder / "out"
    path.write_text(SWEEP.replace("layers: 4", "layers: 32").replace("batch.micro: [1, 2, 4]",
                                                                      "batch.micro: [1]\n  batch.length: 1024..16384 step 1024"))
    job = json.loads(submit(slurm, path, out, "--format", "json").stdout)["job"]
    wait_for(lambda: any(out.glob("*.db")), "a database")
    running = json.loads(submit(slurm, path, out, "--format", "json", "--", "--hold").stdout)
    assert running["running"], running
    slurm.ask("scancel", running["job"])
    slurm.ask("scancel", "--signal=KILL", "--full", job)
    slurm.ask("scancel", job)
    slurm.wait_until_empty()
    told = json.loads(submit(slurm, path, out, "--format", "json").stdout)
    assert told["submitted"], "the job was done before it was cancelled: the test tests nothing"
    slurm.wait_until_empty()
    subprocess.run(told["merge"], shell=True, check=True, capture_output=True)
    shardsim("sweep", path, "--db", folder / "one.db", "--jobs", 2)
    assert exported(out / "sweep.db") == exported(folder / "one.db")


def test_refusals(slurm, folder):
    path, out = folder / "s.yaml", folder / "out"
    path.write_text(SWEEP)
    refused = submit(slurm, path, out, "--", "--partition=nowhere", check=1).stderr
    assert "nowhere" in refused or "partition" in refused, refused
    assert "nothing is submitted" in refused, refused
    bare = dict(os.environ, PATH=str(folder))
    absent = shardsim("sweep", path, "--slurm", "--out", out, check=1, env=bare).stderr
    assert "no sbatch on $PATH" in absent and "--shard i/n" in absent, absent
    for words, text in ((["--slurm", "--shard", "0/2"], "each task has its own"),
                        (["--slurm", "--resume"], "each task has its own"),
                        (["--slurm", "--plan"], "expected --plan or --slurm, found both"),
                        (["--slurm", "--shards", "0"], "expected"),
                        (["--slurm", "--shards", "13"], "expected"),
                        (["--shards", "3"], "expected --slurm with it"),
                        (["--out", out], "expected --slurm with it"),
                        (["--", "--time=5"], "expected --slurm with it")):
        error = shardsim("sweep", path, *words, check=2, env=slurm.environment).stderr
        assert text in error, (words, error)
    submit(slurm, path, out)
    slurm.wait_until_empty()
    path.write_text(SWEEP.replace("length: 2048", "length: 1024"))
    other = submit(slurm, path, out, check=2).stderr
    assert "found one of another" in other and "shard-0-of-5.db" in other, other


def main():
    global binary
    binary, names = running.arguments()
    if os.geteuid() != 0:
        print("skipped: slurmd needs root")
        return 77
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]
    if missing:
        print(f"skipped: Slurm is not installed here, no {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory(prefix="shardsim-slurm-") as place, Slurm(place) as slurm:
        return 1 if running.run_tests(globals(), names, slurm) else 0


if __name__ == "__main__":
    sys.exit(main())
