"""Writing an FPVG folder: region lists, the released scripts' JSON, manifest and run record."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from shortcut_miner.diagnostics.fpvg.config import FpvgConfig, FpvgFiles
from shortcut_miner.diagnostics.fpvg.inputs import FpvgInputs
from shortcut_miner.diagnostics.fpvg.lists import EXCLUSIONS, long_form
from shortcut_miner.storage import (
    MANIFEST,
    RUN_RECORD,
    Provenance,
    staged_folder,
    write_json,
    write_parquet,
)
from shortcut_miner.timing import StageCost

COMMAND = "fpvg build"
NESTED_FILES = {"relevant": "relevant_regions.json", "irrelevant": "irrelevant_regions.json"}
_OUTPUT_OPTIONS = ("nested_json", "long_form")


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
    if limit is not None:
        counts["limit"] = limit
    provenance = Provenance(
        command=COMMAND,
        config={
            name: value for name, value in dataclasses.asdict(config).items() if name not in _OUTPUT_OPTIONS
        },
        inputs=inputs.records,
        counts=counts,
        dropped=dict(inputs.dropped),
    )
    return provenance, _figures(evaluable)


def _figures(evaluable: pl.DataFrame) -> dict[str, float | None]:
    means = evaluable.select(
        mean_regions_all=pl.col("region_count").mean(),
        mean_regions_relevant=pl.col("relevant").list.len().mean(),
        mean_regions_irrelevant=pl.col("irrelevant").list.len().mean(),
    )
    return means.row(0, named=True)


def write(
    out: Path,
    inputs: FpvgInputs,
    lists: pl.DataFrame,
    config: FpvgConfig,
    provenance: Provenance,
    figures: dict[str, float | None],
) -> None:
    """Write the whole folder; every file gets its final name only when all are complete.

    Raises
    ------
    ConfigError, SourceError
        See :func:`shortcut_miner.storage.staged_folder`.
    """
    ordered = lists.sort("question_id")
    with staged_folder(out) as folder:
        write_parquet(ordered, folder / "regions.parquet", provenance)
        write_parquet(inputs.questions.sort("question_id"), folder / "questions.parquet", provenance)
        if config.long_form:
            write_parquet(long_form(lists), folder / "regions_long.parquet", provenance)
        if config.nested_json:
            for condition, name in NESTED_FILES.items():
                (folder / name).write_bytes(msgspec.json.encode(nested(lists, condition)))
        write_json(provenance.for_manifest() | {"figures": figures}, folder / MANIFEST)


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


def write_run_record(out: Path, files: FpvgFiles, costs: list[StageCost], inputs: FpvgInputs) -> None:
    """Write ``run.json``: paths and costs, which don't change the result."""
    record: dict[str, Any] = {
        "out": str(out.resolve()),
        "files": {role: str(path.resolve()) for role, path in dataclasses.asdict(files).items() if path},
        "backend": "numpy",
        "stages": [dataclasses.asdict(cost) for cost in costs],
        "notes": list(inputs.notes),
        "warnings": list(inputs.warnings),
    }
    with staged_folder(out) as folder:
        write_json(record, folder / RUN_RECORD)
