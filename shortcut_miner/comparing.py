"""Whether a built folder's subsets are big enough to tell models apart, and what they say of them."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.answers import (
    FittedAnswers,
    answer_files,
    fit_answers,
    read_models,
    readings_by_role,
)
from shortcut_miner.datasets.folders import Run, publish, write_manifest, write_tables
from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.datasets.scores import build_record
from shortcut_miner.errors import ConfigError, SourceError, examples
from shortcut_miner.exports.questions import read_question_sets
from shortcut_miner.options import (
    AnswerOptions,
    PathText,
    PathTexts,
    Scorer,
    as_path,
    as_path_if_given,
    named_path_lists,
)
from shortcut_miner.scoring.accuracy import score_questions
from shortcut_miner.scoring.extraction import extract_all
from shortcut_miner.scoring.paired_power import COLUMNS, paired_power, planned_rows
from shortcut_miner.scoring.power_config import PowerConfig
from shortcut_miner.scoring.scorers import choose_scorer
from shortcut_miner.sources.opening.columns import Column
from shortcut_miner.sources.opening.files import open_source
from shortcut_miner.sources.opening.flat_tables import open_table
from shortcut_miner.sources.opening.ids import with_zeros_back
from shortcut_miner.sources.opening.reading import Reading, find_problems, is_blank, settle
from shortcut_miner.sources.opening.table_columns import read_columns
from shortcut_miner.storage import MANIFEST, InputRecord, Provenance, read_json_file
from shortcut_miner.timing import OnStage, StageCost, in_parts, timed

COMMAND = "power"
_SUBSETS = {"question_id": Column("id"), "subset": Column("text")}
USUAL_SHARES = (0.05, 0.1, 0.2, 0.4)  # of rows on which two models differ


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PowerFiles:
    """What is read: the built folder, models' answers, and subsets of its questions."""

    folder: Path
    predictions: tuple[Path, ...]
    subsets: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PowerReport:
    """What a set says of models, and could.

    Attributes
    ----------
    power : pl.DataFrame
        See :func:`shortcut_miner.scoring.paired_power.paired_power`.
    out : Path or None
        The folder written; None where nothing was.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    dropped : dict of str to int
        Answers left out, by reason.
    costs : list of StageCost
        By stage.
    """

    power: pl.DataFrame
    out: Path | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)
    costs: list[StageCost] = dataclasses.field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """False if answers were left out, or a subset has no row."""
        return not self.dropped and not (self.power["row_count"] == 0).any()


