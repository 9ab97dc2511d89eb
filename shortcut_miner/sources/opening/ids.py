"""One rule for ids, in every file: text, or a whole number. 1000.0 is 1000, no other float is an id.

Floats are what pandas makes of ids after a join; as text they are told by their shape.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.reading import RECORD, Problem, Reading, find_problems, is_blank

AnyId = int | float | str  # what JSON may have as an id; floats are judged by the functions below
Rising = Annotated[int, "larger than in the record before it in the list"]  # as annotators are numbered
ID_EXPECTED = "a whole number or text"
EXACT = 1 << 53  # from here on a float may be another whole number, rounded
_EXACT_IN: dict[type[pl.DataType], int] = {pl.Float32: 1 << 24, pl.Float16: 1 << 11}
# As programs write floats. Without point and sign, 2e3 may be text; from 1e16 on Polars writes it so.
_FLOAT = r"^-?\d+\.\d+(?:[eE][+-]?\d+)?$|^-?\d+[eE][+-]\d+$|^-?\d[eE](?:1[6-9]|[2-9]\d|\d{3})$"
_NO_VALUE = ("nan", "NaN", "inf", "-inf", "Infinity", "-Infinity", "None", "null", "<NA>", "NaT")
LOST_ZEROS = "ids joined that had lost leading zeros"
_ZEROS = r"^0+(\d)"


def id_text(one: AnyId) -> str:
    """Return an id as text; a whole float as its integer, other floats as they are.

    >>> id_text(7), id_text(7.0), id_text("7.0"), id_text("007"), id_text(1.5)
    ('7', '7', '7', '007', '1.5')
    """
    number = float(one) if isinstance(one, str) and re.search(_FLOAT, one) else one
    whole = plain_text(number)
    return str(one) if re.search(_FLOAT, whole) else whole


def plain_text(one: AnyId) -> str:
    """Return a value of JSON as text, a whole float without its ``.0``; text stays as it is.

    >>> plain_text(7.0), plain_text("7.0"), plain_text(1.5)
    ('7', '7.0', '1.5')
    """
    is_whole = isinstance(one, float) and one.is_integer() and abs(one) < EXACT
    return str(int(one) if is_whole else one)


def is_no_id(one: object) -> bool:
    """Return whether a value of JSON is a float, or the text of one, that is no id."""
    text = id_text(one) if isinstance(one, float | str) else ""
    return text in _NO_VALUE or bool(re.search(_FLOAT, text))


def id_column(ids: Sequence[AnyId | None]) -> pl.Series:
    """Return ids as text, floats as they are: see :func:`with_whole_ids`."""
    return pl.Series([None if one is None else str(one) for one in ids], dtype=pl.String)


def whole_text(ids: pl.Expr, exact: int = EXACT) -> pl.Expr:
    """Return texts of whole floats below `exact` as those of their integers, and others as they are."""
    number = pl.when(ids.str.contains(_FLOAT)).then(ids).cast(pl.Float64, strict=False)
    is_whole = (number == number.floor()) & (number.abs() < exact)
    return pl.when(is_whole).then(number.cast(pl.Int64, strict=False).cast(pl.String)).otherwise(ids)


def number_text(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a column of numbers as text, whole ones without a ``.0``."""
    if dtype.is_decimal():
        return column.cast(pl.String).str.replace(r"\.0+$", "")
    text = column.cast(pl.String)
    return whole_text(text, _EXACT_IN.get(type(dtype), EXACT)) if dtype.is_float() else text


