"""Shards on other people's engines, in real processes; killed workers and killed drivers lose nothing."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from plain import same_levels, skewed_rows
from strategies import encode

from shortcut_miner.errors import BackendError, ConfigError, SourceError
from shortcut_miner.mining import executors
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.executors import resolve_engine
from shortcut_miner.mining.miner import mine_antecedents
from shortcut_miner.mining.sharding import run
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.sharding.run import mine_in_shards

ROWS = encode(skewed_rows(600, 30, seed=1))
CONFIG = MiningConfig(min_count=3, max_rules=10**6)
PATIENCE = 120  # seconds until something is wrong, on a busy machine


@pytest.fixture(scope="module")
def single() -> Antecedents:
    return mine_antecedents(ROWS, CONFIG)


def is_single(found: Antecedents, single: Antecedents) -> bool:
    return same_levels(found, single) and (found.item_names == single.item_names).all()


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


# ---- names of engines ----


class TestNames:
    def test_of_this_machine(self) -> None:
        assert resolve_engine(None).is_here
        assert (resolve_engine("local[3]").workers, resolve_engine("local[3]").name) == (3, "local[3]")
        assert resolve_engine("local").workers >= 1

    def test_an_executor_stays_open(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(1) as pool:
            engine = resolve_engine(pool)
            with engine.open(tmp_path) as opened:
                assert opened is pool
            assert engine.name == "ThreadPoolExecutor"
            assert pool.submit(int).result() == 0

    @pytest.mark.parametrize(
        "name",
        ["local[0]", "local[x]", "dask://", "dask://a", "dask://:1", "spark", "slurm:mem", "localhost", 3],
    )
    def test_that_are_none(self, name: Any) -> None:
        with pytest.raises(
            ConfigError, match=r"^executor: got .*, expected .*local\[N\].*slurm|^executor: got"
        ):
            resolve_engine(name)

    @pytest.mark.parametrize(("name", "library"), [("dask://a:1", "distributed"), ("slurm", "submitit")])
    def test_without_their_library(self, name: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, library, None)
        extra = name.partition(":")[0]
        with pytest.raises(BackendError) as error:
            resolve_engine(name)
        assert str(error.value) == (
            f"executor {extra}: got no {library}, expected it to be installed. "
            f"Run pip install 'shortcut-miner[{extra}]', or choose another executor."
        )

    def test_workers_that_take_more_memory_than_there_may_be(self) -> None:
        assert resolve_engine("local[3]", 1_000_000_000).workers == 3
        with pytest.raises(ConfigError) as error:
            resolve_engine("local[4]", 1_000_000_000)
        assert str(error.value) == (
            "memory: got 1000000000, expected 1,250,000,000 bytes or more: each of 4 workers takes a quarter "
            "GB itself. Change --memory."
        )

    def test_parameters_of_slurm(self) -> None:
        assert executors._slurm_parameters("", "partition=gpu,mem_gb=16,timeout_min=60,qos=high") == {
            "slurm_partition": "gpu", "mem_gb": 16, "timeout_min": 60, "slurm_qos": "high"
        }  # fmt: skip

    @pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
    def test_an_address_where_no_scheduler_answers(
        self, answer: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(executors, "_CONNECT_SECONDS", 0.1)
        with socket.create_server(("127.0.0.1", 0)) as server:

            def speak() -> None:
                connection, _ = server.accept()
                with connection:
                    connection.sendall(answer)
                    while connection.recv(4096):
                        pass

            threading.Thread(target=speak, daemon=True).start()
            address = "{}:{}".format(*server.getsockname())
            with pytest.raises(BackendError, match=rf"^executor dask: got no answer from tcp://{address} \("):
                mine_in_shards(ROWS, CONFIG, Distribution(executor=f"dask://{address}"))


# ---- processes of this machine ----


def test_processes_of_this_machine(single: Antecedents) -> None:
    stages: list[str] = []
    found = mine_in_shards(ROWS, CONFIG, Distribution(executor="local[2]"), on_stage=stages.append)
    assert is_single(found, single)
    assert stages[-1] == "mine, 8 of 8 shards"


def test_an_interrupt_does_not_wait_for_shards(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        resolve_engine("local[1]").open(tmp_path) as pool,
    ):
        future = pool.submit(time.sleep, 60)
        wait_for(future.running)
        raise KeyboardInterrupt
    assert isinstance(future.exception(), BrokenProcessPool)


def test_a_future_of_submitit_takes_what_asking_for_its_job_raises() -> None:
    class Lost:
        def done(self) -> bool:
            raise OSError("no answer from squeue")

    future: Future[None] = Future()
    assert executors._settle(Lost(), future)
    assert isinstance(future.exception(), OSError)


def test_any_executor(single: Antecedents, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = mine_in_shards(ROWS, CONFIG, Distribution(executor=pool, shards=5, work=tmp_path))
    assert is_single(found, single)
    assert len(list(tmp_path.glob("found-*.npz"))) == 5


class Failing(Executor):
    """Fails as told, then runs what it is given."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = [*errors]

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.errors:
            future.set_exception(self.errors.pop())
        else:
            future.set_result(function(*args, **kwargs))
        return future


