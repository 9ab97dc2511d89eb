"""VQA questions JSON: VQA v1/v2, OK-VQA and TDIUC; and VQA-CP, a bare list of the same records."""

from collections.abc import Sequence

import msgspec
import polars as pl

from shortcut_miner.errors import ConfigError
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.arrow_records import arrow_chunks, arrow_columns
from shortcut_miner.sources.opening.files import Source
from shortcut_miner.sources.opening.ids import AnyId, id_problems, with_whole_ids
from shortcut_miner.sources.opening.json_records import decode_chunks, paused_gc, record_columns
from shortcut_miner.sources.opening.json_text import (
    LOOKED_AT,
    Raws,
    Top,
    fields_of,
    records_under,
)
from shortcut_miner.sources.opening.kinds import Content, Counts, Format, alike_records, length_of
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    Reading,
    check_not_empty,
    find_duplicates,
    find_problems,
    finished,
    is_blank,
)

QUESTIONS = "VQA questions JSON"
_NEEDED = {"question_id", "image_id", "question"}
# What records of a bare list may have beside: with any other field it is a table, whose answers may be there.
_MORE = {"coco_split", "split", "question_type", "answer_type"}


class _Question(msgspec.Struct, gc=False):
    question_id: AnyId
    image_id: AnyId
    question: str
    split: str | None = None


def is_vqa_questions(top: Top) -> bool:
    """Return whether this is a VQA questions JSON, or a bare list of questions without any answers."""
    if isinstance(top, dict):
        return "questions" in top
    return any(_NEEDED <= fields_of(record).keys() <= _NEEDED | _MORE for record in top[:LOOKED_AT])


def count_questions(top: Top) -> Counts:
    """Return how many questions it has."""
    return count_records(top, "questions")


def count_records(top: Top, key: str) -> Counts:
    """Return how many records are under a key, or in the bare list."""
    return {key: len(top) if isinstance(top, list) else length_of(top[key])}


def read_questions(content: Content, on_bad_row: OnBadRow, limit: int | None = None) -> Reading:
    """Return the questions of an opened file; see :func:`.vqa.read_vqa_questions`."""
    raws, notes = listed_records(content, "questions")
    raws = raws[:limit]
    return _reading(content.source, *_decode(raws), len(raws), on_bad_row, notes)


def read_plain(content: Content, formats: Sequence[Format], on_bad_row: OnBadRow) -> Reading | None:
    """Return all questions of a large file that nothing is odd about; None of any other file."""
    records = alike_records(content, _Question, "questions", QUESTIONS, formats)
    if records is None:
        return None
    return _reading(content.source, records.with_row_index(RECORD), [], len(records), on_bad_row)


def _reading(
    source: Source,
    table: pl.DataFrame,
    problems: list[Problem],
    total: int,
    on_bad_row: OnBadRow,
    notes: tuple[str, ...] = (),
) -> Reading:
    table, id_notes = with_whole_ids(table, "question_id", "image_id")
    problems += repeated_or_no_ids(table)
    problems += find_problems(table, is_blank("question"), "question", "text that is not blank")
    image_ids, image_notes = canonical_image_ids(table["image_id"])
    return finished(
        source, QUESTIONS, table.with_columns(image_id=image_ids), problems,
        what="questions", total=total, on_bad_row=on_bad_row, notes=notes + id_notes + image_notes,
    )  # fmt: skip


def check_limit(limit: int | None) -> None:
    """Raise ConfigError unless the limit is absent or at least 1."""
    if limit is not None and limit < 1:
        raise ConfigError(f"limit: got {limit}, expected at least 1. Leave it out to read all questions.")


def listed_records(content: Content, key: str) -> tuple[list[msgspec.Raw], tuple[str, ...]]:
    """Return the undecoded records under `key`, or of a bare list; and notes on what was repaired."""
    top, source = content.json.top, content.source
    if isinstance(top, list):
        return top, content.json.notes
    raws = records_under(source, top, key)
    check_not_empty(source.path, raws, key)
    return raws, content.json.notes


def repeated_or_no_ids(table: pl.DataFrame) -> list[Problem]:
    """Return what is no id, and repeated question ids."""
    return [
        *id_problems(table, "question_id"),
        *id_problems(table, "image_id"),
        *find_duplicates(table, "question_id"),
    ]


def _decode(raws: Raws) -> tuple[pl.DataFrame, list[Problem]]:
    frames, problems = [], []
    with paused_gc():
        for first, some, table in arrow_chunks(raws, _Question):
            if table is not None:
                frames.append(pl.DataFrame(arrow_columns(first, table, _Question)))
                continue
            for chunk in decode_chunks(some, _Question, first):
                frames.append(pl.DataFrame(record_columns(chunk, _Question)))
                problems += chunk.problems
    return pl.concat(frames), problems
