"""What a SwapMix folder holds: plans, the tables beside them, its figures; and reading it back."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shortcut_miner.datasets import reports
from shortcut_miner.datasets.folders import options_of, write_manifest, write_tables
from shortcut_miner.datasets.image_boxes import BOXES, image_boxes
from shortcut_miner.diagnostics.swapmix import plan_table
from shortcut_miner.diagnostics.swapmix.config import PlanKind, SwapMixConfig
from shortcut_miner.diagnostics.swapmix.inputs import SwapMixInputs
from shortcut_miner.diagnostics.swapmix.perfect_sight import perfect_sight_rows
from shortcut_miner.diagnostics.swapmix.plan import PlanRows, evaluation_rows, training_rows
from shortcut_miner.diagnostics.swapmix.prepared import Prepared
from shortcut_miner.storage import Provenance

COMMAND = "swapmix build"
SWAPS = "swaps"
DONOR_BOXES = f"donor_{BOXES}"
_MOST_OPEN = 100  # files of epochs; processes may have 256 or 1,024 open
# How the counts of a manifest follow from the tables beside it, for whoever verifies a folder.
COUNTED = {
    "questions": {
        "questions": pl.len(),
        "questions_in_plan": pl.col("row_count").count(),
        "questions_without_swaps": (pl.col("row_count") == 1).sum(),
    },
    SWAPS: {
        "rows": pl.len(),
        "class_swaps": (pl.col("kind") == "class").sum(),
        "attribute_swaps": (pl.col("kind") == "attribute").sum(),
    },
    BOXES: {"regions": (~pl.col("is_padding")).sum()},
    "images": {
        "drawn": pl.len(),
        "drawn_questions": pl.col("question_id").n_unique(),
        "drawn_images": pl.col("image_id").n_unique(),
        **{
            name: (pl.col("content") == content).sum()
            for name, content in (("pasted", "donor"), ("filled", "fill"), ("empty_regions", "nothing"))
        },
        "clipped": pl.col("is_clipped").sum(),
    },
    "scores": {"models": pl.col("model").n_unique()},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Drawn:
    """What became of drawing a plan.

    Attributes
    ----------
    provenance : Provenance
        With the counts of all rows.
    rows_of_question : ndarray of int64
        How many rows each question of the plan has.
    """

    provenance: Provenance
    rows_of_question: np.ndarray[tuple[int], np.dtype[np.int64]]


def draw_plan(
    folder: Path | None,
    inputs: SwapMixInputs,
    ready: Prepared,
    config: SwapMixConfig,
    limit: int | None,
    threads: int,
) -> Drawn:
    """Draw the plan, write everything if there is a folder, and return what was done."""
    counts: Counter[str] = Counter()
    rows_of_question = np.zeros(len(ready.asked), np.int64)

    def on_block(block: PlanRows) -> None:
        counts.update(block.counts)
        rows_of_question[: len(ready.asked)] += np.bincount(block.question, minlength=len(ready.asked))

    def provenance() -> Provenance:
        return describe(inputs, ready, config, counts, limit)

    if folder is not None and config.epochs > _MOST_OPEN:
        # The record in each file is that of the whole build: all are counted before the first is written.
        _draw_all(None, ready, config, threads, on_block, provenance)
        _draw_all(folder, ready, config, threads, lambda block: None, provenance)
    else:
        _draw_all(folder, ready, config, threads, on_block, provenance)
    drawn = Drawn(provenance(), rows_of_question)
    if folder is not None:
        beside = _tables_beside(inputs, ready, drawn, config)
        write_tables(folder, drawn.provenance, {name: make() for name, make in beside.items()})
        write_manifest(folder, drawn.provenance, figures(ready))
    return drawn


def _draw_all(
    folder: Path | None,
    ready: Prepared,
    config: SwapMixConfig,
    threads: int,
    on_block: Callable[[PlanRows], None],
    provenance: Callable[[], Provenance],
) -> None:
    """Draw all files of a plan, and write them if there is a folder; if few, all stay open to the end."""
    names = _names(ready)
    with ExitStack() as files:
        for name, draw in _plans(ready, config, threads):
            writer = None
            if folder is not None:
                file = plan_table.plan_file(folder / f"{name}.parquet", config.plan, provenance)
                writer = files.enter_context(file)
            plan_table.write_rows(writer, draw(), names, on_block)
            if config.epochs > _MOST_OPEN:
                files.close()


def file_names(config: SwapMixConfig) -> list[str]:
    """Return what a build writes beside its records."""
    plans = [epoch_name(epoch) for epoch in range(config.epochs)] if config.plan == "training" else [SWAPS]
    attributes = ["similar_attributes"] if config.plan == "perfect-sight" else []
    names = (*plans, "similar_classes", *attributes, BOXES, DONOR_BOXES, "questions")
    return [f"{name}.parquet" for name in names]


def make_tables(
    inputs: SwapMixInputs, ready: Prepared, drawn: Drawn, config: SwapMixConfig, threads: int
) -> dict[str, Callable[[], pl.DataFrame]]:
    """Return how each table of a build is made, by name; a plan is drawn again when it is asked for."""
    names = _names(ready)
    made: dict[str, Callable[[], pl.DataFrame]] = {
        name: partial(_plan_frame, config.plan, draw, names) for name, draw in _plans(ready, config, threads)
    }
    return made | _tables_beside(inputs, ready, drawn, config)


def _names(ready: Prepared) -> plan_table.PlanNames:
    return plan_table.plan_names(
        ready.asked, ready.world, ready.attributes.names if ready.attributes else None
    )


def _tables_beside(
    inputs: SwapMixInputs, ready: Prepared, drawn: Drawn, config: SwapMixConfig
) -> dict[str, Callable[[], pl.DataFrame]]:
    made: dict[str, Callable[[], pl.DataFrame]] = {"similar_classes": lambda: ready.similar_classes.table}
    if ready.similar_attributes is not None:
        table = ready.similar_attributes.table
        made["similar_attributes"] = partial(table.rename, {"class": "attribute"})
    for name, sizes, boxes, objects in (
        (BOXES, inputs.sizes, inputs.regions, inputs.objects),
        (DONOR_BOXES, inputs.donor_sizes, inputs.donor_regions, inputs.donor_objects),
    ):
        if sizes is not None and boxes is not None:
            made[name] = partial(image_boxes, boxes, sizes)
        elif sizes is not None and objects is not None:  # perfect sight
            made[name] = partial(image_boxes, objects.drop("name"), sizes, "object_id")
    made["questions"] = partial(_questions, ready, drawn.rows_of_question, config)
    return made


def _plan_frame(
    plan: PlanKind, draw: Callable[[], Iterator[PlanRows]], names: plan_table.PlanNames
) -> pl.DataFrame:
    return plan_table.plan_frame(plan, draw(), names)


def _plans(
    ready: Prepared, config: SwapMixConfig, threads: int
) -> Iterator[tuple[str, Callable[[], Iterator[PlanRows]]]]:
    """Give the files of a plan, and how the rows of each are drawn."""
    asked, drawing = ready.asked, ready.drawing
    if config.plan == "training":
        for epoch in range(config.epochs):
            yield epoch_name(epoch), partial(training_rows, asked, drawing, epoch, threads)
    elif ready.attributes is not None:
        yield SWAPS, partial(perfect_sight_rows, asked, drawing, ready.attributes, threads)
    else:
        yield SWAPS, partial(evaluation_rows, asked, drawing, threads)


def epoch_name(epoch: int) -> str:
    """Return the name of an epoch's table."""
    return f"training_epoch_{epoch:03d}"


