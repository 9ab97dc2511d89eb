"""Score: how many answers stay right on an augmentation, both ways, with intervals over images.

RAD(D, D') is the share of the questions answered right whose augmentation is answered right too (Rosenberg et
al., ACL 2021, section 2.1).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from shortcut_miner.datasets.answers import (
    FittedAnswers,
    answer_files,
    fit_answers,
    nothing_left,
    read_models,
    readings_by_role,
)
from shortcut_miner.datasets.inputs import InputFacts, same_answers_warnings
from shortcut_miner.datasets.scores import build_record, check_score_target, write_report
from shortcut_miner.diagnostics.rad.aligned_scores import COMMAND, ScoreReport, score_aligned
from shortcut_miner.diagnostics.rad.config import PairFiles, ScoreConfig
from shortcut_miner.diagnostics.rad.outputs import read_folder
from shortcut_miner.diagnostics.rad.pairs import aligned_files, aligned_folder
from shortcut_miner.errors import ConfigError, examples
from shortcut_miner.options import PathTexts, check_baseline, named_path_lists, option_name
from shortcut_miner.scoring.extraction import extract_all
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.timing import OnStage


def score(
    path: Path | PairFiles,
    original: Mapping[str, PathTexts],
    augmented: Mapping[str, PathTexts],
    config: ScoreConfig | None = None,
    out: Path | None = None,
    *,
    force: bool = False,
    on_stage: OnStage | None = None,
) -> ScoreReport:
    """Score models on a build's folder, or on any aligned pair of files.

    Parameters
    ----------
    path : Path or PairFiles
        What ``rad build`` wrote, or the files of two other sets.
    original, augmented : mapping of str to Path or sequence of Path
        Model -> its answers to the original questions (at least to those that have an augmentation), and to
        the augmented ones; several files of one model, or those of a
        folder, are put together.
    config : ScoreConfig, optional
        Options.
    out : Path, optional
        Folder for scores.{parquet,json,md,tex}, scores_long.tex, counts.parquet and manifest.json.
    force : bool
        Replace the scores of a run with other options.
    on_stage : callable, optional
        Called with the name of each stage before it starts, and with how much of it is done.

    Raises
    ------
    SourceError, SchemaError
        A file that can't be read; missing, repeated or unknown question ids.
    ConfigError
        No models, or different ones on both sides.
    """
    config = config or ScoreConfig()
    named = named_path_lists("original", original), named_path_lists("augmented", augmented)
    _check_models(*named, config.baseline)
    folder = read_folder(path) if isinstance(path, Path) else None
    (first, first_notes), (second, second_notes) = (answer_files(files, config) for files in named)
    sets = (
        {name: getattr(path, name) for name in path.given}
        if isinstance(path, PairFiles)
        else {"folder": path}
    )
    inputs: dict[str, Any] = {
        role: [file for files in models.values() for file in files]
        for role, models in (("original", first), ("augmented", second))
    }
    recorded = dataclasses.asdict(config) | ({"build": folder.manifest["config"]} if folder else {})
    check_score_target(out, ScoreReport, COMMAND, recorded, inputs | sets, force=force)
    aligned = aligned_folder(folder) if folder else aligned_files(cast(PairFiles, path), config.on_bad_row)
    sides = [
        _read_side(files, what, questions, aligned.pairs[f"{what}_id"], config, on_stage)
        for files, what, questions in (
            (first, "original", aligned.originals),
            (second, "augmented", aligned.augmented),
        )
    ]
    facts = InputFacts.of({role: reading for side in sides for role, reading in side.readings.items()})
    pairs = _answered_pairs(aligned.pairs, *(side.fitted for side in sides))
    answers, texts = [side.answers for side in sides], [one.texts for one in sides if one.texts is not None]
    tell = on_stage or (lambda stage: None)
    tell("score")
    scored = score_aligned(dataclasses.replace(aligned, pairs=pairs), answers[0], answers[1], config)
    columns = ["model", "side", "question_id", "raw_answer", "answer"]
    report = dataclasses.replace(
        scored,
        notes=(
            *first_notes,
            *second_notes,
            *facts.notes,
            *(note for side in sides for note in side.fitted.notes),
            *(note for side in sides for note in side.notes),
            *scored.notes,
        ),
        warnings=same_answers_warnings({one.role: one.content_sha256 for one in facts.records})
        + scored.warnings,
        extracted_answers=pl.concat(texts).select(columns) if texts else None,
        dropped={
            **aligned.facts.dropped,
            **facts.dropped,
            **{reason: count for side in sides for reason, count in side.fitted.dropped.items()},
        },
    )
    if out is not None:
        of_build = () if folder is None else (build_record(folder.path, folder.manifest),)
        report = write_report(
            out,
            report,
            config=recorded,
            inputs=(*aligned.facts.records, *facts.records, *of_build),
            counts={"pairs": len(pairs), "models": report.counts["model"].n_unique()},
            force=force,
        )
    return report


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    """What the models say on one side: their answers, texts that these were taken from, and what was read."""

    answers: dict[str, pl.DataFrame]
    texts: pl.DataFrame | None
    fitted: FittedAnswers
    readings: dict[str, Reading]
    notes: list[str]


def _read_side(
    files: Mapping[str, Sequence[Path]],
    what: str,
    questions: pl.DataFrame,
    needed: pl.Series,
    config: ScoreConfig,
    on_stage: OnStage | None,
) -> _Side:
    read = read_models(files, f"{what} predictions", questions["question_id"], config, on_stage)
    fitted = fit_answers(
        {role: list(parts.values()) for role, parts in read.items()},
        known=questions["question_id"],
        needed=needed.unique(maintain_order=True),
        options=config,
    )
    given = dict(zip(files, fitted.answers.values(), strict=True))
    found, texts, notes = extract_all(given, config.extract, questions)
    return _Side(
        found,
        None if texts is None else texts.with_columns(side=pl.lit(what)),
        fitted,
        dict(readings_by_role(read)),
        [f"{what} predictions of {note}" for note in notes],
    )


def _answered_pairs(pairs: pl.DataFrame, original: FittedAnswers, augmented: FittedAnswers) -> pl.DataFrame:
    """Return the pairs that all models answer on both sides."""
    is_left_out = pl.col("original_id").is_in(original.left_out.implode()) | pl.col("augmented_id").is_in(
        augmented.left_out.implode()
    )
    kept = pairs.filter(~is_left_out)
    if kept.is_empty() and len(pairs):
        raise nothing_left(
            {**original.lacking, **augmented.lacking}, "pair that all models answer on both sides"
        )
    return kept


def source_of(folder: Path | None, files: PairFiles) -> Path | PairFiles:
    """Return what to score on: a build's folder or the files of two other sets.

    Raises
    ------
    ConfigError
        Both, or neither.
    """
    given = ", ".join(map(option_name, files.given))
    if folder is not None and given:
        raise ConfigError(f"rad score: got a folder and {given}, expected one of them. Leave the other out.")
    if folder is None and not given:
        raise ConfigError(
            "rad score: got neither a folder nor --pairs, expected what rad build wrote, or --pairs with the "
            "questions of both sides. Give one of them."
        )
    return files if folder is None else folder


def _check_models(
    original: Mapping[str, object], augmented: Mapping[str, object], baseline: str | None
) -> None:
    if not original or original.keys() != augmented.keys():
        raise ConfigError(
            f"models: got original answers of {examples(original) or 'none'} and augmented ones of "
            f"{examples(augmented) or 'none'}, expected the same models on both sides. "
            "Give --original NAME=FILE and --augmented NAME=FILE for each."
        )
    check_baseline(baseline, original)
