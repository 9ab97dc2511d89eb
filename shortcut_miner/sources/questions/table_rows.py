"""One flat table of questions: which of its columns are read, and its rows as questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from shortcut_miner.errors import SourceError, examples, problem_list
from shortcut_miner.options import OnBadRow
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column, Kind, optional
from shortcut_miner.sources.opening.files import Opened, open_source
from shortcut_miner.sources.opening.flat_tables import FlatTable, some_record_has
from shortcut_miner.sources.opening.item_columns import attributes, is_item, item_needs
from shortcut_miner.sources.opening.json_text import decoding_error
from shortcut_miner.sources.opening.reading import (
    RECORD,
    Problem,
    bad_records,
    find_duplicates,
    find_problems,
    is_blank,
    settle,
)
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.sources.questions.answer_lists import majority

COLUMNS = (
    "question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers", "split",
)  # fmt: skip
LABELS, ATTRIBUTES, GROUP = "labels", "attributes", "group"  # beside these, where they are asked for
OWN_COLUMNS = (*COLUMNS, LABELS, GROUP)
NAME_COLUMNS = "Name its columns with --columns"
_KINDS: dict[str, Kind] = {
    "question_id": "id", "image_id": "id", GROUP: "id", "answers": "texts", LABELS: "texts",
}  # fmt: skip
_KEY = "answer_record_key"
_MOST_FREQUENT = "answers taken as the most frequent of the list, the first of equally frequent ones"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is read of tables of questions.

    Attributes
    ----------
    names : mapping of str to str
        Our column -> the file's; one under another name than ours must be there.
    items : tuple of str
        Further columns of the file, whose values become items.
    is_own : bool
        Whether rows may be numbered where there are no ids, and an answer may be the most frequent of
        several, or the only one; then a row without any answer is a bad one.
    is_numbered : bool
        Whether rows may be numbered, and nothing else of that.
    advice : str
        What to do about columns that are missing.
    """

    names: Mapping[str, str]
    items: tuple[str, ...] = ()
    is_own: bool = False
    is_numbered: bool = False
    advice: str = NAME_COLUMNS

    @property
    def numbers_rows(self) -> bool:
        """Whether rows may be numbered where there are no ids."""
        return self.is_own or self.is_numbered


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTable:
    """A file opened as a table: the names of its columns are known, its rows are not read yet.

    Attributes
    ----------
    flat : FlatTable
    file : Opened
        What the file is on disk.
    seen : dict of str to bool
        Columns that were looked for in all records, and whether any has it.
    """

    flat: FlatTable
    file: Opened = field(repr=False)
    seen: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    def has(self, column: str) -> bool:
        """Return whether it has a column; of JSON whether any record has."""
        if column in self.flat.columns or not self.flat.form.startswith("JSON"):
            return column in self.flat.columns
        if column not in self.seen:
            self.seen[column] = some_record_has(self.flat, self.file, column)
        return self.seen[column]

    def takes(self, wanted: Wanted, ours: str) -> bool:
        """Return whether one of our columns is asked for and there."""
        return ours in wanted.names and self.has(wanted.names[ours])


