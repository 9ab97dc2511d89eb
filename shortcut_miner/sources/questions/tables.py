"""Questions with their answers as one flat table: Parquet, Arrow, CSV or JSON Lines, columns named freely."""

import io
import os
from collections.abc import Mapping

import msgspec
import polars as pl

from shortcut_miner.errors import ConfigError, SourceError, examples, problem_list
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.csv_text import read_csv
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_text import first_bytes, split_lines
from shortcut_miner.sources.opening.kinds import PARQUET_MAGIC
from shortcut_miner.sources.opening.reading import (
    RECORD,
    OnBadRow,
    Problem,
    Reading,
    bad_records,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)

ARROW_MAGIC = b"ARROW1"
COLUMNS = (
    "question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers", "split",
)  # fmt: skip
_NEEDED = ("question_id", "question", "answer")
_TEXTS = tuple(name for name in COLUMNS if name != "answers")


def column_names(mapping: str | None) -> dict[str, str]:
    """Return our column -> the file's, as in ``question=text,answer=label``.

    Raises
    ------
    ConfigError
        A part that is no NAME=COLUMN, or a name that is none of ours.

    Examples
    --------
    >>> column_names("answer=label")["answer"], column_names(None)["answer"]
    ('label', 'answer')
    """
    names = dict(zip(COLUMNS, COLUMNS, strict=True))
    for part in (mapping or "").split(",") if mapping else ():
        ours, separator, theirs = (one.strip() for one in part.partition("="))
        if not (separator and theirs) or ours not in names:
            raise ConfigError(
                f"columns: got {part!r}, expected NAME=COLUMN with NAME one of {', '.join(COLUMNS)}. "
                "Change --columns."
            )
        names[ours] = theirs
    return names


def is_table(source: Source) -> bool:
    """Return whether a file is a flat table rather than one JSON document."""
    start = first_bytes(source.content)
    if start == b"{":
        lines = split_lines(source)
        return len(lines) > 1 and lines[0][1].rstrip().endswith(b"}")
    return start != b"["


