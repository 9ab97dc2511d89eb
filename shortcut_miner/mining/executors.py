"""Where the parts of a search run: in this process, in processes of this machine, on Dask, on SLURM.

The engines are other people's: each is opened as a :class:`concurrent.futures.Executor`, and loaded
when it is asked for.
"""

import contextlib
import dataclasses
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, TypeVar

from shortcut_miner.errors import BackendError, ConfigError, missing_library, reason_of
from shortcut_miner.options import reject

_T = TypeVar("_T")
_FORMS = "local, local[N], dask://HOST:PORT, or slurm[:NAME=VALUE,...] such as slurm:partition=cpu,mem_gb=16"
# How often an engine runs a part again whose worker was lost.
RETRIES = 3
_POLL_SECONDS = 1.0
_CONNECT_SECONDS = 30.0
# Measured: what a worker holds before it has any rows.
BYTES_A_PROCESS = 250_000_000
# Of a cluster, whose size may change: more shards than it has workers cost little, fewer leave some idle.
_GUESSED_WORKERS = 8
# The names that submitit gives parameters of any cluster; others are SLURM's.
_SUBMITIT_NAMES = {
    "name", "timeout_min", "mem_gb", "nodes", "cpus_per_task", "gpus_per_node", "tasks_per_node",
    "stderr_to_stdout",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A way to run parts of a search.

    Attributes
    ----------
    name : str
        What it is, for records and messages.
    open : callable
        Takes the work folder; returns a context with the executor.
    workers : int
        How many parts run at a time; a guess where only the engine knows.
    is_local : bool
        Whether the workers share this machine's memory and processors.
    is_here : bool
        Whether parts run in this very process, one at a time, so that rows in memory do not have to travel.
    """

    name: str
    open: Callable[[Path], contextlib.AbstractContextManager[Executor]]
    workers: int = 1
    is_local: bool = False
    is_here: bool = False


def resolve_engine(executor: str | Executor | None, memory: int | None = None) -> Engine:
    """Return the engine behind the option ``executor``.

    Parameters
    ----------
    executor : str, Executor or None
        "local" (a process for each processor), "local[N]": both start the script again in each process, so
        that from Python what it does stands below ``if __name__ == "__main__":``; "dask://HOST:PORT",
        "slurm", "slurm:NAME=VALUE,..."; an executor of any engine, which stays open; or None: this process.
    memory : int, optional
        Bytes that this process and its workers on this machine may hold.

    Raises
    ------
    ConfigError
        No such engine, or workers that take more than `memory` before they have any work.
    BackendError
        The engine's library is not installed.

    >>> resolve_engine("local[2]").workers
    2
    """
    if executor is None:
        return Engine(name="this process", open=_here, is_local=True, is_here=True)
    if isinstance(executor, Executor):
        return Engine(
            name=type(executor).__name__,
            open=lambda folder: contextlib.nullcontext(executor),
            workers=_GUESSED_WORKERS,
        )
    if not isinstance(executor, str):
        reject("executor", executor, f"{_FORMS}; or an Executor")
    name, _, options = executor.partition(":")
    if executor == "local" or (executor.startswith("local[") and executor.endswith("]")):
        return _local(executor, memory)
    if name == "dask" and re.fullmatch(r"//.+:[0-9]+", options):
        _check_library("distributed", "dask", "dask")
        return Engine(name=executor, open=partial(_dask, f"tcp:{options}"), workers=_GUESSED_WORKERS)
    if name == "slurm":
        _check_library("submitit", "slurm", "slurm")
        # Named, since of itself submitit would run the jobs right here where there is no SLURM.
        parameters = {"cluster": "slurm"} | _slurm_parameters(executor, options)
        if parameters["cluster"] == "slurm" and which("srun") is None:
            raise BackendError(
                "executor slurm: got a machine without srun, expected one that SLURM takes jobs from. Run "
                "this on the cluster's login node, or choose another executor."
            )
        return Engine(name=name, open=partial(_slurm, parameters), workers=_GUESSED_WORKERS)
    return reject("executor", executor, _FORMS)


def _check_library(library: str, engine: str, extra: str) -> None:
    if find_spec(library) is None:
        raise missing_library(f"executor {engine}", library, extra, "choose another executor")


# ---- this process ----


class _Here(Executor):
    """Runs what it is given at once."""

    def submit(self, function: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        future: Future[_T] = Future()
        future.set_result(function(*args, **kwargs))
        return future


@contextlib.contextmanager
def _here(folder: Path) -> Iterator[Executor]:
    yield _Here()


# ---- processes of this machine ----


def _local(executor: str, memory: int | None) -> Engine:
    import multiprocessing

    # As multiprocessing asks it, only that by then a worker would have begun to do all of this again.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise ConfigError(
            "executor: got a script that each worker starts again, expected one that knows when it is the "
            'main one. Put what it does under if __name__ == "__main__".'
        )
    text = executor.removeprefix("local").strip("[]")
    if executor != "local" and not (text.isdecimal() and int(text) >= 1):
        reject("executor", executor, f"a number of 1 or more in local[N], or {_FORMS}")
    workers = int(text) if text else _processors()
    least = (workers + 1) * BYTES_A_PROCESS
    if memory is not None and memory < least:
        told = f"{least:,} bytes or more: each of {workers:,} workers takes a quarter GB itself"
        reject("memory", memory, told)
    return Engine(name=f"local[{workers}]", open=partial(_pool, workers), workers=workers, is_local=True)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _pool(workers: int, folder: Path) -> Iterator[Executor]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Never forked: threads of libraries would not live on in the copy.
    spawn = multiprocessing.get_context("spawn")
    closes_at_end, opened_here = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=spawn, initializer=_start_worker, initargs=(closes_at_end,)
    )
    try:
        yield pool
    except BaseException:
        opened_here.close()  # an interrupt or an error does not wait for shards that take an hour
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        opened_here.close()
        closes_at_end.close()


def _start_worker(closes_at_end: Any) -> None:
    """Leave an interrupt to the parent, and end when its end of a pipe closes: at the latest when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(closes_at_end,), daemon=True).start()


