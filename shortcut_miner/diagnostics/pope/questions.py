"""Polling questions as POPE's files have them, and other labels of the same questions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from shortcut_miner.diagnostics.pope.wording import object_of
from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column, optional
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.reading import (
    Reading,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns
from shortcut_miner.sources.questions.tables import open_question_table

_FIELDS = ("question_id", "image", "text", "label")


def read_pope_questions(path: Path, on_bad_row: OnBadRow = "error", *, needs_ids: bool = True) -> Reading:
    """Return the questions of one file, in its order: JSON Lines, one JSON list, or any flat table.

    Parameters
    ----------
    path : Path
        With question_id, image, text and label ("yes" or "no", in any case).
    on_bad_row : {"error", "skip"}
        Raise for all rows that don't fit at once, or skip and count them.
    needs_ids : bool
        Whether there must be a question_id.

    Returns
    -------
    Reading
        question_id, image_id, image, question, answer ("yes", "no").

    Raises
    ------
    SourceError
        The file can't be read, lacks a field, or has bad rows: another label, an id or a question about an
        image twice.
    """
    opened = open_question_table(path)
    flat = opened.flat
    fields = _FIELDS if needs_ids else _FIELDS[1:]
    if missing := [name for name in fields if not opened.has(name)]:
        check_no_other_kind(open_source(path, keep_workbooks=True), missing)
        raise SourceError(
            f"{path}: got records with {examples(flat.columns, limit=20) or 'nothing'}, expected "
            f"{', '.join(fields)}. Check that these are POPE's questions."
        )
    check_has_rows(flat, "questions")
    needs = {
        "question_id": Column("id", is_optional=not needs_ids),
        "image": Column("id"),
        "question": Column("text", names=("text",)),
        "label": Column("value"),
    }
    rows, problems = read_columns(flat, optional(needs))
    ids, notes = canonical_image_ids(rows["image"])
    rows = rows.with_columns(image_id=ids, answer=pl.col("label").str.strip_chars().str.to_lowercase())
    if needs_ids:
        problems += find_problems(rows, is_blank("question_id").fill_null(True), "question_id", "an id")
        problems += find_duplicates(rows, "question_id")
    problems += find_problems(rows, is_blank("image").fill_null(True), "image", "an image's name or id")
    problems += find_problems(rows, is_blank("question").fill_null(True), "question", "a question", "text")
    problems += find_problems(
        rows, ~pl.col("answer").is_in(["yes", "no"]).fill_null(False), "label", "yes or no"
    )
    asked = rows.with_columns(asked=pl.format("{}: {}", "image", "question"))
    twice = find_duplicates(asked.drop_nulls("asked"), "asked", "image and text")
    problems += [replace(one, expected="a question about an image once, with one label") for one in twice]
    dropped = settle(flat.path, "questions", problems, flat.total, on_bad_row, flat.label)
    return Reading(
        table=without_bad(rows, problems).select("question_id", "image_id", "image", "question", "answer"),
        kind=f"polling questions {flat.form}",
        file=opened.file.facts(),
        dropped=dropped,
        notes=(*flat.notes, *notes, *(_older_release(rows["question_id"]) if needs_ids else ())),
    )


def _older_release(ids: pl.Series) -> tuple[str, ...]:
    """Return a note on ids that are missing within a file, as in POPE's older ones."""
    numbers = ids.cast(pl.Int64, strict=False)
    most = numbers.max()
    if numbers.null_count() or not isinstance(most, int) or most <= len(ids):
        return ()
    return (f"{len(ids):,} questions with ids up to {most:,}, as in an older release of POPE",)


def asked_in_files(
    files: Mapping[str, Sequence[Path]], on_bad_row: OnBadRow = "error"
) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Return the questions of several strategies with the columns that a score needs, and the readings.

    question_id is the strategy and the file's id, such as random_1; slot numbers the questions of one image
    and label in the order of the file.
    """
    readings, tables = {}, []
    for strategy, paths in files.items():
        for at, path in enumerate(paths):
            role = f"questions of {strategy}" + (f" ({at})" if at else "")
            readings[role] = read_pope_questions(path, on_bad_row)
            tables.append(readings[role].table.with_columns(strategy=pl.lit(strategy)))
    table = pl.concat(tables).with_columns(
        question_id=pl.format("{}_{}", "strategy", "question_id"),
        object=pl.Series([object_of(text) for one in tables for text in one["question"]], dtype=pl.String),
        slot=pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).over("strategy", "image_id", "answer"),
        answers=pl.concat_list("answer"),
    )
    problems = [
        f"{len(repeated):,} x {what}: {examples(repeated)}"
        for what, repeated in (
            ("question id of one strategy", _repeated(table["question_id"])),
            ("question about one image", _repeated(table.select(_asked()).to_series())),
        )
        if len(repeated)
    ]
    if problems:
        title = (
            "questions: got the same questions in several files, expected each once. Leave one of them out."
        )
        raise SourceError(problem_list(title, problems))
    return table, readings


def _asked() -> pl.Expr:
    return pl.format("{} {}: {}", "strategy", "image", "question")


def _repeated(values: pl.Series) -> pl.Series:
    return values.filter(values.is_duplicated()).unique(maintain_order=True)


def read_labels_again(
    paths: Sequence[Path], on_bad_row: OnBadRow = "error"
) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Return other labels of the same questions: image_id, question and relabelled, each pair once.

    Raises
    ------
    SourceError
        Files that give one question about one image different labels.
    """
    readings = {
        "relabel" + (f" ({at})" if at else ""): read_pope_questions(path, on_bad_row, needs_ids=False)
        for at, path in enumerate(paths)
    }
    both = pl.concat([one.table for one in readings.values()]).select(
        "image_id", "question", relabelled="answer"
    )
    labels = both.unique(maintain_order=True)
    differing = labels.filter(pl.struct("image_id", "question").is_duplicated())
    if len(differing):
        named = (
            differing.select(pl.format("{}: {}", "image_id", "question"))
            .to_series()
            .unique(maintain_order=True)
        )
        raise SourceError(
            f"relabel: got both labels for {len(named):,} questions: {examples(named)}, expected one each. "
            "Give the files of one relabelling alone."
        )
    return labels, readings