def test_what_breaks_is_opened_again(single: Antecedents) -> None:
    broken = Failing(*[BrokenProcessPool("a process died")] * executors.RETRIES)
    assert is_single(mine_in_shards(ROWS, CONFIG, Distribution(executor=broken, shards=4)), single)


def test_what_breaks_again_and_again_is_told() -> None:
    broken = Failing(*[BrokenProcessPool("a process died")] * (executors.RETRIES + 1))
    with pytest.raises(BackendError) as error:
        mine_in_shards(ROWS, CONFIG, Distribution(executor=broken, shards=1))
    assert str(error.value) == (
        "executor Failing: got a process died 4 times, expected workers that live to the end of a shard. "
        "Of 1 shards 1 are left, 0 next. Give the workers more memory, or cut more shards."
    )


def test_an_error_of_the_work_is_no_loss() -> None:
    with pytest.raises(SourceError, match="damaged"):
        mine_in_shards(ROWS, CONFIG, Distribution(executor=Failing(SourceError("damaged")), shards=2))


def test_workers_that_do_not_share_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "mine_shard", lambda job: None)
    with pytest.raises(
        SourceError, match=r"got nothing of shard 1, expected its worker's file\. Choose a work folder"
    ):
        mine_in_shards(ROWS, CONFIG, Distribution(shards=2))


def test_a_script_that_workers_start_again_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from shortcut_miner.mining.executors import resolve_engine as resolve\n"
        "with resolve('local[1]').open(None) as pool: pool.submit(int).result()\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert (
        "ConfigError: executor: got a script that each worker starts again, expected one that" in ran.stderr
    )


def test_an_engine_of_unknown_size_gets_many_shards(single: Antecedents) -> None:
    stages: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        found = mine_in_shards(ROWS, CONFIG, Distribution(executor=pool), on_stage=stages.append)
    assert is_single(found, single)
    assert int(stages[-1].split()[3]) >= 16


def test_slow_shards_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "_SLOW_SECONDS", 0.0)
    monkeypatch.setattr(run, "_LOOK_SECONDS", 0.01)
    stages: list[str] = []
    is_told = threading.Event()

    def hear(stage: str) -> None:
        stages.append(stage)
        if stage.startswith("mine, 2 of 3 shards; most take") and "but shard 0 (" in stage:
            is_told.set()

    mine_shard = run.mine_shard

    def slow(job: Any) -> None:
        if job.group[0] == 0:
            is_told.wait(PATIENCE)
        mine_shard(job)

    monkeypatch.setattr(run, "mine_shard", slow)
    with ThreadPoolExecutor(2) as pool:
        mine_in_shards(ROWS, CONFIG, Distribution(executor=pool, shards=3), on_stage=hear)
    assert is_told.is_set()
    assert stages[-1] == "mine, 3 of 3 shards"


