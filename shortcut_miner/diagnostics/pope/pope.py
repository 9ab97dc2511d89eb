"""POPE from Python: ``shortcut_miner.pope``.

Polling questions about objects that are in an image, or are not, and how well models answer them (Li et al.,
EMNLP 2023). Paths are text or Path; options are named and mean the same as on the command line (see
:class:`PopeConfig` and :class:`ScoreConfig`, which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shortcut_miner.diagnostics.pope.config import (
    Article,
    Layout,
    Parser,
    PopeConfig,
    PopeFiles,
    Preset,
    ScoreConfig,
    Ties,
)
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    as_path_if_given,
    as_path_tuple,
    check_counts,
    fields_from,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.diagnostics.pope.outputs import BuildReport
    from shortcut_miner.diagnostics.pope.score import ScoreReport

__all__ = ["PopeConfig", "PopeFiles", "ScoreConfig", "build", "score"]


def build(
    *,
    objects: PathText,
    also_present: PathText | None = None,
    detections_info: PathText | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    force: bool = False,
    config: PopeConfig | None = None,
    preset: Preset = "default",
    image_count: int = 500,
    objects_per_image: int = 3,
    strategies: str = "all",
    ties: Ties | None = None,
    article: Article | None = None,
    template: str = "Is there a {} in the image?",
    layout: Layout = "alternate",
    image_names: str = "{}",
    score_threshold: float = 0.5,
    name: str = "coco",
    seed: int = 0,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build made: ``questions``, as a Polars frame.

    Parameters
    ----------
    objects, also_present, detections_info
        See :class:`PopeFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first images only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    config : PopeConfig, optional
        All options at once, in place of those that follow.
    preset, image_count, ...
        See :class:`PopeConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options, fewer images than asked for, or a folder that can't be written; nothing on disk
        is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.pope.build import build as build_folder

    return build_folder(
        fields_from(PopeFiles, given),
        options_from(PopeConfig, config, given),
        as_path_if_given("out", out),
        limit=limit,
        force=force,
    )


def score(
    folder: PathText | None = None,
    predictions: Mapping[str, PathTexts] | None = None,
    *,
    questions: Mapping[str, PathTexts] | None = None,
    relabel: PathTexts | None = None,
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
    parser: Parser = "pope",
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return how well models say whether objects are there.

    Parameters
    ----------
    folder : path, optional
        What a build wrote; none with `questions`.
    predictions : mapping of str to path or sequence of path
        Model, or MODEL:STRATEGY -> its answers: a file, several, or a folder of them.
    questions : mapping of str to path or sequence of path, optional
        Strategy -> POPE's file of its questions, in place of a folder.
    relabel : path or sequence of path, optional
        Files of other labels (image, text, label), such as RePOPE's.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals,
    parser, baseline, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.pope.score import score as score_files

    return score_files(
        as_path_if_given("folder", folder),
        {} if predictions is None else predictions,
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        questions=questions,
        relabel=() if relabel is None else as_path_tuple("relabel", relabel),
        force=force,
    )


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
