"""Reading what GQA-OOD needs: questions with an answer and a group, of GQA, any released set or one table."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.gqa_ood.config import GqaOodConfig, GqaOodFiles
from shortcut_miner.diagnostics.gqa_ood.tables import COLUMNS, read_grouped_table
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.options import named_columns
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.kinds import Content
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.formats import GQA
from shortcut_miner.sources.questions.gqa import read_gqa_questions, read_gqa_records
from shortcut_miner.sources.questions.question_sets import format_of, read_questions, refuse_columns

NO_GROUP = "none"
OF_GQA = {
    "local": "group_local",
    "global": "group_global",
    "structural": "structural",
    "semantic": "semantic",
    "detailed": "detailed",
}
OF_SETS = ("question_type", "answer_type", "split")
WITHOUT_GROUP = "question without a group"


@dataclass(frozen=True, slots=True)
class GqaOodInputs:
    """The questions read, with what was decided and lost on the way.

    Attributes
    ----------
    questions : pl.DataFrame
        :class:`.schemas.OodQuestions`, in file order.
    facts : InputFacts
        Records, drops and notes.
    without_group : int
        Questions left out because they have none.
    records : dict of str to bytes or None
        Each question's record as GQA's file has it, where files of its form are asked for.
    """

    questions: pl.DataFrame
    facts: InputFacts
    without_group: int
    records: dict[str, bytes] | None = None


def read_inputs(files: GqaOodFiles, config: GqaOodConfig, limit: int | None = None) -> GqaOodInputs:
    """Return the questions of a build; `limit` keeps the first ones.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit, such as a question without an answer.
    ConfigError
        A group that the file doesn't have, annotations of a file that holds its own answers, or GQA files
        asked for of other questions.
    """
    is_gqa = files.annotations is None and _is_gqa(files.questions)
    if config.as_gqa and not is_gqa:
        raise ConfigError(
            f"as_gqa: got {files.questions}, which is no GQA questions JSON, expected one. "
            "Leave --as-gqa out: the subsets are then written as lists of ids."
        )
    readings = _readings(files, config, limit, is_gqa=is_gqa)
    table = readings["questions"].table
    grouped, without = _with_named_groups(table, files.questions, config)
    records = _records(files.questions, readings["questions"]) if config.as_gqa else None
    return GqaOodInputs(grouped, InputFacts.of(readings), without, records)


def _readings(
    files: GqaOodFiles, config: GqaOodConfig, limit: int | None, *, is_gqa: bool
) -> dict[str, Reading]:
    """Return the readings by role; the questions with the columns of :class:`.schemas.OodQuestions`."""
    skip, group = config.on_bad_row, config.group
    found = None if is_gqa or files.annotations is not None else format_of(_content(files.questions))
    if is_gqa or files.annotations is not None or found is not None:
        refuse_columns(named_columns(config.columns, COLUMNS), files.questions)
    if is_gqa:
        column = _known_group(group or "local", tuple(OF_GQA), files.questions)
        read = read_gqa_questions(files.questions, on_bad_row=skip, limit=limit, with_groups=True)
        table = read.table.with_columns(
            pl.col(OF_GQA[column]).alias("group"), pl.col("is_balanced").fill_null(True)
        )
        return {"questions": replace(read, table=_chosen(table))}
    if files.annotations is None and found is None:
        if group is None:
            raise ConfigError(
                f"group: got none for {files.questions}, which is no GQA questions JSON, expected the column "
                "that groups its questions. Give --group."
            )
        read = read_grouped_table(files.questions, group, config.columns, on_bad_row=skip, limit=limit)
        return {"questions": replace(read, table=_chosen(read.table))}
    column = _known_group(group, OF_SETS, files.questions)
    asked, readings = read_questions(files.questions, files.annotations, on_bad_row=skip, limit=limit)
    table = asked.with_columns(
        pl.col(column).alias("group"),
        is_balanced=pl.lit(value=True),
        structural=pl.lit(None, pl.String),
        semantic=pl.lit(None, pl.String),
    )
    if unanswered := table["answer"].null_count():
        ids = table.filter(pl.col("answer").is_null())["question_id"]
        raise SourceError(
            f"{files.questions}: got {unanswered:,} questions without an answer: {examples(ids)}, expected "
            "one for each. Take them out."
        )
    readings["questions"] = replace(readings["questions"], table=_chosen(table))
    return readings


def _chosen(table: pl.DataFrame) -> pl.DataFrame:
    more = ("structural", "semantic", "group", "is_balanced")
    return table.select(*Questions.column_names(), *more)


def _is_gqa(path: Path) -> bool:
    return path.is_dir() or format_of(_content(path)) in GQA


def _content(path: Path) -> Content:
    return Content(open_source(path, keep_workbooks=True))


def _known_group(group: str | None, known: tuple[str, ...], path: Path) -> str:
    if group not in known:
        got = "none" if group is None else repr(group)
        raise ConfigError(
            f"group: got {got} for {path}, expected one of {', '.join(known)}. "
            f"{'Give' if group is None else 'Change'} --group."
        )
    return group


def _with_named_groups(table: pl.DataFrame, path: Path, config: GqaOodConfig) -> tuple[pl.DataFrame, int]:
    """Return questions that all have a group, and how many were left out because they have none."""
    without = table["group"].null_count()
    if config.null_group == "drop":
        kept = table.filter(pl.col("group").is_not_null())
        if kept.is_empty():
            raise SourceError(
                f"{path}: got no question with a group, expected at least one. Choose another --group, or "
                "leave --null-group out."
            )
        return kept, without
    if without and (table["group"] == NO_GROUP).any():
        raise SourceError(
            f"{path}: got a group called {NO_GROUP!r} and {without:,} questions without a group, which would "
            "be one group, expected one or the other. Rename the group, or leave these questions out with "
            "--null-group drop."
        )
    return table.with_columns(pl.col("group").fill_null(NO_GROUP)), 0


def _records(path: Path, reading: Reading) -> dict[str, bytes]:
    """Return the records of the same files that were read."""
    records, facts = read_gqa_records(path)
    if facts.sha256 != reading.file.sha256:
        raise SourceError(
            f"{path}: got other content than a moment ago, expected a file that nobody writes. Run it again."
        )
    return records
