"""VQA v1/v2 questions JSON."""

import os

import msgspec
import polars as pl

from shortcut_miner.errors import ConfigError
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import (
    decode_chunks,
    id_column,
    paused_gc,
    positions_column,
    text_column,
)
from shortcut_miner.sources.opening.json_text import Raws, check_no_key_twice, parse_json, split_array
from shortcut_miner.sources.opening.kinds import COCO_KEYS, QUESTIONS, check_not_empty, json_shape, wrong_kind
from shortcut_miner.sources.opening.reading import (
    RECORD,
    OnBadRow,
    Problem,
    Reading,
    check_on_bad_row,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
    without_bad,
)

HEADER_KEYS = ("info", "task_type", "data_type", "license", "data_subtype")


class _Question(msgspec.Struct, gc=False):
    question_id: int | str
    image_id: int | str
    question: str
    split: str | None = None


def read_vqa_questions(
    path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error", limit: int | None = None
) -> Reading:
    """Return the questions of a VQA questions JSON, in file order.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, or ``archive.zip/member``.
    on_bad_row : {"error", "skip"}
        Raise for all records that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first `limit` records.

    Returns
    -------
    Reading
        Columns question_id, image_id, question, split (String; split may be null).

    Raises
    ------
    SourceError
        The file can't be read, is of another format, or has bad records: no or blank ids, a question
        that is null or blank, a question_id twice.
    """
    check_on_bad_row(on_bad_row)
    check_limit(limit)
    return questions_from(open_source(path), on_bad_row, limit)


def questions_from(source: Source, on_bad_row: OnBadRow, limit: int | None) -> Reading:
    """Return the questions of an opened file; see :func:`read_vqa_questions`."""
    raws, notes = vqa_records(source, "questions", QUESTIONS)
    raws = raws[:limit]
    table, problems = _decode(raws)
    problems += id_problems(table)
    problems += find_problems(table, is_blank("question"), "question", "text that is not blank")
    dropped = settle(source, "questions", problems, len(raws), on_bad_row)
    image_ids, id_notes = canonical_image_ids(table["image_id"])
    table = without_bad(table.with_columns(image_id=image_ids), problems)
    return Reading(table=table, kind=QUESTIONS, file=source.facts(), dropped=dropped, notes=notes + id_notes)


def check_limit(limit: int | None) -> None:
    """Raise ConfigError unless the limit is absent or at least 1."""
    if limit is not None and limit < 1:
        raise ConfigError(f"limit: got {limit}, expected at least 1. Leave it out to read all questions.")


def vqa_records(source: Source, key: str, kind: str) -> tuple[list[msgspec.Raw], tuple[str, ...]]:
    """Return the undecoded records under `key`, and notes on what was repaired and on the header."""
    parsed = parse_json(source)
    top = parsed.top
    if isinstance(top, list) or key not in top or (key == "annotations" and COCO_KEYS & top.keys()):
        raise wrong_kind(source, json_shape(top), kind)
    check_no_key_twice(source, top, key)
    raws = split_array(source, top[key], key)
    check_not_empty(source, raws, key)
    has_header = any(name in top for name in HEADER_KEYS)
    return raws, parsed.notes + (() if has_header else ("no header keys (info, license, data_subtype ...)",))


def id_problems(table: pl.DataFrame) -> list[Problem]:
    """Return blank ids and repeated question ids."""
    return [
        *find_problems(table, is_blank("question_id"), "question_id", "an id"),
        *find_problems(table, is_blank("image_id"), "image_id", "an id"),
        *find_duplicates(table, "question_id"),
    ]


def _decode(raws: Raws) -> tuple[pl.DataFrame, list[Problem]]:
    frames, problems = [], []
    with paused_gc():
        for chunk in decode_chunks(raws, _Question):
            rows = chunk.records
            columns = {
                RECORD: positions_column(chunk.positions),
                "question_id": id_column([row.question_id for row in rows]),
                "image_id": id_column([row.image_id for row in rows]),
                "question": text_column([row.question for row in rows]),
                "split": text_column([row.split for row in rows]),
            }
            frames.append(pl.DataFrame(columns))
            problems += chunk.problems
    return pl.concat(frames), problems