def _end_with(closes_at_end: Any) -> None:
    closes_at_end.poll(None)
    os._exit(1)


# ---- Dask ----


@contextlib.contextmanager
def _dask(address: str, folder: Path) -> Iterator[Executor]:
    import asyncio

    from distributed import Client

    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook's own thread has a loop that runs already
            thread.submit(asyncio.run, _meet(address)).result()
        client = Client(address, set_as_default=False)
    except Exception as error:  # whatever comes of what another program answers
        raise BackendError(
            f"executor dask: got no answer from {address} ({reason_of(error)}), expected a Dask scheduler. "
            "Start dask scheduler and dask worker, and give the address that the scheduler prints."
        ) from error
    try:
        # Not pure: equal calls are made again, as what they write may have been damaged.
        yield client.get_executor(pure=False, retries=RETRIES)
    finally:
        client.close()


async def _meet(address: str) -> None:
    """Connect once. A Client waits for ever where something else takes the connection and says nothing."""
    import asyncio

    from distributed.comm import connect

    comm = await asyncio.wait_for(connect(address, timeout=_CONNECT_SECONDS), 2 * _CONNECT_SECONDS)
    comm.abort()


def parts_at_a_time() -> int:
    """Return how many parts this process works on at a time: in a Dask worker one a thread."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return 1
    try:
        return int(distributed.get_worker().state.nthreads)
    except ValueError:  # no worker
        return 1


# ---- SLURM ----


def _slurm_parameters(executor: str, options: str) -> dict[str, Any]:
    """Return the options after ``slurm:`` as submitit takes them.

    >>> _slurm_parameters("", "partition=cpu,mem_gb=16")
    {'slurm_partition': 'cpu', 'mem_gb': 16}
    """
    parameters: dict[str, Any] = {}
    for part in options.split(",") if options else ():
        name, separator, value = (piece.strip() for piece in part.partition("="))
        if not (separator and name and value):
            reject("executor", executor, "slurm:NAME=VALUE,... with submitit's or SLURM's names")
        is_known = name in _SUBMITIT_NAMES or name == "cluster" or name.startswith("slurm_")
        parameters[name if is_known else f"slurm_{name}"] = int(value) if value.isdecimal() else value
    return parameters


class _Submitted(Executor):
    """Gives jobs to submitit; a thread looks which of them are done."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._waiting: list[tuple[Any, Future[Any]]] = []
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def submit(self, function: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        future: Future[_T] = Future()
        job = self._executor.submit(function, *args, **kwargs)
        with self._lock:
            self._waiting.append((job, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._is_closed.set()
        self._watcher.join()
        for job, future in self._waiting:
            if cancel_futures:
                job.cancel()
                future.cancel()

    def _watch(self) -> None:
        while not self._is_closed.wait(_POLL_SECONDS):
            with self._lock:
                waiting, self._waiting = self._waiting, []
            still = [one for one in waiting if not _settle(*one)]
            with self._lock:
                self._waiting += still


def _settle(job: Any, future: Future[Any]) -> bool:
    """Give a future its job's result, if there is one, or take back the job of a cancelled future."""
    try:
        if not (future.cancelled() or job.done()):
            return False
        if not future.set_running_or_notify_cancel():  # from here on it can't be cancelled
            job.cancel()
            return True
        future.set_result(job.result())
    except Exception as error:  # whatever the job raised is its future's
        future.set_exception(error)
    return True


@contextlib.contextmanager
def _slurm(parameters: dict[str, Any], folder: Path) -> Iterator[Executor]:
    import submitit

    chosen = dict(parameters)
    try:
        jobs = submitit.AutoExecutor(folder / "slurm", cluster=chosen.pop("cluster"))
        jobs.update_parameters(**chosen)
    except (NameError, RuntimeError, TypeError, ValueError, AssertionError) as error:
        raise ConfigError(
            f"executor slurm: got {reason_of(error)}, expected parameters that submitit knows. Change them."
        ) from error
    submitted = _Submitted(jobs)
    try:
        yield submitted
    finally:
        submitted.shutdown(cancel_futures=True)
