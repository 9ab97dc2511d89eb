"""What every reader gives back, and how rows that don't fit are reported or skipped."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field

import polars as pl

from shortcut_miner.errors import ConfigError, SourceError, examples, problem_list, reason_of
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.opening.containers import CUT
from shortcut_miner.sources.opening.files import FileFacts, Source

MAX_SHOWN = 60  # characters of a value
RECORD = "record"  # name of the working column that numbers a file's records from 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A table read from one file, and what was decided on the way.

    Attributes
    ----------
    table : DataFrame
        Rows in file order.
    kind : str
        The format, such as "VQA questions JSON".
    file : FileFacts
        Name, size and SHA-256 of the file on disk.
    dropped : mapping of str to int
        Reason -> records skipped on request (``on_bad_row="skip"``); empty otherwise.
    notes : tuple of str
        What was decided, in words.
    parts : tuple of Reading
        What each of several files gave; empty of a single one.
    content_sha256 : str, optional
        Digest of the rows that were read and are not kept: `table` has their columns, and no row.
    """

    table: pl.DataFrame
    kind: str
    file: FileFacts
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    parts: tuple["Reading", ...] = ()
    content_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one record, or with several that exclude each other.

    Attributes
    ----------
    records : tuple of int
        Positions in the file, from 0.
    field : str
        Path of the field, such as ``answers[3].answer``.
    got, expected : str
        In words.
    more : int
        Further records beside those listed.
    """

    records: tuple[int, ...]
    field: str
    got: str
    expected: str
    more: int = 0

    @property
    def reason(self) -> str:
        """Under which the record is counted: the same text whatever the record and its value."""
        return re.sub(r"\[\d+\]", "[]", f"{self.field}: expected {self.expected}")


def check_on_bad_row(on_bad_row: str) -> None:
    """Raise ConfigError unless the option has one of its two values."""
    if on_bad_row not in ("error", "skip"):
        raise ConfigError(f"on_bad_row: got {on_bad_row!r}, expected 'error' or 'skip'. Choose one of them.")


def settle(
    source: Source | str,
    what: str,
    problems: Sequence[Problem],
    total: int,
    on_bad_row: OnBadRow | None,
    label: Callable[[int], str] = "record {}".format,
    *,
    advice: str = "Fix them",
) -> dict[str, int]:
    """Raise for the problems of a file, all at once, or count the records to skip by reason.

    Parameters
    ----------
    source : Source or str
        The file, or the name of several.
    what : str
        What the records are, such as "questions".
    total : int
        Records in the file. A file without any good record is an error either way.
    on_bad_row : {"error", "skip"} or None
        None: bad rows are an error, and nothing in the command that reads the file can change that.
    label : callable
        Names a record by its position.
    advice : str
        What to do about the problems.
    """
    if on_bad_row is not None:
        check_on_bad_row(on_bad_row)
    dropped: dict[str, int] = {}
    seen: set[int] = set()
    ordered = sorted(problems, key=lambda problem: problem.records[0])
    for problem in ordered:
        fresh = set(problem.records) - seen
        if fresh:
            dropped[problem.reason] = dropped.get(problem.reason, 0) + len(fresh)
        seen |= fresh
    path = source if isinstance(source, str) else source.path
    refuse_bad(path, what, ordered, len(problems), len(seen), total, on_bad_row, label, advice=advice)
    return dropped


def refuse_bad(
    path: str,
    what: str,
    first: Sequence[Problem],
    count: int,
    bad: int,
    total: int,
    on_bad_row: OnBadRow | None,
    label: Callable[[int], str],
    *,
    advice: str = "Fix them",
) -> None:
    """Raise as :func:`settle` does for `count` problems of `bad` records, of which the `first` are shown."""
    if count and (on_bad_row != "skip" or bad == total):
        if bad < total and on_bad_row is not None:
            advice = f"{advice}, or skip them with --on-bad-row skip"
        title = f"{path}: got {bad:,} bad of {total:,} {what}, expected none. {advice}."
        raise SourceError(problem_list(title, [_in_words(one, label) for one in first], total=count))


def finished(
    source: Source,
    kind: str,
    table: pl.DataFrame,
    problems: Sequence[Problem],
    *,
    what: str,
    total: int,
    on_bad_row: OnBadRow,
    label: Callable[[int], str] = "record {}".format,
    notes: tuple[str, ...] = (),
) -> Reading:
    """Return the rows of a file without the bad ones; see :func:`settle` for the parameters and errors."""
    dropped = settle(source, what, problems, total, on_bad_row, label)
    good = without_bad(table, problems)
    return Reading(table=good, kind=kind, file=source.facts(), dropped=dropped, notes=notes)


def check_not_empty(path: str, records: Sized, what: str) -> None:
    """Raise SourceError for a file of the right format without any record."""
    if not len(records):
        raise SourceError(f"{path}: got 0 {what}, expected at least one. Check that this is the right file.")


def check_once(path: str, columns: Sequence[str], needed: Iterable[str]) -> None:
    """Raise SourceError for a table that has a needed column twice: which one is meant is not known."""
    if repeated := [name for name in needed if columns.count(name) > 1]:
        raise SourceError(
            f"{path}: got the column {examples(repeated)} twice, expected it once. "
            "Rename or remove one of them."
        )


def damaged(path: str, form: str, error: Exception) -> SourceError:
    """Return the error for a file that its own library can't read; `form` is what it should be."""
    reason = reason_of(error).removeprefix("calamine error: ")
    return SourceError(f"{path}: got a damaged {form} file ({reason}), expected a complete one. {CUT}.")


