"""Annotators' answers to a question: as lists of text, which of their records are equal, and the majority."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shortcut_miner.columnar import arrow_series
from shortcut_miner.sources.opening.json_records import Chunk, decoding_problem
from shortcut_miner.sources.opening.json_text import DECODE_ERRORS, Raws
from shortcut_miner.sources.opening.list_columns import list_column
from shortcut_miner.sources.opening.nested import MAX_RECORD_KINDS, NoListError, numbered_records
from shortcut_miner.sources.opening.reading import Problem

MOST_FREQUENT = "the annotators' most frequent one"


class AnswerRecord(msgspec.Struct, gc=False):
    """What one annotator answered."""

    answer: str
    answer_id: int | str | float | None = None


def record_lists(chunk: Chunk[Any], raws: Raws) -> tuple[dict[str, pl.Series], list[Problem]]:
    """Return the columns answers and answer_record_key of records with a list of AnswerRecords, `answers`.

    Parameters
    ----------
    chunk : Chunk
        Decoded records; their `answers` may be None.
    raws : sequence of undecoded records
        All of the file: where answer ids don't tell the records apart, all their fields are compared.

    Returns
    -------
    columns : dict of str to Series
        answers (List[String]; null where a record has none) and answer_record_key (List[UInt8], see
        :class:`shortcut_miner.schemas.Questions`).
    problems : list of Problem
        Answer records that can't be numbered.
    """
    given = [row.answers for row in chunk.records]
    lists = [one_list or [] for one_list in given]
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    keys, problems = _answer_record_keys(chunk, raws, lists, offsets)
    flat = pl.Series([one.answer for one_list in lists for one in one_list], dtype=pl.String)
    answers = list_column(flat, np.diff(offsets), [one_list is None for one_list in given])
    return {"answers": answers, "answer_record_key": keys}, problems


def arrow_lists(column: pa.ChunkedArray) -> dict[str, pl.Series]:
    """Return what :func:`record_lists` does of lists of AnswerRecords that are Arrow already.

    {} where answer ids don't rise within each list, so that records must be compared.
    """
    lists = column.combine_chunks()
    records, offsets = lists.values, lists.offsets
    # Numbers go through Polars: to_numpy of Arrow loads pandas, if it is installed.
    ids, ends = (arrow_series(one) for one in (records.field("answer_id"), offsets))
    if ids.null_count() or not _rise(ids.to_numpy(), ends.to_numpy()).all():
        return {}
    mask = lists.is_null() if lists.null_count else None
    answers = pa.ListArray.from_arrays(offsets, records.field("answer"), mask=mask)
    keys = pl.Series([None], dtype=pl.List(pl.UInt8)).new_from_index(0, len(lists))
    return {"answers": arrow_series(answers), "answer_record_key": keys}


def majority(answers: pl.Series) -> pl.DataFrame:
    """Return the most frequent answer of each list (`answer`), and whether there are several (`is_tie`).

    Of several the one that was given first counts, as in Python's ``Counter.most_common``; texts are
    compared as they are. An empty list and null have none.

    >>> listed = pl.Series([["b", "a", "a", "b"], ["a", "b", "b"], [], None], dtype=pl.List(pl.String))
    >>> majority(listed).rows()
    [('b', True), ('b', False), (None, False), (None, False)]
    """
    rows = pl.DataFrame({"row": pl.int_range(len(answers), eager=True), "answer": answers})
    chosen = (
        rows.lazy()
        .filter(pl.col("answer").list.len() > 0)
        .explode("answer")
        .with_row_index("place")
        .group_by("row", "answer")
        .agg(pl.len().alias("count"), pl.col("place").min())
        .sort("row", "count", "place", descending=[False, True, False])
        .group_by("row", maintain_order=True)
        .agg(pl.col("answer").first(), is_tie=(pl.col("count") == pl.col("count").first()).sum() > 1)
        .collect()
    )
    found = rows.select("row").join(chosen, on="row", how="left", validate="1:1", maintain_order="left")
    return found.select("answer", pl.col("is_tie").fill_null(value=False))


def choice_notes(table: pl.DataFrame, rule: str) -> tuple[str, ...]:
    """Return the note on a table's `answer` and `is_tie`: by which rule how many were chosen."""
    ties = int(table["is_tie"].sum())
    told = f"; of several the first in the file: {ties:,}" if ties else ""
    return (f"answer, {rule}: {table['answer'].count():,}{told}",)


def _answer_record_keys(
    chunk: Chunk[Any], raws: Raws, lists: Sequence[list[AnswerRecord]], offsets: NDArray[np.int64]
) -> tuple[pl.Series, list[Problem]]:
    """Return each question's answer records numbered by their fields but `answer`; null if all differ.

    The official metric takes two records for the same annotator's if they are equal as a whole.
    """
    keys: dict[int, list[int] | None] = {}
    problems = []
    for row in _rows_to_number(lists, offsets):
        position = chunk.positions[row]
        try:
            keys[row] = numbered_records(msgspec.json.decode(raws[position])["answers"])
        except DECODE_ERRORS as error:  # in a field that only this key reads
            problems.append(decoding_problem(position, "answers", raws[position], error))
        except NoListError as error:
            problems.append(Problem((position,), "answers", str(error), f"at most {MAX_RECORD_KINDS} kinds"))
    lengths = np.zeros(len(lists), np.int64)
    lengths[[*keys]] = [len(key or ()) for key in keys.values()]
    is_null = np.ones(len(lists), np.bool_)
    is_null[[*keys]] = [key is None for key in keys.values()]
    flat = pl.Series([number for key in keys.values() for number in key or ()], dtype=pl.UInt8)
    return list_column(flat, lengths, is_null), problems


def _rows_to_number(lists: Sequence[list[AnswerRecord]], offsets: NDArray[np.int64]) -> list[int]:
    """Return the rows whose answer ids are missing or repeat; ids that rise are seen to differ at once."""
    flat = [one.answer_id for one_list in lists for one in one_list]
    try:
        is_rising = _rise(np.array(flat, dtype=np.int64), offsets)
        doubtful = np.unique(np.searchsorted(offsets, np.flatnonzero(~is_rising), side="right") - 1).tolist()
    except (TypeError, ValueError, OverflowError):  # an id is missing, text, or larger than int64
        doubtful = range(len(lists))
    return [row for row in doubtful if not _differ([one.answer_id for one in lists[row]])]


def _rise(ids: NDArray[np.int64], offsets: NDArray[Any]) -> NDArray[np.bool_]:
    """Return bool[ids - 1]: whether the next id is larger, or another list's."""
    is_rising = np.diff(ids) > 0
    inner = offsets[1:-1]
    is_rising[inner[(inner > 0) & (inner < len(ids))] - 1] = True
    return is_rising


def _differ(ids: list[int | str | float | None]) -> bool:
    distinct = set(ids)
    return len(distinct) == len(ids) and None not in distinct