def _questions(ready: Prepared, rows: Any, config: SwapMixConfig) -> pl.DataFrame:
    """Return all questions with how many rows each has in the plan (perturbations and the original)."""
    counted = ready.asked.table.select("question_id").with_columns(
        row_count=pl.Series(rows.astype(np.uint32))
    )
    name = "swap_count" if config.plan == "training" else "row_count"
    return ready.questions.join(
        counted, on="question_id", how="left", validate="1:1", maintain_order="left"
    ).rename({"row_count": name})


def describe(
    inputs: SwapMixInputs, ready: Prepared, config: SwapMixConfig, counts: Counter[str], limit: int | None
) -> Provenance:
    """Return the provenance of a build whose rows are counted."""
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
        found["regions"] = int((~inputs.regions["is_padding"]).sum())
        found["objects_without_region"] = world.objects["region_index"].null_count()
    return Provenance(
        command=COMMAND,
        config=options_of(config, limit),
        inputs=inputs.facts.records,
        counts=found | dict(sorted(counts.items())),
        dropped={
            **inputs.facts.dropped,
            **{f"questions: {reason}": count for reason, count in excluded.items()},
        },
    )


def figures(ready: Prepared) -> dict[str, Any]:
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


def in_words(provenance: Provenance) -> dict[str, str]:
    """Return what a build read and drew, what is missing and why, as the console prints it."""
    n = {name: f"{count:,}" for name, count in provenance.counts.items()}
    left_out = [f"{count:,} {reason}" for reason, count in provenance.dropped.items()]
    missing = [
        f"{n[name]} {name.replace('_', ' ')}"
        for name, count in provenance.counts.items()
        if ("without" in name or "with_" in name or "left_out" in name) and count
    ]
    by_class = f"{n.get('class_swaps', '0')} by class"
    at_random = f"{n.get('class_swaps_to_random_classes', '0')} to random classes"
    return {
        "questions": f"{n['questions_in_plan']} of {n['questions']} about {n['images']} images",
        "left out": "; ".join(left_out) if left_out else "nothing",
        "objects": f"{n['objects']} of {n['classes']} classes; {n['donors']} donors",
        "context": f"{n.get('context_objects', '0')} objects in all questions together",
        "swaps": f"{by_class} ({at_random}), {n.get('attribute_swaps', '0')} by attribute",
        "missing": "; ".join(missing) if missing else "nothing",
        "rows": n.get("rows", "0"),
    }


