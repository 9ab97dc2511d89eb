"""How a search is cut into shards: ranges of first items, of about equal work, that fit in memory."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.mining.antecedents import MiningConfig
from shortcut_miner.mining.arrays import Ints, Numbers
from shortcut_miner.mining.sharding.archives import ERRORS, opened, read_facts, write_archive
from shortcut_miner.mining.sharding.counting import Counted, rows_at
from shortcut_miner.mining.sharding.suffixes import bytes_of_rows, kept_rows
from shortcut_miner.mining.threads import shares
from shortcut_miner.transactions import Transactions
from shortcut_miner.version import __version__

PLAN = "plan.npz"
_ARRAYS = ("order", "class_counts", "groups")
Group = tuple[int, int]  # first, stop: places in the order


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What every shard of a search has to know.

    Attributes
    ----------
    key : str
        Says of which rows, limits and version something was found. ``max_rules`` is not part of it: what is
        complete is so for any.
    config : MiningConfig
        What to mine, with its ``max_rules``.
    order : int32[]
        Items in the order of the search.
    class_counts : int64[classes]
        Original rows of each class.
    groups : tuple of (int, int)
        First items of each shard, as places in `order`: all of them, without gaps.
    asked : int or None
        The number of shards that was asked for.
    """

    key: str
    config: MiningConfig
    order: Numbers
    class_counts: Ints
    groups: tuple[Group, ...]
    asked: int | None = None


def key_of(counted: Counted, config: MiningConfig) -> str:
    """Return what tells a search from others: its rows, its limits and the version."""
    told = json.dumps([counted.digest, config.min_count, config.max_antecedent, __version__])
    return hashlib.blake2b(told.encode(), digest_size=20).hexdigest()


def plan_shards(
    counted: Counted,
    rows: int,
    config: MiningConfig,
    *,
    shards: int | None,
    at_least: int = 1,
    room: int | None = None,
    threads: int = 1,
) -> Plan:
    """Return the plan of a search.

    Parameters
    ----------
    counted : Counted
        What is known of the rows.
    rows : int
        How many there are.
    config : MiningConfig
        What to mine; ``max_rules`` is known.
    shards : int, optional
        How many shards: fewer only if there are fewer first items.
    at_least : int
        How many there should be if that is not asked for; there are more if these don't fit.
    room : int, optional
        Bytes that a shard may take; by default any number.
    threads : int
        How many mine a shard.
    """
    order = counted.order(config.min_count)
    work = _estimated_work(counted.sample, order)
    groups = shares(work, shards or at_least)
    if shards is None and room is not None:
        groups = _fitting(groups, work, counted.sample, rows, order, room, threads)
    return Plan(key_of(counted, config), config, order, counted.class_counts, tuple(groups), shards)


def _estimated_work(sample: Transactions, order: Numbers) -> Ints:
    """Return per item of the order how many items follow it in the sampled rows."""
    from shortcut_miner.mining.kernels_numba.delivery import project_rows

    number = np.full(sample.vocabulary.item_count, -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    known = np.flatnonzero(sample.classes >= 0)
    return np.asarray(project_rows(sample.offsets, sample.items, known, number, len(order)).work)


def _fitting(
    groups: list[Group], work: Ints, sample: Transactions, rows: int, order: Numbers, room: int, threads: int
) -> list[Group]:
    """Halve the groups whose rows would take more than `room` bytes, until all fit or are one item."""
    half = rows_at(sample, np.arange(0, len(sample), 2), sample.vocabulary)
    scale = rows / max(len(sample), 1)
    fitting: list[Group] = []
    waiting = groups[::-1]
    while waiting:
        first, stop = waiting.pop()
        if stop - first == 1 or _expected_bytes((half, sample), scale, order, first, stop, threads) <= room:
            fitting.append((first, stop))
        else:
            halves = shares(work[first:stop], 2)
            if len(halves) < 2:  # one item has all the work
                halves = [(0, 1), (1, stop - first)]
            waiting += [(first + low, first + high) for low, high in halves[::-1]]
    return fitting


def _expected_bytes(
    samples: tuple[Transactions, Transactions],
    scale: float,
    order: Numbers,
    first: int,
    stop: int,
    threads: int,
) -> float:
    """Return about how many bytes a shard's rows take, `scale` times as many as those of the second sample.

    The more rows, the more of them are equal: what is left grows by about a power (Heaps' law), which shows
    from half of the sample to the whole. It falls with more rows, so shards rather come out too small.
    """
    kept = [kept_rows(sample, order, first, stop, merge=True) for sample in samples]
    small, large = (bytes_of_rows(rows, order[first:stop], threads) if rows else 0 for rows in kept)
    power = min(1.0, float(np.log2(large / small))) if small else 1.0
    return float(large * scale**power)


def write_plan(folder: Path, plan: Plan) -> None:
    """Write a plan to a work folder."""
    groups = np.array(plan.groups, np.int64).reshape(-1, 2)
    arrays: dict[str, npt.NDArray[Any]] = {
        "order": plan.order, "class_counts": plan.class_counts, "groups": groups
    }  # fmt: skip
    facts = {"key": plan.key, "config": dataclasses.asdict(plan.config), "asked": plan.asked}
    write_archive(folder / PLAN, facts | {"digest": _digest_of(arrays)}, arrays)


def _digest_of(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return a digest of arrays: what is found is put together by them, without a further look at them."""
    digest = hashlib.blake2b(digest_size=20)
    for name in _ARRAYS:
        digest.update(f"{arrays[name].dtype} {arrays[name].shape} ".encode() + arrays[name].tobytes())
    return digest.hexdigest()


def read_plan(folder: Path) -> Plan:
    """Return the plan in a work folder.

    Raises
    ------
    SourceError
        There is none, or a damaged one.
    """
    path = folder / PLAN
    try:
        facts = read_facts(path)
        with opened(path) as archive:
            arrays = {name: archive[name] for name in _ARRAYS}
        if facts["digest"] != _digest_of(arrays):
            raise ValueError("other arrays than were written")
        groups = tuple((int(first), int(stop)) for first, stop in arrays["groups"])
        return Plan(
            facts["key"], MiningConfig(**facts["config"]), arrays["order"], arrays["class_counts"], groups,
            facts["asked"],
        )  # fmt: skip
    except (*ERRORS, TypeError) as error:
        raise SourceError(
            f"{path}: got {reason_of(error)}, expected the plan of a search in shards. "
            "Make it with shortcut-miner shard."
        ) from error
