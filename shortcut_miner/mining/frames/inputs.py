"""Transactions and answers in the forms people have them: lists, columns, one-hot frames, matrices.

All become the list columns ``words``, ``objects`` and ``attributes``, and an ``answer`` column. pandas and
SciPy are only looked at if the caller has imported them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from shortcut_miner.encoding import null_items, string_lists
from shortcut_miner.errors import ConfigError, SchemaError, examples
from shortcut_miner.mining.frames.onehot import from_onehot, is_onehot, is_pandas
from shortcut_miner.transactions import KINDS

# A list of lists of str, a Polars or pandas Series of lists, a Polars or pandas DataFrame, a 2-D NumPy
# array or a SciPy sparse matrix. No union: types of libraries that may be missing are Any to a checker.
TransactionsLike: TypeAlias = Any
# A list of str or int (or of lists of these), a Polars or pandas Series, a NumPy array, or a column's name.
AnswersLike: TypeAlias = Any

_TEXT = (pl.String, pl.Categorical, pl.Enum)


def read_items(transactions: TransactionsLike, item_names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return words and objects, List[String] (null = none of that kind), one row a transaction.

    There are attributes too if `transactions` have them.

    See :func:`shortcut_miner.mining.frames.tables.mine_rules` for what `transactions` can be, and for the
    errors.
    """
    kinds = _list_columns(transactions)
    if not kinds and is_onehot(transactions):
        kinds = {"words": from_onehot(transactions, item_names)}
    elif item_names is not None:
        raise ConfigError(
            "item_names: got names for transactions that name their items, expected them for matrices only. "
            "Leave item_names out."
        )
    kinds = kinds or {"words": _read_lists(transactions, "transactions", null_is_none=False)}
    rows = len(next(iter(kinds.values())))
    nothing = pl.Series([None], dtype=pl.List(pl.String)).new_from_index(0, rows)
    return pl.DataFrame({"words": nothing, "objects": nothing} | kinds)


def split_answers(
    transactions: TransactionsLike, answers: AnswersLike
) -> tuple[TransactionsLike, AnswersLike]:
    """Return the transactions without their answer column, and that column, if `answers` names one."""
    if not isinstance(answers, str):
        return transactions, answers
    if not (isinstance(transactions, pl.DataFrame) or is_pandas(transactions, "DataFrame")):
        raise ConfigError(
            f"answers: got the text {answers!r}, expected one answer a row, or the name of a DataFrame's "
            "column. Pass a list."
        )
    if answers not in transactions.columns:
        raise ConfigError(
            f"answers: got {answers!r}, expected one of the columns "
            f"{examples(map(str, transactions.columns))}. Name the column of answers."
        )
    if isinstance(transactions, pl.DataFrame):
        return transactions.drop(answers), transactions[answers]
    return transactions.drop(columns=answers), transactions[answers]


def read_answers(answers: AnswersLike, rows: int, *, allow_lists: bool = False) -> pl.Series:
    """Return answers as String[rows], or as List[String][rows] if each row may have several right ones."""
    expected = "text or whole numbers" + (", or lists of these" if allow_lists else "")
    column = _column(answers, "answers", expected)
    inner = column.dtype.inner if allow_lists and isinstance(column.dtype, pl.List) else column.dtype
    if len(column) != rows:
        raise ConfigError(
            f"transactions: got {rows:,} rows and {len(column):,} answers, expected one answer a row. "
            "Pass lists of equal length."
        )
    nulls = column.is_null()
    if column.dtype != inner:
        nulls |= column.list.eval(pl.element().is_null()).list.any()
    _check_nulls(nulls, "answers")
    if not _is_name(inner):
        raise SchemaError(f"answers: got type {inner}, expected {expected}. Turn them into text.")
    return column.cast(pl.String if column.dtype == inner else pl.List(pl.String)).alias("answer")


def _list_columns(transactions: TransactionsLike) -> dict[str, pl.Series]:
    """Return the list columns words, objects and attributes of a frame, as far as it has them."""
    if isinstance(transactions, pl.DataFrame):
        kinds = [kind for kind in KINDS if isinstance(transactions.schema.get(kind), pl.List | pl.Array)]
    elif is_pandas(transactions, "DataFrame"):
        kinds = [kind for kind in KINDS if kind in transactions.columns and _may_be_lists(transactions[kind])]
    else:
        return {}
    return {kind: _read_lists(transactions[kind], kind, null_is_none=True) for kind in kinds}