def is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def workers_of(pid: int) -> list[int]:
    """Return the pool's processes below one, by the system's table; not what keeps their semaphores."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
    below, found = {pid}, []
    while below:
        below = {child for child, parent in parents.items() if parent in below}
        found += below
    return [child for child in found if is_worker(child)]


def test_a_killed_process_of_the_pool_loses_nothing(single: Antecedents, tmp_path: Path) -> None:
    def kill_one() -> None:
        wait_for(lambda: list(tmp_path.glob("found-*.npz")))
        os.kill(max(workers_of(os.getpid())), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    found = mine_in_shards(ROWS, CONFIG, Distribution(executor="local[2]", shards=24, work=tmp_path))
    killer.join()
    assert is_single(found, single)


# ---- Dask ----


@contextlib.contextmanager
def running(*command: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("distributed")
    told = tmp_path_factory.mktemp("dask") / "scheduler.json"
    code = "from distributed.cli.dask_scheduler import main; main()"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told)]
    with running("-c", code, *options):
        wait_for(lambda: told.exists() and told.stat().st_size)
        yield json.loads(told.read_text())["address"].removeprefix("tcp://")


@contextlib.contextmanager
def dask_worker(scheduler: str, folder: Path, threads: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    code = "from distributed.cli.dask_worker import main; main()"
    options = ["--nthreads", str(threads), "--no-nanny", "--no-dashboard", "--local-directory", str(folder)]
    with running("-c", code, f"tcp://{scheduler}", "--host", "127.0.0.1", *options) as process:
        yield process


@pytest.mark.slow
def test_dask_with_a_worker_killed_meanwhile(scheduler: str, single: Antecedents, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with dask_worker(scheduler, tmp_path / "a") as first, dask_worker(scheduler, tmp_path / "b"):

        def kill_first() -> None:
            wait_for(lambda: list(work.glob("found-*.npz")))
            first.kill()

        killer = threading.Thread(target=kill_first)
        killer.start()
        found = mine_in_shards(
            ROWS, CONFIG, Distribution(executor=f"dask://{scheduler}", shards=24, work=work)
        )
        killer.join()
    assert is_single(found, single)


def test_a_dask_worker_works_on_a_part_a_thread(scheduler: str, tmp_path: Path) -> None:
    assert executors.parts_at_a_time() == 1
    with (
        dask_worker(scheduler, tmp_path / "a", threads=3),
        resolve_engine(f"dask://{scheduler}").open(tmp_path) as pool,
    ):
        assert pool.submit(executors.parts_at_a_time).result(PATIENCE) == 3


# ---- submitit ----


def test_submitit_on_this_machine(single: Antecedents, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    where = Distribution(executor="slurm:cluster=local,timeout_min=5", shards=2, work=tmp_path)
    assert is_single(mine_in_shards(ROWS, CONFIG, where), single)


def test_a_machine_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run right here in its place."""
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendError, match=r"^executor slurm: got a machine without srun, expected one that"):
        resolve_engine("slurm:partition=cpu")


def test_a_parameter_that_submitit_does_not_know(tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    with pytest.raises(
        ConfigError, match=r"^executor slurm: got .*, expected parameters that submitit knows"
    ):
        mine_in_shards(ROWS, CONFIG, Distribution(executor="slurm:cluster=moon", work=tmp_path))


# ---- killed drivers ----


@pytest.mark.slow
@pytest.mark.skipif("SHORTCUT_MINER_KILLS" not in os.environ, reason="kills at random moments: see .ci/slow")
@pytest.mark.parametrize("executor", [[], ["--executor", "local[2]"]], ids=["alone", "local"])
def test_a_killed_run_goes_on_and_writes_the_same_bytes(tmp_path: Path, executor: list[str]) -> None:
    table = skewed_rows(4000, 30, seed=2)
    rows = [{"words": [name for _, name in row.items], "answer": row.answer} for row in table.rows]
    pl.DataFrame(rows).write_parquet(tmp_path / "table.parquet")
    command = ["mine", "table.parquet", "--words", "words", "--min-count", "3", "--quiet", "--show", "0"]

    def start(*options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "shortcut_miner", *command, *options],
            cwd=tmp_path, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    assert start("--out", "whole").wait() == 0
    sharded = ["--out", "killed", "--work", "work", "--shards", "12", *executor]
    chance = random.Random(3)
    for _ in range(6):
        process = start(*sharded)
        time.sleep(chance.uniform(0.5, 6))
        below = workers_of(process.pid)
        process.kill()
        process.wait()
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))  # noqa: B023
    assert start(*sharded).wait() == 0
    for name in ("rules.parquet", "manifest.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
