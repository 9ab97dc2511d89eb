"""What an FPVG folder holds: region lists, the released scripts' JSON, figures; and reading it back."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import open_folder, options_of, write_manifest, write_tables
from shortcut_miner.datasets.image_boxes import BOXES, image_boxes
from shortcut_miner.diagnostics.fpvg.config import FpvgConfig
from shortcut_miner.diagnostics.fpvg.exclusions import EXCLUSIONS
from shortcut_miner.diagnostics.fpvg.inputs import FpvgInputs
from shortcut_miner.schemas import GqaQuestions, RegionLists
from shortcut_miner.storage import Provenance

COMMAND = "fpvg build"
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {"questions": pl.len()},
    "regions": {
        "images": pl.col("image_id").n_unique(),
        "evaluable": pl.col("is_evaluable").sum(),
        "evaluable_images": pl.col("image_id").filter("is_evaluable").n_unique(),
        **{reason.replace(" ", "_"): (pl.col("exclusion") == reason).sum() for reason in EXCLUSIONS},
    },
    "boxes": {"regions": (~pl.col("is_padding")).sum()},
    "images": {
        "drawn": pl.len(),
        "drawn_questions": pl.col("question_id").n_unique(),
        "drawn_images": pl.col("image_id").n_unique(),
    },
    "categories": {"evaluated": pl.col("question_id").n_unique()},
}
NESTED_FILES = {"relevant": "relevant_regions.json", "irrelevant": "irrelevant_regions.json"}
_EXCLUSIONS = {
    "no_annotation": "without annotation",
    "image_not_in_scene_graphs": "about images without scene graph",
    "object_missing_in_the_graph": "with objects that the graph lacks",
    "no_detections": "about images without detections",
    "no_relevant_region": "without a relevant region",
    "no_irrelevant_region": "without an irrelevant region",
}


def describe(
    inputs: FpvgInputs, lists: pl.DataFrame, config: FpvgConfig, limit: int | None
) -> tuple[Provenance, dict[str, float | None]]:
    """Return the provenance of a build, and the figures of the article's Table 5."""
    excluded = lists["exclusion"].value_counts()
    numbers = dict(zip(excluded["exclusion"], excluded["count"], strict=True))
    evaluable = lists.filter("is_evaluable")
    counts = {
        "questions": len(lists),
        "images": lists["image_id"].n_unique(),
        "annotated_objects": len(inputs.objects),
        "images_with_detections": inputs.detected_images["region_count"].count(),
        "regions": int((~inputs.regions["is_padding"]).sum()),
        "evaluable": len(evaluable),
        "evaluable_images": evaluable["image_id"].n_unique(),
        **{reason.replace(" ", "_"): int(numbers.get(reason, 0)) for reason in EXCLUSIONS},
    }
    provenance = Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=inputs.facts.records,
        counts=counts,
        dropped=dict(inputs.facts.dropped),
    )
    return provenance, _figures(evaluable)


def _figures(evaluable: pl.DataFrame) -> dict[str, float | None]:
    means = evaluable.select(
        mean_regions_all=pl.col("region_count").mean(),
        mean_regions_relevant=pl.col("relevant").list.len().mean(),
        mean_regions_irrelevant=pl.col("irrelevant").list.len().mean(),
    )
    return means.row(0, named=True)


def in_words(provenance: Provenance, figures: Mapping[str, float | None]) -> dict[str, str]:
    """Return what a build read and found, as the console prints it."""
    n = {name: f"{count:,}" for name, count in provenance.counts.items()}
    left_out = [f"{n[name]} {text}" for name, text in _EXCLUSIONS.items() if provenance.counts[name]]
    skipped = [f"{count:,} {reason}" for reason, count in provenance.dropped.items()]
    means = {name: "-" if value is None else f"{value:.1f}" for name, value in figures.items()}
    regions = ", ".join(
        f"{means[f'mean_regions_{kind}']} {text}"
        for kind, text in (("all", "in all"), ("relevant", "relevant"), ("irrelevant", "irrelevant"))
    )
    return {
        "questions": f"{n['questions']} about {n['images']} images",
        "detections": f"{n['regions']} regions in {n['images_with_detections']} of these images",
        **({"skipped": "; ".join(skipped)} if skipped else {}),
        "evaluable": f"{n['evaluable']} questions about {n['evaluable_images']} images",
        "not": "; ".join(left_out) if left_out else "none",
        "regions": f"{regions} per evaluable question",
    }


def file_names(config: FpvgConfig) -> list[str]:
    """Return what a build writes beside its records."""
    more = {"regions_long": config.long_form, "leave_one_out": config.leave_one_out}
    tables = ("regions", "questions", "boxes", *(name for name, is_asked in more.items() if is_asked))
    nested_files = NESTED_FILES.values() if config.nested_json else ()
    return [*(f"{name}.parquet" for name in tables), *nested_files]


