"""FPVG from Python: ``shortcut_miner.fpvg``.

Faithful and plausible visual grounding of VQA models (Reich et al., EMNLP Findings 2023). Paths are text or
Path; options are named and mean the same as on the command line (see :class:`FpvgConfig` and
:class:`ScoreConfig`, which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shortcut_miner.diagnostics.fpvg.config import (
    BoxArithmetic,
    Condition,
    Fill,
    FpvgConfig,
    FpvgFiles,
    ImagesConfig,
    ImagesFiles,
    OverlapOver,
    Padding,
    Preset,
    Relevant,
    ScoreConfig,
)
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    OnMissing,
    PathText,
    PathTexts,
    as_path,
    as_path_if_given,
    as_text_if_given,
    check_counts,
    fields_from,
    named_path_lists,
    named_paths,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.datasets.drawn_images import ImagesReport
    from shortcut_miner.datasets.pictures import Picture
    from shortcut_miner.diagnostics.fpvg.dataset import FpvgDataset
    from shortcut_miner.diagnostics.fpvg.outputs import BuildReport
    from shortcut_miner.diagnostics.fpvg.report import ScoreReport

__all__ = [
    "FpvgConfig",
    "FpvgDataset",
    "FpvgFiles",
    "ImagesConfig",
    "ScoreConfig",
    "build",
    "images",
    "score",
    "show",
]


def build(
    *,
    questions: PathText,
    scene_graphs: PathTexts,
    detections: PathTexts,
    detections_info: PathTexts | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    force: bool = False,
    config: FpvgConfig | None = None,
    preset: Preset = "default",
    relevant: Relevant = "path",
    iou_threshold: float = 0.5,
    overlap_threshold: float = 0.25,
    overlap_over: OverlapOver | None = None,
    box_arithmetic: BoxArithmetic | None = None,
    padding: Padding | None = None,
    nested_json: bool = False,
    long_form: bool = False,
    leave_one_out: bool = False,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return what a build found: ``regions`` and ``questions``, as Polars frames.

    Parameters
    ----------
    questions, scene_graphs, detections, detections_info
        See :class:`FpvgFiles`.
    out : path, optional
        Folder to write; nothing is written without it.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a build with other options.
    config : FpvgConfig, optional
        All options at once, in place of those that follow.
    preset, relevant, ...
        See :class:`FpvgConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError, BackendError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.fpvg.build import build as build_folder

    return build_folder(
        fields_from(FpvgFiles, given),
        options_from(FpvgConfig, config, given),
        as_path_if_given("out", out),
        limit=limit,
        force=force,
    )


def score(
    folder: PathText,
    *,
    all: Mapping[str, PathTexts],  # the condition's name
    relevant: Mapping[str, PathTexts],
    irrelevant: Mapping[str, PathTexts],
    ids: Mapping[str, PathText] | None = None,
    importance: Mapping[str, PathText] | None = None,
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
    normalize: bool = False,
    trust_ids: bool = False,
    suff_threshold: float = 0.01,
    comp_threshold: float = 0.2,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return whether models' answers rest on the relevant regions of a build, from three runs of each.

    Parameters
    ----------
    folder : path
        What a build wrote.
    all, relevant, irrelevant : mapping of str to path or sequence of path
        Model -> its answers with all regions, the relevant ones only, the irrelevant ones only (a file,
        several, or a folder of them); several runs of a model are named MODEL@SEED.
    ids : mapping of str to path, optional
        Name -> list of questions to evaluate in place of all evaluable ones.
    importance : mapping of str to path, optional
        Model, or MODEL:METHOD -> question_id, region_index and importance of its regions, or in place of that
        the probability of its answer without that region.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals,
    normalize, trust_ids, suff_threshold, comp_threshold, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.fpvg.answers import runs_of
    from shortcut_miner.diagnostics.fpvg.score import score as score_folder

    conditions = {name: named_path_lists(name, given[name]) for name in ("all", "relevant", "irrelevant")}
    return score_folder(
        as_path("folder", folder),
        runs_of(**conditions),
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        id_lists=named_paths("ids", ids or {}),
        importance=named_paths("importance", importance or {}),
        force=force,
    )


def show(
    folder: PathText,
    question_id: str | int,
    *,
    images: PathText | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    out: PathText | None = None,
    limit: int | None = None,
) -> "Picture":
    """Return a picture of a question's relevant and irrelevant regions, which a notebook shows.

    Parameters
    ----------
    folder : path
        What a build wrote.
    question_id : str or int
        One of its questions.
    images : path, optional
        Folder of the images, or a pattern of paths with {image_id}; without it, regions are drawn on an empty
        page.
    detections, detections_info : path or sequence of path, optional
        Boxes to draw in place of the folder's own; those that the build read, for the folder of an older
        version whose files are no longer where they were.
    out : path, optional
        PNG to write; nothing is written without it.
    limit : int, optional
        Most regions to draw of each list.

    Raises
    ------
    SourceError, ConfigError, BackendError
        A file, an image or a box that is not there, a question without lists, or no Pillow.
    """
    check_counts(limit=limit)
    from shortcut_miner.diagnostics.fpvg.show import show as show_question

    return show_question(
        as_path("folder", folder),
        str(question_id),
        images=as_text_if_given("images", images),
        detections=detections,
        detections_info=detections_info,
        out=as_path_if_given("out", out),
        limit=limit,
    )


def images(
    folder: PathText,
    *,
    images: PathText,
    out: PathText | None = None,
    processes: int = 1,
    limit: int | None = None,
    force: bool = False,
    config: ImagesConfig | None = None,
    condition: Condition = "both",
    fill: Fill = "blur",
    control: bool = False,
    sample: int | None = None,
    seed: int = 0,
) -> "ImagesReport":
    """Return what was drawn: for each question an image in which only its relevant boxes stay, and so on.

    Parameters
    ----------
    folder : path
        What a build wrote.
    images : path
        Folder of the images, or a pattern of paths with {image_id}.
    out : path, optional
        Folder to write; without it images are drawn and thrown away.
    processes : int
        How many draw at the same time; the files are the same for any number. More than one starts the script
        again in each, so that what it does stands below ``if __name__ == "__main__":``.
    limit : int, optional
        Use the first questions only, to try things out.
    force : bool
        Replace the folder of a run with other options.
    config : ImagesConfig, optional
        All options at once, in place of those that follow.
    condition, fill, control, sample, seed
        See :class:`ImagesConfig`.

    Raises
    ------
    SourceError, ConfigError, BackendError
        Bad input or options, no image found, or no Pillow; nothing on disk is changed then.
    """
    given = locals()
    check_counts(limit=limit, processes=processes)
    from shortcut_miner.diagnostics.fpvg.images import images as draw_images

    place = as_text_if_given("images", images)
    if place is None:
        raise ConfigError("images: got None, expected a folder or a pattern of paths. Give images.")
    return draw_images(
        ImagesFiles(folder=as_path("folder", folder), images=place),
        options_from(ImagesConfig, config, given),
        as_path_if_given("out", out),
        processes=processes,
        limit=limit,
        force=force,
    )


def __getattr__(name: str) -> Any:
    """Load the data set on first use."""
    if name != "FpvgDataset":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shortcut_miner.diagnostics.fpvg.dataset import FpvgDataset

    return FpvgDataset


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
