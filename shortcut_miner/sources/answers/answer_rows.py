"""Rows of a file of answers before their ids are checked, and those of flat tables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from shortcut_miner.sources.answers.answer_column import ID_NAMES, check_one_id
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.flat_tables import FlatTable
from shortcut_miner.sources.opening.reading import Problem, find_problems
from shortcut_miner.sources.opening.table_columns import check_has_rows, read_columns


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user says about a file of answers.

    Attributes
    ----------
    columns : mapping of str to str
        Ours -> the file's, for those that are named.
    allow_doc_id : bool
        Whether numbers of documents may be ids where samples have no other.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    allow_doc_id: bool = False


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Rows of a file of answers before their ids are checked.

    Attributes
    ----------
    table : DataFrame
        record, question_id, answer.
    problems : list of Problem
        What is wrong with records, whether they are in `table` or not.
    total : int
        Records in the file.
    label : callable
        Names a record by its position.
    notes : tuple of str
        What was decided.
    """

    table: pl.DataFrame
    problems: list[Problem]
    total: int
    label: Callable[[int], str]
    notes: tuple[str, ...] = ()


def answer_rows(table: FlatTable, needs: dict[str, Column], notes: tuple[str, ...] = ()) -> AnswerRows:
    """Return the answers of a flat table; `needs` says where question_id and answer are.

    Raises
    ------
    SourceError
        No row; or, where several names of ids are asked for, two columns of ids that differ.
    """
    check_has_rows(table, "predictions")
    rows, problems = read_columns(table, needs, by_record=True)
    for name, expected in (("question_id", "an id"), ("answer", "text")):
        problems += find_problems(rows, pl.col(name).is_null(), name, expected)
    taken = table.names(needs)["question_id"]
    if taken is not None and needs["question_id"].names == ID_NAMES:
        check_one_id(table, rows, taken)
    return AnswerRows(rows, problems, table.total, table.label, table.notes + notes)