def power(
    folder: PathText,
    predictions: Mapping[str, PathTexts],
    config: PowerConfig | None = None,
    *,
    subsets: PathText | None = None,
    answers: AnswerOptions | None = None,
    scorer: Scorer = "auto",
    out: PathText | None = None,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> PowerReport:
    """Return what each subset of a built folder says of each pair of models, and what it could.

    Parameters
    ----------
    folder : path
        What a ``build`` wrote; its questions are those that ``export`` writes, of the first set.
    predictions : mapping of str to path or sequence of path
        Model -> its file of question_id and answer, or several; at least two models.
    config : PowerConfig, optional
        What is asked.
    subsets : path, optional
        Table of question_id and subset: other subsets of the folder's questions than its own, of a question
        one at most; questions that it does not name are left out.
    answers : AnswerOptions, optional
        How answers are read.
    scorer : str
        See :func:`shortcut_miner.scoring.accuracy.score_questions`.
    out : path, optional
        Folder for power.parquet and its manifest.
    force : bool
        Replace what a run with other options wrote there.
    on_stage : callable, optional
        Told the name of each stage as it starts.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    asked, reading = config or PowerConfig(), answers or AnswerOptions()
    path, target = as_path("folder", folder), as_path_if_given("out", out)
    named = named_path_lists("predictions", predictions)
    if len(named) < 2:
        raise ConfigError(f"predictions: got {len(named)} models, expected two or more. Name them NAME=FILE.")
    files, file_notes = answer_files(named, reading)
    given = tuple(itertools.chain.from_iterable(files.values()))
    other = as_path_if_given("subsets", subsets)
    run = Run(files=PowerFiles(folder=path, predictions=given, subsets=other), on_stage=on_stage, force=force)
    recorded = dataclasses.asdict(asked) | dataclasses.asdict(reading) | {"scorer": scorer}
    run.check_out(target, COMMAND, recorded, (f"{COMMAND}.parquet",))
    with timed(run.costs, "read", on_stage):
        questions, build = _questions(path)
        known = questions["question_id"]
        regrouped = None if other is None else _read_subsets(other, known)
        if regrouped is not None:
            questions = questions.drop("subset").join(
                regrouped.table, on="question_id", how="inner", validate="1:1", maintain_order="left"
            )
        fitted, facts = _answers(files, known, questions["question_id"], reading, regrouped, on_stage)
    with timed(run.costs, "score", on_stage):
        texts, _, extracted = extract_all(
            {
                model: table.filter(pl.col("question_id").is_in(questions["question_id"].implode()))
                for model, table in zip(files, fitted.answers.values(), strict=True)
            },
            reading.extract,
            questions,
        )
        scored, scorer_notes = _scored(questions, texts, fitted.left_out, scorer, on_stage)
    with timed(run.costs, "compare", on_stage):
        pairs = [*itertools.combinations(files, 2)]
        table = _with_empty(paired_power(scored, pairs, asked), questions["subset"], pairs, asked)
    provenance = Provenance(
        command=COMMAND,
        config=recorded,
        inputs=(*facts.records, build),
        counts={"questions": scored["question_id"].n_unique(), "models": len(files)},
        dropped={**facts.dropped, **fitted.dropped},
    )
    notes = (*file_notes, *facts.notes, *fitted.notes, *extracted, *scorer_notes)
    if target is not None:
        write = partial(_write, provenance=provenance, table=table)
        publish(target, run, write, notes=notes, warnings=fitted.warnings)
    return PowerReport(
        power=table,
        out=target,
        notes=tuple(dict.fromkeys((*notes, *run.notes))),
        warnings=fitted.warnings,
        dropped=dict(provenance.dropped),
        costs=run.costs,
    )


def planned(rows: int, discordant: float, config: PowerConfig | None = None) -> pl.DataFrame:
    """Return what so many rows can show where models differ on a share of them, and on the usual shares.

    Parameters
    ----------
    rows : int
        Of the set.
    discordant : float
        Share of rows that only one of two models answers right.
    config : PowerConfig, optional
        What is asked.

    Returns
    -------
    pl.DataFrame
        row_count, discordant, minimal_detectable, effect, required_rows, power, verdict; the asked share
        first.

    Raises
    ------
    ConfigError
        No row, no share, or an effect that is larger than the share.

    Examples
    --------
    >>> planned(3169, 0.2).select("discordant", pl.col("minimal_detectable").round(4)).rows()[0]
    (0.2, 0.0222)
    """
    asked = config or PowerConfig()
    if asked.method == "bootstrap":
        raise ConfigError(
            "method: got bootstrap, expected exact or connor: no images are given. Change --method."
        )
    others = [share for share in USUAL_SHARES if share != discordant and share >= asked.effect]
    lines = [planned_rows(rows, share, asked) for share in (discordant, *others)]
    names = ("row_count", "discordant", "minimal_detectable", "effect", "required_rows", "power", "verdict")
    return pl.DataFrame(lines, schema_overrides=COLUMNS).select(names)


def _questions(path: Path) -> tuple[pl.DataFrame, InputRecord]:
    """Return the questions of a folder's first set, their splits as subsets, and the build's record."""
    splits = next(iter(read_question_sets(path).sets.values()))
    manifest = read_json_file(path / MANIFEST)
    named = [table.with_columns(subset=pl.lit(name)) for name, table in splits.items()]
    return pl.concat(named, how="diagonal"), build_record(path, manifest)


def _read_subsets(path: Path, known: pl.Series) -> Reading:
    """Return question_id and subset of each named question, of those that are known."""
    source = open_source(path, keep_workbooks=True)
    flat = open_table(source)
    if flat.missing(_SUBSETS) or not flat.total:
        raise SourceError(
            f"{path}: got {flat.total:,} rows with the columns {examples(flat.columns, limit=20) or 'none'}, "
            f"expected {' and '.join(_SUBSETS)}. Rename its columns."
        )
    table, problems = read_columns(flat, _SUBSETS)
    for name in _SUBSETS:
        problems += find_problems(table, is_blank(name).fill_null(True), name, "text that is not blank")
    settle(source, "rows", problems, flat.total, "error", flat.label)
    named = table.select(*_SUBSETS).unique(maintain_order=True)
    found = Reading(table=named, kind="subsets", file=source.facts(), notes=flat.notes)
    reading = with_zeros_back(found, known)
    ids = reading.table["question_id"]
    for what, odd in (
        ("question ids that the folder has not", ids.filter(~ids.is_in(known.implode()))),
        ("questions in several subsets", ids.filter(ids.is_duplicated()).unique(maintain_order=True)),
    ):
        if len(odd):
            raise SourceError(
                f"{path}: got {len(odd):,} {what} ({examples(odd)}), expected one subset for each of some "
                "questions of the folder. Correct the table."
            )
    return reading


def _with_empty(
    table: pl.DataFrame, subsets: pl.Series, pairs: Sequence[tuple[str, str]], config: PowerConfig
) -> pl.DataFrame:
    """Return the table with a row of nulls for each pair and subset of which no question is answered."""
    gone = [name for name in subsets.unique(maintain_order=True) if name not in {*table["subset"]}]
    rows = [
        {"subset": name, "model_a": a, "model_b": b, "row_count": 0, "effect": config.effect}
        for a, b in pairs
        for name in gone
    ]
    return pl.concat([table, pl.DataFrame(rows, schema=table.schema)]) if rows else table


def _answers(
    files: Mapping[str, Sequence[Path]],
    known: pl.Series,
    needed: pl.Series,
    options: AnswerOptions,
    regrouped: Reading | None,
    on_stage: OnStage | None,
) -> tuple[FittedAnswers, InputFacts]:
    models = read_models(files, "predictions", known, options, on_stage)
    parts = {role: [*some.values()] for role, some in models.items()}
    readings = readings_by_role(models) | ({} if regrouped is None else {"rows": regrouped})
    return fit_answers(parts, known=known, needed=needed, options=options), InputFacts.of(readings)


def _scored(
    questions: pl.DataFrame,
    answers: Mapping[str, pl.DataFrame],
    left_out: pl.Series,
    scorer: Scorer,
    on_stage: OnStage | None,
) -> tuple[pl.DataFrame, Sequence[str]]:
    """Return each model's accuracy at each question that all of them answer, and notes on the scorer."""
    is_answered = ~pl.col("question_id").is_in(left_out.implode())
    asked = questions.filter(is_answered)
    subsets = asked.select("question_id", "subset")
    tables = [
        score_questions(asked, table.filter(is_answered), scorer=scorer, model=name)
        .select("question_id", "image_id", "model", "accuracy")
        .join(subsets, on="question_id", how="left", validate="1:1", maintain_order="left")
        for name, table in in_parts([*answers.items()], "score", on_stage, "models")
    ]
    return pl.concat(tables), choose_scorer(asked, scorer).notes


def _write(folder: Path, provenance: Provenance, table: pl.DataFrame) -> None:
    write_tables(folder, provenance, {COMMAND: table})
    write_manifest(folder, provenance)
