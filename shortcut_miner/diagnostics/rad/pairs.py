"""What a RAD score compares: two sets of questions, and which belongs to which."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.rad.config import PairFiles
from shortcut_miner.diagnostics.rad.outputs import RadFolder
from shortcut_miner.errors import ConfigError, SchemaError, SourceError, examples
from shortcut_miner.options import OnBadRow
from shortcut_miner.sources.known_formats import check_no_other_kind
from shortcut_miner.sources.opening.columns import Column, optional
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading, find_problems, is_blank, settle, without_bad
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.sources.questions.question_sets import read_questions

_COLUMNS = ("original_id", "augmented_id", "augmentation")
_NEEDS = {name: Column("id") for name in _COLUMNS[:2]} | {"augmentation": Column("value", is_optional=True)}
_ONE_TYPE = "all pairs"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two aligned sets of questions.

    Attributes
    ----------
    pairs : pl.DataFrame
        schemas.AugmentationPairs, each pair once.
    originals, augmented : pl.DataFrame
        schemas.Questions; may hold more than the pairs name.
    facts : InputFacts
        Files read, and rows skipped on request.
    """

    pairs: pl.DataFrame
    originals: pl.DataFrame
    augmented: pl.DataFrame
    facts: InputFacts = InputFacts()  # noqa: RUF009  # frozen


def aligned_folder(folder: RadFolder) -> Aligned:
    """Return what a build's folder aligns."""
    return Aligned(folder.pairs(), folder.questions, folder.augmented_questions())


def aligned_files(files: PairFiles, on_bad_row: OnBadRow = "error") -> Aligned:
    """Return what any pairs file aligns; rows that don't fit are an error, or skipped and counted.

    Raises
    ------
    ConfigError
        A file that is needed is not given.
    SourceError, SchemaError
        A file that can't be read; pairs with ids that the questions lack.
    """
    if files.pairs is None or files.questions is None or files.augmented_questions is None:
        raise ConfigError(
            "pairs: got " + (", ".join(files.given) or "nothing") + ", expected pairs, questions and "
            "augmented_questions. Give --pairs, --questions and --augmented-questions, or a build's folder."
        )
    pairs = read_pairs(files.pairs, on_bad_row)
    originals, readings = read_questions(files.questions, files.annotations, on_bad_row=on_bad_row)
    augmented, others = read_questions(
        files.augmented_questions,
        files.augmented_annotations,
        roles=("augmented_questions", "augmented_annotations"),
        on_bad_row=on_bad_row,
    )
    pairs = with_zeros_back(pairs, originals["question_id"], "original_id")
    pairs = with_zeros_back(pairs, augmented["question_id"], "augmented_id")
    _check_known(pairs.table, originals, "original_id", str(files.questions))
    _check_known(pairs.table, augmented, "augmented_id", str(files.augmented_questions))
    return Aligned(pairs.table, originals, augmented, InputFacts.of({"pairs": pairs} | readings | others))


def read_pairs(path: Path, on_bad_row: OnBadRow = "error") -> Reading:
    """Return the pairs of a flat table (Parquet, Arrow, CSV, JSON Lines, JSON, xlsx), each once.

    Raises
    ------
    SourceError
        The file can't be read, lacks original_id or augmented_id, or has rows without them or broken ones.
    """
    source = open_source(path, keep_workbooks=True)
    flat = open_table(source)
    if flat.missing(_NEEDS):
        check_no_other_kind(source, _COLUMNS[:2])
    if flat.missing(_NEEDS) or not flat.total:
        raise SourceError(
            f"{path}: got {flat.total:,} rows with the columns {examples(flat.columns, limit=20)}, "
            f"expected {', '.join(_COLUMNS)}. Rename its columns."
        )
    table, problems = read_columns(flat, optional(_NEEDS))
    for name in _COLUMNS[:2]:
        problems += find_problems(table, is_blank(name).fill_null(True), name, "an id")
    dropped = settle(source, "pairs", problems, flat.total, on_bad_row, flat.label)
    table = without_bad(table, problems).select(_COLUMNS)
    table = table.with_columns(pl.col("augmentation").fill_null(_ONE_TYPE), form=pl.lit(None, pl.String))
    unique = table.unique(maintain_order=True)
    notes = (f"{len(table) - len(unique):,} repeated pairs count once",) if len(unique) < len(table) else ()
    return Reading(table=unique, kind="pairs", file=source.facts(), dropped=dropped, notes=flat.notes + notes)


def _check_known(pairs: pl.DataFrame, questions: pl.DataFrame, column: str, name: str) -> None:
    asked = pairs.select(question_id=column).unique(maintain_order=True)
    lost = asked.join(questions, on="question_id", how="anti", maintain_order="left")["question_id"]
    if len(lost):
        raise SchemaError(
            f"pairs: got {len(lost):,} x {column} that {name} lacks: {examples(lost)}, expected ids of its "
            "questions. Check that the files belong together."
        )
