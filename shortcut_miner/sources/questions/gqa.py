"""GQA questions JSON: one file, or a folder over which the questions are split.

Format: Hudson and Manning, "GQA: A New Dataset for Real-World Visual Reasoning" (CVPR 2019).
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.images.image_ids import canonical_image_ids
from shortcut_miner.sources.opening.files import Source, open_source
from shortcut_miner.sources.opening.json_records import (
    Chunk,
    decode_chunks,
    id_column,
    paused_gc,
    positions_column,
    text_column,
)
from shortcut_miner.sources.opening.json_text import Top, parse_json
from shortcut_miner.sources.opening.kinds import GQA_QUESTIONS, json_shape, wrong_kind
from shortcut_miner.sources.opening.list_columns import text_lists
from shortcut_miner.sources.opening.reading import (
    RECORD,
    OnBadRow,
    Problem,
    Reading,
    check_on_bad_row,
    find_problems,
    is_blank,
    settle,
    without_bad,
)
from shortcut_miner.sources.opening.streams import facts_of_all, start_of
from shortcut_miner.sources.questions.vqa_questions import check_limit

COLUMNS = (
    "question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers",
    "answer_record_key", "split", "structural", "semantic", "detailed", "full_answer", "relevant_question",
    "relevant_answer", "relevant_full_answer",
)  # fmt: skip
_SNIFFED_KEYS = (b'"imageId"', b'"question"')


class _Annotations(msgspec.Struct, gc=False):
    question: dict[str, str] | None = None
    answer: dict[str, str] | None = None
    fullAnswer: dict[str, str] | None = None  # noqa: N815  # the file's name


class _Types(msgspec.Struct, gc=False):
    structural: str | None = None
    semantic: str | None = None
    detailed: str | None = None


class _Question(msgspec.Struct, gc=False):
    imageId: int | str  # noqa: N815
    question: str
    answer: str | None = None
    fullAnswer: str | None = None  # noqa: N815
    annotations: _Annotations | None = None
    types: _Types | None = None


_NO_ANNOTATIONS, _NO_TYPES = _Annotations(), _Types()


def read_gqa_questions(
    path: str | os.PathLike[str], *, on_bad_row: OnBadRow = "error", limit: int | None = None
) -> Reading:
    """Return GQA's questions, in file order; of a folder's files in the order of their names.

    Parameters
    ----------
    path : path-like
        A plain, .gz or .zst file, a zip with one member, ``archive.zip/member``, or a folder; in a folder,
        files of another format are left out.
    on_bad_row : {"error", "skip"}
        Raise for all questions that don't fit at once, or skip and count them.
    limit : int, optional
        Look only at the first `limit` questions.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.GqaQuestions`, with full_answer and detailed (String).
        question_type is the structural type; ids keep their leading zeros.

    Raises
    ------
    SourceError
        A file can't be read, is of another format, or has bad records: no image id, no question, an
        annotation that maps a word to anything but text, an id twice.
    """
    check_on_bad_row(on_bad_row)
    check_limit(limit)
    files, notes = _question_files(Path(path))
    readings: list[Reading] = []
    wanted = limit
    for file in files:
        reading, records = _read_file(open_source(file), on_bad_row, wanted)
        readings.append(reading)
        wanted = None if wanted is None else wanted - records
        if wanted == 0:
            break
    return readings[0] if not Path(path).is_dir() else _joined(Path(path), readings, notes, on_bad_row)


def _question_files(path: Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files to read, and notes on those of a folder that are left out."""
    if not path.is_dir():
        return [path], ()
    present = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
    chosen = [one for one in present if _looks_like_questions(one)]
    if not chosen:
        raise SourceError(
            f"{path}: got a folder without {GQA_QUESTIONS} (it has "
            f"{examples([one.name for one in present]) or 'no files'}), expected at least one such file. "
            "Give a file, or the folder that holds the questions."
        )
    others = [one.name for one in present if one not in chosen]
    notes = (f"files of another format left out: {examples(others)}",) if others else ()
    return chosen, notes


def _looks_like_questions(file: Path) -> bool:
    start = start_of(file)
    return start.lstrip().startswith(b"{") and all(key in start for key in _SNIFFED_KEYS)


def _read_file(source: Source, on_bad_row: OnBadRow, limit: int | None) -> tuple[Reading, int]:
    """Return one file's questions, and how many records were looked at."""
    parsed = parse_json(source)
    names, raws = _records(source, parsed.top)
    repeated = _repeated_ids(source, names)
    names, raws = names[:limit], raws[:limit]
    frames, problems = [], [one for one in repeated if one.records[0] < len(names)]
    with paused_gc():
        for chunk in decode_chunks(raws, _Question):
            frames.append(_table(chunk, names))
            problems += chunk.problems
    table = pl.concat(frames)
    problems += find_problems(table, is_blank("question_id"), "question_id", "an id", "question id")
    problems += find_problems(table, is_blank("image_id"), "image_id", "an id", "imageId")
    problems += find_problems(table, is_blank("question"), "question", "text that is not blank")
    dropped = settle(
        source, "questions", problems, len(names), on_bad_row, lambda record: f"question {names[record]!r}"
    )
    ids, notes = canonical_image_ids(table["image_id"])
    table = without_bad(table.with_columns(image_id=ids), problems).select(COLUMNS)
    facts = source.facts()
    return (
        Reading(table=table, kind=GQA_QUESTIONS, file=facts, dropped=dropped, notes=parsed.notes + notes),
        len(names),
    )


def _records(source: Source, top: Top) -> tuple[list[str], list[msgspec.Raw]]:
    shape = json_shape(top)
    if isinstance(top, list) or shape.kind != GQA_QUESTIONS:
        raise wrong_kind(source, shape, f"{GQA_QUESTIONS} ({{id: {{question, imageId, ...}}}})")
    return list(top), list(top.values())


def _repeated_ids(source: Source, names: Sequence[str]) -> list[Problem]:
    """Find ids that the JSON object has twice: decoding keeps only the last of them.

    The cheap test counts the key that every question has; only a surplus is looked at with a slow parser.
    """
    if source.content.count(b'"imageId"') <= len(names):
        return []
    pairs: list[tuple[str, object]] = []

    def keep_pairs(found: list[tuple[str, object]]) -> None:
        pairs[:] = found  # the outermost object comes last

    try:
        json.loads(source.content, object_pairs_hook=keep_pairs)
    except (ValueError, RecursionError):  # what the fast parser accepted and the slow one does not
        return []
    places = {name: place for place, name in enumerate(names)}
    return [
        Problem((places[name],), "question id", f"{count} entries", "an id that occurs once")
        for name, count in Counter(name for name, _ in pairs).items()
        if count > 1
    ]


def _table(chunk: Chunk[_Question], names: Sequence[str]) -> pl.DataFrame:
    rows = chunk.records
    types = [row.types or _NO_TYPES for row in rows]
    maps = [row.annotations or _NO_ANNOTATIONS for row in rows]
    structural = text_column([one.structural for one in types])
    return pl.DataFrame(
        {
            RECORD: positions_column(chunk.positions),
            "question_id": text_column([names[position] for position in chunk.positions]),
            "image_id": id_column([row.imageId for row in rows]),
            "question": text_column([row.question for row in rows]),
            "question_type": structural,
            "answer_type": pl.Series([None], dtype=pl.String).new_from_index(0, len(rows)),
            "answer": text_column([row.answer for row in rows]),
            "answers": pl.Series([None], dtype=pl.List(pl.String)).new_from_index(0, len(rows)),
            "answer_record_key": pl.Series([None], dtype=pl.List(pl.UInt8)).new_from_index(0, len(rows)),
            "split": pl.Series([None], dtype=pl.String).new_from_index(0, len(rows)),
            "structural": structural,
            "semantic": text_column([one.semantic for one in types]),
            "detailed": text_column([one.detailed for one in types]),
            "full_answer": text_column([row.fullAnswer for row in rows]),
            "relevant_question": _ids_column([one.question for one in maps]),
            "relevant_answer": _ids_column([one.answer for one in maps]),
            "relevant_full_answer": _ids_column([one.fullAnswer for one in maps]),
        }
    )


def _ids_column(maps: Sequence[dict[str, str] | None]) -> pl.Series:
    """Return the object ids of each map as List[String]; null where there is no map."""
    return text_lists([None if one is None else list(one.values()) for one in maps])


def _joined(folder: Path, readings: Sequence[Reading], notes: tuple[str, ...], on_bad: OnBadRow) -> Reading:
    """Return the questions of a folder's files as one reading."""
    table = pl.concat([reading.table for reading in readings])
    dropped = dict(_all_dropped(readings))
    repeated = table.filter(pl.col("question_id").is_duplicated())["question_id"].unique(maintain_order=True)
    if len(repeated) and on_bad == "error":
        raise SourceError(
            f"{folder}: got {len(repeated):,} question ids in several files ({examples(repeated)}), expected "
            "each once. Leave one of the files out, or skip these questions with --on-bad-row skip."
        )
    if len(repeated):
        is_repeated = pl.col("question_id").is_in(repeated.implode())
        dropped["question id: expected in one file only"] = len(table.filter(is_repeated))
        table = table.filter(~is_repeated)
    told = tuple(f"{reading.file.name}: {note}" for reading in readings for note in reading.notes)
    facts = facts_of_all(folder.name, [reading.file for reading in readings])
    return Reading(table=table, kind=GQA_QUESTIONS, file=facts, dropped=dropped, notes=notes + told)


def _all_dropped(readings: Sequence[Reading]) -> Iterator[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for reading in readings:
        counts.update(reading.dropped)
    yield from counts.items()
