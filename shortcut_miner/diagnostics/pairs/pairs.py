"""Pairs from Python: ``shortcut_miner.pairs``.

The same shortcut, right once and wrong once: pairs of questions and 2 x 2 groups (after Goyal et al., CVPR
2017, and Li et al., NeurIPS 2024). Paths are text or Path; options are named and mean the same as on the
command line (see :class:`PairsConfig` and :class:`ScoreConfig`, which can be given as ``config`` in place of
them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.pairs.config import Match, PairRules, PairsConfig, PairsFiles, ScoreConfig
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    SweepScorer,
    as_path,
    as_path_if_given,
    check_counts,
    fields_from,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.pairs.outputs import BuildReport
    from shortcut_miner.diagnostics.pairs.score import ScoreReport

__all__ = ["PairsConfig", "PairsFiles", "ScoreConfig", "build", "score"]


def build(
    folder: PathText | None = None,
    *,
    questions: PathText | None = None,
    annotations: PathText | None = None,
    pairs: PathText | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    force: bool = False,
    config: PairsConfig | None = None,
    match: Match = "question",
    rules: PairRules | None = None,
    per_rule: int = 20,
    reuse: bool = False,
    groups: bool = False,
    seed: int | None = None,
    columns: str | None = None,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build found: ``pairs``, ``questions`` and more, as Polars frames.

    Parameters
    ----------
    folder, questions, annotations, pairs
        See :class:`PairsFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    config : PairsConfig, optional
        All options at once, in place of those that follow.
    match, rules, per_rule, reuse, groups, seed, columns, on_bad_row
        See :class:`PairsConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.pairs.build import build as build_folder

    return build_folder(
        fields_from(PairsFiles, given),
        options_from(PairsConfig, config, given),
        as_path_if_given("out", out),
        limit=limit,
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
    scorer: SweepScorer = "auto",
    correct_at: float = 50.0,
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return how often models are right on both questions of a pair, and follow its shortcut.

    Parameters
    ----------
    folder : path
        What a build wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its file of answers, several files, or a folder of them.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals,
    scorer, correct_at, baseline, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.pairs.score import score as score_folder

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
