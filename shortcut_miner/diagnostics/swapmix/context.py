"""Context objects: the objects of a question's image that the question is not about."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig
from shortcut_miner.diagnostics.swapmix.world import Ints, World
from shortcut_miner.keyed_draws import Words, draw_words, id_keys

_QUESTIONS_AT_ONCE = 2048  # at k = 10, with some twenty rows an object


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Questions of images with known objects, sorted by question_id.

    Attributes
    ----------
    table : pl.DataFrame
        question_id, image_id and what else the questions came with.
    images : ndarray of int64
        Row of each question's image in ``World.images``.
    keys : ndarray of uint64
        What the draws for a question depend on.
    relevant_start, relevant : ndarray of int64
        The relevant objects of each question, as rows of ``World.objects``.
    unknown_relevant : int
        Relevant object ids that the image's scene graph lacks.
    """

    table: pl.DataFrame
    images: Ints
    keys: Words
    relevant_start: Ints
    relevant: Ints
    unknown_relevant: int

    def __len__(self) -> int:
        return len(self.table)


@dataclasses.dataclass(frozen=True, slots=True)
class Pairs:
    """Context objects of consecutive questions, by question and then object_id.

    Attributes
    ----------
    questions, objects : ndarray of int64
        Positions in `Asked` and rows of ``World.objects``.
    keys : ndarray of uint64
        What the draws for an object in a question depend on.
    first, stop : int
        The questions looked at.
    without_region, shared : int
        Context objects left out: no region overlaps them; their region is a relevant object's.
    """

    questions: Ints
    objects: Ints
    keys: Words
    first: int
    stop: int
    without_region: int
    shared: int


def encode_questions(questions: pl.DataFrame, world: World, config: SwapMixConfig) -> Asked:
    """Return the questions of images that the world knows.

    Parameters
    ----------
    questions : pl.DataFrame
        question_id, image_id, relevant_objects List[String].
    """
    asked = questions.join(
        world.images.with_row_index("image_place").select("image_id", "image_place"),
        on="image_id", how="inner", validate="m:1",
    ).sort("question_id").with_row_index("place")  # fmt: skip
    # Without a list nothing is known to be relevant, as without an id in it.
    wanted = (
        asked.select("place", "image_id", object_id=pl.col("relevant_objects"))
        .filter(pl.col("object_id").list.len() > 0)
        .explode("object_id")
        # An annotation may name several objects at once: "12,34".
        .with_columns(pl.col("object_id").str.split(","))
        .explode("object_id")
        .unique()
        .join(
            world.objects.select("image_id", "object_id").with_row_index("object"),
            on=["image_id", "object_id"], how="left", validate="m:1",
        )
        .sort("place", "object")
    )  # fmt: skip
    relevant = wanted.drop_nulls("object")
    return Asked(
        table=asked.drop("place", "image_place"),
        images=asked["image_place"].to_numpy().astype(np.int64),
        keys=id_keys(asked["question_id"], config.seed, "swapmix question"),
        relevant_start=np.searchsorted(relevant["place"].to_numpy(), np.arange(len(asked) + 1)).astype(
            np.int64
        ),
        relevant=relevant["object"].to_numpy().astype(np.int64),
        unknown_relevant=len(wanted) - len(relevant),
    )


def context_blocks(asked: Asked, world: World, config: SwapMixConfig) -> Iterator[Pairs]:
    """Give the context objects of all questions, a block of questions at a time."""
    has_region = world.regions >= 0
    size = max(16, min(_QUESTIONS_AT_ONCE, 10 * _QUESTIONS_AT_ONCE // config.k))
    for first in range(0, len(asked), size):
        stop = min(first + size, len(asked))
        yield _context_of(asked, world, config, has_region, first, stop)


def _context_of(
    asked: Asked, world: World, config: SwapMixConfig, has_region: NDArray[np.bool_], first: int, stop: int
) -> Pairs:
    images = asked.images[first:stop]
    counts = world.images["count"].to_numpy()[images]
    starts = np.cumsum(counts) - counts
    question = np.repeat(np.arange(stop - first), counts)
    object_first = world.images["first"].to_numpy()[images]
    objects = np.arange(len(question)) - starts[question] + object_first[question]

    lengths = np.diff(asked.relevant_start[first : stop + 1])
    of_question = np.repeat(np.arange(stop - first), lengths)
    relevant = asked.relevant[asked.relevant_start[first] : asked.relevant_start[stop]]
    is_context = np.ones(len(question), np.bool_)
    is_context[starts[of_question] + relevant - object_first[of_question]] = False
    if config.context_key == "name":
        is_context &= _is_last_of_name(question, objects, is_context, world)
    without_region = shared = 0
    if config.plan != "perfect-sight":
        without_region = int((is_context & ~has_region[objects]).sum())
        is_context &= has_region[objects]
        if not config.shared_regions:
            is_shared = is_context & _is_relevant_region(
                question, objects, of_question, relevant, world, stop - first
            )
            shared = int(is_shared.sum())
            is_context &= ~is_shared
    questions, objects = question[is_context] + first, objects[is_context]
    keys = draw_words(asked.keys[questions] ^ world.object_keys[objects], 0)
    return Pairs(questions, objects, keys, first, stop, without_region, shared)


def _is_last_of_name(
    question: Ints, objects: Ints, is_context: NDArray[np.bool_], world: World
) -> NDArray[np.bool_]:
    """Return whether an object is its question's last context object of its name in the scene graph."""
    rows = pl.DataFrame(
        {
            "question": question,
            "name": world.objects["class_id"].gather(objects),
            "order": world.objects["file_order"].gather(objects),
            "is_context": is_context,
        }
    )
    order = pl.when("is_context").then("order")
    is_last = rows.select((order == order.max().over("question", "name")).fill_null(value=False))
    return is_last.to_series().to_numpy()


def _is_relevant_region(
    question: Ints, objects: Ints, of_question: Ints, relevant: Ints, world: World, count: int
) -> NDArray[np.bool_]:
    """Return whether an object's region is also the region of a relevant object of its question."""
    regions = world.regions
    width = int(regions.max(initial=0)) + 1
    is_taken = np.zeros(count * width, np.bool_)
    has_region = regions[relevant] >= 0
    is_taken[of_question[has_region] * width + regions[relevant[has_region]]] = True
    return is_taken[question * width + np.maximum(regions[objects], 0)]
