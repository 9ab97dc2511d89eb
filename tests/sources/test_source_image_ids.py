import polars as pl
import pytest

from shortcut_miner.errors import SourceError
from shortcut_miner.sources.images.image_ids import canonical_image_ids, check_image_join

SAME = [
    "42",
    "COCO_val2014_000000000042",
    "COCO_val2014_000000000042.jpg",
    "COCO_train2017_000000000042.png",
    "val2014/COCO_val2014_000000000042.jpg",
    "000000000042",
    "000000000042.jpg",
    "images/000000000042.JPEG",
]
KEPT = [
    "0042",
    "n0042",
    "00000000042",
    "0000000000042",
    "123456789012",
    "42.jpg",
    "COCO_val2014_42",
    "2370799",
    "000000000042.tar.gz",
    "x000000000042.jpg",
    "abc\n000000000042",
]


@pytest.mark.parametrize("written", SAME)
def test_forms_of_a_coco_image(written: str) -> None:
    ids, _ = canonical_image_ids(pl.Series([written]))
    assert ids.to_list() == ["42"]


@pytest.mark.parametrize("written", KEPT)
def test_other_ids_stay(written: str) -> None:
    ids, notes = canonical_image_ids(pl.Series([written, "some other id of some length"]))
    assert ids.to_list() == [written, "some other id of some length"]
    assert notes == ()


def test_notes_count_distinct_images_and_order_is_kept() -> None:
    given = pl.Series("image_id", ["000000000000", "7", "000000000010.jpg", "000000000010.jpg", None])
    ids, notes = canonical_image_ids(given)
    assert ids.to_list() == ["0", "7", "10", "10", None]
    assert ids.name == "image_id"
    assert notes == ("COCO image names shortened to their numbers: 2 of 3 images",)


def test_a_complete_join_says_nothing() -> None:
    ids = pl.Series(["1", "2", "2"])
    assert check_image_join(ids, pl.Series(["2", "1", "9"])) is None
    assert check_image_join(ids.clear(), ids) is None


@pytest.mark.parametrize(("lost", "warns"), [(1, False), (2, True)])
def test_more_than_one_percent_of_the_rows_warns(lost: int, warns: bool) -> None:
    left = pl.Series(["known"] * (100 - lost) + ["lost"] * lost)
    warning = check_image_join(left, pl.Series(["known"]), left="questions", right="labels.json")
    expected = "2 of 100 questions (2.0%) have an image that labels.json lack: 'lost'"
    assert warning == (expected if warns else None)


def test_a_join_that_loses_everything_is_an_error() -> None:
    left = pl.Series(["1", "2", "3", "4", "1"])
    with pytest.raises(SourceError) as caught:
        check_image_join(left, pl.Series(["1.jpg", "2.jpg"]), left="q.json", right="d.json")
    assert str(caught.value) == (
        "q.json and d.json: got no image in common (q.json have '1', '2', '3' and 1 more; d.json have "
        "'1.jpg', '2.jpg'), expected the same image ids. Check that both files belong to the same dataset."
    )
    with pytest.raises(SourceError, match=r"detections have none"):
        check_image_join(left, left.clear())
