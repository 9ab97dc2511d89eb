"""The walk against plain Python that counts everything anew, and what must hold of it."""

import hashlib
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shortcut_miner.diagnostics.resplit.config import ResplitConfig
from shortcut_miner.diagnostics.resplit.walk import Key, coverage, walk_groups, walk_order

TYPES = ("is", "what is", "how many", "")
ANSWERS = ("yes", "no", "a red cat", "red", "2", "cat  dog")
groups = st.dictionaries(
    st.tuples(st.sampled_from(TYPES), st.sampled_from(ANSWERS)), st.integers(1, 9), min_size=1
)
shares = st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1, 20)])


def plain_walk(keys: Sequence[Key], sizes: Sequence[int], order: Sequence[int], share: Fraction) -> list[str]:
    """Return "walk", "cover" or "rest" of each group, by the words of the card."""
    words = [{word for value in key for word in value.split(" ") if word} for key in keys]
    sides: dict[int, str] = {}
    uncovered: set[str] = set()
    for group in order:
        tested = sum(sizes[one] for one, side in sides.items() if side == "walk")
        if tested >= share * sum(sizes):
            break
        if group in sides:
            continue
        sides[group] = "walk"
        trained = {word for one, side in sides.items() if side == "cover" for word in words[one]}
        uncovered |= words[group] - trained
        left = [one for one in range(len(keys)) if one not in sides and words[one] & uncovered]
        if left:
            best = min(left, key=lambda one: (-len(words[one] & uncovered), -sizes[one], keys[one]))
            sides[best] = "cover"
            uncovered -= words[best]
    return [sides.get(group, "rest") for group in range(len(keys))]


@given(sizes_of=groups, share=shares, seed=st.integers(0, 5))
def test_the_walk_is_that_of_plain_python(sizes_of: dict[Key, int], share: Fraction, seed: int) -> None:
    keys, sizes = [*sizes_of], [*sizes_of.values()]
    order = random.Random(seed).sample(range(len(keys)), len(keys))
    walked = walk_groups(keys, np.array(sizes), order, share)
    assert walked.reason == plain_walk(keys, sizes, order, share)
    assert walked.is_test.tolist() == [reason == "walk" for reason in walked.reason]
    assert [order[place] for place in walked.position] == [*range(len(keys))] or len(keys) > 0
    assert [walked.position.tolist()[group] for group in order] == [*range(len(keys))]
    tested = [group for group in order if walked.is_test[group]]
    rows = sum(sizes[group] for group in tested)
    assert rows - sizes[tested[-1]] < share * sum(sizes)
    if "rest" in walked.reason:
        assert rows >= share * sum(sizes)


@given(sizes_of=groups, share=shares, order=st.sampled_from(["hash", "name", "size"]), seed=st.integers(0, 3))
def test_the_order_in_which_groups_come_changes_nothing(
    sizes_of: dict[Key, int], share: Fraction, order: str, seed: int
) -> None:
    found = []
    for shuffle in (0, 1):
        keys = random.Random(shuffle).sample([*sizes_of], len(sizes_of))
        sizes = np.array([sizes_of[key] for key in keys])
        walked = walk_groups(keys, sizes, walk_order(keys, sizes, order, seed), share)  # type: ignore[arg-type]
        found.append(dict(zip(keys, zip(walked.position.tolist(), walked.reason, strict=True), strict=True)))
    assert found[0] == found[1]


def test_orders() -> None:
    keys, sizes = [("is", "yes"), ("is", "no"), ("what", "2")], np.array([5, 7, 7])
    assert walk_order(keys, sizes, "name", 0) == [1, 0, 2]
    assert walk_order(keys, sizes, "size", 0) == [1, 2, 0]
    digests = [hashlib.blake2b(f"3\x1f{a}\x1f{b}".encode(), digest_size=8).digest() for a, b in keys]
    assert walk_order(keys, sizes, "hash", 3) == sorted(range(3), key=lambda group: digests[group])


@given(sizes_of=groups, data=st.data())
def test_coverage_is_that_of_plain_python(sizes_of: dict[Key, int], data: st.DataObject) -> None:
    keys, sizes = [*sizes_of], np.array([*sizes_of.values()])
    is_test = np.array(data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys))), np.bool_)
    words = [{*" ".join(key).split()} for key in keys]
    trained = set().union(*(some for some, test in zip(words, is_test, strict=True) if not test))
    tested = [(word, size) for some, size, test in zip(words, sizes.tolist(), is_test, strict=True) if test
              for word in some]  # fmt: skip
    assert coverage(keys, sizes, is_test) == {
        "test_concepts": len({word for word, _ in tested}),
        "covered_concepts": len({word for word, _ in tested} & trained),
        "test_concept_rows": sum(size for _, size in tested),
        "covered_concept_rows": sum(size for word, size in tested if word in trained),
    }


def test_a_share_is_the_nearest_simple_fraction() -> None:
    for share, fraction in ((0.333333, Fraction(1, 3)), (0.25, Fraction(1, 4)), (1 / 3, Fraction(1, 3))):
        assert ResplitConfig(test_share=share).least_test == fraction
    assert ResplitConfig(test_share=0.0001).least_test == Fraction(0.0001)
