"""Reading what RAD needs: questions with their answers, from VQA's two files, one table or GQA's JSON."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles
from shortcut_miner.diagnostics.rad.pools import POOL_SCHEMA, check_pools
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import OnBadRow, option_name
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table, read_columns
from shortcut_miner.sources.opening.kinds import Content, find_format
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.formats import GQA, QUESTIONS
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.gqa_questions import is_gqa_questions
from shortcut_miner.sources.questions.tables import column_names, is_table, read_question_table
from shortcut_miner.sources.questions.vqa import read_vqa
from shortcut_miner.sources.recognise import check_no_other_kind, known_format

_SPLIT_IN_NAME = re.compile(
    r"(?<![a-z])(train|val|valid|validation|test|test-dev|dev|minival)(?![a-z])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RadInputs:
    """The questions read, with what was decided and lost on the way.

    Attributes
    ----------
    questions : pl.DataFrame
        schemas.Questions, in file order, with `split` filled in.
    facts : InputFacts
        Records, drops and notes.
    pools : pl.DataFrame or None
        Answers to draw from, of a file.
    """

    questions: pl.DataFrame
    facts: InputFacts
    pools: pl.DataFrame | None = None


def read_inputs(files: RadFiles, config: RadConfig, limit: int | None = None) -> RadInputs:
    """Return the questions of a build; `limit` keeps the first ones.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit.
    ConfigError
        A table with annotations, or a questions JSON without.
    """
    columns = column_names(config.columns)
    table, readings = read_questions(
        files.questions, files.annotations, columns, on_bad_row=config.on_bad_row, limit=limit
    )
    pools = None
    if files.pools is not None:
        readings["pools"] = read_pools(files.pools)
        pools = readings["pools"].table
    split = config.split or _split_of(files.questions.name)
    named = pl.lit(split) if config.split else pl.col("split").fill_null(split)
    return RadInputs(
        questions=table.with_columns(split=named),
        facts=InputFacts.of(readings),
        pools=pools,
    )


def read_pools(path: Path) -> Reading:
    """Return the pools that another build wrote.

    Raises
    ------
    SourceError
        The file is no such table.
    """
    source = open_source(path, keep_workbooks=True)
    flat = open_table(source)
    if not {*POOL_SCHEMA} <= {*flat.columns}:
        check_no_other_kind(source, POOL_SCHEMA, "the pools.parquet of a build")
    if not flat.types:
        raise SourceError(
            f"{path}: got a {flat.form} table, expected the pools.parquet of a build. Give that file."
        )
    table, _ = read_columns(flat, dict.fromkeys(flat.columns, Column("any")))
    check_pools(table, str(path))
    return Reading(table=table.select(*POOL_SCHEMA), kind="answer pools Parquet", file=source.facts())


def read_questions(
    questions: Path,
    annotations: Path | None,
    columns: Mapping[str, str] | None = None,
    *,
    role: str = "annotations",
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> tuple[pl.DataFrame, dict[str, Reading]]:
    """Return questions with answers from VQA's two files, one table or GQA's JSON, and the readings by role.

    `role` is the option that takes the annotations, for messages.

    Raises
    ------
    SourceError, ConfigError
        See :func:`read_inputs`.
    """
    if annotations is not None:
        table, *readings = read_vqa(questions, annotations, on_bad_row=on_bad_row, limit=limit)
        return table, dict(zip(("questions", "annotations"), readings, strict=True))
    source = open_source(questions, keep_workbooks=True)
    if not is_table(source):
        content = Content(source)
        if find_format(content, QUESTIONS) is None:
            known_format(content, GQA, "VQA or GQA questions JSON, or a table of questions and answers")
        elif not is_gqa_questions(content.json.top):
            raise ConfigError(
                f"{role}: got none for {questions}, expected the answers to its questions. "
                f"Give {option_name(role)}, or a table of questions and answers."
            )
        reading = read_gqa_questions(questions, on_bad_row=on_bad_row, limit=limit)
        return reading.table.select(Questions.column_names()), {"questions": reading}
    reading = read_question_table(questions, columns=columns, on_bad_row=on_bad_row, limit=limit)
    return reading.table, {"questions": reading}


def _split_of(name: str) -> str:
    """Return the split that a file name tells, or "all".

    >>> _split_of("v2_OpenEnded_mscoco_val2014_questions.json"), _split_of("mine.csv")
    ('val', 'all')
    """
    found = _SPLIT_IN_NAME.search(name.replace("_", " "))
    return found.group(1).lower() if found else "all"
