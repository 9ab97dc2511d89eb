"""Reading what FPVG needs: questions with their objects, scene graphs, and a detector's boxes."""

import dataclasses

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import read_scene_graphs
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.storage import row_order


@dataclasses.dataclass(frozen=True, slots=True)
class FpvgInputs:
    """Tables read, with what was decided and lost on the way.

    Attributes
    ----------
    questions : pl.DataFrame
        schemas.GqaQuestions, in file order.
    objects : pl.DataFrame
        schemas.SceneObjects.
    annotated_images : pl.DataFrame
        schemas.Images of the scene graphs.
    regions : pl.DataFrame
        schemas.Regions of the questions' images, sorted by image_id and region_index.
    detected_images : pl.DataFrame
        schemas.Images of the detector, of the questions' images, sorted by image_id.
    facts : InputFacts
        Records, drops, notes and warnings.
    """

    questions: pl.DataFrame
    objects: pl.DataFrame
    annotated_images: pl.DataFrame
    regions: pl.DataFrame
    detected_images: pl.DataFrame
    facts: InputFacts


def read_inputs(files: FpvgFiles, config: FpvgConfig, limit: int | None = None) -> FpvgInputs:
    """Return the inputs of a build; `limit` keeps the first questions.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit; no image in common.
    ConfigError, BackendError
        The detections need another file or library; see
        :func:`shortcut_miner.sources.images.regions.read_regions`.
    """
    skip = config.on_bad_row
    asked = read_gqa_questions(files.questions, on_bad_row=skip, limit=limit)
    graphs = read_scene_graphs(files.scene_graphs, on_bad_row=skip)
    wanted = asked.table["image_id"].unique()
    detected = read_regions(
        files.detections,
        info=files.detections_info,
        sizes=graphs.images,
        images=frozenset(wanted.to_list()),
        on_bad_row=skip,
    )
    readings: dict[str, Reading] = {"questions": asked, "scene_graphs": graphs, "detections": detected}
    known = detected.images.filter(pl.col("region_count").is_not_null())
    found = (
        check_image_join(
            asked.table["image_id"], graphs.images["image_id"], right="scene graphs", readings=(asked, graphs)
        ),
        check_image_join(asked.table["image_id"], known["image_id"], readings=(asked, detected)),
    )
    return FpvgInputs(
        questions=asked.table,
        objects=graphs.table.filter(pl.col("image_id").is_in(wanted.implode())),
        annotated_images=graphs.images,
        regions=detected.regions[row_order(detected.regions, ("image_id", "region_index"))],
        detected_images=detected.images.sort("image_id"),
        facts=InputFacts.of(readings, found),
    )
