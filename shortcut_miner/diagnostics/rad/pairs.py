"""What a RAD score compares: two sets of questions, which belongs to which, and models' answers to both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.rad.config import PairFiles
from shortcut_miner.diagnostics.rad.inputs import read_questions
from shortcut_miner.diagnostics.rad.outputs import read_folder
from shortcut_miner.errors import ConfigError, SchemaError, SourceError, examples, problem_list
from shortcut_miner.sources.answers.predictions import read_predictions
from shortcut_miner.sources.opening.columns import Column, optional
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table, read_columns
from shortcut_miner.sources.opening.reading import Reading, settle
from shortcut_miner.sources.recognise import check_no_other_kind
from shortcut_miner.storage import InputRecord

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
    records : tuple of InputRecord
        Files read.
    """

    pairs: pl.DataFrame
    originals: pl.DataFrame
    augmented: pl.DataFrame
    records: tuple[InputRecord, ...] = ()


def aligned_folder(path: Path) -> Aligned:
    """Return what a build's folder aligns; see :func:`.outputs.read_folder` for errors."""
    folder = read_folder(path)
    return Aligned(folder.pairs(), folder.questions, folder.augmented_questions())


def aligned_files(files: PairFiles) -> Aligned:
    """Return what any pairs file aligns.

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
    pairs = read_pairs(files.pairs)
    originals, readings = read_questions(files.questions, files.annotations)
    augmented, others = read_questions(files.augmented_questions, files.augmented_annotations)
    _check_known(pairs.table, originals, "original_id", str(files.questions))
    _check_known(pairs.table, augmented, "augmented_id", str(files.augmented_questions))
    named = {"pairs": pairs} | readings | {f"augmented_{role}": one for role, one in others.items()}
    return Aligned(pairs.table, originals, augmented, InputFacts.of(named).records)


def read_pairs(path: Path) -> Reading:
    """Return the pairs of a flat table (Parquet, Arrow, CSV, JSON Lines, JSON, xlsx), each once.

    Raises
    ------
    SourceError
        The file can't be read, or lacks original_id or augmented_id, or has nulls there, or broken rows.
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
    settle(source, "pairs", problems, flat.total, "error", flat.label)
    table = table.select(_COLUMNS).with_columns(pl.col("augmentation").fill_null(_ONE_TYPE))
    bad = table.with_row_index("row").filter(pl.any_horizontal(pl.col(*_COLUMNS[:2]).fill_null("") == ""))
    if len(bad):
        raise SourceError(
            f"{path}: got {len(bad):,} rows without an id (rows {examples(bad['row'])}), expected two ids in "
            "each row. Fill them, or leave these rows out."
        )
    unique = table.unique(maintain_order=True)
    notes = (f"{len(table) - len(unique):,} repeated pairs count once",) if len(unique) < len(table) else ()
    return Reading(table=unique, kind="pairs", file=source.facts(), notes=flat.notes + notes)


def _check_known(pairs: pl.DataFrame, questions: pl.DataFrame, column: str, name: str) -> None:
    asked = pairs.select(question_id=column).unique(maintain_order=True)
    lost = asked.join(questions, on="question_id", how="anti", maintain_order="left")["question_id"]
    if len(lost):
        raise SchemaError(
            f"pairs: got {len(lost):,} x {column} that {name} lacks: {examples(lost)}, expected ids of its "
            "questions. Check that the files belong together."
        )


def read_answers(
    files: Mapping[str, Sequence[Path]], questions: pl.DataFrame, needed: pl.Series, what: str
) -> tuple[dict[str, pl.DataFrame], dict[str, Reading]]:
    """Return each model's answers to the needed questions, and the readings by role.

    Parameters
    ----------
    files : mapping of str to sequence of Path
        Model -> its files; together they answer each needed question once.
    questions : pl.DataFrame
        All questions that may be answered.
    needed : pl.Series
        question_id of those that must be.
    what : str
        "original" or "augmented", for messages.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids.
    """
    answers: dict[str, pl.DataFrame] = {}
    readings: dict[str, Reading] = {}
    wanted = needed.unique(maintain_order=True).rename("question_id").to_frame()
    for model, paths in files.items():
        own = {
            f"{what} predictions of {model}" + (f" ({at})" if at else ""): path
            for at, path in enumerate(paths)
        }
        read = {role: read_predictions(path) for role, path in own.items()}
        table = pl.concat([reading.table for reading in read.values()])
        _check_ids(table, questions, wanted, f"{what} predictions of {model}")
        answers[model] = wanted.join(
            table, on="question_id", how="left", validate="1:1", maintain_order="left"
        )
        readings |= read
    return answers, readings


def _check_ids(table: pl.DataFrame, questions: pl.DataFrame, wanted: pl.DataFrame, what: str) -> None:
    ids = table["question_id"]
    found = {
        "repeated question id": ids.filter(ids.is_duplicated()).unique(maintain_order=True),
        "question without a prediction": wanted.join(
            table, on="question_id", how="anti", maintain_order="left"
        )["question_id"],
        "prediction for an unknown question": table.join(
            questions, on="question_id", how="anti", maintain_order="left"
        )["question_id"],
    }
    problems = [f"{len(one):,} x {name}: {examples(one)}" for name, one in found.items() if len(one)]
    if problems:
        title = f"{what}: got the problems below, expected one answer for each question. Correct them."
        raise SchemaError(problem_list(title, problems))
