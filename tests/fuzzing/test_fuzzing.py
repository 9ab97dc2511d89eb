"""Damaged and hostile files of every format end in tables, counted skips, or one message that names the file.

A small part of what ``.ci/slow`` runs (:mod:`fuzzing.campaign`); docs/hostile_inputs.md has the last result.
"""

import random
from pathlib import Path

import pytest
from fuzzing.campaign import campaign
from fuzzing.cases import Target, outcome, targets
from fuzzing.mutants import mutant
from fuzzing.world import write_world

CASES = 250


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzzing")
    write_world(folder)
    return folder


def test_no_damaged_file_ends_in_anything_but_our_own_words(world: Path) -> None:
    *others, counts = campaign(range(CASES), 0, world)
    assert others == []
    assert sum(counts["counts"].values()) == CASES
    assert min(counts["counts"][kind] for kind in ("read", "refused", "rows skipped")) > CASES // 100


def raising(error: BaseException) -> Target:
    def read(path: Path) -> None:
        raise error

    return Target("a reader", b"[1]", read)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError("no"), "bare system error"),
        (MemoryError(), "bare system error"),
        (KeyError("x"), "traceback"),
        (RecursionError(), "traceback"),
    ],
)
def test_what_should_not_happen_is_seen(error: BaseException, kind: str, world: Path, tmp_path: Path) -> None:
    assert outcome(raising(error), b"[1]", world, tmp_path / "scratch").kind == kind


def test_every_file_is_changed_the_same_way_for_a_seed(world: Path) -> None:
    for target in targets(world):
        twice = [mutant(target.whole, random.Random(target.name)) for _ in range(2)]
        assert twice[0] == twice[1]