def with_whole_ids(table: pl.DataFrame, *columns: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the table with whole floats among its ids (text) as integers, and notes on it.

    >>> table, notes = with_whole_ids(pl.DataFrame({"id": ["1000.0", "007", "1.5", "n16"]}), "id")
    >>> table["id"].to_list(), notes
    (['1000', '007', '1.5', 'n16'], ('id, floats read as whole numbers: 1',))
    """
    notes: list[str] = []
    for name in columns:
        whole, count = whole_column(table[name])
        if count:
            notes.append(f"{float_note(name)}: {count:,}")
            table = table.with_columns(whole.alias(name))
    return table, tuple(notes)


def are_whole(ids: pl.Series) -> bool:
    """Return whether all ids are integers as text, or null: so none is a float or blank, told cheaply."""
    return ids.str.to_integer(strict=False).null_count() == ids.null_count()


def whole_column(ids: pl.Series) -> tuple[pl.Series, int]:
    """Return ids with whole floats as integers, and how many there were."""
    if are_whole(ids) or not ids.str.contains(_FLOAT).any():
        return ids, 0
    whole = pl.select(whole_text(pl.lit(ids))).to_series()
    return whole.rename(ids.name), int((whole != ids).sum())


def float_note(column: str) -> str:
    """Return the words in which whole floats are counted."""
    return f"{column}, floats read as whole numbers"


def is_float(ids: pl.Expr) -> pl.Expr:
    """Return whether an id is still a float, or the text of a missing value."""
    return ids.str.contains(_FLOAT) | ids.is_in(_NO_VALUE)


def find_floats(table: pl.DataFrame, column: str, field: str | None = None) -> list[Problem]:
    """Return a problem for each id that :func:`is_float`."""
    if are_whole(table[column]):
        return []
    found = table.lazy().filter(is_float(pl.col(column))).select(RECORD, column).collect()
    return [Problem((record,), field or column, one, ID_EXPECTED) for record, one in found.iter_rows()]


def id_problems(table: pl.DataFrame, column: str, field: str | None = None) -> list[Problem]:
    """Return a problem for each id that is null, blank or a float."""
    if are_whole(table[column]) and not table[column].null_count():
        return []
    is_nothing = is_blank(column).fill_null(value=True)
    return find_problems(table, is_nothing, column, "an id", field) + find_floats(table, column, field)


# ---- leading zeros ----


def with_zeros_back(reading: Reading, known: pl.Series, column: str = "question_id") -> Reading:
    """Return a reading whose ids match those of another file, although one of both lost leading zeros.

    See :func:`zeros_back`; a note says for how many ids.
    """
    ids, pairs = zeros_back(reading.table[column], known, reading.file.name)
    if pairs.is_empty():
        return reading
    first = f"{pairs['given'][0]} is {pairs['known'][0]}"
    note = f"{LOST_ZEROS}: {len(pairs):,} ({first})"
    return replace(reading, table=reading.table.with_columns(ids), notes=(*reading.notes, note))


def zeros_back(given: pl.Series, known: pl.Series, file: str) -> tuple[pl.Series, pl.DataFrame]:
    """Return ids as another file has them, although one of both lost leading zeros, and which changed.

    GQA's id "02930152" is 2930152 after a program that took it for a number. Ids that match as they are stay
    so; the others become the one known id that is missing and differs in zeros only. Where both sides have
    ids with leading zeros, neither lost them, and nothing changes.

    Parameters
    ----------
    given, known : pl.Series
        Ids (String); the same ones may come several times.
    file : str
        What `given` are from, for messages.

    Returns
    -------
    ids : pl.Series
    pairs : pl.DataFrame
        Columns given, known: each id that changed.

    Raises
    ------
    SourceError
        Several ids differ in zeros only, so that it isn't clear which one is meant.

    Examples
    --------
    >>> ids, _ = zeros_back(pl.Series(["2930152", "17"]), pl.Series(["02930152", "17"]), "a.csv")
    >>> ids.to_list()
    ['02930152', '17']
    """
    if given.equals(known) or given.is_in(known.implode()).all():
        return given, pl.DataFrame(schema={"given": pl.String, "known": pl.String})
    same = _bare(given, "given").join(_bare(known, "known"), on="bare", maintain_order="left").drop("bare")
    is_strange = ~pl.col("given").is_in(known.implode()) & ~pl.col("known").is_in(given.implode())
    pairs = same.filter(is_strange)
    if pairs.is_empty() or (_has_zeros(given) and _has_zeros(known)):
        return given, pairs.clear()
    # A number that is another id's too was maybe a zero longer, even if there is an id like it.
    if len(doubtful := same.filter(pl.col("given").is_duplicated() | pl.col("known").is_duplicated())):
        shown = [f"{short} for {long}" for short, long in doubtful.iter_rows()]
        raise SourceError(
            f"{file}: got ids that lost leading zeros and may be one of several ({examples(shown)}), "
            "expected the ids as they were. Write ids as text."
        )
    return given.replace(pairs["given"], pairs["known"]), pairs


def _has_zeros(ids: pl.Series) -> bool:
    return bool(ids.str.contains(r"^0+\d").any())


def _bare(ids: pl.Series, name: str) -> pl.DataFrame:
    """Return the ids that are digits, as the column `name`, beside their digits without leading zeros."""
    digits = ids.filter(ids.str.contains(r"^\d+$")).unique(maintain_order=True)
    return pl.DataFrame({name: digits, "bare": digits.str.replace(_ZEROS, "$1")})
