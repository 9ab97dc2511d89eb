"""Reading what slices need: rows with items and an outcome, of questions and answers or of any table."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.folders import open_folder
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.diagnostics.slices.answers import Models, outcomes, read_accuracies
from shortcut_miner.diagnostics.slices.config import Outcome, SlicesConfig, SlicesFiles
from shortcut_miner.diagnostics.slices.tables import OUTCOME, read_table
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.options import option_name
from shortcut_miner.schemas import Questions
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.labels import read_labels
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.question_sets import read_questions
from shortcut_miner.storage import InputRecord
from shortcut_miner.timing import OnStage

OUTCOME_B = "outcome_b"
ACCURACY, ACCURACY_B = "accuracy", "accuracy_b"
_LABELS = "labels"
_NO_ITEMS = ("question_id", "image_id", "question", "answers", "answer_record_key", _LABELS, OUTCOME)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SlicesSources:
    """Where rows come from: one of a built folder, questions or a table; and models' answers.

    Attributes
    ----------
    folder : Path or None
        What any ``build`` command wrote.
    questions, annotations, table, detections, detections_info
        See :class:`SlicesFiles`.
    predictions : mapping of str to tuple of Path
        Model -> its files of answers.
    """

    folder: Path | None = None
    questions: Path | None = None
    annotations: Path | None = None
    table: Path | None = None
    detections: tuple[Path, ...] | None = None
    detections_info: tuple[Path, ...] | None = None
    predictions: Mapping[str, tuple[Path, ...]] | None = None

    @classmethod
    def of(
        cls, folder: Path | None, files: SlicesFiles, models: Models, config: SlicesConfig
    ) -> "SlicesSources":
        """Return the sources of a build.

        Raises
        ------
        ConfigError
            Rows come from nowhere or from several places, or options have no meaning for them.
        """
        predictions = {name: tuple(paths) for name, paths in models.items()} or None
        sources = cls(folder=folder, predictions=predictions, **dataclasses.asdict(files))
        ways = [name for name in ("folder", "questions", "table") if getattr(sources, name) is not None]
        if len(ways) != 1:
            raise ConfigError(
                f"slices build: got {' and '.join(ways) or 'no rows'}, expected one of a built folder, "
                "--questions and --table. Give one of them."
            )
        _check_beside(sources, ways[0], config)
        return sources


_ROWS = {"folder": "a built folder", "questions": "questions", "table": "a table"}


def _check_beside(sources: SlicesSources, way: str, config: SlicesConfig) -> None:
    """Raise ConfigError for what is missing beside the rows, or has no meaning there."""
    is_table = way == "table"
    strange = ["annotations"] if way != "questions" and sources.annotations is not None else []
    strange += ["predictions"] if is_table and sources.predictions else []
    strange += ["baseline"] if is_table and config.baseline is not None else []
    strange += ["outcome_column"] if not is_table and config.outcome_column is not None else []
    if strange:
        options = " and ".join(map(option_name, strange))
        raise ConfigError(
            f"{', '.join(strange)}: got a value with {_ROWS[way]}, expected none. Leave {options} out."
        )
    needed = "outcome_column" if is_table else "predictions"
    if (config.outcome_column if is_table else sources.predictions) is None:
        what = "the column that holds the outcome" if is_table else "NAME=FILE of a model's answers"
        raise ConfigError(f"{needed}: missing, expected {what}. Give {option_name(needed)}.")
    if sources.detections_info is not None and sources.detections is None:
        raise ConfigError(
            f"detections_info: got {sources.detections_info[0]} without detections, expected both. "
            "Give --detections too."
        )
    models = tuple(sources.predictions or ())
    if len(models) > 2:
        raise ConfigError(
            f"predictions: got {len(models)} models ({examples(models)}), expected one, or two to compare. "
            "Leave the others out."
        )
    if config.outcome == "regression" and len(models) == 1:
        raise ConfigError(
            "outcome: got regression with one model, expected two: it is how much worse one is. "
            "Give --predictions for another model too."
        )
    if config.baseline is not None and config.baseline not in models:
        raise ConfigError(
            f"baseline: got {config.baseline!r}, expected one of {', '.join(models)}. Name one of them."
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SlicesInputs:
    """Rows that are read, with what was decided and lost on the way.

    Attributes
    ----------
    rows : pl.DataFrame
        schemas.Questions; attributes (List[String]); outcome Int64; of questions also accuracy Float64, with
        two models outcome_b and accuracy_b; of a table labels, if it has them.
    labels : pl.DataFrame or None
        schemas.Labels, for rows without their own.
    outcome : {"wrong", "error", "regression"}
        What is looked at.
    models : tuple of str
        The model whose outcome it is, and the one that is beside it; none of a table.
    columns : tuple of str
        Those whose values are items.
    facts : InputFacts
        Records, drops, notes and warnings.
    """

    rows: pl.DataFrame
    labels: pl.DataFrame | None
    outcome: Outcome
    models: tuple[str, ...]
    columns: tuple[str, ...]
    facts: InputFacts

    @property
    def has_objects(self) -> bool:
        """Whether objects of some rows are known."""
        return self.labels is not None or _LABELS in self.rows.columns


def read_inputs(
    sources: SlicesSources, config: SlicesConfig, limit: int | None = None, on_stage: OnStage | None = None
) -> SlicesInputs:
    """Return the rows of a build; `limit` keeps the first ones.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read or has rows that don't fit; answers that don't fit the questions.
    ConfigError
        Columns that can't be items, or a scorer that fits no question.
    """
    readings: dict[str, Reading] = {}
    build: InputRecord | None = None
    if sources.table is not None:
        reading = read_table(str(sources.table), config)
        readings["table"], rows = reading, reading.table
    elif sources.folder is not None:
        rows, build = _of_folder(sources.folder)
    else:
        assert sources.questions is not None
        rows, readings = read_questions(sources.questions, sources.annotations, on_bad_row=config.on_bad_row)
    known = rows["question_id"]
    rows = rows if limit is None else rows.head(limit)
    labels, warnings = None, list[str | None]()
    if sources.detections is not None and config.items in (None, "both", "objects"):
        found = read_labels(sources.detections, info=sources.detections_info, on_bad_row=config.on_bad_row)
        readings["detections"], labels = found, found.table
        rows = rows.drop(_LABELS, strict=False)
        warnings.append(check_image_join(rows["image_id"], labels["image_id"]))
    facts = InputFacts.of(readings, warnings)
    models: tuple[str, ...] = ()
    if sources.predictions is not None:
        models = _older_first(tuple(sources.predictions), config.baseline)
        rows, of_answers = _with_accuracies(rows, known, sources.predictions, models, config, on_stage)
        facts = _together(facts, of_answers)
    outcome = config.outcome or _default_outcome(rows, models)
    rows = _with_outcomes(rows, outcome, config.correct_at) if models else rows
    columns, notes = _columns(rows, config)
    facts = dataclasses.replace(facts, notes=(*facts.notes, *notes))
    if build is not None:
        facts = dataclasses.replace(facts, records=(*facts.records, build))
    return SlicesInputs(
        rows=rows.with_columns(attributes_of(columns)), labels=labels, outcome=outcome, models=models,
        columns=columns, facts=facts,
    )  # fmt: skip


def _of_folder(path: Path) -> tuple[pl.DataFrame, InputRecord]:
    """Return the questions of a built folder, their objects as labels, and the build's record."""
    folder = open_folder(path)
    rows = folder.table("questions", Questions)
    if rows.schema.get("objects") == pl.List(pl.String):
        rows = rows.rename({"objects": _LABELS})
    rows = rows.drop("words", "attributes", OUTCOME, OUTCOME_B, ACCURACY, ACCURACY_B, strict=False)
    return rows, build_record(path, folder.manifest)


