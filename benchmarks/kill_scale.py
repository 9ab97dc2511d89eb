"""Whether a build survives SIGKILL at random moments: of the command itself, and of its workers.

    python benchmarks/kill_scale.py --rows 1000000 --executor local[2] dask --trials 5 --kills 3 --seed 0

An undisturbed build gives the bytes to reach, and how long one takes. A trial starts the same build with an
executor, kills it or one of its workers at a moment drawn from that time, starts it again at once with the
same folders, up to --kills times, and then lets it run. Whenever it is killed, no file that has its name has
other bytes; when it ends, all are there, and nothing else. "none" is the command without an executor, in
memory; "dask" is a cluster of two workers on this machine, whose workers are killed, never its scheduler.
The script fails at the first difference and names the seed of the trial. Linux only.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bench_scale import World
from distributed import Client
from measuring import CHECKOUT, ChildError, absolute, header, markdown_table, seconds
from process_tree import descendants_of

Digests = dict[str, str]
PERIOD = 0.05  # seconds between two looks for what is not there yet
PATIENCE = 20.0  # times the undisturbed run, after which one that goes on hangs
WORKERS_SHARE = 0.2  # of a run, about as long as a pool's workers live


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is built, and how it ends when nobody disturbs it."""

    command: list[str | Path]
    digests: Digests
    wall: float


def digests_of(out: Path) -> Digests:
    """Return the SHA-256 of every file with a name of its own that the byte promise covers."""
    files = (path for path in sorted(out.glob("[!.]*")) if path.name != "run.json")
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def start(command: list[str | Path], log: Path) -> subprocess.Popen[bytes]:
    """Start a command on the checkout's package; what it says is added to a file."""
    variables = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    with log.open("ab") as file:
        return subprocess.Popen(absolute(command), stdout=file, stderr=file, env=variables, cwd=CHECKOUT)


def undisturbed(table: Path, options: list[str], folder: Path) -> Job:
    """Return the job, from builds that nobody disturbs: the second, as the first may compile kernels."""
    command = [sys.executable, "-m", "shortcut_miner", "vqa-ce", "build", "--table", table]
    command += ["--split-column", "split", "--quiet", *options]
    log = folder / "undisturbed.log"
    for out in (folder / "first", folder / "second"):
        started = time.perf_counter()
        code = start([*command, "--out", out], log).wait()
        if code != 0:
            raise ChildError(f"undisturbed build: exit code {code}: {log.read_text()[-2_000:]}")
        wall = time.perf_counter() - started
    return Job(command=command, digests=digests_of(out), wall=wall)


def workers_of(driver: int, pool: list[int]) -> list[int]:
    """Return the processes that do the driver's work: its own children's, or those of a pool's nannies."""
    parents = pool or [driver]
    return [one for parent in parents for one in descendants_of(parent) if is_worker(one)]


