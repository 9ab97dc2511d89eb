"""Columns of lists built from one flat column: ten times faster than from Python lists of lists."""

from collections.abc import Sequence
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import ArrayLike

from shortcut_miner.columnar import arrow_series


def list_column(flat: pl.Series, lengths: ArrayLike, is_null: ArrayLike | None = None) -> pl.Series:
    """Return a List column whose rows are consecutive pieces of `flat`.

    Parameters
    ----------
    flat : pl.Series
        All values, row after row.
    lengths : array_like of int
        How many values each row has.
    is_null : array_like of bool, optional
        Rows that are null; their length must be 0.

    Examples
    --------
    >>> list_column(pl.Series([1, 2, 3]), [2, 0, 1], [False, True, False]).to_list()
    [[1, 2], None, [3]]
    """
    offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(np.int64)
    # Through Polars: pa.array of NumPy values loads pandas, if it is installed.
    mask = None if is_null is None else pl.Series(np.asarray(is_null, np.bool_)).to_arrow()
    values = flat.to_arrow(compat_level=pl.CompatLevel.oldest())
    return arrow_series(pa.LargeListArray.from_arrays(pl.Series(offsets).to_arrow(), values, mask=mask))


def are_text_lists(values: Sequence[Any]) -> bool:
    """Return whether JSON values are lists of texts, or null.

    >>> are_text_lists([["a"], None]), are_text_lists([["a"], [1]]), are_text_lists(["a"])
    (True, False, False)
    """
    if not {*map(type, values)} <= {list, NoneType}:
        return False
    return {*map(type, chain.from_iterable(filter(None, values)))} <= {str}


def text_lists(lists: Sequence[Sequence[str] | None]) -> pl.Series:
    """Return lists of text, some of them null, as a List[String] column.

    >>> text_lists([["a", "b"], None, []]).to_list()
    [['a', 'b'], None, []]
    """
    given = [listed or () for listed in lists]
    flat = list(chain.from_iterable(given))
    lengths = np.fromiter(map(len, given), np.int64, len(given))
    is_null = [listed is None for listed in lists] if NoneType in {*map(type, lists)} else None
    return list_column(pl.Series(flat, dtype=pl.String), lengths, is_null)
