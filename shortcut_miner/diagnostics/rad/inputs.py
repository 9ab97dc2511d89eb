"""Reading what RAD needs: questions with their answers, of any released set or one table."""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles, may_be_in_name
from shortcut_miner.diagnostics.rad.pools import POOL_SCHEMA, check_pools
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.sources.questions.question_sets import read_questions
from shortcut_miner.sources.questions.tables import column_names
from shortcut_miner.sources.recognise import check_no_other_kind

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
        Annotations of a file that holds its own answers, or none of one that doesn't.
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
    table = table.with_columns(split=named)
    if odd := [one for one in table["split"].unique(maintain_order=True) if not may_be_in_name(one)]:
        raise SourceError(
            f"{files.questions}: got the splits {examples(odd)}, expected letters, digits, - and _, because "
            "files are named by them. Give another name with --split."
        )
    return RadInputs(
        questions=table,
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


def _split_of(name: str) -> str:
    """Return the split that a file name tells, or "all".

    >>> _split_of("v2_OpenEnded_mscoco_val2014_questions.json"), _split_of("mine.csv")
    ('val', 'all')
    """
    found = _SPLIT_IN_NAME.search(name.replace("_", " "))
    return found.group(1).lower() if found else "all"
