"""Resplit from Python: ``shortcut_miner.resplit``.

Training and test questions with other answers (after Agrawal et al., CVPR 2018, and Si et al., EMNLP Findings
2022). Paths are text or Path; options are named and mean the same as on the command line (see
:class:`ResplitConfig` and :class:`ScoreConfig`, which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.resplit.config import (
    Method,
    Order,
    ResplitConfig,
    ResplitFiles,
    ScoreConfig,
)
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
    from shortcut_miner.diagnostics.resplit.outputs import BuildReport
    from shortcut_miner.diagnostics.resplit.score import ScoreReport

__all__ = ["ResplitConfig", "ResplitFiles", "ScoreConfig", "build", "score"]


def build(
    *,
    questions: PathTexts,
    annotations: PathTexts | None = None,
    from_rules: PathText | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    force: bool = False,
    config: ResplitConfig | None = None,
    method: Method = "vqa-cp",
    group_by: str = "question_type,answer",
    order: Order = "hash",
    test_share: float = 0.333333,
    val_share: float = 0.05,
    alpha: float = 0.2,
    seed: int = 0,
    flat: bool = False,
    columns: str | None = None,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build made: ``split``, ``groups``, ``shift``, ``questions``, as Polars frames.

    Parameters
    ----------
    questions, annotations, from_rules, detections, detections_info
        See :class:`ResplitFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first questions of each file only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    config : ResplitConfig, optional
        All options at once, in place of those that follow.
    method, group_by, order, test_share, val_share, alpha, seed, flat, columns, on_bad_row
        See :class:`ResplitConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.resplit.build import build as build_folder

    return build_folder(
        fields_from(ResplitFiles, given),
        options_from(ResplitConfig, config, given),
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
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return models' accuracies on the test and on validation, and the drop from one to the other.

    Parameters
    ----------
    folder : path
        What a build wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its file of answers to the questions of both, several files, or a folder of them.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals, scorer, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.resplit.score import score as score_folder

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
