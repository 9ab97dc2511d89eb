"""A whole search in shards: count, plan, run each shard somewhere, put together what they found."""

import contextlib
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from pathlib import Path

from shortcut_miner.errors import BackendError, SourceError, reason_of
from shortcut_miner.mining.antecedents import Antecedents, MiningConfig
from shortcut_miner.mining.backends import Backend
from shortcut_miner.mining.executors import RETRIES, Engine, resolve_engine
from shortcut_miner.mining.memory import left, spare
from shortcut_miner.mining.sharding.archives import ERRORS
from shortcut_miner.mining.sharding.counting import Counted, count_rows
from shortcut_miner.mining.sharding.distribution import Distribution
from shortcut_miner.mining.sharding.found import Head, find_heads, merged, missing_groups
from shortcut_miner.mining.sharding.jobs import ShardJob, excess_text, mine_shard, room_for_rows
from shortcut_miner.mining.sharding.plans import PLAN, Group, Plan, key_of, plan_shards, read_plan, write_plan
from shortcut_miner.mining.sharding.suffixes import placed_rows
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.transactions import RowBlocks, Transactions
from shortcut_miner.work_folders import one_run_in

# So many shards a worker even out what estimates miss.
_SHARDS_A_WORKER = 4
_LOOK_SECONDS = 1.0
# What Dask and submitit raise, which may not be installed, when a worker is gone.
_LOSSES = ("KilledWorker", "UncompletedJobError", "FailedJobError")
_MOST_SHOWN = 20
# A shard that takes so many times the median, and so many seconds, is named.
_SLOW, _SLOW_SECONDS = 3.0, 10.0

Found = dict[Group, list[Head]]  # what there is of each shard


def mine_in_shards(
    rows: RowBlocks,
    config: MiningConfig,
    distribution: Distribution,
    *,
    backend: str | Backend = "auto",
    threads: int | None = None,
    on_stage: Callable[[str], None] | None = None,
    counts: dict[str, int] | None = None,
    warnings: list[str] | None = None,
) -> Antecedents:
    """Return what :func:`shortcut_miner.mining.miner.mine_antecedents` returns, mined shard by shard.

    Parameters
    ----------
    rows : RowBlocks
        Rows to mine, in memory or in files.
    config : MiningConfig
        What to mine.
    distribution : Distribution
        Where, and in how many parts.
    backend, threads
        As for the whole search; `threads` are those of this machine.
    on_stage : callable, optional
        Told how many shards are done, and which take long.
    counts : dict of str to int, optional
        Given the number of "shards".
    warnings : list of str, optional
        Given what the user should know, such as that an item's rows take more memory than there is for them.

    Raises
    ------
    ConfigError
        Another run is at work in the folder.
    BackendError
        An engine's library is missing, or a shard failed again and again.
    SourceError
        Files of rows, or of what was found, are damaged or gone.
    """
    engine = resolve_engine(distribution.executor)
    with _folder_for_shards(distribution.work) as folder:
        plan = make_plan(folder, rows, config, distribution, engine, threads)
        placed = placed_rows(rows, plan.order) if isinstance(rows, Transactions) else rows
        travelling = placed if engine.is_here else rows_in_files(folder, placed, plan.key)
        share = _worker_share(distribution.memory, engine)
        like = ShardJob(
            folder=folder, rows=travelling, are_placed=placed is not rows,
            backend=backend, threads=_threads_of(engine, threads), memory=share,
        )  # fmt: skip
        needed: list[int] = []
        found = run_shards(plan, like, engine, on_stage, needed)
        if counts is not None:
            counts["shards"] = len(plan.groups)
        if warnings is not None and any(needed):
            warnings.append(excess_text(max(needed), engine.workers if engine.is_local else 1))
        return merge_shards(folder, plan, found)


@contextlib.contextmanager
def _folder_for_shards(work: Path | None) -> Iterator[Path]:
    """Give the folder for what is in between: the one named, or one that is removed at the end."""
    if work is None:
        with tempfile.TemporaryDirectory(prefix="shortcut-miner-") as folder:
            yield Path(folder)
    else:
        with one_run_in(work):
            yield work.resolve()