def warnings(ready: Prepared) -> list[str]:
    """Return what may be wrong with a plan."""
    missing, total = len(ready.similar_classes.without_vector), len(ready.world.classes)
    if missing * 10 <= total:
        return []
    return [
        f"nothing is known about what is similar to {missing:,} of {total:,} classes; their class swaps are "
        "to random classes (or none with --padding none). The manifest names them."
    ]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildReport(reports.BuildReport):
    """What ``swapmix build`` did; a training plan has `training_epoch_000` and so on, and no `swaps`."""

    @property
    def swaps(self) -> pl.DataFrame:
        """schemas.Swaps: the plan, question by question, the original first."""
        return self._table(SWAPS)

    @property
    def questions(self) -> pl.DataFrame:
        """All questions, sorted, with ``exclusion`` and how many rows each has in the plan."""
        return self._table("questions")

    @property
    def boxes(self) -> pl.DataFrame:
        """schemas.ImageBoxes by image and region; of a perfect-sight plan ObjectBoxes by image and object."""
        return self._table(BOXES)

    @property
    def donor_boxes(self) -> pl.DataFrame:
        """The same of the donors, if these come from other files."""
        return self._table(DONOR_BOXES)

    @property
    def similar_classes(self) -> pl.DataFrame:
        """class, neighbour, cosine."""
        return self._table("similar_classes")

    @property
    def similar_attributes(self) -> pl.DataFrame:
        """attribute, neighbour, cosine; of a perfect-sight plan."""
        return self._table("similar_attributes")