def _in_words(problem: Problem, label: Callable[[int], str]) -> str:
    shown = [label(record) for record in problem.records[:3]]
    rest = len(problem.records) - len(shown) + problem.more
    named = " and ".join(shown) + (f" and {rest:,} more" if rest else "")
    return f"{named}, {problem.field}: got {problem.got}, expected {problem.expected}"


def bad_records(problems: Iterable[Problem]) -> list[int]:
    """Return the positions of all records that have a problem, sorted."""
    return sorted({record for problem in problems for record in problem.records})


def without_bad(table: pl.DataFrame, problems: Iterable[Problem]) -> pl.DataFrame:
    """Drop the rows whose record has a problem, and the working column."""
    bad = pl.Series(bad_records(problems), dtype=pl.UInt32)
    kept = table.filter(~pl.col(RECORD).is_in(bad.implode())) if len(bad) else table
    return kept.drop(RECORD)


def find_problems(
    table: pl.DataFrame, condition: pl.Expr, column: str, expected: str, field: str | None = None
) -> list[Problem]:
    """Return a problem for every row where `condition` is true, with what `column` (`field`) holds."""
    rows = table.lazy().filter(condition).select(RECORD, column).collect()
    return [
        Problem((record,), field or column, shown_value(value), expected)
        for record, value in rows.iter_rows()
    ]


def shown_value(value: object) -> str:
    """Return a value in words of a problem, cut where it is long."""
    if value is None:
        return "null"
    shown = repr(value)
    return shown if len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "..."


def find_duplicates(table: pl.DataFrame, key: str, field: str | None = None) -> list[Problem]:
    """Return a problem for every value of `key` (the file's `field`) that several records have."""
    if table[key].n_unique() == table.height:
        return []
    repeated = (
        table.filter(pl.col(key).is_duplicated())
        .group_by(key, maintain_order=True)
        .agg(pl.col(RECORD).unique(maintain_order=True))
        .filter(pl.col(RECORD).list.len() > 1)
    )
    return [
        repeated_id(value, records, len(records), field or key)
        for value, records in repeated.select(key, RECORD).iter_rows()
    ]


def repeated_id(value: object, records: Sequence[int], times: int, field: str) -> Problem:
    """Return the problem of an id that `times` records have, of which the first are given."""
    return Problem(
        tuple(records), field, f"{value!r} {times} times", "an id that occurs once", times - len(records)
    )


def is_blank(column: str) -> pl.Expr:
    """Return whether a text is empty or only blanks."""
    return pl.col(column).str.strip_chars().str.len_bytes() == 0
