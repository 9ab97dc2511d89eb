"""Plans: which region takes which donor's features, drawn block by block of questions."""

import dataclasses
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortcut_miner.diagnostics.swapmix.config import SwapMixConfig
from shortcut_miner.diagnostics.swapmix.context import Asked, Pairs, context_blocks
from shortcut_miner.diagnostics.swapmix.kernels_numba import draws
from shortcut_miner.diagnostics.swapmix.world import Ints, World
from shortcut_miner.schemas import SWAP_KINDS

KINDS = SWAP_KINDS
ORIGINAL = 0


@dataclasses.dataclass(frozen=True, slots=True)
class PlanRows:
    """Rows of a plan as numbers; -1 stands for null.

    Attributes
    ----------
    question, object, to_class, from_attribute, to_attribute, donor : ndarray of int32
        Positions in `Asked`, ``World.objects``, ``World.classes``, the names of attributes (see
        :class:`Drawing`) and ``World.donors``.
    number : ndarray of uint32
        The perturbation (0 is the original) or, in a training plan, the epoch.
    kind, index, is_padding : ndarray of uint8, uint32, bool
        Position in `KINDS`, 1 to k within its kind and object, whether the class is random.
    counts : Counter
        What happened, by reason; sums up over blocks.
    """

    question: NDArray[np.int32]
    number: NDArray[np.uint32]
    object: NDArray[np.int32]
    kind: NDArray[np.uint8]
    index: NDArray[np.uint32]
    to_class: NDArray[np.int32]
    from_attribute: NDArray[np.int32]
    to_attribute: NDArray[np.int32]
    donor: NDArray[np.int32]
    is_padding: NDArray[np.bool_]
    counts: Counter[str]

    def __len__(self) -> int:
        return len(self.question)


@dataclasses.dataclass(frozen=True, slots=True)
class Drawing:
    """What every block of a plan is drawn with.

    Attributes
    ----------
    world : World
        Objects and donors.
    config : SwapMixConfig
        Options.
    objects, donors, choices, limits
        The kernels' view of them, and what can take each object's place.
    swap_counts : ndarray of int64, objects x 3
        Class swaps of each object, those to similar classes, and attribute swaps.
    """

    world: World
    config: SwapMixConfig
    objects: draws.Objects
    donors: draws.Donors
    choices: draws.Choices
    limits: draws.Limits
    swap_counts: Ints


def prepare(
    world: World, similar: draws.Similar, config: SwapMixConfig, features: tuple[Any, Any] | None = None
) -> Drawing:
    """Return what the blocks of a plan are drawn with.

    Parameters
    ----------
    features : pair of float32 arrays, optional
        Unit vectors of the regions of ``world.objects`` and of ``world.donors``; with them attribute donors
        are at most ``max_feature_cosine`` similar.
    """
    nothing = np.empty((0, 0), np.float32)
    own, others = features or (nothing, nothing)
    objects = draws.Objects(
        world.objects["class_id"].to_numpy(),
        world.objects["attribute_set_id"].to_numpy(),
        world.exclusion,
        own,
    )
    classes = world.donor_classes()
    donors = draws.Donors(
        world.donor_start,
        world.donors["attribute_set_id"].to_numpy(),
        classes,
        world.excluded_start,
        world.excluded,
        others,
        len(classes),
        others.shape[1],
    )
    most_alike = 2.0 if config.max_feature_cosine is None else config.max_feature_cosine
    limits = draws.Limits(config.k, config.padding == "random", most_alike)
    counts, choices = draws.count_swaps(objects, donors, similar, limits)
    return Drawing(world, config, objects, donors, choices, limits, counts)


def evaluation_rows(asked: Asked, drawing: Drawing, threads: int = 1) -> Iterator[PlanRows]:
    """Give the evaluation plan, question by question: the original, then every object's swaps.

    Section 3.2 of the paper: k class swaps and k attribute swaps per context object, one at a time.
    """

    def draw(pairs: Pairs) -> PlanRows:
        return _evaluation_block(pairs, drawing)

    return in_order(draw, context_blocks(asked, drawing.world, drawing.config), threads)