def make_tables(
    inputs: FpvgInputs, lists: pl.DataFrame, config: FpvgConfig
) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name."""
    made: dict[str, Callable[[], pl.DataFrame]] = {
        "regions": partial(lists.sort, "question_id"),
        "questions": partial(inputs.questions.sort, "question_id"),
        BOXES: partial(image_boxes, inputs.regions, inputs.detected_images),
    }
    if config.long_form:
        made["regions_long"] = partial(long_form, lists)
    if config.leave_one_out:
        made["leave_one_out"] = partial(left_out, inputs, lists)
    return made


def long_form(lists: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each evaluable question, condition and region, sorted.

    Columns question_id, condition ("irrelevant" or "relevant"), region_index.
    """
    parts = [
        lists.filter("is_evaluable").select(
            "question_id", pl.lit(condition).alias("condition"), pl.col(condition).alias("region_index")
        )
        for condition in ("irrelevant", "relevant")
    ]
    ordered = pl.concat(parts).sort("question_id", "condition", maintain_order=True)
    return ordered.explode("region_index")


def left_out(inputs: FpvgInputs, lists: pl.DataFrame) -> pl.DataFrame:
    """Return question_id, image_id, region_index of each region to leave out of an evaluable question.

    All of the image's other regions stay; padding is no region. Sorted by question and region.
    """
    real = inputs.regions.filter(~pl.col("is_padding"))
    of_image = real.group_by("image_id", maintain_order=True).agg("region_index")
    asked = lists.filter("is_evaluable").select("question_id", "image_id").sort("question_id")
    joined = asked.join(of_image, on="image_id", how="inner", validate="m:1", maintain_order="left")
    return joined.explode("region_index")


def write(
    folder: Path,
    lists: pl.DataFrame,
    tables: Mapping[str, Callable[[], pl.DataFrame]],
    config: FpvgConfig,
    provenance: Provenance,
    figures: dict[str, float | None],
) -> None:
    """Write the tables, the released scripts' files and the manifest into a folder."""
    write_tables(folder, provenance, {name: make() for name, make in tables.items()})
    if config.nested_json:
        for condition, name in NESTED_FILES.items():
            (folder / name).write_bytes(msgspec.json.encode(nested(lists, condition)))
    write_manifest(folder, provenance, figures)


def nested(lists: pl.DataFrame, condition: str) -> dict[str, dict[str, list[int]]]:
    """Return {image: {question: [region]}} as the released scripts write it, in the order of the questions.

    Parameters
    ----------
    lists : pl.DataFrame
        See :func:`shortcut_miner.diagnostics.fpvg.lists.region_lists`; questions without lists are left out.
    condition : {"relevant", "irrelevant"}
        Which of the two files.
    """
    result: dict[str, dict[str, list[int]]] = {}
    rows = lists.filter(pl.col(condition).is_not_null()).select("image_id", "question_id", condition)
    for image_id, question_id, regions in rows.iter_rows():
        result.setdefault(image_id, {})[question_id] = regions
    return result


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``fpvg build`` did.

    Attributes
    ----------
    lists : pl.DataFrame
        The region lists in the order of the questions file; see
        :func:`shortcut_miner.diagnostics.fpvg.lists.region_lists`.
    """

    lists: pl.DataFrame

    @property
    def regions(self) -> pl.DataFrame:
        """schemas.RegionLists, sorted by question_id."""
        return self._table("regions")

    @property
    def questions(self) -> pl.DataFrame:
        """schemas.GqaQuestions, sorted by question_id."""
        return self._table("questions")

    @property
    def leave_one_out(self) -> pl.DataFrame:
        """A row for each evaluable question and region of its image; with ``leave_one_out``."""
        return self._table("leave_one_out")

    @property
    def boxes(self) -> pl.DataFrame:
        """schemas.ImageBoxes of the questions' images, sorted by image_id and region_index."""
        return self._table("boxes")

    @property
    def regions_long(self) -> pl.DataFrame:
        """A row for each question, condition and region; with ``long_form``."""
        return self._table("regions_long")


@dataclasses.dataclass(frozen=True, slots=True)
class FpvgFolder:
    """What ``fpvg build`` wrote.

    Attributes
    ----------
    path : Path
        The folder.
    questions : pl.DataFrame
        schemas.GqaQuestions.
    regions : pl.DataFrame
        schemas.RegionLists; rows as in `questions`.
    manifest : dict
        Provenance, counts and figures.
    """

    path: Path
    questions: pl.DataFrame
    regions: pl.DataFrame
    manifest: dict[str, Any]


def read_folder(path: Path) -> FpvgFolder:
    """Return the tables of an FPVG folder.

    Raises
    ------
    SourceError
        Not such a folder, a missing or damaged file, or files of two different builds.
    """
    folder = open_folder(path, COMMAND)
    return FpvgFolder(
        path=path,
        questions=folder.table("questions", GqaQuestions),
        regions=folder.table("regions", RegionLists),
        manifest=folder.manifest,
    )