def read_question_table(
    path: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> Reading:
    """Return the questions of a flat table, in file order.

    Parameters
    ----------
    path : path-like
        Parquet, Arrow (Feather 2), CSV (comma, semicolon, tab) or JSON Lines; plain, .gz or .zst, or a zip's
        member.
    columns : mapping of str to str, optional
        Our column -> the file's (see :func:`column_names`). question_id, question and answer are needed;
        without image_id each question is its own image. answers is a list, or text with ``|`` between.
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first rows.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.Questions`.

    Raises
    ------
    SourceError
        The file can't be read, lacks a column, or has bad rows: no id, a blank question, an id twice.
    """
    check_on_bad_row(on_bad_row)
    source = open_source(path)
    kind, frame, bad_lines = _read_frame(source)
    names = columns or column_names(None)
    total = len(frame) + len(bad_lines)
    table = _with_our_columns(source, frame, names).with_row_index(RECORD).slice(0, limit)
    problems = [
        *bad_lines,
        *find_problems(table, is_blank("question_id").fill_null(True), "question_id", "an id"),
        *find_problems(table, is_blank("question").fill_null(True), "question", "text that is not blank"),
        *find_duplicates(table, "question_id"),
    ]
    dropped = settle(source, "questions", problems, total, on_bad_row, "row {}".format)
    table = table.filter(~pl.col(RECORD).is_in(pl.Series(bad_records(problems), dtype=pl.UInt32).implode()))
    image_ids, notes = canonical_image_ids(table["image_id"])
    table = without_bad(table.with_columns(image_id=image_ids), problems)
    return Reading(table=table, kind=kind, file=source.facts(), dropped=dropped, notes=notes)


def _read_frame(source: Source) -> tuple[str, pl.DataFrame, list[Problem]]:
    """Return the kind, the columns as they are, and rows that could not be split into columns."""
    try:
        if source.content.startswith(PARQUET_MAGIC):
            return "questions Parquet", pl.read_parquet(io.BytesIO(source.content)), []
        if source.content.startswith(ARROW_MAGIC):
            return "questions Arrow", pl.read_ipc(io.BytesIO(source.content)), []
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(
            f"{source.path}: got a damaged table ({str(error).splitlines()[0]}), expected a complete one. "
            "Download or copy it again: it was probably cut."
        ) from error
    if first_bytes(source.content) == b"{":
        return _read_lines(source)
    return _read_delimited(source)


def _read_lines(source: Source) -> tuple[str, pl.DataFrame, list[Problem]]:
    records: list[dict[str, object]] = []
    problems = []
    for at, (_, line) in enumerate(split_lines(source)):
        try:
            records.append(msgspec.json.decode(line, type=dict[str, object]))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            records.append({})
            problems.append(Problem((at,), "line", f"broken JSON ({error})", "one JSON object a line"))
    texts = {
        name: [_as_text(record.get(name)) for record in records]
        for name in dict.fromkeys(name for record in records for name in record)
    }
    columns = {
        name: pl.Series(
            values,
            dtype=pl.List(pl.String) if any(isinstance(one, list) for one in values) else pl.String,
            strict=False,
        )
        for name, values in texts.items()
    }
    return "questions JSONL", pl.DataFrame(columns), problems


def _as_text(value: object) -> object:
    if isinstance(value, list):
        return [str(one.get("answer", one)) if isinstance(one, dict) else str(one) for one in value]
    return value if value is None or isinstance(value, str) else str(value)


def _read_delimited(source: Source) -> tuple[str, pl.DataFrame, list[Problem]]:
    table = read_csv(source)
    width = len(table.header)
    problems = [
        Problem((at,), "row", f"{len(row)} values", f"{width}, as in the header")
        for at, row in enumerate(table.rows)
        if len(row) != width
    ]
    rows = [row if len(row) == width else [""] * width for row in table.rows]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(table.header)}
    return "questions CSV", pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), problems


def _with_our_columns(source: Source, frame: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    missing = [
        f"column {names[name]}: got no such column, expected the {name} of each row"
        for name in COLUMNS
        if names[name] not in frame.columns and (name in _NEEDED or names[name] != name)
    ]
    if missing or frame.is_empty():
        got = f"a table of {len(frame):,} rows with the columns {examples(frame.columns, limit=20)}"
        title = f"{source.path}: got {got}, expected {', '.join(_NEEDED)}. Name its columns with --columns."
        raise SourceError(problem_list(title, missing))
    present = {name: theirs for name, theirs in names.items() if theirs in frame.columns}
    nested = [
        name for name, theirs in present.items() if name != "answers" and frame[theirs].dtype.is_nested()
    ]
    if nested:
        raise SourceError(
            f"{source.path}: got lists in {examples(nested)}, expected text or numbers. Convert them."
        )
    texts = [
        (pl.col(present[name]).cast(pl.String) if name in present else pl.lit(None, pl.String)).alias(name)
        for name in _TEXTS
    ]
    answers = (
        _answers(frame, present["answers"]) if "answers" in present else pl.lit(None, pl.List(pl.String))
    )
    table = frame.select(
        *texts, answers.alias("answers"), pl.lit(None, pl.List(pl.UInt8)).alias("answer_record_key")
    )
    order = (*COLUMNS[:7], "answer_record_key", "split")
    return table.with_columns(image_id=pl.coalesce("image_id", "question_id")).select(order)


def _answers(frame: pl.DataFrame, column: str) -> pl.Expr:
    """Return List[String]: of a list column, or of text with ``|`` between."""
    if isinstance(frame[column].dtype, pl.List):
        return pl.col(column).cast(pl.List(pl.String))
    text = pl.col(column).cast(pl.String)
    return pl.when(text != "").then(text.str.split("|").list.eval(pl.element().str.strip_chars()))
