"""GQA questions JSON: one file, or a folder over which the questions are split.

Format: Hudson and Manning, "GQA: A New Dataset for Real-World Visual Reasoning" (CVPR 2019).
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.errors import SourceError, examples
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.images.several import all_files
from shortcut_miner.sources.known_formats import known_format
from shortcut_miner.sources.opening.files import FileFacts, facts_of_all, open_source
from shortcut_miner.sources.opening.ids import with_whole_ids
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import Reading, check_on_bad_row
from shortcut_miner.sources.opening.streams import start_of
from shortcut_miner.sources.questions.formats import GQA
from shortcut_miner.sources.questions.gqa_questions import (
    GQA_QUESTIONS,
    read_grouped_questions,
    read_plain,
    read_questions_with_programs,
)
from shortcut_miner.sources.questions.vqa_questions import check_limit

_EXPECTED = f"{GQA_QUESTIONS} ({{id: {{question, imageId, ...}}}})"
_SNIFFED_KEYS = (b'"imageId"', b'"question"')


def read_gqa_questions(
    path: str | os.PathLike[str],
    *,
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
    programs: bool = False,
    with_groups: bool = False,
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
    programs : bool
        Read the questions' programs too, whose arguments name objects.
    with_groups : bool
        Read each question's groups too; then a question needs an answer and an object of groups.

    Returns
    -------
    Reading
        A :class:`shortcut_miner.schemas.GqaQuestions`, with full_answer and detailed (String).
        question_type is the structural type; ids keep their leading zeros. With `programs` also
        relevant_program List[String]: the ids of the objects that the program names, null without one. With
        groups also group_global, group_local (String) and is_balanced (Boolean), each null where the file
        says nothing.

    Raises
    ------
    SourceError
        A file can't be read, is of another format, or has bad records: no image id, no question, an
        annotation that maps a word to anything but text, an id twice.
    """
    check_on_bad_row(on_bad_row)
    check_limit(limit)
    files, notes = all_files([Path(path)], _looks_like_questions, GQA_QUESTIONS)
    readings: list[Reading] = []
    wanted = limit
    for file in files:
        content = Content(open_source(file, keep_workbooks=True))
        plain = read_plain(content, on_bad_row) if wanted is None and not (programs or with_groups) else None
        if plain is not None:
            readings.append(plain)
            continue
        found = known_format(content, GQA, _EXPECTED)
        read = found.read
        if programs or with_groups:
            read = read_questions_with_programs if programs else read_grouped_questions
        readings.append(read(content, on_bad_row, wanted))
        wanted = None if wanted is None else max(0, wanted - len(content.json.top))
        if wanted == 0:
            break
    return readings[0] if not Path(path).is_dir() else _joined(Path(path), readings, notes, on_bad_row)


def read_gqa_records(path: Path) -> tuple[dict[str, bytes], FileFacts]:
    """Return each question's record as the file has it, by id, and what the file (or folder) is on disk.

    Raises
    ------
    SourceError
        A file can't be read, or is of another format.
    """
    files, _ = all_files([path], _looks_like_questions, GQA_QUESTIONS)
    records: dict[str, bytes] = {}
    facts = []
    for file in files:
        content = Content(open_source(file, keep_workbooks=True))
        known_format(content, GQA, _EXPECTED)
        top = content.json.top
        assert isinstance(top, dict)
        names, _ = with_whole_ids(
            pl.DataFrame({"question_id": [*top]}, schema={"question_id": pl.String}), "question_id"
        )
        records.update(zip(names["question_id"], map(bytes, top.values()), strict=True))
        facts.append(content.source.facts())
    return records, facts_of_all(path.name, facts) if path.is_dir() else facts[0]


def _looks_like_questions(file: Path) -> bool:
    try:
        start = start_of(file)
    except SourceError:
        return False
    return start.lstrip().startswith(b"{") and all(key in start for key in _SNIFFED_KEYS)


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
