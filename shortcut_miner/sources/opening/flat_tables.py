r"""Flat tables: CSV, JSON Lines, a JSON list of records, Parquet, Arrow, xlsx -> named columns.

A reader opens the table, may look at the names of its columns, and then reads those it needs;
:mod:`.columns` says what an id, a text or a number may look like.

Examples
--------
>>> from shortcut_miner.sources.opening.columns import Column
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
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.columnar import (
    COLUMNAR_ERRORS,
    columnar_form,
    form_of,
    look_at_columns,
    range_index,
    read_batches,
    read_frame,
)
from shortcut_miner.errors import SourceError, examples, problem_list, reason_of
from shortcut_miner.sources.opening.class_labels import (
    Classes,
    class_type,
    classes_in_metadata,
    with_class_names,
)
from shortcut_miner.sources.opening.columns import (
    WORDS,
    Column,
    Converted,
    Needs,
    Place,
    converted,
    expressions,
    fits,
)
from shortcut_miner.sources.opening.containers import is_eval_log, is_workbook, zip_contents
from shortcut_miner.sources.opening.csv_text import TextTable, read_csv
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.json_columns import json_columns
from shortcut_miner.sources.opening.json_records import CHUNK_RECORDS, decode_chunks
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    ParsedJson,
    Raws,
    fields_of,
    first_bytes,
    parse_json,
    split_lines,
)
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    check_not_empty,
    check_once,
    damaged,
)
from shortcut_miner.sources.opening.workbooks import read_sheet

_TYPED = ("Parquet", "Arrow")
_SAMPLE = re.compile(r"samples/.+\.json", re.DOTALL)  # ids may hold line breaks
RENAME = "Rename or convert its columns"


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
        The names in the file, some maybe twice; of JSON those of the first records.
    total : int
        Records in the file.
    label : callable
        Names a record by its position.
    types : mapping of str to DataType
        Of Parquet and Arrow columns.
    repairs : tuple of str
        What was repaired.
    decisions : Counter
        What was decided while columns were read, in words -> of how many values.
    content : Path, bytes, TextTable or sequence of undecoded records
        What the columns are read from.
    classes : mapping of str to sequence of str
        Columns whose values may be numbers of classes -> the names of these.
    index : str, optional
        A column that pandas left out, because its values count on.
    """

    path: str
    form: str
    columns: Sequence[str]
    total: int
    label: Callable[[int], str]
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()
    decisions: Counter[str] = field(default_factory=Counter, compare=False)
    content: Any = field(repr=False)
    classes: Classes = field(default_factory=dict)
    index: str | None = None

    @property
    def is_untyped(self) -> bool:
        """Whether its cells are text, and empty where they hold nothing."""
        return isinstance(self.content, TextTable)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was repaired and, of the columns read so far, what was decided."""
        return self.repairs + tuple(f"{what}: {count:,}" for what, count in self.decisions.items())

    def names(self, needs: Needs) -> dict[str, str | None]:
        """Return the name that the file has for each column; None for those that it lacks."""
        columns: Sequence[str] | set[str] = self.columns
        asked = {name: _asked(need, name) for name, need in needs.items()}
        if self.form.startswith("JSON"):
            needed = [names for name, names in asked.items() if not needs[name].is_optional]
            if not all(set(names) & set(columns) for names in needed):  # the first records may be broken
                columns = {name for raw in self.content for name in fields_of(raw)}
        return {name: next((one for one in names if one in columns), None) for name, names in asked.items()}

    def missing(self, needs: Needs) -> list[str]:
        """Return the columns that are needed and not there, as the file should name them."""
        names = self.names(needs)
        return [
            _asked(need, name)[0]
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
    if columnar_form(source.content):
        return open_columns(source.content, source.path)
    if start == b"{":
        flat = lines_table(source.path, split_lines(source))
        # Lines that are no objects of their own may be one broken document.
        return flat if flat.columns else replace(flat, columns=[*map(str, parse_json(source).top)])
    if start == b"[":
        return records_table(source.path, parse_json(source))
    if is_eval_log(source.content):
        return _log_table(source)
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


def _log_table(source: Source) -> FlatTable:
    """Return the samples of an inspect_ai log as a flat table, in the order in which they ended."""
    samples = zip_contents(source.path, source.content, _SAMPLE.fullmatch)
    names = [name.removeprefix("samples/").removesuffix(".json") for name in samples]
    raws = [*samples.values()]
    return FlatTable(
        path=source.path, form="JSON", columns=_fields_seen(raws), total=len(raws), content=raws,
        label=lambda record: f"sample {names[record]}",
    )  # fmt: skip


def records_table(path: str, parsed: ParsedJson) -> FlatTable:
    """Return a JSON list of records as a flat table."""
    raws: Any = parsed.top
    return FlatTable(
        path=path, form="JSON", columns=_fields_seen(raws), total=len(raws), content=raws,
        label="record {}".format, repairs=parsed.notes,
    )  # fmt: skip


def open_columns(content: Path | bytes, path: str) -> FlatTable:
    """Return a Parquet or Arrow file, or its bytes, as a flat table."""
    with column_errors(path, "Parquet"):
        form = form_of(content)
    with column_errors(path, form):
        found = look_at_columns(content)
    flat = FlatTable(
        path=path, form=form, columns=found.names, total=found.total, content=content,
        types=found.types, label="row {}".format, index=range_index(found.metadata),
    )  # fmt: skip
    return with_classes(flat, classes_in_metadata(found.metadata))


def with_classes(flat: FlatTable, classes: Classes) -> FlatTable:
    """Return a table some of whose columns hold classes: they are read as the names of these.

    What the file says itself counts before what `classes` says of it.
    """
    classes = {**{name: names for name, names in classes.items() if name in flat.columns}, **flat.classes}
    named = {name: class_type(flat.types[name]) for name in classes if name in flat.types}
    return replace(flat, classes=classes, types={**flat.types, **named})


def read_columns(flat: FlatTable, needs: Needs, *, advice: str = RENAME, by_record: bool = False) -> Rows:
    """Return the working column `record` with the named columns, and the records whose values don't fit.

    Records that could not be split or decoded are told by a problem and left out; values of text files that
    are no numbers are null.

    Parameters
    ----------
    advice : str
        What to do about columns that don't fit.
    by_record : bool
        In JSON, a field that no record has is a problem of each record, not of the table.

    Raises
    ------
    SourceError
        A column is missing or of another type, or the file is damaged.
    """
    is_json = flat.form.startswith("JSON")
    names = flat.names(needs) if is_json and by_record else _checked_names(flat, needs, advice)
    if flat.form in _TYPED:
        with column_errors(flat.path, flat.form):
            found = _named(flat, read_frame(flat.content, _given(names)))
            table = found.select(expressions(needs, names, flat.types)).with_row_index(RECORD)
            return settle_columns(flat, table, needs, names, flat.types)
    if flat.is_untyped:
        text = flat.content
        frame = _named(flat, text.frame.select(_given(names)))
        table = frame.select(expressions(needs, names, frame.schema))
        table = table.insert_column(0, text.records.alias(RECORD))
        table, problems = settle_columns(flat, table, needs, names, frame.schema)
        return table, text.uneven + problems
    columns = json_columns(needs, names, flat.classes)
    return _noted(flat, columns.read(flat.content, Place(path=flat.path, label=flat.label)))


def settle_columns(
    flat: FlatTable,
    table: pl.DataFrame,
    needs: Needs,
    names: Mapping[str, str | None],
    types: Mapping[str, pl.DataType],
) -> Rows:
    """Return what :func:`read_kept` gives, with the working column `record`, as the kinds have it.

    Raises
    ------
    SourceError
        See :func:`.columns.converted`.
    """
    return _noted(flat, converted(table, needs, names, types, Place(path=flat.path, label=flat.label)))


def _named(flat: FlatTable, piece: pl.DataFrame) -> pl.DataFrame:
    return with_class_names(piece, flat.classes, flat.path, flat.decisions)


def _noted(flat: FlatTable, found: Converted) -> Rows:
    flat.decisions.update(found.decisions)
    return found.table, found.problems


def holds_text(flat: FlatTable, name: str) -> bool:
    """Return whether a column holds text: of untyped files whether some value is no number."""
    if flat.form in _TYPED:
        return flat.types[name] in (pl.String, pl.Categorical, pl.Enum)
    if flat.is_untyped:
        values = flat.content.frame[name].str.strip_chars()
        return bool((values.cast(pl.Float64, strict=False).is_null() & (values != "")).any())
    # Only records that may have such a text are decoded: the name and a quote, or an escape somewhere.
    may_hold = re.compile(rb'"%b"\s*:\s*"|\\' % re.escape(name.encode()))
    likely = filter(may_hold.search, flat.content)
    return any(bytes(fields_of(raw).get(name, b"")).startswith(b'"') for raw in likely)


def check_has_rows(flat: FlatTable, what: str) -> None:
    """Raise SourceError for a table of the right columns without any row."""
    if not flat.total and flat.form in _TYPED:
        raise SourceError(f"{flat.path}: got a table without rows, expected at least one. Check the file.")
    check_not_empty(flat.path, range(flat.total), what)


def read_blocks(flat: FlatTable, needs: Needs, rows: int) -> Iterator[Rows]:
    """Give what :func:`read_columns` returns in blocks of about `rows`: large tables need little memory."""
    if flat.form == "Parquet":
        yield from _parquet_blocks(flat, needs, rows)
    elif flat.form.startswith("JSON"):
        columns = json_columns(needs, _checked_names(flat, needs), flat.classes)
        chunks = decode_chunks(columns.raws(flat.content), columns.record_type)
        place = Place(path=flat.path, label=flat.label)
        while block := [
            _noted(flat, columns.converted(chunk, place))
            for chunk in islice(chunks, max(1, rows // CHUNK_RECORDS))
        ]:
            yield pl.concat([table for table, _ in block]), [one for _, problems in block for one in problems]
    else:
        yield read_columns(flat, needs)


def read_kept(
    flat: FlatTable, needs: Needs, keep: Callable[[pl.DataFrame], pl.DataFrame], expected: str
) -> pl.DataFrame:
    """Return what `keep` leaves of the named columns of a Parquet table, read piece by piece, not settled.

    See :func:`settle_columns` for what is left to do.

    Raises
    ------
    SourceError
        A column is missing or of another type; the file is damaged, or has other values than `expected`.
    """
    names = _checked_names(flat, needs)
    asked = expressions(needs, names, flat.types)
    with column_errors(flat.path, flat.form, expected):
        return pl.concat(
            [keep(_named(flat, piece).select(asked)) for piece in read_batches(flat.content, _given(names))],
            rechunk=True,
        )


@contextlib.contextmanager
def column_errors(path: str, form: str = "Parquet", expected: str = "other values") -> Iterator[None]:
    """Turn what reading Parquet and Arrow can raise into SourceErrors.

    Parameters
    ----------
    expected : str
        Which columns were, for values that can't be converted.
    """
    try:
        yield
    except pl.exceptions.InvalidOperationError as error:
        raise SourceError(
            f"{path}: got a {form} file that can't be read ({reason_of(error)}), expected {expected}. "
            "Convert its columns, or copy it again if it was cut."
        ) from error
    except COLUMNAR_ERRORS as error:
        raise damaged(path, form, error) from error


def _parquet_blocks(flat: FlatTable, needs: Needs, rows: int) -> Iterator[Rows]:
    names = _checked_names(flat, needs)
    asked = expressions(needs, names, flat.types)
    first = 0
    with column_errors(flat.path, flat.form):
        for piece in read_batches(flat.content, _given(names), rows):
            block = _named(flat, piece).select(asked).with_row_index(RECORD, offset=first)
            yield settle_columns(flat, block, needs, names, flat.types)
            first += len(block)


def _asked(need: Column, name: str) -> tuple[str, ...]:
    """Return the names under which a file may have a column."""
    return need.names or (name,)


def _given(names: Mapping[str, str | None]) -> list[str]:
    """Return the columns of the file, each once."""
    return list(dict.fromkeys(name for name in names.values() if name is not None))


def _checked_names(flat: FlatTable, needs: Needs, advice: str = RENAME) -> dict[str, str | None]:
    """Return the file's name of each column; raise for all that are missing or of another type."""
    names = flat.names(needs)
    if any(found is None and flat.index in _asked(needs[name], name) for name, found in names.items()):
        raise SourceError(
            f"{flat.path}: got {flat.index} as the index of a pandas frame, without its values, "
            "expected a column. Write the frame again after frame.reset_index()."
        )
    problems = [
        f"column {found or name}: got {flat.types[found] if found else 'no such column'}, "
        f"expected {WORDS[needs[name].kind]}"
        for name, found in names.items()
        if (found is None and not needs[name].is_optional)
        or (found is not None and found in flat.types and not fits(flat.types[found], needs[name].kind))
    ]
    if problems:
        needed = ", ".join(name for name, need in needs.items() if not need.is_optional)
        title = (
            f"{flat.path}: got a {flat.form} table with the columns {examples(flat.columns, limit=20)}, "
            f"expected {needed or 'other types'}. {advice}."
        )
        raise SourceError(problem_list(title, list(dict.fromkeys(problems))))
    check_once(flat.path, flat.columns, _given(names))
    return names


def _fields_seen(raws: Raws) -> list[str]:
    """Return the fields of the first records, in the order they appear."""
    return list(dict.fromkeys(name for raw in raws[:LOOKED_AT] for name in fields_of(raw)))