def _may_be_lists(column: Any) -> bool:
    """Say whether a pandas column is one of objects, and not of True/False or numbers alone."""
    from pandas.api.types import infer_dtype

    kind = infer_dtype(column, skipna=True)
    return bool(column.dtype == object) and kind not in ("boolean", "integer", "floating")


def _read_lists(values: Any, what: str, *, null_is_none: bool) -> pl.Series:
    """Return List[String] from a column of lists or an iterable of iterables."""
    if not isinstance(values, pl.Series):
        values = _listed(values, what, null_is_none)
    elif not (isinstance(values.dtype, pl.List | pl.Array) and _is_name(values.dtype.inner)):
        raise SchemaError(
            f"{what}: got type {values.dtype}, expected lists of text or whole numbers. "
            "Turn the items into text."
        )
    else:
        _check_not_onehot(values.explode(), what)
    if not null_is_none:
        _check_nulls(values.is_null(), what)
    lists: pl.Series = values.cast(pl.List(pl.String))
    _check_nulls(lists.list.eval(pl.element().is_null()).list.any(), f"items of {what}")
    return lists


def _check_not_onehot(items: pl.Series, what: str) -> None:
    """Raise for rows of nothing but 0 and 1, which are a one-hot matrix rather than items of these names."""
    if items.dtype.is_integer() and len(items) > items.null_count() and items.is_in([0, 1]).all():
        raise SchemaError(
            f"{what}: got lists of nothing but 0 and 1, expected items. Pass a one-hot matrix as a NumPy "
            "array or a DataFrame; turn items that have these names into text."
        )


def _listed(values: Any, what: str, null_is_none: bool) -> pl.Series:
    is_listed = isinstance(values, Iterable) and not isinstance(values, str | bytes | pl.LazyFrame)
    if not is_listed:
        raise SchemaError(
            f"{what}: got {type(values).__name__}, expected rows of items: lists of text, a one-hot frame or "
            "a matrix. Pass one of these."
        )
    rows: list[Any] = [list(row) if isinstance(row, Iterator) else row for row in values]
    missing = [
        row is None or (null_is_none and row != row) for row in rows
    ]  # pandas' NaN differs from itself
    wrong = [
        k
        for k, (row, is_missing) in enumerate(zip(rows, missing, strict=True))
        if not is_missing and (isinstance(row, str | bytes) or not isinstance(row, Iterable))
    ]
    if wrong:
        raise SchemaError(
            f"{what}: got {type(rows[wrong[0]]).__name__} for row {wrong[0]:,}, expected a list of items in "
            "each row. Split texts into words first."
        )
    present = [() if is_missing else row for row, is_missing in zip(rows, missing, strict=True)]
    expected = "text or whole numbers"
    flat = _column(list(chain.from_iterable(present)), f"items of {what}", expected)
    if not _is_name(flat.dtype):
        raise SchemaError(
            f"items of {what}: got type {flat.dtype}, expected {expected}. Turn them into text."
        )
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in present], out=offsets[1:])
    _check_not_onehot(flat, what)
    lists = string_lists(offsets, np.arange(len(flat), dtype=np.int32), flat.cast(pl.String))
    return lists.zip_with(~pl.Series(missing, dtype=pl.Boolean), lists.clear(1))


def _column(values: Any, what: str, expected: str) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    listed = values
    if is_pandas(values, "Series"):  # its missing values may be NaN among texts
        listed = values.astype(object).where(values.notna(), None).to_list()
    if not isinstance(listed, Iterable) or isinstance(listed, str | bytes):
        raise SchemaError(
            f"{what}: got {type(values).__name__}, expected {expected}. Pass a list or a column."
        )
    try:
        return pl.Series(list(listed))
    except (TypeError, pl.exceptions.PolarsError):
        kinds = sorted({type(value).__name__ for value in listed})
        raise SchemaError(
            f"{what}: got values of type {', '.join(kinds)}, expected {expected}. Turn them into text."
        ) from None


def _is_name(dtype: Any) -> bool:
    """Say whether values of a type can name items or answers: text or whole numbers."""
    return dtype in (*_TEXT, pl.Null) or bool(dtype.is_integer())


def _check_nulls(is_null: pl.Series, what: str) -> None:
    rows = is_null.fill_null(False).arg_true()
    if len(rows):
        raise null_items(what, rows)
