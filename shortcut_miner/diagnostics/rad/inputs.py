"""Reading what RAD needs: questions with their answers, of any released set or one table."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.rad.balanced import BALANCE_SCHEMA, check_balance
from shortcut_miner.diagnostics.rad.config import RadConfig, RadFiles, may_be_in_name
from shortcut_miner.diagnostics.rad.pools import POOL_SCHEMA, check_pools
from shortcut_miner.errors import SourceError, examples
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.sources.questions.question_sets import read_questions
from shortcut_miner.sources.questions.tables import column_names

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
    pools, balance : pl.DataFrame or None
        Answers to draw from, and what a balanced draw needs of all rows, of files.
    """

    questions: pl.DataFrame
    facts: InputFacts
    pools: pl.DataFrame | None = None
    balance: pl.DataFrame | None = None


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
        files.questions,
        files.annotations,
        columns,
        is_numbered=True,
        on_bad_row=config.on_bad_row,
        limit=limit,
    )
    if files.pools is not None:
        readings["pools"] = read_pools(files.pools)
    if files.balance is not None:
        readings["balance"] = read_balance(files.balance)
    of_file = {name: readings[name].table for name in ("pools", "balance") if name in readings}
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
        **of_file,
    )


def read_pools(path: Path) -> Reading:
    """Return the pools that another build wrote.

    Raises
    ------
    SourceError
        The file is no such table.
    """
    return _read_own(path, POOL_SCHEMA, "pools.parquet", check_pools, "answer pools Parquet")


def read_balance(path: Path) -> Reading:
    """Return the balance that another build wrote.

    Raises
    ------
    SourceError
        The file is no such table.
    """
    return _read_own(path, BALANCE_SCHEMA, "balance.parquet", check_balance, "balance Parquet")


def _read_own(
    path: Path, schema: Mapping[str, Any], name: str, check: Callable[[pl.DataFrame, str], None], kind: str
) -> Reading:
    source = open_source(path, keep_workbooks=True)
    flat = open_table(source)
    if not {*schema} <= {*flat.columns}:
        check_no_other_kind(source, schema, f"the {name} of a build")
    if not flat.types:
        raise SourceError(f"{path}: got a {flat.form} table, expected the {name} of a build. Give that file.")
    table, _ = read_columns(flat, dict.fromkeys(flat.columns, Column("any")))
    check(table, str(path))
    return Reading(table=table.select(*schema), kind=kind, file=source.facts())


def _split_of(name: str) -> str:
    """Return the split that a file name tells, or "all".

    >>> _split_of("v2_OpenEnded_mscoco_val2014_questions.json"), _split_of("mine.csv")
    ('val', 'all')
    """
    found = _SPLIT_IN_NAME.search(name.replace("_", " "))
    return found.group(1).lower() if found else "all"
