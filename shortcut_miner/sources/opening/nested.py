"""Lists of texts out of nested columns and nested JSON.

A nested value has a clear reading if it holds texts or numbers, or records with a text or number `answer`:
Hugging Face's VQA files have a list of records, or a record of lists. Everything else is refused.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shortcut_miner.sources.opening.ids import number_text, plain_text

ANSWER = "answer"
TEXTS = pl.List(pl.String)
_HALF_A_PAIR = re.compile(r"[\ud800-\udfff]")  # Python has such texts, nobody else
MAX_RECORD_KINDS = 256  # answer_record_key is UInt8


class NoListError(ValueError):
    """A value that can't be read as a list of texts; its text is that of the part that can't."""


# ---- typed columns ----


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a type holds text."""
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def holds_texts(dtype: pl.DataType) -> bool:
    """Return whether a nested column can be read as lists of texts."""
    if isinstance(dtype, pl.Struct):
        field = _answer_type(dtype)
        return isinstance(field, pl.List | pl.Array) and _is_plain(_inner(field))
    if not isinstance(dtype, pl.List | pl.Array):
        return False
    inner = _inner(dtype)
    return _is_plain(_answer_type(inner) if isinstance(inner, pl.Struct) else inner)


def unpacked(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a column for which :func:`holds_texts` as List[String]; of records their answers."""
    if isinstance(dtype, pl.Struct):
        column, dtype = column.struct.field(ANSWER), _answer_type(dtype)
    inner, element = _inner(dtype), pl.element()
    if isinstance(inner, pl.Struct):
        inner, element = _answer_type(inner), element.struct.field(ANSWER)
    listed = column.arr.to_list() if isinstance(dtype, pl.Array) else column
    return listed.list.eval(number_text(element, inner)).cast(TEXTS)


def record_keys(column: pl.Series) -> pl.Series:
    """Return the records of a nested column numbered by their fields but `answer`, as List[UInt8].

    Null where all of a row differ, and where there are no records: see ``Questions.answer_record_key``.

    Raises
    ------
    NoListError
        A row with more kinds of records than the key can number, some of them twice.
    """
    table = pl.DataFrame({"row": pl.int_range(len(column), eager=True), "records": column})
    dtype = column.dtype
    if isinstance(dtype, pl.Struct):
        lists = [one.name for one in dtype.fields if isinstance(one.dtype, pl.List | pl.Array)]
        records = table.select("row", *(pl.col("records").struct.field(name) for name in lists))
        records = records.explode(lists)
    elif isinstance(dtype, pl.List | pl.Array) and isinstance(_inner(dtype), pl.Struct):
        records = table.explode("records").unnest("records")
    else:
        return pl.Series([None], dtype=pl.List(pl.UInt8)).new_from_index(0, len(column))
    others = [name for name in records.columns if name not in ("row", ANSWER)]
    kinds = (
        records.with_row_index("at")
        .group_by("row", *others, maintain_order=True)
        .agg("at")
        .with_columns(kind=pl.int_range(pl.len()).over("row"))
        .explode("at")
        .sort("at")
        .group_by("row", maintain_order=True)
        .agg("kind")
        .filter(pl.col("kind").list.n_unique() < pl.col("kind").list.len())
    )
    if len(kinds) and kinds["kind"].list.max().max() >= MAX_RECORD_KINDS:  # type: ignore[operator]
        raise NoListError(f"more than {MAX_RECORD_KINDS} kinds of answer records, some of them twice")
    keyed = table.join(kinds, on="row", how="left", validate="1:1", maintain_order="left")
    return keyed["kind"].cast(pl.List(pl.UInt8))


def _is_plain(dtype: pl.DataType | None) -> bool:
    return dtype is not None and (is_text(dtype) or dtype.is_numeric() or dtype == pl.Null)


def _answer_type(dtype: pl.Struct) -> Any:
    return next((one.dtype for one in dtype.fields if one.name == ANSWER), None)


def _inner(dtype: Any) -> Any:
    return dtype.inner


# ---- JSON ----


def listed_texts(value: object) -> list[str | None]:
    """Return a JSON value that is a list, or a record of lists, as texts; of records their answers.

    >>> listed_texts(["a", 2.0, None]), listed_texts([{"answer": "b", "answer_id": 1}])
    (['a', '2', None], ['b'])

    Raises
    ------
    NoListError
        Anything else: what it is.
    """
    if isinstance(value, dict) and isinstance(value.get(ANSWER), list):
        value = value[ANSWER]
    if not isinstance(value, list):
        raise NoListError(repr(value))
    return [_plain_text(one.get(ANSWER, one) if isinstance(one, dict) else one) for one in value]


def _plain_text(one: object) -> str | None:
    is_plain = one is None or (isinstance(one, str | int | float) and not isinstance(one, bool))
    if not is_plain or (isinstance(one, str) and _HALF_A_PAIR.search(one)):
        raise NoListError(repr(one))
    return None if one is None else plain_text(one)  # type: ignore[arg-type]


def listed_keys(value: object) -> list[int] | None:
    """Return the record key of one JSON value: see :func:`record_keys`."""
    if isinstance(value, dict):
        lists = {name: listed for name, listed in value.items() if isinstance(listed, list)}
        size = len(lists.get(ANSWER, ()))
        value = [
            {name: listed[at] for name, listed in lists.items() if at < len(listed)} for at in range(size)
        ]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    return numbered_records(value)


def numbered_records(records: Sequence[Mapping[str, Any]]) -> list[int] | None:
    """Return answer records numbered by their fields but `answer`; null if all differ.

    Raises
    ------
    NoListError
        As :func:`record_keys`.
    """
    kinds: list[dict[str, object]] = []
    numbers = []
    for record in records:
        others = {name: value for name, value in record.items() if name != ANSWER}
        if others not in kinds:
            kinds.append(others)
        numbers.append(kinds.index(others))
    if len(kinds) == len(numbers):
        return None
    if len(kinds) > MAX_RECORD_KINDS:
        raise NoListError(f"{len(kinds)} kinds of answer records, some of them twice")
    return numbers