def _older_first(models: tuple[str, ...], baseline: str | None) -> tuple[str, ...]:
    return tuple(sorted(models, key=lambda one: one != (baseline or models[0])))


def _default_outcome(rows: pl.DataFrame, models: tuple[str, ...]) -> Outcome:
    if models:
        return "regression" if len(models) == 2 else "wrong"
    return "wrong" if rows[OUTCOME].is_in([0, 1]).all() else "error"


# ---- answers ----


def _with_accuracies(
    rows: pl.DataFrame,
    known: pl.Series,
    files: Models,
    models: tuple[str, ...],
    config: SlicesConfig,
    on_stage: OnStage | None,
) -> tuple[pl.DataFrame, InputFacts]:
    """Return the rows that all models answer with the accuracy of each, and the facts of the answers."""
    ordered = {model: files[model] for model in models}
    found = read_accuracies(rows, known, ordered, config.answers, config.scorer, on_stage)
    names = dict(zip(models, (ACCURACY, ACCURACY_B), strict=False))
    for model, table in found.tables.items():
        accuracies = table.select("question_id", pl.col("accuracy").alias(names[model]))
        rows = rows.join(accuracies, on="question_id", how="inner", validate="1:1", maintain_order="left")
    return rows, found.facts


def _together(first: InputFacts, second: InputFacts) -> InputFacts:
    return InputFacts(
        records=(*first.records, *second.records),
        dropped={**first.dropped, **second.dropped},
        notes=(*first.notes, *second.notes),
        warnings=(*first.warnings, *second.warnings),
    )