def make_plan(
    folder: Path,
    rows: RowBlocks,
    config: MiningConfig,
    distribution: Distribution,
    engine: Engine,
    threads: int | None = None,
) -> Plan:
    """Return the plan of a search, and write it to the work folder; one that is there for it stays in use."""
    counted = count_rows(rows, threads or thread_count())
    max_rules = config.resolved_max_rules(distribution.memory)
    limits = MiningConfig(
        min_count=config.min_count, max_antecedent=config.max_antecedent, max_rules=max_rules
    )
    plan = _earlier_plan(folder, counted, limits, distribution.shards) or plan_shards(
        counted,
        len(rows),
        limits,
        shards=distribution.shards,
        at_least=_SHARDS_A_WORKER * engine.workers if engine.workers > 1 else 1,
        room=room_for_rows(_worker_share(distribution.memory, engine)),
        threads=_threads_of(engine, threads) or thread_count(),
    )
    write_plan(folder, plan)
    return plan


def _earlier_plan(folder: Path, counted: Counted, limits: MiningConfig, shards: int | None) -> Plan | None:
    """Return the plan that a run before this one made of the same search, with this one's limits."""
    if not (folder / PLAN).exists():
        return None
    try:
        plan = read_plan(folder)
    except SourceError:  # damaged: it is made again
        return None
    is_same = plan.key == key_of(counted, limits) and plan.asked == shards
    return dataclasses.replace(plan, config=limits) if is_same else None


def _worker_share(memory: int | None, engine: Engine) -> int | None:
    """Return the bytes that a worker's process may hold; None if that is for itself to find out."""
    if engine.is_here or not engine.is_local:
        return memory
    return (left() if memory is None else spare(memory)) // engine.workers


