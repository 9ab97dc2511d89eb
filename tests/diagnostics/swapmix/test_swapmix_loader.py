import doctest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from diagnostics.swapmix.worlds import Tiny, draw_plan, worlds
from hypothesis import given

import shortcut_miner.diagnostics.swapmix
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig
from shortcut_miner.diagnostics.swapmix.loader import apply_all_swaps, apply_swap, apply_swaps, swap_matrices
from shortcut_miner.errors import ConfigError

SIZE, DIMENSIONS = 6, 4


def features_of(image: str) -> Any:
    seed = int.from_bytes(image.encode(), "little")
    return np.random.default_rng(seed).normal(size=(SIZE, DIMENSIONS))


@given(worlds())
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


SWAP: dict[str, Any] = {"region_index": 0, "donor_region_index": 0}
NULLS: dict[str, Any] = {"region_index": None, "donor_region_index": None}
PERFECT = {"kind": "class", "object_id": "1", "from_class": "dog", "to_class": "cat"}


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
        (SWAP, np.zeros((2, 3)), r"donors: got shape \(2, 3\), expected regions x 4"),
        (SWAP, np.zeros(4), r"donors: got shape \(4,\), expected regions x 4"),
        (SWAP, None, "donors: got none, expected an array or tensor of regions x 4"),
        (SWAP, [[0.0] * 4], "donors: got list, expected an array or tensor"),
        (SWAP, np.zeros((2, 4), np.float32), "donors: got numbers of type float32, expected float64"),
        ({"donor_region_index": 1}, np.zeros((2, 4)), r"row: got no region_index \('donor_region_index'\)"),
        ({}, np.zeros((2, 4)), r"row: got no region_index \(nothing\)"),
        (SWAP | {"region_index": None}, np.zeros((2, 4)), "got region_index None and donor_region_index 0"),
        (SWAP | {"region_index": 0.5}, np.zeros((2, 4)), "region_index: got 0.5, expected a whole number"),
        (SWAP | {"region_index": True}, np.zeros((2, 4)), "region_index: got True, expected a whole number"),
        (SWAP | {"region_index": -1}, np.zeros((2, 4)), "region_index: got -1 for an image with 6 rows"),
        (SWAP | {"region_index": np.zeros(2)}, np.zeros((2, 4)), r"region_index: got array\(.*whole number"),
        ([0, 0], np.zeros((2, 4)), r"row: got list, expected a row of the plan as a dictionary"),
        (PERFECT, np.zeros((2, 4)), "row: got a swap without region_index .*perfect-sight plan"),
        (PERFECT | NULLS, np.zeros((2, 4)), "row: got a swap without region_index .*perfect-sight plan"),
        (NULLS | {"to_attribute": "red"}, np.zeros((2, 4)), "Rename the object in the scene graph"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(row: Any, donors: Any, message: str) -> None:
    for kind in (ConfigError, ValueError):
        with pytest.raises(kind, match=message):
            apply_swap(np.zeros((SIZE, DIMENSIONS)), row, donors)


@pytest.mark.parametrize("shape", [(DIMENSIONS,), (2, SIZE, DIMENSIONS)])
def test_one_image_is_no_batch(shape: tuple[int, ...]) -> None:
    donors = np.zeros((SIZE, DIMENSIONS))
    told = rf"features: got shape \({', '.join(map(str, shape))},?\), expected regions x dimensions"
    with pytest.raises(ValueError, match=told):
        apply_swap(np.zeros(shape), SWAP, donors)
    with pytest.raises(ValueError, match=told):
        apply_swap(np.zeros(shape), None, None)
    with pytest.raises(ValueError, match=told):
        apply_all_swaps(np.zeros(shape), [SWAP], donors[:1])


@pytest.mark.parametrize(
    ("features", "rows", "donors", "message"),
    [
        ((2, 6, 4), 1, (2, 4), "rows: got 1 for 2 images, expected one for each image of the batch"),
        ((2, 6, 4), 2, (1, 4), r"donor_rows: got shape \(1, 4\), expected 2 x 4"),
        ((2, 6, 4), 2, (4,), r"donor_rows: got shape \(4,\), expected 2 x 4"),
        ((2, 6, 4), 2, (2, 6, 4), r"donor_rows: got shape \(2, 6, 4\), expected 2 x 4"),
        ((6, 4), 2, (2, 4), r"features: got shape \(6, 4\), expected batch x regions x dimensions"),
    ],
)
def test_batches_that_do_not_fit_are_refused(features: Any, rows: int, donors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_swaps(np.zeros(features), [SWAP] * rows, np.zeros(donors))


def test_a_row_of_a_batch_is_named() -> None:
    features, donors = np.zeros((2, SIZE, DIMENSIONS)), np.ones((2, DIMENSIONS))
    with pytest.raises(ValueError, match=r"rows\[1\]: got no region_index"):
        apply_swaps(features, [SWAP, {}], donors)
    with pytest.raises(ValueError, match=r"rows\[1\], region_index: got 9 for an image with 6 rows"):
        apply_swaps(features, [None, SWAP | {"region_index": 9}], donors)
    with pytest.raises(ValueError, match="rows: got dict, expected a list of rows"):
        apply_swaps(features, SWAP, donors)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="donor_rows: got numbers of type int64, expected float64"):
        apply_swaps(features, [None, SWAP], donors.astype(np.int64))


def test_several_swaps_take_a_donor_each() -> None:
    features, rows = np.zeros((SIZE, DIMENSIONS)), [{"region_index": 0}, {"region_index": 2}]
    with pytest.raises(ValueError, match=r"donor_rows: got shape \(1, 4\), expected 2 x 4"):
        apply_all_swaps(features, rows, np.ones((1, DIMENSIONS)))
    with pytest.raises(ValueError, match=r"donor_rows: got shape \(3, 4\), expected 2 x 4"):
        apply_all_swaps(features, rows, np.ones((3, DIMENSIONS)))
    with pytest.raises(ValueError, match="got 2 as region_index of several rows, expected each region once"):
        apply_all_swaps(features, [rows[1], rows[1]], np.ones((2, DIMENSIONS)))
    with pytest.raises(ValueError, match=r"rows\[0\], region_index: got None"):
        apply_all_swaps(features, [NULLS], np.ones((1, DIMENSIONS)))
    with pytest.raises(ValueError, match=r"rows\[0\]: got a swap without region_index .*perfect-sight"):
        apply_all_swaps(features, [PERFECT], np.ones((1, DIMENSIONS)))


def test_rows_that_pandas_holds_with_nan_for_null() -> None:
    own, donors = np.zeros((SIZE, DIMENSIONS)), np.ones((SIZE, DIMENSIONS))
    original = {"region_index": float("nan"), "donor_region_index": float("nan"), "to_class": float("nan")}
    assert np.array_equal(apply_swap(own, original, None), own)
    missing = pytest.importorskip("pandas").NA
    assert np.array_equal(apply_swap(own, dict.fromkeys(original, missing), None), own)
    swapped = apply_swap(own, {"region_index": 3.0, "donor_region_index": 5.0}, donors)
    assert swapped.sum(axis=1).tolist() == [0, 0, 0, DIMENSIONS, 0, 0]


def test_matrices_of_rows() -> None:
    kept, replaced = swap_matrices(2, NULLS | {"kind": "original"})
    assert (kept.ravel().tolist(), replaced.ravel().tolist()) == ([1, 1], [0, 0])
    with pytest.raises(ValueError, match="region_index: got -1 for an image with 2 rows"):
        swap_matrices(2, {"region_index": -1})
    with pytest.raises(ValueError, match="row: got no region_index"):
        swap_matrices(2, {})
    with pytest.raises(ValueError, match="perfect-sight plan"):
        swap_matrices(2, PERFECT)


def test_rows_of_the_plan_are_mappings() -> None:
    frame = pl.DataFrame({"region_index": [1], "donor_region_index": [0]})
    swapped = apply_swap(np.zeros((2, 1)), frame.row(0, named=True), np.ones((1, 1)))
    assert swapped.ravel().tolist() == [0.0, 1.0]


def test_the_cards_example_runs() -> None:
    card = Path(str(shortcut_miner.diagnostics.swapmix.__file__)).with_name("README.md")
    ran = doctest.testfile(str(card), module_relative=False)
    assert (ran.failed, ran.attempted) == (0, 31)