def training_rows(asked: Asked, drawing: Drawing, epoch: int, threads: int = 1) -> Iterator[PlanRows]:
    """Give the swaps of one epoch (section 3.4): each context object with probability 1/2, by either kind."""

    def draw(pairs: Pairs) -> PlanRows:
        return _training_block(pairs, drawing, epoch)

    return in_order(draw, context_blocks(asked, drawing.world, drawing.config), threads)


def in_order(draw: Callable[[Pairs], PlanRows], blocks: Iterable[Pairs], threads: int) -> Iterator[PlanRows]:
    """Give the results in the order of the blocks, a few of them drawn ahead."""
    with ThreadPoolExecutor(max_workers=threads) as executor:
        waiting: deque[Future[PlanRows]] = deque()
        for pairs in blocks:
            waiting.append(executor.submit(draw, pairs))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def empty_swaps(rows: int) -> draws.Swaps:
    """Return rows that no swap has filled yet."""
    return draws.Swaps(
        pair=np.full(rows, -1, np.int64),
        kind=np.zeros(rows, np.uint8),
        number=np.zeros(rows, np.uint32),
        to_class=np.full(rows, -1, np.int32),
        donor=np.full(rows, -1, np.int32),
        is_padding=np.zeros(rows, np.bool_),
    )


def layout(pairs: Pairs, counts: Ints) -> tuple[Ints, Ints]:
    """Return the number of each question's rows, and each pair's first row.

    Parameters
    ----------
    counts : ndarray of int64
        Rows of each pair; a question has an original row beside those of its pairs.
    """
    local = pairs.questions - pairs.first
    sizes = 1 + np.bincount(local, weights=counts, minlength=pairs.stop - pairs.first).astype(np.int64)
    return sizes, np.cumsum(counts) - counts + local + 1


def numbered(pairs: Pairs, sizes: Ints) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Return the question of each row, and the row's number in it: 0 for the original."""
    question = np.repeat(np.arange(pairs.first, pairs.stop, dtype=np.int32), sizes)
    original = (np.cumsum(sizes) - sizes).astype(np.uint32)
    return question, np.arange(len(question), dtype=np.uint32) - np.repeat(original, sizes)


def _evaluation_block(pairs: Pairs, drawing: Drawing) -> PlanRows:
    counts = drawing.swap_counts[pairs.objects]
    sizes, first_rows = layout(pairs, counts[:, 0] + counts[:, 2])
    swaps = empty_swaps(int(sizes.sum()))
    draws.draw_swaps(
        pairs.objects, pairs.keys, first_rows, drawing.objects, drawing.donors, drawing.choices,
        drawing.limits, draws.lists_for(drawing.donors, drawing.limits), swaps,
    )  # fmt: skip
    rows = rows_of(pairs, drawing, *numbered(pairs, sizes), swaps, with_sets_of=draws.BY_ATTRIBUTE)
    if len(drawing.objects.features):
        rows = _without_gaps(rows)
    rows.counts.update(_told(pairs, counts, rows, drawing.config.k))
    return rows


def _told(pairs: Pairs, counts: Ints, rows: PlanRows, k: int) -> dict[str, int]:
    """Return what the block's swaps are, and why some are missing."""
    by_kind = np.bincount(rows.kind, minlength=len(KINDS))
    sizes = np.bincount(rows.question - pairs.first, minlength=pairs.stop - pairs.first)
    return {
        **_left_out(pairs),
        "rows": len(rows),
        "class_swaps": int(by_kind[draws.BY_CLASS]),
        "class_swaps_to_random_classes": int(rows.is_padding.sum()),
        "attribute_swaps": int(by_kind[draws.BY_ATTRIBUTE]),
        "context_objects_without_similar_class": int((counts[:, 1] == 0).sum()),
        "context_objects_with_fewer_class_swaps": int((counts[:, 0] < k).sum()),
        "context_objects_with_fewer_attribute_swaps": int((counts[:, 2] < k).sum()),
        "context_objects_without_attribute_swaps": int((counts[:, 2] == 0).sum()),
        "questions_without_swaps": int((sizes == 1).sum()),  # the original is there
    }


