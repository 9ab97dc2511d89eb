"""Reading what SwapMix needs: questions, scene graphs, regions, and what is similar to what."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shortcut_miner.datasets.inputs import InputFacts
from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.neighbours import read_similar_classes
from shortcut_miner.diagnostics.swapmix.released import is_restructured, read_restructured
from shortcut_miner.errors import ConfigError, SourceError
from shortcut_miner.options import reject
from shortcut_miner.sources.embeddings import Embeddings, read_embeddings, words_of
from shortcut_miner.sources.images.image_ids import check_image_join
from shortcut_miner.sources.images.region_tables import RegionReading
from shortcut_miner.sources.images.regions import read_regions
from shortcut_miner.sources.images.scene_graphs import SceneReading, read_scene_graphs
from shortcut_miner.sources.opening.reading import Reading
from shortcut_miner.sources.questions.gqa import read_gqa_questions
from shortcut_miner.sources.questions.gqa_questions import PROGRAM

_RELEVANT = ("relevant_question", "relevant_answer", "relevant_full_answer")


@dataclasses.dataclass(frozen=True, slots=True)
class SwapMixInputs:
    """Tables read, with what was decided and lost on the way.

    Attributes
    ----------
    questions : pl.DataFrame
        schemas.Questions and relevant_objects: the ids of all objects that a question's annotations name.
    objects, donor_objects : pl.DataFrame
        schemas.SceneObjects; the latter None if donors come from the same files.
    images : pl.Series
        Ids of the images with a scene graph.
    regions, donor_regions : pl.DataFrame or None
        schemas.Regions.
    detected : pl.Series or None
        Images about which the detector says something.
    similar : pl.DataFrame or None
        Given neighbours.
    embeddings : Embeddings or None
        Vectors of all class names (and of attributes for a perfect-sight plan).
    facts : InputFacts
        Records, drops, notes and warnings.
    sizes, donor_sizes : pl.DataFrame or None
        schemas.Images of the file that has the boxes of `regions` (of `objects` where there are none), and
        of that of the donors' boxes if it is another.
    """

    questions: pl.DataFrame
    objects: pl.DataFrame
    images: pl.Series
    donor_objects: pl.DataFrame | None
    regions: pl.DataFrame | None
    donor_regions: pl.DataFrame | None
    detected: pl.Series | None
    similar: pl.DataFrame | None
    embeddings: Embeddings | None
    facts: InputFacts
    sizes: pl.DataFrame | None = None
    donor_sizes: pl.DataFrame | None = None


def read_inputs(files: SwapMixFiles, config: SwapMixConfig, limit: int | None = None) -> SwapMixInputs:
    """Return the inputs of a build; `limit` keeps the first questions.

    Raises
    ------
    SourceError
        A file that can't be read or has rows that don't fit; see :mod:`shortcut_miner.sources`.
    ConfigError
        A file is missing that the plan needs, or two are given of which one counts.
    """
    _check_files(files, config)
    on_bad_row = config.on_bad_row
    readings: dict[str, Reading] = {}
    readings["questions"] = questions = _read_questions(files.questions, config, limit)
    readings["scene_graphs"] = scenes = read_scene_graphs(files.scene_graphs, on_bad_row=on_bad_row)
    if files.donor_scene_graphs is not None:
        readings["donor_scene_graphs"] = read_scene_graphs(files.donor_scene_graphs, on_bad_row=on_bad_row)
    images = scenes.images["image_id"]
    warnings = [
        check_image_join(
            questions.table["image_id"], images, right="scene graphs", readings=(questions, scenes)
        )
    ]
    detected = None
    if config.plan != "perfect-sight" and files.detections is not None:
        wanted = _images_of(readings, with_donors=files.donor_detections is None)
        found = read_regions(
            files.detections,
            info=files.detections_info,
            sizes=_sizes(readings),
            images=wanted,
            on_bad_row=on_bad_row,
        )
        readings["detections"] = found
        detected = found.images.drop_nulls("region_count")["image_id"]
        warnings.append(check_image_join(questions.table["image_id"], detected, readings=(questions, found)))
        if files.donor_detections is not None:
            readings["donor_detections"] = read_regions(
                files.donor_detections,
                info=files.donor_detections_info,
                sizes=_sizes(readings),
                images=set(readings["donor_scene_graphs"].table["image_id"].unique().to_list()),
                on_bad_row=on_bad_row,
            )
    similar = None
    if files.similar_classes is not None:
        readings["similar_classes"] = read_similar_classes(files.similar_classes)
        similar = readings["similar_classes"].table
    embeddings = None
    if files.embeddings is not None:
        embeddings = read_embeddings(files.embeddings, words_of(_names(readings, config)))
        readings["embeddings"] = _as_reading(embeddings)
    tables = {role: reading.table for role, reading in readings.items()}
    boxes = "scene_graphs" if config.plan == "perfect-sight" else "detections"
    donor_regions = tables.get("donor_detections")
    if donor_regions is None and files.donor_scene_graphs is not None:
        donor_regions = tables.get("detections")
    return SwapMixInputs(
        questions=questions.table,
        objects=scenes.table,
        images=images,
        donor_objects=tables.get("donor_scene_graphs"),
        regions=tables.get("detections"),
        donor_regions=donor_regions,
        detected=detected,
        similar=similar,
        embeddings=embeddings,
        facts=InputFacts.of(readings, warnings),
        sizes=_images_in(readings.get(boxes)),
        donor_sizes=_images_in(readings.get(f"donor_{boxes}")),
    )


def _check_files(files: SwapMixFiles, config: SwapMixConfig) -> None:
    is_perfect = config.plan == "perfect-sight"
    if files.detections is None and not is_perfect:
        raise ConfigError(
            f"detections: got none for a plan of kind {config.plan}, expected a detector's regions. "
            "Give --detections, or use --plan perfect-sight."
        )
    if files.embeddings is None and files.similar_classes is None:
        raise ConfigError(
            "embeddings: got neither --embeddings nor --similar-classes, expected one of them: they "
            "say which "
            "classes are similar. Give word vectors, or a file of neighbours."
        )
    if files.embeddings is not None and files.similar_classes is not None and not is_perfect:
        raise ConfigError(
            "embeddings: got --embeddings and --similar-classes, expected one of them. Leave one out."
        )
    if files.embeddings is None and is_perfect:
        raise ConfigError(
            "embeddings: got none for a perfect-sight plan, expected word vectors: similar attributes "
            "come from "
            "them. Give --embeddings."
        )
    if files.donor_detections is not None and files.donor_scene_graphs is None:
        raise ConfigError(
            "donor_detections: got them without --donor-scene-graphs, expected both. Give the donors' "
            "scene graphs."
        )


def _read_questions(path: Path, config: SwapMixConfig, limit: int | None) -> Reading:
    by_program = config.relevance != "annotations"
    if is_restructured(path):
        if by_program:
            reject("relevance", config.relevance, "annotations for the released layout, without programs")
        return read_restructured(path, limit)
    reading = read_gqa_questions(path, on_bad_row=config.on_bad_row, limit=limit, programs=by_program)
    if by_program and not reading.table[PROGRAM].count():
        raise SourceError(
            f"{path}: got no question with a program, expected some: --relevance {config.relevance} takes "
            "the objects that 'semantic' names. Give GQA's questions, or leave --relevance out."
        )
    by_name = {"annotations": _RELEVANT, "program": (PROGRAM,), "both": (*_RELEVANT, PROGRAM)}
    table = reading.table.with_columns(relevant_objects=_ids_of(*by_name[config.relevance]))
    notes = _relevance_notes(table) if by_program else ()
    return dataclasses.replace(
        reading, table=table.drop(*_RELEVANT, PROGRAM, strict=False), notes=(*reading.notes, *notes)
    )


def _ids_of(*columns: str) -> pl.Expr:
    """Return the distinct ids in columns of lists, sorted."""
    lists = pl.concat_list(*(pl.col(name).fill_null([]) for name in columns))
    return lists.list.unique().list.sort()


def _relevance_notes(table: pl.DataFrame) -> tuple[str, ...]:
    """Say of how many questions annotations and programs name other objects."""
    # An annotation may name several objects at once: "12,34".
    one_each = pl.concat_list(pl.col(name).fill_null([]).list.join(",").str.split(",") for name in _RELEVANT)
    program = pl.col(PROGRAM).fill_null([])
    counts = table.select(
        more=(program.list.set_difference(one_each).list.len() > 0).sum(),
        without=pl.col(PROGRAM).is_null().sum(),
    ).row(0, named=True)
    told = {
        "questions whose program names an object that their annotations lack": counts["more"],
        "questions without a program": counts["without"],
    }
    return tuple(f"{what}: {count:,} of {len(table):,}" for what, count in told.items() if count)


def _images_of(readings: Mapping[str, Reading], *, with_donors: bool) -> set[str]:
    """Return the images whose regions matter: the questions', and the donors' if they share the file."""
    roles = ["scene_graphs", "donor_scene_graphs"] if with_donors else ["scene_graphs"]
    return {
        image for role in roles if role in readings for image in readings[role].table["image_id"].unique()
    }


def _sizes(readings: Mapping[str, Reading]) -> pl.DataFrame:
    """Return image_id, width and height of all annotated images, which boxes in fractions need."""
    scenes = [readings[role] for role in ("scene_graphs", "donor_scene_graphs") if role in readings]
    tables = [one.images for one in scenes if isinstance(one, SceneReading)]
    return pl.concat(tables).unique("image_id", keep="first", maintain_order=True)


def _images_in(reading: Reading | None) -> pl.DataFrame | None:
    return reading.images if isinstance(reading, SceneReading | RegionReading) else None


def _names(readings: Mapping[str, Reading], config: SwapMixConfig) -> set[str]:
    tables = [readings[role].table for role in ("scene_graphs", "donor_scene_graphs") if role in readings]
    names = {name for table in tables for name in table["name"].unique()}
    if config.plan == "perfect-sight":
        names |= {name for table in tables for name in table["attributes"].explode().drop_nulls().unique()}
    return names


def _as_reading(embeddings: Embeddings) -> Reading:
    table = pl.DataFrame(
        {"word": embeddings.words, "vector": embeddings.vectors.tolist()},
        schema={"word": pl.String, "vector": pl.List(pl.Float64)},
    )
    return Reading(table=table, kind=embeddings.kind, file=embeddings.file, notes=embeddings.notes)
