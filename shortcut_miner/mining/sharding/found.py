"""What shards found: a file for each range of first items, and all of them put together as one result."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shortcut_miner.mining.antecedents import Antecedents, root_of
from shortcut_miner.mining.arrays import Ints, Level, Numbers
from shortcut_miner.mining.sharding.archives import ERRORS, is_whole, opened, read_facts, write_archive
from shortcut_miner.mining.sharding.plans import Group, Plan

_NAME = re.compile(r"found-(\d+)-(\d+)\.npz")
_FIELDS = Level._fields


def found_path(folder: Path, group: Group) -> Path:
    """Return where what was found of a range of first items lies."""
    return folder / f"found-{group[0]}-{group[1]}.npz"


def write_found(folder: Path, key: str, group: Group, found: Antecedents, max_rules: int) -> None:
    """Write what was found of a range of first items, with at most `max_rules` antecedents."""
    arrays: dict[str, npt.NDArray[Any]] = {
        f"{name}_{size}": field
        for size, level in enumerate(found.levels[1:], 1)
        for name, field in level._asdict().items()
    }
    facts = {
        "key": key,
        "max_rules": max_rules,
        "is_complete": found.is_complete,
        "sizes": [len(level.items) for level in found.levels[1:]],
    }
    write_archive(found_path(folder, group), facts, arrays | {"longer": _longer(found)})


def _longer(found: Antecedents) -> Ints:
    """Return how many longer antecedents each first item has."""
    bounds = np.arange(len(found.levels[1].items) + 1)
    longer = np.zeros(len(bounds) - 1, np.int64)
    for level in found.levels[1:-1]:
        bounds = level.starts[bounds]
        longer += np.diff(bounds)
    return longer


@dataclasses.dataclass(frozen=True, slots=True)
class Head:
    """The start of a file: its first items, as a level without ``starts``, and how much lies below each.

    Attributes
    ----------
    path : Path
        The file.
    items, best_class, antecedent_count, rule_count : arrays
        The antecedents of one item; items are places in the plan's order.
    longer : int64[first items]
        How many longer antecedents there are of each first item.
    sizes : tuple of int
        Number of antecedents by length, from 1 on.
    max_rules : int
        The cap that held when they were found; 0 if only those of one item were wanted.
    is_complete : bool
        Whether the cap left nothing out.
    """

    path: Path
    items: Numbers
    best_class: Numbers
    antecedent_count: Ints
    rule_count: Ints
    longer: Ints
    sizes: tuple[int, ...]
    max_rules: int
    is_complete: bool

    def is_enough(self, max_rules: int) -> bool:
        """Return whether a search with that cap can use it."""
        return self.is_complete or self.max_rules >= max_rules

    @property
    def kept_from(self) -> int:
        """The first of the first items whose longer antecedents are all there."""
        if self.is_complete:
            return 0
        below = np.flatnonzero(self.longer)  # of rarer first items a cut search keeps nothing
        return int(below[0]) if len(below) else len(self.longer)


def find_heads(folder: Path, key: str, group: Group, *, check: bool = True) -> list[Head]:
    """Return the starts of the files of that key that cover a range of first items; none if they don't.

    Unless `check` is false, every byte of them is looked at, and a damaged one is none.
    """
    found: dict[Group, Head] = {}
    for path in sorted(folder.glob("found-*.npz")):
        if name := _NAME.fullmatch(path.name):
            first, stop = int(name[1]), int(name[2])
            is_inside = group[0] <= first and stop <= group[1]
            if is_inside and (head := _read_head(path, key)) and (not check or is_whole(path)):
                found[first, stop] = head
    return _chain(found, group)


def _read_head(path: Path, key: str) -> Head | None:
    try:
        facts = read_facts(path)
        if facts["key"] != key:
            return None
        with opened(path) as archive:
            fields: dict[str, Any] = {name: archive[f"{name}_1"] for name in _FIELDS[:-1]}
            longer = archive["longer"]
        return Head(
            path=path,
            **fields,
            longer=longer,
            sizes=tuple(facts["sizes"]),
            max_rules=facts["max_rules"],
            is_complete=facts["is_complete"],
        )
    except ERRORS:
        return None


def _chain(found: Mapping[Group, Head], group: Group) -> list[Head]:
    first, stop = group
    heads: list[Head] = []
    while first < stop:
        stops = [end for begin, end in found if begin == first]
        if not stops:
            return []
        heads.append(found[first, max(stops)])
        first = max(stops)
    return heads


def missing_groups(plan: Plan, found: Mapping[Group, Sequence[Head]]) -> list[tuple[Group, bool]]:
    """Return the shards that must still be mined, and of each whether antecedents of one item are enough.

    They are for shards before the one in which `max_rules` ends the search.

    Parameters
    ----------
    plan : Plan
        All shards.
    found : mapping of group to sequence of Head
        What there is of each; nothing for one that is not mined.
    """
    max_rules = plan.config.resolved_max_rules()
    missing: list[tuple[Group, bool]] = []
    last_ones: list[Head] = []
    is_cut, is_gapless = False, True
    for group in reversed(plan.groups):
        heads = found.get(group, ())
        if not heads or not all(is_cut or head.is_enough(max_rules) for head in heads):
            missing.append((group, is_cut))
            is_gapless = False
        elif is_gapless and not is_cut:
            last_ones = [*heads, *last_ones]
            is_cut = first_kept(last_ones, max_rules) > 0
    return missing[::-1]


def first_kept(heads: Sequence[Head], max_rules: int) -> int:
    """Return from which first item on longer antecedents are kept: as many first items as fit, from the last.

    `heads` follow each other up to the last first item. Items are numbered through, from 0 on.
    """
    longer = np.concatenate([np.empty(0, np.int64), *(head.longer for head in heads)])
    room = max(max_rules - len(longer), 0)
    below = np.cumsum(longer[::-1])[::-1]
    first = int(np.count_nonzero(below > room))
    offset = 0
    for head in heads:
        if head.kept_from:
            first = max(first, offset + head.kept_from)
        offset += len(head.items)
    return first


def merged(plan: Plan, heads: Sequence[Head]) -> Antecedents:
    """Return what a whole search finds, from files that cover all first items in their order.

    Beside the result one array of one file is in memory at a time.

    Raises
    ------
    One of archives.ERRORS
        A file is damaged or gone.
    """
    places = np.concatenate([np.empty(0, np.int32), *(head.items for head in heads)])
    number = np.full(len(plan.order), -1, np.int32)
    number[places] = np.arange(len(places), dtype=np.int32)
    cut = first_kept(heads, plan.config.resolved_max_rules())
    lows = _lows(heads, cut, plan.config.max_antecedent)
    sizes = np.zeros(plan.config.max_antecedent, np.int64)
    for head, low in zip(heads, lows, strict=True):
        sizes[: len(head.sizes)] += np.array(head.sizes) - low[: len(head.sizes)]
    levels = [_empty_level(size) for size in sizes.tolist()]
    done = np.zeros(plan.config.max_antecedent + 1, np.int64)
    for head, low in zip(heads, lows, strict=True):
        done = _fill(levels, head, low, number, done)
    for level, below in zip(levels, [*sizes[1:].tolist(), 0], strict=True):
        level.starts[-1] = below
    root = root_of(plan.class_counts, len(places))
    return Antecedents((root, *levels), plan.order[places], cut == 0)


def _empty_level(size: int) -> Level:
    numbers, counts = np.empty((2, size), np.int32), np.empty((2, size), np.int64)
    return Level._make((*numbers, *counts, np.zeros(size + 1, np.int64)))


def _lows(heads: Sequence[Head], cut: int, max_antecedent: int) -> list[Ints]:
    """Return per file and length the first antecedent that is kept: all of one item are."""
    lows: list[Ints] = []
    offset = 0
    for head in heads:
        node = min(max(cut - offset, 0), len(head.items))
        low = np.zeros(max_antecedent + 1, np.int64)
        if node:
            with opened(head.path) as archive:
                for size in range(1, len(head.sizes)):
                    node = int(archive[f"starts_{size}"][node])
                    low[size] = node
        lows.append(low)
        offset += len(head.items)
    return lows


def _fill(levels: Sequence[Level], head: Head, low: Ints, number: Numbers, done: Ints) -> Ints:
    """Write a file's antecedents after those that are done; return how many are done then."""
    after = done.copy()
    with opened(head.path) as archive:
        for k, size in enumerate(head.sizes):
            begin, stop = int(done[k]), int(done[k] + size - low[k])
            part = slice(low[k], None)
            levels[k].items[begin:stop] = number[archive[f"items_{k + 1}"][part]]
            for name in _FIELDS[1:-1]:
                getattr(levels[k], name)[begin:stop] = archive[f"{name}_{k + 1}"][part]
            starts = np.maximum(archive[f"starts_{k + 1}"][low[k] : -1], low[k + 1]) - low[k + 1]
            levels[k].starts[begin:stop] = starts + done[k + 1]
            after[k] = stop
    return after
