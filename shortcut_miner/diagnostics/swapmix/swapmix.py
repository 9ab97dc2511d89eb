"""SwapMix from Python: ``shortcut_miner.swapmix``.

Swaps of irrelevant objects, and how much a model leans on them (Gupta et al., CVPR 2022). Paths are text or
Path; options are named and mean the same as on the command line (see :class:`SwapMixConfig` and
:class:`ScoreConfig`, which can be given as ``config`` in place of them).
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortcut_miner.diagnostics.swapmix.config import (
    ContextKey,
    Fill,
    ImagesConfig,
    ImagesFiles,
    OnMissingSwap,
    Padding,
    PlanKind,
    Preset,
    Relevance,
    ScoreConfig,
    SwapMixConfig,
    SwapMixFiles,
)
from shortcut_miner.errors import ConfigError
from shortcut_miner.options import (
    OnBadRow,
    OnDuplicate,
    OnExtra,
    PathText,
    PathTexts,
    as_path,
    as_path_if_given,
    as_text_if_given,
    check_counts,
    fields_from,
    options_from,
)

if TYPE_CHECKING:
    from shortcut_miner.datasets.drawn_images import ImagesReport
    from shortcut_miner.datasets.pictures import Picture
    from shortcut_miner.diagnostics.swapmix.dataset import SwapDataset
    from shortcut_miner.diagnostics.swapmix.outputs import BuildReport
    from shortcut_miner.diagnostics.swapmix.plan_reader import PlanReader, scan_plan
    from shortcut_miner.diagnostics.swapmix.score import ScoreReport

__all__ = [
    "ImagesConfig",
    "PlanReader",
    "ScoreConfig",
    "SwapDataset",
    "SwapMixConfig",
    "SwapMixFiles",
    "build",
    "images",
    "scan_plan",
    "score",
    "show",
]
_LOADED_LATER = {"PlanReader": "plan_reader", "SwapDataset": "dataset", "scan_plan": "plan_reader"}


def build(
    *,
    questions: PathText,
    scene_graphs: PathTexts,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    embeddings: PathText | None = None,
    similar_classes: PathText | None = None,
    donor_scene_graphs: PathTexts | None = None,
    donor_detections: PathTexts | None = None,
    donor_detections_info: PathTexts | None = None,
    out: PathText | None = None,
    limit: int | None = None,
    threads: int | None = None,
    force: bool = False,
    config: SwapMixConfig | None = None,
    preset: Preset = "paper",
    plan: PlanKind = "evaluation",
    relevance: Relevance = "annotations",
    k: int = 10,
    seed: int = 0,
    min_cosine: float = 0.5,
    padding: Padding = "random",
    min_iou: float = 0.0,
    context_key: ContextKey | None = None,
    padded_regions: bool | None = None,
    shared_regions: bool | None = None,
    own_image_donors: bool | None = None,
    max_feature_cosine: float | None = None,
    epochs: int = 1,
    swap_probability: float = 0.5,
    class_probability: float = 0.5,
    on_bad_row: OnBadRow = "error",
) -> "BuildReport":
    """Return a plan of swaps: ``swaps``, ``questions`` and ``similar_classes``, as Polars frames.

    Parameters
    ----------
    questions, scene_graphs, detections, detections_info, embeddings, similar_classes, donor_scene_graphs, \
