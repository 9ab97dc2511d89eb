"""GQA-OOD from Python: ``shortcut_miner.gqa_ood``.

Frequent and rare answers within groups of questions, and how well models do on either (Kervadec et al., CVPR
2021). Paths are text or Path; options are named and mean the same as on the command line (see
:class:`GqaOodConfig` and :class:`ScoreConfig`, which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.gqa_ood.config import (
    EntropyCut,
    GqaOodConfig,
    GqaOodFiles,
    NullGroup,
    Preset,
    ScoreConfig,
)
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    as_path,
    as_path_if_given,
    check_counts,
    fields_from,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.gqa_ood.outputs import BuildReport
    from shortcut_miner.diagnostics.gqa_ood.score import ScoreReport

__all__ = ["GqaOodConfig", "GqaOodFiles", "ScoreConfig", "build", "score"]


def build(
    *,
    questions: PathText,
    annotations: PathText | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    force: bool = False,
    config: GqaOodConfig | None = None,
    preset: Preset = "paper",
    group: str | None = None,
    alpha: float = 0.2,
    entropy_cut: EntropyCut = "mean-std",
    null_group: NullGroup = "group",
    log_epsilon: float | None = None,
    as_gqa: bool = False,
    columns: str | None = None,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build made: ``questions``, ``groups`` and ``split``, as Polars frames.

    Parameters
    ----------
    questions, annotations
        See :class:`GqaOodFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    config : GqaOodConfig, optional
        All options at once, in place of those that follow.
    preset, group, ...
        See :class:`GqaOodConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.gqa_ood.build import build as build_folder

    return build_folder(
        fields_from(GqaOodFiles, given),
        options_from(GqaOodConfig, config, given),
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
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return models' accuracies on head and tail, their distance, and the accuracy over alpha.

    Parameters
    ----------
    folder : path
        What a build wrote.
    predictions : mapping of str to path or sequence of path
        Model -> its answers: a file, several, or a folder of them.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals, baseline, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.gqa_ood.score import score as score_files

    return score_files(
        as_path("folder", folder),
        predictions,
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        force=force,
    )


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