def _with_outcomes(rows: pl.DataFrame, outcome: Outcome, correct_at: float) -> pl.DataFrame:
    other = rows[ACCURACY_B] if ACCURACY_B in rows.columns else None
    found = {OUTCOME: outcomes(rows[ACCURACY], outcome, correct_at, other)}
    if other is not None:
        own: Outcome = "error" if outcome == "regression" else outcome
        found[OUTCOME_B] = outcomes(other, own, correct_at)
    return rows.with_columns(**{name: pl.Series(values) for name, values in found.items()})


# ---- columns whose values are items ----


def _columns(rows: pl.DataFrame, config: SlicesConfig) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns whose values are items, and notes on default ones that can't be.

    Raises
    ------
    ConfigError
        A named column that is not there, has no text, or tells nearly every row from the others.
    """
    is_default = config.item_columns is None
    columns, notes = list[str](), list[str]()
    for name in config.columns_of_items:
        problem = _problem_of(rows, name)
        if problem is None:
            columns.append(name)
        elif not is_default:
            raise ConfigError(f"item_columns: got {name!r}, {problem}. Change --item-columns.")
        elif name in rows.columns and rows[name].null_count() < len(rows):
            notes.append(f"column {name} gives no items: {problem}")
    return tuple(columns), tuple(notes)


def _problem_of(rows: pl.DataFrame, name: str) -> str | None:
    """Return what keeps a column's values from being items; None if nothing does."""
    if name not in rows.columns or name in _NO_ITEMS:
        known = [one for one, dtype in rows.schema.items() if dtype == pl.String and one not in _NO_ITEMS]
        return f"expected some of {', '.join(known) or 'no columns, since there are none'}"
    dtype = rows.schema[name]
    if dtype.is_numeric():
        return "which has numbers, expected text, such as 2-3: bin them first"
    if dtype != pl.String:
        return f"which has {dtype}, expected text"
    values = rows[name].drop_nulls().n_unique()
    if values > len(rows) / 2:
        return (
            f"which has {values:,} values in {len(rows):,} rows, like an id, expected at most half as many "
            "values as rows"
        )
    return "which has no value in any row, expected some" if not values else None


def attributes_of(columns: Sequence[str]) -> pl.Expr:
    """Return the items of columns as sorted texts "column=value" (List[String]), `attributes`."""
    # No name has a "=": the names with it are in the order of the items, whatever their values.
    items = [pl.lit(f"{name}=") + pl.col(name) for name in sorted(columns, key="{}=".format)]
    if not items:
        return pl.lit([], pl.List(pl.String)).alias("attributes")
    return pl.concat_list(items).list.drop_nulls().alias("attributes")