def read_rows(
    table: QuestionTable, wanted: Wanted, first: int, on_bad_row: OnBadRow, limit: int | None
) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Return the good rows of a table, and how many were left out by reason.

    See :func:`.tables.read_question_tables`, which reads several, for the parameters, columns and errors.
    """
    flat = table.flat
    rows, broken = read_columns(flat, columns_of(table, wanted), advice=wanted.advice, limit=limit)
    total = flat.total if limit is None else min(limit, flat.total)
    rows = as_questions(rows.filter(pl.col(RECORD) < total), table, wanted, first)
    problems = [_in_lines(flat, one) for one in broken if one.records[0] < total]
    problems += problems_of(rows, wanted, find_duplicates(rows, "question_id"))
    dropped = settle(flat.path, "questions", problems, total, on_bad_row, flat.label)
    return chosen_columns(without_records(rows, bad_records(problems)), table, wanted), dropped


def as_questions(rows: pl.DataFrame, table: QuestionTable, wanted: Wanted, first: int) -> pl.DataFrame:
    """Return what was read of a table, or of a part of it, with all columns that questions have."""
    flat = table.flat
    if flat.is_untyped:
        rows = rows.with_columns(pl.col(pl.String).replace("", None))
    if wanted.numbers_rows and not table.takes(wanted, "question_id"):
        number = pl.col(RECORD).cast(pl.Int64) + first + 1
        rows = rows.with_columns(number.cast(pl.String).alias("question_id"))
    if wanted.is_own:
        rows = _with_lists(_with_most_frequent(rows, flat))
    places = {"image_id": ("image_id", GROUP), GROUP: (GROUP, "image_id")}
    return rows.with_columns(
        pl.coalesce(*(_if_given(one) for one in order if one in rows.columns), "question_id").alias(name)
        for name, order in places.items()
        if name in ("image_id", *_beside(table, wanted))
    )


def _beside(table: QuestionTable, wanted: Wanted) -> list[str]:
    return [name for name in (LABELS, GROUP) if table.takes(wanted, name)]


def without_records(rows: pl.DataFrame, bad: Sequence[int]) -> pl.DataFrame:
    """Return the rows but those of bad records."""
    return rows.filter(~pl.col(RECORD).is_in(pl.Series(bad, dtype=pl.UInt32).implode())) if bad else rows


def chosen_columns(rows: pl.DataFrame, table: QuestionTable, wanted: Wanted) -> pl.DataFrame:
    """Return the columns of questions, and what was asked for beside them."""
    own = _beside(table, wanted)
    if wanted.items:
        rows = rows.with_columns(attributes(wanted.items, is_untyped=table.flat.is_untyped))
        own.append(ATTRIBUTES)
    return rows.select(*Questions.column_names(), *own)


def problems_of(rows: pl.DataFrame, wanted: Wanted, repeated: Sequence[Problem]) -> list[Problem]:
    """Return what is no id or question, the ids that repeat, and of own tables bad answers and labels."""
    problems = [
        *find_problems(rows, is_blank("question_id").fill_null(True), "question_id", "an id"),
        *find_problems(rows, is_blank("question").fill_null(True), "question", "text that is not blank"),
        *repeated,
    ]
    if not wanted.is_own:
        return problems
    problems += find_problems(rows, pl.col("answer").is_null(), "answer", "an answer, or a list of answers")
    for name in ("answers", LABELS):
        if name in rows.columns:
            # list.drop_nulls takes thirty times as long.
            has_null = pl.col(name).list.eval(pl.element().is_null()).list.any()
            problems += find_problems(rows, has_null, name, "a list without nulls")
    return problems


def _if_given(column: str) -> pl.Expr:
    return pl.when(is_blank(column).not_()).then(column)


def columns_of(table: QuestionTable, wanted: Wanted) -> dict[str, Column]:
    """Return what to read of a table: columns named by the user must be there."""
    flat, names = table.flat, wanted.names
    needed = {"question"} if wanted.is_own else {"question", "answer"}
    needed |= set() if wanted.numbers_rows else {"question_id"}
    if wanted.is_own and not (table.takes(wanted, "answers") and names["answer"] == "answer"):
        needed |= {"answer"}
    needs = {
        name: Column(_KINDS.get(name, "value"), name not in needed and theirs == name, (theirs,))
        for name, theirs in names.items()
    }
    needs |= item_needs(wanted.items)
    missing = {
        ours: need.names[0]
        for ours, need in needs.items()
        if not need.is_optional and not table.has(need.names[0])
    }
    if missing:
        asked = dict.fromkeys(
            [*(theirs for ours, theirs in names.items() if ours in needed), *missing.values()]
        )
        check_no_other_kind(open_source(flat.path, keep_workbooks=True), asked)
    if missing:
        got = f"a table of {flat.total:,} rows with the columns {examples(flat.columns, limit=20)}"
        expected = ", ".join(name for name in COLUMNS if name in needed)
        told = [
            f"column {theirs}: got no such column, expected {_what(ours)} of each row"
            for ours, theirs in missing.items()
        ]
        raise SourceError(
            problem_list(f"{flat.path}: got {got}, expected {expected}. {wanted.advice}.", told)
        )
    needs[_KEY] = Column("keys", is_optional=True, names=(names["answers"],))
    return optional(needs)  # a record may lack one


def _what(ours: str) -> str:
    return "a value for the items" if is_item(ours) else f"the {ours}"


def _with_most_frequent(rows: pl.DataFrame, flat: FlatTable) -> pl.DataFrame:
    """Return rows with the most frequent of the answers, the first of ties, where there is no answer."""
    listed = rows.select(
        pl.when(pl.col("answer").is_null()).then(pl.col("answers").list.drop_nulls())
    ).to_series()
    most = majority(listed)["answer"]
    flat.decisions[_MOST_FREQUENT] += most.count()
    return rows.with_columns(answer=pl.coalesce("answer", most))


def _with_lists(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose only answer is also their list of answers, where there is none or an empty one."""
    is_alone = (pl.col("answers").list.len().fill_null(0) == 0) & pl.col("answer").is_not_null()
    alone = pl.when(is_alone).then(pl.concat_list("answer"))
    return rows.with_columns(answers=pl.coalesce(alone, "answers"))


def _in_lines(flat: FlatTable, problem: Problem) -> Problem:
    """Return the problem of a record; that of a line that is no JSON object in words of lines."""
    if flat.form != "JSONL" or problem.field != "record":
        return problem
    got = f"broken JSON ({decoding_error(flat.content[problem.records[0]])})"
    return Problem(problem.records, "line", got, "one JSON object a line")
