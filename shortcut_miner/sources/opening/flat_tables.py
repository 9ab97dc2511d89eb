"""Flat tables: CSV, JSON Lines, a JSON list of records, Parquet, Arrow, xlsx -> their columns' names.

:mod:`.table_columns` reads the columns that somebody needs.
"""

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.columnar import (
    COLUMNAR_ERRORS,
    columnar_form,
    form_of,
    look_at_columns,
    range_index,
)
from shortcut_miner.errors import SourceError, reason_of
from shortcut_miner.sources.opening.class_labels import (
    Classes,
    class_type,
    classes_in_metadata,
)
from shortcut_miner.sources.opening.columns import (
    Column,
    Needs,
)
from shortcut_miner.sources.opening.containers import is_eval_log, is_workbook, zip_contents
from shortcut_miner.sources.opening.csv_text import TextTable, read_csv
from shortcut_miner.sources.opening.files import (
    Opened,
    Source,
    Version,
    file_facts,
    find_file,
    in_background,
    open_source,
    system_errors,
)
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    ParsedJson,
    Raws,
    fields_of,
    first_bytes,
    parse_json,
    split_lines,
)
from shortcut_miner.sources.opening.limits import check_looked_at
from shortcut_miner.sources.opening.reading import (
    damaged,
)
from shortcut_miner.sources.opening.workbooks import read_sheet

TYPED = ("Parquet", "Arrow")
_SAMPLE = re.compile(r"samples/.+\.json", re.DOTALL)  # ids may hold line breaks


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
        return self.repairs + tuple(f"{what}: {count:,}" for what, count in self.decisions.items() if count)

    def names(self, needs: Needs) -> dict[str, str | None]:
        """Return the name that the file has for each column; None for those that it lacks."""
        columns: Sequence[str] | set[str] = self.columns
        asked = {name: asked_names(need, name) for name, need in needs.items()}
        if self.form.startswith("JSON"):
            needed = [names for name, names in asked.items() if not needs[name].is_optional]
            if not all(set(names) & set(columns) for names in needed):  # the first records may be broken
                columns = {name for raw in self.content for name in fields_of(raw)}
        return {name: next((one for one in names if one in columns), None) for name, names in asked.items()}

    def missing(self, needs: Needs) -> list[str]:
        """Return the columns that are needed and not there, as the file should name them."""
        names = self.names(needs)
        return [
            asked_names(need, name)[0]
            for name, need in needs.items()
            if names[name] is None and not need.is_optional
        ]


def open_flat_file(path: str | os.PathLike[str]) -> tuple[Opened, FlatTable]:
    """Return a file, and what it holds as a flat table; see :func:`open_source` and :func:`open_table`.

    Parquet and Arrow are left on disk: columns that nobody asks for, such as images, are never read.
    """
    if isinstance(path, str | Path):
        shown, (place, member) = str(path), find_file(Path(path))
        if member is None and place.is_file():
            with system_errors(shown, place), place.open("rb") as handle:
                start, version = handle.read(8), Version.of(place)
            if columnar_form(start):
                file = Opened(
                    path=shown, packing=(), name=place.name, size=place.stat().st_size, member=None,
                    digest=in_background(lambda: file_facts(place).sha256), version=version,
                )  # fmt: skip
                return file, open_columns(place, shown)
    source = open_source(path, keep_workbooks=True)
    return source, open_table(source)


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
    check_looked_at(path, found.total * len(found.names))  # a value may take no byte of the file
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
    except UnicodeEncodeError as error:
        raise SourceError(
            f"{path}: got a name that is no UTF-8, expected one for a {form} file. Rename it, or link to it."
        ) from error
    except COLUMNAR_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:  # not PyArrow's word for damage
            with system_errors(path, Path(path)):
                raise
        raise damaged(path, form, error) from error


def asked_names(need: Column, name: str) -> tuple[str, ...]:
    """Return the names under which a file may have a column."""
    return need.names or (name,)


def _fields_seen(raws: Raws) -> list[str]:
    """Return the fields of the first records, in the order they appear."""
    return list(dict.fromkeys(name for raw in raws[:LOOKED_AT] for name in fields_of(raw)))


def some_record_has(flat: FlatTable, file: Opened, name: str) -> bool:
    """Return whether any record of a JSON table has a field, not only one of the first, which name columns.

    `file` is the table's own.
    """
    # A key is the name in quotation marks, or written with escapes: of letters and digits those of \u.
    key, escape = f'"{name}"'.encode(), b"\\u" if name.isidentifier() else b"\\"
    if isinstance(file, Source) and not any(part in file.content for part in (key, escape)):
        return False
    return any(name in fields_of(raw) for raw in map(bytes, flat.content) if key in raw or escape in raw)
