import doctest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.swapmix.worlds import Tiny, draw_plan, worlds
from hypothesis import given, settings

import shortcut_miner.diagnostics.swapmix
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig
from shortcut_miner.diagnostics.swapmix.loader import apply_all_swaps, apply_swap, apply_swaps, swap_matrices
from shortcut_miner.errors import ConfigError

SIZE, DIMENSIONS = 6, 4


def features_of(image: str) -> Any:
    seed = int.from_bytes(image.encode(), "little")
    return np.random.default_rng(seed).normal(size=(SIZE, DIMENSIONS))


@given(worlds())
@settings(max_examples=40, deadline=None)
def test_exactly_one_region_differs_and_it_is_the_papers_form(world: Tiny) -> None:
    plan = draw_plan(world.inputs(), SwapMixConfig(k=2))["swaps.parquet"]
    for row in plan.iter_rows(named=True):
        own = features_of(row["image_id"])
        if row["kind"] == "original":
            assert np.array_equal(apply_swap(own, row, None), own)
            continue
        donors = features_of(row["donor_image_id"])
        swapped = apply_swap(own, row, donors)
        assert np.flatnonzero((swapped != own).any(axis=1)).tolist() == [row["region_index"]]
        kept, replaced = swap_matrices(SIZE, row)
        from_donor = np.broadcast_to(donors[row["donor_region_index"]], own.shape)
        assert np.array_equal(swapped, own * kept + from_donor * replaced)
        assert np.array_equal(own, features_of(row["image_id"]))


def rows_and_features() -> tuple[list[Any], Any, Any]:
    rows = [
        {"region_index": 2, "donor_region_index": 1},
        {"region_index": None, "donor_region_index": None},
        None,
        {"region_index": 0, "donor_region_index": 5},
    ]
    rng = np.random.default_rng(0)
    return rows, rng.normal(size=(4, SIZE, DIMENSIONS)), rng.normal(size=(4, DIMENSIONS))


def test_a_batch_is_its_rows() -> None:
    rows, features, donors = rows_and_features()
    swapped = apply_swaps(features, rows, donors)
    for place, row in enumerate(rows):
        expected = features[place].copy()
        if row is not None and row["region_index"] is not None:
            expected[row["region_index"]] = donors[place]
        assert np.array_equal(swapped[place], expected)


def test_a_training_row_set_replaces_all_its_regions() -> None:
    _, features, donors = rows_and_features()
    swapped = apply_all_swaps(features[0], [{"region_index": 4}, {"region_index": 1}], donors[:2])
    assert np.array_equal(swapped[[4, 1]], donors[:2])
    assert np.array_equal(swapped[[0, 2, 3, 5]], features[0][[0, 2, 3, 5]])
    assert np.array_equal(apply_all_swaps(features[0], [], donors[:0]), features[0])


def test_torch_tensors_work_as_arrays_do() -> None:
    torch = pytest.importorskip("torch")
    rows, features, donors = rows_and_features()
    given_features, given_donors = torch.from_numpy(features), torch.from_numpy(donors)
    swapped = apply_swaps(given_features, rows, given_donors)
    assert torch.equal(swapped, torch.from_numpy(apply_swaps(features, rows, donors)))
    assert torch.equal(given_features, torch.from_numpy(features))
    one = apply_swap(given_features[0], rows[0], given_features[1])
    assert torch.equal(one, torch.from_numpy(apply_swap(features[0], rows[0], features[1])))
    several = apply_all_swaps(given_features[0], [{"region_index": 4}], given_donors[:1])
    assert torch.equal(several[4], given_donors[0])


class Tensor:
    """What a torch tensor has and an array lacks, and the other way round, around an array."""

    def __init__(self, values: Any) -> None:
        self.values, self.shape = values, values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> "Tensor":
        return Tensor(self.values[place])

    def __setitem__(self, place: Any, value: "Tensor") -> None:
        self.values[place] = value.values

    def clone(self) -> "Tensor":
        return Tensor(self.values.copy())


def test_only_what_tensors_have_is_used() -> None:
    rows, features, donors = rows_and_features()
    swapped = apply_swaps(Tensor(features), rows, Tensor(donors))
    assert np.array_equal(swapped.values, apply_swaps(features, rows, donors))
    one = apply_swap(Tensor(features[0]), rows[0], Tensor(features[1]))
    assert np.array_equal(one.values, apply_swap(features[0], rows[0], features[1]))


@pytest.mark.parametrize(
    ("row", "donors", "message"),
    [
        ({"region_index": 9, "donor_region_index": 0}, np.zeros((2, 4)), "region_index: got 9"),
        ({"region_index": 0, "donor_region_index": 2}, np.zeros((2, 4)), "donor_region_index: got 2"),
        ({"region_index": 0, "donor_region_index": 0}, np.zeros((2, 3)), "same number of dimensions"),
        ({"region_index": 0, "donor_region_index": 0}, None, "donors: got none"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(row: dict[str, int], donors: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        apply_swap(np.zeros((SIZE, DIMENSIONS)), row, donors)
    with pytest.raises(ConfigError, match="expected one of each per question"):
        apply_swaps(np.zeros((2, SIZE, DIMENSIONS)), [row], np.zeros((2, DIMENSIONS)))


def test_rows_of_the_plan_are_mappings() -> None:
    frame = pl.DataFrame({"region_index": [1], "donor_region_index": [0]})
    swapped = apply_swap(np.zeros((2, 1)), frame.row(0, named=True), np.ones((1, 1)))
    assert swapped.ravel().tolist() == [0.0, 1.0]


def test_the_cards_example_runs() -> None:
    card = Path(str(shortcut_miner.diagnostics.swapmix.__file__)).with_name("README.md")
    ran = doctest.testfile(str(card), module_relative=False)
    assert (ran.failed, ran.attempted) == (0, 5)