def _left_out(pairs: Pairs) -> dict[str, int]:
    return {
        "context_objects": len(pairs.objects),
        "context_objects_left_out_without_region": pairs.without_region,
        "context_objects_left_out_with_a_relevant_objects_region": pairs.shared,
    }


def rows_of(
    pairs: Pairs,
    drawing: Drawing,
    question: NDArray[np.int32],
    number: NDArray[np.uint32],
    swaps: draws.Swaps,
    *,
    with_sets_of: int,
) -> PlanRows:
    """Return drawn swaps as rows; attribute sets only of swaps of one kind."""
    objects, own, others = np.full((3, len(question)), -1, np.int32)
    sets_of_donors = drawing.world.donors["attribute_set_id"].to_numpy()
    sets = drawing.objects.attributes, sets_of_donors
    draws.fill_objects(pairs.objects, *sets, with_sets_of, swaps, objects, own, others)
    return PlanRows(
        question=question,
        number=number,
        object=objects,
        kind=swaps.kind,
        index=swaps.number,
        to_class=swaps.to_class,
        from_attribute=own,
        to_attribute=others,
        donor=swaps.donor,
        is_padding=swaps.is_padding,
        counts=Counter(),
    )


def keep_rows(rows: PlanRows, is_kept: NDArray[np.bool_], **changed: Any) -> PlanRows:
    """Return some of the rows, with some columns replaced."""
    columns = {
        field.name: getattr(rows, field.name)[is_kept]
        for field in dataclasses.fields(rows)
        if field.name not in ("counts", *changed)
    }
    return PlanRows(**columns, **changed, counts=rows.counts)


def _without_gaps(rows: PlanRows) -> PlanRows:
    """Return the rows that were filled, the perturbations of each question numbered again."""
    is_kept = (rows.kind > 0) | (rows.number == ORIGINAL)
    original = np.flatnonzero(rows.number[is_kept] == ORIGINAL)
    lengths = np.diff(np.append(original, is_kept.sum()))
    number = np.arange(is_kept.sum()) - np.repeat(original, lengths)
    return keep_rows(rows, is_kept, number=number.astype(np.uint32))


def _training_block(pairs: Pairs, drawing: Drawing, epoch: int) -> PlanRows:
    config = drawing.config
    swaps = empty_swaps(len(pairs.objects))
    missing = draws.draw_training(
        pairs.objects, pairs.keys, epoch, config.swap_probability, config.class_probability,
        drawing.objects, drawing.donors, drawing.choices, drawing.limits,
        draws.lists_for(drawing.donors, drawing.limits), swaps,
    )  # fmt: skip
    drawn = np.flatnonzero(swaps.kind)
    firsts = drawn[_first_of_regions(pairs.questions[drawn], pairs.objects[drawn], drawing.world)]
    chosen = draws.Swaps(*(column[firsts] for column in swaps))
    question, number = pairs.questions[firsts].astype(np.int32), np.full(len(firsts), epoch, np.uint32)
    kept = rows_of(pairs, drawing, question, number, chosen, with_sets_of=draws.BY_ATTRIBUTE)
    by_kind = np.bincount(kept.kind, minlength=len(KINDS))
    kept.counts.update(
        {
            **_left_out(pairs),
            "rows": len(kept),
            "class_swaps": int(by_kind[draws.BY_CLASS]),
            "class_swaps_to_random_classes": int(kept.is_padding.sum()),
            "attribute_swaps": int(by_kind[draws.BY_ATTRIBUTE]),
            "swaps_left_out_without_donor": int(missing),
            "swaps_left_out_region_swapped_already": len(drawn) - len(firsts),
        }
    )
    return kept


def _first_of_regions(questions: Ints, objects: Ints, world: World) -> Ints:
    """Return which swaps are the first of their question that replace their region: one object can win."""
    regions = world.regions[objects]
    places = questions * (int(regions.max(initial=0)) + 1) + np.maximum(regions, 0)
    return np.sort(np.unique(places, return_index=True)[1])
