"""Everything that a plan is drawn from, put together from what was read."""

import dataclasses

import polars as pl

from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig, SwapMixFiles
from shortcut_miner.diagnostics.swapmix.context import Asked, encode_questions
from shortcut_miner.diagnostics.swapmix.features import read_features
from shortcut_miner.diagnostics.swapmix.inputs import SwapMixInputs
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
)
from shortcut_miner.diagnostics.swapmix.plan import Drawing, prepare
from shortcut_miner.diagnostics.swapmix.world import World, encode_world


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