def _threads_of(engine: Engine, threads: int | None) -> int | None:
    """Return how many threads a worker has, of this machine's; None if that is for itself to find out."""
    return max(1, (threads or thread_count()) // engine.workers) if engine.is_local else None


def rows_in_files(folder: Path, rows: RowBlocks, key: str) -> RowBlocks:
    """Return the rows in files, without names; rows in memory are written to the work folder first."""
    from shortcut_miner.row_files import FACTS, RowFiles, RowWriter, open_row_files

    if isinstance(rows, RowFiles):
        paths = tuple(path.resolve() for path in rows.paths)
        return dataclasses.replace(rows.without_names(), paths=paths)
    place = folder / f"rows-{key[:16]}"
    if not (place / FACTS).exists():
        with RowWriter(place, rows.vocabulary.without_names()) as writer:
            for block in rows.blocks():
                writer.append(block)
    return open_row_files(place)


# ---- running them ----


def run_shards(
    plan: Plan,
    like: ShardJob,
    engine: Engine,
    on_stage: Callable[[str], None] | None = None,
    needed: list[int] | None = None,
) -> Found:
    """Mine the shards that are not found yet, the last (of the most frequent first items) first.

    When a worker is lost, its engine may mine the shard again; when the engine itself breaks, it is opened
    again, and what was found by then stays.

    Parameters
    ----------
    plan : Plan
        All shards.
    like : ShardJob
        What the jobs of all of them have in common.
    engine : Engine
        Who runs them.
    on_stage : callable, optional
        Told how many are done, and which take long.
    needed : list of int, optional
        Given what :func:`mine_shard` returned of each.

    Raises
    ------
    BackendError
        The engine broke too often.
    """
    needed = [] if needed is None else needed
    found = found_shards(like.folder, plan)
    failures = 0
    while missing := missing_groups(plan, found):
        try:
            with engine.open(like.folder) as executor:
                _run(plan, like, missing, found, executor, engine, on_stage, needed)
        except Exception as error:
            if not _is_loss(error):
                raise
            failures += 1
            if failures > RETRIES:
                raise BackendError(_broken_text(plan, found, engine, failures, error)) from error
    return found


def _run(
    plan: Plan,
    like: ShardJob,
    missing: Sequence[tuple[Group, bool]],
    found: Found,
    executor: Executor,
    engine: Engine,
    on_stage: Callable[[str], None] | None,
    needed: list[int],
) -> None:
    """Mine missing shards until all are found, or so many that those before them are beyond the cap."""
    waiting = [dataclasses.replace(like, group=group, singles_only=few) for group, few in missing]
    running: dict[Future[int], tuple[ShardJob, float]] = {}
    seconds: list[float] = []
    try:
        while waiting or running:
            while waiting and not (engine.is_here and running):
                job = waiting.pop()
                running[executor.submit(mine_shard, job)] = job, time.monotonic()
            done, _ = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
            for future in done:
                job, started = running.pop(future)
                needed.append(future.result())
                seconds.append(time.monotonic() - started)
                found[job.group] = _heads_of(job, plan)
            if on_stage is not None:
                on_stage(_progress_text(plan, found, list(running.values()), seconds))
            beyond = {group for group, is_beyond in missing_groups(plan, found) if is_beyond}
            asked = [*waiting, *(job for job, _ in running.values())]
            if any(job.group in beyond and not job.singles_only for job in asked):
                return  # these are asked for again, for less
    finally:
        for future in running:
            future.cancel()


def _heads_of(job: ShardJob, plan: Plan) -> list[Head]:
    heads = find_heads(job.folder, plan.key, job.group, check=False)
    if not heads:
        raise SourceError(
            f"{job.folder}: got nothing of shard {plan.groups.index(job.group)}, expected its worker's file. "
            "Choose a work folder on a disk that all workers share."
        )
    return heads


def _progress_text(
    plan: Plan, found: Found, running: Sequence[tuple[ShardJob, float]], seconds: Sequence[float]
) -> str:
    """Return how many shards are done, and the number of each that takes much longer than most."""
    done = sum(bool(heads) for heads in found.values())
    text = f"mine, {done:,} of {len(plan.groups):,} shards"
    usual = statistics.median(seconds) if seconds else 0
    now = time.monotonic()
    slow = [
        f"{plan.groups.index(job.group)} ({now - started:.0f} s)"
        for job, started in running
        if seconds and now - started > max(_SLOW * usual, _SLOW_SECONDS)
    ]
    return f"{text}; most take {usual:.0f} s, but shard {', '.join(slow)}" if slow else text


def _is_loss(error: Exception) -> bool:
    """Return whether an error says that a worker is lost, not that its work failed."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ in _LOSSES


def _broken_text(plan: Plan, found: Found, engine: Engine, failures: int, error: Exception) -> str:
    numbers = [plan.groups.index(group) for group, _ in missing_groups(plan, found)]
    return (
        f"executor {engine.name}: got {reason_of(error)} {failures} times, expected workers that live to the "
        f"end of a shard. Of {len(plan.groups):,} shards {len(numbers):,} are left, {numbers[-1]} next. Give "
        "the workers more memory, or cut more shards."
    )


# ---- putting together ----


def found_shards(folder: Path, plan: Plan) -> Found:
    """Return what there is of each shard in a work folder."""
    return {group: find_heads(folder, plan.key, group) for group in plan.groups}


def merge_shards(folder: Path, plan: Plan, found: Found) -> Antecedents:
    """Return what all shards found, as one search finds it.

    Raises
    ------
    SourceError
        A shard has not been mined, or its file is damaged.
    """
    if missing := missing_groups(plan, found):
        count, numbers = len(plan.groups), [plan.groups.index(group) for group, _ in missing]
        raise SourceError(
            f"{folder}: got {count - len(numbers):,} of {count:,} shards, expected all. "
            f"Run shortcut-miner mine --work {folder} --shard N for each N of {_in_ranges(numbers)}."
        )
    try:
        return merged(plan, [head for group in plan.groups for head in found[group]])
    except ERRORS as error:
        raise SourceError(
            f"{folder}: got {reason_of(error)}, expected what the shards found. Mine them again."
        ) from error


def _in_ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers, those in a row as one range.

    >>> _in_ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    firsts = [number for number in numbers if number - 1 not in numbers]
    lasts = [number for number in numbers if number + 1 not in numbers]
    ranges = [
        f"{first}-{last}" if last > first else f"{first}" for first, last in zip(firsts, lasts, strict=True)
    ]
    return ", ".join(ranges[:_MOST_SHOWN]) + (", ..." if len(ranges) > _MOST_SHOWN else "")
