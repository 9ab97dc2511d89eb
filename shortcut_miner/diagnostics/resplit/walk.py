"""Which groups of questions are tested, and which are trained on: greedily, and none on both sides.

Agrawal et al., "Don't Just Assume; Look and Answer" (CVPR 2018), section 3: groups go to the test one after
another; for each, the training set takes the group that covers most of what the test has and training lacks.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.diagnostics.resplit.config import Order

Ints = NDArray[np.int64]
Key = tuple[str, ...]

_BETWEEN = "\x1f"


@dataclass(frozen=True, slots=True)
class Walked:
    """What the walk decided, a value a group.

    Attributes
    ----------
    position : int64[groups]
        Place in the order of the walk.
    is_test : bool[groups]
    reason : list of str
        "walk" (taken for the test), "cover" (taken for training, to cover the test) or "rest" (training).
    """

    position: Ints
    is_test: NDArray[np.bool_]
    reason: list[str]


def walk_order(keys: Sequence[Key], sizes: Ints, order: Order, seed: int) -> list[int]:
    """Return the groups in the order of the walk.

    "hash": by BLAKE2b (8 bytes) of the seed and the key's values with U+001F between them; "size": those with
    most rows first; ties, and "name", by the key's values.
    """
    places = range(len(keys))
    if order == "name":
        return sorted(places, key=lambda group: keys[group])
    if order == "size":
        return sorted(places, key=lambda group: (-sizes[group], keys[group]))
    return sorted(places, key=lambda group: (_digest(keys[group], seed), keys[group]))


def _digest(key: Key, seed: int) -> bytes:
    return hashlib.blake2b(_BETWEEN.join([str(seed), *key]).encode(), digest_size=8).digest()


def concepts_of(key: Key) -> frozenset[str]:
    """Return the distinct words between blanks of a key's values.

    >>> sorted(concepts_of(("what color is", "dark red")))
    ['color', 'dark', 'is', 'red', 'what']
    """
    return frozenset(word for value in key for word in value.split())


def walk_groups(keys: Sequence[Key], sizes: Ints, order: Sequence[int], least_test: Fraction) -> Walked:
    """Return which groups are tested.

    Parameters
    ----------
    keys : sequence of tuple of str
        The values that make each group, all different.
    sizes : int64[groups]
        Rows of each.
    order : sequence of int
        The groups as they are taken.
    least_test : Fraction
        The walk ends before a group once the test has this share of all rows.
    """
    concepts = [concepts_of(key) for key in keys]
    having: dict[str, list[int]] = {}
    for group, words in enumerate(concepts):
        for word in words:
            having.setdefault(word, []).append(group)
    groups_of = {word: np.array(some) for word, some in having.items()}
    # Of groups that cover as much, the one with most rows, then by name.
    rank = np.empty(len(keys), np.int64)
    rank[sorted(range(len(keys)), key=lambda group: (-sizes[group], keys[group]))] = np.arange(len(keys))
    is_open, is_test = np.ones(len(keys), np.bool_), np.zeros(len(keys), np.bool_)
    reason = ["rest"] * len(keys)
    lacking = np.zeros(len(keys), np.int64)  # words of each group that the test has and training lacks
    uncovered, covered = set[str](), set[str]()
    wanted, tested = int(sizes.sum()) * least_test, 0
    for group in order:
        if tested >= wanted:
            break
        if not is_open[group]:
            continue
        is_open[group], is_test[group], reason[group] = False, True, "walk"
        tested += int(sizes[group])
        for word in concepts[group] - covered - uncovered:
            uncovered.add(word)
            lacking[groups_of[word]] += 1
        best = int(np.argmax(np.where(is_open, lacking * len(keys) + len(keys) - 1 - rank, -1)))
        if is_open[best] and lacking[best]:
            is_open[best], reason[best] = False, "cover"
            covered |= concepts[best]
            for word in concepts[best] & uncovered:
                uncovered.remove(word)
                lacking[groups_of[word]] -= 1
    position = np.empty(len(keys), np.int64)
    position[np.array(order, np.int64)] = np.arange(len(keys))
    return Walked(position, is_test, reason)


def coverage(keys: Sequence[Key], sizes: Ints, is_test: NDArray[np.bool_]) -> dict[str, int]:
    """Return how many concepts the test has, and how many of these training has too.

    `test_concept_rows` and `covered_concept_rows` count a concept once for each row of the test that has it.
    """
    rows = dict[str, int]()
    trained = set[str]()
    for key, size, tested in zip(keys, sizes.tolist(), is_test.tolist(), strict=True):
        if not tested:
            trained |= concepts_of(key)
            continue
        for word in concepts_of(key):
            rows[word] = rows.get(word, 0) + size
    return {
        "test_concepts": len(rows),
        "covered_concepts": sum(word in trained for word in rows),
        "test_concept_rows": sum(rows.values()),
        "covered_concept_rows": sum(count for word, count in rows.items() if word in trained),
    }