def is_worker(process: int) -> bool:
    """Return whether a process is none of Python's own watchers, which outlive nothing and hold no work."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return b"resource_tracker" not in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def end_of(driver: subprocess.Popen[bytes], job: Job) -> int:
    """Return the exit code of a run that is left alone; raise SystemExit if it does not end."""
    try:
        return driver.wait(PATIENCE * job.wall)
    except subprocess.TimeoutExpired:
        driver.kill()
        raise SystemExit(f"still running after {seconds(PATIENCE * job.wall)}") from None


def disturb(
    draw: random.Random, job: Job, driver: subprocess.Popen[bytes], pool: list[int]
) -> tuple[str, int | None]:
    """Kill the driver or a worker at a random moment; return what was killed and the driver's exit code.

    Processes of a pool live for a part of the run only: their moment is drawn from when the first is there.
    """
    wants_worker = draw.random() < 0.5
    if wants_worker and not pool:
        while driver.poll() is None and not workers_of(driver.pid, pool):
            time.sleep(PERIOD)
    try:
        return "nothing", driver.wait(draw.uniform(0, job.wall * (WORKERS_SHARE if wants_worker else 1)))
    except subprocess.TimeoutExpired:
        workers = workers_of(driver.pid, pool)
    if wants_worker and workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(draw.choice(workers), signal.SIGKILL)
        return "a worker", end_of(driver, job)
    driver.kill()
    return "the driver", driver.wait()


def trial(seed: int, job: Job, options: list[str], pool: list[int], kills: int, folder: Path) -> Counter[str]:
    """Build with disturbances until the output is there; return how often what was killed."""
    draw, happened = random.Random(seed), Counter[str]()
    out, work, log = folder / "out", folder / "work", folder / "trial.log"
    command = [*job.command, *options, *(["--work", work] * bool(options)), "--out", out]
    for left in range(kills, -1, -1):
        driver = start(command, log)
        killed, code = disturb(draw, job, driver, pool) if left else ("nothing", end_of(driver, job))
        happened[killed] += 1
        there = digests_of(out)
        different = [name for name, digest in there.items() if job.digests.get(name) != digest]
        if different:
            raise SystemExit(f"trial {seed}, {killed} was killed: other bytes in {', '.join(different)}")
        if code == 0:
            check_complete(seed, job, there, out)
            return happened
        if killed == "nothing":
            break
    raise SystemExit(f"trial {seed}: exit code {code} of a run left alone: {log.read_text()[-2_000:]}")


def check_complete(seed: int, job: Job, there: Digests, out: Path) -> None:
    """Raise SystemExit unless every file is there, and nothing that a killed run left."""
    missing, left = sorted(job.digests.keys() - there), sorted(path.name for path in out.glob(".*"))
    if missing or left:
        raise SystemExit(f"trial {seed}: exit code 0 without {missing}, with {left}")


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Yield the address of a Dask cluster of two workers, and the process that keeps these."""
    where, log = folder / "scheduler.json", folder / "dask.log"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = start([*command, "--no-dashboard", "--scheduler-file", where], log)
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", where]
    options = ["--nworkers", "2", "--nthreads", "1", "--no-dashboard", "--local-directory", folder / "dask"]
    workers = start([*command, *options], log)
    try:
        while not where.exists():
            if scheduler.poll() is not None:
                raise ChildError(f"no Dask scheduler: {log.read_text()[-2_000:]}")
            time.sleep(PERIOD)
        address = json.loads(where.read_text())["address"]
        # A worker that is killed while it starts takes the process that would start it again with it.
        with Client(address) as client:
            client.wait_for_workers(2, timeout=120)
        yield address.replace("tcp://", "dask://"), [workers.pid]
    finally:
        workers.terminate()
        workers.wait()
        scheduler.terminate()
        scheduler.wait()


@contextlib.contextmanager
def executor_of(name: str, folder: Path) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the options that choose an executor, and the processes that keep its workers, if others do."""
    if name == "dask":
        with cluster(folder) as (address, keepers):
            yield ["--executor", address], keepers
    else:
        yield ["--executor", name] if name != "none" else [], []


def main() -> None:
    """Run all trials; print what was killed how often."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=Path, default=Path(tempfile.gettempdir()) / "shortcut-miner-worlds")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--min-support", default="2e-5")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--shards", default="8")
    parser.add_argument("--executor", nargs="+", default=["local[2]", "dask"])
    parser.add_argument("--trials", type=int, default=3, help="for each executor; default: 3")
    parser.add_argument("--kills", type=int, default=3, help="at most in a trial; default: 3")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(header(("polars", "pyarrow", "numba", "distributed")), flush=True)
    table = World(rows=arguments.rows, labels=9, names=8).table(arguments.worlds)
    streamed = ["--memory", arguments.memory, "--shards", arguments.shards]
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.worlds) as scratch:
        job = undisturbed(table, ["--min-support", arguments.min_support], Path(scratch))
        print(f"- Undisturbed, in memory: {seconds(job.wall)}, {len(job.digests)} files", flush=True)
        for name in arguments.executor:
            with executor_of(name, Path(scratch)) as (options, pool):
                total = Counter[str]()
                for seed in range(arguments.seed, arguments.seed + arguments.trials):
                    folder = Path(scratch) / f"trial_{name}_{seed}"
                    folder.mkdir()
                    how = [*streamed, *options] if options else []
                    happened = trial(seed, job, how, pool, arguments.kills, folder)
                    print(f"- {name}, seed {seed}: {dict(happened)}", flush=True)
                    total += happened
                    shutil.rmtree(folder)
            killed = [str(total[what]) for what in ("the driver", "a worker", "nothing")]
            rows.append(
                [f"`{name}`", str(arguments.trials), *killed, f"{arguments.trials} of {arguments.trials}"]
            )
    columns = ["executor", "trials", "driver killed", "a worker killed", "left alone", "same bytes"]
    print("", markdown_table(columns, rows), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except ChildError as error:
        raise SystemExit(str(error)) from error
