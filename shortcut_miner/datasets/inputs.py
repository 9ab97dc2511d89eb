"""What was read, as a manifest records it: one entry a file, what was left out, and what was decided."""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from shortcut_miner.content_digest import row_sums
from shortcut_miner.sources.opening.files import FileFacts
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.storage import InputRecord, table_sha256

# Columns that tell a table -> those by which its rows are sorted before they are hashed. The first that fits.
_KEYS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("image_id", "region_index"), ("image_id", "region_index")),
    (("image_id", "object_id"), ("image_id", "object_id")),
    (("question_id", "region_index"), ("question_id", "region_index")),
    (("question_id", "answer", "weight"), ("question_id", "answer")),
    (("question_id",), ("question_id",)),
    (("image_id", "label"), ("image_id", "label", "score")),
    (("neighbour",), ("class", "neighbour")),
    (("word", "vector"), ("word",)),
)
# Tables of any size, which are read a batch at a time where they are large.
_SUMMED_ROLES = ("table", "val_table")
# Roles of one model's second file and those after it.
_NUMBERED_FILE = re.compile(r" \(\d+\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFacts:
    """What a run knows about its inputs beside their tables.

    Attributes
    ----------
    records : tuple of InputRecord
        One a file.
    dropped : mapping of str to int
        Rows skipped on request, by file and reason.
    notes, warnings : tuple of str
        What was decided, and what may be wrong, in words.
    """

    records: tuple[InputRecord, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, saved: Mapping[str, Any]) -> Self:
        """Return the facts that ``dataclasses.asdict`` made, after they have been JSON.

        Of another shape it raises LookupError, TypeError or AttributeError.
        """
        return cls(
            records=tuple(InputRecord(**record) for record in saved["records"]),
            dropped=saved["dropped"],
            notes=tuple(saved["notes"]),
            warnings=tuple(saved["warnings"]),
        )

    @classmethod
    def of(cls, readings: Mapping[str, Reading], warnings: Sequence[str | None] = ()) -> Self:
        """Return the facts of readings by role; a warning that is None was none."""
        files = [(role, part) for role, one in readings.items() for part in one.parts or (one,)]
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            records = tuple(pool.map(input_record, *zip(*files, strict=True))) if files else ()
        return cls(
            records=records,
            dropped={
                f"{role}: {reason}": count
                for role, reading in readings.items()
                for reason, count in reading.dropped.items()
            },
            notes=notes_of(readings),
            warnings=tuple(warning for warning in warnings if warning),
        )


def same_answers_warnings(digests: Mapping[str, str]) -> tuple[str, ...]:
    """Return a warning for each group of roles whose answers have the same digest."""
    roles: dict[str, list[str]] = {}
    for role, digest in digests.items():
        roles.setdefault(digest, []).append(role)
    return tuple(
        f"{', '.join(same[:-1])} and {same[-1]}: got the same answers, expected different ones. "
        "Check that each file is the right one."
        for same in roles.values()
        if len(same) > 1
    )


def notes_of(readings: Mapping[str, Reading]) -> tuple[str, ...]:
    """Return the notes of readings, each once with all of its roles before it."""
    roles: dict[str, list[str]] = {}
    for role, reading in readings.items():
        for note in dict.fromkeys(reading.notes):
            roles.setdefault(note, []).append(role)
    return tuple(f"{', '.join(_with_files_counted(said_of))}: {note}" for note, said_of in roles.items())


def _with_files_counted(roles: Sequence[str]) -> list[str]:
    """Return roles with further files of one, which are numbered, counted behind its first.

    >>> _with_files_counted(["answers of a", "answers of a (1)", "answers of a (2)", "b", "c (1)"])
    ['answers of a and 2 more files', 'b', 'c (1)']
    """
    further: dict[str, int] = {}
    for role in roles:
        first = _NUMBERED_FILE.sub("", role)
        if first != role and first in further:
            further[first] += 1
        else:
            further[role] = 0
    return [f"{role} and {n} more file{'s' * (n > 1)}" if n else role for role, n in further.items()]


def input_record(role: str, reading: Reading) -> InputRecord:
    """Return what was read as a manifest's entry, with a digest of its content whatever the order of rows."""
    return _record(role, reading.file, reading.content_sha256 or _content_sha256(role, reading.table))


def _content_sha256(role: str, table: pl.DataFrame) -> str:
    if role in _SUMMED_ROLES:
        return row_sums(table).sha256()
    return table_sha256(table, row_key(table.columns))


def file_record(role: str, file: FileFacts) -> InputRecord:
    """Return a manifest's entry of a file too large to hash twice: its content's digest is its bytes'."""
    return _record(role, file, file.sha256)


def row_key(columns: Sequence[str]) -> list[str]:
    """Return the columns that tell the rows of a table apart; all of them where none are known to.

    >>> row_key(["question_id", "answer"]), row_key(["original_id", "augmented_id"])
    (['question_id'], ['original_id', 'augmented_id'])
    """
    fitting = (key for told_by, key in _KEYS if {*told_by} <= {*columns})
    return list(next(fitting, columns))


def _record(role: str, file: FileFacts, content_sha256: str) -> InputRecord:
    return InputRecord(
        role=role,
        name=file.name if file.member is None else f"{file.name}/{file.member}",
        size=file.size,
        sha256=file.sha256,
        content_sha256=content_sha256,
    )
