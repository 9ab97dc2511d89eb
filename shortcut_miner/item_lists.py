"""Items of one kind, as numbers, a list a row; and the objects of images so."""

import dataclasses
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shortcut_miner.columnar import list_series


class ItemLists(NamedTuple):
    """Items of one kind: row r has ``numbers[offsets[r]:offsets[r + 1]]``.

    Attributes
    ----------
    offsets : int64[rows + 1]
    numbers : int32[items]
        Places in `names`, ascending in each row, none twice.
    names : pl.Series
        String, ascending.
    """

    offsets: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int32]
    names: pl.Series

    @classmethod
    def of(
        cls, row: npt.NDArray[np.integer], items: pl.Series, rows: int, names: pl.Series | None = None
    ) -> Self:
        """Return the items of rows, from pairs of both, without those that `names`, if given, lack."""
        names = distinct_items(items) if names is None else names
        numbers = numbers_of(items, names)
        bits = len(names).bit_length()
        keys = pl.Series((row.astype(np.int64) << bits) | numbers)
        if numbers.min(initial=0) < 0:
            keys = keys.filter(pl.Series(numbers >= 0))
        key = keys.sort().to_numpy()
        is_repeated = key[1:] == key[:-1]
        if is_repeated.any():
            key = key[np.concatenate(([True], ~is_repeated))]
        offsets = np.searchsorted(key, np.arange(rows + 1) << bits)
        return cls(offsets, (key & ((1 << bits) - 1)).astype(np.int32), names)

    @classmethod
    def of_lists(cls, lists: pl.Series, names: pl.Series | None = None) -> Self:
        """Return the items of a column of lists (List[String]; null = none)."""
        listed = lists.rename("item").to_frame().with_row_index("row")
        pairs = listed.explode("item", empty_as_null=False).drop_nulls("item")
        return cls.of(pairs["row"].to_numpy(), pairs["item"], len(lists), names)

    def taken(self, which: pl.Series) -> Self:
        """Return the rows of these numbers, with nothing in those of null."""
        lists = list_series(self.offsets, pl.Series(self.numbers).to_arrow()).gather(which)
        lengths = lists.list.len().cast(pl.Int64).fill_null(0)
        offsets = np.concatenate(([0], np.cumsum(lengths.to_numpy())))
        numbers = lists.explode(empty_as_null=False, keep_nulls=False)
        return type(self)(offsets, numbers.to_numpy(), self.names)

    def within(self, names: pl.Series) -> Self:
        """Return the items that `names` (ascending, none twice) have, in their numbers.

        >>> lists = ItemLists.of_lists(pl.Series([["a", "c"], ["b"]])).within(pl.Series(["b", "c"]))
        >>> lists.offsets.tolist(), lists.numbers.tolist()
        ([0, 1, 2], [1, 0])
        """
        if self.names.equals(names):
            return self
        numbers = numbers_of(self.names, names)[self.numbers]
        is_known = numbers >= 0
        offsets = np.concatenate(([0], np.cumsum(is_known)))[self.offsets]
        return type(self)(offsets, numbers[is_known], names)

    def with_used_names(self) -> Self:
        """Return the same items with the names that occur."""
        is_used = np.bincount(self.numbers, minlength=len(self.names)) > 0
        if is_used.all():
            return self
        renumbered = (np.cumsum(is_used) - 1).astype(np.int32)
        return type(self)(self.offsets, renumbered[self.numbers], self.names.filter(pl.Series(is_used)))


def numbers_of(strings: pl.Series, vocabulary: pl.Series) -> npt.NDArray[np.int32]:
    """Return the position of each string in `vocabulary` (unique), -1 where it is missing."""
    positions = strings.cast(pl.Enum(vocabulary), strict=False).to_physical()
    return positions.cast(pl.Int32).fill_null(-1).to_numpy()


def distinct_items(items: pl.Series | None) -> pl.Series:
    """Return the distinct strings of a column of strings or of lists, ascending."""
    if items is None:
        return pl.Series("item", [], dtype=pl.String)
    if isinstance(items.dtype, pl.List):
        items = items.filter(items.list.len() > 0).explode()
    return items.drop_nulls().unique().sort()


@dataclasses.dataclass(frozen=True)
class ImageObjects:
    """The objects of each image, found when they are first asked for.

    Attributes
    ----------
    labels : pl.DataFrame
        schemas.Labels.
    score_threshold : float
        Least detection score of an object; labels without a score count as certain.
    """

    labels: pl.DataFrame
    score_threshold: float = 0.5

    @cached_property
    def images(self) -> pl.Enum:
        """The ids of the images that have labels."""
        return pl.Enum(labelled_images(self.labels).sort())

    @cached_property
    def objects(self) -> ItemLists:
        """Their objects, in the order of the ids."""
        certain = self.labels.filter(is_certain_label(self.score_threshold))
        image = certain["image_id"].cast(self.images).to_physical().to_numpy()
        return ItemLists.of(image, certain["label"], len(self.images.categories))

    def of_images(self, ids: pl.Series, names: pl.Series | None = None) -> ItemLists:
        """Return the objects of images, those that `names`, if given, have; none for one without labels."""
        objects = self.objects if names is None else self.objects.within(names)
        return objects.taken(ids.cast(self.images, strict=False).to_physical())


def labelled_images(labels: pl.DataFrame) -> pl.Series:
    """Return the images of schemas.Labels in their order, each once."""
    runs = labels["image_id"].rle().struct.field("value")  # most have all of their rows next to each other
    return runs.unique(maintain_order=True).alias("image_id")


def certain_labels(labels: pl.DataFrame, score_threshold: float) -> pl.LazyFrame:
    """Return (image_id, item String) of schemas.Labels: each image's labels over the threshold, once each."""
    return labels.lazy().filter(is_certain_label(score_threshold)).select("image_id", item="label").unique()


def is_certain_label(score_threshold: float) -> pl.Expr:
    """Return whether a row's label is an item: there is one, and nothing says that it is unsure."""
    return pl.col("label").is_not_null() & (pl.col("score").fill_null(1.0) >= score_threshold)
