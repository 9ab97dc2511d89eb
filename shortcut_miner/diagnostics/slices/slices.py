"""Slices from Python: ``shortcut_miner.slices``.

Where a model fails, and where another one got worse than it: sets of words, objects and column values whose
rows go wrong more often than the others. Paths are text or Path; options are named and mean the same as on
the command line (see :class:`SlicesConfig` and :class:`ScoreConfig`, which can be given as ``config`` in
place of them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.slices.config import (
    Correction,
    Direction,
    Items,
    Outcome,
    ScoreConfig,
    SlicesConfig,
    SlicesFiles,
)
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    SweepScorer,
    Tokenizer,
    as_path,
    as_path_if_given,
    check_counts,
    fields_from,
    named_path_lists,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.slices.outputs import BuildReport
    from shortcut_miner.diagnostics.slices.score import ScoreReport

__all__ = ["ScoreConfig", "SlicesConfig", "SlicesFiles", "build", "score"]


def build(
    folder: PathText | None = None,
    *,
    questions: PathText | None = None,
    annotations: PathText | None = None,
    table: PathText | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    predictions: Mapping[str, PathTexts] | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    threads: int | None = None,
    force: bool = False,
    config: SlicesConfig | None = None,
    columns: str | None = None,
    on_missing: OnMissing = "error",
    on_extra: OnExtra = "error",
    on_duplicate: OnDuplicate = "error",
    on_bad_row: OnBadRow = "error",
    extract: str | None = None,
    outcome: Outcome | None = None,
    outcome_column: str | None = None,
    baseline: str | None = None,
    item_columns: str | None = None,
    items: Items | None = None,
    tokenizer: Tokenizer = "basic_english",
    score_threshold: float = 0.5,
    scorer: SweepScorer = "auto",
    correct_at: float = 50.0,
    min_count: int | None = None,
    min_support: float | None = None,
    max_length: int = 4,
    epsilon: float = 0.05,
    direction: Direction = "worse",
    correction: Correction = "by",
    max_q: float = 0.05,
    holdout: float = 0.0,
    seed: int = 0,
    alpha: float = 0.95,
) -> "BuildReport":
    """Return what a build found: ``slices``, ``cover``, ``items``, ``questions``, as Polars frames.

    Parameters
    ----------
    folder : path, optional
        What any build wrote: its questions are taken. Else give `questions` or `table`.
    questions, annotations, table, detections, detections_info
        See :class:`SlicesFiles`.
    predictions : mapping of str to path or sequence of path, optional
        Model -> its answers: one model, or two to compare. None with a table.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first rows only, to try things out.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    force : bool
        Replace the folder of a build with other options.
    config : SlicesConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, ...
        See :class:`SlicesConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit, threads=threads)
    from shortcut_miner.diagnostics.slices.build import build as build_folder

    return build_folder(
        fields_from(SlicesFiles, given),
        {} if predictions is None else named_path_lists("predictions", predictions),
        options_from(SlicesConfig, config, given),
        as_path_if_given("out", out),
        folder=as_path_if_given("folder", folder),
        limit=limit,
        threads=threads,
        force=force,
    )


def score(
    folder: PathText,
    predictions: Mapping[str, PathTexts],
    *,
    out: PathText | None = None,
    force: bool = False,
    config: ScoreConfig | None = None,
    columns: str | None = None,
    on_missing: OnMissing = "error",
    on_extra: OnExtra = "error",
    on_duplicate: OnDuplicate = "error",
    on_bad_row: OnBadRow = "error",
    extract: str | None = None,
    tex_intervals: bool = False,
    scorer: SweepScorer | None = None,
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return what other models do in the slices of a build.

    Parameters
    ----------
    folder : path
        What ``slices build`` wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its answers to the build's questions: a file, several, or a folder of them.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals, scorer, baseline,
    resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.slices.score import score as score_folder

    return score_folder(
        as_path("folder", folder),
        predictions,
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        force=force,
    )


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