donor_detections, donor_detections_info
        See :class:`SwapMixFiles`.
    out : path, optional
        Folder to write; nothing is written without it, and the plan is drawn when it is asked for.
    limit : int, optional
        Use the first questions only, to try things out.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    force : bool
        Replace the folder of a build with other options.
    config : SwapMixConfig, optional
        All options at once, in place of those that follow.
    preset, plan, ...
        See :class:`SwapMixConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError, BackendError
        Bad input or options, or a folder that can't be written; nothing on disk is changed then.
    """
    given = locals()  # the arguments by name
    check_counts(limit=limit, threads=threads)
    from shortcut_miner.diagnostics.swapmix.build import build as build_folder

    return build_folder(
        fields_from(SwapMixFiles, given),
        options_from(SwapMixConfig, config, given),
        as_path_if_given("out", out),
        limit=limit,
        threads=threads,
        force=force,
    )


def score(
    folder: PathText | None = None,
    *,
    predictions: Mapping[str, PathTexts] | None = None,
    class_results: PathText | None = None,
    attribute_results: PathText | None = None,
    out: PathText | None = None,
    force: bool = False,
    config: ScoreConfig | None = None,
    columns: str | None = None,
    on_missing: OnMissingSwap = "error",
    on_extra: OnExtra = "error",
    on_duplicate: OnDuplicate = "error",
    on_bad_row: OnBadRow = "error",
    extract: str | None = None,
    tex_intervals: bool = False,
    k: int | None = None,
    exclude_padding: bool = False,
    normalize: bool = False,
    curve: bool = False,
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> "ScoreReport":
    """Return how often models change right answers when irrelevant objects are swapped.

    Parameters
    ----------
    folder : path, optional
        What a build wrote; none with `class_results`.
    predictions : mapping of str to path or sequence of path, optional
        Model -> its file of question_id, perturbation and answer, one for each row of the plan, or several.
    class_results, attribute_results : path, optional
        Result JSON of the released evaluation script's two runs, in place of a folder.
    out : path, optional
        Folder to write; nothing is written without it.
    force : bool
        Replace the scores of a run with other options.
    config : ScoreConfig, optional
        All options at once, in place of those that follow.
    columns, on_missing, on_extra, on_duplicate, on_bad_row, extract, tex_intervals,
    k, exclude_padding, normalize, curve, baseline, resamples, seed
        See :class:`ScoreConfig`.

    Raises
    ------
    SourceError, SchemaError, ConfigError
        Bad input or options.
    """
    given = locals()
    from shortcut_miner.diagnostics.swapmix.score import score_any

    return score_any(
        as_path_if_given("folder", folder),
        predictions or {},
        as_path_if_given("class_results", class_results),
        as_path_if_given("attribute_results", attribute_results),
        options_from(ScoreConfig, config, given),
        as_path_if_given("out", out),
        force=force,
    )


def show(
    folder: PathText,
    question_id: str | int,
    *,
    images: PathText | None = None,
    donor_images: PathText | None = None,
    perturbation: int | None = None,
    detections: PathTexts | None = None,
    detections_info: PathTexts | None = None,
    scene_graphs: PathTexts | None = None,
    donor_detections: PathTexts | None = None,
    donor_detections_info: PathTexts | None = None,
    donor_scene_graphs: PathTexts | None = None,
    out: PathText | None = None,
    limit: int = 4,
) -> "Picture":
    """Return a picture of a question's swaps, which a notebook shows: each region beside its donor.

    Parameters
    ----------
    folder : path
        What a build wrote: an evaluation or a perfect-sight plan.
    question_id : str or int
        One of the questions in the plan.
    images : path, optional
        Folder of the images, or a pattern of paths with {image_id}; without it, boxes are drawn on empty
        pages.
    donor_images : path, optional
        Where the donors' images are, if not there.
    perturbation : int, optional
        Show this swap alone; the first `limit` by default.
    detections, detections_info, scene_graphs, donor_detections, donor_detections_info, donor_scene_graphs
        Boxes to draw in place of the folder's own; see :class:`SwapMixFiles`.
    out : path, optional
        PNG to write; nothing is written without it.
    limit : int
        Most swaps to show.

    Raises
    ------
    SourceError, ConfigError, BackendError
        A file, an image or a box that is not there, a question without swaps, or no Pillow.
    """
    given = locals()
    check_counts(limit=limit, perturbation=perturbation)
    from shortcut_miner.diagnostics.swapmix.show import ROLES
    from shortcut_miner.diagnostics.swapmix.show import show as show_question

    return show_question(
        as_path("folder", folder),
        str(question_id),
        images=as_text_if_given("images", images),
        donor_images=as_text_if_given("donor_images", donor_images),
        perturbation=perturbation,
        boxes={role: given[role] for role in ROLES},
        out=as_path_if_given("out", out),
        limit=limit,
    )


def images(
    folder: PathText,
    *,
    images: PathText,
    donor_images: PathText | None = None,
    out: PathText | None = None,
    processes: int = 1,
    limit: int | None = None,
    force: bool = False,
    config: ImagesConfig | None = None,
    k: int | None = None,
    fill: Fill = "blur",
    blend: int = 0,
    sample: int | None = None,
    seed: int = 0,
) -> "ImagesReport":
    """Return what was drawn: an image for each row of a plan, the donor's patch in the region's place.

    Parameters
    ----------
    folder : path
        What a build wrote: an evaluation or a perfect-sight plan.
    images : path
        Folder of the images, or a pattern of paths with {image_id}.
    donor_images : path, optional
        Where the donors' images are, if not there.
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
    k, fill, blend, sample, seed
        See :class:`ImagesConfig`.

    Raises
    ------
    SourceError, ConfigError, BackendError
        Bad input or options, no image found, or no Pillow; nothing on disk is changed then.
    """
    given = locals()
    check_counts(limit=limit, processes=processes)
    from shortcut_miner.diagnostics.swapmix.images import images as draw_images

    place = as_text_if_given("images", images)
    if place is None:
        raise ConfigError("images: got None, expected a folder or a pattern of paths. Give images.")
    files = ImagesFiles(
        folder=as_path("folder", folder),
        images=place,
        donor_images=as_text_if_given("donor_images", donor_images),
    )
    return draw_images(
        files,
        options_from(ImagesConfig, config, given),
        as_path_if_given("out", out),
        processes=processes,
        limit=limit,
        force=force,
    )


def __getattr__(name: str) -> Any:
    """Load what reads plans on first use."""
    if name not in _LOADED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"shortcut_miner.diagnostics.swapmix.{_LOADED_LATER[name]}")
    return getattr(module, name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
