"""Build: read the files, draw the plan, write the folder."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.diagnostics.swapmix import outputs
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.context import Asked, encode_questions
from shortcut_miner.diagnostics.swapmix.features import read_features
from shortcut_miner.diagnostics.swapmix.inputs import SwapMixInputs, read_inputs
from shortcut_miner.diagnostics.swapmix.neighbours import (
    Neighbours,
    encode_similar,
    given_neighbours,
    nearest_neighbours,
)
from shortcut_miner.diagnostics.swapmix.perfect_sight import (
    AttributeNames,
    attribute_names,
    encode_attributes,
    perfect_sight_rows,
)
from shortcut_miner.diagnostics.swapmix.plan import (
    Drawing,
    PlanRows,
    evaluation_rows,
    prepare,
    training_rows,
)
from shortcut_miner.diagnostics.swapmix.world import World, encode_world
from shortcut_miner.mining.threads import thread_count
from shortcut_miner.storage import (
    MANIFEST,
    RUN_RECORD,
    Provenance,
    staged_folder,
    write_json,
    write_parquet,
)
from shortcut_miner.timing import StageCost, timed

OnStage = Callable[[str], None]
SWAPS = "swaps.parquet"


@dataclasses.dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, for the console and for programs.

    Attributes
    ----------
    out : Path or None
        The folder written; None for a dry run.
    counts : dict of str to int
        Questions, objects, rows, and why swaps are missing; as in the manifest.
    dropped : dict of str to int
        Questions and input rows left out, by reason.
    notes, warnings : tuple of str
        What was decided, and what may be wrong.
    costs : list of StageCost
        By stage.
    is_complete : bool
        False if rows were skipped on request.
    """

    out: Path | None
    counts: dict[str, int]
    dropped: dict[str, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    costs: list[StageCost]
    is_complete: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that a plan is drawn from.

    Attributes
    ----------
    questions : pl.DataFrame
        All questions, sorted, with ``exclusion``: why one has no rows in the plan, null if it has.
    asked : Asked
        Those that have.
    world, drawing : World, Drawing
        Objects and donors, and the kernels' view of them.
    similar_classes : Neighbours
        Of all classes.
    similar_attributes : Neighbours or None
        Of all attributes, for a perfect-sight plan.
    attributes : AttributeNames or None
        For a perfect-sight plan.
    """

    questions: pl.DataFrame
    asked: Asked
    world: World
    drawing: Drawing
    similar_classes: Neighbours
    similar_attributes: Neighbours | None
    attributes: AttributeNames | None


def build(
    files: SwapMixFiles,
    config: SwapMixConfig,
    out: Path | None,
    *,
    limit: int | None = None,
    threads: int | None = None,
    on_stage: OnStage | None = None,
) -> BuildReport:
    """Read the files, draw the plan and write the folder.

    Parameters
    ----------
    files : SwapMixFiles
        Inputs.
    config : SwapMixConfig
        Options.
    out : Path or None
        Folder to write; None draws the plan without writing.
    limit : int, optional
        Use the first questions only, to try things out.
    threads : int, optional
        Default: all processors. The result is the same for any number.
    on_stage : callable, optional
        Told the name of each stage before it starts.

    Raises
    ------
    SourceError, ConfigError
        Bad input, or an output folder that can't be written; nothing on disk is changed then.
    """
    costs: list[StageCost] = []
    with timed(costs, "read", on_stage):
        inputs = read_inputs(files, config, limit)
    with timed(costs, "prepare", on_stage):
        ready = prepare_plan(inputs, config, files)
    workers = threads or thread_count()
    with timed(costs, "draw and write", on_stage):
        if out is None:
            provenance = draw_plan(None, inputs, ready, config, limit, workers)
        else:
            with staged_folder(out) as folder:
                provenance = draw_plan(folder, inputs, ready, config, limit, workers)
    if out is not None:
        _write_run_record(out, files, costs, inputs, workers)
    return BuildReport(
        out=out,
        counts=dict(provenance.counts),
        dropped=dict(provenance.dropped),
        notes=inputs.notes,
        warnings=(*inputs.warnings, *_warnings(ready)),
        costs=costs,
        is_complete=not inputs.dropped,
    )


def prepare_plan(inputs: SwapMixInputs, config: SwapMixConfig, files: SwapMixFiles) -> Prepared:
    """Return what a plan is drawn from."""
    world = encode_world(
        inputs.objects,
        inputs.regions,
        config,
        images=inputs.images,
        donor_objects=inputs.donor_objects,
        donor_regions=inputs.donor_regions,
    )
    similar = _similar(world.classes, inputs, config)
    questions = with_exclusion(inputs.questions, world, inputs.detected).sort("question_id")
    asked = encode_questions(questions.filter(pl.col("exclusion").is_null()), world, config)
    features = None if config.max_feature_cosine is None else read_features(files, world)
    drawing = prepare(world, encode_similar(world.classes, similar), config, features)
    attributes = similar_attributes = None
    if config.plan == "perfect-sight" and inputs.embeddings is not None:
        names = attribute_names(world)
        similar_attributes = nearest_neighbours(names, inputs.embeddings, config.min_cosine)
        attributes = encode_attributes(world, names, encode_similar(names, similar_attributes))
    return Prepared(questions, asked, world, drawing, similar, similar_attributes, attributes)


def _similar(classes: pl.Series, inputs: SwapMixInputs, config: SwapMixConfig) -> Neighbours:
    if inputs.similar is not None:
        return given_neighbours(classes, inputs.similar, config.min_cosine)
    if inputs.embeddings is None:
        raise AssertionError("read_inputs lets nothing through without one of the two")
    return nearest_neighbours(classes, inputs.embeddings, config.min_cosine)


def with_exclusion(questions: pl.DataFrame, world: World, detected: pl.Series | None) -> pl.DataFrame:
    """Return questions with ``exclusion``: the first reason why one can't be in a plan, or null."""
    has_graph = pl.col("image_id").is_in(world.images["image_id"].implode())
    is_detected = pl.lit(value=True) if detected is None else pl.col("image_id").is_in(detected.implode())
    reason = pl.when(~has_graph).then(pl.lit("image without scene graph"))
    return questions.with_columns(
        exclusion=reason.when(~is_detected).then(pl.lit("image without detections"))
    )


def draw_plan(
    folder: Path | None,
    inputs: SwapMixInputs,
    ready: Prepared,
    config: SwapMixConfig,
    limit: int | None,
    threads: int,
) -> Provenance:
    """Draw the plan, write everything if there is a folder, and return what was done."""
    names = outputs.plan_names(ready.asked, ready.world, ready.attributes.names if ready.attributes else None)
    counts: Counter[str] = Counter()
    rows_of_question = np.zeros(len(ready.asked), np.int64)

    def on_block(block: PlanRows) -> None:
        counts.update(block.counts)
        rows_of_question[: len(ready.asked)] += np.bincount(block.question, minlength=len(ready.asked))

    def provenance() -> Provenance:
        return _provenance(inputs, ready, config, counts, limit)

    for name, rows in _plans(ready, config, threads):
        path = None if folder is None else folder / name
        outputs.write_plan(path, config.plan, rows, names, on_block, provenance)
    done = provenance()
    if folder is not None:
        write_parquet(ready.similar_classes.table, folder / "similar_classes.parquet", done)
        if ready.similar_attributes is not None:
            table = ready.similar_attributes.table.rename({"class": "attribute"})
            write_parquet(table, folder / "similar_attributes.parquet", done)
        questions = _questions(ready, rows_of_question, config)
        write_parquet(questions, folder / "questions.parquet", done)
        write_json(done.for_manifest() | {"figures": _figures(ready)}, folder / MANIFEST)
    return done


def _plans(ready: Prepared, config: SwapMixConfig, threads: int) -> Iterator[tuple[str, Iterator[PlanRows]]]:
    """Give the files of a plan, and the rows of each."""
    asked, drawing = ready.asked, ready.drawing
    if config.plan == "training":
        for epoch in range(config.epochs):
            yield f"training_epoch_{epoch:03d}.parquet", training_rows(asked, drawing, epoch, threads)
    elif ready.attributes is not None:
        yield SWAPS, perfect_sight_rows(asked, drawing, ready.attributes, threads)
    else:
        yield SWAPS, evaluation_rows(asked, drawing, threads)


def _questions(ready: Prepared, rows: Any, config: SwapMixConfig) -> pl.DataFrame:
    """Return all questions with how many rows each has in the plan (perturbations and the original)."""
    counted = ready.asked.table.select("question_id").with_columns(
        row_count=pl.Series(rows.astype(np.uint32))
    )
    name = "swap_count" if config.plan == "training" else "row_count"
    return ready.questions.join(
        counted, on="question_id", how="left", validate="1:1", maintain_order="left"
    ).rename({"row_count": name})


def _provenance(
    inputs: SwapMixInputs, ready: Prepared, config: SwapMixConfig, counts: Counter[str], limit: int | None
) -> Provenance:
    world = ready.world
    excluded = dict(
        ready.questions.drop_nulls("exclusion").group_by("exclusion").len().sort("exclusion").rows()
    )
    found = {
        "questions": len(ready.questions),
        "questions_in_plan": len(ready.asked),
        "images": len(world.images),
        "objects": len(world.objects),
        "donors": len(world.donors),
        "classes": len(world.classes),
        "classes_without_embedding": len(ready.similar_classes.without_vector),
        "classes_without_similar_class": len(world.classes) - ready.similar_classes.table["class"].n_unique(),
        "classes_without_donor": len(world.classes) - len(world.donor_classes()),
        "relevant_ids_not_in_scene_graph": ready.asked.unknown_relevant,
    }
    if inputs.regions is not None:
        found["objects_without_region"] = world.objects["region_index"].null_count()
    if limit is not None:
        found["limit"] = limit
    return Provenance(
        command="swapmix build",
        config=dataclasses.asdict(config),
        inputs=inputs.records,
        counts=found | dict(sorted(counts.items())),
        dropped={**inputs.dropped, **{f"questions: {reason}": count for reason, count in excluded.items()}},
    )


def _figures(ready: Prepared) -> dict[str, Any]:
    """Return the names behind the counts."""
    world = ready.world
    without_donor = np.flatnonzero(np.diff(world.donor_start) == 0)
    figures = {
        "classes_without_embedding": list(ready.similar_classes.without_vector),
        "classes_without_donor": world.classes.gather(pl.Series(without_donor)).to_list(),
    }
    if ready.similar_attributes is not None:
        figures["attributes_without_embedding"] = list(ready.similar_attributes.without_vector)
    return figures


def _warnings(ready: Prepared) -> list[str]:
    missing, total = len(ready.similar_classes.without_vector), len(ready.world.classes)
    if missing * 10 <= total:
        return []
    return [
        f"nothing is known about what is similar to {missing:,} of {total:,} classes; their class "
        "swaps are to "
        "random classes (or none with --padding none). The manifest names them."
    ]


def _write_run_record(
    out: Path, files: SwapMixFiles, costs: list[StageCost], inputs: SwapMixInputs, threads: int
) -> None:
    """Write ``run.json``: paths, threads and costs, which don't change the result."""
    given = {role: path for role, path in dataclasses.asdict(files).items() if path is not None}
    record = {
        "out": str(out.resolve()),
        "files": {
            role: str(path.resolve() if isinstance(path, Path) else path) for role, path in given.items()
        },
        "backend": "numba",
        "threads": threads,
        "stages": [dataclasses.asdict(cost) for cost in costs],
        "notes": list(inputs.notes),
        "warnings": list(inputs.warnings),
    }
    with staged_folder(out) as folder:
        write_json(record, folder / RUN_RECORD)
