"""One id per image, however a file writes it, and what a join of two files loses."""

import re
from dataclasses import dataclass
from typing import Self

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.ids import AnyId, id_text, with_whole_ids
from shortcut_miner.sources.opening.reading import Reading

# COCO file names: a prefix with the year, or twelve digits with leading zeros (which no integer has).
_COCO = r"^(?:.*/)?(?:COCO_[A-Za-z]+\d{4}_(\d{12})|(0\d{11}))(?:\.[A-Za-z]{3,4})?$"
_SHORTEST = 12
MAX_LOST_SHARE = 0.01


def canonical_image_id(given: AnyId) -> str:
    """Return one image's id as :func:`canonical_image_ids` does.

    >>> canonical_image_id("COCO_val2014_000000000042.jpg"), canonical_image_id(7.0)
    ('42', '7')
    """
    name = id_text(given)
    found = re.search(_COCO, name) if len(name) >= _SHORTEST else None
    return (found[1] or found[2]).lstrip("0") or "0" if found else name


def canonical_image_ids(ids: pl.Series) -> tuple[pl.Series, tuple[str, ...]]:
    """Return image ids with COCO's file names shortened to COCO's numbers, and notes on it.

    "COCO_val2014_000000000042.jpg", "000000000042.jpg", "42.0" and "42" become "42". Other ids stay as they
    are, so that leading zeros of other datasets (GQA) survive.

    >>> ids, notes = canonical_image_ids(pl.Series(["COCO_val2014_000000000042.jpg", "7", "0012"]))
    >>> ids.to_list(), notes
    (['42', '7', '0012'], ('COCO image names shortened to their numbers: 1 of 3 images',))
    """
    table, notes = with_whole_ids(pl.DataFrame({"image_id": ids}), "image_id")
    ids = table["image_id"].alias(ids.name)
    shortened, count = with_short_names(ids)
    return shortened, (*notes, *([shortened_note(count, ids.drop_nulls().n_unique())] if count else []))


def with_short_names(ids: pl.Series) -> tuple[pl.Series, int]:
    """Return ids (text) with COCO's file names shortened, and how many different ones."""
    if not (ids.str.len_bytes() >= _SHORTEST).any():
        return ids, 0
    distinct = ids.drop_nulls().unique(maintain_order=True)
    shortened = distinct.to_frame("given").with_columns(
        digits=pl.coalesce(pl.col("given").str.extract(_COCO, 1), pl.col("given").str.extract(_COCO, 2))
    )
    changed = shortened.drop_nulls("digits").with_columns(
        short=pl.col("digits").str.strip_chars_start("0").replace("", "0")
    )
    if changed.is_empty():
        return ids, 0
    return ids.replace(changed["given"], changed["short"]), len(changed)


def shortened_note(changed: int, images: int) -> str:
    """Return the note on names that were shortened, of how many images."""
    return f"COCO image names shortened to their numbers: {changed:,} of {images:,} images"


def check_image_join(
    left_ids: pl.Series,
    right_ids: pl.Series,
    *,
    left: str = "questions",
    right: str = "detections",
    readings: tuple[Reading, Reading] | None = None,
) -> str | None:
    """Return a warning when more than 1% of the left rows find no image on the right, else None.

    The error names the files of `readings`, if they are given.

    Raises
    ------
    SourceError
        No row finds its image: the two files write image ids differently or belong to other datasets.
    """
    return join_warning(Lost.of(left_ids, right_ids), right_ids, left=left, right=right, readings=readings)


@dataclass(frozen=True, slots=True)
class Lost:
    """What of the rows on the left of a join finds no image on the right; parts of the rows can be added.

    Attributes
    ----------
    rows, lost : int
        All rows, and those that find none.
    ids : Series of String
        The images of the latter, each once, in the order of the rows.
    """

    rows: int
    lost: int
    ids: pl.Series

    @classmethod
    def of(cls, left_ids: pl.Series, right_ids: pl.Series) -> Self:
        """Return what is lost of rows with these image ids."""
        lost = left_ids.filter(~left_ids.is_in(right_ids.unique().implode()))
        return cls(len(left_ids), len(lost), lost.unique(maintain_order=True))

    def __add__(self, other: "Lost") -> "Lost":
        ids = pl.concat([self.ids, other.ids]).unique(maintain_order=True)
        return Lost(self.rows + other.rows, self.lost + other.lost, ids)


def join_warning(
    lost: Lost,
    right_ids: pl.Series,
    *,
    left: str,
    right: str = "detections",
    readings: tuple[Reading, Reading] | None = None,
) -> str | None:
    """Return what :func:`check_image_join` returns, or raise as it does, for what is lost."""
    if lost.lost == lost.rows:
        if not lost.rows:
            return None
        names = [f" ({one.file.name})" for one in readings] if readings else ["", ""]
        raise SourceError(
            f"{left}{names[0]} and {right}{names[1]}: got no image in common ({left} have {_some(lost.ids)}; "
            f"{right} have {_some(right_ids)}), expected the same image ids. {_advice(lost.ids, right_ids)}."
        )
    if lost.lost <= MAX_LOST_SHARE * lost.rows:
        return None
    return (
        f"{lost.lost:,} of {lost.rows:,} {left} ({lost.lost / lost.rows:.1%}) have an image that {right} "
        f"lack: {_some(lost.ids)}"
    )


def _advice(left_ids: pl.Series, right_ids: pl.Series) -> str:
    bare = [ids.str.strip_chars_start("0") for ids in (left_ids, right_ids)]
    if bare[0].is_in(bare[1].implode()).any():
        return "One of them lost leading zeros: write its image ids as text"
    return "Check that both files belong to the same dataset"


def _some(ids: pl.Series) -> str:
    return examples(ids.unique(maintain_order=True), limit=3) or "none"
