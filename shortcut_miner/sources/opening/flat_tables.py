r"""Flat tables: CSV, JSON Lines, a JSON list of records, Parquet, Arrow, xlsx -> named columns.

This is the one place that says what an id, a text or a number may look like in a file. A reader opens the
table, may look at the names of its columns, and then reads those it needs.

Examples
--------
>>> from shortcut_miner.sources.opening.files import open_source
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder, "answers.csv")
...     _ = path.write_text("question_id,answer,more\n007,yes,1\n8,no\n")
...     flat = open_table(open_source(path))
...     table, problems = read_columns(flat, {"question_id": Column("id"), "answer": Column("text")})
>>> table.rows(), flat.label(problems[0].records[0])
([(0, '007', 'yes')], 'line 3')
"""

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.sources.opening.containers import is_workbook
from shortcut_miner.sources.opening.csv_text import TextTable, read_csv
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.json_records import Chunk, decode_all, decode_chunks
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    ParsedJson,
    Raws,
    fields_of,
    first_bytes,
    parse_json,
    split_lines,
)
from shortcut_miner.sources.opening.reading import RECORD, Problem, check_not_empty, damaged
from shortcut_miner.sources.opening.workbooks import read_sheet

Kind = Literal["id", "text", "value", "texts", "number", "whole", "any"]
PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"
_TYPED = ("Parquet", "Arrow")
LIST_MARK = "|"
_FLOAT_ID = r"^(-?\d+)\.0+$"
_WORDS: dict[Kind, str] = {
    "id": "text or whole numbers",
    "text": "text",
    "value": "text or numbers",
    "texts": "text or lists of text",
    "number": "numbers",
    "whole": "whole numbers",
    "any": "a value",
}
_JSON_TYPES: dict[Kind, Any] = {"id": int | str, "text": str, "number": float, "whole": int}
_TARGETS: dict[Kind, Any] = {
    **dict.fromkeys(("id", "text", "value"), pl.String()),
    "texts": pl.List(pl.String),
    "number": pl.Float64(),
    "whole": pl.Int64(),
    "any": None,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a reader needs.

    Attributes
    ----------
    kind : str
        What it holds and how it comes out: "id" (text or whole numbers, as text), "text", "value" (text or
        numbers, as text), "texts" (List[String]: lists, or text with ``|`` between), "number" (Float64),
        "whole" (Int64; null where a number isn't whole), "any" (as it is in the file; in text files, text).
    is_optional : bool
        Whether a file may lack it: then it is null.
    names : tuple of str
        Under which files have it, in the order of preference; only its own name if empty.
    """

    kind: Kind
    is_optional: bool = False
    names: tuple[str, ...] = ()


Needs = Mapping[str, Column]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatTable:
    """A flat file, opened: the names of its columns are known, its values are not read yet.

    Attributes
    ----------
    path : str
        As the user wrote it.
    form : str
        "Parquet", "Arrow", "CSV", "JSONL", "JSON" or "xlsx".
    columns : sequence of str
        The names in the file; of JSON those of the first records.
    total : int
        Records in the file.
    label : callable
        Names a record by its position.
    types : mapping of str to DataType
        Of Parquet and Arrow columns.
    notes : tuple of str
        What was repaired.
    content : Path, bytes, TextTable or sequence of undecoded records
        What the columns are read from.
    """

    path: str
    form: str
    columns: Sequence[str]
    total: int
    label: Callable[[int], str]
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    content: Any = field(repr=False)

    def names(self, needs: Needs) -> dict[str, str | None]:
        """Return the name that the file has for each column; None for those that it lacks."""
        columns: Sequence[str] | set[str] = self.columns
        asked = {name: need.names or (name,) for name, need in needs.items()}
        if self.form.startswith("JSON"):
            needed = [names for name, names in asked.items() if not needs[name].is_optional]
            if not all(set(names) & set(columns) for names in needed):  # the first records may be broken
                columns = {name for raw in self.content for name in fields_of(raw)}
        return {name: next((one for one in names if one in columns), None) for name, names in asked.items()}

    def missing(self, needs: Needs) -> list[str]:
        """Return the columns that are needed and not there, as the file should name them."""
        names = self.names(needs)
        return [
            (need.names or (name,))[0]
            for name, need in needs.items()
            if names[name] is None and not need.is_optional
        ]


Rows = tuple[pl.DataFrame, list[Problem]]  # the working column `record` and the columns that were asked for


def open_table(source: Source) -> FlatTable:
    """Return a file as a flat table, told by its content: what is nothing else is delimited text.

    Raises
    ------
    SourceError
        The file is damaged, no UTF-8, or broken CSV.
    BackendError
        An .xlsx file without fastexcel.
    """
    start = first_bytes(source.content)
    if source.content.startswith((PARQUET_MAGIC, ARROW_MAGIC)):
        return open_columns(source.content, source.path)
    if start == b"{":
        flat = lines_table(source.path, split_lines(source))
        # Lines that are no objects of their own may be one broken document.
        return flat if flat.columns else replace(flat, columns=[*map(str, parse_json(source).top)])
    if start == b"[":
        return records_table(source.path, parse_json(source))
    is_sheet = is_workbook(source.content)
    text = read_sheet(source) if is_sheet else read_csv(source)
    return FlatTable(
        path=source.path, form="xlsx" if is_sheet else "CSV", columns=text.header, content=text,
        total=len(text.frame) if is_sheet else len(text.lines),
        label=lambda record: f"{'row' if is_sheet else 'line'} {text.lines[record]}",
    )  # fmt: skip


def lines_table(path: str, lines: Sequence[tuple[int, bytes]]) -> FlatTable:
    """Return lines of JSON with their numbers as a flat table."""
    raws = [line for _, line in lines]
    return FlatTable(
        path=path, form="JSONL", columns=_fields_seen(raws), total=len(raws), content=raws,
        label=lambda record: f"line {lines[record][0]}",
    )  # fmt: skip


def records_table(path: str, parsed: ParsedJson) -> FlatTable:
    """Return a JSON list of records as a flat table."""
    raws: Any = parsed.top
    return FlatTable(
        path=path, form="JSON", columns=_fields_seen(raws), total=len(raws), content=raws,
        label="record {}".format, notes=parsed.notes,
    )  # fmt: skip


def open_columns(content: Path | bytes, path: str) -> FlatTable:
    """Return a Parquet or Arrow file, or its bytes, as a flat table."""
    is_arrow = isinstance(content, bytes) and content.startswith(ARROW_MAGIC)
    form = "Arrow" if is_arrow else "Parquet"
    with column_errors(path, form):
        scan = _scan(content, form)
        types = dict(scan.collect_schema())
        total = int(scan.select(pl.len()).collect().item())
    return FlatTable(
        path=path, form=form, columns=list(types), total=total, content=content, types=types,
        label="row {}".format,
    )  # fmt: skip


def read_columns(flat: FlatTable, needs: Needs) -> Rows:
    """Return the working column `record` with the named columns, and the records whose values don't fit.

    Records that could not be split or decoded are told by a problem and left out; values of text files that
    are no numbers are null.

    Raises
    ------
    SourceError
        A column is missing or of another type, or the file is damaged.
    """
    if flat.form in _TYPED:
        scan = scan_columns(flat, needs)
        with column_errors(flat.path, flat.form):
            return scan.collect().with_row_index(RECORD), []
    names = _checked_names(flat, needs)
    if isinstance(flat.content, TextTable):
        text = flat.content
        table = text.frame.select(_expressions(needs, names, text.frame.schema))
        if flat.form == "xlsx":  # whose numbers may all be floats
            ids = [name for name, need in needs.items() if need.kind == "id"]
            table = table.with_columns(pl.col(ids).str.replace(_FLOAT_ID, "$1"))
        return table.insert_column(0, text.records.alias(RECORD)), list(text.uneven)
    chunk = decode_all(flat.content, _record_type(needs, names))
    return _json_columns(flat, chunk, needs), chunk.problems


def check_has_rows(flat: FlatTable, what: str) -> None:
    """Raise SourceError for a table of the right columns without any row."""
    if not flat.total and flat.form in _TYPED:
        raise SourceError(f"{flat.path}: got a table without rows, expected at least one. Check the file.")
    check_not_empty(flat.path, range(flat.total), what)


def read_blocks(flat: FlatTable, needs: Needs, rows: int) -> Iterator[Rows]:
    """Give what :func:`read_columns` returns in blocks of at most `rows`: large tables need little memory."""
    if flat.form == "Parquet":
        yield from _parquet_blocks(flat, needs, rows)
    elif flat.form.startswith("JSON"):
        for chunk in decode_chunks(flat.content, _record_type(needs, _checked_names(flat, needs))):
            yield _json_columns(flat, chunk, needs), chunk.problems
    else:
        yield read_columns(flat, needs)


def scan_columns(flat: FlatTable, needs: Needs) -> pl.LazyFrame:
    """Return the named columns of a Parquet or Arrow table without `record`, not read yet.

    Raises
    ------
    SourceError
        A column is missing or of another type.
    """
    names = _checked_names(flat, needs)
    return _scan(flat.content, flat.form).select(_expressions(needs, names, flat.types))


@contextlib.contextmanager
def column_errors(path: str, form: str = "Parquet") -> Iterator[None]:
    """Turn what reading Parquet and Arrow can raise into SourceErrors."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise damaged(path, form, error) from error


def _scan(content: Path | bytes, form: str) -> pl.LazyFrame:
    given = io.BytesIO(content) if isinstance(content, bytes) else content
    return pl.scan_ipc(given) if form == "Arrow" else pl.scan_parquet(given)


def _parquet_blocks(flat: FlatTable, needs: Needs, rows: int) -> Iterator[Rows]:
    import pyarrow
    import pyarrow.parquet

    names = _checked_names(flat, needs)
    given = [name for name in names.values() if name is not None]
    content = io.BytesIO(flat.content) if isinstance(flat.content, bytes) else flat.content
    first = 0
    try:
        for batch in pyarrow.parquet.ParquetFile(content).iter_batches(rows, columns=given):
            block = pl.DataFrame(pl.from_arrow(batch)).select(_expressions(needs, names, flat.types))
            yield block.with_row_index(RECORD, offset=first), []
            first += len(block)
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged(flat.path, flat.form, error) from error


def _checked_names(flat: FlatTable, needs: Needs) -> dict[str, str | None]:
    """Return the file's name of each column; raise for all that are missing or of another type."""
    names = flat.names(needs)
    problems = [
        f"column {found or name}: got {flat.types[found] if found else 'no such column'}, "
        f"expected {_WORDS[needs[name].kind]}"
        for name, found in names.items()
        if (found is None and not needs[name].is_optional)
        or (found is not None and found in flat.types and not _fits(flat.types[found], needs[name].kind))
    ]
    if problems:
        title = (
            f"{flat.path}: got a {flat.form} table with the columns {examples(flat.columns, limit=20)}, "
            f"expected {', '.join(needs)}. Rename or convert its columns."
        )
        raise SourceError(problem_list(title, problems))
    return names


def _fits(dtype: pl.DataType, kind: Kind) -> bool:
    if dtype == pl.Null or kind == "any":
        return True
    if kind in ("number", "whole"):
        return dtype.is_numeric()
    if kind == "value":
        return not dtype.is_nested()
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
    return (
        is_text or (kind == "id" and dtype.is_integer()) or (kind == "texts" and isinstance(dtype, pl.List))
    )


# ---- values of typed columns, and of text ----


def _expressions(
    needs: Needs, names: Mapping[str, str | None], types: Mapping[str, pl.DataType]
) -> list[pl.Expr]:
    return [_converted(name, needs[ours].kind, types).alias(ours) for ours, name in names.items()]


def _converted(name: str | None, kind: Kind, types: Mapping[str, pl.DataType]) -> pl.Expr:
    """Return a column's values as its kind has them; `types` are those of the file."""
    if name is None:
        return pl.lit(None, _TARGETS[kind])
    column, dtype = pl.col(name), types[name]
    if kind == "any":
        return column
    if kind == "texts" and not isinstance(dtype, pl.List):
        text = column.cast(pl.String)
        return pl.when(text != "").then(text.str.split(LIST_MARK).list.eval(pl.element().str.strip_chars()))
    if kind == "whole" and dtype.is_float():
        return pl.when(column == column.round()).then(column).cast(pl.Int64, strict=False)
    return column.cast(_TARGETS[kind], strict=kind not in ("number", "whole"))


# ---- values of JSON records ----


def _record_type(needs: Needs, names: Mapping[str, str | None]) -> Any:
    required: list[Any] = []
    optional: list[Any] = []
    for name, need in needs.items():
        wanted = _JSON_TYPES.get(need.kind, Any)
        if wanted is Any or need.is_optional:
            optional.append((name, wanted if wanted is Any else wanted | None, None))
        else:
            required.append((name, wanted))
    rename = {name: found or (needs[name].names or (name,))[0] for name, found in names.items()}
    return msgspec.defstruct("Record", required + optional, rename=rename, gc=False)


def _json_columns(flat: FlatTable, chunk: Chunk[Any], needs: Needs) -> pl.DataFrame:
    columns = {RECORD: pl.Series(chunk.positions, dtype=pl.UInt32)}
    for name, need in needs.items():
        values = [getattr(record, name) for record in chunk.records]
        columns[name] = _json_column(flat, values, need.kind).alias(name)
    return pl.DataFrame(columns)


def _json_column(flat: FlatTable, values: list[Any], kind: Kind) -> pl.Series:
    if kind == "id":
        return pl.Series([one if one is None else str(one) for one in values], dtype=pl.String)
    if kind == "value":
        return pl.Series([_shown(one) for one in values], dtype=pl.String)
    if kind == "texts":
        return pl.Series([_listed(one) for one in values], dtype=_TARGETS[kind])
    if kind != "any":
        return pl.Series(values, dtype=_TARGETS[kind], strict=False)
    try:
        return pl.Series(values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise SourceError(
            f"{flat.path}: got values of several types in one column ({str(error).splitlines()[0]}), "
            "expected text, whole numbers, or lists of text. Correct them."
        ) from error


def _shown(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _listed(value: Any) -> list[str] | None:
    """Return a list of texts; of an annotator's record (an object) its answer."""
    if isinstance(value, list):
        return [str(one.get("answer", one)) if isinstance(one, dict) else str(one) for one in value]
    if value is None or value == "":
        return None
    return [one.strip() for one in str(value).split(LIST_MARK)]


def _fields_seen(raws: Raws) -> list[str]:
    """Return the fields of the first records, in the order they appear."""
    return list(dict.fromkeys(name for raw in raws[:LOOKED_AT] for name in fields_of(raw)))
