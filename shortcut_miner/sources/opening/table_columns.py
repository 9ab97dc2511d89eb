r"""The columns of flat tables: those that are needed, as what they are needed for.

A reader opens a table (:mod:`.flat_tables`), may look at the names of its columns, and then reads those it
needs; :mod:`.columns` says what an id, a text or a number may look like.

Examples
--------
>>> from shortcut_miner.sources.opening.columns import Column
>>> from shortcut_miner.sources.opening.files import open_source
>>> from shortcut_miner.sources.opening.flat_tables import open_table
>>> from pathlib import Path
>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder, "answers.csv")
...     _ = path.write_text("question_id,answer,more\n007,yes,1\n8,no\n")
...     flat = open_table(open_source(path))
...     table, problems = read_columns(flat, {"question_id": Column("id"), "answer": Column("text")})
>>> table.rows(), flat.label(problems[0].records[0])
([(0, '007', 'yes')], 'line 3')
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import polars as pl

from shortcut_miner.columnar import (
    read_batches,
    read_frame,
)
from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.sources.opening.class_labels import (
    with_class_names,
)
from shortcut_miner.sources.opening.columns import (
    WORDS,
    Converted,
    Needs,
    Place,
    converted,
    expressions,
    fits,
)
from shortcut_miner.sources.opening.flat_tables import TYPED, FlatTable, asked_names, column_errors
from shortcut_miner.sources.opening.json_columns import json_columns
from shortcut_miner.sources.opening.json_records import CHUNK_RECORDS, decode_chunks
from shortcut_miner.sources.opening.json_text import (
    fields_of,
)
from shortcut_miner.sources.opening.limits import in_memory
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    check_not_empty,
    check_once,
)

_LEAST_BYTES = 4  # of a value in memory, however few of a file it takes
RENAME = "Rename or convert its columns"
Rows = tuple[pl.DataFrame, list[Problem]]  # the working column `record` and the columns that were asked for


def read_columns(
    flat: FlatTable,
    needs: Needs,
    *,
    advice: str = RENAME,
    by_record: bool = False,
    limit: int | None = None,
) -> Rows:
    """Return the working column `record` with the named columns, and the records whose values don't fit.

    Records that could not be split or decoded are told by a problem and left out; values of text files that
    are no numbers are null.

    Parameters
    ----------
    advice : str
        What to do about columns that don't fit.
    by_record : bool
        In JSON, a field that no record has is a problem of each record, not of the table.
    limit : int, optional
        Of Parquet and Arrow read only the first rows.

    Raises
    ------
    SourceError
        A column is missing or of another type, or the file is damaged.
    """
    is_json = flat.form.startswith("JSON")
    names = flat.names(needs) if is_json and by_record else checked_names(flat, needs, advice)
    if flat.form in TYPED:
        rows = flat.total if limit is None else min(limit, flat.total)
        in_memory(flat.path).check(_LEAST_BYTES * rows * len(given_names(names)))
        with column_errors(flat.path, flat.form):
            found = with_names_of_classes(flat, _first_rows(flat, given_names(names), limit))
            table = found.select(expressions(needs, names, flat.types)).with_row_index(RECORD)
            return settle_columns(flat, table, needs, names, flat.types)
    if flat.is_untyped:
        text = flat.content
        frame = with_names_of_classes(flat, text.frame.select(given_names(names)))
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
    lists: Mapping[str, bool] | None = None,
) -> Rows:
    """Return what :func:`read_kept` gives, with the working column `record`, as the kinds have it.

    `lists` is for parts of a table: see :func:`.columns.converted`.

    Raises
    ------
    SourceError
        See :func:`.columns.converted`.
    """
    place = Place(path=flat.path, label=flat.label)
    return _noted(flat, converted(table, needs, names, types, place, lists))


def _first_rows(flat: FlatTable, columns: list[str], limit: int | None) -> pl.DataFrame:
    if limit is None or limit >= flat.total:
        return read_frame(flat.content, columns)
    pieces, rows = [], 0
    for piece in read_batches(flat.content, columns):
        pieces.append(piece)
        rows += len(piece)
        if rows >= limit:
            break
    return pl.concat(pieces).head(limit)


def with_names_of_classes(flat: FlatTable, piece: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a file with the names of classes in place of numbers, which is noted."""
    return with_class_names(piece, flat.classes, flat.path, flat.decisions)


def _noted(flat: FlatTable, found: Converted) -> Rows:
    flat.decisions.update(found.decisions)
    return found.table, found.problems


def holds_text(flat: FlatTable, name: str) -> bool:
    """Return whether a column holds text: of untyped files whether some value is no number."""
    if flat.form in TYPED:
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
    if not flat.total and flat.form in TYPED:
        raise SourceError(f"{flat.path}: got a table without rows, expected at least one. Check the file.")
    check_not_empty(flat.path, range(flat.total), what)


def read_blocks(flat: FlatTable, needs: Needs, rows: int) -> Iterator[Rows]:
    """Give what :func:`read_columns` returns in blocks of about `rows`: large tables need little memory."""
    if flat.form == "Parquet":
        yield from _parquet_blocks(flat, needs, rows)
    elif flat.form.startswith("JSON"):
        columns = json_columns(needs, checked_names(flat, needs), flat.classes)
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
    names = checked_names(flat, needs)
    asked = expressions(needs, names, flat.types)
    with column_errors(flat.path, flat.form, expected):
        return pl.concat(
            [
                keep(with_names_of_classes(flat, piece).select(asked))
                for piece in read_batches(flat.content, given_names(names))
            ],
            rechunk=True,
        )


def _parquet_blocks(flat: FlatTable, needs: Needs, rows: int) -> Iterator[Rows]:
    names = checked_names(flat, needs)
    asked = expressions(needs, names, flat.types)
    first = 0
    with column_errors(flat.path, flat.form):
        for piece in read_batches(flat.content, given_names(names), rows):
            block = with_names_of_classes(flat, piece).select(asked).with_row_index(RECORD, offset=first)
            yield settle_columns(flat, block, needs, names, flat.types)
            first += len(block)


def given_names(names: Mapping[str, str | None]) -> list[str]:
    """Return the columns of the file, each once."""
    return list(dict.fromkeys(name for name in names.values() if name is not None))


def checked_names(flat: FlatTable, needs: Needs, advice: str = RENAME) -> dict[str, str | None]:
    """Return the file's name of each column; raise for all that are missing or of another type."""
    names = flat.names(needs)
    if any(found is None and flat.index in asked_names(needs[name], name) for name, found in names.items()):
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
    check_once(flat.path, flat.columns, given_names(names))
    return names
