"""Tables of every type, the files people make of them, and in plain Python what a reader makes of a value."""

import csv
import datetime
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import xlsxwriter
from hypothesis import strategies as st
from strategies import NO_IDS

FORMS = ("Parquet", "Arrow", "CSV", "TSV", "JSON", "JSONL", "xlsx")
TYPED, TEXT = ("Parquet", "Arrow"), ("CSV", "TSV", "xlsx")
REFUSED = object()
_FLOAT = re.compile(r"-?\d+\.\d+([eE][+-]?\d+)?|-?\d+[eE][+-]\d+|-?\d[eE]\d\d+")
_STRUCT = pl.Struct({"answer": pl.String, "answer_id": pl.Int64})

# ---- columns: a type, and values that it may hold ----

_words = st.sampled_from(
    ["red", "eggs, ham", "it's", 'a "b"', "nan", "None", "007", "[unknown]", "{}", "1.0", "é"]
)
_texts = st.sampled_from(["007", "7", "n161313", "1000.0", "12.5", "nan", "1e+20", "a.0", "1e5", " ", "0.10"])
_floats = st.sampled_from(
    [1.0, 1000.0, 458752001.0, 0.0, 7.5, -3.0, 2.0**53, 1e16, 1e300, math.nan, math.inf]
)
ID_COLUMNS: dict[str, tuple[pl.DataType, st.SearchStrategy[Any]]] = {
    "int": (pl.Int64(), st.integers(-(2**63), 2**63 - 1)),
    "unsigned": (pl.UInt64(), st.integers(0, 2**64 - 1)),
    "whole float": (pl.Float64(), st.integers(0, 2**53 - 1).map(float)),
    "float": (pl.Float64(), _floats),
    "short float": (pl.Float32(), st.sampled_from([1.0, 2.0**24 - 1, 2.0**24, 458752000.0, 0.5])),
    "decimal": (pl.Decimal(20, 2), st.sampled_from([Decimal("1000.00"), Decimal("7.50"), Decimal("3.00")])),
    "text": (pl.String(), _texts),
    "categorical": (pl.Categorical(), _texts),
    "enum": (pl.Enum(["007", "8", "x"]), st.sampled_from(["007", "8", "x"])),
    "bool": (pl.Boolean(), st.booleans()),
    "date": (pl.Date(), st.dates(datetime.date(1970, 1, 1))),
    "list": (pl.List(pl.String), st.lists(_words, min_size=1, max_size=2)),
    "struct": (_STRUCT, st.just({"answer": "red", "answer_id": 1})),
    "binary": (pl.Binary(), st.binary(max_size=3)),
}
_records = st.builds(lambda text, one: {"answer": text, "answer_id": one}, _words, st.integers(1, 3))
LIST_COLUMNS: dict[str, tuple[pl.DataType, st.SearchStrategy[Any]]] = {
    "texts": (pl.List(pl.String), st.lists(_words, max_size=3)),
    "pairs": (pl.Array(pl.String, 2), st.lists(_words, min_size=2, max_size=2)),
    "categories": (pl.List(pl.Categorical), st.lists(st.sampled_from(["a", "b"]), max_size=3)),
    "ints": (pl.List(pl.Int64), st.lists(st.integers(-5, 5), max_size=3)),
    "floats": (pl.List(pl.Float64), st.lists(st.sampled_from([1.0, -2.0, 0.5]), max_size=3)),
    "records": (pl.List(_STRUCT), st.lists(_records, max_size=3)),
    "record of lists": (
        pl.Struct({"answer": pl.List(pl.String), "answer_id": pl.List(pl.Int64)}),
        st.lists(_records, max_size=3).map(
            lambda listed: {name: [one[name] for one in listed] for name in ("answer", "answer_id")}
        ),
    ),
    "records without answer": (pl.List(pl.Struct({"text": pl.String})), st.just([{"text": "red"}])),
    "lists of lists": (pl.List(pl.List(pl.String)), st.just([["a"], ["b"]])),
    "truths": (pl.List(pl.Boolean), st.just([True, False])),
    "map": (pl.List(pl.Struct({"key": pl.String, "value": pl.Int64})), st.just([{"key": "red", "value": 3}])),
}


@st.composite
def columns(
    draw: st.DrawFn, kinds: dict[str, tuple[pl.DataType, st.SearchStrategy[Any]]], *, with_nulls: bool = True
) -> tuple[str, pl.Series]:
    """Draw the name of a kind and a column of it, of one to four rows."""
    name = draw(st.sampled_from(sorted(kinds)))
    dtype, values = kinds[name]
    listed = draw(st.lists(st.none() | values if with_nulls else values, min_size=1, max_size=4))
    return name, pl.Series(listed, dtype=dtype)


# ---- files ----


def write_table(path: Path, form: str, table: dict[str, pl.Series], *, as_json: bool = False) -> bool:
    """Write columns to a file; False if a form can't hold them. `as_json`: how lists are written as text."""
    frame = pl.DataFrame(table)
    if form in TYPED:
        frame.write_parquet(path) if form == "Parquet" else frame.write_ipc(path)
        return True
    rows = frame.to_dicts()
    if form in ("JSON", "JSONL"):
        if any(isinstance(one, bytes | datetime.date) for row in rows for one in row.values()):
            return False
        lines = [json.dumps(row, default=float) for row in rows]
        path.write_text(f"[{','.join(lines)}]" if form == "JSON" else "\n".join(lines) + "\n")
        return True
    cells = [[as_cell(one, as_json=as_json) for one in row.values()] for row in rows]
    if form == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            for at, row in enumerate([frame.columns, *cells]):
                for column, value in enumerate(row):
                    book.worksheets() or book.add_worksheet()
                    book.worksheets()[0].write_string(at, column, value)
        return True
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t" if form == "TSV" else ",").writerows([frame.columns, *cells])
    return True


def as_cell(value: Any, *, as_json: bool = False) -> str:
    """Return a value as pandas writes it to CSV, or with lists as JSON."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return json.dumps(value) if as_json and isinstance(value, list | dict) else str(value)


# ---- what should come out ----


def given_value(value: Any, form: str, dtype: pl.DataType) -> Any:
    """Return a value as a form holds it: text files have text only, JSON no decimals and no NaN."""
    if form in TEXT:
        return as_cell(value)
    if form in ("JSON", "JSONL") and (isinstance(value, Decimal) or value in (math.inf, -math.inf)):
        return float(value) if isinstance(value, Decimal) else None
    return value


def expected_id(value: Any, *, limit: float = 2.0**53) -> Any:
    """Return an id as text, or REFUSED."""
    if isinstance(value, str):
        if not value.strip() or value.strip("+-").lower() in NO_IDS:
            return REFUSED
        return expected_id(float(value)) if _FLOAT.fullmatch(value) else value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return REFUSED
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and not (math.isfinite(value) and abs(value) < limit):
        return REFUSED
    return str(int(value)) if value == int(value) else REFUSED


def expected_texts(value: Any) -> Any:
    """Return a list of texts, None, or REFUSED."""
    if value is None:
        return None
    if isinstance(value, dict):
        value = value.get("answer")
    if not isinstance(value, list):
        return REFUSED
    texts = [one.get("answer", REFUSED) if isinstance(one, dict) else one for one in value]
    if any(one is REFUSED or isinstance(one, bool | list) for one in texts):
        return REFUSED
    return [str(int(one)) if isinstance(one, float) and one == int(one) else str(one) for one in texts]
